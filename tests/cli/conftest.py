"""A command line to run, and tables to run it on."""

from pathlib import Path

import pytest

from commands import Run, write_csv
from hopsight.cli import main


@pytest.fixture
def run(capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Run:
    """Return a function that runs the command line and gives exit code, standard output and standard error.

    Whatever a command fails for, it leaves nothing behind.
    """
    monkeypatch.chdir(tmp_path)
    monkeypatch.delenv("HOPSIGHT_DEBUG", raising=False)
    monkeypatch.setattr("signal.signal", lambda *_: None)

    def call(*arguments: object) -> tuple[int, str, str]:
        capsys.readouterr()
        before = set(tmp_path.rglob("*"))
        code = main([str(argument) for argument in arguments])
        captured = capsys.readouterr()
        assert code == 0 or set(tmp_path.rglob("*")) == before
        return code, captured.out, captured.err.replace("\n  ", " ")  # lines that were broken at 80 columns

    return call


@pytest.fixture
def tables(tmp_path: Path) -> Path:
    """Write two circles of twenty people with a few friends across, ages and cities that fit but for p5."""
    folder = tmp_path / "tables"
    folder.mkdir()
    edges = [
        (f"p{start + i}", f"p{start + (i + step) % 20}") for start in (0, 20) for step in (1, 2, 3) for i in range(20)
    ]
    edges += [("p5", "p30"), ("p5", "p33"), ("p9", "p25")]
    people = [(f"p{i}", 30 + i % 7, "Delft" if i < 20 else "Lyon") for i in range(40)]
    people[5] = ("p5", 99, "Lyon")
    write_csv(folder / "edges.csv", ("source", "target"), edges)
    write_csv(folder / "people.csv", ("id", "age", "city"), people)
    return folder
