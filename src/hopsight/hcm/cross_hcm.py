"""CrossHCM: hop counts judged by networks that have not seen the edge, and kinds of evidence about every node."""

from __future__ import annotations

import copy
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import TYPE_CHECKING, Any, ClassVar, Self

import numpy as np
import scipy.sparse as sp
import torch
from numpy.typing import NDArray
from torch import Tensor

from hopsight.checks import Refusal, check_choice, check_count
from hopsight.detectors.base import Callback, Detector, FloatArray, NodeOrder
from hopsight.detectors.predict import ranked_last, threshold
from hopsight.detectors.table import evidence_of, weights_of
from hopsight.detectors.tails import RELATED, Ordered, group_limit
from hopsight.flow.evidence import Flow, FlowBaseline, flow_of, flow_without
from hopsight.graph import AttributedGraph
from hopsight.hcm.checkpoint import Checkpoint
from hopsight.hcm.counterfactual import Around, around, edges_among, edges_at
from hopsight.hcm.evidence import (
    ALL_KINDS,
    DEFAULT_EVIDENCE,
    EDGE_SHAPE,
    AttributeBaseline,
    EdgeBaseline,
    EdgeFeatures,
    NodeBaseline,
    NodeFeatures,
    combine,
    event_strengths,
    strengths,
)
from hopsight.hcm.groups import Group, all_groups, by_id, cycle_groups, sharing_groups
from hopsight.hcm.network import ViewHopNetwork
from hopsight.hcm.posterior import (
    CALIBRATION_PAIRS,
    NODE_VALUES,
    SINGLE_PRECISION_EDGES,
    EdgePosterior,
    JudgedEdges,
    as_tensor,
    calibrate,
    calibrated,
    calibrations_of,
    judge_edges,
    median_where_unknown,
    node_scores,
    predict,
    predicted_hop,
)
from hopsight.hcm.relations import KINDS as RELATION_KINDS
from hopsight.hcm.relations import LEAST_WEIGHT, RelationBaseline, RelationWeights
from hopsight.hcm.splits import (
    FoldIndex,
    Splits,
    baseline_edges,
    baseline_nodes,
    chances,
    edge_hashes,
    node_folds,
    pool_seed,
    split_seed,
)
from hopsight.hcm.train import (
    Generators,
    Observer,
    Schedule,
    StageClock,
    check_edges,
    check_training,
    fit_with_checkpoint,
    fit_with_fallback,
    kept_pool,
    schedule_of,
    torch_generator,
    train,
    training_need,
)
from hopsight.hcm.views import (
    Neighborhoods,
    Views,
    adjacency_of,
    fit_inputs,
    in_single_precision,
    in_unit,
    inputs_of,
    spread_of,
    view_dtype,
)
from hopsight.hops.pool import POOL_PER_FOLD, PairPool, pair_pool
from hopsight.io import graph_of
from hopsight.io.derive import COUNTS, REPEATS, STRUCTURE, is_derived
from hopsight.io.typed import are_own, own_degrees
from hopsight.nn.device import resolve_device
from hopsight.preprocess import AttributeTransform, drop_edges, edge_similarity
from hopsight.preprocess.similarity import References
from hopsight.preprocess.transform import choose_scaling, in_order_of
from hopsight.system.arrays import find_edges
from hopsight.system.machine import release_memory
from hopsight.system.threads import few_threads, for_each, safe_in_forks

if TYPE_CHECKING:
    from hopsight.feedback.curve import Point
    from hopsight.feedback.learner import Learned
    from hopsight.feedback.reasons import Distinction, LearnedReasons

PRIOR_PAIRS = 10.0
RARE_CYCLE = 2.0 / 3.0  # beyond log₁₀ n: a circle that one in a hundred graphs has by chance, as strengths are damped
UNTRAINED_SOURCES = 256  # of hops for each part of the edges, enough for 1,024 pairs of each class
STEEPEST = 10.0  # slope of the logits of untrained hop counts in the dissimilarity; calibration flattens it
SAMPLES, MANY_EDGES = 15, 1 << 20  # posterior samples, and the edges beyond which there are fewer
ROWS_READ = 1 << 13  # nodes whose attributes a thread reads at a time
LEARNED = ("before_", "rank_before_", "probability_", "edge_before_", "edge_anomaly_probability_")
MOST_LEARNED, LEARNED_COMPONENTS = 64, 48  # attributes that a learner sees one by one, and components of more

IntArray = NDArray[np.int64]


def _learned(**arrays: Any) -> Learned:
    """Return what was saved of what a detector has learned from labels; a fit without labels loads nothing for it."""
    from hopsight.feedback.learner import Learned

    return Learned.of(**arrays)


@dataclass(kw_only=True)
class CrossHCM(Detector):
    """HCM with real cross-fitting, calibrated probabilities and several kinds of evidence.

    An edge is judged only by a network that never trained on it, and whose views leave it out. A hash of (seed, edge)
    puts every edge into one of ``n_folds`` parts; network k lives in the graph without part k and judges exactly its
    edges (:class:`hopsight.hcm.splits.Splits`). A node keeps its own attributes beside those of its neighborhood (X and
    ÂX, mapped linearly, without message passing), and many principal components of them. The weights of the last
    epochs of Adam serve as samples; their probabilities are calibrated on pairs that the network set aside.

    Each kind of ``evidence`` (:mod:`hopsight.hcm.evidence`) is −log₁₀ of a tail probability: 3 means that about one
    ordinary node in a thousand looks as unusual. ``evidence_`` holds one array per kind. ``decision_score_`` is the
    root of the sum of the squares of the chosen kinds, where ring and relations count 80%, activity 50%,
    outlier 40% (80% if all attributes come from the edges) and cycle 30%;
    ``decided_by_`` is the kind that adds most. ``score="ahp"`` and ``"hav"`` are the paper's scores of the same
    predictions.

    Parameters
    ----------
    evidence
        The kinds that count: misfit, ring, outlier, activity, lockstep; where edges have amounts or times also burst,
        pass_through, cycle and amount (:mod:`hopsight.flow`), and with relations to other types relations and sharing
        (:mod:`hopsight.hcm.relations`).
    networks
        Train networks that predict hop counts. False, as in the preset :meth:`untrained`, lets hop counts follow from
        the dissimilarity of two nodes alone, which is faster. So they do in any case if all attributes were derived
        from the edges: networks do not see such attributes, because they contain the judged edge.
    n_folds, n_inner
        Number of networks, each judging its part of the edges, and number of inner folds of each; one inner fold is
        set aside to calibrate the probabilities.
    scaling, similarity
        ``"auto"``: a bag of words is left as it is and compared by cosine; other attributes are ``"mixed"``
        (standardized and clipped, beside their ranks at half weight) and compared by distance.
    weight_decay
        Largest strength of the Gaussian prior on the weights; in large graphs it weighs as much as ten pairs.
    n_samples
        Number of posterior samples. None means 15, and 5 (one for each fold that a network trains on) where hops are
        counted along more than a million edges: there, judging would take most of the time.
    n_units, mlp_units, …
        As in :class:`HCM`; ``n_units`` is the width of each of the two views.

    Examples
    --------
    >>> import hopsight as hs
    >>> model = hs.CrossHCM(n_epochs=20, burn_in=10, seed=0).fit(hs.make_graph(300))
    >>> sorted(model.evidence_)
    ['activity', 'lockstep', 'misfit', 'outlier', 'ring']
    """

    scores: ClassVar[tuple[str, ...]] = ("evidence", "hav", "ahp")
    transferable: ClassVar[bool] = True
    order_matters: ClassVar[bool] = True
    node_values: ClassVar[Mapping[str, str]] = NODE_VALUES
    meaning: ClassVar[str] = (
        "how unusual the node is in its neighbors, its attributes, its edges and their amounts and times; the "
        "strongest evidence counts most"
    )
    presets: ClassVar[tuple[str, ...]] = ("untrained",)
    quick: ClassVar[Mapping[str, Any]] = {
        "n_units": 8, "mlp_units": 16, "n_epochs": 24, "burn_in": 12, "n_samples": 12, "min_class_pairs": 20,
    }  # fmt: skip

    parts: ClassVar[Mapping[str, Callable[..., Any]]] = {
        "transform_": AttributeTransform, "references_": References, "attribute_baseline_": AttributeBaseline,
        "edge_baseline_": EdgeBaseline, "node_baseline_": NodeBaseline, "flow_baseline_": FlowBaseline,
        "relation_baseline_": RelationBaseline, "relation_weights_": RelationWeights,
        "learned_": _learned, "edge_learned_": _learned,
    }  # fmt: skip

    evidence: tuple[str, ...] = DEFAULT_EVIDENCE
    networks: bool = True
    n_folds: int = 3
    n_inner: int = 6
    n_units: int = 64
    mlp_units: int = 128
    dropout: float = 0.0
    n_components: int | None = 256
    scaling: str = "auto"
    drop_ratio: float = 0.4
    similarity: str = "auto"
    n_classes: int = 3
    sampling_ratio: float = 0.225
    max_pairs: int = 4096
    min_class_pairs: int = 200
    optimizer: str = "adam"
    lr: float = 0.01
    lr_decay: float = 0.0
    weight_decay: float = 1e-3
    temperature: float = 1e-3
    n_epochs: int = 200
    burn_in: int = 100
    n_samples: int | None = None
    prediction: str = "expected"
    dropout_at_prediction: bool = False
    deviation: str = "variance"
    precision: str = "auto"
    score: str = "evidence"

    @property
    def scores_are_strengths(self) -> bool:
        """Whether the score x says that about one of 10ˣ ordinary nodes has it."""
        return self.score == "evidence"

    @classmethod
    def untrained(cls, **changes: Any) -> Self:
        """Return a detector without networks: hop counts follow from the dissimilarity of two nodes alone."""
        return cls(**({"networks": False} | changes))

    def check(self) -> None:
        """Refuse a parameter outside its range."""
        check_training(self)
        check_count("n_samples", self.samples_for(0.0))
        check_count("n_folds", self.n_folds, low=2)
        check_count("n_inner", self.n_inner, low=2)
        if not isinstance(self.evidence, tuple) or not self.evidence:
            raise Refusal("evidence", f"must be a tuple of kinds such as {DEFAULT_EVIDENCE}, got {self.evidence!r}")
        for kind in self.evidence:
            check_choice("evidence", kind, (*ALL_KINDS, *RELATION_KINDS))

    def expected_need(self, graph: AttributedGraph) -> tuple[float, float]:
        """Return bytes and operations; the views of one network exist at a time."""
        width = self._width(graph)
        memory, operations = training_need(
            self,
            graph,
            n_samples=self.samples_for((1 - self.drop_ratio) * graph.n_edges),
            per_edge=30 if in_single_precision(graph) else 120,
            weights=self.n_folds * (2 * self.n_units * (width + self.mlp_units) + self.mlp_units * self.n_classes),
            per_pair=4 * width + 6 * self.n_units + 3 * self.mlp_units,
            product=2 * (width * self.n_units + self.n_units * self.mlp_units) * self.n_folds,
            per_epoch=0.0,
            judged=graph.n_edges / self.n_folds,
        )
        z = 8 * graph.n_nodes * self.n_units
        n_values = graph.n_nodes * width
        attributes = (8 if in_single_precision(graph) else 12) * n_values
        views = self.n_inner * view_dtype(graph.n_nodes).itemsize * n_values
        return memory + attributes + views + self._trained_bytes(graph) + z, operations

    def _trained_bytes(self, graph: AttributedGraph) -> int:
        """Return the size of what the networks see while they train: X and ÂX of the nodes in the pool."""
        n_nodes = min(graph.n_nodes, 2 * self.n_classes * POOL_PER_FOLD)
        n_views = 2 * self.n_folds * (self.n_inner - 1)
        return n_views * n_nodes * self._width(graph) * view_dtype(graph.n_nodes).itemsize

    def _width(self, graph: AttributedGraph) -> int:
        return min(2 * graph.n_attributes, self.n_components or 2 * graph.n_attributes)

    def resolve_scaling(self, attributes: Any) -> str:
        """Return the scaling: ``"auto"`` leaves a bag of words as it is and takes ``"mixed"`` for the rest."""
        if self.scaling != "auto":
            return self.scaling
        return "none" if choose_scaling(attributes) == "none" else "mixed"

    def resolve_similarity(self, scaling: str) -> str:
        """Return the similarity: ``"auto"`` is cosine for unscaled attributes and Euclidean for the rest."""
        if self.similarity != "auto":
            return self.similarity
        return "cosine" if scaling in ("none", "row") else "euclidean"

    def samples_for(self, n_edges: float) -> Any:
        """Return how many posterior samples judge a graph: in a large one, one round over the folds unless told."""
        if self.n_samples is not None:
            return self.n_samples
        return SAMPLES if n_edges <= MANY_EDGES else self.n_inner - 1

    def training_schedule(self, pairs: PairPool, device: torch.device) -> Schedule:
        """Return the schedule with a prior that weighs as much as ten pairs, but at most ``weight_decay``."""
        n_pairs, n_edges = pairs.n_classes * pairs.sizes[0], pairs.sizes[0] * self.n_folds / (self.n_folds - 1)
        schedule = schedule_of(self, self.samples_for(n_edges), device)
        return replace(schedule, weight_decay=min(self.weight_decay, PRIOR_PAIRS / max(n_pairs, 1.0)))

    def build_networks(
        self, n_inputs: int, n_classes: int, rng: np.random.Generator, device: torch.device, *, directed: bool
    ) -> list[ViewHopNetwork]:
        """Return the networks of two views with initial weights drawn by ``rng``."""
        return [
            ViewHopNetwork(
                [n_inputs, n_inputs],
                n_units=self.n_units,
                mlp_units=self.mlp_units,
                n_classes=n_classes,
                directed=directed,
                generator=torch_generator(rng, "cpu"),
            ).to(device)
            for _ in range(self.n_folds)
        ]

    @property
    def splits(self) -> Splits:
        """Which edges each network judges, hides and learns from; known once ``fit`` has begun."""
        return Splits(self.split_seed_, self.n_folds, self.n_inner)

    fit, _fit = fit_with_checkpoint, fit_with_fallback

    def _fit_on(
        self,
        device: torch.device,
        graph: AttributedGraph,
        rngs: Sequence[np.random.Generator],
        callback: Callback | None,
        saved: Checkpoint,
    ) -> FloatArray:
        for_transform, for_drop, for_pairs = rngs[:3]
        clock = StageClock(callback)
        self.split_seed_, self.directed_ = split_seed(self.seed), graph.directed
        self.learned_: Learned | None = None
        self.edge_learned_: Learned | None = None
        for name in LEARNED:  # by an earlier fit, from labels
            vars(self).pop(name, None)

        # 1. Transform the attributes.
        clock.begin("attributes")
        attributes = self._fit_transform(graph, for_transform)
        unlike = self._dissimilarity(graph, attributes)
        self.relation_weights_ = RelationWeights.fit(graph, unlike)

        # 2. Split the edges among the networks and their folds.
        clock.begin("hops")
        index = self.splits.of(edge_hashes(graph))

        # 3. Choose pairs of nodes by the number of hops between them.
        pool = kept_pool(saved, partial(self._hop_pairs, graph, attributes, index, for_drop))
        self.class_sizes_, self.class_errors_, self.n_pairs_ = pool.sizes, pool.errors, pool.n_pairs
        self.n_inputs_, self.n_classes_ = attributes.shape[1], pool.n_classes

        # 4. Judge every edge by what has not seen it.
        if self._sees_attributes:
            judged = self._learn(device, graph, attributes, index, pool, rngs[2:], callback, clock, saved, unlike)
        else:
            clock.begin("judge")
            judged = self._fit_untrained(graph, index, pool, for_pairs, unlike)
        del index, pool
        if graph.n_edges > SINGLE_PRECISION_EDGES:
            release_memory()  # what judging leaves in reference cycles is large

        # 5. Weigh the evidence about every node.
        clock.begin("scores")
        scores = self._weigh(graph, attributes, judged, unlike, refit=True)
        self.seconds_ = clock.end()
        return scores

    def _learn(
        self,
        device: torch.device,
        graph: AttributedGraph,
        attributes: FloatArray,
        index: FoldIndex,
        pool: PairPool,
        rngs: Sequence[np.random.Generator],
        callback: Callback | None,
        clock: StageClock,
        saved: Checkpoint,
        unlike: NDArray[Any],
    ) -> JudgedEdges:
        """Train the networks and return what each says of the edges that it has not seen."""
        for_pairs, for_weights, for_dropout, for_noise = rngs

        # Compute what each network sees of the pool's nodes while an inner fold is hidden.
        clock.begin("views")
        views = self._views(graph, attributes, index, device)
        edges = as_tensor(graph.edges).to(device)
        seen = [views.of(folds, [pool.nodes(fold) for fold in folds]) for folds in self._trained_folds(index)]
        local = pool.renumbered()

        # Train the networks, and keep their weights along the way as posterior samples.
        networks = self.build_networks(self.n_inputs_, self.n_classes_, for_weights, device, directed=graph.directed)
        generators = Generators.spawn((for_pairs, for_dropout, for_noise), device)
        self.judging_seed_ = generators.judging_seed
        schedule = self.training_schedule(pool, device)
        scores_now = partial(self._scores_by, networks, views, edges, graph, attributes, unlike)
        observer = Observer(callback, scores_now, clock)
        self.samples_, self.loss_ = train(
            networks, seen, local, schedule, generators, observer=observer, checkpoint=saved
        )
        del seen  # it is large

        # Calibrate the probabilities on the pairs that each network set aside.
        clock.begin("judge")
        aside = [network * self.n_inner for network in range(self.n_folds)]
        self.calibrations_ = calibrations_of(
            networks,
            views.of(aside, [pool.nodes(fold) for fold in aside], exact=True),
            local,
            self.samples_,
            schedule,
            np.random.default_rng(self.judging_seed_),  # the same if a checkpoint held the samples
        )
        return self._judge(views, edges, index.part, checkpoint=saved)

    def _fit_untrained(
        self,
        graph: AttributedGraph,
        index: FoldIndex,
        pool: PairPool,
        rng: np.random.Generator,
        unlike: NDArray[Any],
    ) -> JudgedEdges:
        """Calibrate what the dissimilarity of two nodes says about the hops between them, and judge every edge."""
        self.samples_, self.loss_ = np.zeros((0, self.n_folds, 0), dtype=np.float32), np.zeros(0)
        self.judging_seed_ = 0
        found = []
        for network in range(self.n_folds):
            pairs, labels = pool.draw_aside(network, CALIBRATION_PAIRS, rng=rng)
            found.append(calibrate(self._logits(self._unlike(graph, index.part == network, pairs))[None], labels))
        self.calibrations_ = np.array(found)
        return self._compare(graph, unlike)

    def _compare(
        self,
        graph: AttributedGraph,
        unlike: NDArray[Any],
        edges: IntArray | None = None,
        absent: NDArray[np.bool_] | None = None,
    ) -> JudgedEdges:
        """Judge all edges (or some) by the dissimilarity of their ends, as if more edges were absent.

        ``unlike`` holds it for each of them, with all edges present; attributes that were derived from the edges are
        derived again without the absent ones.
        """
        edges = np.arange(graph.n_edges) if edges is None else edges
        again = graph.derivation is not None
        part = self.splits.of(edge_hashes(graph, None if again else edges)).part  # of all edges, or of these
        found = np.empty((3, edges.size))
        for network, calibration in enumerate(self.calibrations_):
            mine, hidden = np.flatnonzero((part[edges] if again else part) == network), part == network
            if mine.size:
                hidden = hidden if absent is None or not again else hidden | absent
                apart = self._unlike(graph, hidden, graph.edges[:, edges[mine]]) if again else unlike[mine]
                log_p = calibrated(self._logits(apart), calibration)
                hop = predicted_hop(log_p, self.prediction).numpy()
                found[:, mine] = hop, log_p[:, 0].exp().numpy(), -log_p[:, 0].numpy()
        return JudgedEdges(found[0], np.zeros(edges.size), found[1], found[2])

    def _logits(self, unlike: NDArray[Any]) -> Tensor:
        """Return logits that favor farther classes the less alike two nodes are.

        Those of class c are 10 c d with d the relative dissimilarity, before a calibration decides how steep they are.
        """
        return torch.from_numpy(np.multiply.outer(STEEPEST * unlike, np.arange(self.n_classes_)))

    def _unlike(self, graph: AttributedGraph, absent: NDArray[np.bool_], pairs: IntArray) -> FloatArray:
        """Return the relative dissimilarity of some pairs as if some edges were absent."""
        rows, ends = np.unique(pairs, return_inverse=True)
        attributes = self._attributes_without(graph, absent, rows)
        return np.asarray(self.references_.relative_dissimilarity(attributes, ends.reshape(pairs.shape)))

    def _dissimilarity(self, graph: AttributedGraph, attributes: FloatArray) -> NDArray[Any]:
        """Return the relative dissimilarity of the ends of every edge."""
        dtype = np.float64 if graph.n_edges <= SINGLE_PRECISION_EDGES else np.float32
        return self.references_.relative_dissimilarity(attributes, graph.edges, dtype)

    def _attributes_without(self, graph: AttributedGraph, absent: NDArray[np.bool_], rows: IntArray) -> FloatArray:
        """Return the transformed attributes of some nodes as if some edges were absent."""
        given = graph.attributes_without(absent)[rows]
        return np.asarray(inputs_of(graph, self.transform_, self.magnitude_, rows, given), dtype=np.float64)

    @property
    def _sees_attributes(self) -> bool:
        """Whether there are networks, and attributes for them to see that do not come from the edges."""
        return self.networks and not all(map(is_derived, self.transform_.names))

    def _seen(self, graph: AttributedGraph, attributes: FloatArray, rows: IntArray | None = None) -> FloatArray:
        """Return transformed attributes (of some rows) as networks see them: without what was derived from the edges.

        Otherwise the attributes of its ends would tell that an edge exists.
        """
        derived = [name for name in self.transform_.names if is_derived(name)]
        if not derived:
            return attributes
        columns = self.transform_.columns_of(derived)
        if columns.any():
            return np.where(columns, attributes.dtype.type(0), attributes)
        given = graph.attributes if rows is None else graph.attributes[rows]
        shown = np.array([name not in derived for name in graph.attribute_names], dtype=np.float64)
        given = sp.csr_array(given @ sp.diags_array(shown)) if sp.issparse(given) else given * shown
        return inputs_of(graph, self.transform_, self.magnitude_, rows, given)

    def _fit_transform(self, graph: AttributedGraph, rng: np.random.Generator) -> FloatArray:
        """Return the transformed attributes; fix the transformation, the unit of the views and what is usual."""
        self.transform_, attributes, self.magnitude_ = fit_inputs(
            graph, scaling=self.resolve_scaling(graph.attributes), n_components=self.n_components, rng=rng
        )
        self.unit_ = spread_of(attributes) or 1.0
        chosen = baseline_nodes(graph)
        self.attribute_baseline_ = AttributeBaseline.fit(*self._own_and_degrees(graph, attributes, chosen))
        cosine = self.resolve_similarity(self.transform_.scaling) == "cosine"
        self.references_ = References.choose(attributes, chosen, cosine=cosine)
        self.relation_weights_ = None  # until the ends of edges are compared
        return attributes

    def _own_and_degrees(
        self, graph: AttributedGraph, attributes: FloatArray, chosen: IntArray
    ) -> tuple[FloatArray, IntArray, IntArray]:
        """Return own attributes, numbers of edges and folds of some nodes, for the baseline of attributes."""
        own = self._own(attributes[chosen].astype(np.float64))
        return own, own_degrees(graph)[chosen], node_folds(graph.node_hashes[chosen])

    def _own(self, attributes: FloatArray) -> FloatArray:
        """Return transformed attributes with zeros for those that were derived from the structure or count edges.

        A degree is not explained by what follows from it, and having many edges does not make a hub an outlier. Nor
        does a repeated row, where rows say nothing else.
        """
        columns = self.transform_.columns_of((*STRUCTURE, *COUNTS))
        columns |= (columns | self.transform_.columns_of(REPEATS)).all()
        return np.where(columns, 0.0, attributes) if columns.any() else attributes

    def _hop_pairs(
        self, graph: AttributedGraph, attributes: FloatArray, index: FoldIndex, rng: np.random.Generator
    ) -> PairPool:
        """Return pairs of every hop class for each fold.

        A network counts hops along the edges that are not dropped, without those that it judges; of several relations,
        along those that count.
        """
        seed, folds = pool_seed(self.split_seed_), self.splits.folds
        if not self._sees_attributes:  # only what is set aside is needed, to calibrate
            folds = folds[:: self.n_inner]
        alike = edge_similarity(attributes, graph.edges, self.resolve_similarity(self.transform_.scaling))
        kept = drop_edges(alike, self.drop_ratio, rng=rng, chances=lambda edges: chances(graph, edges, seed))
        weight = self._relation_weight(graph)
        counts = np.ones(graph.n_edges, dtype=np.bool_) if weight is None else weight >= LEAST_WEIGHT
        kept &= counts
        shown = [np.flatnonzero(kept & (index.part != network)) for network in range(self.n_folds)]
        return pair_pool(
            [adjacency_of(graph.edges[:, edges], graph.n_nodes, directed=graph.directed) for edges in shown],
            [index.positives(fold) & (kept | (counts & (fold % self.n_inner == 0))) for fold in folds],
            graph.edges,
            graph.edges,
            graph.node_hashes,
            seed,
            judged_by=lambda pair_hashes: self.splits.of(pair_hashes).part,
            n_classes=self.n_classes,
            sampling_ratio=self.sampling_ratio,
            max_pairs=self.max_pairs,
            min_class_pairs=self.min_class_pairs,
            directed=graph.directed,
            n_sources=None if self._sees_attributes else UNTRAINED_SOURCES,
        )

    def _trained_folds(self, index: FoldIndex) -> list[range]:
        return [index.trained(network) for network in range(self.n_folds)]

    def _judge(
        self,
        views: Views,
        edges: Tensor,
        part: NDArray[Any],
        rows: IntArray | None = None,
        checkpoint: Checkpoint | None = None,
    ) -> JudgedEdges:
        """Let the posterior samples of each network judge its part of some edges.

        ``rows`` are the nodes that the ends of the edges are places among, all of them by default.
        """
        folds, device = self._trained_folds(views.index), edges.device
        samples = schedule_of(self, len(self.samples_), device)
        networks = self.build_networks(
            self.n_inputs_, self.n_classes_, np.random.default_rng(0), device, directed=self.directed_
        )
        return judge_edges(
            networks,
            lambda network: views.of(folds[network], None if rows is None else [rows] * len(folds[network])),
            [torch.from_numpy(np.flatnonzero(part == network)).to(device) for network in range(self.n_folds)],
            edges,
            self.samples_,
            samples,
            judging_seed=self.judging_seed_,
            calibrations=self.calibrations_,
            checkpoint=checkpoint,
        ).judged(self.deviation)

    def _weigh(
        self,
        graph: AttributedGraph,
        attributes: FloatArray,
        judged: JudgedEdges,
        unlike: NDArray[Any],
        *,
        refit: bool,
    ) -> FloatArray:
        """Set the values of edges and nodes and return the chosen score; ``refit`` fits what they are compared with."""
        self.edge_index_ = graph.edges
        judged = JudgedEdges(*(median_where_unknown(values, graph.known_edges) for values in judged))
        self.edge_hop_, self.edge_variance_, self.edge_probability_, self.edge_surprise_ = judged
        self.ahp_, self.iv_, self.hav_ = node_scores(graph.edges, judged, graph.n_nodes)
        self.judged_ = np.ones(graph.n_nodes, dtype=np.bool_)
        unlike = median_where_unknown(unlike, graph.known_edges)
        edges = EdgeFeatures(self.edge_hop_ if self._sees_attributes else unlike, self.edge_surprise_, unlike)
        if refit:
            self.edge_baseline_ = EdgeBaseline.fit(edges.rows(baseline_edges(graph)))
        self.edge_dissimilarity_ = edges.dissimilarity
        flow = self._flow(graph, refit=refit)
        nodes = replace(self._node_features(graph, edges, attributes), flow=None if flow is None else flow.raw)
        if refit:
            triangles = nodes.have_triangles(notices=None)
            self.node_baseline_ = NodeBaseline.fit(nodes.rows(baseline_nodes(graph)), triangles=triangles)
        self.evidence_ = strengths(nodes, self.node_baseline_)
        self.edge_score_ = self.edge_baseline_.scores(edges)
        if flow is not None:
            places, strength, _ = self.judge_events(graph, flow)
            strongest = np.zeros(graph.n_edges + 1)
            np.maximum.at(strongest, places, strength)
            self.edge_score_ = np.hypot(self.edge_score_, strongest[:-1])
        if refit:
            self.edge_threshold_ = threshold(self.edge_score_, "auto", self.false_alarms, EDGE_SHAPE)
        self.edge_label_ = (self.edge_score_ > self.edge_threshold_).astype(np.int8)
        self._weigh_relations(graph, refit=refit)
        if refit:
            if not set(self.evidence) & set(self.evidence_):
                wanted = f"needs amounts, times or relations that this graph lacks ({', '.join(self.evidence)})"
                raise Refusal("evidence", f"{wanted}; it has {', '.join(self.evidence_)}")
            limits = {
                kind: group_limit(Ordered(values), self.false_alarms) for kind, values in evidence_of(self).items()
            }
            if "cycle" in limits:  # few nodes have any: their tail is unknown, and strengths are damped from log₁₀ n
                limits["cycle"] = np.log10(graph.n_nodes) + RARE_CYCLE
            if "sharing" in limits and self.false_alarms > 0.0:  # likewise; p as in group_limit, by the strength itself
                rare = np.log10(RELATED * graph.n_nodes / self.false_alarms) / 3.0
                limits["sharing"] = min(limits["sharing"], rare)
            self.kind_thresholds_ = np.array(list(limits.values()))
        strength, self.decided_by_ = combine(self.evidence_, self.evidence, weights_of(self))
        return {"hav": self.hav_, "ahp": self.ahp_}.get(self.score, strength)

    def _as_learned(self, graph: AttributedGraph, strength: FloatArray) -> FloatArray:
        """Set what labels of another graph say about the nodes and edges of this one, and return the scores."""
        if self.edge_learned_ is not None:
            from hopsight.feedback import edges as of_edges

            of_edges.apply_to_other(self, graph, self._learner_columns, strength)
        if self.learned_ is None:
            return strength
        from hopsight.feedback import teaching

        return teaching.apply_to_other(self, graph, self._learner_columns, strength)

    def judge_events(self, graph: AttributedGraph, flow: Flow) -> tuple[IntArray, FloatArray, IntArray]:
        """Return the edge of every event, what the event says about it, and by which kind of evidence.

        An event without an edge (of a node with itself) has the position ``n_edges``. Kinds are numbered as in
        :data:`hopsight.flow.KINDS`.
        """
        strength, kind = event_strengths(flow, self.node_baseline_, self.evidence)
        strength, kind = np.pad(strength, (0, flow.left_out.size)), np.pad(kind, (0, flow.left_out.size))
        ends = np.stack([flow.every.source, flow.every.target])
        places = find_edges(graph.edges, graph.edge_starts, *(ends if graph.directed else np.sort(ends, axis=0)))
        return places, strength, kind

    def _flow(self, graph: AttributedGraph, *, refit: bool) -> Flow | None:
        """Return the flow evidence of every node and event; None without amounts and times, then or now."""
        has_events = graph.events is not None and graph.events.size > 0
        if refit:
            flow = Flow.fit(graph.events, graph.n_nodes) if has_events else None
            self.flow_baseline_ = None if flow is None else flow.usual
            return flow
        usual = self.flow_baseline_
        return Flow(graph.events, graph.n_nodes, usual) if has_events and usual is not None else None

    def _weigh_relations(self, graph: AttributedGraph, *, refit: bool) -> None:
        """Add the evidence of relations to other types, if the graph of the fit has any."""
        if refit:
            known = None if graph.context is None else graph.context.rows(baseline_nodes(graph))
            self.relation_baseline_ = None if known is None else RelationBaseline.fit(known)
        usual = self.relation_baseline_
        if usual is None:
            return
        self.evidence_ = self.evidence_ | usual.strengths(usual.raw(graph.context))

    def _node_features(self, graph: AttributedGraph, edges: EdgeFeatures, attributes: FloatArray) -> NodeFeatures:
        """Return the features of each node."""
        deviation, residual = np.empty((2, graph.n_nodes))
        degrees = own_degrees(graph)
        weight = self._relation_weight(graph, graph.edge_weight)

        def read(start: int) -> None:
            rows = slice(start, start + ROWS_READ)
            some = np.asarray(attributes[rows], dtype=np.float64)
            nodes = np.arange(graph.n_nodes)[rows]
            deviation[rows], residual[rows] = self._own_features(graph, nodes, some, degrees[rows])

        with few_threads(1):  # of BLAS, in each of these
            for_each(read, range(0, graph.n_nodes, ROWS_READ))
        return NodeFeatures(
            degrees=graph.degrees,
            deviation=deviation,
            residual=residual,
            **self.edge_baseline_.at_nodes(graph.edges, edges, graph.n_nodes, weight),
        )

    def _own_features(
        self, graph: AttributedGraph, nodes: IntArray, attributes: FloatArray, degrees: IntArray
    ) -> tuple[FloatArray, FloatArray]:
        """Return how far the attributes of some nodes deviate, and how far their degrees do from what is expected."""
        own, usual = self._own(attributes), self.attribute_baseline_
        return usual.deviation(own), usual.residual(own, degrees, node_folds(graph.node_hashes[nodes]))

    def _scores_by(
        self,
        networks: Sequence[ViewHopNetwork],
        views: Views,
        edges: Tensor,
        graph: AttributedGraph,
        attributes: FloatArray,
        unlike: NDArray[Any],
    ) -> FloatArray:
        """Return the scores by the current weights of the networks alone, without calibration."""
        posterior, schedule = EdgePosterior(edges.shape[1], edges.device), schedule_of(self, 1, edges.device)
        for k, network in enumerate(networks):
            view = views.of([views.index.trained(k)[0]])[0]
            mine = torch.from_numpy(np.flatnonzero(views.index.part == k)).to(edges.device)
            for part, logits in predict(network, view, edges, mine, schedule):
                posterior.add(part, logits, schedule.prediction)
        return copy.copy(self)._weigh(graph, attributes, posterior.judged(self.deviation), unlike, refit=True)

    @safe_in_forks
    def judge(self, source: Any) -> Self:
        """Return a copy of this detector whose scores are those of another graph, judged with the same weights."""
        if hasattr(self, "models_"):
            return super().judge(source)
        graph = graph_of(source)
        order = NodeOrder.of(graph)
        if order is None:
            judged, scores = self._judged(graph)
        else:  # sums in another order differ in their last bits
            judged, scores = self._judged(order.graph)
            order.restore(judged)
            judged.graph_, judged.edge_index_, scores = graph, graph.edges, scores[order.nodes]
        return judged._finish(judged._as_learned(graph, ranked_last(scores, graph.ranked)), keep_threshold=True)

    def _judged(self, graph: AttributedGraph) -> tuple[Self, FloatArray]:
        """Return a copy with the evidence of another graph, judged with the same weights, and its scores."""
        copied = self._copy_for(graph)
        check_edges(graph)
        attributes = inputs_of(graph, self.transform_, self.magnitude_)
        level_of = self._own_and_degrees(graph, attributes, baseline_nodes(graph))
        copied.attribute_baseline_ = self.attribute_baseline_.at_level_of(*level_of)
        unlike = self._dissimilarity(graph, attributes)
        if self._sees_attributes:
            device = resolve_device(self.device)
            views = self._views(graph, attributes, self.splits.of(edge_hashes(graph)), device)
            judged = self._judge(views, as_tensor(graph.edges).to(device), views.index.part)
        else:
            judged = self._compare(graph, unlike)
        return copied, copied._weigh(graph, attributes, judged, unlike, refit=False)

    def _views(self, graph: AttributedGraph, attributes: FloatArray, index: FoldIndex, device: torch.device) -> Views:
        """Return what the networks see of a graph."""
        near = Neighborhoods.of(graph, device, self._relation_weight(graph))
        return Views(near, in_unit(self._seen(graph, attributes), self.unit_), index)

    def _relation_weight(self, graph: AttributedGraph, alone: FloatArray | None = None) -> FloatArray | None:
        """Return how much each edge counts by its relation, or what counts ``alone`` if all have the same or none."""
        return alone if self.relation_weights_ is None else self.relation_weights_.of(graph)

    def decision_function(self, source: Any, label: Any = None) -> FloatArray:
        """Score a graph with the posterior samples and the attribute transformation of the fit."""
        return self.judge(source).decision_score_

    @safe_in_forks
    def score_without(self, graph: AttributedGraph, node: int, edges: NDArray[np.int64]) -> float:
        """Return the score a node would have if some edges (positions in ``graph.edges``) were absent.

        Every posterior sample judges the node's other edges again, in a graph without the absent ones, and what was
        derived from the edges is derived again. Edges elsewhere, and what the node is compared with, are those of the
        fit.
        """
        radius = int(self._sees_attributes or self.learned_ is not None)
        part, absent = around(graph, node, edges, radius=radius), np.zeros(graph.n_edges, dtype=np.bool_)
        absent[edges] = True
        judged = (self._judge_around if self._sees_attributes else self._compare_around)(graph, part, absent)
        if self.score != "evidence":
            mean, spread = float(judged.hop.mean()), float(judged.variance.mean())
            return mean if self.score == "ahp" else mean / (self.ahp_.max() or 1.0) + spread / (self.iv_.max() or 1.0)
        nodes = self._features_of(graph, node, part, judged, absent)
        evidence = strengths(nodes, self.node_baseline_)
        evidence |= {kind: self.evidence_[kind][[node]] for kind in RELATION_KINDS if kind in self.evidence_}
        strength = float(combine(evidence, self.evidence, weights_of(self))[0][0])
        return strength if self.learned_ is None else self._learned_score(graph, node, part, evidence, strength)

    def _judge_around(self, graph: AttributedGraph, part: Around, absent: NDArray[np.bool_]) -> JudgedEdges:
        """Let the networks judge the remaining edges of a node in the part of the graph around it."""
        device = resolve_device(self.device)
        attributes = self._seen(graph, inputs_of(graph, self.transform_, self.magnitude_, part.inner), part.inner)
        weight = self._relation_weight(graph, graph.relative_weight)
        weight = None if weight is None else weight[part.positions]
        near = Neighborhoods(part.edges, part.nodes.size, weight, directed=graph.directed, device=device)
        index = self.splits.of(edge_hashes(graph, part.positions))
        views = Views(near, part.with_zeros(in_unit(attributes, self.unit_)), index)
        rows, ends = np.unique(part.judged, return_inverse=True)
        return self._judge(
            views,
            torch.from_numpy(ends.reshape(2, -1)).to(device),
            index.part[np.searchsorted(part.positions, part.mine)],
            part.places_of(rows),
        )

    def _compare_around(self, graph: AttributedGraph, part: Around, absent: NDArray[np.bool_]) -> JudgedEdges:
        """Judge the remaining edges of a node by the dissimilarity of their ends."""
        unlike = self.edge_dissimilarity_[part.mine]
        return self._compare(graph, unlike, part.mine, absent)

    def _features_of(
        self, graph: AttributedGraph, node: int, part: Around, judged: JudgedEdges, absent: NDArray[np.bool_]
    ) -> NodeFeatures:
        """Return the features of one node from new values of its remaining edges and those of the fit elsewhere."""
        near, mine = np.unique(part.judged), part.mine
        inside = edges_among(graph, near)
        inside = inside[np.isin(inside, mine) | ((graph.edges[0, inside] != node) & (graph.edges[1, inside] != node))]
        attributes = self._attributes_without(graph, absent, near)
        columns = (self.edge_hop_, self.edge_surprise_, self.edge_dissimilarity_)
        edges = EdgeFeatures(*(values[inside] for values in columns))
        known = slice(None) if graph.known_edges is None else graph.known_edges[mine]
        new = np.searchsorted(inside, mine[known])
        edges.hop[new], edges.surprise[new] = judged.hop[known], judged.surprise[known]
        local, at = np.searchsorted(near, graph.edges[:, inside]), np.searchsorted(near, [node])
        if graph.derivation is not None:
            again = slice(None) if graph.known_edges is None else graph.known_edges[inside]
            edges.dissimilarity[again] = self.references_.relative_dissimilarity(attributes, local[:, again])
        if not self._sees_attributes:
            edges.hop[:] = edges.dissimilarity
        weight = self._relation_weight(graph, graph.edge_weight)
        weight = None if weight is None else weight[inside]
        found: dict[str, Any] = self.edge_baseline_.at_nodes(local, edges, near.size, weight)
        degrees, made = np.array([mine.size]), np.array([are_own(graph)[mine].sum()])
        deviation, residual = self._own_features(graph, np.array([node]), attributes[at], made)
        of_edges: dict[str, Any] = {name: None if values is None else values[..., at] for name, values in found.items()}
        flow = None
        if self.flow_baseline_ is not None and graph.events is not None:
            removed = np.setdiff1d(edges_at(graph, np.array([node])), mine)
            flow = flow_without(graph, self.flow_baseline_, node, graph.edges[:, removed])
        return NodeFeatures(degrees=degrees, deviation=deviation, residual=residual, flow=flow, **of_edges)

    @property
    def least_evidence_(self) -> dict[str, float]:
        """How much evidence of each kind the members of a group have at least."""
        return dict(zip(evidence_of(self), self.kind_thresholds_, strict=True))  # a saved model has another order

    @property
    def groups_(self) -> list[Group]:
        """Return the groups of nodes with significant evidence of a kind (:mod:`hopsight.hcm.groups`)."""
        graph = vars(self).get("graph_")
        made_from = (self.edge_baseline_, self.evidence_, self.kind_thresholds_, self.decision_score_, graph)
        known = vars(self).get("_found")  # of a large graph, finding them takes seconds
        if known is not None and all(each is before for each, before in zip(made_from, known[0], strict=True)):
            groups: list[Group] = known[1]
            return groups
        edges = EdgeFeatures(self.edge_hop_, self.edge_surprise_, self.edge_dissimilarity_)
        sides = {"ring": self.edge_baseline_.strangeness(edges), "lockstep": self.edge_baseline_.alikeness(edges)}
        if graph is not None and graph.edge_relation is not None:  # whoever has the same device closes triangles
            own = are_own(graph)
            sides = {kind: np.where(own, side, 0.0) for kind, side in sides.items()}
        least = self.least_evidence_
        names = None if graph is None else graph.node_ids
        found = all_groups(self.edge_index_, sides, self.evidence_, least, names)
        if (
            "cycle" in self.evidence_
            and graph is not None
            and (flow := flow_of(graph, self.flow_baseline_)) is not None
        ):
            both = self.evidence_["cycle"], least["cycle"], self.evidence_["pass_through"]
            found += cycle_groups(flow, self.edge_index_, *both)
        if "sharing" in self.evidence_ and graph is not None and graph.context is not None:
            shared = self.evidence_["sharing"]
            suspects = (self.decision_score_ > self.threshold_) | (shared > least["sharing"])
            suspects |= self.evidence_["relations"] > least["relations"]
            found += sharing_groups(graph.context, self.edge_index_, shared, suspects)
        groups = found if graph is None else by_id(found, self.evidence_, graph)
        self._found = made_from, groups
        return groups

    def learn(
        self,
        labels: Any,
        graph: AttributedGraph | None = None,
        *,
        anomalous_value: object = None,
        ignore: Sequence[str] = (),
        notices: list[str] | None = None,
    ) -> Self:
        """Return a new fitted detector that has learned from labels of nodes or edges; this one stays as it is.

        Nothing moves until there are labels of both kinds. Learning again starts from the fit, with all the labels
        given then. Afterwards ``probability_`` holds the probability that each node is anomalous, or
        ``edge_anomaly_probability_`` that of each edge, and ``learned_words`` how well labels were predicted without
        themselves. Labels of nodes leave the ranking of edges as it is, and vice versa.

        Parameters
        ----------
        labels
            A mapping of node id to label, a Series, a table with the columns ``node`` and ``verdict``, the path of
            such a CSV file, or the name of a column that the graph was loaded with as ``learn_from``; for edges, a
            mapping of pairs (source, target), or a table with the columns ``source``, ``target`` and ``verdict``. See
            :func:`hopsight.io.labels.read_labels`.
        graph
            The graph the detector was fitted on; needed for a detector loaded from disk, which does not keep it.
        anomalous_value
            The label that means anomalous, or several, if that cannot be guessed; others then mean normal.
        ignore
            Rows of a file or table of labels to leave out, as in ``["outcome=pending"]``.
        notices
            List that receives the notices, such as a column that gives labels away; without it, they are logged.
        """
        from hopsight.io.labels import Labels, read_labels

        found = self._graph_for("learn", graph)
        known = (
            labels
            if isinstance(labels, Labels)
            else read_labels(labels, found, anomalous_value, notices, ignore=ignore)
        )
        learned: Self
        if hasattr(self, "models_"):
            from hopsight.detectors.types import learn_types

            learned = learn_types(self, known, found)
        else:
            from hopsight.feedback import teaching

            learned = teaching.with_labels(self, known, found, self._learner_columns, notices)
        return learned

    def queue(self, n: int = 20, graph: AttributedGraph | None = None) -> list[Any]:
        """Return the ids of the nodes to label next: the top of the ranking, mixed with nodes from all over it.

        Labels from the top alone say nothing about the bulk. Nodes that the detector has learned from are left out.
        """
        graph = self._graph_for("queue", graph)
        ids: list[Any] = graph.node_ids[[node for node, _ in self.questions(n, graph)]].tolist()
        return ids

    def questions(self, n: int, graph: AttributedGraph, judged: Any = ()) -> list[tuple[int, str | None]]:
        """Return positions of the nodes to ask about next, and why; ``judged`` are positions of nodes to leave out."""
        from hopsight.feedback import teaching

        return teaching.questions(self, n, graph, judged)

    def check_learned(self) -> None:
        """Refuse what a saved detector claims to have learned if its parts do not fit together."""
        if self.learned_ is None and self.edge_learned_ is None:
            return
        from hopsight.feedback.learner import EDGES, NODES

        if self.learned_ is not None:
            NODES.check(self, "rank_before_")
        if self.edge_learned_ is not None:
            EDGES.check(self)

    @property
    def learned_words(self) -> str | None:
        """What was learned from labels and how sure it is, in a few sentences; None if nothing was learned."""
        known = {"node": self.learned_, "edge": self.edge_learned_}
        if not any(known.values()):
            return None
        from hopsight.feedback import teaching

        return " ".join(teaching.in_words(each, noun) for noun, each in known.items() if each is not None)

    def learned_reasons(self, graph: AttributedGraph | None = None) -> LearnedReasons | None:
        """Return what distinguishes known anomalies and what moved each node; None if nothing was learned of nodes."""
        if self.learned_ is None:
            return None
        from hopsight.feedback import teaching

        return teaching.reasons_of(self, self._graph_for("learned_reasons", graph), self._learner_columns)

    def learned_edge_reasons(self, graph: AttributedGraph | None = None) -> LearnedReasons | None:
        """Return what distinguishes known anomalous edges and what moved each; None if nothing was learned of edges."""
        if self.edge_learned_ is None:
            return None
        from hopsight.feedback import edges
        from hopsight.feedback.learner import NODES

        graph = self._graph_for("learned_edge_reasons", graph)
        return edges.reasons_of(self, graph, self._learner_columns, NODES.scores_before(self))

    def learning_curve(self, graph: AttributedGraph | None = None) -> list[Point]:
        """Return how well labels are predicted with a quarter, half and all of the others; nothing if they are few."""
        if self.learned_ is None and self.edge_learned_ is None:
            return []
        from hopsight.feedback import teaching

        return teaching.curve_of(self, self._graph_for("learning_curve", graph), self._learner_columns)

    def distinctions(self, graph: AttributedGraph | None = None) -> list[Distinction]:
        """Return what distinguishes known anomalies, nodes before edges; nothing without labels."""
        found = (self.learned_reasons(graph), self.learned_edge_reasons(graph))
        return [each for reasons in found if reasons is not None for each in reasons.distinctions()]

    def _learner_columns(
        self, graph: AttributedGraph, rows: IntArray | None = None
    ) -> tuple[NDArray[Any], Sequence[str]]:
        """Return the attributes that a learner sees: those of the graph, or principal components if there are many.

        Numbers of cards, devices and the like, how many of them are shared, and the means of their attributes come
        after them.
        """
        names = list(self.transform_.names)
        if len(names) > MOST_LEARNED:
            found = inputs_of(graph, self.transform_, self.magnitude_, rows)[:, :LEARNED_COMPONENTS]
            names = self.transform_.output_names[: found.shape[1]]
        else:
            chosen = graph.attributes if rows is None else graph.attributes[rows]
            chosen = in_order_of(names, chosen, graph.attribute_names, graph.left_out)
            found = chosen.toarray() if sp.issparse(chosen) else np.asarray(chosen)
        if graph.context is None:
            return found, names
        context = graph.context if rows is None else graph.context.rows(rows)
        return np.hstack([found, context.learned]), [*names, *context.learned_names]

    def learner_weight(self, graph: AttributedGraph) -> FloatArray | None:
        """Return how much each edge counts where a learner averages attributes: by its relation, and at least a bit."""
        weight = self._relation_weight(graph)
        return None if weight is None else np.maximum(weight, LEAST_WEIGHT)

    def _learned_score(
        self, graph: AttributedGraph, node: int, part: Around, evidence: Mapping[str, FloatArray], strength: float
    ) -> float:
        """Return the score of a node by what was learned, in the part of the graph that is around it."""
        from hopsight.feedback.features import node_features, with_judged_neighbors

        learned, at = self.learned_, part.places_of(np.array([node]))
        assert learned is not None
        attributes, names = self._learner_columns(graph, part.inner)
        weight = None if graph.edge_weight is None else np.asarray(graph.edge_weight)[part.positions]
        near = AttributedGraph.from_edges(
            part.edges[0], part.edges[1], part.with_zeros(attributes), directed=graph.directed, edge_weight=weight
        )
        if graph.edge_relation is not None:
            codes = graph.edge_relation[part.positions]  # all relations have features, also those that are not here
            near = replace(near, edge_relation=codes, relation_names=graph.relation_names)
        strengths = {kind: values[part.nodes].copy() for kind, values in self.evidence_.items()}
        scores = vars(self)["before_"]["decision_score_"][part.nodes].copy()
        for kind, values in evidence.items():
            strengths[kind][at] = values[0]
        scores[at] = strength
        judged, anomalous = learned.labels
        known = np.isin(judged, part.nodes)
        places = part.places_of(judged[known])
        n_alone = 0 if graph.context is None else len(graph.context.learned_names)
        weight = self.learner_weight(near)
        features = node_features(near, near.attributes, names, strengths, scores, n_alone, weight)
        rows = with_judged_neighbors(features.rows, near, places, anomalous[known])
        default = np.array([strength])
        return float(learned.scores(default, learned.log_odds(rows(at), default))[0])

    def _graph_for(self, call: str, graph: AttributedGraph | None) -> AttributedGraph:
        """Return the graph that the detector was fitted on: the given one, or the one that it keeps."""
        self._check_fitted()
        if self.score != "evidence":
            raise ValueError(f"{call} needs score='evidence'")
        found: AttributedGraph | None = graph if graph is not None else vars(self).get("graph_")
        if found is None:
            raise ValueError(f"this {type(self).__name__} was loaded from disk without its graph: pass {call} graph=")
        if found.n_nodes != self.decision_score_.size:
            raise ValueError(f"graph must have the {self.decision_score_.size:,} nodes of the fit, it has others")
        return found
