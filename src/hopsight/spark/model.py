"""Choose the pairs to train on, compute what the networks see, train them, and judge the edges with their samples."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import reduce
from typing import TYPE_CHECKING, Any

import numpy as np
import scipy.sparse as sp
import torch
from numpy.typing import NDArray

from hopsight.detectors.base import Callback
from hopsight.hcm import train as local_training
from hopsight.hcm.cross_hcm import CrossHCM
from hopsight.hcm.evidence import EdgeFeatures
from hopsight.hcm.posterior import EdgePosterior, calibrations_of, predict
from hopsight.hcm.splits import Splits, drop_chances
from hopsight.hcm.train import Generators, Observer, schedule_of
from hopsight.hops.pool import POOL_PER_FOLD, PairPool, PoolPlan, allowed, plan_pool, source_count, source_places
from hopsight.hops.search import WORD, below, count, scramble
from hopsight.nn.device import resolve_device
from hopsight.nn.gcn import torch_csr
from hopsight.preprocess import edge_similarity
from hopsight.preprocess.similarity import References
from hopsight.spark.blocks import (
    BACK,
    BLOCK,
    EDGES,
    LATE,
    NO_FOLD,
    PIECE,
    SENT,
    VIEWS,
    Array,
    Layout,
    Row,
    arc_ends,
    cached,
    chosen_rows,
    collect_arrays,
    column,
    computed,
    first_arcs,
    group_rows,
    hash_limit,
    in_order,
    map_columns,
    map_rows,
    on_cells,
    piece_matrix,
    pieces,
    rows_at,
    send,
    slices,
    sum_over_cells,
    sum_to_driver,
)

if TYPE_CHECKING:
    from pyspark.sql import DataFrame

PORTION = 8 * WORD  # sources that one task searches from
COMPARED = f"{EDGES}, similarity binary, dissimilarity binary"
WITH_KEPT = f"{EDGES}, kept binary, dissimilarity binary"
KEPT = "cell int, slice int, u binary, v binary, way binary"


@dataclass(frozen=True)
class Sources:
    """The nodes to search from: block, position and hash of each, those with the smallest hashes first."""

    block: NDArray[np.int64]
    position: NDArray[np.int64]
    hash: NDArray[np.uint64]

    @classmethod
    def choose(cls, nodes: DataFrame, n_nodes: int, n_networks: int) -> list[Sources]:
        """Choose the sources of each network as the local engine does."""
        most = n_networks * source_count(n_nodes, n_networks)
        found = nodes.orderBy("order").limit(most).select("block", "position", "hash").collect()
        block, position, hashes = (np.array([row[i] for row in found], dtype=np.int64) for i in range(3))
        places = source_places(np.arange(n_nodes), n_networks)
        return [cls(block[mine], position[mine], hashes[mine].view(np.uint64)) for mine in places]

    @property
    def portions(self) -> range:
        """The numbers of the portions that are searched from side by side."""
        return range(-(-self.hash.size // PORTION))

    def n_words(self, portion: int) -> int:
        """Return the number of words that hold one bit for each source of a portion."""
        return -(-min(PORTION, self.hash.size - portion * PORTION) // WORD)

    def bits(self, portion: int, block: int, piece: int, n_rows: int) -> Array:
        """Return the words of a piece in which each source of the portion reaches only itself."""
        words = np.zeros((n_rows, self.n_words(portion)), dtype=np.uint64)
        mine = slice(portion * PORTION, (portion + 1) * PORTION)
        here = np.flatnonzero((self.block[mine] == block) & (self.position[mine] // PIECE == piece))
        bit = np.uint64(1) << (here % WORD).astype(np.uint64)
        np.bitwise_or.at(words, (self.position[mine][here] % PIECE, here // WORD), bit)
        return words


def compare_ends(x: DataFrame, cells: DataFrame, layout: Layout, measure: str, references: References) -> DataFrame:
    """Add to each edge the similarity of its ends and their relative dissimilarity."""

    def compare(fold: int, cell: int, blocks: dict[str, Array], edges: dict[str, Array]) -> Iterator[Row]:
        rows, ends = layout.stacked(cell, blocks, "exact"), layout.places(cell, edges)
        similarity = edge_similarity(rows, ends, measure)
        dissimilarity = references.relative_dissimilarity(rows, ends)
        yield from slices(cell, {"similarity": similarity, "dissimilarity": dissimilarity, **edges})

    edges = cells.drop("counts")
    return on_cells(send(x.filter("kind = 'exact'"), layout), edges, layout, [NO_FOLD], compare, COMPARED)


def drop_edges(cells: DataFrame, n_edges: int, drop_ratio: float, seed: np.uint64) -> DataFrame:
    """Add a column ``kept``, 0 for the share ``drop_ratio`` of the edges whose ends are least similar.

    Of equally similar edges those of the smallest chances are dropped, which the ``seed`` of the pool decides.
    """
    n_drop = int(np.floor(drop_ratio * n_edges + 1e-9))

    def keys(row: Row) -> tuple[Array, Array]:
        hashes, way = column(row, "hash"), column(row, "way")
        late = (way & LATE) > 0 if way.size else np.zeros(hashes.size, dtype=np.bool_)
        chances = drop_chances(hashes, late, seed) ^ np.uint64(1 << 63)  # signed numbers in the unsigned order
        return column(row, "similarity"), chances.view(np.int64)

    last, chance = -np.inf, 0
    if n_drop:
        ordered = in_order(map_columns(cells, keys, "similarity double, chance long"), similarity=True, chance=True)
        last, chance, _ = rows_at(ordered, [n_drop - 1])[n_drop - 1]

    def mark(row: Row) -> Iterator[Row]:
        similarity, chances = keys(row)
        kept = (similarity > last) | ((similarity == last) & (chances > chance))
        yield {**row, "kept": kept.astype(np.uint8)}

    return map_rows(cells, mark, WITH_KEPT)


def kept_edges(cells: DataFrame, splits: Splits, network: int) -> DataFrame:
    """Return the cells with the edges that a network counts hops along, and only the columns that the search needs."""

    def choose(row: Row) -> Iterator[Row]:
        kept, way = _shown(row, splits, network), column(row, "way")
        ends = {end: column(row, end)[kept] for end in ("u", "v")}
        yield {**row, **ends, "way": way[kept] if way.size else way}

    return map_rows(cells, choose, KEPT)


def search_hops(hashes: DataFrame, cells: DataFrame, layout: Layout, sources: Sources, n_hops: int) -> DataFrame:
    """Search from all sources at once along the edges of ``cells``, with one bit per source.

    The sources are divided into portions, each a "fold" of its own. A step is a product with A + I in which OR replaces
    the addition; bits follow the direction of arcs. The result is blocks ``reach`` with the columns [hash, C₀, C₁, …],
    where bit b of Cₕ says that source b of the portion is at most h hops away.
    """
    from pyspark.sql import functions as F  # noqa: N812

    def start(row: Row) -> Iterator[Row]:
        place = row["block"], row["piece"]
        for portion in sources.portions:
            bits = sources.bits(portion, *place, layout.rows(*place))
            yield row | {"fold": portion}
            yield row | {"fold": portion, "kind": "newest", "payload": bits}

    def widen(portion: int, cell: int, blocks: dict[str, Array], edges: dict[str, Array]) -> Iterator[Row]:
        i, j = layout.pairs[cell]
        newest = [blocks["newest0"], blocks["newest1"]]
        into = _exchanged(edges["u"], edges["v"], edges["way"], newest)
        parts = [(i, into[0] | into[1] | newest[0])] if i == j else [(i, into[0]), (j, into[1])]
        for block, rows in parts:
            yield from ({**row, "cell": cell} for row in pieces(portion, block, "newest", rows))

    def side_by_side(rows: list[Row]) -> Iterator[Row]:
        n_rows = layout.rows(rows[0]["block"], rows[0]["piece"])
        ordered = sorted(rows, key=lambda row: row["kind"])
        words = [np.frombuffer(row["payload"], dtype=np.uint64).reshape(n_rows, -1) for row in ordered]
        yield rows[0] | {"kind": "reach", "payload": np.hstack(words)}

    first = cached(map_rows(hashes, start, BLOCK), large=True)
    steps = [first.filter("kind = 'newest'")]
    for _ in range(n_hops):
        partial = on_cells(send(steps[-1], layout), cells, layout, sources.portions, widen, SENT)
        steps.append(cached(sum_over_cells(partial, layout, op=np.bitwise_or), large=True))
    named = [step.withColumn("kind", F.lit(f"within {hop}")) for hop, step in enumerate(steps)]
    together = reduce(lambda one, other: one.unionAll(other), named, first.filter("kind = 'hash'"))
    keys = ("fold", "block", "piece")
    reached = computed(group_rows(together.repartition(layout.n_tasks, *keys), keys, side_by_side, BLOCK), large=True)
    for frame in (first, *steps[1:]):
        frame.unpersist()
    return reached


def choose_pool(
    reached: Sequence[DataFrame],
    cells: DataFrame,
    layout: Layout,
    splits: Splits,
    sources: Sequence[Sources],
    seed: np.uint64,
    **settings: Any,
) -> PairPool:
    """Choose the pool of :func:`hopsight.hops.pool.pair_pool`; nodes are numbered block by block.

    ``reached`` is what :func:`search_hops` returned for each network, ``cells`` are those of :func:`drop_edges`, and
    ``settings`` those of :func:`hopsight.hops.pool.plan_pool`.
    """
    networks = range(splits.n_folds)
    counts = [
        _class_counts(each, layout, mine, settings["n_classes"]) for each, mine in zip(reached, sources, strict=True)
    ]

    def sums(row: Row) -> list[int]:
        shown = [_shown(row, splits, network).sum() for network in networks]
        return [*(_positives(row, splits, fold).sum() for fold in splits.folds), sum(shown)]

    *n_positives, n_shown = sum_to_driver(cells, sums).tolist()
    if n_shown == 0:
        raise ValueError("the graph has no edges to learn hop counts from")
    n_edges = n_shown / splits.n_folds
    plan = plan_pool(
        np.concatenate(counts), layout.n_nodes, n_edges, splits.n_inner, splits.n_folds, **settings
    )  # fmt: skip
    found = [_far_pairs(each, layout, mine, splits, seed, plan) for each, mine in zip(reached, sources, strict=True)]
    edges = _edges_among(cells, layout, np.concatenate([pairs for far, _ in found for pairs in far], axis=1))
    training = [
        allowed(far, [part == network for part in parts], edges, layout.n_nodes)
        for network, (far, parts) in enumerate(found)
    ]
    return plan.pool(_near_pairs(cells, layout, splits, seed, n_positives), training)


def _shown(row: Row, splits: Splits, network: int) -> NDArray[np.bool_]:
    """Return the edges of a slice that a network counts hops along."""
    return np.asarray((column(row, "kept") > 0) & (splits.of(column(row, "hash")).part != network))


def _positives(row: Row, splits: Splits, fold: int) -> NDArray[np.bool_]:
    """Return the edges of a slice that a fold learns one hop from; one that is set aside also takes dropped edges."""
    mine = splits.of(column(row, "hash")).positives(fold)
    return mine if fold % splits.n_inner == 0 else mine & (column(row, "kept") > 0)


def _class_counts(reached: DataFrame, layout: Layout, sources: Sources, n_classes: int) -> NDArray[np.int64]:
    """Return the number of nodes at 1, …, C−1 and ≥ C hops from each source."""
    width = WORD * (n_classes - 1)

    def counts(row: Row) -> Array:
        total = np.zeros((len(sources.portions), PORTION // WORD * width))
        mine = _near_counts(piece_matrix(row, layout), sources.n_words(row["fold"])).ravel()
        total[row["fold"], : mine.size] = mine
        return total.ravel()

    near = sum_to_driver(reached, counts).reshape(-1, n_classes - 1)[: sources.hash.size].astype(np.int64)
    return np.column_stack([near, layout.n_nodes - 1 - near.sum(axis=1)])


def _far_pairs(
    reached: DataFrame, layout: Layout, sources: Sources, splits: Splits, seed: np.uint64, plan: PoolPlan
) -> tuple[list[NDArray[np.int64]], list[NDArray[np.int64]]]:
    """Return the pairs of each class beyond one hop, ordered by their hashes, and the network that judges each."""
    first = layout.offsets

    def find(row: Row) -> Array:
        rows, n_words = piece_matrix(row, layout), sources.n_words(row["fold"])
        start, found = first[row["block"]] + row["piece"] * PIECE, []
        for word in range(n_words):
            before = row["fold"] * PORTION + word * WORD
            mine = sources.hash[before : before + WORD]
            bit, node, kind, rank = _chosen(rows, word, n_words, mine, seed, plan)
            part = splits.of(mine[bit] + rows[node, 0]).part
            found.append(np.stack([bit + before, node + start, kind, part, rank.view(np.int64)]))
        return np.concatenate(found, axis=1)

    source, target, kind, part, rank = collect_arrays(reached, find, np.int64)
    order = np.lexsort([sources.hash[source], rank.view(np.uint64)])  # both orders of two ends have one hash
    number = first[sources.block] + sources.position
    pairs, kind, part = np.stack([number[source], target])[:, order], kind[order], part[order]
    classes = [kind == far for far in range(1, plan.n_classes)]
    return [pairs[:, mine] for mine in classes], [part[mine] for mine in classes]


def _edges_among(cells: DataFrame, layout: Layout, pairs: Array) -> NDArray[np.int64]:
    """Return those of some pairs that are edges."""
    n_nodes = layout.n_nodes
    wanted = cells.sparkSession.sparkContext.broadcast(np.unique(pairs.min(axis=0) * n_nodes + pairs.max(axis=0)))

    def find(row: Row) -> Array:
        ends = layout.ends(row)
        return ends[:, np.isin(ends.min(axis=0) * n_nodes + ends.max(axis=0), wanted.value)]

    return collect_arrays(cells, find, np.int64)


def _near_pairs(
    cells: DataFrame, layout: Layout, splits: Splits, seed: np.uint64, n_positives: list[float]
) -> list[NDArray[np.int64]]:
    """Return the edges with the smallest hashes that each fold learns one hop from, ordered by their hashes."""
    limits = [hash_limit(POOL_PER_FOLD, size) for size in n_positives]

    def find(row: Row) -> Array:
        way, rank = column(row, "way"), scramble(column(row, "hash") ^ seed)
        ends = arc_ends(layout.ends(row), way)
        late = way & LATE if way.size else np.zeros(rank.size)
        edges, found = np.stack([*ends, late, rank.view(np.int64)]).astype(np.int64), []
        for fold in splits.folds:
            chosen = edges[:, _positives(row, splits, fold) & (rank <= limits[fold])]
            found.append(np.stack([np.full(chosen.shape[1], fold), *chosen]))
        return np.concatenate(found, axis=1)

    fold_of, *edges = collect_arrays(cells, find, np.int64)
    source, target, late, rank = edges
    order = np.lexsort([late, rank.view(np.uint64)])  # opposite arcs have one hash
    ends, fold_of = np.stack([source, target])[:, order], fold_of[order]
    return [ends[:, fold_of == fold][:, :POOL_PER_FOLD] for fold in splits.folds]


def _exact(rows: Array, word: int, n_words: int) -> Array:
    """Return, for 64 sources, the nodes reached in exactly 0, 1, … hops as (n_hops + 1, n_rows) words."""
    within = rows[:, 1:].reshape(len(rows), -1, n_words)[:, :, word].T
    return np.ascontiguousarray(np.concatenate([within[:1], within[1:] & ~within[:-1]]))


# Spark pickles module functions by name, but a compiled function by value, and every worker would compile it again.
# Compiled functions are therefore called only from the following functions.


def _near_counts(rows: Array, n_words: int) -> Array:
    """Return the number of nodes at 1, …, C−1 hops from each source of a portion."""
    return np.concatenate([count(_exact(rows, word, n_words), WORD)[:, :-1] for word in range(n_words)])


def _chosen(rows: Array, word: int, n_words: int, source_hashes: Array, seed: np.uint64, plan: PoolPlan) -> Any:
    """Return the pairs of 64 sources and all nodes whose hash is below the limit of their class."""
    hashes = np.ascontiguousarray(rows[:, 0])
    return below(_exact(rows, word, n_words), source_hashes, hashes, seed, plan.class_of_hop, plan.limits)


def _exchanged(u: Array, v: Array, way: Array, newest: list[Array]) -> list[Array]:
    """Return the bits that each node receives from the other ends of its edges, or from the sources of its arcs."""
    into = [np.zeros_like(bits) for bits in newest]
    back = (way & BACK) > 0
    forth: Any = ~back if way.size else slice(None)
    _pass_on(u[forth], v[forth], newest[0], into[1])
    forth = back if way.size else slice(None)
    _pass_on(v[forth], u[forth], newest[1], into[0])
    return into


def _pass_on(source: Array, target: Array, bits: Array, into: Array) -> None:
    """OR the bits of the source of each edge into those of its target."""
    order = np.argsort(target, kind="stable")
    nodes, first = np.unique(target[order], return_index=True)
    if nodes.size:
        into[nodes] |= np.bitwise_or.reduceat(bits[source[order]], first, axis=0)


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
    scale = [torch.rsqrt(each + 1.0)[:, None] for each in degrees]
    scaled = [rows * factor for rows, factor in zip(x, scale, strict=True)]
    if i == j:
        yield i, (torch_csr(matrix, CPU) @ scaled[0]).add_(scaled[0]).mul_(scale[0]).numpy()
        return
    yield i, (torch_csr(matrix, CPU) @ scaled[1]).mul_(scale[0]).numpy()
    yield j, (torch_csr(matrix.T.tocsr(), CPU) @ scaled[0]).mul_(scale[1]).numpy()


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

    ``views`` are those of :func:`collect_views`, ``rngs`` generators for pairs, weights, dropout and noise.
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
