"""What the tests of the command line share."""

from __future__ import annotations

import csv
from collections.abc import Callable
from pathlib import Path

Run = Callable[..., tuple[int, str, str]]


def write_csv(path: Path, header: tuple[str, ...], rows: list[tuple[object, ...]]) -> None:
    with path.open("w", newline="", encoding="utf-8") as file:
        writer = csv.writer(file)
        writer.writerow(header)
        writer.writerows(rows)


def detect(run: Run, folder: Path, *more: object) -> tuple[int, str, str]:
    return run("detect", folder / "edges.csv", "--nodes", folder / "people.csv", "--detector", "lof", *more)


def assert_refused(answer: tuple[int, str, str], *words: str) -> None:
    code, out, err = answer
    refusals = [line for line in err.splitlines() if line.startswith("hopsight: ")]
    assert code == 2
    assert out == ""
    assert len(refusals) == 1
    assert err.splitlines()[-1] == refusals[0]
    assert "Traceback" not in err
    for word in words:
        assert word in refusals[0]


def left_behind(tmp_path: Path) -> list[str]:
    return sorted(path.name for path in tmp_path.iterdir() if path.name not in {"tables", "file"})
