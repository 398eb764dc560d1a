"""Forests as arrays: grown by scikit-learn, kept and evaluated without it."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from hopsight.system.kernels import compiled

FloatArray = NDArray[np.float64]

N_TREES = 100
MOST_LEAVES = 256  # of a tree, so that a saved forest stays small however many labels there are
ROWS_AT_ONCE = 1 << 9  # whose features stay in the cache while all trees look at them


@dataclass(frozen=True)
class Forest:
    """Trees side by side.

    Attributes
    ----------
    starts
        (n_trees,) first node of each tree.
    left, right, feature
        (n_nodes,) children of each node and the column that it splits; a leaf is its own child.
    threshold, value
        (n_nodes,) rows with at most this value go left; what a leaf predicts.
    """

    starts: NDArray[np.int32]
    left: NDArray[np.int32]
    right: NDArray[np.int32]
    feature: NDArray[np.int32]
    threshold: FloatArray
    value: NDArray[np.float32]

    @classmethod
    def of(cls, trees: Any) -> Forest:
        """Return the arrays of fitted regression trees of scikit-learn."""
        parts: list[tuple[NDArray[Any], ...]] = []
        starts, first = [], 0
        for fitted in trees:
            tree = fitted.tree_
            own = np.arange(tree.node_count)
            leaf = tree.children_left < 0
            children = (np.where(leaf, own, side) + first for side in (tree.children_left, tree.children_right))
            parts.append((*children, np.where(leaf, 0, tree.feature), tree.threshold, tree.value.ravel()))
            starts.append(first)
            first += tree.node_count
        left, right, feature, threshold, value = (np.concatenate(column) for column in zip(*parts, strict=True))
        return cls(
            np.array(starts, dtype=np.int32), left.astype(np.int32), right.astype(np.int32),
            feature.astype(np.int32), threshold.astype(np.float64), value.astype(np.float32),
        )  # fmt: skip

    def predict(self, rows: NDArray[np.float32]) -> FloatArray:
        """Return the mean over the trees of what they predict for each row."""
        out = np.zeros(len(rows))
        threshold = self.threshold.astype(np.float32)
        threshold = np.where(threshold > self.threshold, np.nextafter(threshold, np.float32(-np.inf)), threshold)
        depth = _depths(self.starts, self.left, self.right)
        child = np.stack([self.left, self.right], axis=1).ravel().astype(np.uint32)  # both children of each node
        starts, feature = self.starts.astype(np.uint32), self.feature.astype(np.uint32)
        for start in range(0, len(rows), ROWS_AT_ONCE):
            some = slice(start, start + ROWS_AT_ONCE)
            _add_trees(rows[some], starts, depth, child, feature, threshold, self.value, out[some])
        return out / max(1, self.starts.size)

    def check(self, n_features: int) -> None:
        """Refuse arrays that are not trees: children come after their parents, columns exist, numbers are finite."""
        size = self.value.size
        own = np.arange(size)
        leaf = self.left == own
        sound = (
            self.left.shape == self.right.shape == self.feature.shape == self.threshold.shape == (size,)
            and bool((leaf == (self.right == own)).all())
            and bool(((self.left > own) | leaf).all() and ((self.right > own) | leaf).all())
            and bool((self.left < size).all() and (self.right < size).all())
            and bool(((self.starts >= 0) & (self.starts < size)).all())
            and bool(((self.feature >= 0) & (self.feature < n_features)).all())
            and bool(np.isfinite(self.value).all() and np.isfinite(self.threshold).all())
        )
        if not sound:
            raise ValueError("the trees of what was learned are damaged")


def grow(
    make_tree: Callable[..., Any], rows: NDArray[np.float32], wanted: NDArray[Any], weights: FloatArray, seed: int
) -> tuple[Forest, FloatArray]:
    """Grow trees on bootstrap samples; return them, and for each row the mean of the trees that have not seen it.

    Regression trees split labels of 0 and 1 as classification trees do: their variance is half of Gini's impurity.
    Scikit-learn's forests draw weighted samples in some versions, which leaves no tree that has not seen a rare row.
    A row that every tree has seen gets the mean of all others.
    """
    from sklearn import config_context

    rng, state = np.random.default_rng(seed), np.random.RandomState(0)  # a new state takes as long as a small tree
    n, wanted = len(rows), wanted.astype(np.float64)
    trees, total, count = [], np.zeros(n), np.zeros(n)
    for _ in range(N_TREES):
        drawn = np.bincount(rng.integers(0, n, n), minlength=n)
        state.seed(int(rng.integers(2**31)))
        tree = make_tree(max_leaf_nodes=MOST_LEAVES, random_state=state)
        with config_context(skip_parameter_validation=True):  # so does validation
            tree.fit(rows, wanted, sample_weight=weights * drawn, check_input=False)
        unseen = drawn == 0
        total[unseen] += tree.tree_.predict(rows[unseen]).ravel()
        count[unseen] += 1
        trees.append(tree)
    known = count > 0
    without = np.divide(total, count, out=np.zeros(n), where=known)
    without[~known] = without[known].mean() if known.any() else 0.0
    return Forest.of(trees), without


def _depths(starts: Any, left: Any, right: Any) -> Any:
    """Return the number of steps from the root of each tree to its deepest leaf."""
    depth = np.zeros(starts.size, dtype=np.int64)
    node, tree = starts.astype(np.int64), np.arange(starts.size)
    while (inside := left[node] != node).any():
        node, tree = node[inside], tree[inside]
        depth[tree] += 1
        node, tree = np.concatenate([left[node], right[node]]), np.tile(tree, 2)
    return depth


@compiled(nogil=True)
def _add_trees(
    rows: Any, starts: Any, depth: Any, child: Any, feature: Any, threshold: Any, value: Any, out: Any
) -> None:
    """Add what each tree predicts for each row; a leaf is its own child, so that all rows take as many steps.

    All rows take a step before any takes the next one: steps of different rows do not wait for each other.
    """
    nodes = np.empty(rows.shape[0], dtype=np.uint32)
    for tree in range(starts.size):
        nodes[:] = starts[tree]
        for _ in range(depth[tree]):
            for row in range(nodes.size):
                node = nodes[row]
                nodes[row] = child[np.uint32(2) * node + np.uint32(rows[row, feature[node]] > threshold[node])]
        for row in range(nodes.size):
            out[row] += value[nodes[row]]
