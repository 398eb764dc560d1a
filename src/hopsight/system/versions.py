"""Versions of Python and of the packages that can change a result."""

from __future__ import annotations

import platform
from importlib.metadata import PackageNotFoundError, version

_PACKAGES = (
    "hopsight", "torch", "numpy", "scipy", "scikit-learn", "numba", "polars", "pygod", "pyod", "torch_geometric",
)  # fmt: skip


def versions() -> dict[str, str]:
    """Return the version of Python and of every installed package that can change a result."""
    found = {"python": platform.python_version()}
    for package in _PACKAGES:
        try:
            found[package] = version(package)
        except PackageNotFoundError:
            continue
    return found
