"""Find the nodes and links of an attributed network that do not belong where they are.

The public names below are imported when they are first used, so that ``import hopsight`` stays instant.
"""

from __future__ import annotations

import os
import sys
from importlib import import_module
from types import ModuleType
from typing import TYPE_CHECKING, Any

# Threads that wait for work should sleep: with other programs on the machine, spinning ones make a fit up to
# sixty times as slow. It only counts if torch has not been imported yet, and never overrides the user's choice.
os.environ.setdefault("OMP_WAIT_POLICY", "PASSIVE")

if TYPE_CHECKING:
    from hopsight.datasets import inject, make_demo, make_network
    from hopsight.detectors import DETECTORS
    from hopsight.detectors.amen import AMEN
    from hopsight.detectors.anomalous import ANOMALOUS
    from hopsight.detectors.cross_hcm import CrossHCM
    from hopsight.detectors.dominant import DOMINANT
    from hopsight.detectors.hcm import HCM
    from hopsight.detectors.lof import LOF
    from hopsight.detectors.madan import MADAN
    from hopsight.detectors.radar import Radar
    from hopsight.detectors.resgcn import ResGCN
    from hopsight.detectors.storage import load_detector
    from hopsight.explain import explain, explain_link
    from hopsight.graph import AttributedGraph
    from hopsight.io import as_graph
    from hopsight.load import load

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
    "as_graph",
    "explain",
    "explain_link",
    "inject",
    "load",
    "load_detector",
    "make_demo",
    "make_network",
]

_HOMES = {
    "AMEN": "hopsight.detectors.amen",
    "ANOMALOUS": "hopsight.detectors.anomalous",
    "AttributedGraph": "hopsight.graph",
    "CrossHCM": "hopsight.detectors.cross_hcm",
    "DETECTORS": "hopsight.detectors",
    "DOMINANT": "hopsight.detectors.dominant",
    "HCM": "hopsight.detectors.hcm",
    "LOF": "hopsight.detectors.lof",
    "MADAN": "hopsight.detectors.madan",
    "Radar": "hopsight.detectors.radar",
    "ResGCN": "hopsight.detectors.resgcn",
    "as_graph": "hopsight.io",
    "explain": "hopsight.explain",
    "explain_link": "hopsight.explain",
    "inject": "hopsight.datasets",
    "load": "hopsight.load",
    "load_detector": "hopsight.detectors.storage",
    "make_demo": "hopsight.datasets",
    "make_network": "hopsight.datasets",
}


def __getattr__(name: str) -> Any:
    """Import a public name on first use (PEP 562)."""
    if name == "__version__":
        from importlib.metadata import version

        value: Any = version("hopsight")
    elif name in _HOMES:
        value = getattr(import_module(_HOMES[name]), name)
    else:
        raise AttributeError(f"module 'hopsight' has no attribute {name!r}")
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__})


class _Package(ModuleType):
    """Keep ``hopsight.load`` and ``hopsight.explain`` the functions when the modules of that name are imported.

    Python sets a submodule as an attribute of its package; for these two names that would hide the function.
    """

    def __setattr__(self, name: str, value: object) -> None:
        if name in _HOMES and isinstance(value, ModuleType):
            return
        super().__setattr__(name, value)


sys.modules[__name__].__class__ = _Package
