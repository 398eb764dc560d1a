"""The public names: all there, imported when used, and functions stay functions."""

from __future__ import annotations

import subprocess
import sys
import time
from importlib.metadata import version

import pytest

import hopsight

HEAVY = ("torch", "polars", "scipy", "sklearn", "numba", "matplotlib", "pooch")


def run(program: str) -> str:
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True)
    return done.stdout.strip()


@pytest.mark.parametrize("name", hopsight.__all__)
def test_every_public_name_resolves(name: str) -> None:
    assert getattr(hopsight, name) is not None
    assert name in dir(hopsight)


def test_an_unknown_name_is_an_attribute_error() -> None:
    with pytest.raises(AttributeError, match="no attribute 'HMC'"):
        _ = hopsight.HMC  # type: ignore[attr-defined]


def test_the_version_is_that_of_the_package() -> None:
    assert hopsight.__version__ == version("hopsight")


@pytest.mark.parametrize("name", ["load", "explain"])
def test_a_function_is_not_hidden_by_the_module_of_its_name(name: str) -> None:
    before = f"import hopsight.{name}; print(hopsight.{name}.__class__.__name__)"
    after = f"import hopsight; hopsight.{name}; import hopsight.{name}; print(hopsight.{name}.__class__.__name__)"
    assert (run(before), run(after)) == ("function", "function")


@pytest.mark.parametrize("statement", ["import hopsight", "import hopsight.cli"])
def test_nothing_heavy_is_imported_before_it_is_needed(statement: str) -> None:
    loaded = run(f"import sys; {statement}; print(*[name for name in {HEAVY!r} if name in sys.modules])")
    assert loaded == ""


def test_help_is_there_within_a_second() -> None:
    def seconds() -> float:
        start = time.perf_counter()
        run("import sys; sys.argv = ['hopsight', '--help']; from hopsight.cli import main; main()")
        return time.perf_counter() - start

    assert min(seconds() for _ in range(3)) < 1.0
