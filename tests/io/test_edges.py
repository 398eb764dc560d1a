"""Columns of edge lists, and the attributes that edges give their nodes."""

from dataclasses import replace
from typing import Any

import networkx as nx
import numpy as np
import polars as pl
import pytest

from hopsight.io.derive import STRUCTURE, Arcs, EdgeRows, derive, structure, usual
from hopsight.io.edges import EdgeColumns, edge_columns
from hopsight.io.notices import Detail
from hopsight.loading import load

from .cases import refuses


def sorted_in(columns: dict[str, Any], **options: Any) -> tuple[EdgeColumns, list[str]]:
    notices: list[str] = []
    frame = pl.DataFrame(columns)
    return edge_columns(frame, frame.columns, notices=notices, **options), notices


def test_every_column_finds_its_place() -> None:
    found, notices = sorted_in(
        {"amount": [1.5, 2.0, None], "When": ["2024-05-31 17:30", "2024-06-01", "2024-06-02"],
         "how": ["cash", "card", "cash"], "weight": [1, 2, 3], "hot": ["true", "false", ""], "label": [0, 1, 0],
         "ref": ["a1", "b2", "c3"], "nothing": [None, None, None]})  # fmt: skip
    assert (found.weight, found.time) == ("weight", "When")
    assert list(found.numbers) == ["amount", "weight", "hot"]
    assert found.times["When"].to_list() == [1717176600.0, 1717200000.0, 1717286400.0]
    assert list(found.categories) == ["how"]
    learn = "pass learn_from='label' to learn from it"
    assert notices == [
        f"Column 'label' of the edge list looks like ground truth and is left out; {learn}.",
        "Column 'ref' only identifies rows and is left out.",
        "Column 'nothing' has no value at all and is left out.",
        "Read column 'weight' as the weight of each edge: 1 to 3.",
        "Read column 'When' as the time of each edge: 2024-05-31 17:30 to 2024-06-02 00:00.",
        "Read column 'amount' as the amount of each edge: 1.50 to 2, 3.50 in all.",
        "Other columns describe edges: 'how' ('card', 'cash'), 'hot' (0, 1, empty).",
        "If 'hot' says which cases are known or which events did not take place, pass learn_from='hot' or, "
        "to leave rows out, ignore=['hot=VALUE'].",
    ]


@pytest.mark.parametrize(("name", "cells", "value"), [
    ("txreceipt_status", [0, 1, 1], "VALUE"), ("success", ["true", "false", "true"], "VALUE"),
    ("status", ["ok", "no", "ok"], None), ("direction", [-1, 1, 1], None),
    ("St", ["sent", "paid", "back", "paid"], None),
    ("St", ["abgelehnt", "ausgeführt", "zurückgegeben", "ausgeführt"], "abgelehnt"),
])  # fmt: skip
def test_values_that_may_say_what_did_not_take_place(name: str, cells: list[object], value: str | None) -> None:
    said = [each for each in sorted_in({name: cells, "amount": [*range(1, len(cells) + 1)]})[1] if "ignore=" in each]
    assert [each.endswith(f"ignore=['{name}={value}'].") for each in said] == [True] * (value is not None)


def test_an_empty_cell_of_an_edge_is_not_invented() -> None:
    """An edge of several rows has the sum of the weights that are known, the mean of attributes, the latest time."""
    rows = {"source": ["a", "b", "c"] * 2, "target": ["b", "c", "d"] * 2}
    time = ["1970-01-02", "", "", "1970-01-03", "1970-01-02", "n/a"]
    fee = [4.0, None, None, 6.0, 5.0, None]
    graph = load(
        pl.DataFrame(rows | {"amount": [1.0, None, None, 3.0, 2.0, None], "time": time, "fee": fee}),
        weight_column="amount", notices=(notices := []),
    )  # fmt: skip
    assert graph.edge_weight.tolist() == [4.0, 2.0, 0.0]
    assert graph.edge_time.tolist()[:2] == [2 * 86400.0, 86400.0]
    assert graph.edge_attributes.ravel().tolist()[:2] == [5.0, 5.0]
    assert np.isnan([graph.edge_time[2], graph.edge_attributes[2, 0]]).all()
    said = "3 in 'amount', 3 in 'time', 3 in 'fee'"
    assert f"Empty cells of the edge list count in no sum, mean or span of time: {said}." in notices
    assert np.isnan(graph.events.amount).sum() == 3


def test_a_named_column_is_used_whatever_it_is_called() -> None:
    found, notices = sorted_in({"label": [0, 1], "class": [7, 8]}, weight_column="label", category=["class"])
    assert found.weight == "label" and found.categories["class"].to_list() == ["7", "8"]
    assert notices == [
        "Read column 'label' as the weight of each edge: 0 to 1.",
        "Other columns describe edges: 'class' ('7', '8').",
    ]


@pytest.mark.parametrize(("columns", "said"), [
    ({"Betrag": ["1.200,50", "3,99"], "tag": ["31.12.2023", "1.1.2024"]},
     ["as the time of each edge: 31.12.2023 to 01.01.2024.",
      "as the amount of each edge: 3.99 to 1,200.50, 1,204.49 in all."]),
    ({"amount_eur": [7.0, 7.0, 7.5]}, ["as the amount of each edge: 7 to 7.50 EUR, 21.50 EUR in all."]),
    ({"amount": [5, 8], "currency": ["EUR", "JPY"]}, ["as the amount of each edge: 5 to 8, 5 EUR and 8 JPY in all."]),
    ({"amount": [5, 8], "currency": ["EUR", "EUR"]}, ["as the amount of each edge: 5 to 8 EUR, 13 EUR in all."]),
    ({"ts": [1700000000, 1700000060]}, ["as the time of each edge: 2023-11-14 22:13 to 2023-11-14 22:14."]),
    ({"step": [3, 700]}, ["as the time of each edge: 3 to 700."]),
])  # fmt: skip
def test_it_is_said_how_far_times_and_amounts_reach(columns: dict[str, Any], said: list[str]) -> None:
    """Whoever knows the sum of a table, or its first and last day, sees at once that it was read wrongly."""
    notices = sorted_in(columns)[1]
    assert [line.partition("' ")[2] for line in notices if line.endswith(tuple(said))] == said


@pytest.mark.parametrize(("columns", "options", "words"), [
    ({"w": ["1", "many"]}, {"weight_column": "w"}, "column 'w', row 2: 'many' is not a number"),
    ({"t": ["2024-05-31", "soon"]}, {"time_column": "t"}, "column 't', row 2: 'soon' is not a date"),
    ({"x": [1.0, float("inf")]}, {}, "column 'x', row 2 is infinite"),
    ({"time": ["2024-05-31", "2024-06-01", "2024-06-02", "0002-01-01"]}, {}, "'0002-01-01' is not a date"),
    ({"time": ["31/05/2024", "30/05/2024", "29/05/2024", "01/01/0001"]}, {}, "'01/01/0001' is not a date"),
    ({"x": ["1", "2", "n.b."]}, {},
     r"column 'x', row 3: 'n.b.' is not a number.*category=\['x'\] to read.* or ignore="),
])  # fmt: skip
def test_cells_that_do_not_fit_are_refused(columns: dict[str, Any], options: dict[str, Any], words: str) -> None:
    refuses(words, columns, **options, by=sorted_in)


# node 0 pays 1 twice (10 and 60) and 2 once (20); node 3 pays 2 once (-8); node 4 has no rows
ROWS = EdgeRows(
    np.array([0, 0, 0, 3]),
    np.array([1, 1, 2, 2]),
    numbers=[pl.Series("amount", [10.0, 60.0, 20.0, -8.0])],
    times=[pl.Series("day", [1.0, 2.0, 5.0, None])],
    categories=[pl.Series("how", ["cash", "card", "cash", "card"])],
)


def column(kind: str, name: str) -> list[float]:
    matrix, names, _ = derive(ROWS, 5, [kind])
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
    matrix, names, _ = derive(rows, 7, ["sent"])
    largest = matrix[:, names.index("amount sent, maximum for its count")]
    assert largest[:5].tolist() == [-1.0, 0.0, 7.0, -20.0, 20.0]  # 50 and 90 are ordinary for four rows


def test_times_have_gaps_and_bursts() -> None:
    source = np.array([0] * 4 + [1] * 4)
    times = pl.Series("t", [0.0, 1.0, 2.0, 3.0, 0.0, 0.0, 0.0, 9.0])
    matrix, names, _ = derive(EdgeRows(source, source + 2, times=[times]), 4, ["sent"])
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
    matrix, names, _ = derive(ROWS, 5, ["structure", "sent", "received"])
    assert len(set(names)) == len(names) and not any(np.ptp(values) == 0 for values in matrix.T)
    once = EdgeRows(np.array([0, 1, 1]), np.array([1, 2, 3]))
    _, names, left_out = derive(once, 4, ["structure", "sent", "received"])
    assert "edges sent, log count" in names
    assert left_out["out-degree, log"] == "edges sent, log count"  # the same numbers
    assert left_out["reciprocity"] == 0.0


def test_usual_values_are_interpolated_between_counts() -> None:
    counts = np.array([1.0, 1.0, 1.0, 16.0, 4.0])
    assert usual(np.array([1.0, 2.0, 9.0, 10.0, np.nan]), counts).tolist() == [2.0, 2.0, 2.0, 10.0, 6.0]
    assert usual(np.full(2, np.nan), np.ones(2)).tolist() == [0.0, 0.0]


def test_structure_equals_that_of_networkx() -> None:
    rng = np.random.default_rng(0)
    source = rng.integers(0, 40, 300)
    target = np.minimum(39, (rng.random(300) ** 2 * 40).astype(np.int64))  # some nodes get many
    found = structure(Arcs.of(source, target, 41))
    assert tuple(found) == STRUCTURE
    graph = nx.DiGraph([(a, b) for a, b in zip(source.tolist(), target.tolist(), strict=True) if a != b])
    graph.add_nodes_from(range(41))
    plain = graph.to_undirected()
    degree = dict(plain.degree)
    for node in range(41):
        near = [np.log1p(degree[other]) for other in plain[node]] or [0.0]
        mutual = sum(graph.has_edge(other, node) for other in graph.successors(node))
        outside = sum(node != far and far not in plain[node] for other in plain[node] for far in plain[other])
        expected = [
            np.log1p(graph.out_degree(node)), np.log1p(graph.in_degree(node)), mutual / max(degree[node], 1),
            nx.clustering(plain, node), nx.core_number(plain)[node], np.mean(near), np.std(near),
            np.log1p(outside / max(degree[node], 1)),
        ]  # fmt: skip
        np.testing.assert_allclose([values[node] for values in found.values()], expected, atol=1e-6)


def test_core_numbers_skip_levels_and_reach_isolated_nodes() -> None:
    cliques = [np.stack(np.triu_indices(size, k=1)) + offset for size, offset in ((3, 0), (30, 3), (12, 33))]
    source, target = np.concatenate(cliques, axis=1)
    cores = structure(Arcs.of(source, target, 46))["core number"]
    assert cores.tolist() == [2.0] * 3 + [29.0] * 30 + [11.0] * 12 + [0.0]


def test_numbers_of_payments_and_free_text_are_left_out_unless_named() -> None:
    """What hardly ever repeats says nothing about a node; copies of a row are named, because they count twice."""
    rows = pl.DataFrame(
        {"source": list("abcd") * 5, "target": list("bcda") * 5, "amount": [*range(1, 20), 1],
         "Invoice No": [f"A{row}" for row in range(19)] + ["A0"], "channel": ["web", "shop"] * 10,
         "memo": [f"see {row // 2}" for row in range(18)] + ["rent", None], "Trans-Nr.": [*range(500, 538, 2), 500]}
    )  # fmt: skip
    graph = load(rows, notices=(notices := []))
    assert not [name for name in graph.attribute_names if name.startswith(("Invoice", "Trans", "memo"))]
    assert "Columns 'Invoice No' and 'Trans-Nr.' only identify rows and are left out." in notices
    said = "Column 'memo' has different values in most rows and is left out; pass category=['memo'] to keep it."
    assert said in notices
    kept = load(rows, category=["memo"], notices=[])
    assert "memo sent, different values for its count" in kept.attribute_names
    copied = pl.concat([rows, rows[3:5]])
    load(copied, notices=(notices := []))
    said = "2 rows are exact copies of earlier rows, first row 21 of the data, and counted again; remove what was not"
    assert said in str(notices) and "21 rows" not in str(notices)


@pytest.mark.parametrize(("dates", "pattern"), [
    (["01.03.2024", "02.03.2024", "03.03.2024", "04.03.2024", None], "%d.%m.%Y"),
    (["2024-03-13 08:00", "2024-03-14", "2024-03-15", "2024-03-16", None], "%Y-%m-%d"),
    (["03/13/2024", "03/14/2024", "03/15/2024", "03/16/2024", None], "%m/%d/%Y"),
])  # fmt: skip
def test_dates_are_shown_as_the_file_writes_them(dates: list[str | None], pattern: str) -> None:
    frame = pl.DataFrame({"from": list("abcab"), "to": list("bcaca"), "day": dates})
    assert load(frame, notices=[]).events.dates == pattern


TIMES = "times such as 2024-05-31 17:30"


@pytest.mark.parametrize(("name", "words"), [
    ("amount", ["１２", "３", "４"]), ("amount", ["1,234.56", "1.234,56", "1k"]),
    ("Date", ["31. Mai", "1. Juni", "1. Juni"]),
])  # fmt: skip
def test_text_under_the_name_of_an_amount_or_a_time_is_said(name: str, words: list[str]) -> None:
    found, notices = sorted_in({name: [*words, words[0]]})
    assert list(found.categories) == [name]
    wanted, example = ("numbers", "plain numbers such as 1234.50") if name == "amount" else ("times", TIMES)
    said = f"Column {name!r} holds text (such as {words[0]!r}) instead of {wanted}"
    assert notices[0] == f"{said} and is read as categories; write {example}."
    for cells, why in ([*words[:2], f"{words[2]}?"], said), ([None] * 3, f"Column {name!r} has no value at all"):
        notices = sorted_in({name: cells})[1]
        assert notices == [f"{why} and is left out; write {example}."] and not isinstance(notices[0], Detail)


@pytest.mark.parametrize("role", ["weight_column", "time_column"])
def test_an_end_is_neither_weight_nor_time(role: str) -> None:
    edges = pl.DataFrame({"source": ["a", "b", "c"], "target": ["b", "c", "a"], "amount": [1.0, 2.0, 3.0]})
    for column, ignore in (("target", ()), ("amount", ("amount",))):
        refuses(f"column '{column}' cannot be the", edges, ignore=ignore, **{role: column})
