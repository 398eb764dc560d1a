"""Turn scores into labels, probabilities and confidence, as PyGOD does."""

from __future__ import annotations

from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray
from scipy.special import bdtr, erf

from hopsight.checks import Refusal, check_choice, check_ratio
from hopsight.detectors.tails import Ordered, flag_limit

FloatArray = NDArray[np.float64]


class Fitted(Protocol):
    """A fitted detector, as far as predictions need it."""

    decision_score_: FloatArray
    threshold_: float
    label_: NDArray[np.int64]
    contamination: float | str
    false_alarms: float

    @property
    def scores_are_strengths(self) -> bool:
        """Whether the score x says that about one of 10ˣ ordinary nodes has it."""


def threshold(
    scores: FloatArray,
    contamination: float | str,
    false_alarms: float = 0.1,
    shape: float = 0.0,
    *,
    strengths: bool = False,
) -> float:
    """Return the score above which a node is flagged.

    A number is the share of nodes to flag. ``"auto"`` flags the scores that are higher than the tail of the others
    explains, at the level ``false_alarms`` (:func:`hopsight.detectors.tails.flag_limit`, which ``shape`` and
    ``strengths`` are for). The tail is an estimate, so that more of the flagged nodes than this level can be ordinary.
    """
    check_ratio("false_alarms", false_alarms)
    if contamination == "auto":
        return flag_limit(Ordered(scores), false_alarms, shape, strengths=strengths)
    if isinstance(contamination, str):
        raise Refusal("contamination", f"must be a share between 0 and 0.5 or 'auto', got {contamination!r}")
    check_ratio("contamination", contamination)
    if contamination > 0.5:
        raise Refusal("contamination", f"must be at most 0.5, got {contamination}")
    return float(np.percentile(scores, 100 * (1 - contamination)))


def ranked_last(scores: FloatArray, ranked: NDArray[np.bool_] | None) -> FloatArray:
    """Return scores in which nodes that are not ranked come after all others.

    >>> ranked_last(np.array([1.0, 3.0, 2.0]), np.array([True, False, True])).tolist()
    [1.0, 0.9999999999999999, 2.0]
    """
    return scores if ranked is None else np.where(ranked, scores, np.nextafter(scores[ranked].min(), -np.inf))


def ranked_threshold(fitted: Fitted, scores: FloatArray, ranked: NDArray[np.bool_] | None) -> float:
    """Return the threshold of a detector by the scores of the nodes that are ranked, all by default."""
    some = scores if ranked is None else scores[ranked]
    return threshold(some, fitted.contamination, fitted.false_alarms, strengths=fitted.scores_are_strengths)


def answer(
    fitted: Fitted,
    scores: FloatArray,
    *,
    return_pred: bool = True,
    return_score: bool = False,
    return_prob: bool = False,
    prob_method: str = "linear",
    return_conf: bool = False,
    embedding: FloatArray | None = None,
) -> Any:
    """Return what the flags select, alone or as a tuple in the order labels, scores, probabilities, confidence.

    An ``embedding`` comes last and always in a tuple, as in PyGOD.
    """
    answers: list[NDArray[Any]] = []
    if return_pred:
        answers.append((scores > fitted.threshold_).astype(np.int64))
    if return_score:
        answers.append(scores)
    if return_prob:
        answers.append(probability(scores, fitted.decision_score_, prob_method))
    if return_conf:
        answers.append(confidence(scores, fitted))
    if embedding is not None:
        return (*answers, embedding)
    if not answers:
        raise ValueError(
            "predict has nothing to return: set one of return_pred, return_score, return_prob, return_conf, return_emb"
        )
    return answers[0] if len(answers) == 1 else tuple(answers)


def probability(scores: FloatArray, reference: FloatArray, method: str) -> FloatArray:
    """Map scores to [0, 1], by the range of the training scores or by the error function of a fitted normal."""
    check_choice("prob_method", method, ("linear", "unify"))
    if method == "linear":
        low, high = float(reference.min()), float(reference.max())
        scaled = (scores - low) / (high - low) if high > low else np.zeros_like(scores)
    else:
        spread = float(reference.std(ddof=1))
        scaled = erf((scores - reference.mean()) / (spread * np.sqrt(2))) if spread > 0 else np.zeros_like(scores)
    return np.clip(scaled, 0.0, 1.0)


def confidence(scores: FloatArray, fitted: Fitted) -> FloatArray:
    """Return how likely each label would be the same with another training set (Perini et al. 2020).

    For a score s with k of n training scores at or below it, the label "anomaly" has the confidence
    1 − BinomCDF(n − n·contamination; n, (1 + k) / (2 + n)), and the label "normal" one minus that.
    """
    reference = np.sort(fitted.decision_score_)
    n = reference.size
    share = fitted.contamination
    n_flagged = int(fitted.label_.sum()) if isinstance(share, str) else int(n * share)
    posterior = (1 + np.searchsorted(reference, scores, side="right")) / (2 + n)
    flagged: FloatArray = 1 - bdtr(n - n_flagged, n, posterior)
    return np.where(scores > fitted.threshold_, flagged, 1 - flagged)
