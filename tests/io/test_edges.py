"""Columns of edge lists, and the attributes that edges give their nodes."""

from __future__ import annotations

from dataclasses import replace
from datetime import datetime
from typing import Any

import networkx as nx
import numpy as np
import polars as pl
import pytest

from hopsight.io.derive import STRUCTURE, Arcs, EdgeRows, derive, structure, usual
from hopsight.io.edges import EdgeColumns, edge_columns
from hopsight.loading import load


def sorted_in(columns: dict[str, Any], **options: Any) -> tuple[EdgeColumns, list[str]]:
    notices: list[str] = []
    frame = pl.DataFrame(columns)
    return edge_columns(frame, frame.columns, notices=notices, **options), notices


def test_every_column_finds_its_place() -> None:
    found, notices = sorted_in(
        {
            "amount": [1.5, 2.0, None],
            "When": ["2024-05-31 17:30", "2024-06-01", "2024-06-02"],
            "how": ["cash", "card", "cash"],
            "weight": [1, 2, 3],
            "hot": ["true", "false", ""],
            "label": [0, 1, 0],
            "ref": ["a1", "b2", "c3"],
            "nothing": [None, None, None],
        }
    )
    assert (found.weight, found.time) == ("weight", "When")
    assert list(found.numbers) == ["amount", "weight", "hot"]
    assert found.times["When"].to_list() == [1717176600.0, 1717200000.0, 1717286400.0]
    assert list(found.categories) == ["how"]
    assert notices == [
        "Column 'label' of the edge list looks like ground truth and is left out.",
        "Column 'ref' only identifies rows and is left out.",
        "Column 'nothing' has no value at all and is left out.",
        "Read column 'weight' as the weight, 'When' as the time, 'amount' as the amount of each edge.",
    ]


def test_the_fields_of_the_edges_are_filled_and_aligned() -> None:
    found, notices = sorted_in(
        {"amount": [1.0, None, 3.0], "ts": [datetime(1970, 1, 1, 0, 1)] * 3, "speed": [4, 5, 6]}, weight_column="amount"
    )
    fields = found.edge_fields(notices)
    assert fields["edge_weight"].tolist() == [1.0, 2.0, 3.0]
    assert fields["edge_time"].tolist() == [60.0] * 3
    assert fields["edge_attributes"].tolist() == [[4.0], [5.0], [6.0]]
    assert fields["edge_attribute_names"] == ["speed"]
    assert "Column 'amount' of the edge list: filled 1 empty cell with the median, 2." in notices
    assert found.summarized()[1][0].to_list() == [pytest.approx(60.0 / 86400.0)] * 3  # dates in days


def test_a_named_column_is_used_whatever_it_is_called() -> None:
    found, notices = sorted_in({"label": [0, 1], "class": [7, 8]}, weight_column="label", category=["class"])
    assert found.weight == "label"
    assert found.categories["class"].to_list() == ["7", "8"]
    assert notices == []


@pytest.mark.parametrize(
    ("columns", "options", "words"),
    [
        ({"w": ["1", "many"]}, {"weight_column": "w"}, "column 'w', row 2: 'many' is not a number, so no weight"),
        ({"t": ["2024-05-31", "soon"]}, {"time_column": "t"}, "column 't', row 2: 'soon' is not a time; write numbers"),
        ({"x": [1.0, float("inf")]}, {}, "column 'x', row 2 is infinite"),
        ({"x": ["1", "2", "n.b."]}, {}, r"column 'x', row 3: 'n.b.' is not a number.*category=\['x'\] or ignore="),
    ],
)
def test_cells_that_do_not_fit_are_refused(columns: dict[str, Any], options: dict[str, Any], words: str) -> None:
    with pytest.raises(ValueError, match=words):
        sorted_in(columns, **options)


# node 0 pays 1 twice (10 and 60) and 2 once (20); node 3 pays 2 once (-8); node 4 has no rows
ROWS = EdgeRows(
    np.array([0, 0, 0, 3]),
    np.array([1, 1, 2, 2]),
    numbers=[pl.Series("amount", [10.0, 60.0, 20.0, -8.0])],
    times=[pl.Series("day", [1.0, 2.0, 5.0, None])],
    categories=[pl.Series("how", ["cash", "card", "cash", "card"])],
)


def column(kind: str, name: str) -> list[float]:
    matrix, names = derive(ROWS, 5, [kind])
    return matrix[:, names.index(name)].tolist()


def test_amounts_sent_and_received_are_summarized() -> None:
    assert column("sent", "amount sent, median") == [20.0, 6.0, 6.0, -8.0, 6.0]  # others get the median of 20 and -8
    assert column("sent", "amount sent, mean") == [30.0, 11.0, 11.0, -8.0, 11.0]
    assert column("received", "amount received, median") == [20.5, 35.0, 6.0, 20.5, 20.5]
    assert column("sent", "amount sent, share negative") == [0.0, 0.5, 0.5, 1.0, 0.5]
    assert column("sent", "edges sent, log count") == np.log1p([3, 0, 0, 1, 0]).tolist()


def test_categories_become_shares() -> None:
    assert column("sent", "how sent, share cash") == [2 / 3, 1 / 3, 1 / 3, 0.0, 1 / 3]


def test_what_depends_on_the_count_is_compared_with_nodes_of_the_same_count() -> None:
    rows = EdgeRows(
        np.array([0, 1, 2, *[3] * 4, *[4] * 4]),
        np.array([5, 5, 5, *[5, 6] * 4]),
        numbers=[pl.Series("amount", [1.0, 2.0, 9.0, 1.0, 2.0, 3.0, 50.0, 0.0, 1.0, 2.0, 90.0])],
    )
    matrix, names = derive(rows, 7, ["sent"])
    largest = matrix[:, names.index("amount sent, maximum for its count")]
    assert largest[:5].tolist() == [-1.0, 0.0, 7.0, -20.0, 20.0]  # 50 and 90 are ordinary for four rows


def test_times_have_gaps_and_bursts() -> None:
    source = np.array([0] * 4 + [1] * 4)
    times = pl.Series("t", [0.0, 1.0, 2.0, 3.0, 0.0, 0.0, 0.0, 9.0])
    matrix, names = derive(EdgeRows(source, source + 2, times=[times]), 4, ["sent"])
    gaps, bursts = (
        matrix[:2, names.index(f"t sent, {name} for its count")] for name in ("log median gap", "burstiness")
    )
    np.testing.assert_allclose(np.diff(gaps), [-np.log(2.0)])  # gaps 1, 1, 1 against 0, 0, 9
    deviation = np.std([0, 0, 9])
    np.testing.assert_allclose(np.diff(bursts), [(deviation - 3) / (deviation + 3) + 1])


def test_names_of_times_say_their_unit() -> None:
    times = pl.Series("t", [0.0, 1.0, 5.0])
    rows = EdgeRows(np.array([0, 1, 2]), np.array([1, 2, 0]), times=[times], units={"t": " in days"})
    assert "t sent, first in days for its count" in derive(rows, 3, ["sent"])[1]
    assert any(" in days " in name for name in derive(replace(rows, directed=False), 3, ["sent"])[1])


def test_columns_that_say_nothing_new_are_left_out() -> None:
    _, names = derive(ROWS, 5, ["structure", "sent", "received"])
    assert len(set(names)) == len(names)
    assert not any(np.ptp(values) == 0 for values in derive(ROWS, 5, ["structure", "sent", "received"])[0].T)
    once = EdgeRows(np.array([0, 1, 1]), np.array([1, 2, 3]))
    _, names = derive(once, 4, ["structure", "sent", "received"])
    assert "edges sent, log count" in names
    assert "out-degree, log" not in names  # the same numbers


def test_usual_values_are_interpolated_between_counts() -> None:
    counts = np.array([1.0, 1.0, 1.0, 16.0, 4.0])
    assert usual(np.array([1.0, 2.0, 9.0, 10.0, np.nan]), counts).tolist() == [2.0, 2.0, 2.0, 10.0, 6.0]
    assert usual(np.full(2, np.nan), np.ones(2)).tolist() == [0.0, 0.0]


@pytest.fixture(scope="module")
def arcs() -> tuple[np.ndarray, np.ndarray]:
    rng = np.random.default_rng(0)
    source = rng.integers(0, 40, 300)
    target = np.minimum(39, (rng.random(300) ** 2 * 40).astype(np.int64))  # some nodes get many
    return source, target


def test_structure_equals_that_of_networkx(arcs: tuple[np.ndarray, np.ndarray]) -> None:
    found = structure(Arcs.of(*arcs, 41))
    assert tuple(found) == STRUCTURE
    graph = nx.DiGraph([(a, b) for a, b in zip(*map(np.ndarray.tolist, arcs), strict=True) if a != b])
    graph.add_nodes_from(range(41))
    plain = graph.to_undirected()
    degree = dict(plain.degree)
    for node in range(41):
        near = [np.log1p(degree[other]) for other in plain[node]] or [0.0]
        mutual = sum(graph.has_edge(other, node) for other in graph.successors(node))
        outside = sum(node != far and far not in plain[node] for other in plain[node] for far in plain[other])
        expected = [
            np.log1p(graph.out_degree(node)),
            np.log1p(graph.in_degree(node)),
            mutual / max(degree[node], 1),
            nx.clustering(plain, node),
            nx.core_number(plain)[node],
            np.mean(near),
            np.std(near),
            np.log1p(outside / max(degree[node], 1)),
        ]
        np.testing.assert_allclose([values[node] for values in found.values()], expected, atol=1e-6)


def test_core_numbers_skip_levels_and_reach_isolated_nodes() -> None:
    cliques = [np.stack(np.triu_indices(size, k=1)) + offset for size, offset in ((3, 0), (30, 3), (12, 33))]
    source, target = np.concatenate(cliques, axis=1)
    cores = structure(Arcs.of(source, target, 46))["core number"]
    assert cores.tolist() == [2.0] * 3 + [29.0] * 30 + [11.0] * 12 + [0.0]


@pytest.fixture(scope="module")
def rows() -> tuple[np.ndarray, np.ndarray]:
    """Return rows with duplicates, opposite pairs, self-loops and nodes without rows; one has more than all others."""
    rng = np.random.default_rng(1)
    source, target = rng.integers(0, 60, 700), (rng.random(700) ** 2 * 60).astype(np.int64)
    hub = np.concatenate([np.zeros(100, dtype=np.int64), np.full(9, 3)])
    return np.concatenate([source, hub]), np.concatenate([target, np.arange(109) % 60])


def payments(**columns: Any) -> pl.DataFrame:
    return pl.DataFrame({"from": list("abcab"), "to": list("bcaca"), **columns})


def test_amounts_of_several_currencies_are_compared_with_their_own() -> None:
    rows = payments(amount=[100.0, 50.0, 200.0, 11_000.0, 22_000.0], Currency=["EUR", "EUR", "EUR", "HUF", "HUF"])
    notices: list[str] = []
    graph = load(rows, derive="sent", notices=notices)
    assert any(each.startswith("Amounts are in 2 currencies (EUR, HUF): each is compared") for each in notices)
    assert graph.events.amount.tolist() == [100.0, 50.0, 200.0, 11_000.0, 22_000.0]  # as they are written
    assert graph.edge_attribute_names == ("amount scaled to EUR",)
    amounts = dict(zip(map(tuple, graph.edges.T.tolist()), graph.edge_attributes[:, 0].tolist(), strict=True))
    assert amounts[1, 2] == 50.0  # of b and c; medians are 100 EUR and 16,500 HUF
    np.testing.assert_allclose(amounts[0, 2], (200.0 + 11_000.0 / 165.0) / 2)
    plain = load(rows, derive="sent", ignore=["Currency"], notices=[])
    assert plain.edge_attribute_names == ("amount",)
    one = load(rows.with_columns(Currency=pl.lit("EUR")), derive="sent", notices=[])
    assert one.edge_attribute_names == ("amount",)
    assert one.events.currencies == ("EUR",)


@pytest.mark.parametrize(
    ("dates", "pattern", "filled"),
    [
        (["01.03.2024", "02.03.2024", "03.03.2024", "04.03.2024", None], "%d.%m.%Y", "02.03.2024"),
        (["2024-03-13 08:00", "2024-03-14", "2024-03-15", "2024-03-16", None], "%Y-%m-%d", "2024-03-14"),
        (["03/13/2024", "03/14/2024", "03/15/2024", "03/16/2024", None], "%m/%d/%Y", "03/14/2024"),
    ],
)
def test_dates_are_shown_as_the_file_writes_them(dates: list[str | None], pattern: str, filled: str) -> None:
    notices: list[str] = []
    graph = load(payments(day=dates), notices=notices)
    assert graph.events.dates == pattern
    assert f"Column 'day' of the edge list: filled 1 empty cell with the median, {filled}." in notices


@pytest.mark.parametrize(
    ("column", "message"),
    [
        ({"time": ["2024-05-31", "2024-06-01", "2024-06-02", "0001-01-01"]}, "'0001-01-01' is not a date"),
        ({"time": ["31/05/2024", "30/05/2024", "29/05/2024", "01/01/0001"]}, "'01/01/0001' is not a date"),
    ],
)
def test_a_date_that_stands_for_none_is_refused(column: dict[str, Any], message: str) -> None:
    with pytest.raises(ValueError, match=message):
        sorted_in(column)


@pytest.mark.parametrize(
    ("name", "words"),
    [
        ("amount", ["１２", "３", "４"]),
        ("amount", ["1,234.56", "1.234,56", "1k"]),
        ("Date", ["31. Mai", "1. Juni", "1. Juni"]),
    ],
)
def test_text_under_the_name_of_an_amount_or_a_time_is_said(name: str, words: list[str]) -> None:
    found, notices = sorted_in({name: [*words, words[0]]})
    assert list(found.categories) == [name]
    assert notices == [f"Column {name!r} holds text, such as {words[0]!r}, and is read as categories."]


@pytest.mark.parametrize("role", ["weight_column", "time_column"])
def test_an_end_is_neither_weight_nor_time(role: str) -> None:
    edges = pl.DataFrame({"source": ["a", "b", "c"], "target": ["b", "c", "a"], "amount": [1.0, 2.0, 3.0]})
    for column, ignore in (("target", ()), ("amount", ("amount",))):
        with pytest.raises(ValueError, match=f"column '{column}' cannot be the"):
            load(edges, ignore=ignore, **{role: column})
