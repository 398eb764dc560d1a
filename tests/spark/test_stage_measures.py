"""Measurements: the seconds of each stage, and how much data it moves."""

from __future__ import annotations

from typing import Any

from hopsight.spark.stage_measures import StageMeasures

STAGES = ["read", "attributes", "index", "edges", "pairs", "views", "sample", "train", "judge", "score", "rank"]


def test_stages_of_a_detection(detected: Any) -> None:
    assert list(detected.stages) == STAGES
    for name in ("edges", "pairs", "judge"):
        assert detected.stages[name]["shuffle_bytes"] > 1000
        assert detected.stages[name]["shuffle_rows"] > 0
    assert detected.stages["train"]["shuffle_bytes"] == 0


def test_rows_of_a_shuffle_are_counted(spark: Any) -> None:
    begun: list[str] = []
    measures = StageMeasures(spark, begin=begun.append)
    with measures.stage("shuffle"):
        spark.range(1000).repartition(3, "id").foreach(lambda row: None)
    assert begun == ["shuffle"]
    assert measures.stages["shuffle"]["shuffle_rows"] == 1000
    assert 0 < measures.stages["shuffle"]["largest_task"] <= 1


def test_the_share_of_the_task_that_reads_most(spark: Any) -> None:
    measures = StageMeasures(spark)
    with measures.stage("skewed"):
        frame = spark.range(100_000).selectExpr("if(id < 90000, 7, id) as key", "id")
        frame.repartition(4, "key").foreach(lambda row: None)
    assert 0.6 < measures.stages["skewed"]["largest_read"] < 1  # nine tenths of the rows, which compress differently
