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
from hopsight.detectors.splits import fingerprint, hidden_links
from hopsight.graph import AttributedGraph
from hopsight.hops import HopPairs
from hopsight.nn.gcn import normalized_adjacency, propagation
from hopsight.nn.hop_network import ViewHopNetwork
from hopsight.nn.spectral import spectral_embedding
from hopsight.preprocess.scale import choose_scaling
from hopsight.scores import beyond_degree, fill_unjudged, neighbour_mean, rings


@dataclass(kw_only=True)
class CrossHCM(HopDetector):
    """HCM's question asked fairly: how far apart should two linked nodes be, if you cannot see the link.

    Four things differ from :class:`HCM`. Links are hidden while they are judged: every repeat splits them into
    ``n_folds`` parts by a hash of (seed, link), and a part is judged from what the others show. A node keeps its
    own attributes beside those of its neighbourhood and its place in the network (X, ÂX and the leading
    eigenvectors of Â, mapped linearly, no message passing). A node's links are read twice, as expected hop
    counts and as −log p(one hop). And links that close triangles of strangers count extra: see
    :func:`hopsight.scores.rings`.

    ``decision_score_`` (``score="cross"``) is the larger of two numbers, each in robust standard deviations beyond
    what nodes of like degree have: how far the node's links look (the mean of its hop counts and of its surprise),
    and how much of a ring they form. ``"far"`` leaves the rings out; ``"ahp"`` and ``"hav"`` are the paper's two
    scores, from the same hidden-link predictions.

    Parameters
    ----------
    n_folds, n_repeats
        Parts the links are split into (one is hidden at a time), and how many splits there are.
    n_structure
        Eigenvectors of Â that describe a node's place; 0 leaves them out.
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

    _SCORES: ClassVar[tuple[str, ...]] = ("cross", "far", "hav", "ahp")

    n_folds: int = 2
    n_repeats: int = 6
    n_structure: int = 64
    n_units: int = 64
    n_components: int | None = 64
    drop_ratio: float = 0.4
    max_pairs: int = 32_768
    n_samples: int = 40
    score: str = "cross"

    def _check(self) -> None:
        super()._check()
        check_count("n_folds", self.n_folds, low=2)
        check_count("n_epochs", self.n_epochs, low=self.n_folds)  # every link is judged once at least
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
        self.fingerprint_ = fingerprint(graph)

    def _folds(self, graph: AttributedGraph, attributes: FloatArray, device: torch.device) -> list[Fold]:
        """Return a fold for every hidden part: views of what is left, and the links it judges.

        Every third repeat is blind: it does without the node's place in the network. So the model also learns
        to judge by attributes and neighbourhoods alone, and that is what it does in a network it was not fitted
        on, where eigenvectors mean something else.
        """
        own = torch.from_numpy((attributes / self.unit_).astype(np.float32)).to(device)
        familiar = fingerprint(graph) == self.fingerprint_
        folds = []
        for number, hidden in enumerate(hidden_links(graph, self.seed, self.n_folds, self.n_repeats)):
            propagate = propagation(adjacency_of(graph, ~hidden, directed=False), directed=False, device=device)
            views = [own, propagate(own)]
            if self.n_structure_ and familiar and not self._is_blind(number):
                generator = torch.Generator().manual_seed(number)
                views.append(spectral_embedding(propagate, graph.n_nodes, self.n_structure_, generator=generator))
            elif self.n_structure_:
                views.append(torch.zeros(graph.n_nodes, self.n_structure_, device=device))
            folds.append(Fold(views, torch.from_numpy(np.flatnonzero(hidden)).to(device)))
        if graph is getattr(self, "graph_", None):  # not a renumbered copy, however familiar
            self._seen = folds
        return folds

    def _is_blind(self, fold: int) -> bool:
        return fold // self.n_folds % 3 == 2

    def _local_folds(
        self,
        graph: AttributedGraph,
        stays: NDArray[np.bool_],
        attributes: FloatArray,
        rows: NDArray[np.int64],
        mine: NDArray[np.int64],
        device: torch.device,
    ) -> list[Fold]:
        """Return the views of the rows: neighbourhoods without the absent links, places as they were in the fit."""
        seen = getattr(self, "_seen", None) or self._folds(self.graph_, attributes, device)
        scaled = attributes / self.unit_
        own = torch.from_numpy(scaled[rows].astype(np.float32)).to(device)
        folds = []
        for fold, hidden in zip(seen, hidden_links(graph, self.seed, self.n_folds, self.n_repeats), strict=True):
            operator = normalized_adjacency(adjacency_of(graph, ~hidden, directed=False))[rows]
            around = torch.from_numpy((operator @ scaled).astype(np.float32)).to(device)
            places = [view[torch.from_numpy(rows).to(device)] for view in fold.view[2:]]
            folds.append(Fold([own, around, *places], torch.from_numpy(np.flatnonzero(hidden[mine])).to(device)))
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
        n_nodes, edges, degrees = graph.n_nodes, graph.edges, graph.degrees
        strangeness = (1.0 - as_float64(posterior.probability)) ** 2
        hop = neighbour_mean(edges, as_float64(posterior.hop), n_nodes)
        surprise = neighbour_mean(edges, as_float64(posterior.surprise), n_nodes)
        ring = np.sqrt(neighbour_mean(edges, rings(edges, strangeness, n_nodes), n_nodes))
        far = (beyond_degree(hop, degrees) + beyond_degree(surprise, degrees)) / 2
        cross = np.maximum(far, beyond_degree(ring, degrees))
        return scores | {"far": fill_unjudged(far), "cross": fill_unjudged(cross)}
