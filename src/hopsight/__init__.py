"""Find the nodes and edges of an attributed network that do not belong where they are.

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
    from hopsight.baselines.amen import AMEN
    from hopsight.baselines.anomalous import ANOMALOUS
    from hopsight.baselines.dominant import DOMINANT
    from hopsight.baselines.lof import LOF
    from hopsight.baselines.madan import MADAN
    from hopsight.baselines.radar import Radar
    from hopsight.baselines.resgcn import ResGCN
    from hopsight.datasets import inject, make_demo, make_network
    from hopsight.detectors import DETECTORS
    from hopsight.detectors.storage import load_detector
    from hopsight.explain import explain, explain_edge
    from hopsight.graph import AttributedGraph
    from hopsight.hcm.cross_hcm import CrossHCM
    from hopsight.hcm.hcm import HCM
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
    "explain_edge",
    "inject",
    "load",
    "load_detector",
    "make_demo",
    "make_network",
]

_HOMES = {
    "AMEN": "hopsight.baselines.amen",
    "ANOMALOUS": "hopsight.baselines.anomalous",
    "AttributedGraph": "hopsight.graph",
    "CrossHCM": "hopsight.hcm.cross_hcm",
    "DETECTORS": "hopsight.detectors",
    "DOMINANT": "hopsight.baselines.dominant",
    "HCM": "hopsight.hcm.hcm",
    "LOF": "hopsight.baselines.lof",
    "MADAN": "hopsight.baselines.madan",
    "Radar": "hopsight.baselines.radar",
    "ResGCN": "hopsight.baselines.resgcn",
    "as_graph": "hopsight.io",
    "explain": "hopsight.explain",
    "explain_edge": "hopsight.explain",
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
