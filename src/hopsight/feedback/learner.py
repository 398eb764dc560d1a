"""Learn from labels: combine the experts, calibrate a probability, and say what was learned and how sure it is."""

from __future__ import annotations

from dataclasses import dataclass, fields, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.special import expit

from hopsight.checks import plural
from hopsight.detectors.predict import ranked_last, threshold
from hopsight.feedback.experts import (
    CORRECTIONS,
    EXPERTS,
    N_FOLDS,
    STEP,
    Judged,
    fit_all,
    fit_correction,
    fit_kernels,
    fit_line,
    fit_linear,
    fit_some,
    kernel,
    logistic,
)
from hopsight.feedback.features import Features, Rows, normal_scores, quantile_levels
from hopsight.feedback.forests import Forest
from hopsight.metrics import roc_auc, roc_auc_difference
from hopsight.system.threads import few_threads, for_each

FloatArray = NDArray[np.float64]
IntArray = NDArray[np.int64]
BoolArray = NDArray[np.bool_]
Matrix = NDArray[np.float32]

FEW_LABELS = 0.5  # the score without labels counts for this share of this and the number of labels of the rarer kind
AT_TOP = 0.35  # and for at least this share if all labels are from the top of the ranking
SURE = 2.0  # standard errors: a difference of more says no more
TRUST = 0.5  # an expert that is better by a t of 1 has a weight larger by a factor of exp(½)
TOTAL = 2.0  # slope of all experts together
CALIBRATION_PRIOR, CALIBRATION_SLOPE = 6.0, 0.4  # how much labels must say to change the slope, and where it starts
FEW_RARE = 3  # labels of the rarer kind: with more, they must say less each
MOST_LABELS = 2_000  # more are thinned out, so that learning stays quick and what is saved small
MOST_REFERENCE = 1 << 13  # rows that ranks refer to
N_LEVELS = 513
LEAST_LOSS = -2.0  # standard errors of the difference of two ROC-AUC: below it the ranking stays
LEAST_SLOPE = 0.1  # from the combination to log-odds: below it all nodes are about as probable, and the ranking stays
ROWS_AT_ONCE = 1 << 16  # whose features exist at a time
ROWS_OF_THREAD = 1 << 11  # that experts are asked about by one thread at a time


@dataclass(frozen=True)
class Learned:
    """What was learned, as arrays that can be saved.

    Attributes
    ----------
    correction, own, local, everything
        The forests of the experts ``correction``, ``own``, ``local`` and ``all``.
    line, linear
        Intercept and slope of the score without labels, and intercept and coefficients of the linear expert.
    known, coefficients
        The judged rows as normal scores, and their coefficients in the experts ``kernel correction``, ``kernel`` and
        ``own kernel``.
    levels, score_levels, expert_levels
        Quantiles that features, scores and experts are ranked by.
    own_columns
        Which features are the own attributes (0 or 1).
    weights
        (n_experts + 1,) weight of each expert and of the score without labels.
    calibration
        Intercept and slope from the combination to the log-odds of being anomalous.
    judged, anomalous, out_of_fold
        Positions of the judged rows (none in another graph), which are anomalous (0 or 1), and their probability
        without their own label.
    before
        The scores without labels of the judged rows.
    key, hashes
        (1,) tells the rows of the graph from those of others; a random word for each judged row, by its ids.
    kept
        (1,) whether the ranking stays as it was, because predictions without the own label showed no gain (0 or 1).
    """

    correction: Forest
    own: Forest
    local: Forest
    everything: Forest
    line: FloatArray
    linear: FloatArray
    known: Matrix
    coefficients: FloatArray
    levels: Matrix
    score_levels: Matrix
    expert_levels: Matrix
    own_columns: IntArray
    weights: FloatArray
    calibration: FloatArray
    judged: IntArray
    anomalous: IntArray
    out_of_fold: FloatArray
    before: FloatArray
    key: IntArray
    hashes: IntArray
    kept: IntArray

    def log_odds(self, features: Features, score: FloatArray) -> FloatArray:
        """Return the log-odds that each row is anomalous, given its features and its score without labels."""
        if len(features.names) != len(self.levels):
            raise ValueError(
                f"labels were learned with {plural(len(self.levels), 'feature')}, and this graph has "
                f"{len(features.names):,}: its edges must have the same direction, weights, times and columns as those "
                "of the fit"
            )
        return self.calibration[0] + self.calibration[1] * self._combined(features.values, score)

    def log_odds_of_all(self, rows: Rows, score: FloatArray) -> FloatArray:
        """Return the log-odds of all rows, given their scores without labels; few of their features exist at a time."""
        found = np.empty(score.size)
        for start in range(0, score.size, ROWS_AT_ONCE):
            some = np.arange(start, min(score.size, start + ROWS_AT_ONCE))
            found[some] = self.log_odds(rows(some), score[some])
        return found

    def scores(self, default: FloatArray, log_odds: FloatArray) -> FloatArray:
        """Return −log₁₀ of the probability of being normal, exact near 0 and 1; the default if the ranking stays."""
        return default if self.kept[0] else np.asarray(np.logaddexp(0.0, log_odds) / np.log(10.0))

    def without_labels(self) -> Learned:
        """Return the same for another graph, in which no row is known to be anomalous or normal."""
        return replace(self, judged=np.zeros(0, dtype=np.int64), key=np.zeros(1, dtype=np.int64))

    def known_in(self, hashes: NDArray[np.uint64]) -> Learned:
        """Return the same for a graph whose rows have these hashes: that of the fit, in any order, or another one."""
        if self.key[0] != key_of(hashes):
            return self.without_labels()
        order = np.argsort(hashes, kind="stable")
        places = np.searchsorted(hashes[order], self.hashes.view(np.uint64))
        return replace(self, judged=order[np.minimum(places, order.size - 1)])

    @property
    def labels(self) -> tuple[IntArray, BoolArray]:
        """Positions of the judged rows of this graph, and which of them are anomalous."""
        return self.judged, self.anomalous[: self.judged.size] > 0

    def _combined(self, rows: Matrix, score: FloatArray) -> FloatArray:
        usual = normal_scores(score[:, None], self.score_levels, farthest=np.inf)
        if self.kept[0]:
            return usual[:, 0].astype(np.float64)
        opinions = self._opinions(rows, usual[:, 0].astype(np.float64))
        columns = np.column_stack([normal_scores(opinions, self.expert_levels, farthest=np.inf), usual])
        return np.asarray(columns @ self.weights)

    def _opinions(self, rows: Matrix, usual: FloatArray) -> FloatArray:
        """Return what each expert says of every row, in the order of :data:`EXPERTS`."""
        own = self.own_columns > 0
        out = np.empty((len(rows), len(EXPERTS)))

        def fill(start: int) -> None:
            some = slice(start, start + ROWS_OF_THREAD)
            mine, score = np.ascontiguousarray(rows[some]), usual[some]
            normal = normal_scores(mine, self.levels)
            expected = self.line[0] + self.line[1] * score
            alike = kernel(normal, self.known) @ self.coefficients[:, :2]
            opinions = (
                expected + STEP * self.correction.predict(mine),
                expected + STEP * alike[:, 0],
                alike[:, 1],
                kernel(normal[:, own], self.known[:, own]) @ self.coefficients[:, 2],
                self.linear[0] + normal @ self.linear[1:],
                self.own.predict(mine),
                self.local.predict(mine),
                self.everything.predict(mine),
            )
            out[some] = np.column_stack(opinions)

        with few_threads(1):  # several would add up in another order
            for_each(fill, range(0, len(rows), ROWS_OF_THREAD))
        return out

    def quality(self) -> dict[str, Any]:
        """Return how well the judged rows are told apart without their own labels, and how well before."""
        anomalous = self.anomalous > 0
        n_first = int(anomalous.sum())  # if all of them come first, the precision is 1
        rankings = {"learned": self.out_of_fold, "before": self.before}
        return {
            "n_anomalous": int(anomalous.sum()),
            "n_normal": int((~anomalous).sum()),
            "roc_auc": roc_auc(anomalous, self.out_of_fold),
            "roc_auc_before": roc_auc(anomalous, self.before),
            "n_first": n_first,
            **{
                f"precision{'' if name == 'learned' else '_before'}": float(
                    anomalous[np.argsort(-values, kind="stable")[:n_first]].mean()
                )
                for name, values in rankings.items()
            },
            "kept": bool(self.kept[0]),
        }

    def check(self, n_rows: int) -> None:
        """Refuse arrays of a saved model that do not fit together."""
        n_features, m, k = self.levels.shape[0], self.anomalous.size, len(self.known)
        shapes = {
            "line": (2,), "linear": (n_features + 1,), "known": (k, n_features), "coefficients": (k, 3),
            "own_columns": (n_features,), "weights": (len(EXPERTS) + 1,), "calibration": (2,), "anomalous": (m,),
            "out_of_fold": (m,), "before": (m,), "key": (1,), "hashes": (m,), "kept": (1,),
        }  # fmt: skip
        wrong = [name for name, shape in shapes.items() if np.shape(getattr(self, name)) != shape]
        if wrong or self.score_levels.shape[0] != 1 or self.expert_levels.shape[0] != len(EXPERTS):
            raise ValueError(f"{(wrong or ['levels'])[0]} of what was learned has the wrong shape")
        if self.judged.shape not in ((m,), (0,)):
            raise ValueError("judged of what was learned has the wrong shape")
        if not ((self.judged >= 0) & (self.judged < n_rows)).all():
            raise ValueError("what was learned names nodes that do not exist")
        for forest in (self.correction, self.own, self.local, self.everything):
            forest.check(n_features)

    @classmethod
    def of(cls, **arrays: NDArray[Any]) -> Learned:
        """Return what was saved, from arrays by name; those of a forest are called ``forest.name``."""
        forests: dict[str, dict[str, Any]] = {}
        values: dict[str, Any] = {}
        for name, array in arrays.items():
            owner, dot, part = name.partition(".")
            if dot:
                forests.setdefault(owner, {})[part] = array
            else:
                values[name] = array
        values |= {name: Forest(**parts) for name, parts in forests.items()}
        return cls(**values)


def learn(
    features: Rows,
    score: NDArray[Any],
    judged: IntArray,
    anomalous: BoolArray,
    hashes: NDArray[np.uint64],
    seed: int,
) -> Learned:
    """Learn from the labels of some rows, of which there must be both kinds.

    Parameters
    ----------
    features, score
        Returns the features of some rows; the scores of all rows without labels.
    judged, anomalous
        Positions of the judged rows, and which of them are anomalous.
    hashes
        A random word per row that depends on its id alone: it decides folds and order, so that the order of the input
        does not matter.
    seed
        Seed of the forests.
    """
    kept = _thinned(judged, anomalous, hashes)
    judged, anomalous = judged[kept], anomalous[kept]
    reference = np.argsort(hashes, kind="stable")[:MOST_REFERENCE]
    others, labeled = features(reference), features(judged)
    levels = quantile_levels(others.values)
    score_levels = quantile_levels(score[reference][:, None], N_LEVELS)
    usual = normal_scores(score[:, None], score_levels, farthest=np.inf)[:, 0].astype(np.float64)
    rows, own, local = labeled.values, labeled.own, labeled.local
    mine = Judged(rows, normal_scores(rows, levels), usual[judged], anomalous, _folds(anomalous), own, local, seed)
    with few_threads(1):
        line, expected = fit_line(mine)
        correction, by_correction = fit_correction(mine, expected)
        coefficients, by_kernels = fit_kernels(mine, expected)
        linear, by_linear = fit_linear(mine)
        alone, by_own = fit_some(mine, own, seed + 3)
        near, by_local = fit_some(mine, local, seed + 1)
        everything, by_all = fit_all(mine)
    nobody = np.zeros(0)
    draft = Learned(
        correction, alone, near, everything, line, linear, mine.normal, coefficients, levels, score_levels,
        np.zeros((len(EXPERTS), 1), dtype=np.float32), own.astype(np.int64), nobody, nobody, judged,
        anomalous.astype(np.int64), nobody, usual[judged], np.array([key_of(hashes)]), hashes[judged].view(np.int64),
        np.zeros(1, dtype=np.int64),
    )  # fmt: skip
    opinions = draft._opinions(others.values, usual[reference])
    expert_levels = quantile_levels(opinions, N_LEVELS)
    without = np.column_stack([by_correction, by_kernels, by_linear, by_own, by_local, by_all])
    columns = np.column_stack([normal_scores(without, expert_levels, farthest=np.inf), mine.score])
    with few_threads(1):
        weights, combined = _combine(columns, mine)
        calibration, probability = _calibrate(combined, mine)
        stays = _loses(anomalous, combined, mine.score) or calibration[1] < LEAST_SLOPE
        if stays:
            calibration, probability = _calibrate(mine.score, mine)
    learned: dict[str, Any] = {field.name: getattr(draft, field.name) for field in fields(Learned)}
    learned |= {
        "expert_levels": expert_levels, "weights": weights, "calibration": calibration, "out_of_fold": probability,
        "kept": np.array([int(stays)]),
    }  # fmt: skip
    return Learned(**learned)


@dataclass(frozen=True)
class Ranked:
    """Names of the attributes of a detector that hold a ranking, of its nodes or of its edges, and what was learned.

    ``before`` holds what the scores, flags and threshold were before learning, under their names.
    """

    learned: str
    before: str
    score: str
    label: str
    threshold: str
    probability: str

    def scores_before(self, detector: Any) -> FloatArray:
        """Return the scores as they are without labels."""
        known = vars(detector)
        return np.asarray(known[self.score] if known[self.learned] is None else known[self.before][self.score])

    def apply(
        self,
        detector: Any,
        default: FloatArray,
        log_odds: FloatArray,
        *,
        contamination: float | str = "auto",
        ranked: Any = None,
        keep: bool = False,
    ) -> None:
        """Set the probabilities, scores and flags by what a detector has learned, and keep what they replace.

        The score becomes −log₁₀ of the probability of being normal, unless the ranking stays as it was. With
        ``contamination="auto"`` the most probable are flagged, as many as have a mean probability of being normal of at
        most ``false_alarms``.

        Parameters
        ----------
        detector
            The detector, whose ``learned`` is set.
        default, log_odds
            Scores without labels, and the log-odds of being anomalous.
        contamination
            The share to flag, or ``"auto"``.
        ranked
            Which of them are ranked; all by default.
        keep
            Whether the thresholds of the fit are kept, before and after learning, because another graph is judged.
        """
        known = vars(detector)
        probability = expit(log_odds)
        before = float(known[self.before][self.threshold][0]) if keep else known[self.threshold]
        scores = ranked_last(known[self.learned].scores(default, log_odds), ranked)
        if not keep:
            rows = slice(None) if ranked is None else ranked
            known[self.threshold] = (
                probable(scores[rows], probability[rows], detector.false_alarms)
                if contamination == "auto"
                else threshold(scores[rows], contamination, detector.false_alarms)
            )
        kind = known[self.label].dtype
        known[self.before] = {
            self.score: default, self.label: (default > before).astype(kind), self.threshold: np.array([before])
        }  # fmt: skip
        known[self.score], known[self.probability] = scores, probability
        known[self.label] = (scores > known[self.threshold]).astype(kind)

    def undo(self, detector: Any) -> None:
        """Set a detector as it was before it learned from labels."""
        known = vars(detector)
        if known[self.learned] is None:
            return
        before = known.pop(self.before)
        known[self.score], known[self.label] = before[self.score], before[self.label]
        known[self.threshold], known[self.learned] = float(before[self.threshold][0]), None
        del known[self.probability]

    def check(self, detector: Any, *others: str) -> None:
        """Refuse what a saved detector claims to have learned if its parts, or others named, do not fit together."""
        known = vars(detector)
        n = known[self.score].size
        known[self.learned].check(n)
        columns = {**{name: known.get(name, ()) for name in (self.probability, *others)}, **known[self.before]}
        for name in (self.score, self.label, self.threshold, self.probability, *others):
            if np.shape(columns.get(name, ())) != (1 if name == self.threshold else n,):
                raise ValueError(f"{name} of what was learned has the wrong length")


NODES = Ranked("learned_", "before_", "decision_score_", "label_", "threshold_", "probability_")
EDGES = Ranked(
    "edge_learned_", "edge_before_", "edge_score_", "edge_label_", "edge_threshold_", "edge_anomaly_probability_"
)


def probable(scores: FloatArray, probability: FloatArray, false_alarms: float) -> float:
    """Return the threshold above which the mean probability of being normal is at most ``false_alarms``.

    >>> probable(np.array([3.0, 2.0, 1.0, 0.0]), np.array([0.99, 0.9, 0.3, 0.0]), 0.1)
    1.5
    >>> probable(np.array([1.0, 0.5]), np.array([0.4, 0.1]), 0.1)
    1.0
    """
    order = np.argsort(-scores, kind="stable")
    wrong = np.cumsum(1.0 - probability[order]) / np.arange(1, scores.size + 1)
    n_flagged = int(np.flatnonzero(wrong <= false_alarms)[-1]) + 1 if (wrong <= false_alarms).any() else 0
    if n_flagged in (0, scores.size):
        return float(scores.max()) if n_flagged == 0 else float(np.nextafter(scores.min(), -np.inf))
    return float((scores[order[n_flagged - 1]] + scores[order[n_flagged]]) / 2.0)


def key_of(hashes: NDArray[Any]) -> int:
    """Return a number that tells the nodes of a graph from others in any order, given the hashes of their ids."""
    return int(hashes.astype(np.uint64).sum(dtype=np.uint64) >> np.uint64(2))


def _combine(columns: FloatArray, judged: Judged) -> tuple[FloatArray, FloatArray]:
    """Return the weights of the experts and of the score, and the combination without the own label.

    A share m belongs to the experts that start from nothing, each by exp(t / 2), and 1 − m to the corrections of the
    score, alike, with log(m / (1 − m)) = s + 2z − d. t is Student's, of how far apart an expert puts the two kinds of
    labels without the own label, and 0 if all labels are from the top of the ranking. By z standard errors, at most
    two, those that start from nothing predict labels better than the others without the own label; by d, from none to
    two, the score without labels is better than chance. s is 1 if labels were given all over the ranking and −1 if they
    are from its top: whoever has seen the top alone says nonsense about the rest. The score itself gets ½ / (½ + k) of
    the whole with k labels of the rarer kind, and at least .35 if all are from the top.
    """
    corrects = np.array([name in CORRECTIONS for name in EXPERTS])

    def weights_by(rows: BoolArray) -> FloatArray:
        known, anomalous = columns[rows], judged.anomalous[rows]
        opinions, score = known[:, :-1], known[:, -1]
        n_anomalous = int(anomalous.sum())
        rarer = min(n_anomalous, anomalous.size - n_anomalous)
        by_chance = np.sqrt((anomalous.size + 1) / (12.0 * n_anomalous * (anomalous.size - n_anomalous)))
        spread = min(1.0, 4.0 * float((score < 0).mean()))  # 1 if a quarter of the labels is in the lower half
        apart = TRUST * spread * _student(opinions, anomalous)[~corrects]
        from_nothing = np.exp(apart - apart.max())
        from_nothing /= from_nothing.sum()
        better = 0.0
        if rarer > 1:
            sides = (opinions[:, ~corrects] @ from_nothing, opinions[:, corrects].mean(axis=1))
            difference, error = roc_auc_difference(anomalous, *sides)
            better = difference / np.hypot(error, by_chance / 2.0)  # few labels have a small error by accident
        trusted = (roc_auc(anomalous, score) - 0.5) / by_chance
        share = expit(2.0 * spread - 1.0 + 2.0 * np.clip(better, -SURE, SURE) - np.clip(trusted, 0.0, SURE))
        experts = np.full(corrects.size, (1.0 - share) / corrects.sum())
        experts[~corrects] = share * from_nothing
        default = max(FEW_LABELS / (FEW_LABELS + rarer), AT_TOP * (1.0 - spread))
        return np.asarray(TOTAL * np.append((1.0 - default) * experts, default))

    def fold_fit(rows: BoolArray) -> Any:
        weights = weights_by(rows)
        return lambda others: columns[others] @ weights

    return weights_by(np.ones(judged.anomalous.size, dtype=np.bool_)), judged.without_own_label(fold_fit)


def _student(opinions: FloatArray, anomalous: BoolArray) -> FloatArray:
    """Return Student's t between the kinds of labels for each expert; two more rows of variance 1 temper few labels."""
    kinds = opinions[anomalous], opinions[~anomalous]
    squares = sum(kind.var(axis=0) * len(kind) for kind in kinds)
    error = np.sqrt((squares + 2.0) / (len(opinions) + 2.0) * sum(1.0 / len(kind) for kind in kinds))
    return np.asarray((kinds[0].mean(axis=0) - kinds[1].mean(axis=0)) / error)


def _calibrate(combined: FloatArray, judged: Judged) -> tuple[FloatArray, FloatArray]:
    """Return intercept and slope to log-odds, and the probability of each judged row without its own label.

    Nothing is learned without a label of each kind, so that k of the rarer kind stand for k − ½ on average. The median
    of all rows, at 0, counts as one more normal label: whoever has judged three suspects knows nothing about the rest.
    """

    def fit(rows: BoolArray) -> FloatArray:
        anomalous = judged.anomalous[rows]
        rare = anomalous == (2 * anomalous.sum() <= anomalous.size)
        weights = np.append(np.where(rare, 1.0 - 0.5 / rare.sum(), 1.0), 1.0)
        penalty = np.array([CALIBRATION_PRIOR * min(1.0, FEW_RARE / rare.sum())])
        known = np.append(combined[rows], 0.0)[:, None], np.append(anomalous, False)
        return logistic(*known, weights, penalty, np.array([CALIBRATION_SLOPE]), nonnegative=True)

    def fold_fit(rows: BoolArray) -> Any:
        line = fit(rows)
        return lambda others: line[0] + line[1] * combined[others]

    return fit(np.ones(combined.size, dtype=np.bool_)), expit(judged.without_own_label(fold_fit))


def _loses(anomalous: BoolArray, learned: FloatArray, before: FloatArray) -> bool:
    """Return whether the learned ranking is worse on the judged rows than before, by more than two standard errors."""
    if min(int(anomalous.sum()), int((~anomalous).sum())) < 2:
        return False
    difference, error = roc_auc_difference(anomalous, learned, before)
    return difference < LEAST_LOSS * error


def _folds(anomalous: BoolArray) -> IntArray:
    """Return a fold per judged row, in turn within each kind."""
    fold = np.zeros(anomalous.size, dtype=np.int64)
    for kind in (anomalous, ~anomalous):
        fold[kind] = np.arange(int(kind.sum())) % N_FOLDS
    return fold


def _thinned(judged: IntArray, anomalous: BoolArray, hashes: NDArray[np.uint64]) -> IntArray:
    """Return which labels to learn from, in the order of their hashes: all of the rarer kind, at most half of each."""
    order = np.argsort(hashes[judged], kind="stable")
    if judged.size <= MOST_LABELS:
        return order
    rare, common = sorted((order[anomalous[order]], order[~anomalous[order]]), key=len)
    rare = rare[: MOST_LABELS // 2]
    chosen = np.concatenate([rare, common[: MOST_LABELS - rare.size]])
    return chosen[np.argsort(hashes[judged[chosen]], kind="stable")]
