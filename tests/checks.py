"""Rules that every detector keeps: one function per rule, which its docstring states.

A rule takes ``make``, which returns an unfitted detector with the given hyperparameters, and a graph of two groups.
"""

import dataclasses
import random
import warnings
from collections.abc import Callable
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import numpy as np
import pytest
import scipy.sparse as sp
import torch
from scipy.stats import spearmanr

from hopsight.detectors.base import Epoch
from hopsight.detectors.storage import load_detector
from hopsight.graph import AttributedGraph
from toys import refuses, renumbered, two_groups

Make = Callable[..., Any]


def with_attributes(graph: AttributedGraph, attributes: Any, **fields: Any) -> AttributedGraph:
    return AttributedGraph(graph.adjacency, attributes, node_ids=graph.node_ids, **fields)


FITTED: dict[tuple[type, int], Any] = {}  # by class and graph, which the detector keeps alive


def fitted(make: Make, graph: AttributedGraph) -> Any:
    """Return a detector with default settings that rules share; they only read it."""
    key = type(make()), id(graph)
    if key not in FITTED:
        FITTED[key] = make().fit(graph)
    return FITTED[key]


def scores_of(make: Make, graph: Any, **settings: Any) -> np.ndarray:
    """Fit and return the scores; a detector may warn that its network collapsed, but of nothing else."""
    with warnings.catch_warnings():
        warnings.filterwarnings("ignore", message=".* collapsed")
        scores: np.ndarray = make(**settings).fit(graph).decision_score_
    return scores


def assert_scores(scores: np.ndarray, n_nodes: int) -> None:
    assert scores.shape == (n_nodes,) and scores.dtype == np.float64
    assert np.isfinite(scores).all()


def check_fit_returns_self(make: Make, graph: AttributedGraph) -> None:
    """``fit`` returns the detector itself and keeps the graph."""
    model = make()
    assert model.fit(graph) is model and model.graph_ is graph


def check_scores_tell_nodes_apart(make: Make, graph: AttributedGraph) -> None:
    """Scores are finite, one per node, and not all equal."""
    scores = fitted(make, graph).decision_score_
    assert_scores(scores, graph.n_nodes)
    assert np.unique(scores.round(9)).size > graph.n_nodes // 4


def check_threshold_and_labels_follow_the_scores(make: Make, graph: AttributedGraph) -> None:
    """``label_`` is 1 above ``threshold_``, which is the quantile that contamination determines."""
    model = make(contamination=0.2).fit(graph)
    assert np.array_equal(model.label_, model.decision_score_ > model.threshold_)
    assert model.threshold_ == np.quantile(model.decision_score_, 0.8) and 0 < model.label_.sum() <= 10  # of 48
    assert np.array_equal(model.predict(), model.label_)


def check_flags_follow_the_expected_false_alarms(make: Make, graph: AttributedGraph) -> None:
    """By default the level of a test decides, a lower one never flags more, and 0 flags none."""
    model = fitted(make, graph)
    assert model.contamination == "auto" and model.false_alarms == 0.1
    assert np.array_equal(model.label_, model.decision_score_ > model.threshold_)
    assert model.label_.sum() <= graph.n_nodes // 3  # so few nodes say little about what is usual
    counts = [int(make(false_alarms=share).fit(graph).label_.sum()) for share in (0.0, 0.1, 0.5)]
    assert counts[0] == 0 and counts == sorted(counts) and counts[1] == model.label_.sum()


def check_parameters_are_unchanged(make: Make, graph: AttributedGraph) -> None:
    """``fit`` changes no hyperparameter."""
    model = make()
    before = dataclasses.asdict(model)
    assert dataclasses.asdict(model.fit(graph)) == before


def check_input_is_unchanged(make: Make, graph: AttributedGraph) -> None:
    """``fit`` does not modify its input."""
    adjacency, attributes = graph.adjacency.toarray(), graph.attributes.copy()
    given = adjacency.copy(), attributes.copy()
    make().fit(given)
    assert np.array_equal(given[0], adjacency) and np.array_equal(given[1], attributes)
    words = sp.csr_array(attributes)
    kept = words.copy()
    make().fit((sp.csr_array(adjacency), words))
    assert np.array_equal(words.data, kept.data) and np.array_equal(words.indices, kept.indices)


def check_same_seed_same_scores(make: Make, graph: AttributedGraph) -> None:
    """Equal seeds give equal scores to the bit, whether the detector is new or was fitted before."""
    model = make(seed=3)
    first = model.fit(graph).decision_score_
    assert np.array_equal(model.fit(graph).decision_score_, first)
    assert np.array_equal(make(seed=3).fit(graph).decision_score_, first)


def check_seed_none_is_allowed(make: Make, graph: AttributedGraph) -> None:
    """``seed=None`` draws a random seed."""
    assert_scores(make(seed=None).fit(graph).decision_score_, graph.n_nodes)


def check_global_random_state_is_unchanged(make: Make, graph: AttributedGraph) -> None:
    """Global random states of Python, NumPy and torch are neither used nor changed."""
    first = fitted(make, graph).decision_score_
    random.seed(1)
    np.random.seed(1)  # noqa: NPY002
    torch.manual_seed(1)
    before = random_states()
    assert np.array_equal(make().fit(graph).decision_score_, first) and random_states() == before


def random_states() -> tuple[object, ...]:
    """Return the global random states in a form that can be compared."""
    of_numpy: Any = np.random.get_state()  # noqa: NPY002
    return random.getstate(), of_numpy[1].tolist(), of_numpy[2:], torch.get_rng_state().tolist()


def check_labels_do_not_matter(make: Make, graph: AttributedGraph) -> None:
    """Labels and kinds of anomaly change no score."""
    first = make().fit(with_attributes(graph, graph.attributes)).decision_score_
    inverted = 1 - np.asarray(graph.labels)
    for fields in ({"labels": graph.labels}, {"labels": inverted}, {"labels": inverted, "kinds": inverted}):
        assert np.array_equal(make().fit(with_attributes(graph, graph.attributes, **fields)).decision_score_, first)


def check_names_do_not_matter(make: Make, graph: AttributedGraph) -> None:
    """Names of the graph and of its columns change no score."""
    first = fitted(make, graph).decision_score_
    names = [f"column {i}" for i in range(graph.n_attributes)]
    renamed = with_attributes(graph, graph.attributes, attribute_names=names, name="another")
    assert np.array_equal(make().fit(renamed).decision_score_, first)


def check_renumbered_nodes_have_renumbered_scores(make: Make, graph: AttributedGraph) -> None:
    """Scores follow their nodes, and a fitted model gives them to the nodes in any order."""
    order = np.random.default_rng(5).permutation(graph.n_nodes)
    moved = renumbered(graph, order)
    model = fitted(make, graph)
    expected = model.decision_score_[order]
    if model.transferable:
        assert spearmanr(model.decision_function(moved), expected).statistic > 0.95
    np.testing.assert_allclose(make().fit(moved).decision_score_, expected, rtol=1e-4, atol=1e-9)


def check_isolated_nodes(make: Make, graph: AttributedGraph) -> None:
    """Nodes without edges get a finite score."""
    edges = graph.adjacency.toarray()
    edges[[4, 30]], edges[:, [4, 30]] = 0, 0
    alone = AttributedGraph(edges, graph.attributes)
    assert_scores(make().fit(alone).decision_score_, graph.n_nodes)


def check_zero_attribute_rows(make: Make, graph: AttributedGraph) -> None:
    """Nodes whose attributes are all zero get a finite score."""
    attributes = graph.attributes.copy()
    attributes[[4, 30]] = 0.0
    for rows in (attributes, sp.csr_array(abs(attributes))):
        assert_scores(scores_of(make, with_attributes(graph, rows)), graph.n_nodes)


def check_constant_attributes(make: Make, graph: AttributedGraph) -> None:
    """Attributes that are all equal, all zero, or equal in one column give finite scores."""
    for rows in (np.ones_like(graph.attributes), np.zeros_like(graph.attributes)):
        assert_scores(scores_of(make, with_attributes(graph, rows)), graph.n_nodes)
    one = graph.attributes.copy()
    one[:, 2] = 7.5
    assert_scores(scores_of(make, with_attributes(graph, one)), graph.n_nodes)


def check_sparse_attributes_equal_dense_ones(make: Make, graph: AttributedGraph) -> None:
    """Sparse attributes give the scores of dense ones."""
    rng = np.random.default_rng(2)
    for rows in (graph.attributes, (rng.random((graph.n_nodes, 30)) < 0.08) * rng.integers(1, 4, 30)):
        dense, sparse = (scores_of(make, with_attributes(graph, kind)) for kind in (rows, sp.csr_array(rows)))
        np.testing.assert_allclose(sparse, dense, rtol=1e-4, atol=1e-6 * abs(dense).max())


def check_scale_of_attributes(make: Make, graph: AttributedGraph) -> None:
    """Attributes in units 1e12 times larger or smaller rank alike; a value of 5e11 among small ones is no problem."""
    expected = fitted(make, graph).decision_score_
    for unit in (1e12, 1e-12):
        assert spearmanr(scores_of(make, with_attributes(graph, graph.attributes * unit)), expected).statistic > 0.9
    outlier = graph.attributes.copy()
    outlier[7, 1] = 5e11
    for rows in (outlier, abs(outlier)):
        assert_scores(scores_of(make, with_attributes(graph, rows)), graph.n_nodes)
    words = sp.csr_array((np.random.default_rng(2).random((graph.n_nodes, 30)) < 0.08).astype(float))
    for rows in (words * 1e12, words * 1e-12):
        scores = scores_of(make, with_attributes(graph, rows))
        assert_scores(scores, graph.n_nodes)
        assert np.ptp(scores) > 1e-3 * abs(scores).max()


def check_extreme_attributes(make: Make, graph: AttributedGraph) -> None:
    """Attributes near the largest and the smallest numbers of double precision give finite scores."""
    for rows in (graph.attributes * 1e300, np.where(graph.attributes > 0, 5e-324, 0.0)):
        assert_scores(scores_of(make, with_attributes(graph, rows)), graph.n_nodes)


def check_types_of_attributes(make: Make, graph: AttributedGraph) -> None:
    """Half precision, single precision, integers and booleans are allowed."""
    for kind in (np.float16, np.float32, np.int8, np.uint64):
        rows = (abs(graph.attributes) * 3).astype(kind)
        assert_scores(scores_of(make, with_attributes(graph, rows)), graph.n_nodes)
    assert_scores(scores_of(make, with_attributes(graph, graph.attributes > 1)), graph.n_nodes)


def check_directed_graphs(make: Make, graph: AttributedGraph) -> None:
    """Directed graphs give finite scores."""
    directed = AttributedGraph(sp.triu(graph.adjacency), graph.attributes, directed=True)
    assert_scores(make().fit(directed).decision_score_, graph.n_nodes)


def check_small_graphs_are_refused(make: Make, graph: AttributedGraph) -> None:
    """Graphs with fewer nodes than the class allows, or without attributes, are refused in one sentence."""
    for n_nodes, n_attributes in ((0, 2), (make().least_nodes - 1, 2), (5, 0)):
        small = AttributedGraph(np.zeros((n_nodes, n_nodes)), np.zeros((n_nodes, n_attributes)))
        refuses("a graph needs at least", make().fit, small)


def check_unfitted_detectors_say_so(make: Make, graph: AttributedGraph) -> None:
    """Before ``fit``, predicting, scoring and saving are refused."""
    refused = f"^{type(make()).__name__} is not fitted yet: "
    refuses(f"{refused}call fit first$", make().predict)
    if make().transferable:
        refuses(f"{refused}call fit first$", make().decision_function, graph)
    with TemporaryDirectory() as folder:
        refuses(f"{refused}there is nothing to save$", make().save, Path(folder) / "model")


def check_a_callback_sees_every_epoch(make: Make, graph: AttributedGraph) -> None:
    """Whoever listens is told number, loss and scores of every epoch, and changes nothing."""
    model, seen, scores = make(), [], []
    if not hasattr(model, "n_epochs"):
        return

    def look(epoch: Epoch) -> None:
        seen.append(epoch)
        scores.append(epoch.scores())

    model.fit(graph, callback=look)
    assert [(epoch.number, epoch.loss) for epoch in seen] == list(enumerate(model.loss_.tolist(), start=1))
    assert len(seen) == seen[0].total == model.n_epochs and not np.array_equal(scores[0], scores[-1])
    for each in scores:
        assert_scores(each, graph.n_nodes)
    assert np.array_equal(model.decision_score_, fitted(make, graph).decision_score_)


def check_saved_detector_is_the_same(make: Make, graph: AttributedGraph) -> None:
    """``save`` and ``load_detector`` restore parameters, scores, threshold and labels to the bit."""
    model = make(seed=2, contamination=0.25).fit(graph)
    with TemporaryDirectory() as folder:
        model.save(folder)
        loaded = load_detector(folder)
    assert type(loaded) is type(model) and loaded == model
    assert np.array_equal(loaded.decision_score_, model.decision_score_)
    assert loaded.threshold_ == model.threshold_ and np.array_equal(loaded.label_, model.label_)
    predictions = [each.predict(return_score=True, return_prob=True, return_conf=True) for each in (loaded, model)]
    assert all(np.array_equal(ours, theirs) for ours, theirs in zip(*predictions, strict=True))


def check_new_graphs_are_scored_or_refused(make: Make, graph: AttributedGraph) -> None:
    """``decision_function`` repeats the training scores within 1e-4, and scores other graphs or refuses them."""
    model = fitted(make, graph)
    np.testing.assert_allclose(model.decision_function(graph), model.decision_score_, atol=1e-4)
    other = dataclasses.replace(graph, attributes=graph.attributes[::-1])
    if model.transferable:
        assert_scores(model.decision_function(other), graph.n_nodes)
        return
    refuses(f"^{type(model).__name__} can only judge the graph it was fitted on$", model.decision_function, other)


def check_columns_of_new_graphs_are_found_by_name(make: Make, graph: AttributedGraph) -> None:
    """Columns of new graphs may be in any order, for loaded models too; a missing column is refused."""
    model = fitted(make, graph)
    if not model.transferable:
        return
    other = two_groups(8, n_each=15)
    assert not set(other.node_ids) & set(graph.node_ids)
    scores = model.decision_function(other)
    assert_scores(scores, 30)
    with TemporaryDirectory() as folder:
        model.save(folder)
        loaded = load_detector(folder)
    assert np.array_equal(loaded.decision_function(other), scores)
    names = list(other.attribute_names)
    order = [3, 0, 4, 2, 1]
    shuffled = with_attributes(other, other.attributes[:, order], attribute_names=[names[place] for place in order])
    np.testing.assert_allclose(loaded.decision_function(shuffled), scores, rtol=1e-5, atol=1e-6 * abs(scores).max())
    with pytest.raises(ValueError, match=f"'?{names[2]}'?"):
        loaded.decision_function(with_attributes(other, other.attributes[:, :2], attribute_names=names[:2]))


def check_graphs_without_edges(make: Make, graph: AttributedGraph) -> None:
    """Graphs without edges give finite scores, or are refused in one sentence by detectors that learn from edges."""
    alone = AttributedGraph(sp.csr_array(graph.adjacency.shape), graph.attributes)
    try:
        scores = scores_of(make, alone)
    except ValueError as error:
        assert not make().deterministic and "edge" in str(error)
        return
    assert_scores(scores, graph.n_nodes)


def check_values_per_node_are_set(make: Make, graph: AttributedGraph) -> None:
    """``fit`` sets a finite value per node for everything that the class names in ``node_values``."""
    model = fitted(make, graph)
    for name in type(model).node_values:
        assert_scores(getattr(model, f"{name}_"), graph.n_nodes)


def check_presets_return_the_detector(make: Make, graph: AttributedGraph) -> None:
    """Every preset that the class names returns a detector of its own kind and takes changes."""
    for name in make().presets:
        model = getattr(type(make()), name)(seed=11)
        assert type(model) is type(make()) and model.seed == 11


def check_repr_shows_what_was_changed(make: Make, graph: AttributedGraph) -> None:
    """``repr`` names the parameters that differ from their defaults, and no others."""
    model = make(seed=11)
    shown = repr(model)
    assert shown.startswith(f"{type(model).__name__}(seed=11")
    for field in dataclasses.fields(model):
        value = getattr(model, field.name)
        assert (f"{field.name}={value!r}" in shown) == (value != field.default)


CHECKS = [rule for name, rule in sorted(globals().items()) if name.startswith("check_")]
