"""Turn the readings of nodes into evidence, scores and flags."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from hopsight.checks import check_choice
from hopsight.hcm.cross_hcm import CrossHCM
from hopsight.hcm.evidence import KINDS, NodeBaseline, all_p_values, combine, weigh
from hopsight.spark.blocks import (
    BLOCK,
    PIECE,
    Array,
    Layout,
    cached,
    each_row,
    piece_matrix,
    rows_of,
    sum_to_driver,
)
from hopsight.spark.flags import flag_limits
from hopsight.spark.quantiles import quantiles, sortable
from hopsight.spark.readings import READINGS, node_readings

if TYPE_CHECKING:
    from pyspark.sql import DataFrame

FROM_EDGES = ("ahp", "iv", "hav")  # a node without edges has the median of the others
P_VALUES = ("p_value", *(f"p_{kind}" for kind in KINDS))
SCORES = ("degree", *FROM_EDGES, *KINDS, "score", "decided_by", *P_VALUES)  # columns of the blocks "scores"


def score_blocks(
    readings: DataFrame, layout: Layout, laws: NodeBaseline, evidence: Sequence[str], score: str = "evidence"
) -> DataFrame:
    """Return blocks ``scores`` with the columns of :data:`SCORES`; ``decided_by`` is a position in ``evidence``."""
    check_choice("score", score, CrossHCM.scores)
    hop, variance = READINGS.index("hop"), READINGS.index("variance")

    def largest(row: dict[str, Any]) -> Iterator[tuple[int, Array]]:
        rows = piece_matrix(row, layout, np.float64)
        yield 0, np.nanmax(rows[:, [hop, variance]], axis=0, initial=0.0)

    highest = sum_to_driver(readings, largest, op=np.maximum)[0]

    def scored(row: dict[str, Any]) -> Iterator[dict[str, Any]]:
        rows = piece_matrix(row, layout, np.float64)
        nodes = node_readings(rows)
        shares = [
            rows[:, column] / top if top > 0 else np.zeros(len(rows))
            for column, top in zip((hop, variance), highest, strict=True)
        ]
        weighted = weigh(nodes, laws)
        from_edges = dict(zip(FROM_EDGES, (rows[:, hop], rows[:, variance], shares[0] + shares[1]), strict=True))
        strength, decided_by = combine(weighted, evidence)
        columns = [rows[:, 0], *from_edges.values(), *weighted.values(), from_edges.get(score, strength), decided_by]
        columns += all_p_values(nodes, laws, [evidence, *((kind,) for kind in KINDS)])
        yield {**row, "kind": "scores", "payload": np.column_stack(columns).astype(np.float64)}

    return _filled(cached(readings.mapInArrow(each_row(scored, BLOCK), BLOCK)), layout, score)


def _filled(scores: DataFrame, layout: Layout, score: str) -> DataFrame:
    """Give nodes without edges the median AHP, IV and HAV of the others, and the score that is one of these."""
    columns = range(1, 1 + len(FROM_EDGES))

    def count(row: dict[str, Any]) -> Iterator[tuple[int, Array]]:
        yield 0, np.array([_judged(row, layout).shape[0]], dtype=np.float64)

    n_judged = int(sum_to_driver(scores, count)[0][0])
    if n_judged == layout.n_nodes:
        return scores
    medians = quantiles(
        scores,
        lambda row: [(column, sortable(_judged(row, layout)[:, column])) for column in columns],
        [(column, 0.5) for column in columns],
        n_judged,
    )

    def fill(row: dict[str, Any]) -> Iterator[dict[str, Any]]:
        rows = piece_matrix(row, layout, np.float64).copy()
        alone = rows[:, 0] == 0
        rows[alone, 1 : 1 + len(FROM_EDGES)] = medians
        if score in FROM_EDGES:
            rows[alone, SCORES.index("score")] = medians[FROM_EDGES.index(score)]
        yield {**row, "payload": rows}

    return cached(scores.mapInArrow(each_row(fill, BLOCK), BLOCK))


def score_thresholds(scores: DataFrame, layout: Layout, detector: CrossHCM) -> tuple[float, NDArray[np.float64]]:
    """Return the score above which a node is flagged, and the evidence of each kind that is significant."""
    pairs = [("score", "p_value"), *((kind, f"p_{kind}") for kind in KINDS)]
    chosen = [(SCORES.index(score), SCORES.index(p)) for score, p in pairs]

    def columns(row: dict[str, Any]) -> list[tuple[Array, Array]]:
        rows = piece_matrix(row, layout, np.float64)
        return [(rows[:, score], rows[:, p]) for score, p in chosen]

    limits = flag_limits(scores, columns, layout.n_nodes, detector.false_alarms)
    if detector.contamination == "auto":
        return float(limits[0]), limits[1:]
    level = 1.0 - float(detector.contamination)
    limit = quantiles(scores, lambda row: [(0, sortable(columns(row)[0][0]))], [(0, level)], layout.n_nodes)[0]
    return float(limit), limits[1:]


def score_rows(scores: DataFrame, layout: Layout, score: str, evidence: Sequence[str]) -> DataFrame:
    """Return one row per node: block, position, score, judged, degree, ahp, iv, hav, and the kinds of evidence.

    The column ``decided_by`` is added if evidence makes the ``score``.
    """
    values = (*FROM_EDGES, *KINDS)
    doubles = ", ".join(f"{name} double" for name in values)
    schema = f"block int, position int, score double, judged int, degree long, {doubles}"
    schema += ", decided_by string" if score == "evidence" else ""
    names = [field.split()[0] for field in schema.split(", ")]
    kinds = np.array(evidence)

    def unpack(batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        for batch in batches:
            for row in rows_of(batch):
                known = dict(zip(SCORES, piece_matrix(row, layout, np.float64).T, strict=True))
                n_rows = known["degree"].size
                block = np.full(n_rows, row["block"], dtype=np.int32)
                position = np.arange(n_rows, dtype=np.int32) + row["piece"] * PIECE
                columns = [block, position, known["score"], np.ones(n_rows, dtype=np.int32)]
                columns += [known["degree"].astype(np.int64), *(known[name] for name in values)]
                if score == "evidence":
                    columns.append(kinds[known["decided_by"].astype(np.int64)])
                yield pa.RecordBatch.from_arrays([pa.array(column) for column in columns], names)

    return scores.mapInArrow(unpack, schema)


def _judged(row: dict[str, Any], layout: Layout) -> Array:
    rows = piece_matrix(row, layout, np.float64)
    return rows[rows[:, 0] > 0]
