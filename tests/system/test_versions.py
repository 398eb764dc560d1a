"""Versions of what took part in a result."""

import platform

import numpy as np

from hopsight.system.versions import versions


def test_packages_that_are_not_there_are_left_out(monkeypatch):
    monkeypatch.setattr("hopsight.system.versions._PACKAGES", ("numpy", "no-such-package"))
    assert versions() == {"python": platform.python_version(), "numpy": np.__version__}
