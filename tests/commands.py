"""What the tests of the command line share."""

import csv
from collections.abc import Callable
from pathlib import Path

Answer = tuple[int, str, str]
Run = Callable[..., Answer]


def write_csv(path: Path, header: tuple[str, ...], rows: list[tuple[object, ...]]) -> None:
    with path.open("w", newline="", encoding="utf-8") as file:
        writer = csv.writer(file)
        writer.writerow(header)
        writer.writerows(rows)


def detect(run: Run, folder: Path, *more: object) -> Answer:
    return run("detect", folder / "edges.csv", "--nodes", folder / "people.csv", "--detector", "lof", *more)


def worked(answer: Answer) -> tuple[str, str]:
    """Return what a command that did what it was asked for said on standard output and standard error."""
    code, out, err = answer
    assert code == 0, err
    return out, err


def assert_refused(answer: Answer, *words: str) -> None:
    code, out, err = answer
    refusals = [line for line in err.splitlines() if line.startswith("hopsight: ")]
    assert code == 2 and out == ""
    assert len(refusals) == 1 and err.splitlines()[-1] == refusals[0]
    assert "Traceback" not in err
    for word in words:
        assert word in refusals[0]


def left_behind(tmp_path: Path) -> list[str]:
    return sorted(path.name for path in tmp_path.iterdir() if path.name not in {"tables", "file"})
