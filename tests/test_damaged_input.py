"""Damaged files through the command line: refused in one sentence, or used."""

from __future__ import annotations

import random
import time
from pathlib import Path

import pytest

from hopsight.cli import main
from hopsight.graph import AttributedGraph


@pytest.mark.parametrize("suffix", [".csv", ".tsv", ".csv.gz", ".parquet", ".mat", ".npz", ".graphml", ".pt"])
def test_damaged_files_through_the_command_line(
    suffix: str,
    tmp_path: Path,
    tmp_path_factory: pytest.TempPathFactory,
    monkeypatch: pytest.MonkeyPatch,
    two_cliques: AttributedGraph,
    capsys: pytest.CaptureFixture[str],
) -> None:
    """15 of each of eight formats: refused in one sentence or used, within seconds, nothing written elsewhere."""
    import hopsight.io as formats

    here = tmp_path_factory.mktemp("here")
    monkeypatch.chdir(here)

    source = tmp_path / f"network{suffix}"
    if suffix == ".pt":
        import torch

        edges = torch.tensor(two_cliques.edges.copy())
        torch.save({"x": torch.tensor(two_cliques.attributes.copy()), "edge_index": edges}, source)
    else:
        formats.write(two_cliques, source)
    files = sorted(tmp_path.iterdir())
    originals = {path: path.read_bytes() for path in files}
    rnd = random.Random(0)
    commands = (
        ["describe", str(source)],
        ["convert", str(source), str(tmp_path / "out.npz"), "--force"],
        ["detect", str(source), "--detector", "lof", "--top", "1", "--out", str(tmp_path / "out"), "--quiet"],
    )
    for attempt in range(15):  # make attack tries thousands
        victim = rnd.choice(files)
        victim.write_bytes(damaged(originals[victim], rnd))
        begin, worked = time.perf_counter(), time.process_time()
        code = main(commands[attempt % 3])
        assert time.process_time() - worked < 10
        assert time.perf_counter() - begin < 60, "ten seconds on a quiet machine"
        error = capsys.readouterr().err
        assert code in (0, 2), error
        assert (code == 2) == (sum(line.startswith("hopsight: ") for line in error.splitlines()) == 1)
        victim.write_bytes(originals[victim])
        assert {path.name for path in tmp_path.iterdir()} - {path.name for path in files} <= {"out", "out.npz"}
        assert list(here.iterdir()) == []


def damaged(content: bytes, rnd: random.Random) -> bytes:
    """Cut the file off, flip some bits, or replace it with random bytes."""
    way = rnd.random()
    if way < 0.2:
        return content[: rnd.randrange(len(content))]
    if way > 0.9:
        return rnd.randbytes(rnd.randrange(1, 400))
    changed = bytearray(content)
    for _ in range(rnd.choice([1, 2, 10])):
        changed[rnd.randrange(len(changed))] ^= 1 << rnd.randrange(8)
    return bytes(changed)
