"""Train as the local engine does, on the views of the nodes in the pool: on the driver, or in a TorchDistributor."""

from __future__ import annotations

import logging
import warnings
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
import torch
from numpy.typing import NDArray

from hopsight.detectors.base import Callback
from hopsight.hcm.cross_hcm import CrossHCM
from hopsight.hcm.posterior import calibrations_of
from hopsight.hcm.train import Generators, Observer, train
from hopsight.hops.pool import PairPool
from hopsight.nn.device import resolve_device
from hopsight.spark.blocks import BLOCK, NO_FOLD, Array, Layout, chosen_rows, each_row
from hopsight.spark.views import view_dtype

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

Rngs = tuple[np.random.Generator, ...]

VIEWS = ("x", "ax")


@dataclass(frozen=True)
class TrainedModel:
    """The posterior samples (n_samples, n_networks, n_weights), their calibrations, the losses, and the shape."""

    samples: NDArray[np.float32]
    calibrations: NDArray[np.float64]
    losses: NDArray[np.float64]
    n_inputs: int
    n_classes: int
    directed: bool = False


def pool_views(views: DataFrame, layout: Layout, pool: PairPool) -> DataFrame:
    """Return the views of the nodes in the pool only, ordered by the nodes' numbers.

    Blocks ``ax`` of a fold hold the nodes of that fold's pool, blocks ``x`` the nodes of all pools.
    """
    by_fold = {fold: pool.nodes(fold) for fold in range(len(pool.pools))}
    all_nodes = np.unique(np.concatenate(list(by_fold.values())))

    def choose(row: dict[str, Any]) -> Iterator[dict[str, Any]]:
        nodes = all_nodes if row["fold"] == NO_FOLD else by_fold[row["fold"]]
        chosen = chosen_rows(row, layout, view_dtype(layout), nodes)
        if chosen.size:
            yield row | {"payload": chosen}

    return views.mapInArrow(each_row(choose, BLOCK), BLOCK)


def train_on_driver(
    spark: SparkSession,
    path: str,
    dtype: Any,
    detector: CrossHCM,
    pool: PairPool,
    rngs: Rngs,
    callback: Callback | None = None,
) -> TrainedModel:
    """Sample the posterior in this process.

    Parameters
    ----------
    path, dtype
        Parquet files with the views of the pool, and the type of their numbers.
    detector, pool, rngs, callback
        The hyperparameters, the pairs, generators for pairs, weights, dropout and noise, and what is called after
        each epoch.
    """
    views = views_by_kind(spark.read.parquet(path).collect(), dtype)
    return train_on_views(views, detector, pool, rngs, callback)


def train_in_process(
    spark: SparkSession, path: str, dtype: Any, detector: CrossHCM, pool: PairPool, rngs: Rngs
) -> TrainedModel:
    """Sample the posterior in one process that :class:`pyspark.ml.torch.distributor.TorchDistributor` starts.

    The process runs on an executor of the cluster, which needs torch and access to ``path``, or beside the driver if
    the master is local. This takes load off the driver; it does not make the training faster. Several processes would
    sum gradients in another order, and the scores would no longer be those of the local engine. One is enough for any
    graph, because the size of the pool is bounded.
    """
    from pyspark.ml.torch.distributor import TorchDistributor

    master = spark.sparkContext.master
    on_gpu = str(detector.device).startswith("cuda")
    distributor = TorchDistributor(
        num_processes=1, local_mode=master == "local" or master.startswith("local["), use_gpu=on_gpu
    )
    distributor.logger.setLevel(logging.WARNING)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ResourceWarning)  # TorchDistributor does not close the pipe to its process
        model = distributor.run(_read_and_train, path, np.dtype(dtype).str, detector, pool, rngs)
    if not isinstance(model, TrainedModel):
        raise RuntimeError("TorchDistributor returned no samples")
    return model


def _read_and_train(path: str, dtype: str, detector: CrossHCM, pool: PairPool, rngs: Rngs) -> TrainedModel:
    """Read the views without Spark and train."""
    import pyarrow.parquet as pq

    rows = pq.read_table(path, columns=["fold", "block", "piece", "kind", "payload"]).to_pylist()
    return train_on_views(views_by_kind(rows, np.dtype(dtype)), detector, pool, rngs)


def train_on_views(
    views: dict[tuple[int, str], Array],
    detector: CrossHCM,
    pool: PairPool,
    rngs: Rngs,
    callback: Callback | None = None,
) -> TrainedModel:
    """Sample the posterior from the views of the pool, as :func:`views_by_kind` returned them."""
    device = resolve_device(detector.device)
    local, folds = _renumbered(views, pool, device)
    n_inner = len(folds) // pool.n_networks
    n_inputs = folds[0][0].shape[1]
    by_network = [folds[k * n_inner : (k + 1) * n_inner] for k in range(pool.n_networks)]
    shape = n_inputs, pool.n_classes
    networks = detector.build_networks(*shape, rngs[1], device, directed=detector.directed_)
    generators, schedule = Generators.spawn((rngs[0], *rngs[2:]), device), detector.training_schedule(pool, device)
    seen = [mine[1:] for mine in by_network]
    trained = train(networks, seen, local, schedule, generators, observer=Observer(callback))
    aside = [mine[0] for mine in by_network]
    rng = np.random.default_rng(generators.judging_seed)  # that of the local engine
    calibrations = calibrations_of(networks, aside, local, trained.samples, schedule, rng)
    return TrainedModel(trained.samples, calibrations, trained.losses, *shape, detector.directed_)


def views_by_kind(rows: Iterable[Any], dtype: Any) -> dict[tuple[int, str], Array]:
    """Return the views of each fold and kind, ordered by the nodes' numbers, from rows of :data:`BLOCK`."""
    found: dict[tuple[int, str], list[Array]] = {}
    for row in sorted(rows, key=lambda row: (row["block"], row["piece"])):
        part = np.frombuffer(row["payload"], dtype=dtype)
        found.setdefault((row["fold"], row["kind"]), []).append(part)
    return {key: np.concatenate(parts) for key, parts in found.items()}


def _renumbered(
    views: dict[tuple[int, str], Array], pool: PairPool, device: torch.device
) -> tuple[PairPool, list[list[torch.Tensor]]]:
    """Renumber the pool's nodes within each fold, and return with them the folds' views of these nodes."""
    by_fold = [pool.nodes(fold) for fold in range(len(pool.pools))]
    all_nodes = np.unique(np.concatenate(by_fold))
    x = views[NO_FOLD, "x"].reshape(all_nodes.size, -1)
    folds = []
    for fold, nodes in enumerate(by_fold):
        own = [x[np.searchsorted(all_nodes, nodes)], views[fold, "ax"].reshape(nodes.size, -1)]
        folds.append([torch.from_numpy(np.array(view)).to(device) for view in own])
    return pool.renumbered(), folds
