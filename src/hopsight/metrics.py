"""How good a ranking is: ROC-AUC with its confidence interval, average precision, precision and recall at k.

Higher scores mean more anomalous. Labels are 1 for an anomaly, 0 for a normal node and −1 for a node whose label is
unknown; every measure leaves unlabeled nodes out of the ranking. Ties neither help nor harm: every measure is its mean
over all ways to break them, except average precision, which counts equal scores as one step, as scikit-learn does.
"""

from __future__ import annotations

import math
from statistics import NormalDist

import numpy as np
from numpy.typing import ArrayLike, NDArray

from hopsight.checks import check_count, check_ratio

KIND_NAMES = {1: "structure", 2: "attribute", 3: "both"}


def ranking(scores: NDArray[np.float64], places: NDArray[np.int64] | None = None) -> NDArray[np.int64]:
    """Return node positions from the most to the least anomalous; equal scores are in the order of their places.

    The places are those of the ids (:attr:`hopsight.graph.AttributedGraph.id_places`), or by default the positions.

    Examples
    --------
    >>> ranking(np.array([0.1, 0.9, 0.9])).tolist()
    [1, 2, 0]
    """
    return np.argsort(-scores, kind="stable") if places is None else np.lexsort([places, -scores])


def ranks(scores: NDArray[np.float64], places: NDArray[np.int64] | None = None) -> NDArray[np.int64]:
    """Return the rank of every node, 1 for the most anomalous.

    Examples
    --------
    >>> ranks(np.array([0.1, 0.9, 0.9])).tolist()
    [3, 1, 2]
    """
    found = np.empty(scores.size, dtype=np.int64)
    found[ranking(scores, places)] = np.arange(1, scores.size + 1)
    return found


def roc_auc(labels: ArrayLike, scores: ArrayLike) -> float:
    """Return the probability that an anomaly scores higher than a normal node; a tie counts one half.

    Raises
    ------
    ValueError
        If only one class is present, a score is not finite or the lengths differ.

    Examples
    --------
    >>> roc_auc([0, 1, 0, 1, -1], [0.1, 0.9, 0.5, 0.5, 7.0])
    0.875
    """
    truth, values = _labeled(labels, scores)
    n_anomalies = int(truth.sum())
    beaten = float(mid_ranks(values)[truth].sum()) - n_anomalies * (n_anomalies + 1) / 2
    return beaten / (n_anomalies * (truth.size - n_anomalies))


def roc_auc_interval(labels: ArrayLike, scores: ArrayLike, *, level: float = 0.95) -> tuple[float, float]:
    """Return the confidence interval of the ROC-AUC (DeLong), clipped to [0, 1].

    With V the shares of normal nodes below each of m anomalies and W the shares of anomalies above each of n normal
    nodes (ties one half), the variance of the AUC is var(V) / m + var(W) / n, and the interval is the AUC ± z standard
    errors.

    Notes
    -----
    With a single anomaly or a single normal node the variance does not exist; the formula of Hanley and McNeil is used
    instead. A perfect ranking has no variance to measure: its interval is a single point, which overstates the
    certainty when there are few anomalies.

    References
    ----------
    DeLong, DeLong, Clarke-Pearson: Comparing the areas under two or more correlated receiver operating
    characteristic curves (1988). Hanley, McNeil: The meaning and use of the area under a ROC curve (1982).

    Examples
    --------
    >>> low, high = roc_auc_interval([0, 0, 0, 1, 1], [1.0, 2.0, 4.0, 3.0, 5.0])
    >>> round(low, 3), high
    (0.371, 1.0)
    """
    check_ratio("level", level)
    truth, values = _labeled(labels, scores)
    beaten, beaten_by = _placements(truth, values)
    auc = float(beaten.mean())
    if min(beaten.size, beaten_by.size) > 1:
        variance = _delong_variance(beaten, beaten_by)
    else:
        variance = _hanley_mcneil_variance(auc, beaten.size, beaten_by.size)
    reach = NormalDist().inv_cdf(0.5 + level / 2) * math.sqrt(variance)
    return max(0.0, auc - reach), min(1.0, auc + reach)


def roc_auc_difference(labels: ArrayLike, first: ArrayLike, second: ArrayLike) -> tuple[float, float]:
    """Return how much larger the ROC-AUC of the first scores is, and its standard error (DeLong).

    There must be at least two anomalies and two normal nodes.
    """
    ours, theirs = (_placements(*_labeled(labels, scores)) for scores in (first, second))
    beaten, beaten_by = ours[0] - theirs[0], ours[1] - theirs[1]
    return float(beaten.mean()), math.sqrt(_delong_variance(beaten, beaten_by))


def _placements(
    truth: NDArray[np.bool_], values: NDArray[np.float64]
) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Return V, the share of normal nodes below each anomaly, and W, the share of anomalies above each normal node."""
    above, below, places = values[truth], values[~truth], mid_ranks(values)
    beaten = (places[truth] - mid_ranks(above)) / below.size
    return beaten, 1.0 - (places[~truth] - mid_ranks(below)) / above.size


def _delong_variance(beaten: NDArray[np.float64], beaten_by: NDArray[np.float64]) -> float:
    return float(beaten.var(ddof=1)) / beaten.size + float(beaten_by.var(ddof=1)) / beaten_by.size


def average_precision(labels: ArrayLike, scores: ArrayLike) -> float:
    """Return the precision at the rank of each anomaly, averaged over the anomalies.

    Examples
    --------
    >>> round(average_precision([1, 0, 1, 0], [4.0, 3.0, 2.0, 1.0]), 4)  # (1/1 + 2/3) / 2
    0.8333
    """
    from sklearn.metrics import average_precision_score

    return float(average_precision_score(*_labeled(labels, scores)))


def precision_at_k(labels: ArrayLike, scores: ArrayLike, k: int) -> float:
    """Return the share of anomalies among the k highest scores; ties at the cut count by their share.

    Examples
    --------
    >>> precision_at_k([1, 0, 1, 0], [4.0, 3.0, 2.0, 1.0], 2)
    0.5
    """
    return _found_at_k(*_labeled(labels, scores), k) / k


def recall_at_k(labels: ArrayLike, scores: ArrayLike, k: int) -> float:
    """Return the share of all anomalies that are among the k highest scores; ties at the cut count by their share.

    Examples
    --------
    >>> recall_at_k([1, 0, 1, 1], [4.0, 3.0, 2.0, 1.0], 3)
    0.6666666666666666
    """
    truth, values = _labeled(labels, scores)
    return _found_at_k(truth, values, k) / int(truth.sum())


def roc_auc_by_kind(labels: ArrayLike, kinds: ArrayLike | None, scores: ArrayLike) -> dict[str, float]:
    """Return the ROC-AUC of each kind of anomaly against all normal nodes; kinds that do not occur are left out.

    ``kinds`` is 1 for structure, 2 for attribute and 3 for both; ``None`` gives an empty result.

    Examples
    --------
    >>> roc_auc_by_kind([0, 0, 1, 1], [0, 0, 1, 2], [1.0, 3.0, 2.0, 4.0])
    {'structure': 0.5, 'attribute': 1.0}
    """
    if kinds is None:
        return {}
    truth, values = _labeled(labels, scores)
    kind = np.asarray(kinds)[np.asarray(labels) != -1]
    result = {}
    for number, name in KIND_NAMES.items():
        chosen = ~truth | (kind == number)
        if truth[chosen].any():
            result[name] = roc_auc(truth[chosen], values[chosen])
    return result


def mid_ranks(values: ArrayLike) -> NDArray[np.float64]:
    """Return the rank of each value, from 1; equal values share the mean of their ranks.

    Examples
    --------
    >>> mid_ranks([3.0, 1.0, 3.0]).tolist()
    [2.5, 1.0, 2.5]
    """
    _, place, count = np.unique(np.asarray(values), return_inverse=True, return_counts=True)
    return np.asarray((np.cumsum(count) - (count - 1) / 2)[place])


def found_first(labels: ArrayLike, scores: ArrayLike) -> dict[str, float] | None:
    """Return how many of the n known anomalies are among the first n labeled nodes, and the ROC-AUC.

    None if the labels do not contain both classes.

    Examples
    --------
    >>> found_first([1, 0, 1, 0, -1], [4.0, 3.0, 2.0, 1.0, 9.0])
    {'n_anomalies': 2, 'n_found': 1, 'roc_auc': 0.75}
    """
    truth, values = np.asarray(labels), np.asarray(scores, dtype=np.float64)
    if not {0, 1} <= set(np.unique(truth).tolist()):
        return None
    known, n_anomalies = truth >= 0, int((truth == 1).sum())
    first = ranking(values[known])[:n_anomalies]
    return {
        "n_anomalies": n_anomalies,
        "n_found": int(truth[known][first].sum()),
        "roc_auc": roc_auc(truth, values),
    }


def _found_at_k(truth: NDArray[np.bool_], values: NDArray[np.float64], k: int) -> float:
    """Return the expected number of anomalies among the k highest scores."""
    check_count("k", k, high=truth.size)
    cut = np.partition(values, truth.size - k)[truth.size - k]  # the k-th highest score
    higher, tied = values > cut, values == cut
    return float(truth[higher].sum() + (k - higher.sum()) * truth[tied].mean())


def _hanley_mcneil_variance(auc: float, n_anomalies: int, n_normal: int) -> float:
    two_anomalies = auc / (2 - auc)  # probability that two anomalies both outrank one normal node
    two_normal = 2 * auc**2 / (1 + auc)  # probability that one anomaly outranks two normal nodes
    total = auc * (1 - auc) + (n_anomalies - 1) * (two_anomalies - auc**2) + (n_normal - 1) * (two_normal - auc**2)
    return max(0.0, total / (n_anomalies * n_normal))


def _labeled(labels: ArrayLike, scores: ArrayLike) -> tuple[NDArray[np.bool_], NDArray[np.float64]]:
    """Check labels and scores, and return those of the labeled nodes."""
    truth, values = np.asarray(labels), np.asarray(scores, dtype=np.float64)
    if truth.ndim != 1 or truth.shape != values.shape:
        raise ValueError(f"labels and scores must be two lists of one length, got {truth.shape} and {values.shape}")
    if not np.isin(truth, (-1, 0, 1)).all():
        raise ValueError("labels must be 0 (normal), 1 (anomaly) or -1 (unlabeled)")
    if not np.isfinite(values).all():
        raise ValueError("scores must be finite")
    known = truth != -1
    truth, values = truth[known], values[known]
    if not 0 < truth.sum() < truth.size:
        raise ValueError("labels must contain both classes: at least one anomaly and one normal node")
    return truth == 1, values
