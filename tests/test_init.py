"""The package: its names, imports, and as a module."""

import os
import subprocess
import sys
from importlib.metadata import version
from importlib.util import find_spec

import pytest

import hopsight
from processes import python

HEAVY = ("torch", "polars", "scipy", "sklearn", "numba", "matplotlib", "pooch")


def run(program: str) -> str:
    done = python(program)
    assert done.returncode == 0, done.stderr
    return done.stdout.strip()


@pytest.mark.parametrize("name", hopsight.__all__)
def test_every_public_name_resolves(name: str) -> None:
    assert getattr(hopsight, name) is not None and name in dir(hopsight)


def test_an_unknown_name_is_an_attribute_error_and_the_version_is_that_of_the_package() -> None:
    with pytest.raises(AttributeError, match="no attribute 'HMC'"):
        _ = hopsight.HMC  # type: ignore[attr-defined]
    assert hopsight.__version__ == version("hopsight")


@pytest.mark.parametrize("name", [name for name in hopsight.__all__ if name not in ("plot", "report")])
def test_no_module_hides_a_public_name(name: str) -> None:
    assert find_spec(f"hopsight.{name}") is None


def test_importing_leaves_the_environment_alone() -> None:
    program = "import os; before = dict(os.environ); import hopsight, hopsight.cli; print(dict(os.environ) == before)"
    assert run(program) == "True"


@pytest.mark.parametrize("statement", ["import hopsight", "import hopsight.cli"])
def test_nothing_heavy_is_imported_before_it_is_needed(statement: str) -> None:
    loaded = run(f"import sys; {statement}; print(*[name for name in {HEAVY!r} if name in sys.modules])")
    assert loaded == ""


def test_help_takes_less_than_a_second() -> None:
    """Of the processor's time: a busy machine lets everything wait."""

    def seconds() -> float:
        start = os.times()
        run("import sys; sys.argv = ['hopsight', '--help']; from hopsight.cli import main; main()")
        end = os.times()
        return end.children_user + end.children_system - start.children_user - start.children_system

    assert min(seconds() for _ in range(3)) < 1.0


def test_the_command_line_lets_idle_threads_sleep() -> None:
    program = (
        "import os, sys; os.environ.pop('OMP_WAIT_POLICY', None); from hopsight.cli import main; "
        "main(['--version']); print(os.environ['OMP_WAIT_POLICY'], 'torch' in sys.modules)"
    )
    assert run(program).splitlines()[-1] == "PASSIVE False"


def test_the_package_runs_as_a_module_and_errors_keep_their_exit_code() -> None:
    module = [sys.executable, "-m", "hopsight"]
    answer = subprocess.run([*module, "--version"], capture_output=True, text=True, check=True)
    assert answer.stdout == f"hopsight {hopsight.__version__}\n"
    answer = subprocess.run([*module, "detekt"], capture_output=True, text=True, check=False)
    assert answer.returncode == 2 and answer.stderr.startswith("hopsight: ") and "detekt" in answer.stderr
