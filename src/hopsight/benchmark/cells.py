"""A cell: one network, one detector, one seed, and everything else that decides its figures."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass, field
from importlib.metadata import version
from typing import Any

from hopsight.checks import check_choice

VIEWS = ("raw", "scaled", "reduced")
PROTOCOLS = ("as found", "dominant", "hcm", "leak-free")


@dataclass(frozen=True, kw_only=True)
class Cell:
    """One fit to make and measure; plain values only, so that it can be written down and hashed.

    Parameters
    ----------
    network
        A name of the catalog, or ``"generated"``.
    settings
        What else makes the network: checksum of its file, arguments of the injection or of the generator.
    protocol
        How anomalies were planted, ``"as found"`` where none were.
    injection
        The seed of the injection, ``None`` where nothing is planted.
    view
        The attributes a detector is given: ``"raw"``, ``"scaled"`` (standardized unless they are a bag of words) or
        ``"reduced"`` (the same, then 20 principal components).
    detector
        A name of ``DETECTORS``, a trivial score, ``"pygod:NAME"``, ``"pyod:NAME"`` or ``"module:Class"``.
    parameters
        Every parameter of the detector, those left at their default included.
    seed
        The seed of the detector.
    curve
        Whether the ROC-AUC of every epoch's own prediction is recorded.
    version
        Of hopsight: another version may give other figures.

    Examples
    --------
    >>> cell = Cell(network="disney", detector="lof", seed=0, parameters={"n_neighbors": 20})
    >>> cell.key == Cell(network="disney", detector="lof", seed=0, parameters={"n_neighbors": 20}).key
    True
    >>> cell.key == Cell(network="disney", detector="lof", seed=0, parameters={"n_neighbors": 21}).key
    False
    """

    network: str
    detector: str
    seed: int
    settings: Mapping[str, Any] = field(default_factory=dict)
    protocol: str = "as found"
    injection: int | None = None
    view: str = "raw"
    parameters: Mapping[str, Any] = field(default_factory=dict)
    curve: bool = False
    version: str = field(default_factory=lambda: version("hopsight"))

    def __post_init__(self) -> None:
        check_choice("view", self.view, VIEWS)
        check_choice("protocol", self.protocol, PROTOCOLS)

    def as_dict(self) -> dict[str, Any]:
        """Return the fields as plain values."""
        return asdict(self)

    @property
    def key(self) -> str:
        """A hash of all fields: a cell with any value changed is another cell."""
        return _digest(self.as_dict())


@dataclass(frozen=True)
class Task:
    """A cell in its place: which experiment needs it, and under which name its row or line appears."""

    experiment: str
    row: str
    cell: Cell


Plan = Sequence[Task]


def unique_cells(plan: Iterable[Task]) -> list[Cell]:
    """Return every cell of a plan once, in order: experiments that need the same fit share it."""
    return list({task.cell.key: task.cell for task in plan}.values())


def canonical_json(value: Any) -> str:
    """Return one spelling of a plain value, whatever order its keys came in."""
    return json.dumps(value, sort_keys=True, separators=(",", ":"), ensure_ascii=True, allow_nan=False)


def _digest(value: Any) -> str:
    return hashlib.sha256(canonical_json(value).encode()).hexdigest()[:20]
