"""CrossHCM: hop counts judged by a model that has not seen the link, and rings of strangers."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

import numpy as np
import torch
from numpy.typing import NDArray

from hopsight.checks import check_count
from hopsight.detectors.base import FloatArray
from hopsight.detectors.hop_detector import HopDetector, adjacency_of, as_float64
from hopsight.detectors.posterior import Fold, LinkPosterior
from hopsight.detectors.splits import hidden_links
from hopsight.graph import AttributedGraph
from hopsight.hops import HopPairs
from hopsight.nn.gcn import propagation
from hopsight.nn.hop_network import ViewHopNetwork
from hopsight.nn.spectral import spectral_embedding
from hopsight.preprocess.scale import choose_scaling
from hopsight.scores import fill_unjudged, mid_ranks, neighbour_mean, rings, without_degree_trend


@dataclass(kw_only=True)
class CrossHCM(HopDetector):
    """HCM's question asked fairly: how far apart should two linked nodes be, if you cannot see the link.

    Four things differ from :class:`HCM`. Links are hidden while they are judged: every repeat splits them into
    ``n_folds`` parts by a hash of (seed, link), and a part is judged from what the others show. A node keeps its
    own attributes beside those of its neighbourhood and its place in the network (X, ÂX and the leading
    eigenvectors of Â, mapped linearly, no message passing). A node's links are read twice, as expected hop
    counts and as −log p(one hop). And links that close triangles of strangers count extra: see
    :func:`hopsight.scores.rings`.

    ``decision_score_`` is the rank of a node's mean hop count and surprise, plus the rank of its rings beyond
    what nodes of its degree have (``score="cross"``); ``"ahp"`` and ``"hav"`` are the paper's two scores, from the
    same hidden-link predictions.

    Parameters
    ----------
    n_folds, n_repeats
        Parts the links are split into (one is hidden at a time), and how many splits there are.
    n_structure
        Eigenvectors of Â that describe a node's place; 0 leaves them out.
    ring_weight
        What rings count for beside distance.
    scaling, similarity
        ``"auto"``: a bag of words is left as it is and compared by cosine; other attributes are standardised,
        clipped at five standard deviations and compared by distance.
    n_units, mlp_units, …
        As in :class:`HCM`; ``n_units`` is the width of each view.

    Examples
    --------
    >>> import hopsight as hs
    >>> model = hs.CrossHCM(n_epochs=20, burn_in=10, seed=0).fit(hs.make_demo())
    >>> model.edge_probability_.shape == model.edge_hop_.shape
    True
    """

    _SCORES: ClassVar[tuple[str, ...]] = ("cross", "hav", "ahp")

    n_folds: int = 2
    n_repeats: int = 5
    n_structure: int = 64
    ring_weight: float = 1.0
    n_units: int = 64
    n_components: int | None = 64
    drop_ratio: float = 0.4
    optimizer: str = "adam"
    lr: float = 0.01
    n_samples: int = 40
    score: str = "cross"

    def _check(self) -> None:
        super()._check()
        check_count("n_folds", self.n_folds, low=2)
        check_count("n_repeats", self.n_repeats)
        check_count("n_structure", self.n_structure, low=0)

    def _scaling(self, graph: AttributedGraph) -> str:
        if self.scaling != "auto":
            return self.scaling
        return "none" if choose_scaling(graph.attributes) == "none" else "clipped"

    def _similarity(self) -> str:
        if self.similarity != "auto":
            return self.similarity
        return "cosine" if self.transform_.scaling in ("none", "row") else "euclidean"

    def _network(self, n_inputs: int, n_classes: int, directed: bool, generator: torch.Generator) -> ViewHopNetwork:
        structure = [self.n_structure_] if self.n_structure_ else []
        return ViewHopNetwork(
            [n_inputs, n_inputs, *structure],
            n_units=self.n_units,
            mlp_units=self.mlp_units,
            n_classes=n_classes,
            directed=directed,
            generator=generator,
        )

    def _prepare(self, graph: AttributedGraph, attributes: FloatArray) -> None:
        """Fix what must stay the same for new graphs: the size of the views, their unit, and who was seen."""
        self.unit_ = float(attributes.std()) or 1.0
        self.n_structure_ = min(self.n_structure, graph.n_nodes)
        self.n_nodes_ = graph.n_nodes

    def _folds(self, graph: AttributedGraph, attributes: FloatArray, device: torch.device) -> list[Fold]:
        """Return a fold for every hidden part: views of what is left, and the links it judges."""
        own = torch.from_numpy((attributes / self.unit_).astype(np.float32)).to(device)
        folds = []
        for number, hidden in enumerate(hidden_links(graph, self.seed, self.n_folds, self.n_repeats)):
            propagate = propagation(adjacency_of(graph, ~hidden, directed=False), directed=False, device=device)
            views = [own, propagate(own)]
            if self.n_structure_:
                generator = torch.Generator().manual_seed(number)
                views.append(spectral_embedding(propagate, graph.n_nodes, self.n_structure_, generator=generator))
            folds.append(Fold(views, torch.from_numpy(np.flatnonzero(hidden)).to(device)))
        return folds

    def _draw(
        self,
        pairs: HopPairs,
        folds: list[Fold],
        kept: NDArray[np.bool_],
        rng: np.random.Generator,
        epoch: int,
        n_epochs: int,
    ) -> NDArray[np.int64]:
        """Draw as HCM does, but take the pairs of one hop from the links that the epoch's fold hides."""
        drawn = pairs.draw(n_epochs, rng=rng)
        edges = self.graph_.edges
        candidates = [judged[kept[judged]] for judged in (fold.judged.cpu().numpy() for fold in folds)]
        for step in range(n_epochs):
            hidden = candidates[(epoch + step) % len(folds)]
            if hidden.size:
                chosen = rng.choice(hidden, pairs.n_pairs, replace=hidden.size < pairs.n_pairs)
                drawn[step, :, : pairs.n_pairs] = edges[:, chosen]
        return drawn

    def _node_scores(self, graph: AttributedGraph, posterior: LinkPosterior) -> dict[str, FloatArray]:
        scores = super()._node_scores(graph, posterior)
        if self.score != "cross":
            return scores
        n_nodes, edges, hop = graph.n_nodes, graph.edges, as_float64(posterior.hop)
        mean_hop = neighbour_mean(edges, hop, n_nodes)
        surprise = neighbour_mean(edges, as_float64(posterior.surprise), n_nodes)
        far = mid_ranks(mid_ranks(mean_hop) + mid_ranks(surprise))
        ring = mid_ranks(neighbour_mean(edges, rings(edges, mid_ranks(hop) ** 2, n_nodes), n_nodes))
        judged = graph.degrees > 0
        ring[judged] = mid_ranks(without_degree_trend(ring[judged], graph.degrees[judged]))
        return scores | {"cross": fill_unjudged(far + self.ring_weight * ring)}
