"""A matplotlib backend whose ``show`` writes every open figure to the folder that HOPSIGHT_PICTURES names.

The examples run unchanged, as a user would run them; the documentation and the tests only choose this backend with
``MPLBACKEND=module://picture_backend``.
"""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

import matplotlib.pyplot as plt
from matplotlib.backends.backend_agg import FigureCanvasAgg as FigureCanvas

__all__ = ["FigureCanvas", "show"]


def show(*args: Any, **options: Any) -> None:
    """Write the open figures as 1.svg, 2.svg, … and close them."""
    folder = Path(os.environ["HOPSIGHT_PICTURES"])
    plt.rcParams["svg.hashsalt"] = "hopsight"  # the same picture is the same file
    for number in plt.get_fignums():
        plt.figure(number).savefig(folder / f"{number}.svg", metadata={"Date": None})
    plt.close("all")
