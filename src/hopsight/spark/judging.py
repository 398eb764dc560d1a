"""Judge the edges on the cluster: each network judges its part, every posterior sample in the fold it was drawn in."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import pairwise
from typing import TYPE_CHECKING, Any

import numpy as np
import pyarrow as pa
import torch

from hopsight.hcm.cross_hcm import CrossHCM
from hopsight.hcm.evidence import EdgeFeatures
from hopsight.hcm.posterior import EdgePosterior, predict
from hopsight.hcm.splits import Splits
from hopsight.hcm.train import schedule_of
from hopsight.spark.blocks import SENT, Array, Layout, arrow_schema, each_row, one_row, rows_of
from hopsight.spark.cells import SLICE, arc_ends, on_cells
from hopsight.spark.graph import EDGE_TYPES
from hopsight.spark.training import VIEWS, TrainedModel
from hopsight.spark.views import view_dtype

if TYPE_CHECKING:
    from pyspark.sql import DataFrame


JUDGED = "cell int, slice int, u binary, v binary, hash binary, way binary, values binary"
EDGE = ("cell", "slice", "u", "v", "hash", "way")
VALUES = ("hop", "variance", "probability", "surprise", "dissimilarity")  # the rows of the column "values"
PARTIAL = "cell int, slice int, fold int, payload binary"
FIELDS = ("count", "hop", "square", "probability", "surprise")


def edge_values(row: dict[str, Any]) -> dict[str, Array]:
    """Return what is known of each edge of a slice, by the names of :data:`VALUES`."""
    return dict(zip(VALUES, np.frombuffer(row["values"]).reshape(len(VALUES), -1), strict=True))


def edge_readings(row: dict[str, Any]) -> EdgeFeatures:
    """Return the readings of the edges of a slice."""
    values = edge_values(row)
    return EdgeFeatures(values["hop"], values["surprise"], values["dissimilarity"])


def judging_folds(splits: Splits) -> list[int]:
    """Return the folds that networks were trained in, and judge in; the others were set aside."""
    return [fold for fold in splits.folds if fold % splits.n_inner]


def send_views(views: DataFrame, layout: Layout, splits: Splits) -> DataFrame:
    """Send the views of every block to the cells that touch it, X once for each fold.

    Folds are numbered by their places in :func:`judging_folds`.
    """
    places = {fold: place for place, fold in enumerate(judging_folds(splits))}

    def copies(row: dict[str, Any]) -> Iterator[dict[str, Any]]:
        for fold in places if row["kind"] == "x" else places.keys() & {row["fold"]}:
            for cell in layout.cells_of(row["block"]):
                yield row | {"fold": places[fold], "cell": cell}

    return views.mapInArrow(each_row(copies, SENT), SENT)


def judged_edges(
    sent: DataFrame, cells: DataFrame, layout: Layout, splits: Splits, detector: CrossHCM, trained: TrainedModel
) -> DataFrame:
    """Return the :data:`VALUES` of each cell's edges over all samples of the network that judges them.

    ``cells`` are those of :func:`hopsight.spark.pairs.with_similarity`.
    """
    schedule = schedule_of(detector, len(trained.samples), torch.device("cpu"))
    n_turns = splits.n_inner - 1
    epochs = schedule.sample_epochs(n_turns)
    samples = sent.sparkSession.sparkContext.broadcast(trained.samples)

    def judge_cell(
        layout: Layout, fold: int, cell: int, blocks: dict[str, Array], edges: dict[str, Array]
    ) -> Iterator[dict[str, Any]]:
        i, j = layout.pairs[cell]
        k, turn = divmod(fold, n_turns)
        mine = splits.of(edges["hash"]).part == k
        second, way = edges["v"] + (0 if i == j else layout.sizes[i]), edges["way"]
        ends = np.stack(arc_ends(edges["u"][mine], second[mine], way[mine] if way.size else way))
        pairs, chosen = torch.from_numpy(ends.astype(np.int64)), torch.arange(ends.shape[1])
        view = _cell_views(blocks, i == j)
        posterior = EdgePosterior(ends.shape[1], torch.device("cpu"))
        shape, rng = (trained.n_inputs, trained.n_classes), np.random.default_rng(0)
        network = detector.build_networks(*shape, rng, torch.device("cpu"), directed=trained.directed)[k]
        for epoch, weights in zip(epochs, samples.value, strict=True):
            if epoch % n_turns == turn:
                network.set_flat_weights(weights[k])
                for part, logits in predict(network, view, pairs, chosen, schedule):
                    posterior.add(part, logits, schedule.prediction, trained.calibrations[k])
        found = np.stack([getattr(posterior, name).numpy() for name in FIELDS]).astype(np.float64)
        starts = range(0, max(1, mine.size), SLICE)
        places = np.searchsorted(np.flatnonzero(mine), [*starts, mine.size])
        for number, (start, end) in enumerate(pairwise(places.tolist())):
            yield {"cell": cell, "slice": number, "fold": fold, "payload": found[:, start:end]}

    types = {**dict.fromkeys(VIEWS, view_dtype(layout)), **EDGE_TYPES}
    turns = list(range(len(judging_folds(splits))))
    partial = on_cells(sent, cells.select(*EDGE), layout, turns, judge_cell, types, PARTIAL)
    return _merged(partial, cells, splits)


def _cell_views(blocks: dict[str, Array], same: bool) -> list[torch.Tensor]:
    """Return the views of the nodes of both blocks, those of the second below those of the first."""
    sides = (0,) if same else (0, 1)
    views = [np.concatenate([blocks[f"{kind}{side}"] for side in sides]) for kind in VIEWS]
    return [torch.from_numpy(view) for view in views]


def _merged(partial: DataFrame, cells: DataFrame, splits: Splits) -> DataFrame:
    """Combine the means and squared deviations of each edge over the folds (Chan's rule), slice by slice."""
    names = arrow_schema(JUDGED)
    edges = cells.select(*EDGE, "dissimilarity")

    def merge(key: Any, left: pa.Table, right: pa.Table) -> pa.Table:
        cell = next(rows_of(right))
        hashes = np.frombuffer(cell["hash"], dtype=np.uint64)
        part = splits.of(hashes).part
        total = np.zeros((len(FIELDS), hashes.size))
        for row in sorted(rows_of(left), key=lambda row: row["fold"]):
            mine = np.flatnonzero(part == row["fold"] // (splits.n_inner - 1))
            new = np.frombuffer(row["payload"]).reshape(len(FIELDS), -1)
            old = total[:, mine]
            count = old[0] + new[0]
            share = np.divide(new[0], count, out=np.zeros_like(count), where=count > 0)
            shift = new[1] - old[1]
            total[0, mine] = count
            total[1, mine] = old[1] + shift * share
            total[2, mine] = old[2] + new[2] + shift**2 * old[0] * share
            total[3:, mine] = old[3:] + (new[3:] - old[3:]) * share
        variance = total[2] / np.maximum(total[0], 1.0)
        values = np.stack([total[1], variance, total[3], total[4], np.frombuffer(cell["dissimilarity"])])
        row = {**{name: cell[name] for name in EDGE}, "values": values}
        return pa.Table.from_batches([one_row(row, names)])

    return partial.groupBy("cell", "slice").cogroup(edges.groupBy("cell", "slice")).applyInArrow(merge, JUDGED)
