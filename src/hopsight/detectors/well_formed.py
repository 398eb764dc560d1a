"""Whether a detector read from a file could have been saved there: who edits a file can renew its checksum too."""

from __future__ import annotations

import math
import warnings
from collections.abc import Callable, Iterator, Mapping
from types import NoneType, UnionType
from typing import Any, get_args, get_origin, get_type_hints

import numpy as np

from hopsight.detectors.predict import threshold
from hopsight.graph import AttributedGraph

OF_NODES = (
    "decision_score_",
    "label_",
    "judged_",
    "ahp_",
    "iv_",
    "hav_",
)  # one value a node, where a detector has them
OF_EDGES = ("edge_hop_", "edge_variance_", "edge_probability_", "edge_surprise_")  # one value an edge
WEIGHTS = ("samples_", "weights_")  # their last axis counts the weights of the network
SIZES = ("units", "n_layers", "n_inputs_", "n_classes_", "n_folds", "n_repeats")  # ends of names: never above that


def check_parameters(kind: type, parameters: Mapping[str, Any]) -> None:
    """Refuse a parameter whose value has another type than the detector declares.

    >>> from dataclasses import make_dataclass
    >>> check_parameters(make_dataclass("Toy", [("n_units", int)]), {"n_units": "many"})
    Traceback (most recent call last):
    ...
    ValueError: n_units cannot be 'many'
    """
    hints = get_type_hints(kind)
    for name, value in parameters.items():
        if name not in hints or not _fits(value, hints[name]):
            raise ValueError(f"{name} cannot be {value!r}")


def check_fitted(detector: Any) -> None:
    """Refuse fitted values of wrong types or sizes, and a model that fails on a network of four nodes."""
    limit: Any = getattr(detector, "threshold_", None)
    if not _fits(limit, float) or not math.isfinite(limit):
        raise ValueError(f"threshold_ cannot be {limit!r}")
    threshold(np.zeros(1), detector.contamination)
    for name, length, needed in _columns(detector):
        values = getattr(detector, name, None)
        if not _is_column(name, values, length) and (needed or values is not None):
            raise ValueError(f"{name} has the wrong type or length")
    n_weights = max(*(np.shape(getattr(detector, name, ()))[-1:] for name in WEIGHTS), (0,))[0]
    for name, size in _sizes(detector):
        if n_weights and (not _fits(size, int) or not 0 < size <= n_weights):
            raise ValueError(f"{name} cannot be {size!r}")
    _rehearse(detector)


def _columns(detector: Any) -> Iterator[tuple[str, int, bool]]:
    """Yield the names of columns, how long they are, and whether the detector must have them."""
    n_nodes = np.size(getattr(detector, "decision_score_", ()))
    for name in OF_NODES:
        yield name, n_nodes, name in ("decision_score_", "label_")
    if any(hasattr(detector, name) for name in OF_EDGES):
        n_edges = (*np.shape(getattr(detector, "edge_index_", ())), 0)[1]
        for name in OF_EDGES:
            yield name, n_edges, True


def _rehearse(detector: Any) -> None:
    """Let the detector judge four nodes in a chain, with the columns of the fit; it may refuse them, not fail."""
    names = getattr(getattr(detector, "transform_", None), "names", ["x"])
    if not isinstance(names, list) or not all(isinstance(name, str) for name in names):
        raise ValueError("the names of the columns are not words")
    chain = AttributedGraph.from_edges(
        range(3),
        range(1, 4),
        np.zeros((4, len(names))),
        attribute_names=names,
        directed=getattr(detector, "directed_", False) is True,
    )
    acts: list[Callable[[], object]] = [lambda: detector.decision_function(chain)]
    if hasattr(detector, "score_without"):
        acts.append(lambda: detector.score_without(chain, 1, np.array([0])))
    for act in acts:
        with warnings.catch_warnings(), np.errstate(all="ignore"):
            warnings.simplefilter("ignore")
            try:
                act()
            except (ValueError, MemoryError):
                pass
            except Exception as error:
                first = str(error).partition("\n")[0][:120]
                raise ValueError(f"its parts do not belong together ({type(error).__name__}: {first})") from None


def _sizes(detector: Any) -> Iterator[tuple[str, Any]]:
    """Yield the numbers that decide how large the network is, one by one."""
    for name, value in vars(detector).items():
        if name.endswith(SIZES):
            for size in value if isinstance(value, tuple) else (value,):
                yield name, size


def _is_column(name: str, values: Any, length: int) -> bool:
    if not isinstance(values, np.ndarray) or values.shape != (length,):
        return False
    return values.dtype.kind == {"label_": "i", "judged_": "b"}.get(name, "f") and bool(np.isfinite(values).all())


def _fits(value: Any, hint: Any) -> bool:
    """Return whether JSON's value is of the hinted type; a whole number is also a number."""
    if isinstance(hint, UnionType):
        return any(_fits(value, part) for part in get_args(hint))
    if get_origin(hint) is tuple:
        return isinstance(value, tuple) and all(_fits(entry, get_args(hint)[0]) for entry in value)
    if hint is float:
        return isinstance(value, float | int) and not isinstance(value, bool)
    if hint is int:
        return isinstance(value, int) and not isinstance(value, bool)
    return value is None if hint is NoneType else isinstance(value, hint)
