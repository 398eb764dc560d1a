"""A detector that learns from verdicts: a new ranking beside the old one, and which nodes to ask about next."""

from __future__ import annotations

import copy
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import product
from typing import Any

import numpy as np
from numpy.typing import NDArray

from hopsight.checks import check_count
from hopsight.graph import AttributedGraph
from hopsight.io.verdicts import read_verdicts
from hopsight.metrics import ranking, ranks

FloatArray = NDArray[np.float64]
IntArray = NDArray[np.int64]

FACTORS = (1 / 3, 1.0, 3.0)  # of one kind of evidence
USUAL_POWER = 2.0  # of the default score
POWERS = (2.0, np.inf, 1.0)  # ∞: the strongest kind decides; 1: kinds add up
COMPANY = (0.0, 0.1, 0.2)  # added to the logarithm of the score of a node connected to an anomalous one
RESEMBLANCE = (0.0, 0.4, 0.8)  # the same for a node with the attributes of an anomalous one
PROFILE = (0.0, 0.4)  # the same for a node with the evidence of an anomalous one
PRIOR_FACTOR, PRIOR_POWER, PRIOR_TIES = 0.25, 1.0, 0.3  # log prior odds that a choice loses against the default
DEFAULT_SHARE = 0.25  # prior probability of the default alone
NEAR = 0.4  # of the median distance of two nodes: attributes so near resemble each other
NEAR_PROFILE = 0.5  # log(1 + strength) of evidence so near resembles each other
N_REACHED = 15.0  # nodes of the ranking that one verdict speaks for
N_EDGE = 2048  # nodes at the end of the reach that scales are compared on, at most
N_KEPT = 60  # hypotheses that the learned score is the mean of
MAX_VERDICTS = 128  # more than that are thinned out, so that learning stays quick
TEACHING = 3  # every third node of the queue is asked for what its verdict would teach
NOTICEABLE = 0.05  # ties that add less to a score are not worth a word
SLOPE = 1.0  # prior mean of the slope of the logistic regression


@dataclass(frozen=True)
class Learned:
    """What was learned from verdicts.

    Attributes
    ----------
    shares
        (m,) posterior probabilities of the kept hypotheses; the first is the default.
    powers, scales
        (m,) how each combines the kinds, and the factor that puts its scores on the scale of the default.
    factors
        (m, n_kinds) how much each kind counts.
    reach
        (1,) how many nodes of the ranking the verdicts speak for.
    ties
        (3,) posterior means of what company, resemblance and profile add to the logarithm of a score.
    association
        (n_nodes,) what they add for each node of the graph of the fit.
    judged, anomalous
        Positions of the nodes with a verdict of anomalous or normal, and which of them are anomalous (1 or 0).
    key
        (1,) tells the nodes of that graph from others.
    """

    shares: FloatArray
    powers: FloatArray
    scales: FloatArray
    factors: FloatArray
    reach: FloatArray
    ties: FloatArray
    association: FloatArray
    judged: IntArray
    anomalous: IntArray
    key: IntArray

    def scores(
        self, evidence: FloatArray, association: FloatArray | float = 0.0, *, among: FloatArray | None = None
    ) -> FloatArray:
        """Return the score of each node from its evidence, an array of (n_kinds, n_nodes).

        ``among`` holds the default scores of the graph that the nodes are part of; without it they are all of them.
        """
        total = np.zeros(evidence.shape[1])
        default = combined(evidence, np.ones((1, len(evidence))), USUAL_POWER)[0]
        trust = trusted(default, default if among is None else among, float(self.reach[0]))
        for power in np.unique(self.powers):
            mine = self.powers == power
            shares = self.shares[mine] * self.scales[mine]
            for rows in _blocks(evidence.shape[1], int(mine.sum())):
                total[rows] += shares @ combined(evidence[:, rows], self.factors[mine], power)
        return np.asarray((default + trust * (total - default)) * np.exp(association))

    @property
    def weights(self) -> FloatArray:
        """How much each kind counts by the posterior, 1 as before the verdicts (the geometric mean of the factors)."""
        return np.asarray(np.exp(self.shares @ np.log(self.factors)))


def combined(evidence: FloatArray, factors: FloatArray, power: float) -> FloatArray:
    """Return the scores of all nodes by hypotheses with one power: (n_hypotheses, n_nodes).

    >>> combined(np.array([[3.0], [4.0]]), np.array([[1.0, 1.0], [2.0, 1.0]]), np.inf).tolist()
    [[4.0], [6.0]]
    >>> combined(np.array([[3.0], [4.0]]), np.array([[1.0, 1.0]]), 2.0).tolist()
    [[5.0]]
    """
    if power == np.inf:
        return np.asarray((factors[:, :, None] * evidence).max(axis=1))
    return np.asarray((factors**power @ np.maximum(evidence, 0.0) ** power) ** (1.0 / power))


def trusted(scores: FloatArray, among: FloatArray, reach: float) -> FloatArray:
    """Return how far new weights count for nodes with these default scores: fully up to the reach, then reach / rank.

    >>> trusted(np.array([4.0, 1.0]), np.array([4.0, 3.0, 2.0, 1.0]), 2.0).tolist()
    [1.0, 0.5]
    """
    stronger = among.size - np.searchsorted(np.sort(among), scores, side="right")
    return np.asarray(np.minimum(1.0, reach / (1.0 + stronger)))


def reach_of(anomalous: IntArray) -> float:
    """Return how many nodes of the ranking verdicts speak for.

    Verdicts that nearly all say the same contrast little with each other: a anomalous and b normal ones are worth
    4ab / (a + b), which is all of them if there are as many of either.

    >>> reach_of(np.array([1, 1, 0, 0])), round(reach_of(np.array([1] + 99 * [0])), 1)
    (60.0, 59.4)
    """
    a = float(anomalous.sum())
    b = anomalous.size - a
    return N_REACHED * 4.0 * a * b / (a + b)


def learn(
    evidence: FloatArray,
    judged: IntArray,
    anomalous: IntArray,
    *,
    company: FloatArray | None = None,
    resemblance: FloatArray | None = None,
) -> Learned | None:
    """Return what verdicts teach; None unless there are verdicts of both kinds.

    Parameters
    ----------
    evidence
        (n_kinds, n_nodes) the evidence of the chosen kinds.
    judged, anomalous
        Positions of the judged nodes, and whether each is anomalous (1) or normal (0).
    company, resemblance
        How close each node is to judged ones, from −1 (normal ones) to 1 (anomalous ones), without its own verdict; see
        :func:`company_of` and :func:`resemblance_of`. Left out on a table of scores, which has neither.
    """
    if not 0 < anomalous.sum() < anomalous.size:
        return None
    chosen = thinned(judged, anomalous, evidence)
    near = judged[chosen]
    profile = profile_of(evidence, near, anomalous[chosen])
    known = ((company, COMPANY), (resemblance, RESEMBLANCE), (profile, PROFILE))
    ties = [np.zeros(evidence.shape[1]) if values is None else values for values, _ in known]
    choices = [(0.0,) if values is None else strengths for values, strengths in known]
    factors = np.array(list(product(FACTORS, repeat=evidence.shape[0])))
    prior = -PRIOR_FACTOR * (np.log2(factors) ** 2).sum(axis=1)
    default, reach = combined(evidence, np.ones((1, len(evidence))), USUAL_POWER)[0], reach_of(anomalous)
    edge = _edge(default, reach)
    trust = trusted(default[near], default, reach)
    rows, priors, kinds = [], [], []
    for power in POWERS:
        scales = default[edge].mean() / np.maximum(combined(evidence[:, edge], factors, power).mean(axis=1), 1e-9)
        scores = combined(evidence[:, near], factors, power) * scales[:, None]
        scores = default[near] + trust * (scores - default[near])
        for strengths in product(*choices):
            rows.append(scores * np.exp(sum(each * tie[near] for each, tie in zip(strengths, ties, strict=True))))
            priors.append(prior - PRIOR_POWER * (power != USUAL_POWER) - PRIOR_TIES * np.count_nonzero(strengths))
            kinds.append((power, scales, strengths))
    y = anomalous[chosen].astype(np.float64)
    fits = log_likelihood(np.concatenate(rows), y)
    shares, kept = _posterior(fits, np.concatenate(priors), float(log_likelihood(default[None, near], y)[0]))
    found = _mean(shares, kept, factors, kinds, ties) | {"judged": judged, "anomalous": anomalous}
    return Learned(**found, reach=np.array([reach]), key=np.zeros(1, dtype=np.int64))


def log_likelihood(scores: FloatArray, y: FloatArray) -> FloatArray:
    """Return how well scores predict verdicts: the penalized maximum of log P(y | σ(a + b · score)), for many scores.

    The slope b is not negative and has a normal prior with mean and variance 1; a is nearly free. Newton's method.
    """
    centered = scores - scores.mean(axis=1, keepdims=True)
    share = (y.sum() + 0.5) / (y.size + 1.0)
    a = np.full(len(scores), np.log(share / (1.0 - share)))
    b = np.full(len(scores), SLOPE)
    for _ in range(20):
        odds = np.clip(a[:, None] + b[:, None] * centered, -30.0, 30.0)
        p = 1.0 / (1.0 + np.exp(-odds))
        spread, miss = p * (1.0 - p), y - p
        toward_a, toward_b = miss.sum(axis=1) - 0.01 * a, (miss * centered).sum(axis=1) - (b - SLOPE)
        aa, ab = spread.sum(axis=1) + 0.01, (spread * centered).sum(axis=1)
        bb = (spread * centered**2).sum(axis=1) + 1.0
        determinant = aa * bb - ab**2
        a += np.clip((bb * toward_a - ab * toward_b) / determinant, -2.0, 2.0)
        b = np.maximum(b + np.clip((aa * toward_b - ab * toward_a) / determinant, -2.0, 2.0), 0.0)
    odds = a[:, None] + b[:, None] * centered
    fit = (y * odds - np.logaddexp(0.0, odds)).sum(axis=1)
    return np.asarray(fit - 0.5 * (b - SLOPE) ** 2 - 0.005 * a**2)


def company_of(edges: IntArray, judged: IntArray, anomalous: IntArray, n_nodes: int) -> FloatArray:
    """Return for each node a sum over its judged neighbors: 1 per anomalous, −½ per normal one, between −½ and 1.

    >>> company_of(np.array([[0, 0, 1], [1, 2, 2]]), np.array([0, 1]), np.array([1, 0]), 4).tolist()
    [-0.5, 1.0, 0.5, 0.0]
    """
    signs = np.zeros(n_nodes)
    signs[judged] = np.where(anomalous == 1, 1.0, -0.5)
    source, target = edges
    total = np.bincount(source, signs[target], n_nodes) + np.bincount(target, signs[source], n_nodes)
    return np.asarray(np.clip(total, -0.5, 1.0))


def resemblance_of(attributes: FloatArray, judged: IntArray, anomalous: IntArray, sample: IntArray) -> FloatArray:
    """Return for each node how much its attributes resemble those of judged nodes, from −1 (normal) to 1 (anomalous).

    That is exp(−d² / r²) of the nearest anomalous one minus that of the nearest normal one, with d the distance and r
    0.4 of the median distance of two nodes; a judged node is not compared with itself.
    """
    some = attributes[sample]
    apart = _squared(some, some)[np.triu_indices(len(some), 1)]
    unit = float(np.median(apart)) * NEAR**2 if apart.size else 0.0
    return _likeness(attributes, judged, anomalous, unit) if unit > 0.0 else np.zeros(len(attributes))


def profile_of(evidence: FloatArray, judged: IntArray, anomalous: IntArray) -> FloatArray:
    """Return for each node how much its evidence resembles that of judged nodes, from −1 (normal) to 1 (anomalous).

    As :func:`resemblance_of`, with d the distance of log(1 + strength) over the kinds: whether there is evidence of a
    kind tells nodes apart more than how much of it there is.
    """
    return _likeness(np.log1p(np.maximum(evidence.T, 0.0)), judged, anomalous, NEAR_PROFILE**2)


def _likeness(rows: FloatArray, judged: IntArray, anomalous: IntArray, unit: float) -> FloatArray:
    """Return exp(−d² / unit) of the nearest anomalous row minus that of the nearest normal one, never itself."""
    nearest = {1: np.zeros(len(rows)), 0: np.zeros(len(rows))}
    for start in range(0, judged.size, 32):
        block = judged[start : start + 32]
        alike = np.exp(-_squared(rows, rows[block]) / unit)
        alike[block, np.arange(block.size)] = 0.0
        for verdict, best in nearest.items():
            mine = anomalous[start : start + 32] == verdict
            if mine.any():
                np.maximum(best, alike[:, mine].max(axis=1), out=best)
    return nearest[1] - nearest[0]


def queue(
    scores: FloatArray, evidence: Mapping[str, FloatArray], judged: IntArray, n: int
) -> list[tuple[int, str | None]]:
    """Return which nodes to ask about next: position, and the kind of evidence that its verdict would teach about.

    Two of three nodes are the next of the ranking, and teach no kind in particular (None). The third is the strongest
    node of one kind of evidence: kinds take turns, because a kind that never reaches the top is never judged.
    """
    left = np.ones(scores.size, dtype=np.bool_)
    left[judged] = False
    orders = {None: ranking(scores)} | {kind: ranking(values) for kind, values in evidence.items()}
    n_needed = n + judged.size + n  # no order needs to be followed further
    waiting = {kind: iter([i for i in order[:n_needed].tolist() if left[i]]) for kind, order in orders.items()}
    kinds, found, taken = list(evidence), [], set()
    first = set(orders[None][:n_needed][left[orders[None][:n_needed]]][:n].tolist())
    for place in range(
        judged.size, judged.size + min(n, int(left.sum()))
    ):  # so that a verdict does not reorder the rest
        turn = place % TEACHING == TEACHING - 1
        kind = kinds[(place // TEACHING) % len(kinds)] if turn and kinds else None
        node = next(i for i in waiting[kind] if i not in taken)
        taken.add(node)
        found.append((node, None if node in first else kind))  # asked anyway: it teaches no kind in particular
    return found


def in_words(learned: Learned, kinds: Sequence[str]) -> str:
    """Say how much each kind of evidence counts now.

    >>> one = np.ones(1)
    >>> known = {"judged": np.array([3, 4]), "anomalous": np.array([1, 0]), "key": one}
    >>> in_words(Learned(one, one, one, np.array([[2.0, 0.5]]), one, np.zeros(3), one, **known), ("ring", "outlier"))
    'Ring counts double, outlier counts half. Learned from 1 anomalous and 1 normal node.'
    """
    named = ((kind, _counts(float(weight))) for kind, weight in zip(kinds, learned.weights, strict=True))
    clauses = [f"{kind} {words}" for kind, words in named if words]
    others = "nodes judged anomalous"
    ways = ("being connected to {}", "having attributes like those of {}", "having evidence like that of {}")
    for strength, what in zip(learned.ties, ways, strict=True):
        if strength >= NOTICEABLE:
            clauses.append(f"{what.format(others)} counts")
            others = "such nodes"
    n_bad = int(learned.anomalous.sum())
    n_good = learned.anomalous.size - n_bad
    what = ", ".join(clauses) if clauses else "every kind of evidence counts about as before"
    noun = "node" if n_good == 1 else "nodes"
    return f"{what[0].upper()}{what[1:]}. Learned from {n_bad:,} anomalous and {n_good:,} normal {noun}."


def _counts(weight: float) -> str:
    """Say how much a kind of evidence counts; nothing if about as before."""
    for limit, words in ((1.6, "counts double"), (1.15, "counts more"), (0.87, ""), (0.62, "counts less")):
        if weight >= limit:
            return words
    return "counts half"


def _posterior(fits: FloatArray, prior: FloatArray, default: float) -> tuple[FloatArray, IntArray]:
    """Return the share of the default followed by those of the kept hypotheses, and the positions of these."""
    prior = prior - np.log(np.exp(prior).sum()) + np.log(1.0 - DEFAULT_SHARE)
    weight = fits + prior
    first = default + np.log(DEFAULT_SHARE)
    top = max(float(weight.max()), first)
    mass = np.exp(weight - top)
    kept = np.argsort(-mass, kind="stable")[:N_KEPT]
    rest = mass.sum() / mass[kept].sum()  # those left out are represented by those kept
    shares = np.concatenate([[np.exp(first - top)], mass[kept] * rest])
    return shares / shares.sum(), kept


def _mean(
    shares: FloatArray,
    kept: IntArray,
    factors: FloatArray,
    kinds: Sequence[tuple[float, FloatArray, tuple[float, ...]]],
    ties: Sequence[FloatArray],
) -> dict[str, Any]:
    """Return what the default and the kept hypotheses are, and what ties to judged nodes add on the mean."""
    family, place = np.divmod(kept, len(factors))
    strengths = np.array([(0.0,) * len(ties), *(kinds[k][2] for k in family)])
    means = shares @ strengths
    return {
        "shares": shares,
        "powers": np.array([USUAL_POWER, *(kinds[k][0] for k in family)]),
        "scales": np.array([1.0, *(kinds[k][1][i] for k, i in zip(family, place, strict=True))]),
        "factors": np.concatenate([np.ones((1, factors.shape[1])), factors[place]]),
        "ties": means,
        "association": np.asarray(means @ np.stack(ties)),
    }


def _edge(default: FloatArray, reach: float) -> IntArray:
    """Return nodes around the end of the reach: half to twice as far down the ranking, in a small graph its middle."""
    end = min(reach, default.size / 2.0)
    near = ranking(default)[int(end / 2.0) : max(1, int(end * 2.0))]
    return near[np.linspace(0, near.size - 1, min(near.size, N_EDGE)).astype(np.int64)]


def thinned(judged: IntArray, anomalous: IntArray, evidence: FloatArray) -> IntArray:
    """Return places of the verdicts to learn from: of many, an even choice of each kind from strong to weak."""
    if judged.size <= MAX_VERDICTS:
        return np.arange(judged.size)
    strength = evidence[:, judged].max(axis=0)
    chosen = []
    for verdict in (1, 0):
        mine = np.flatnonzero(anomalous == verdict)
        mine = mine[np.lexsort((judged[mine], -strength[mine]))]
        n = min(mine.size, max(MAX_VERDICTS // 2, MAX_VERDICTS - int((anomalous != verdict).sum())))
        chosen.append(mine[np.linspace(0, mine.size - 1, n).round().astype(np.int64)])
    return np.sort(np.concatenate(chosen))


def _squared(rows: FloatArray, others: FloatArray) -> FloatArray:
    squares = (rows**2).sum(axis=1)[:, None] + (others**2).sum(axis=1) - 2.0 * rows @ others.T
    return np.asarray(np.maximum(squares, 0.0))


def _blocks(n_nodes: int, n_hypotheses: int) -> list[slice]:
    step = max(1, (1 << 21) // max(1, n_hypotheses))
    return [slice(start, start + step) for start in range(0, n_nodes, step)]


N_SAMPLED = 512  # nodes that distances are compared with


def taught(detector: Any, verdicts: Any, graph: AttributedGraph, attributes: FloatArray) -> Any:
    """Return a copy of a CrossHCM whose ranking has learned from verdicts.

    ``learned_`` of the copy holds what was learned, ``rank_before_`` the ranks and ``before_`` the values without it.
    """
    known = {node: word for node, word in read_verdicts(verdicts, graph).items() if word != "unsure"}
    judged = np.array(sorted(known), dtype=np.int64)
    anomalous = np.array([known[node] == "anomalous" for node in judged.tolist()], dtype=np.int64)
    copied = _untaught(detector)
    if not 0 < anomalous.sum() < anomalous.size:
        return copied
    hashes = graph.node_hashes
    chosen = np.argpartition(hashes, min(N_SAMPLED, hashes.size) - 1)[:N_SAMPLED]
    evidence = np.stack([copied.evidence_[kind] for kind in copied.evidence])
    few = thinned(judged, anomalous, evidence)  # of a long list of known-good nodes, some to compare with
    found = learn(
        evidence,
        judged,
        anomalous,
        company=company_of(graph.edges, judged, anomalous, graph.n_nodes),
        resemblance=resemblance_of(attributes, judged[few], anomalous[few], chosen),
    )
    if found is not None:
        copied.learned_ = replace(found, key=np.array([_key(hashes)]))
        copied._finish(_apply(copied, copied.decision_score_, copied.threshold_, found.association))
    return copied


def _untaught(detector: Any) -> Any:
    """Return the detector as it was before it learned from verdicts."""
    plain = copy.copy(detector)
    if plain.learned_ is not None:
        before = plain.before_
        for name in ("decision_score_", "p_value_", "label_", "decided_by_"):
            setattr(plain, name, before[name])
        plain.threshold_, plain.learned_ = float(before["threshold_"][0]), None
        del plain.before_, plain.rank_before_
    return plain


def check_learned(detector: Any) -> None:
    """Refuse what a saved detector claims to have learned if its parts do not fit together."""
    learned, n_nodes = detector.learned_, detector.decision_score_.size
    m = np.size(learned.shares)
    shapes = {
        "shares": (m,), "powers": (m,), "scales": (m,), "factors": (m, len(detector.evidence)), "ties": (3,),
        "reach": (1,), "association": (n_nodes,), "key": (1,), "judged": np.shape(learned.judged)[:1],
    }  # fmt: skip
    wrong = [name for name, shape in shapes.items() if np.shape(getattr(learned, name)) != shape]
    columns = {**detector.before_, "rank_before_": detector.rank_before_}
    names = ("decision_score_", "p_value_", "label_", "decided_by_", "rank_before_")
    wrong += [name for name in names if np.shape(columns.get(name, ())) != (n_nodes,)]
    if wrong or np.shape(columns.get("threshold_", ())) != (1,):
        raise ValueError(f"{(wrong or ['threshold_'])[0]} of what was learned has the wrong length")
    sound = (learned.factors > 0).all() and (learned.powers >= 1).all() and learned.reach[0] > 0
    if not ((learned.judged >= 0) & (learned.judged < n_nodes)).all() or not sound:
        raise ValueError("what was learned names unknown nodes, or its factors are not positive")


def questions(detector: Any, n: int, judged: Any) -> list[tuple[int, str | None]]:
    """Return positions of the nodes to look at next, and the kind of evidence that a verdict would teach about."""
    check_count("n", n)
    known = np.asarray(list(judged), dtype=np.int64)
    if detector.learned_ is not None:
        known = np.union1d(known, detector.learned_.judged)
    return queue(detector.decision_score_, {kind: detector.evidence_[kind] for kind in detector.evidence}, known, n)


def scores_again(detector: Any, graph: AttributedGraph, default: FloatArray) -> FloatArray:
    """Return the scores of a graph to judge by what was learned.

    In another graph only what was learned about kinds of evidence counts: its nodes are not those with verdicts.
    """
    learned = detector.learned_
    if learned.key[0] != _key(graph.node_hashes):
        nobody = np.zeros(0, dtype=np.int64)
        detector.learned_ = replace(learned, judged=nobody, association=np.zeros(graph.n_nodes))
    return _apply(detector, default, float(detector.before_["threshold_"][0]), detector.learned_.association)


def score_of_node(detector: Any, evidence: Mapping[str, FloatArray], default: float, node: int) -> float:
    """Return the score of one node of the graph of the fit, given its evidence without some edges."""
    learned = detector.learned_
    if node >= learned.association.size:
        return default
    alone = np.stack([evidence[kind] for kind in detector.evidence])
    usual = detector.before_["decision_score_"]
    return float(learned.scores(alone, learned.association[[node]], among=usual)[0])


def graph_for(detector: Any, call: str, graph: AttributedGraph | None) -> AttributedGraph:
    """Return the graph that a detector was fitted on: the given one, or the one that it keeps."""
    detector._check_fitted()
    if detector.score != "evidence":
        raise ValueError(f"{call} needs score='evidence': verdicts re-weigh the kinds of evidence")
    found = graph if graph is not None else vars(detector).get("graph_")
    if found is None:
        raise ValueError(f"this {type(detector).__name__} was loaded from disk without its graph: pass {call} graph=")
    if found.n_nodes != detector.decision_score_.size:
        raise ValueError(f"graph must have the {detector.decision_score_.size:,} nodes of the fit, it has others")
    return found


def _apply(detector: Any, default: FloatArray, threshold: float, association: FloatArray) -> FloatArray:
    """Return the scores by what was learned, and keep what they replace.

    As many nodes are flagged as before, because p-values go with the ranks.
    """
    evidence = np.stack([detector.evidence_[kind] for kind in detector.evidence])
    learned: Learned = detector.learned_
    scores = learned.scores(evidence, association)
    detector.before_ = {
        "decision_score_": default,
        "p_value_": detector.p_value_,
        "decided_by_": detector.decided_by_,
        "label_": (default > threshold).astype(np.int64),
        "threshold_": np.array([threshold]),
    }
    detector.rank_before_ = ranks(default)
    detector.decided_by_ = (evidence * learned.weights[:, None]).argmax(axis=0)
    p_values = np.empty_like(detector.p_value_)
    p_values[ranking(scores)] = np.sort(detector.p_value_)
    detector.p_value_ = p_values
    return scores


def _key(hashes: NDArray[Any]) -> int:
    """Return a number that tells the nodes of a graph, and their order, from others, given the hashes of their ids."""
    places = np.arange(1, hashes.size + 1, dtype=np.uint64)
    return int((hashes.astype(np.uint64) * places).sum(dtype=np.uint64) >> np.uint64(2))
