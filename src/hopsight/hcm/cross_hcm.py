"""CrossHCM: hop counts judged by networks that have not seen the edge, and five kinds of evidence."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, ClassVar

import numpy as np
import torch
from numpy.typing import NDArray

from hopsight.checks import Refusal, check_choice, check_count
from hopsight.detectors.base import FloatArray
from hopsight.detectors.predict import threshold
from hopsight.graph import AttributedGraph
from hopsight.hcm.checkpoint import Checkpoint
from hopsight.hcm.evidence import (
    DEFAULT_EVIDENCE,
    KINDS,
    AttributeBaseline,
    EdgeBaseline,
    EdgeFeatures,
    NodeBaseline,
    NodeFeatures,
    all_p_values,
    combine,
    weigh,
)
from hopsight.hcm.feedback import Learned, Taught
from hopsight.hcm.groups import Group, all_groups
from hopsight.hcm.hop_detector import HopDetector
from hopsight.hcm.network import HopNetwork, ViewHopNetwork
from hopsight.hcm.posterior import EdgePosterior, calibrate, edge_values
from hopsight.hcm.splits import (
    Fold,
    FoldIndex,
    Splits,
    baseline_edges,
    baseline_nodes,
    chances,
    edge_hashes,
    node_folds,
    pool_seed,
)
from hopsight.hcm.train import Schedule, predict
from hopsight.hcm.views import (
    CrossViews,
    OneAtATime,
    adjacency_of,
    edges_among,
    in_single_precision,
    in_unit,
    kept_at_once,
    local_views,
    spread_of,
    view_bytes,
)
from hopsight.hops.pool import PairPool, pair_pool
from hopsight.io.derive import COUNTS, STRUCTURE
from hopsight.preprocess.scale import choose_scaling
from hopsight.preprocess.similarity import References
from hopsight.system.files import release
from hopsight.system.threads import few_threads, in_order

PRIOR_PAIRS = 10.0
SAMPLES, MANY_EDGES = 15, 1 << 20  # posterior samples, and the edges beyond which there are fewer
CALIBRATION_PAIRS = 1024  # of each hop class
ROWS_READ = 1 << 13  # nodes whose attributes a thread reads at a time


@dataclass(kw_only=True)
class CrossHCM(Taught, HopDetector):
    """HCM with real cross-fitting, calibrated probabilities and five kinds of evidence.

    An edge is judged only by a network that never trained on it, and whose views leave it out. A hash of (seed, edge)
    puts every edge into one of ``n_folds`` parts; network k lives in the graph without part k and judges exactly its
    edges (:class:`hopsight.hcm.splits.Splits`). A node keeps its own attributes beside those of its neighborhood (X and
    ÂX, mapped linearly, without message passing), and many principal components of them. The weights of the last
    epochs of Adam serve as samples; their probabilities are calibrated on pairs that the network set aside.

    Each kind of ``evidence`` (:mod:`hopsight.hcm.evidence`) is −log₁₀ of a tail probability: 3 means that one ordinary
    node in a thousand looks so unusual. ``decision_score_`` is the root of the sum of the squares of the chosen kinds,
    ``evidence_`` holds one array per kind, ``decided_by_`` the strongest. ``score="ahp"`` and ``"hav"`` are the paper's
    scores of the same predictions.

    Parameters
    ----------
    evidence
        The kinds that count: misfit, ring, outlier, activity, lockstep.
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
    >>> model = hs.CrossHCM(n_epochs=20, burn_in=10, seed=0).fit(hs.make_demo())
    >>> sorted(model.evidence_)
    ['activity', 'lockstep', 'misfit', 'outlier', 'ring']
    """

    scores: ClassVar[tuple[str, ...]] = ("evidence", "hav", "ahp")
    meaning: ClassVar[str] = (
        "how unlikely an ordinary node is to look so unusual in its neighbors, its rings, its own attributes or its "
        "number of edges, the strongest counting most"
    )
    quick: ClassVar[Mapping[str, Any]] = {
        "n_units": 8, "mlp_units": 16, "n_epochs": 24, "burn_in": 12, "n_samples": 12, "min_class_pairs": 20,
    }  # fmt: skip

    parts: ClassVar[Mapping[str, type]] = {
        **HopDetector.parts,
        "attribute_baseline_": AttributeBaseline, "edge_baseline_": EdgeBaseline, "node_baseline_": NodeBaseline,
        "references_": References,
        "learned_": Learned,
    }  # fmt: skip

    evidence: tuple[str, ...] = DEFAULT_EVIDENCE
    n_folds: int = 3
    n_inner: int = 6
    n_units: int = 64
    mlp_units: int = 128
    n_components: int | None = 256
    drop_ratio: float = 0.4
    sampling_ratio: float = 0.15
    max_pairs: int = 4096
    weight_decay: float = 1e-3
    n_epochs: int = 200
    burn_in: int = 100
    n_samples: int | None = None
    score: str = "evidence"

    def check(self) -> None:
        """Refuse a parameter outside its range."""
        super().check()
        check_count("n_folds", self.n_folds, low=2)
        check_count("n_inner", self.n_inner, low=2)
        if not isinstance(self.evidence, tuple) or not self.evidence:
            raise Refusal("evidence", f"must be a tuple of kinds such as {DEFAULT_EVIDENCE}, got {self.evidence!r}")
        for kind in self.evidence:
            check_choice("evidence", kind, KINDS)

    def expected_need(self, graph: AttributedGraph) -> tuple[float, float]:
        """Return bytes and operations; in large graphs the views of one network exist at a time."""
        width = self._width(graph)
        return self._need(
            graph,
            memory=self.scratch_bytes(graph) + 8 * graph.n_nodes * self.n_units,  # what is in files, and z
            per_edge=30 if in_single_precision(graph) else 120,
            weights=self.n_folds * (2 * self.n_units * (width + self.mlp_units) + self.mlp_units * self.n_classes),
            per_pair=4 * width + 6 * self.n_units + 3 * self.mlp_units,
            product=2 * (width * self.n_units + self.n_units * self.mlp_units) * self.n_folds,
            per_epoch=0.0,
            judged=graph.n_edges / self.n_folds,
        )

    def scratch_bytes(self, graph: AttributedGraph) -> int:
        """Return the size of what can be on disk instead of in memory: the attributes, and the views of a network."""
        size, splits = (graph.n_nodes, self._width(graph)), Splits(0, self.n_folds, self.n_inner)
        n_views = (self.n_inner - 1) * (self.n_folds if kept_at_once(*size, splits) else 1)
        attributes = (8 if in_single_precision(graph) else 12) * size[0] * size[1]
        return view_bytes(*size) * (n_views + 1) + attributes

    def _width(self, graph: AttributedGraph) -> int:
        return min(2 * graph.n_attributes, self.n_components or 2 * graph.n_attributes)

    def resolve_scaling(self, graph: AttributedGraph) -> str:
        """Return the scaling: ``"auto"`` leaves a bag of words as it is and takes ``"mixed"`` for the rest."""
        if self.scaling != "auto":
            return self.scaling
        return "none" if choose_scaling(graph.attributes) == "none" else "mixed"

    def resolve_similarity(self, scaling: str) -> str:
        """Return the similarity: ``"auto"`` is cosine for unscaled attributes and Euclidean for the rest."""
        if self.similarity != "auto":
            return self.similarity
        return "cosine" if scaling in ("none", "row") else "euclidean"

    def build_network(
        self, n_inputs: int, n_classes: int, *, directed: bool, generator: torch.Generator
    ) -> ViewHopNetwork:
        """Return the network of two views with its initial weights."""
        return ViewHopNetwork(
            [n_inputs, n_inputs],
            n_units=self.n_units,
            mlp_units=self.mlp_units,
            n_classes=n_classes,
            directed=directed,
            generator=generator,
        )

    def _training_schedule(self, pairs: PairPool) -> Schedule:
        """Return the schedule with a prior that weighs as much as ten pairs, but at most ``weight_decay``."""
        n_pairs = pairs.n_classes * pairs.sizes[0] * (self.n_folds - 1) / self.n_folds
        schedule = self.schedule(self.samples_for(pairs.sizes[0]))
        return replace(schedule, weight_decay=min(self.weight_decay, PRIOR_PAIRS / max(n_pairs, 1.0)))

    def samples_for(self, n_edges: float) -> Any:
        """Return how many posterior samples judge a graph: in a large one, one round over the folds unless told."""
        if self.n_samples is not None:
            return self.n_samples
        return SAMPLES if n_edges <= MANY_EDGES else self.n_inner - 1

    @property
    def splits(self) -> Splits:
        """Which edges each network judges, hides and learns from; known once ``fit`` has begun."""
        return Splits(self.split_seed_, self.n_folds, self.n_inner)

    def _fit_transform(self, graph: AttributedGraph, rng: np.random.Generator) -> FloatArray:
        """Also fix the unit of the views, which stays the same for new graphs, and the laws of the attributes."""
        attributes = super()._fit_transform(graph, rng)
        self.unit_ = spread_of(attributes) or 1.0
        chosen = baseline_nodes(graph)
        own, folds = self._own(attributes[chosen].astype(np.float64)), node_folds(graph.node_hashes[chosen])
        self.attribute_baseline_ = AttributeBaseline.fit(own, graph.degrees[chosen], folds)
        cosine = self.resolve_similarity(self.transform_.scaling) == "cosine"
        self.references_ = References.choose(attributes, chosen, cosine=cosine)
        return attributes

    def _own(self, attributes: FloatArray, derived: Sequence[str] = STRUCTURE) -> FloatArray:
        """Return transformed attributes with zeros for those that were derived from the structure.

        A degree is not explained by what follows from it, and a hub is no outlier only because it has many edges.
        """
        columns = self.transform_.columns_of(derived)
        return np.where(columns, 0.0, attributes) if columns.any() else attributes

    def _deviation_of(self, attributes: FloatArray) -> FloatArray:
        return self.attribute_baseline_.deviation(self._own(attributes, (*STRUCTURE, *COUNTS)))

    def _sight(self, graph: AttributedGraph, attributes: FloatArray, device: torch.device) -> CrossViews:
        """Return what each network sees: views without its part of the edges and without an inner fold."""
        scratch = getattr(self, "_scratch", None)
        scaled = in_unit(attributes, self.unit_, scratch)
        return CrossViews(graph, scaled, self.splits, self._placed(graph), device, scratch)

    def _placed(self, graph: AttributedGraph) -> FoldIndex:
        return self._once("placed", graph, lambda: self.splits.of(edge_hashes(graph)))

    def _local_folds(
        self,
        graph: AttributedGraph,
        present: NDArray[np.bool_],
        rows: NDArray[np.int64],
        mine: NDArray[np.int64],
        device: torch.device,
    ) -> list[list[Fold]]:
        """Return the views of the rows: their neighborhoods without the absent edges."""
        absent = np.flatnonzero(~present)
        seen = local_views(graph, self.splits, rows, lambda some: self._transformed(graph, some) / self.unit_, absent)
        views = torch.from_numpy(seen).to(device)
        own = torch.from_numpy((self._transformed(graph, rows) / self.unit_).astype(np.float32)).to(device)
        part = self.splits.of(edge_hashes(graph, mine)).part
        judged = [torch.from_numpy(np.flatnonzero(part == k)).to(device) for k in range(self.n_folds)]
        return [
            [Fold([own, views[k * self.n_inner + inner]], judged[k]) for inner in range(1, self.n_inner)]
            for k in range(self.n_folds)
        ]

    def _hop_pairs(
        self, graph: AttributedGraph, kept: NDArray[np.bool_], rng: np.random.Generator, checkpoint: Checkpoint
    ) -> PairPool:
        """Return the pool, and keep it in the checkpoint: in a large graph it takes a minute to find."""
        known = checkpoint.prepared("pool")
        if known:
            with checkpoint.taking_up():
                return PairPool.of(known)
        placed = self._placed(graph)

        def positives(fold: int) -> NDArray[np.bool_]:
            return placed.positives(fold) if fold % self.n_inner == 0 else placed.positives(fold) & kept

        pool = pair_pool(
            adjacency_of(graph, kept, directed=graph.directed),
            OneAtATime(len(self.splits.folds), positives),
            self.n_folds,
            graph.edges,
            kept,
            graph.node_hashes,
            pool_seed(self.split_seed_),
            n_classes=self.n_classes,
            sampling_ratio=self.sampling_ratio,
            max_pairs=self.max_pairs,
            min_class_pairs=self.min_class_pairs,
            directed=graph.directed,
        )
        checkpoint.prepare("pool", pool.arrays())
        return pool

    def _chances_of(self, graph: AttributedGraph) -> Callable[[NDArray[np.int64]], NDArray[Any]]:
        """Return hashes, so that neither the order of the nodes nor the engine matters."""
        return lambda edges: chances(graph, edges, pool_seed(self.split_seed_))

    def _calibrate(
        self, sight: CrossViews, networks: Sequence[HopNetwork], pairs: PairPool, rng: np.random.Generator
    ) -> FloatArray:
        """Return temperature and class offsets of each network, learned on the pairs that it set aside."""
        views, local = sight.aside(pairs)
        return self.calibrate(networks, views, local, self.samples_, rng)

    def calibrate(
        self,
        networks: Sequence[HopNetwork],
        views: Iterable[Sequence[Any]],
        pairs: PairPool,
        samples: NDArray[np.float32],
        rng: np.random.Generator,
    ) -> FloatArray:
        """Return temperature and class offsets of each network, given its view without the fold that it set aside."""
        device = next(networks[0].parameters()).device
        schedule, found, on_device = self.schedule(len(samples)), [], torch.from_numpy(samples).to(device)
        for k, (network, view) in enumerate(zip(networks, views, strict=True)):
            drawn, labels = pairs.draw_aside(k, CALIBRATION_PAIRS, rng=rng)
            aside = torch.from_numpy(drawn).to(device)
            logits = []
            for weights in on_device[:, k]:
                network.set_flat_weights(weights)
                blocks = predict(network, view, aside, torch.arange(labels.size, device=device), schedule)
                logits.append(torch.cat([block for _, block in blocks]))
            found.append((torch.stack(logits), labels))
        run = in_order if device.type == "cpu" else map  # a GPU works on one after the other
        with few_threads(1):  # several would add up in another order
            return np.array(list(run(calibrate, *zip(*found, strict=True))))

    def _keep(self, graph: AttributedGraph, posterior: EdgePosterior, *, refit: bool = True) -> FloatArray:
        scores = super()._keep(graph, posterior, refit=refit)
        del posterior
        attributes = self._transformed(graph)
        unlike = self.references_.relative_dissimilarity(attributes, graph.edges, self.edge_hop_.dtype)
        edges = EdgeFeatures(self.edge_hop_, self.edge_surprise_, unlike)
        if refit:
            self.edge_baseline_ = EdgeBaseline.fit(edges.rows(baseline_edges(graph)))
        self.edge_dissimilarity_ = edges.dissimilarity
        self.edge_score_ = self.edge_baseline_.scores(edges)
        if refit:
            p_edges = 10.0**-self.edge_score_
            self.edge_threshold_ = threshold(self.edge_score_, "auto", self.false_alarms, p_edges)
        self.edge_label_ = (self.edge_score_ > self.edge_threshold_).astype(np.int8)
        nodes = self._node_features(graph, edges, attributes)
        if refit:
            triangles = nodes.have_triangles(notices=None)
            self.node_baseline_ = NodeBaseline.fit(nodes.rows(baseline_nodes(graph)), triangles=triangles)
        self.evidence_ = weigh(nodes, self.node_baseline_)
        self.p_value_, *kind_p = all_p_values(nodes, self.node_baseline_, [self.evidence, *((kind,) for kind in KINDS)])
        if refit:
            by_kind = zip(self.evidence_.values(), kind_p, strict=True)
            self.kind_thresholds_ = np.array([threshold(each, "auto", self.false_alarms, p) for each, p in by_kind])
        strength, self.decided_by_ = combine(self.evidence_, self.evidence)
        self.judged_ = np.ones(graph.n_nodes, dtype=np.bool_)
        strength = self._taught_again(graph, strength, refit=refit)
        return strength if self.score == "evidence" else scores

    @property
    def groups_(self) -> list[Group]:
        """Return the rings and lockstep groups among the nodes with significant evidence of that kind."""
        made_from = (self.edge_baseline_, self.evidence_, self.kind_thresholds_, getattr(self, "graph_", None))
        known, found = getattr(self, "_found", ((), None))  # of a large graph, finding them takes seconds
        if found is not None and all(each is before for each, before in zip(made_from, known, strict=True)):
            return found
        edges = EdgeFeatures(self.edge_hop_, self.edge_surprise_, self.edge_dissimilarity_)
        sides = {"ring": self.edge_baseline_.strangeness(edges), "lockstep": self.edge_baseline_.alikeness(edges)}
        least = dict(zip(KINDS, self.kind_thresholds_, strict=True))
        groups = all_groups(self.edge_index_, sides, self.evidence_, least, getattr(made_from[-1], "node_ids", None))
        self._found = made_from, groups
        return groups

    def _score_again(self, graph: AttributedGraph, node: int, mine: NDArray[np.int64], again: EdgePosterior) -> float:
        """Return the score of a node from the new predictions for its remaining edges, by the laws of the fit."""
        if self.score != "evidence":
            return super()._score_again(graph, node, mine, again)
        near = np.union1d(graph.edges[:, mine].ravel(), [node])
        inside = edges_among(graph, near)
        inside = inside[np.isin(inside, mine) | ((graph.edges[0, inside] != node) & (graph.edges[1, inside] != node))]
        edges = EdgeFeatures(
            self.edge_hop_[inside].copy(), self.edge_surprise_[inside].copy(), self.edge_dissimilarity_[inside]
        )
        new = np.searchsorted(inside, mine)
        edges.hop[new], edges.surprise[new] = edge_values(again.hop), edge_values(again.surprise)
        local = np.searchsorted(near, graph.edges[:, inside])
        at = np.searchsorted(near, [node])
        attributes = self._own(self._transformed(graph, np.array([node])))
        degrees, weight = np.array([mine.size]), graph.edge_data.rows(inside).weight
        around: dict[str, Any] = self.edge_baseline_.at_nodes(local, edges, near.size, weight)
        alone = NodeFeatures(
            degrees=degrees,
            deviation=self._deviation_of(attributes),
            residual=self.attribute_baseline_.residual(attributes, degrees, node_folds(graph.node_hashes[[node]])),
            **{name: None if values is None else values[..., at] for name, values in around.items()},  # type: ignore[arg-type]
        )
        evidence = weigh(alone, self.node_baseline_)
        return self._taught_node(evidence, float(combine(evidence, self.evidence)[0][0]), node)

    def _node_features(self, graph: AttributedGraph, edges: EdgeFeatures, attributes: FloatArray) -> NodeFeatures:
        """Return what is known of each node."""
        folds, (deviation, residual) = node_folds(graph.node_hashes), np.empty((2, graph.n_nodes))

        def read(start: int) -> None:
            rows = slice(start, start + ROWS_READ)
            own = self._own(np.asarray(attributes[rows], dtype=np.float64))
            deviation[rows] = self._deviation_of(own)
            residual[rows] = self.attribute_baseline_.residual(own, graph.degrees[rows], folds[rows])

        with few_threads(1):  # of BLAS, in each of these
            for _ in in_order(read, range(0, graph.n_nodes, ROWS_READ)):
                pass
        release(attributes)
        return NodeFeatures(
            degrees=graph.degrees,
            deviation=deviation,
            residual=residual,
            **self.edge_baseline_.at_nodes(graph.edges, edges, graph.n_nodes, graph.edge_weight),
        )
