"""Several tables are one graph: what is joined, what one type sees, and what is refused."""

import re
import sqlite3
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import pytest

import hopsight as hs
from hopsight.canonical import Context
from hopsight.explanations import Explainer
from hopsight.explanations.relations import relation_reasons
from hopsight.io.tables import Description, EdgeTable, NodeTable, read_several
from hopsight.io.typed import are_apart, own_degrees, view
from hopsight.loading import describe
from hopsight.report.nodes import PageNodes

from .cases import refuses

USERS = pl.DataFrame({"id": [1, 2, 3, 4], "age": [20, 30, 40, 50], "fraud": [0, 0, 1, 0]})
DEVICES = pl.DataFrame({"id": [1, 2, 3], "price": [100.0, 300.0, 900.0]})
PAID = pl.DataFrame({"a": [1, 1, 3], "b": [2, 2, 4], "amount": [5.0, 7.0, 9.0]})
USED = pl.DataFrame({"u": [1, 2, 3, 4, 4], "d": [1, 1, 2, 2, 3]})
OWNS = pl.DataFrame({"u": [3, 3, 4], "card": ["x", "y", "y"]})


def bank(**changes: Any) -> Any:
    nodes = {"user": {"file": USERS, "label": "fraud"}, "device": DEVICES} | changes.pop("nodes", {})
    edges = {("user", "paid", "user"): PAID, ("user", "used", "device"): USED, ("user", "owns", "card"): OWNS}
    return hs.load(nodes=nodes, edges=edges | changes.pop("edges", {}), notices=[], **changes)


def test_types_keep_their_ids_attributes_and_labels_apart() -> None:
    graph = bank()
    assert graph.node_ids.tolist() == [
        "user:1", "user:2", "user:3", "user:4", "device:1", "device:2", "device:3", "card:x", "card:y",
    ]  # fmt: skip
    assert graph.labels.tolist() == [0, 0, 1, 0, -1, -1, -1, -1, -1]
    price = graph.attributes[:, graph.attribute_names.index("device.price")]
    assert price.tolist() == [0, 0, 0, 0, 100, 300, 900, 0, 0]  # no other type's mean
    relations = [graph.relation_names[number] for number in graph.edge_relation]
    named = {tuple(graph.node_ids[pair]): name for pair, name in zip(graph.edges.T, relations, strict=True)}
    assert named[("user:1", "user:2")] == "paid" and named[("user:4", "card:y")] == "owns"
    assert graph.n_edges == 2 + 5 + 3


def test_a_notice_about_one_of_several_tables_is_said_once(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    (tmp_path / "paid.csv").write_bytes("von;nach;ort\na;b;Köln\nb;c;Bonn\nc;a;Köln\n".encode("cp1252"))
    (tmp_path / "graph.toml").write_text(
        '[edges.paid]\nfile = "paid.csv"\nsource_type = "x"\ntarget_type = "x"\ndirected = false'
    )
    hs.load(tmp_path / "graph.toml")
    said = [text for text in caplog.messages if "Windows-1252" in text]
    assert len(said) == 1 and said[0].startswith("paid: Read paid.csv as Windows-1252, because it is not UTF-8; ")


def test_columns_of_edges_between_types_are_summarized_without_counts_and_directions() -> None:
    graph = bank(edges={("user", "used", "device"): USED.with_columns(hours=pl.Series([1.0, 2.0, 4.0, 8.0, 16.0]))})
    medians = [
        graph.attributes[:, graph.attribute_names.index(f"{kind}.used: hours, median")] for kind in ("user", "device")
    ]
    assert (medians[0][:4].tolist(), medians[1][4:7].tolist()) == ([1, 2, 4, 12], [1.5, 6, 16])
    used = [name for name in graph.attribute_names if ".used: " in name]
    assert not any(word in name for name in used for word in ("log count", " sent", " received"))


def test_one_type_sees_what_its_nodes_share_and_count() -> None:
    seen = bank(rank="user")
    assert seen.node_ids.tolist() == [1, 2, 3, 4] and set(seen.node_types) == {"user"}
    named = {
        tuple(seen.node_ids[pair].tolist()): seen.relation_names[number]
        for pair, number in zip(seen.edges.T, seen.edge_relation, strict=True)
    }
    assert named == {(1, 2): "paid, shared device", (3, 4): "paid, shared card, shared device"}
    assert own_degrees(seen).tolist() == [1, 1, 1, 1]
    fewer = bank(edges={("user", "paid", "user"): PAID[:2]}, rank="user")
    assert own_degrees(fewer).tolist() == [1, 1, 0, 0]  # 3 and 4 only share a device
    counts = dict(zip(seen.context.names, seen.context.counts.T.tolist(), strict=True))
    assert counts["outgoing edges 'paid'"] == [2, 0, 1, 0]
    assert counts["device"] == [1, 1, 1, 2] and counts["card"] == [0, 0, 2, 1]
    shared = dict(zip(seen.context.types, seen.context.shared.T.tolist(), strict=True))
    assert shared == {"card": [0, 0, 1, 1], "device": [1, 1, 1, 1]}
    price = seen.context.means[:, seen.context.mean_names.index("device price, mean")]
    assert price.tolist() == [100, 100, 300, 600]  # users of one device are alike in it: no attribute
    assert "age" in seen.attribute_names and not any(name.startswith("device") for name in seen.attribute_names)


def test_who_pays_itself_has_no_row_more_for_it() -> None:
    loops = pl.concat([PAID, pl.DataFrame({"a": [2, 4], "b": [2, 4], "amount": [1.0, 1.0]})])
    edges, notices = {("user", "paid", "user"): loops, ("user", "used", "device"): USED}, list[str]()
    seen = hs.load(nodes={"user": USERS, "device": DEVICES}, edges=edges, rank="user", notices=notices)
    counts = dict(zip(seen.context.names, seen.context.counts.T.tolist(), strict=True))
    assert counts["outgoing edges 'paid'"] == [2, 0, 1, 0] and "paid: Removed 2 self-loops." in notices


def test_a_relation_that_reaches_no_node_of_the_ranked_type_is_named() -> None:
    edges = {("user", "paid", "user"): PAID, ("customer", "used", "device"): USED}
    hs.load(nodes={"user": USERS, "device": DEVICES}, edges=edges, rank="user", notices=(notices := list[str]()))
    assert "Not used: the edges of 'used': it has no node of type 'user'." in notices


def test_ids_of_a_type_without_a_table_that_differ_only_in_form_are_named() -> None:
    paid = pl.DataFrame({"a": ["0012", "0345"], "b": ["0345", "0678"]})
    edges = {("user", "paid", "user"): paid, ("user", "has", "card"): pl.DataFrame({"u": ["12"], "c": ["C1"]})}
    hs.load(edges=edges, rank="user", notices=(notices := list[str]()))
    assert any(each.startswith("user: 2 node ids, such as '0012' and '12', differ only in") for each in notices)


def test_what_nodes_of_two_types_share_is_named_where_few_do() -> None:
    """Supplier 3 has the account of employee E2; the other five accounts belong to one supplier each."""
    edges = {
        ("supplier", "billed", "employee"): pl.DataFrame({"a": [*range(1, 7)], "b": ["E1", "E2"] * 3}),
        ("supplier", "has", "iban"): pl.DataFrame({"a": [*range(1, 7)], "b": [f"DE{k}" for k in range(1, 7)]}),
        ("employee", "owns", "iban"): pl.DataFrame({"a": ["E1", "E2"], "b": ["DE9", "DE3"]}),
    }
    hs.load(edges=edges, rank="supplier", notices=(notices := list[str]()))
    said = "1 node of type 'iban', such as DE3, connects nodes of type 'supplier' with nodes of type 'employee'"
    assert [each.partition(", which are not")[0] for each in notices if "such as" in each] == [f"{said} (3 and E2)"]


def test_popular_nodes_connect_nobody_and_count_less() -> None:
    many = pl.DataFrame({"u": [*range(40), 0, 1], "d": ["shop"] * 40 + ["phone"] * 2})
    seen = hs.load(edges={("user", "used", "device"): many}, rank="user", notices=[])
    assert seen.edges.tolist() == [[0], [1]]
    one_of_two = (1 + 2 * np.log2(2)) / np.log2(40) ** 2
    assert seen.context.rarity[[0, 2], 0].tolist() == pytest.approx([1 + one_of_two, one_of_two])


def test_the_order_of_rows_changes_no_bit() -> None:
    nodes = {"device": DEVICES[::-1], "user": USERS[[2, 0, 3, 1]]}
    edges = {
        ("user", "owns", "card"): OWNS[::-1], ("user", "used", "device"): USED[[4, 1, 0, 3, 2]],
        ("user", "paid", "user"): PAID[::-1],
    }  # fmt: skip
    mixed = hs.load(nodes=nodes, edges=edges, rank="user", notices=[])
    seen = bank(nodes={"user": USERS}, rank="user")
    order = np.argsort(mixed.node_ids)
    columns = [mixed.attribute_names.index(name) for name in seen.attribute_names]
    assert mixed.attributes[order][:, columns].tolist() == seen.attributes.tolist()


def test_a_file_names_the_tables_and_the_type_to_rank(tmp_path: Path) -> None:
    with sqlite3.connect(tmp_path / "bank.db") as connection:
        connection.execute("CREATE TABLE users (id INTEGER, age REAL, fraud INTEGER)")
        connection.executemany("INSERT INTO users VALUES (?, ?, ?)", USERS.rows())
    PAID.write_csv(tmp_path / "paid.csv")
    USED.write_parquet(tmp_path / "used.parquet")
    (tmp_path / "graph.toml").write_text(
        'rank = "user"\n[nodes.user]\nfile = "bank.db?table=users"\nlabel = "fraud"\n'
        '[edges.paid]\nfile = "paid.csv"\nsource_type = "user"\ntarget_type = "user"\nweight = "amount"\n'
        '[edges.used]\nfile = "used.parquet"\nsource_type = "user"\ntarget_type = "device"\n'
    )
    seen = hs.load(tmp_path / "graph.toml", notices=[])
    assert seen.labels.tolist() == [0, 0, 1, 0] and seen.context.types == ("device",)
    lines, record, _ = describe(tmp_path / "graph.toml")
    assert lines[0].startswith("user: 4 nodes (id 'id', 4 of them in edges), with labels, ")
    assert lines[3] == "used: 5 edge rows, user ('u') to device ('d')" and record["nodes"] == 7
    other = hs.load(tmp_path / "graph.toml", rank="device", notices=[])
    assert other.node_ids.tolist() == [1, 2, 3]
    (tmp_path / "paid.csv").write_text("payer,payee,amount\n1,2,5\n2,3,n.n.\n")
    refuses(re.escape('or pass edges.paid.category = ["amount"] to read the column as'), tmp_path / "graph.toml")


def test_a_pair_of_types_can_be_ranked_without_a_file() -> None:
    edges = pl.DataFrame({"user": ["a", "b", "c", "d"], "item": ["x", "x", "y", "y"]})
    seen = hs.load(edges, rank="user", notices=[])
    assert seen.node_ids.tolist() == ["a", "b", "c", "d"] and seen.n_edges == 2


PERSONS = pl.DataFrame({"person_id": ["p1", "p2", "p3"], "age": [20, 30, 40]})
GARAGES = pl.DataFrame({"garage_id": ["g1", "g2"], "size": [1.0, 2.0]})
REPAIRS = pl.DataFrame({"claim_no": [1, 2, 3], "person_id": ["p1", "p2", "p3"], "garage_id": ["g1", "g1", "g2"]})


@pytest.mark.parametrize(("names", "types", "expected"), [
    (["claim_no", "person_id", "garage_id"], ("person", "garage"), "person ('person_id') to garage ('garage_id')"),
    (["claim_no", "person_id", "garage_id"], ("garage", "person"), "garage ('garage_id') to person ('person_id')"),
    (["claim_no", "person_id", "garage_id"], (None, None), "person ('person_id') to garage ('garage_id')"),
    (["claim_no", "person_id", "garage_id"], ("person", None), "person ('person_id') to garage ('garage_id')"),
    (["vorgang", "kunde", "werkstatt"], ("person", "garage"), "person ('kunde') to garage ('werkstatt')"),
    (["vorgang", "kunde", "werkstatt"], (None, None), "person ('kunde') to garage ('werkstatt')"),
])  # fmt: skip
def test_ends_of_a_relation_are_known_by_name_or_ids(names: list[str], types: Any, expected: str) -> None:
    repairs = REPAIRS.rename(dict(zip(REPAIRS.columns, names, strict=True)))
    nodes = {"person": NodeTable(PERSONS), "garage": NodeTable(GARAGES)}
    given = Description(nodes, {"repair": EdgeTable(repairs, source_type=types[0], target_type=types[1])})
    _, lines = read_several(given, notices=(notices := []))
    assert lines[-1] == f"repair: 3 edge rows, {expected}"
    assert any(line.startswith("repair: Read edges from column ") for line in notices)


def test_ids_of_a_type_that_is_called_otherwise_name_it() -> None:
    nodes = {"insured": NodeTable(PERSONS), "workshop": NodeTable(GARAGES.with_columns(name=pl.lit("Weber")))}
    lines = read_several(Description(nodes, {"repair": EdgeTable(REPAIRS)}), notices=[])[1]
    assert lines[-1] == "repair: 3 edge rows, insured ('person_id') to workshop ('garage_id')"


def test_ends_that_are_not_clear_are_refused_with_advice_that_works() -> None:
    """Both the insured and the witness are persons; and numbers 1 to 3 are ids of both types."""
    nodes = {"person": NodeTable(PERSONS), "garage": NodeTable(GARAGES)}
    columns = {"vorgang": ["c1", "c2"], "kunde": ["p1", "p2"], "zeuge": ["p2", "p3"], "ort": ["g1", "g2"]}
    unclear = EdgeTable(pl.DataFrame(columns))
    with pytest.raises(ValueError, match="'kunde', 'zeuge', 'ort' may hold node ids: say source and target of the edg"):
        read_several(Description(nodes, {"repair": unclear}), notices=[])
    shared = EdgeTable(pl.DataFrame({"person": ["p1", "p2"], "device_id": ["d1", "d1"]}))
    with pytest.raises(ValueError, match=r'write target_type = "device" below \[edges.uses\]; otherwise say target, '):
        read_several(Description(nodes, {"uses": shared}), notices=[])
    clear = replace(unclear, source="kunde", target="ort")
    lines = read_several(Description(nodes, {"repair": clear}), notices=[])[1]
    assert lines[-1] == "repair: 2 edge rows, person ('kunde') to garage ('ort')"
    numbers = {"a": NodeTable(pl.DataFrame({"id": [1, 2, 3]})), "b": NodeTable(pl.DataFrame({"id": [1, 2, 3]}))}
    table = EdgeTable(pl.DataFrame({"x": [1, 2], "y": [2, 3]}), target_type="b")
    with pytest.raises(ValueError, match="column 'x' of the edges 'r' may hold ids of type 'a' or 'b': say source_"):
        read_several(Description(numbers, {"r": table}), notices=[])
    lines = read_several(Description(numbers, {"r": replace(table, source_type="a")}), notices=[])[1]
    assert lines[-1] == "r: 2 edge rows, a ('x') to b ('y')"


def two_types() -> Any:
    rng = np.random.default_rng(0)
    users = pl.DataFrame({"id": np.arange(60), "age": rng.normal(size=60), "size": rng.normal(size=60)})
    shops = pl.DataFrame({"id": np.arange(20), "rent": rng.normal(size=20)})
    visits = pl.DataFrame({"user": rng.integers(0, 60, 150), "shop": rng.integers(0, 20, 150)})
    knows = pl.DataFrame({"a": rng.integers(0, 60, 120), "b": rng.integers(0, 60, 120)})
    edges = {("user", "visits", "shop"): visits, ("user", "knows", "user"): knows}
    return hs.load(nodes={"user": users, "shop": shops}, edges=edges, notices=[])


def test_every_type_is_fitted_to_what_it_sees() -> None:
    graph = two_types()
    model = hs.CrossHCM(n_epochs=4, burn_in=2, n_samples=2).fit(graph)
    frame = model.to_frame()
    assert frame.height == 80 and set(frame["type"]) == {"user", "shop"}
    alone = hs.CrossHCM(n_epochs=4, burn_in=2, n_samples=2).fit(view(graph, "shop"))
    assert model.decision_score_[graph.node_types == "shop"].tolist() == alone.decision_score_.tolist()
    assert model.judge(graph).decision_score_.tolist() == model.decision_score_.tolist()
    labels = {graph.node_ids[at]: "anomalous" if at < 6 else "normal" for at in range(20)}
    taught = model.learn(labels)
    shops = graph.node_types == "shop"
    assert taught.probability_.shape == (80,)
    assert taught.decision_score_[shops].tolist() == model.decision_score_[shops].tolist()
    refuses("among their own type: load the graph with rank=", model, "user:1", by=hs.explain)


def test_a_node_whose_surroundings_lack_a_relation_is_explained_after_learning() -> None:
    """User 0 knows two others, far from the users who work together."""
    rng = np.random.default_rng(0)
    users = pl.DataFrame({"id": np.arange(60), "age": rng.normal(size=60), "size": rng.normal(size=60)})
    knows = pl.DataFrame({"a": np.arange(30), "b": (np.arange(30) + 1) % 30})
    works = pl.DataFrame({"a": rng.integers(30, 60, 80), "b": rng.integers(30, 60, 80)})
    edges = {("user", "knows", "user"): knows, ("user", "works with", "user"): works}
    graph = hs.load(nodes={"user": users}, edges=edges, notices=[])
    labels = {at: "anomalous" if at < 6 else "normal" for at in range(0, 60, 2)}
    taught = hs.CrossHCM(**hs.CrossHCM.quick).fit(graph).learn(labels)
    mine = np.flatnonzero((graph.edges == 0).any(axis=0))
    assert np.isfinite(taught.score_without(graph, 0, mine[:1]))


def test_rows_that_name_a_node_again_are_not_counted_as_other_nodes(tmp_path: Path) -> None:
    """Each of 30 users paid 4 shops twice, user 3 paid 8 shops twice and 2 once: 10 shops in 18 rows."""
    shops = {user: [f"s{(user + place) % 20}" for place in range(4)] * 2 for user in range(30)}
    shops[3] = [f"s{place}" for place in range(8)] * 2 + ["s8", "s9"]
    rows = [(user, shop) for user, names in shops.items() for shop in names]
    paid = pl.DataFrame(rows, schema=["u", "s"], orient="row")
    users = pl.DataFrame({"id": np.arange(30), "age": np.arange(30.0)})
    graph = hs.load(nodes={"user": users}, edges={("user", "paid", "shop"): paid}, rank="user", notices=(notices := []))
    assert not any(line.startswith("Amounts and times") for line in notices)
    hs.io.write(graph, tmp_path / "users.npz")
    for known in (graph, hs.load(tmp_path / "users.npz", notices=[])):
        reason = next(relation_reasons(known, 3))
        assert reason.sentence == "Has 18 rows with 10 shops; users usually have 8 rows with 4 shops."
        assert reason.in_short == "18 rows with 10 shops; 8 rows with 4 shops are usual"


def test_a_column_to_learn_from_is_no_attribute_in_any_table() -> None:
    """Claims are nodes and, by their columns of garages, edges: both tables are the same one."""
    claims = pl.DataFrame(
        {"no": range(30), "garage": [f"g{i % 7}" for i in range(30)], "verdict": ["yes", "no", None] * 10}
    )
    given = {"claim": claims.with_columns(cost=pl.col("no") * 1.5)}
    graph = hs.load(nodes=given, edges={("claim", "repaired", "garage"): claims}, learn_from="verdict", notices=[])
    assert not [name for name in graph.attribute_names if "verdict" in name]
    assert "verdict" in graph.aside


def test_names_of_types_in_another_language_are_not_put_into_the_plural() -> None:
    rows = [(user, f"h{(user + place) % 20}") for user in range(30) for place in range(4 + 6 * (user == 3))]
    paid = pl.DataFrame(rows, schema=["k", "h"], orient="row")
    kunden = pl.DataFrame({"id": np.arange(30), "alter": np.arange(30.0)})
    graph = hs.load(nodes={"kunde": kunden}, edges={("kunde", "bezahlt", "haendler"): paid}, rank="kunde", notices=[])
    many, shared = relation_reasons(graph, 3)
    assert many.sentence == "Has 10 'haendler' nodes; 'kunde' nodes usually have 4."
    assert shared.sentence == "Shares 10 'haendler' nodes with 22 'kunde' nodes (haendler h7 with 8: 4, 5, 6, …)."


def test_who_shares_something_is_counted_also_where_it_connects_nobody() -> None:
    """40 users have a garage that connects nobody, because so many have it; users 0 and 1 also have another one."""
    many = pl.DataFrame({"u": [*range(40), 0, 1], "g": ["big"] * 40 + ["small"] * 2})
    edges = {("user", "repaired", "garage"): many}
    graph = hs.load(edges=edges, rank="user", notices=[])
    assert graph.n_edges == 1
    sentences = {node: [reason.sentence for reason in relation_reasons(graph, node)][-1] for node in (0, 2)}
    assert sentences[0] == "Shares 2 garages with 39 users (garage small with 1: 1)."
    assert sentences[2] == "Shares garage big with 39 users (0, 1, 3, …)."


def test_who_shares_only_with_too_many_has_no_connections_and_is_told_why() -> None:
    many = pl.DataFrame({"u": [*range(40), 0, 1], "g": ["big"] * 40 + ["small"] * 2})
    users = pl.DataFrame({"id": range(40), "age": np.arange(40.0) ** 1.5})
    graph = hs.load(
        nodes={"user": users}, edges={("user", "repaired", "garage"): many}, rank="user", notices=(notices := [])
    )
    said = "Connected nodes of type 'user' by what they share: garage (1 pair); 38 nodes share only with too many."
    assert said in notices and are_apart(graph).sum() == 38
    explained = str(hs.explain(hs.LOF().fit(graph), 2))
    assert "no connections." in explained and "too many share to connect it" in explained
    assert "1 connection" in str(hs.explain(hs.LOF().fit(graph), 0))


def test_a_column_called_after_a_receiver_is_the_end_that_the_types_say() -> None:
    """Alone, money would go to the seller; here sellers have devices."""
    sellers = pl.DataFrame({"seller_id": [f"S{i}" for i in range(6)], "x": range(6)})
    used = pl.DataFrame({"seller_id": [f"S{i % 6}" for i in range(12)], "device_id": [f"D{i % 4}" for i in range(12)]})
    for nodes in (
        {"seller": sellers},
        {"seller": sellers, "device": pl.DataFrame({"id": [f"D{i}" for i in range(4)]})},
    ):
        graph = hs.load(nodes=nodes, edges={("seller", "used", "device"): used}, notices=[])
        assert graph.n_nodes == 10 and graph.n_edges == 12


def test_whoever_has_one_thing_in_common_is_no_ring() -> None:
    """Six users of one device are connected with each other: only these edges close triangles."""
    near = [(user, (user + step) % 300) for user in range(300) for step in (1, 7)]
    users = pl.DataFrame({"id": range(300), "age": np.random.default_rng(0).normal(size=300)})
    used = pl.DataFrame({"user": range(0, 300, 50), "device": ["d1"] * 6})
    paid = pl.DataFrame(near, schema=["a", "b"], orient="row")
    tables = {("user", "paid", "user"): paid, ("user", "used", "device"): used}
    model = hs.CrossHCM.untrained(seed=0).fit(hs.load(nodes={"user": users}, edges=tables, rank="user", notices=[]))
    model.edge_hop_, model.edge_surprise_ = (np.full(model.edge_hop_.size, value) for value in (4.0, 9.0))
    for kind in ("ring", "lockstep"):
        model.evidence_[kind] = np.where(np.arange(300) % 50 == 0, 9.0, 0.0)  # they are suspects, and look far apart
    assert [group.members.tolist() for group in model.groups_ if group.kind in ("ring", "lockstep")] == []


def test_the_fewer_things_of_a_type_are_shared_by_as_many_the_more_one_counts() -> None:
    """Of four shared devices, two users share three and five share one: (1 − 3 log₂ ⅖) / (log₂ 5)² = 0.921."""
    links = [[0, 1, 2, 3, 4, 5, *range(5)], [0, 0, 1, 1, 2, 2, 3, 3, 3, 3, 3]]
    counts, sharing = np.ones((6, 1)), [2, 2, 2, 5]
    context = Context(counts, ["device"], ["device"], list("abcd"), [0] * 4, sharing, links, distinct=counts)
    assert context.checked(6).rarity.ravel().round(3).tolist() == [1.921] * 5 + [1.0]


def test_amounts_of_a_relation_between_two_types_are_attributes_and_a_notice_says_so() -> None:
    paid = pl.DataFrame({"u": [1, 1, 2, 3, 4], "s": ["x", "y", "x", "y", "x"], "amount": [5.0, 7.5, 1.0, 2.0, 90.0]})
    notices: list[str] = []
    tables = {("user", "bought", "shop"): paid, ("user", "paid", "user"): PAID}
    graph = hs.load(nodes={"user": USERS}, edges=tables, rank="user", notices=notices)
    said = "Amounts and times of 'bought' become attributes only: the evidence burst, pass_through, cycle and amount "
    assert notices.count(f"{said}needs edges between nodes of one type.") == 1
    assert any(name.startswith("bought: amount") for name in graph.attribute_names)
    assert graph.events.size == 3  # those of PAID


def test_many_cards_and_a_shared_device_are_evidence_with_words(tmp_path: Path) -> None:
    rng = np.random.default_rng(1)
    n = 300
    owned = [(user, card) for user in range(n) for card in range(2 + 12 * (user == 7))]
    cards = pl.DataFrame({"u": [user for user, _ in owned], "c": [f"{user}-{card}" for user, card in owned]})
    used = pl.DataFrame({"u": [*range(n), 20, 21], "d": [f"d{user}" for user in range(n)] + ["d19", "d19"]})
    paid = pl.DataFrame({"a": rng.integers(0, n, 900), "b": rng.integers(0, n, 900)})
    users = pl.DataFrame({"id": np.arange(n), "age": rng.normal(size=n), "size": rng.normal(size=n)})
    edges = {("user", "owns", "card"): cards, ("user", "used", "device"): used, ("user", "paid", "user"): paid}
    graph = hs.load(nodes={"user": users}, edges=edges, rank="user", notices=[])
    model = hs.CrossHCM(n_epochs=6, burn_in=3, n_samples=3).fit(graph)
    assert int(model.evidence_["relations"].argmax()) == 7
    assert set(np.argsort(-model.evidence_["sharing"])[:3].tolist()) == {19, 20, 21}
    assert "Has 14 cards; users usually have 2." in str(hs.explain(model, 7))
    assert "Shares device d19 with 2 users (19, 21)." in str(hs.explain(model, 20))
    shown = PageNodes(Explainer(model, graph))
    drawn = shown.around(20)
    assert sum("shared device" in relation for *_, relation in drawn["edges"]) == 2
    assert drawn["types"] == ["card", "device"]
    assert drawn["others"] == [[1, "d19", 3, sorted([shown.key(19), shown.key(21)], key=drawn["others"][0][3].index)]]
    model.save(tmp_path / "model")
    again = hs.load_detector(tmp_path / "model").judge(graph)
    assert again.decision_score_.tolist() == model.decision_score_.tolist()


@pytest.mark.parametrize("seed", range(8))
def test_one_shared_card_does_not_decide_what_payments_are_worth(seed: int) -> None:
    rng = np.random.default_rng(seed)
    names = [f"u{node}" for node in range(120)]
    users = pl.DataFrame({"id": names, "age": rng.normal(40, 9, 120), "wealth": rng.normal(size=120)})
    source = rng.integers(0, 120, 500)
    target = (source + rng.integers(1, 120, 500)) % 120
    paid = pl.DataFrame({"a": [names[node] for node in source], "b": [names[node] for node in target]})
    cards = pl.DataFrame({"user": [*names, "u3"], "card": [*(f"c{n}" for n in range(120)), "c7"]})
    edges = {("user", "paid", "user"): paid, ("user", "has", "card"): cards}
    graph = hs.load(nodes={"user": users}, edges=edges, rank="user", notices=[])
    model = hs.CrossHCM.untrained(seed=0).fit(graph)
    weights = model.relation_weights_
    assert weights is None or weights.of(graph)[graph.edges_by_relation["paid"]].min() == 1.0
