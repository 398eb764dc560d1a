"""Find the nodes and edges of an attributed graph that look out of place.

The public names below are imported when they are first used, so that ``import hopsight`` is instant.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

from hopsight.system import threads as _threads  # noqa: F401 (notices when this process is forked)

if TYPE_CHECKING:
    from hopsight import plot
    from hopsight.baselines.amen import AMEN
    from hopsight.baselines.anomalous import ANOMALOUS
    from hopsight.baselines.dominant import DOMINANT
    from hopsight.baselines.lof import LOF
    from hopsight.baselines.madan import MADAN
    from hopsight.baselines.radar import Radar
    from hopsight.baselines.resgcn import ResGCN
    from hopsight.datasets import inject, make_demo, make_graph, make_textbook
    from hopsight.detectors import DETECTORS
    from hopsight.detectors.storage import load_detector
    from hopsight.explanations import explain
    from hopsight.graph import AttributedGraph
    from hopsight.hcm.cross_hcm import CrossHCM
    from hopsight.hcm.hcm import HCM
    from hopsight.loading import load
    from hopsight.report.page import report

    __version__: str

__all__ = [
    "AMEN",
    "ANOMALOUS",
    "DETECTORS",
    "DOMINANT",
    "HCM",
    "LOF",
    "MADAN",
    "AttributedGraph",
    "CrossHCM",
    "Radar",
    "ResGCN",
    "__version__",
    "explain",
    "inject",
    "load",
    "load_detector",
    "make_demo",
    "make_graph",
    "make_textbook",
    "plot",
    "report",
]

_HOMES = {
    "AttributedGraph": "hopsight.graph",
    "DETECTORS": "hopsight.detectors",
    "explain": "hopsight.explanations",
    "inject": "hopsight.datasets",
    "load": "hopsight.loading",
    "load_detector": "hopsight.detectors.storage",
    "make_demo": "hopsight.datasets",
    "make_graph": "hopsight.datasets",
    "make_textbook": "hopsight.datasets",
}
_MODULES = ("plot", "report")  # a namespace of functions, and a package that can be called


def __getattr__(name: str) -> Any:
    """Import a public name on first use (PEP 562)."""
    if name == "__version__":
        from importlib.metadata import version

        value: Any = version("hopsight")
    elif name in _MODULES:
        value = import_module(f"hopsight.{name}")
    elif name in _HOMES:
        value = getattr(import_module(_HOMES[name]), name)
    else:
        value = _detector(name)
    globals()[name] = value
    return value


def _detector(name: str) -> Any:
    """Return a detector by the name of its class, as the registry has it."""
    from hopsight.detectors.registry import CLASSES, load_class

    for address in CLASSES.values():
        if address.partition(":")[2] == name:
            return load_class(address)
    raise AttributeError(f"module 'hopsight' has no attribute {name!r}")


def __dir__() -> list[str]:
    return sorted(__all__)
