"""Compute what the networks see, train them on the views of a bounded pool, and judge the edges with their samples."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
import scipy.sparse as sp
import torch
from numpy.typing import NDArray

from hopsight.detectors.base import Callback
from hopsight.hcm import train as local_training
from hopsight.hcm.cross_hcm import CrossHCM
from hopsight.hcm.evidence import EdgeFeatures
from hopsight.hcm.posterior import EdgePosterior, calibrations_of, predict
from hopsight.hcm.splits import Splits
from hopsight.hcm.train import Generators, Observer, schedule_of
from hopsight.hops.pool import PairPool
from hopsight.nn.device import resolve_device
from hopsight.nn.gcn import smoothed_by, torch_csr
from hopsight.spark.blocks import (
    BLOCK,
    EDGES,
    NO_FOLD,
    SENT,
    VIEWS,
    Array,
    Layout,
    Row,
    arc_ends,
    chosen_rows,
    column,
    first_arcs,
    group_rows,
    map_rows,
    on_cells,
    pieces,
    send,
    slices,
    sum_over_cells,
)

if TYPE_CHECKING:
    from pyspark.sql import DataFrame

JUDGED = f"{EDGES}, values binary"
VALUES = ("hop", "variance", "probability", "surprise", "dissimilarity")  # the rows of the column "values"
CPU = torch.device("cpu")


@dataclass(frozen=True)
class TrainedModel:
    """The posterior samples (n_samples, n_networks, n_weights), their calibrations, the losses, and the shape."""

    samples: NDArray[np.float32]
    calibrations: NDArray[np.float64]
    losses: NDArray[np.float64]
    n_inputs: int
    n_classes: int


def compute_views(x: DataFrame, degrees: DataFrame, cells: DataFrame, layout: Layout, splits: Splits) -> DataFrame:
    """Return blocks ``around``, ÂX in every fold, from blocks ``x`` and ``degree``: join with edges, group by node.

    A task computes the views of all folds of a network, so X is shuffled once per network.
    """
    networks, n_inner = range(splits.n_folds), splits.n_inner

    def multiply(network: int, cell: int, blocks: dict[str, Array], edges: dict[str, Array]) -> Iterator[Row]:
        places, once = splits.of(edges["hash"]), first_arcs(edges["u"], edges["v"])
        for fold in splits.folds[network * n_inner : (network + 1) * n_inner]:
            visible = once & ~places.hidden(fold)
            ends = edges["u"][visible], edges["v"][visible]
            for block, rows in _neighborhoods(layout.pairs[cell], ends, blocks, fold):
                yield from ({**row, "cell": cell} for row in pieces(fold, block, "ax", rows))

    sent = send(x.unionAll(degrees), layout, networks)
    partial = on_cells(sent, cells.select("cell", "slice", "u", "v", "hash"), layout, networks, multiply, SENT)
    return in_view_type(sum_over_cells(partial, layout), layout, "around")


def _neighborhoods(
    pair: tuple[int, int], ends: tuple[Array, Array], blocks: dict[str, Array], fold: int
) -> Iterator[tuple[int, Array]]:
    """Yield what the edges of a cell add to ÂX of its two blocks; its nodes themselves count where both are one."""
    x = [torch.from_numpy(np.array(blocks[f"x{side}"])) for side in (0, 1)]
    degrees = [torch.from_numpy(blocks[f"degree{side}"][:, fold + 1].astype(np.float32)) for side in (0, 1)]
    (i, j), (u, v) = pair, ends
    if i == j:
        u, v = np.concatenate([u, v]), np.concatenate([v, u])
    matrix = sp.coo_array((np.ones(u.size, dtype=np.float32), (u, v)), shape=(len(x[0]), len(x[1]))).tocsr()
    if i == j:
        yield i, smoothed_by(torch_csr(matrix, CPU), degrees[0], x[0]).numpy()
        return
    scale = [torch.rsqrt(each + 1.0)[:, None] for each in degrees]
    yield i, (torch_csr(matrix, CPU) @ (x[1] * scale[1])).mul_(scale[0]).numpy()
    yield j, (torch_csr(matrix.T.tocsr(), CPU) @ (x[0] * scale[0])).mul_(scale[1]).numpy()


def in_view_type(blocks: DataFrame, layout: Layout, kind: str) -> DataFrame:
    """Convert blocks of float32 to a kind of view, which has half precision in a large graph."""

    def convert(row: Row) -> Iterator[Row]:
        values = np.frombuffer(row["payload"], dtype=np.float32)
        yield {**row, "kind": kind, "payload": values.astype(layout.dtype(kind), copy=False)}

    return map_rows(blocks, convert, BLOCK)


def collect_views(views: DataFrame, layout: Layout, pool: PairPool) -> dict[int, Array]:
    """Return the views of the nodes in the pool only, ordered by the nodes' numbers.

    For each fold, this is ÂX of the nodes of that fold's pool, and for ``NO_FOLD`` X of the nodes of all pools.
    """
    by_fold = {fold: pool.nodes(fold) for fold in range(len(pool.pools))}
    nodes = by_fold | {NO_FOLD: np.unique(np.concatenate(list(by_fold.values())))}

    def choose(row: Row) -> Iterator[Row]:
        chosen = chosen_rows(row, layout, nodes[row["fold"]])
        if chosen.size:
            yield row | {"payload": chosen}

    found: dict[int, list[Array]] = {}
    for row in sorted(map_rows(views, choose, BLOCK).collect(), key=lambda row: (row["block"], row["piece"])):
        found.setdefault(row["fold"], []).append(np.frombuffer(row["payload"], dtype=layout.dtype(row["kind"])))
    return {fold: np.concatenate(parts).reshape(nodes[fold].size, -1) for fold, parts in found.items()}


def train(
    views: dict[int, Array],
    detector: CrossHCM,
    pool: PairPool,
    rngs: tuple[np.random.Generator, ...],
    callback: Callback | None = None,
) -> TrainedModel:
    """Sample the posterior on the driver, as the local engine does.

    Parameters
    ----------
    views
        What :func:`collect_views` returned.
    detector, pool, rngs, callback
        The hyperparameters, the pairs, generators for pairs, weights, dropout and noise, and what is called after
        each epoch.
    """
    device = resolve_device(detector.device)
    by_fold = [pool.nodes(fold) for fold in range(len(pool.pools))]
    all_nodes = np.unique(np.concatenate(by_fold))
    folds = []
    for fold, nodes in enumerate(by_fold):
        both = views[NO_FOLD][np.searchsorted(all_nodes, nodes)], np.array(views[fold])
        folds.append([torch.from_numpy(view).to(device) for view in both])
    n_inner, n_inputs, local = len(folds) // pool.n_networks, views[NO_FOLD].shape[1], pool.renumbered()
    by_network = [folds[k * n_inner : (k + 1) * n_inner] for k in range(pool.n_networks)]
    networks = detector.build_networks(n_inputs, pool.n_classes, rngs[1], device, directed=detector.directed_)
    generators, schedule = Generators.spawn((rngs[0], *rngs[2:]), device), detector.training_schedule(pool, device)
    seen, observer = [mine[1:] for mine in by_network], Observer(callback)
    trained = local_training.train(networks, seen, local, schedule, generators, observer=observer)
    aside, rng = [mine[0] for mine in by_network], np.random.default_rng(generators.judging_seed)
    calibrations = calibrations_of(networks, aside, local, trained.samples, schedule, rng)
    return TrainedModel(trained.samples, calibrations, trained.losses, n_inputs, pool.n_classes)


def judge(
    views: DataFrame,
    cells: DataFrame,
    layout: Layout,
    splits: Splits,
    detector: CrossHCM,
    trained: TrainedModel,
    *,
    directed: bool,
) -> DataFrame:
    """Return the :data:`VALUES` of each cell's edges over all samples of the network that judges them.

    Every posterior sample judges in the fold it was drawn in. ``cells`` are those of
    :func:`hopsight.spark.pairs.compare_ends`; in the result, each network has slices of its own.
    """
    schedule, n_turns = schedule_of(detector, len(trained.samples), CPU), splits.n_inner - 1
    turns = {fold: turn for turn, fold in enumerate(fold for fold in splits.folds if fold % splits.n_inner)}
    epochs = schedule.sample_epochs(n_turns)
    samples = views.sparkSession.sparkContext.broadcast(trained.samples)

    def copies(row: Row) -> Iterator[Row]:  # X goes to every fold, and views that were set aside go nowhere
        for fold in turns if row["kind"] == "own" else turns.keys() & {row["fold"]}:
            for cell in layout.cells_of(row["block"]):
                yield row | {"fold": turns[fold], "cell": cell}

    def judge_cell(number: int, cell: int, blocks: dict[str, Array], edges: dict[str, Array]) -> Iterator[Row]:
        network, turn = divmod(number, n_turns)
        mine = splits.of(edges["hash"]).part == network
        edges = {name: values[mine] if values.size else values for name, values in edges.items()}
        pairs = torch.from_numpy(arc_ends(layout.places(cell, edges), edges["way"]))
        view = [torch.from_numpy(np.array(layout.stacked(cell, blocks, kind))) for kind in VIEWS]
        posterior = EdgePosterior(pairs.shape[1], CPU)
        rng = np.random.default_rng(0)
        judging = detector.build_networks(trained.n_inputs, trained.n_classes, rng, CPU, directed=directed)[network]
        for epoch, weights in zip(epochs, samples.value, strict=True):
            if epoch % n_turns == turn:
                judging.set_flat_weights(weights[network])
                for part, logits in predict(judging, view, pairs, torch.arange(pairs.shape[1]), schedule):
                    posterior.add(part, logits, schedule.prediction, trained.calibrations[network])
        count, hop, square, *others = posterior.state.numpy().astype(np.float64)
        sums = [count, count * hop, square + count * hop**2, *(count * each for each in others)]
        found = {"values": np.stack([*sums, edges.pop("dissimilarity")])}
        for row in slices(cell, edges | found):
            yield row | {"slice": network << 16 | row["slice"], "turn": turn}

    def merge(rows: list[Row]) -> Iterator[Row]:
        ordered = sorted(rows, key=lambda row: row["turn"])
        tables = [column(row, "values").reshape(len(VALUES) + 1, -1) for row in ordered]
        count, *sums = np.sum([table[:-1] for table in tables], axis=0)
        hop, square, probability, surprise = (each / np.maximum(count, 1.0) for each in sums)
        variance = np.maximum(square - hop**2, 0.0)
        yield rows[0] | {"values": np.stack([hop, variance, probability, surprise, tables[0][-1]])}

    sent = map_rows(views, copies, SENT)
    partial = on_cells(sent, cells.drop("kept"), layout, range(len(turns)), judge_cell, f"{JUDGED}, turn int")
    return group_rows(partial, ("cell", "slice"), merge, JUDGED)


def edge_values(row: Row) -> dict[str, Array]:
    """Return the statistics of each edge of a slice, by the names of :data:`VALUES`."""
    return dict(zip(VALUES, column(row, "values").reshape(len(VALUES), -1), strict=True))


def edge_features(row: Row) -> EdgeFeatures:
    """Return the features of the edges of a slice."""
    values = edge_values(row)
    return EdgeFeatures(values["hop"], values["surprise"], values["dissimilarity"])
