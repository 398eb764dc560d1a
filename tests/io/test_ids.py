"""Ids and ends: their types, ids without a row, two kinds of nodes, and which columns hold them."""

import re
from pathlib import Path
from typing import Any

import polars as pl
import pytest

from hopsight.graph import AttributedGraph
from hopsight.io.notices import Detail
from hopsight.io.tables import read_tables
from hopsight.loading import load

from .cases import loaded, put, refuses


@pytest.mark.parametrize("suffix", [".csv", ".parquet"])
def test_one_node_stays_one_node(tmp_path: Path, suffix: str) -> None:
    floats = pl.DataFrame({"source": [5.0, 6.0, float("nan"), 7.0], "target": [6, 7, 8, 5]})
    texts = pl.DataFrame({"source": [" a ", "a", "b", None], "target": ["b", "c ", "\u00a0c", "a"]})
    for frame, expected in ((floats, [5, 6, 7]), (texts, ["a", "b", "c"])):
        path, notices = tmp_path / f"edges{suffix}", list[str]()
        (frame.write_csv if suffix == ".csv" else frame.write_parquet)(path)
        nodes = pl.DataFrame({"id": [*expected, None], "x": [1.0, 2.0, 4.0, 3.0]})
        graph = load(path, nodes, notices=notices)
        assert graph.node_ids.tolist() == expected and graph.n_edges == 3
        assert sum(each.startswith("Left out 1 row without a node id, first row") for each in notices) == 2


def test_ids_that_lost_digits_are_refused() -> None:
    for target in (pl.Series([2.0**53 + 2, 2.0]), pl.Series([400000001.0, 2.0], dtype=pl.Float32)):
        refuses(r"column 'target', row 1: .* has lost digits", pl.DataFrame({"source": [1, 2], "target": target}))


def test_ids_that_a_spreadsheet_writes_with_a_decimal_comma_are_whole_numbers(tmp_path: Path) -> None:
    nodes = put(tmp_path / "nodes.csv", "id;age", ["0,0;31", "1,0;40", "10,0;52"])
    graph, _ = loaded(circle([0, 1, 10]), nodes=nodes)
    assert graph.node_ids.tolist() == [0, 1, 10] and graph.known is None


@pytest.mark.parametrize("suffix", [".csv", ".parquet"])
def test_words_for_a_missing_id_are_no_node(tmp_path: Path, suffix: str) -> None:
    words = ["a", "NaN", "null", "None", "N/A", "#N/A", "b", "NA", "nil", "-"]
    frame = pl.DataFrame({"source": words, "target": ["c"] * 10})
    path, notices = tmp_path / f"edges{suffix}", list[str]()
    (frame.write_csv if suffix == ".csv" else frame.write_parquet)(path)
    assert load(path, notices=notices).node_ids.tolist() == ["NA", "a", "b", "c", "nil"]
    assert "Left out 6 rows without a node id, first row 2 of the data." in notices


def circle(ids: list[Any]) -> pl.DataFrame:
    """Return edges from each of the ids to the next one."""
    return pl.DataFrame({"source": ids, "target": [*ids[1:], ids[0]]})


@pytest.mark.parametrize(("one", "other", "said"), [
    ("+49 22", "004922", "such as '+49 22' and '004922', differ only in how they are written"),
    ("K2", "k2", "2 node ids, such as 'K2' and 'k2', differ only in upper and lower case"),
    ("001", "1", "2 node ids, such as '001' and '1', differ only in leading zeros"),
    ("DE00 01", "DE0001", "such as 'DE00 01' and 'DE0001', differ only in spaces, commas, quotes or a plus"),
    ("A-01", "A-1", "such as 'A-01' and 'A-1', differ only in leading zeros"),
    ("a_1", "a-1", "such as 'a_1' and 'a-1', differ only in the signs between their parts"),
    ("Zo\u00eb", "Zoe\u0308", "differ only in how characters are encoded and are read as different nodes"),
    ("１２３", "123", "such as '１２３' and '123', differ only in how characters are encoded"),
    ("1234.56.78903", "12345678903", "'12345678903', differ only in signs between their parts"),
    ("20 00 00 123456", "20-00-00-123456", "differ only in signs between their parts"),
    ('="1001"', "1001", "differ only in spaces, commas, quotes or a plus"),
    ("ann", "an\u200bn", r"such as 'ann' and 'an\u200bn', differ only in characters that are not seen"),
])  # fmt: skip
def test_ids_that_differ_only_in_form_are_named(one: str, other: str, said: str) -> None:
    nodes = pl.DataFrame({"id": [one, other, "x"], "x": [1.0, 2.0, 4.0]})
    graph, notices = loaded(circle([one, other, "x"]), nodes=nodes)
    assert graph.n_nodes == 3 and any(said in each for each in notices)


def test_addresses_whose_parts_differ_are_not_alike() -> None:
    ids = ["10.0.11.1", "10.0.1.11", "10.01.1.1", "x"]
    _, notices = loaded(pl.DataFrame({"source": ids, "target": [*ids[1:], ids[1]]}))
    assert not any("differ only" in each for each in notices)


def test_numbers_with_an_exponent_and_all_digits_are_whole() -> None:
    frame = pl.DataFrame({"from": ["1.2345678901E10", "7"], "to": ["8", "12345678901"]})
    assert load(frame, notices=[]).node_ids.tolist() == ["12345678901", "7", "8"]


def test_ids_that_a_spreadsheet_has_rounded_are_noticed(tmp_path: Path) -> None:
    for lines, said in (
        (["1.23457E+11,7", "8,1.23458E+11"], "Column 'to' has ids such as '1.23458E+11', which have lost digits"),
        (["1.23457e+11,7", "8,9"], "Column 'from' has ids such as '1.23457e+11', which have lost digits"),
    ):
        assert any(each.startswith(said) for each in loaded(put(tmp_path / "edges.csv", "from,to", lines))[1])


@pytest.mark.parametrize(("edge_ids", "node_ids", "said"), [
    (["0007", "0008", "0009"], [7, 8, 9], "3 ids are written differently in the node table: '0007' is '7' there."),
    (["Zoe\u0308", "\u00e9", "cy"], ["Zo\u00eb", "e\u0301", "cy"], "2 ids are written differently"),
    (["usr_1", "usr_20", "cy"], ["USR-000001", "USR-000020", "cy"],
     "2 ids are written differently in the node table: 'usr_1' is 'USR-000001' there"),
    (["DE89 3704 0044 0532 0130 00", "ann", "cy"], ["DE89370400440532013000", "ann", "cy"],
     "1 id is written differently in the node table: 'DE89 3704 0044 0532 0130 00' is 'DE89370400440532013000'"),
    (["Ann", "DE 01", "cy"], ["ann", "de01", "cy"], "2 ids are written differently in the node table: 'Ann'"),
    (["1234.56.78900", "ann", "cy"], ["12345678900", "ann", "cy"], "1 id is written differently in the node table"),
    (["1234.56.78900", "ann", "cy"], ["1234-56-78900", "ann", "cy"], "1 id is written differently"),
    (["ann", "Ann", "cy"], ["ann", "bo", "cy"], "1 id is written differently in the node table: 'Ann' is 'ann'"),
])  # fmt: skip
def test_an_id_may_be_written_differently(edge_ids: list[str], node_ids: list[object], said: str) -> None:
    graph, notices = loaded(circle(edge_ids), nodes=pl.DataFrame({"id": node_ids, "age": [20, 30, 40]}))
    assert graph.node_ids.tolist() == list(map(str, node_ids)) and graph.known is None
    assert any(each.startswith(said) for each in notices)


def test_ids_are_read_from_the_column_that_the_edges_name() -> None:
    nodes = pl.DataFrame({"id": [1, 2, 3], "email": ["a@x", "b@x", "c@x"], "age": [20, 30, 40]})
    graph, notices = loaded(circle(["a@x", "b@x", "c@x"]), nodes=nodes)
    assert graph.node_ids.tolist() == ["a@x", "b@x", "c@x"]
    assert "Read node ids from column 'email'." in notices


@pytest.mark.parametrize(("columns", "ends", "read"), [
    ("customer_id,account_id", "from_account_id,to_account_id", "account_id"),
    ("customer_id,account_id", "source,target", "customer_id"),
    ("client_no,account_id", "from_account_id,to_account_id", "account_id"),
    ("row,account_no", "sender_account,receiver_account", "account_no"),
    ("id,account", "sender_account,receiver_account", "account"),
    ("balance_rank,id", "payer,payee", "id"),
])  # fmt: skip
def test_of_columns_with_the_same_ids_one_is_read_by_its_name(columns: str, ends: str, read: str) -> None:
    ids, others = range(1, 31), [i * 7 % 31 for i in range(1, 31)]
    edges = circle([*ids]).rename(dict(zip(("source", "target"), ends.split(","), strict=True)))
    first, second = columns.split(",")
    nodes = pl.DataFrame({first: others, second: ids, "age": [1, 2, 3] * 10})
    graph, notices = loaded(edges, nodes=nodes)
    assert graph.node_ids.tolist() == nodes[read].to_list()
    other = first if read == second else second
    said = f"Read node ids from column {read!r}; {other!r} has about as many ids of the edges"
    assert any(each.startswith(said) and not isinstance(each, Detail) for each in notices)


@pytest.mark.parametrize(("first", "ids"), [("customer_id", range(11, 41)), ("", range(30)), ("", range(1, 31))])
def test_the_column_with_most_ids_of_the_edges_is_read(first: str, ids: range) -> None:
    nodes = pl.DataFrame({first: [*ids], "code": range(1, 31), "age": [1, 2, 3] * 10})
    assert loaded(circle([*range(1, 31)]), nodes=nodes)[0].node_ids.tolist() == [*range(1, 31)]


def test_tables_that_have_nothing_in_common() -> None:
    message = (
        "5 of 5 node ids in the edges have no row in the node table: 'a', 'b', 'c', …; it has 'x', 'y', 'z', … "
        "instead; name the right columns with id_column, source_column and target_column"
    )
    refuses(f"^{re.escape(message)}$", circle(list("abcde")), nodes=pl.DataFrame({"id": list("xyzw"), "age": range(4)}))


OUTSIDE = pl.DataFrame({"source": ["a", "b", "x9", "c", "d"], "target": ["b", "c", "a", "x10", "a"]})
PEOPLE = pl.DataFrame(
    {"id": ["d", "c", "b", "a"], "age": [30, 40, 50, 90], "city": ["Oslo", "Rome", "Oslo", "Oslo"], "vip": [0, 0, 1, 0]}
)


def test_ids_without_a_row_become_nodes_without_attributes() -> None:
    graph = load(OUTSIDE, PEOPLE, notices=(notices := []))
    assert graph.node_ids.tolist() == ["d", "c", "b", "a", "x10", "x9"]
    assert graph.known.tolist() == [True] * 4 + [False] * 2
    assert graph.ranked.tolist() == graph.known.tolist()
    assert graph.attribute_names == ("age", "city=Oslo", "city=Rome", "vip")
    assert graph.attributes[4:].tolist() == [[45, 0, 0, 0], [45, 0, 0, 0]]  # the median; no city
    words = "2 ids have no row in the node table ('x10', 'x9'): not ranked; pass rank_unknown=True to rank them."
    assert words in notices
    ranked = load(OUTSIDE, PEOPLE, rank_unknown=True, notices=notices)
    assert ranked.known.tolist() == [True] * 4 + [False] * 2 and ranked.ranked is None
    assert any("('x10', 'x9'): ranked without attributes." in each for each in notices)


def test_nodes_are_left_out_of_the_ranking_by_a_value_of_the_node_table() -> None:
    graph = load(OUTSIDE, PEOPLE, ignore=["city=rome", "vip"], rank_unknown=True, notices=(notices := []))
    assert graph.ranked.tolist() == [True, False, True, True, True, True] and graph.n_edges == load(OUTSIDE).n_edges
    assert "Not ranked: 1 node with city=rome." in notices and "vip" not in graph.attribute_names
    graph = load(OUTSIDE, PEOPLE, ignore=["vip=1"], notices=[])
    assert graph.ranked.tolist() == [True, True, False, True, False, False]
    load(OUTSIDE, PEOPLE, ignore=["city=Roma"], notices=notices)
    assert "No row has city=Roma: look up how the table writes that value." in notices
    with pytest.raises(ValueError, match=r"no node is left to rank: ignore=\['city=Oslo', 'city=Rome'\]"):
        load(OUTSIDE, PEOPLE, ignore=["city=Oslo", "city=Rome"], notices=[])


def test_a_column_of_both_tables_leaves_out_edges_only() -> None:
    paid = OUTSIDE.with_columns(city=pl.Series(["Rome", *["Oslo"] * (OUTSIDE.height - 1)]))
    graph = load(paid, PEOPLE, ignore=["city=Rome"], notices=(notices := []))
    assert graph.unranked is None and "Left out 1 row with city=Rome." in notices


def test_where_every_id_has_a_row_nothing_is_said_of_it() -> None:
    assert load(OUTSIDE.head(2), PEOPLE, notices=[]).known is None


RATINGS = pl.DataFrame({"user": [1, 1, 2, 3], "item": [1, 2, 2, 3], "stars": [5, 1, 4, 3]})


def read(edges: pl.DataFrame = RATINGS, nodes: Any = None, **options: Any) -> AttributedGraph:
    return read_tables(edges, nodes, notices=options.pop("notices", []), **options)


def test_ids_of_both_kinds_are_kept_apart() -> None:
    graph = read(notices=(notices := []))
    assert graph.node_ids.tolist() == ["item:1", "item:2", "item:3", "user:1", "user:2", "user:3"]
    assert graph.node_types.tolist() == ["item"] * 3 + ["user"] * 3 and graph.n_edges == 4
    assert any("'user' and 'item' as two kinds of nodes" in notice for notice in notices)


def test_ids_that_do_not_overlap_stay_as_they_are() -> None:
    graph = read(RATINGS.with_columns(item=pl.col("item") + 100))
    assert graph.node_ids.tolist() == [1, 2, 3, 101, 102, 103]
    assert graph.node_types.tolist() == ["user"] * 3 + ["item"] * 3


def test_the_names_can_be_overruled() -> None:
    assert read(bipartite=False).n_nodes == 3
    plain = RATINGS.rename({"user": "a", "item": "b"})
    assert read(plain).n_nodes == 3
    assert read(plain, bipartite=True).node_types.tolist() == ["a"] * 3 + ["b"] * 3


def test_a_node_table_says_which_kind_a_node_is() -> None:
    nodes = pl.DataFrame({"id": [1, 1, 2, 2, 3, 3], "kind": ["user", "item"] * 3, "age": [30, 2, 40, 3, 50, 4]})
    graph = read(nodes=nodes, type_column="kind", derive="none")
    assert graph.node_ids.tolist() == ["user:1", "item:1", "user:2", "item:2", "user:3", "item:3"]
    assert graph.attribute_names == ("age",)
    refuses(r"user and item share ids.*pass type_column", nodes=nodes.head(1).drop("kind"), by=read)
    with pytest.raises(ValueError, match="type 'shop' of a node is neither 'user' nor 'item'"):
        read(nodes=nodes.with_columns(kind=pl.lit("shop")), type_column="kind")


@pytest.mark.parametrize("kind", [pl.Binary, pl.Object])
@pytest.mark.parametrize(("last", "ids"), [(b"\xff", ["61", "b", "c", "ff"]), (b"d", ["a", "b", "c", "d"])])
def test_bytes_are_text_or_hexadecimal_digits(kind: Any, last: bytes, ids: list[str]) -> None:
    source = pl.Series("source", [b"a", last], dtype=kind)
    graph = load(pl.DataFrame([source, pl.Series("target", ["b", "c"]), pl.Series("amount", [1.0, 2.0])]))
    assert sorted(graph.node_ids.tolist()) == ids
