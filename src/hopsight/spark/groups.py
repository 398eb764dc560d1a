"""Find rings and lockstep groups: collect the suspects and the edges among them, and search on the driver."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from hopsight.hcm.evidence import KINDS, EdgeBaseline
from hopsight.hcm.groups import Group, find_groups
from hopsight.spark.blocks import PIECE, Array, Layout, each_row, piece_matrix, sum_to_driver
from hopsight.spark.judging import edge_readings
from hopsight.spark.ranking import SCORES

if TYPE_CHECKING:
    from pyspark.sql import DataFrame

GROUP_KINDS = ("ring", "lockstep")
MOST_SUSPECTS = 1 << 20
MOST_EDGES = 1 << 23

IntArray = NDArray[np.int64]


def collect_groups(
    scores: DataFrame,
    judged: DataFrame,
    nodes: DataFrame,
    layout: Layout,
    laws: EdgeBaseline,
    kind_thresholds: Array,
    notices: list[str],
) -> list[Group]:
    """Return the groups of the local engine, with ids as members.

    If the suspects or their edges are too many for the driver, a notice says so and no group is returned.
    """
    limits = {kind: float(kind_thresholds[KINDS.index(kind)]) for kind in GROUP_KINDS}
    if _n_suspects(scores, layout, limits) > MOST_SUSPECTS:
        notices.append(f"Searched for no groups: more than {MOST_SUSPECTS:,} nodes may belong to one.")
        return []
    numbers, evidence = _suspects(scores, layout, limits)
    if not numbers.size:
        return []
    if _n_edges(judged, layout, numbers) > MOST_EDGES:
        notices.append(f"Searched for no groups: more than {MOST_EDGES:,} edges connect nodes that may belong to one.")
        return []
    ends, sides = _edges(judged, layout, numbers, laws)
    order, ids = _in_table_order(nodes, layout, numbers)
    place = np.argsort(order)
    local = place[np.searchsorted(numbers, ends)]
    found: list[Group] = []
    for kind, side, values in zip(GROUP_KINDS, sides, evidence[:, order], strict=True):
        found += find_groups(kind, local, side, values, values > limits[kind])
    return [replace(group, members=ids[group.members]) for group in found]


def _suspect_rows(row: dict[str, Any], layout: Layout, limits: dict[str, float]) -> tuple[Array, Array]:
    """Return the positions in a piece of the nodes that may belong to a group, and their evidence of each kind."""
    rows = piece_matrix(row, layout, np.float64)
    evidence = rows[:, [SCORES.index(kind) for kind in limits]]
    here = np.flatnonzero((evidence > np.array(list(limits.values()))).any(axis=1))
    return here, evidence[here]


def _n_suspects(scores: DataFrame, layout: Layout, limits: dict[str, float]) -> int:
    def count(row: dict[str, Any]) -> Iterator[tuple[int, Array]]:
        yield 0, np.array([_suspect_rows(row, layout, limits)[0].size], dtype=np.float64)

    return int(sum_to_driver(scores, count)[0][0])


def _suspects(scores: DataFrame, layout: Layout, limits: dict[str, float]) -> tuple[IntArray, Array]:
    """Return the numbers of the suspects in ascending order, and their evidence, (n_kinds, n_suspects)."""
    first = layout.offsets

    def choose(row: dict[str, Any]) -> Iterator[dict[str, Any]]:
        here, evidence = _suspect_rows(row, layout, limits)
        numbers = first[row["block"]] + row["piece"] * PIECE + here
        yield {"payload": np.stack([numbers.astype(np.float64), *evidence.T])}

    found = _collected(scores, choose, 1 + len(limits))
    found = found[:, np.argsort(found[0])]
    return found[0].astype(np.int64), found[1:]


def _inside(row: dict[str, Any], layout: Layout, numbers: IntArray) -> tuple[Array, Array]:
    """Return which edges of a slice connect two suspects, and the numbers of the ends of all edges."""
    i, j = layout.pairs[row["cell"]]
    u, v = (np.frombuffer(row[end], dtype=np.int32).astype(np.int64) for end in ("u", "v"))  # NumPy 1 keeps int32
    ends = np.stack([layout.offsets[i] + u, layout.offsets[j] + v])
    places = np.minimum(np.searchsorted(numbers, ends), numbers.size - 1)
    return np.flatnonzero((numbers[places] == ends).all(axis=0)), ends


def _n_edges(judged: DataFrame, layout: Layout, numbers: IntArray) -> int:
    known = judged.sparkSession.sparkContext.broadcast(numbers)

    def count(row: dict[str, Any]) -> Iterator[tuple[int, Array]]:
        yield 0, np.array([_inside(row, layout, known.value)[0].size], dtype=np.float64)

    return int(sum_to_driver(judged, count)[0][0])


def _edges(judged: DataFrame, layout: Layout, numbers: IntArray, laws: EdgeBaseline) -> tuple[IntArray, Array]:
    """Return the edges among the suspects as (2, n_edges) numbers, and their strangeness and alikeness."""
    known = judged.sparkSession.sparkContext.broadcast(numbers)

    def choose(row: dict[str, Any]) -> Iterator[dict[str, Any]]:
        inside, ends = _inside(row, layout, known.value)
        edges = edge_readings(row).rows(inside)
        sides = laws.strangeness(edges), laws.alikeness(edges)
        yield {"payload": np.stack([*ends[:, inside].astype(np.float64), *sides])}

    found = _collected(judged, choose, 4)
    return found[:2].astype(np.int64), found[2:]


def _in_table_order(nodes: DataFrame, layout: Layout, numbers: IntArray) -> tuple[IntArray, NDArray[Any]]:
    """Return the order of the suspects in the node table, and their ids in that order."""
    known = nodes.sparkSession.sparkContext.broadcast(numbers)
    kind = {"bigint": "long"}.get(dict(nodes.dtypes)["id"], "string")

    def choose(batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        for batch in batches:
            number = layout.offsets[batch.column("block").to_numpy()] + batch.column("position").to_numpy()
            mine = pa.array(np.isin(number, known.value))
            columns = [batch.column("id"), batch.column("row"), pa.array(number)]
            yield pa.RecordBatch.from_arrays(columns, ["id", "row", "number"]).filter(mine)

    chosen = nodes.select("id", "row", "block", "position")
    rows = chosen.mapInArrow(choose, f"id {kind}, row long, number long").collect()
    rows.sort(key=lambda row: row["row"])
    ids = np.array([row["id"] for row in rows], dtype=np.int64 if kind == "long" else object)
    return np.searchsorted(numbers, [row["number"] for row in rows]), ids


def _collected(frame: DataFrame, function: Any, width: int) -> Array:
    """Collect the matrices that ``function`` yields for each row, side by side."""
    schema = "payload binary"
    rows = frame.mapInArrow(each_row(function, schema), schema).collect()
    return np.concatenate([np.frombuffer(row["payload"]).reshape(width, -1) for row in rows], axis=1)
