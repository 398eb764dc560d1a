"""Versions of Python and of the installed packages."""

import platform

import numpy as np

from hopsight.system.machine import versions


def test_packages_that_are_not_installed_are_left_out(monkeypatch):
    monkeypatch.setattr("hopsight.system.machine._PACKAGES", ("numpy", "no-such-package"))
    assert versions() == {"python": platform.python_version(), "numpy": np.__version__}
