"""Training on the driver: the loop of one machine, on the views of the nodes that the pool of pairs names."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

import numpy as np
import torch
from numpy.typing import NDArray

from hopsight.detectors.base import Callback
from hopsight.hcm.cross_hcm import CrossHCM
from hopsight.hcm.training import Fold
from hopsight.hops.pool import PairPool
from hopsight.nn.device import resolve_device
from hopsight.spark.blocks import BLOCK, NO_FOLD, PIECE, Layout, each_row, piece_matrix
from hopsight.spark.pairs import offsets
from hopsight.spark.views import view_type

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

Array = NDArray[Any]

VIEWS = ("x", "ax")


@dataclass(frozen=True)
class Trained:
    """Posterior samples (n_samples, n_weights), the losses, and the shape of the network."""

    samples: NDArray[np.float32]
    losses: NDArray[np.float64]
    n_inputs: int
    n_classes: int


def chosen_rows(views: DataFrame, layout: Layout, pool: PairPool) -> DataFrame:
    """Return the views of the pool's nodes only, in the order of their numbers; a fold has its own nodes.

    Rows of X belong to no fold and are there for every node of the pool.
    """
    first = offsets(layout)
    mine = {fold: _members(pool, fold) for fold in range(len(pool.pools))}
    everyone = np.unique(np.concatenate(list(mine.values())))

    def choose(row: dict[str, Any]) -> Iterator[dict[str, Any]]:
        start = first[row["block"]] + row["piece"] * PIECE
        end = start + layout.rows(row["block"], row["piece"])
        members = everyone if row["fold"] == NO_FOLD else mine[row["fold"]]
        here = members[np.searchsorted(members, start) : np.searchsorted(members, end)] - start
        if here.size:
            yield row | {"payload": piece_matrix(row, layout, view_type(layout))[here]}

    return views.mapInArrow(each_row(choose, BLOCK), BLOCK)


def train(
    spark: SparkSession,
    path: str,
    layout: Layout,
    detector: CrossHCM,
    pool: PairPool,
    rngs: tuple[np.random.Generator, ...],
    callback: Callback | None = None,
) -> Trained:
    """Read the views of the pool from Parquet and sample the posterior, as :class:`CrossHCM` does."""
    rows = views_by_kind(spark.read.parquet(path).collect(), view_type(layout))
    return sampled(rows, detector, pool, rngs, callback)


def sampled(
    rows: dict[tuple[int, str], Array],
    detector: CrossHCM,
    pool: PairPool,
    rngs: tuple[np.random.Generator, ...],
    callback: Callback | None = None,
) -> Trained:
    """Sample the posterior from the views of the pool's nodes, as :func:`views_by_kind` returned them."""
    device = resolve_device(detector.device)
    local, folds = _local(rows, pool, device)
    model = replace(detector)  # the detector itself travels to the executors, and should travel light
    model.n_inputs_, model.n_classes_, model.directed_ = folds[0].view[0].shape[1], pool.n_classes, False
    no_edges = torch.empty((2, 0), dtype=torch.int64, device=device)
    model._train(folds, local, no_edges, rngs, node_scores=_no_scores, callback=callback)
    return Trained(model.samples_, model.loss_, model.n_inputs_, model.n_classes_)


def views_by_kind(rows: Iterable[Any], kind: Any) -> dict[tuple[int, str], Array]:
    """Return the views of every fold and kind, in the order of the nodes' numbers, from rows of :data:`BLOCK`."""
    found: dict[tuple[int, str], list[Array]] = {}
    for row in sorted(rows, key=lambda row: (row["block"], row["piece"])):
        part = np.frombuffer(row["payload"], dtype=kind)
        found.setdefault((row["fold"], row["kind"]), []).append(part)
    return {key: np.concatenate(parts) for key, parts in found.items()}


def _members(pool: PairPool, fold: int) -> Array:
    return np.unique(np.concatenate([pairs.ravel() for pairs in pool.pools[fold]]))


def _local(rows: dict[tuple[int, str], Array], pool: PairPool, device: torch.device) -> tuple[PairPool, list[Fold]]:
    """Count the pool's nodes anew in every fold, and give the fold the views of its own."""
    n_folds = len(pool.pools)
    mine = [_members(pool, fold) for fold in range(n_folds)]
    everyone = np.unique(np.concatenate(mine))
    x = rows[NO_FOLD, "x"].reshape(everyone.size, -1)
    judged = torch.empty(0, dtype=torch.int64, device=device)
    folds, pools = [], []
    for fold, members in enumerate(mine):
        views = [x[np.searchsorted(everyone, members)], rows[fold, "ax"].reshape(members.size, -1)]
        folds.append(Fold([torch.from_numpy(np.array(view)).to(device) for view in views], judged))
        pools.append([np.searchsorted(members, pairs) for pairs in pool.pools[fold]])
    return replace(pool, pools=pools), folds


def _no_scores(_: Any) -> NDArray[np.float64]:
    raise ValueError("scores of single epochs are not available with the spark engine")
