"""Learn from a table of scores alone."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import polars as pl
import pytest

from hopsight.runs.learned_table import learn_scores, write_learned


@pytest.fixture
def table() -> pl.DataFrame:
    """Return 200 nodes: ring is strong for the even ones of the first 40, outlier for the odd ones."""
    ring, outlier = np.full(200, 0.1), np.full(200, 0.1)
    ring[0:40:2] = np.linspace(4.0, 2.0, 20)
    outlier[1:40:2] = np.linspace(3.9, 1.9, 20)
    score = np.maximum(ring, outlier)
    names = [f"n{i}" for i in range(200)]
    return pl.DataFrame({"node": names, "rank": np.arange(1, 201), "score": score, "ring": ring, "outlier": outlier})


def test_the_order_follows_the_kind_that_was_right(table: pl.DataFrame, tmp_path: Path) -> None:
    verdicts = {f"n{i}": "anomalous" if i % 2 == 0 else "normal" for i in range(8)}
    learned, words = learn_scores(table, verdicts, ("ring", "outlier"))
    assert words is not None and words.startswith("Ring counts double")
    first = [int(node[1:]) for node in learned["node"].to_list() if node not in verdicts][:10]
    assert all(node % 2 == 0 for node in first)
    assert learned["rank"].to_list() == list(range(1, 201))
    assert learned.filter(pl.col("node") == "n0")["rank_before"].item() == 1
    parts = tmp_path / "scores.parquet"  # as Spark writes it: a folder of parts
    parts.mkdir()
    table.head(90).write_parquet(parts / "part-0.parquet")
    table.tail(110).write_parquet(parts / "part-1.parquet")
    file = tmp_path / "verdicts.csv"
    file.write_text("node,verdict\n" + "".join(f"{node},{word}\n" for node, word in verdicts.items()))
    assert write_learned(tmp_path, file, ("ring", "outlier")) == words
    assert pl.read_csv(tmp_path / "scores-learned.csv")["node"].to_list() == learned["node"].to_list()


def test_nothing_is_learned_from_one_kind_of_verdict(table: pl.DataFrame) -> None:
    same, words = learn_scores(table, {"n0": "normal"}, ("ring", "outlier"))
    assert words is None and same.equals(table)


def test_a_table_without_evidence_is_refused(table: pl.DataFrame) -> None:
    with pytest.raises(ValueError, match="no column misfit"):
        learn_scores(table, {"n0": "normal"})
