"""Sorting on the disk gives the order of sorting in memory, in chunks; rows are named as in the table."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import polars as pl
import pytest

from hopsight.io import pieces as io_pieces
from hopsight.streams import spool
from hopsight.streams.events import Columns, read_events
from hopsight.streams.spool import spooled

COLUMNS = Columns(time="when", amount="paid")


def table(n_rows: int = 1000) -> pl.DataFrame:
    rng = np.random.default_rng(0)
    return pl.DataFrame(
        {
            "source": rng.integers(0, 9, n_rows), "target": [f"t{n}" for n in rng.integers(0, 9, n_rows)],
            "when": rng.integers(0, 50, n_rows), "paid": rng.random(n_rows),
        }
    )  # fmt: skip


@pytest.mark.parametrize("name", ["e.parquet", "e.csv"])
def test_chunks_are_the_sorted_table(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, name: str) -> None:
    monkeypatch.setattr(spool, "CHUNK", 130)
    frame, path = table(), tmp_path / name
    frame.write_parquet(path) if name.endswith("parquet") else frame.write_csv(path)
    expected = read_events(frame, COLUMNS)
    with spooled(path, COLUMNS, tmp_path) as found:
        chunks = list(found.chunks())
        rest = list(found.chunks(300))
    assert found.size == 1000
    assert all(chunk.size <= 130 for chunk in chunks)
    for name, values in (("rows", expected.rows), ("seconds", expected.seconds), ("amounts", expected.amounts)):
        np.testing.assert_array_equal(np.concatenate([getattr(chunk, name) for chunk in chunks]), values)
        np.testing.assert_array_equal(np.concatenate([getattr(chunk, name) for chunk in rest]), values[300:])
    assert pl.concat([chunk.sources for chunk in chunks]).to_list() == expected.sources.to_list()
    assert not (tmp_path / spool.SPOOL).exists()


def test_a_bad_row_of_a_later_block_is_named_as_in_the_table(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(spool, "CHUNK", 130)
    frame = table().with_columns(pl.when(pl.int_range(pl.len()) == 399).then(None).otherwise("when").alias("when"))
    frame.write_parquet(tmp_path / "e.parquet")
    with pytest.raises(ValueError, match="row 400 has no time"), spooled(tmp_path / "e.parquet", COLUMNS, tmp_path):
        pass


@pytest.mark.parametrize("last", [("c", "d", 5, 0.5), ("c", "d", 2.5, 1.0), ("c", "d", 5, "1.234,50")])
def test_text_in_pieces_gives_the_events_of_a_whole_read(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, last: tuple[object, ...]
) -> None:
    """Also if a late row is the first with a fraction, or decides how amounts are written."""
    columns = ("source", "target", "when", "paid")
    paid = "{}.000" if isinstance(last[3], str) else "{}"
    rows = [(f"s{n % 9}", n % 7, n % 50, paid.format(n)) for n in range(1000)] + [last]
    text = ";".join(columns) + "\n" + "".join(";".join(map(str, row)) + "\n" for row in rows)
    (tmp_path / "e.csv").write_text(text)
    whole = read_events(tmp_path / "e.csv", COLUMNS)
    monkeypatch.setattr(spool, "CHUNK", 130)
    monkeypatch.setattr(io_pieces, "PIECE", 2000)
    with spooled(tmp_path / "e.csv", COLUMNS, tmp_path) as found:
        chunks = list(found.chunks())
    for name in ("rows", "seconds", "amounts"):
        np.testing.assert_array_equal(np.concatenate([getattr(chunk, name) for chunk in chunks]), getattr(whole, name))
    for name in ("sources", "targets", "times"):
        assert pl.concat([getattr(chunk, name) for chunk in chunks]).equals(getattr(whole, name)), name
    if isinstance(last[3], str):
        assert whole.amounts.max() == 999_000
        assert found.amounts == "comma numbers"
