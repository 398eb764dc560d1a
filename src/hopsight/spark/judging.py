"""Judge the edges on the cluster: each fold judges the edges it hides, with the posterior samples drawn in it."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import pairwise
from typing import TYPE_CHECKING, Any

import numpy as np
import pyarrow as pa
import torch

from hopsight.hcm.cross_hcm import CrossHCM
from hopsight.hcm.edge_posterior import EdgePosterior
from hopsight.hcm.folds import Fold
from hopsight.hcm.training import judge
from hopsight.spark.blocks import SENT, Array, Layout, arrow_schema, each_row, one_row, rows_of
from hopsight.spark.cells import SLICE, on_cells
from hopsight.spark.folds import Splits
from hopsight.spark.graph import EDGE_TYPES
from hopsight.spark.training import VIEWS, TrainedModel
from hopsight.spark.views import view_dtype

if TYPE_CHECKING:
    from pyspark.sql import DataFrame


JUDGED = "cell int, slice int, u binary, v binary, values binary"
PARTIAL = "cell int, slice int, fold int, payload binary"
FIELDS = ("count", "hop", "square", "probability", "surprise")


def send_views(views: DataFrame, layout: Layout, splits: Splits) -> DataFrame:
    """Send the views of every block to the cells that touch it, X once for each fold."""

    def copies(row: dict[str, Any]) -> Iterator[dict[str, Any]]:
        for fold in splits.folds if row["kind"] == "x" else (row["fold"],):
            for cell in layout.cells_of(row["block"]):
                yield row | {"fold": fold, "cell": cell}

    return views.mapInArrow(each_row(copies, SENT), SENT)


def judged_edges(
    sent: DataFrame, cells: DataFrame, layout: Layout, splits: Splits, detector: CrossHCM, trained: TrainedModel
) -> DataFrame:
    """Return, for each cell's edges, the mean hop count, its variance, p(one hop) and surprise over all samples."""
    epochs = detector.schedule().sample_epochs(len(splits.folds))
    n_folds = len(splits.folds)
    samples = sent.sparkSession.sparkContext.broadcast(trained.samples)

    def judge_cell(
        layout: Layout, fold: int, cell: int, blocks: dict[str, Array], edges: dict[str, Array]
    ) -> Iterator[dict[str, Any]]:
        i, j = layout.pairs[cell]
        hidden = splits.hidden(edges["hash"], fold)
        ends = np.stack([edges["u"][hidden], edges["v"][hidden] + (0 if i == j else layout.sizes[i])])
        views = _cell_views(blocks, i == j)
        fold_view = Fold(views, torch.arange(ends.shape[1]))
        posterior = EdgePosterior(ends.shape[1], torch.device("cpu"))
        network = detector.build_network(
            trained.n_inputs, trained.n_classes, directed=False, generator=torch.Generator()
        )
        for epoch, flat in zip(epochs, samples.value, strict=True):
            if epoch % n_folds == fold:
                network.set_flat_weights(flat)
                judge(network, fold_view, torch.from_numpy(ends.astype(np.int64)), posterior, detector.schedule())
        found = np.stack([getattr(posterior, name).numpy() for name in FIELDS]).astype(np.float64)
        starts = range(0, max(1, hidden.size), SLICE)
        places = np.searchsorted(np.flatnonzero(hidden), [*starts, hidden.size])
        for number, (start, end) in enumerate(pairwise(places.tolist())):
            yield {"cell": cell, "slice": number, "fold": fold, "payload": found[:, start:end]}

    types = {**dict.fromkeys(VIEWS, view_dtype(layout)), **EDGE_TYPES}
    partial = on_cells(
        sent, cells.select("cell", "slice", "u", "v", "hash"), layout, splits.folds, judge_cell, types, PARTIAL
    )
    return _merged(partial, cells, splits)


def _cell_views(blocks: dict[str, Array], same: bool) -> list[torch.Tensor]:
    """Return the views of the nodes of both blocks, those of the second below those of the first."""
    sides = (0,) if same else (0, 1)
    views = [np.concatenate([blocks[f"{kind}{side}"] for side in sides]) for kind in VIEWS]
    return [torch.from_numpy(view) for view in views]


def _merged(partial: DataFrame, cells: DataFrame, splits: Splits) -> DataFrame:
    """Combine the means and squared deviations of each edge over the folds (Chan's rule), slice by slice."""
    names = arrow_schema(JUDGED)
    edges = cells.select("cell", "slice", "u", "v", "hash")

    def merge(key: Any, left: pa.Table, right: pa.Table) -> pa.Table:
        cell = next(rows_of(right))
        hashes = np.frombuffer(cell["hash"], dtype=np.uint64)
        total = np.zeros((len(FIELDS), hashes.size))
        for row in sorted(rows_of(left), key=lambda row: row["fold"]):
            mine = np.flatnonzero(splits.hidden(hashes, row["fold"]))
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
        values = np.stack([total[1], variance, total[3], total[4]])
        row = {**{name: cell[name] for name in ("cell", "slice", "u", "v")}, "values": values}
        return pa.Table.from_batches([one_row(row, names)])

    return partial.groupBy("cell", "slice").cogroup(edges.groupBy("cell", "slice")).applyInArrow(merge, JUDGED)
