"""A detector that learns from verdicts: a new ranking beside the old one, and which nodes to ask about next."""

from __future__ import annotations

import copy
from collections.abc import Callable, Mapping
from dataclasses import replace
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray

from hopsight.checks import check_count
from hopsight.detectors.base import Detector
from hopsight.graph import AttributedGraph
from hopsight.hcm.verdicts import Learned, company_of, in_words, learn, queue, resemblance_of, thinned
from hopsight.io.verdicts import read_verdicts
from hopsight.metrics import ranking, ranks

FloatArray = NDArray[np.float64]

N_SAMPLED = 512  # nodes that distances are compared with


class Taught(Detector):
    """What a detector with kinds of evidence inherits to learn from verdicts (:mod:`hopsight.hcm.verdicts`).

    ``learned_`` holds what was learned, ``rank_before_`` the ranks without it.
    """

    evidence: tuple[str, ...]
    evidence_: dict[str, FloatArray]
    before_: dict[str, NDArray[Any]]
    p_value_: FloatArray
    decided_by_: NDArray[np.int64]
    learned_: Learned
    rank_before_: NDArray[np.int64]
    _transformed: Callable[..., FloatArray]  # the attributes that nodes are compared by

    def learn(self, verdicts: Any, graph: AttributedGraph | None = None) -> Self:
        """Return a new fitted detector whose ranking has learned from verdicts; this one stays as it is.

        Nothing moves until there are verdicts of both kinds. Unsure ones teach nothing. Learning again starts from the
        fit, with all the verdicts given then.

        Parameters
        ----------
        verdicts
            A mapping of node id to ``"anomalous"``, ``"normal"`` or ``"unsure"``, a table with the columns ``node`` and
            ``verdict``, or the path of such a CSV file.
        graph
            The graph the detector was fitted on; needed for a detector loaded from disk, which does not keep it.
        """
        graph = self._graph_for("learn", graph)
        known = {node: word for node, word in read_verdicts(verdicts, graph).items() if word != "unsure"}
        judged = np.array(sorted(known), dtype=np.int64)
        anomalous = np.array([known[node] == "anomalous" for node in judged.tolist()], dtype=np.int64)
        taught = self.untaught()
        if not 0 < anomalous.sum() < anomalous.size:
            return taught
        hashes = graph.node_hashes
        chosen = np.argpartition(hashes, min(N_SAMPLED, hashes.size) - 1)[:N_SAMPLED]
        evidence = np.stack([taught.evidence_[kind] for kind in taught.evidence])
        few = thinned(judged, anomalous, evidence)  # of a long list of known-good nodes, some to compare with
        found = learn(
            evidence,
            judged,
            anomalous,
            company=company_of(graph.edges, judged, anomalous, graph.n_nodes),
            resemblance=resemblance_of(taught._transformed(graph), judged[few], anomalous[few], chosen),
        )
        if found is not None:
            taught.learned_ = replace(found, key=np.array([_key(hashes)]))
            taught._finish(taught._taught(taught.decision_score_, taught.threshold_, found.association))
        return taught

    def untaught(self) -> Self:
        """Return the detector as it was before it learned from verdicts."""
        plain = copy.copy(self)
        if hasattr(plain, "learned_"):
            before = plain.before_
            for name in ("decision_score_", "p_value_", "threshold_", "label_", "decided_by_"):
                value = before[name]
                setattr(plain, name, float(value[0]) if name == "threshold_" else value)
            del plain.learned_, plain.before_, plain.rank_before_
        return plain

    def check_learned(self) -> None:
        """Refuse what a saved detector claims to have learned if its parts do not fit together."""
        learned, n_nodes = self.learned_, self.decision_score_.size
        m = np.size(learned.shares)
        shapes = {
            "shares": (m,), "powers": (m,), "scales": (m,), "factors": (m, len(self.evidence)), "ties": (3,),
            "reach": (1,), "association": (n_nodes,), "key": (1,), "judged": np.shape(learned.judged)[:1],
        }  # fmt: skip
        wrong = [name for name, shape in shapes.items() if np.shape(getattr(learned, name)) != shape]
        kept: dict[str, Any] = self.before_ if isinstance(getattr(self, "before_", None), dict) else {}
        columns: dict[str, Any] = {**kept, "rank_before_": getattr(self, "rank_before_", ())}
        names = ("decision_score_", "p_value_", "label_", "decided_by_", "rank_before_")
        wrong += [name for name in names if np.shape(columns.get(name, ())) != (n_nodes,)]
        if wrong or np.shape(kept.get("threshold_", ())) != (1,):
            raise ValueError(f"{(wrong or ['threshold_'])[0]} of what was learned has the wrong length")
        sound = (learned.factors > 0).all() and (learned.powers >= 1).all() and learned.reach[0] > 0
        if not ((learned.judged >= 0) & (learned.judged < n_nodes)).all() or not sound:
            raise ValueError("what was learned names nodes or factors that there are not")

    def queue(self, n: int = 20, graph: AttributedGraph | None = None) -> list[Any]:
        """Return the ids of the nodes to look at next: the top of the ranking, and a few that would teach most.

        Nodes that the detector has learned from are left out.
        """
        graph = self._graph_for("queue", graph)
        ids: list[Any] = graph.node_ids[[node for node, _ in self.questions(n)]].tolist()
        return ids

    def questions(self, n: int, judged: Any = ()) -> list[tuple[int, str | None]]:
        """Return positions of the nodes to look at next, and the kind of evidence that a verdict would teach about.

        ``judged`` are positions of nodes to leave out, beside those learned from. None in place of a kind means that
        the node is simply the next of the ranking.
        """
        check_count("n", n)
        known = np.asarray(list(judged), dtype=np.int64)
        if hasattr(self, "learned_"):
            known = np.union1d(known, self.learned_.judged)
        return queue(self.decision_score_, {kind: self.evidence_[kind] for kind in self.evidence}, known, n)

    @property
    def learned_words(self) -> str | None:
        """How much each kind of evidence counts after learning, in a sentence; None if nothing was learned."""
        return in_words(self.learned_, self.evidence) if hasattr(self, "learned_") else None

    def _taught(self, default: FloatArray, threshold: float, association: FloatArray) -> FloatArray:
        """Return the scores by what was learned, and keep what they replace.

        As many nodes are flagged as before, because p-values go with the ranks.
        """
        evidence = np.stack([self.evidence_[kind] for kind in self.evidence])
        scores = self.learned_.scores(evidence, association)
        self.before_ = {
            "decision_score_": default,
            "p_value_": self.p_value_,
            "decided_by_": self.decided_by_,
            "label_": (default > threshold).astype(np.int64),
            "threshold_": np.array([threshold]),
        }
        self.rank_before_ = ranks(default)
        self.decided_by_ = (evidence * self.learned_.weights[:, None]).argmax(axis=0)
        p_values = np.empty_like(self.p_value_)
        p_values[ranking(scores)] = np.sort(self.p_value_)
        self.p_value_ = p_values
        return scores

    def _taught_again(self, graph: AttributedGraph, default: FloatArray, *, refit: bool) -> FloatArray:
        """Return the scores after a fit, which forgets what was learned, or of a graph to judge.

        In another graph only what was learned about kinds of evidence counts: its nodes are not those with verdicts.
        """
        learned = getattr(self, "learned_", None)
        if learned is None:
            return default
        if refit:
            del self.learned_, self.before_, self.rank_before_
            return default
        if learned.key[0] != _key(graph.node_hashes):
            nobody = np.zeros(0, dtype=np.int64)
            learned = replace(learned, judged=nobody, association=np.zeros(graph.n_nodes))
            self.learned_ = learned
        return self._taught(default, float(self.before_["threshold_"][0]), learned.association)

    def _taught_node(self, evidence: Mapping[str, FloatArray], default: float, node: int) -> float:
        """Return the score of one node of the graph of the fit, given its evidence without some edges."""
        learned = getattr(self, "learned_", None)
        if learned is None or node >= learned.association.size:
            return default
        alone = np.stack([evidence[kind] for kind in self.evidence])
        usual = self.before_["decision_score_"]
        return float(learned.scores(alone, learned.association[[node]], among=usual)[0])

    def _graph_for(self, call: str, graph: AttributedGraph | None) -> AttributedGraph:
        if not hasattr(self, "decision_score_"):
            raise ValueError(f"{type(self).__name__} is not fitted yet: call fit first")
        if getattr(self, "score", "evidence") != "evidence":
            raise ValueError(f"{call} needs score='evidence': verdicts re-weigh the kinds of evidence")
        found = graph if graph is not None else getattr(self, "graph_", None)
        if found is None:
            raise ValueError(f"this {type(self).__name__} was loaded from disk without its graph: pass {call} graph=")
        if found.n_nodes != self.decision_score_.size:
            raise ValueError(f"graph must have the {self.decision_score_.size:,} nodes of the fit, it has others")
        return found


def _key(hashes: NDArray[Any]) -> int:
    """Return a number that tells the nodes of a graph, and their order, from others, given the hashes of their ids."""
    places = np.arange(1, hashes.size + 1, dtype=np.uint64)
    return int((hashes.astype(np.uint64) * places).sum(dtype=np.uint64) >> np.uint64(2))
