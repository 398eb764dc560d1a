"""Every command on several tables: it works, or it says in one sentence what to do."""

from pathlib import Path

import numpy as np
import polars as pl
import pytest

from commands import Run, assert_refused, worked
from hopsight.runs.folder import read_record

USERS = pl.DataFrame({"id": [1, 2, 3, 4], "age": [20, 30, 40, 50], "fraud": [0, 0, 1, 0]})
DEVICES = pl.DataFrame({"id": [1, 2, 3], "price": [100.0, 300.0, 900.0]})
PAID = pl.DataFrame({"a": [1, 1, 3], "b": [2, 2, 4], "amount": [5.0, 7.0, 9.0]})
USED = pl.DataFrame({"u": [1, 2, 3, 4, 4], "d": [1, 1, 2, 2, 3]})
OWNS = pl.DataFrame({"u": [3, 3, 4], "card": ["x", "y", "y"]})
TABLES = {"users": USERS, "devices": DEVICES, "paid": PAID, "used": USED, "owns": OWNS}
TOML = """
[nodes.user]
file = "users.csv"
label = "fraud"
[nodes.device]
file = "devices.csv"
[edges.paid]
file = "paid.csv"
source_type = "user"
target_type = "user"
[edges.used]
file = "used.csv"
source_type = "user"
target_type = "device"
[edges.owns]
file = "owns.csv"
source_type = "user"
target_type = "card"
"""
OTHERS: dict[str, dict[str, pl.DataFrame]] = {
    "ids that join nowhere": {"paid": pl.DataFrame({"a": ["p"], "b": ["q"]})},
    "an id twice": {"users": pl.concat([USERS, USERS[:1].with_columns(age=pl.col("age") + 1)])},
    "an empty node table": {"users": USERS[:0]}, "an empty edge table": {"paid": PAID[:0]},
    "two files swapped": {"devices": pl.DataFrame({"id": ["x", "y"], "limit": ["low", "high"]}), "cards": DEVICES},
}  # fmt: skip
CARD = 'target_type = "card"'
WRONG = {
    "a type that is nearly one": (
        f'"user"\n{CARD}', f'"usr"\n{CARD}', "no table of nodes of type 'usr'; did you mean user?"),
    "a type to rank": ("", 'rank = "usr"', "--rank names no type of this graph, got 'usr'; did you mean user?"),
    "ids that join nowhere": (
        "", "", "none of the ids in column 'a' of the edges 'paid', such as 'p', is an id of type 'user', such as '1'"),
    "a relation between wrong types": (
        CARD, 'target_type = "device"',
        "none of the ids in column 'card' of the edges 'owns', such as 'x', is an id of type 'device'"),
    "an id twice": ("", "", "node 1 has two rows, 1 and 5"),
    "an empty node table": ("", "", "users.csv: it has a header but no rows"),
    "an empty edge table": ("", "", "paid.csv: it has a header but no edges"),
    "a label that is not there": (
        '"fraud"', '"frau"', "nodes.user.label: there is no column 'frau'; did you mean fraud?"),
    "an end that is not there": (
        f'source_type = "user"\n{CARD}', 'source = "usr"', "edges.owns.source: there is no column 'usr'"),
    "a setting that does not exist": (
        "label", "lable", "there is no setting 'lable' in [nodes.user]; did you mean label?"),
    "a file that is not there": ("users.csv", "user.csv", "user.csv: there is no such file"),
    "two files swapped": (
        "[edges.paid]", '[nodes.card]\nfile = "cards.csv"\n[edges.paid]',
        "none of the ids in column 'd' of the edges 'used', such as '1', is an id of type 'device', such as 'x': they "
        "are ids of type 'user' or 'card'; correct target_type, or the files of these tables"),
    "a text without quotes": ('"card"', "card", "it is not a TOML file: Invalid value (at line 18, column 15); "),
    "no table at all": (TOML, "[nodes]\nuser = 1", "there is no file in [nodes.user]"),
    "a table of tables": ("users.csv", "graph.toml", "file in [nodes.user] must be a table"),
}  # fmt: skip


@pytest.mark.parametrize("wrong", WRONG)
def test_bad_tables_are_refused_in_one_sentence_and_nothing_is_written(wrong: str, tmp_path: Path, run: Run) -> None:
    before, after, message = WRONG[wrong]
    place = written(tmp_path, OTHERS.get(wrong), TOML.replace(before, after, 1) if before else after + TOML)
    assert_refused(run("detect", place, "--out", tmp_path / "result"), message)


def written(folder: Path, tables: dict[str, pl.DataFrame] | None = None, toml: str = TOML) -> Path:
    for name, table in (TABLES | (tables or {})).items():
        table.write_csv(folder / f"{name}.csv")
    (folder / "graph.toml").write_text(toml)
    return folder / "graph.toml"


def platform(folder: Path) -> Path:
    """Write tables of 80 users, 40 devices and their cards, and the file that names them."""
    rng = np.random.default_rng(2)
    n = 80
    cards = [
        (user, 1000 + 20 * user + card) for user in range(n) for card in range([15, 2, 6][(user > 0) + (0 < user < 6)])
    ]
    case = ["bad" if user < 6 else "fine" if user < 30 else "" for user in range(n)]
    tables = {
        "users": pl.DataFrame({"id": np.arange(n), "age": rng.normal(size=n), "case": case}),
        "devices": pl.DataFrame({"id": np.arange(40), "price": rng.normal(size=40)}),
        "paid": pl.DataFrame({"a": rng.integers(0, n, 300), "b": rng.integers(0, n, 300), "amount": rng.random(300)}),
        "used": pl.DataFrame({"u": np.arange(n), "d": np.where(np.arange(n) < 4, 0, 1 + np.arange(n) % 39)}),
        "owns": pl.DataFrame(cards, schema=["u", "card"], orient="row"),
    }
    settings = TOML.replace('label = "fraud"', 'ignore = ["case"]')
    return written(folder, tables, f'rank = "user"\n{settings}')


def test_the_report_has_the_first_edge_of_edges_csv_and_the_terminal_the_first_group(tmp_path: Path, run: Run) -> None:
    graph, ids = platform(tmp_path), np.arange(80)
    near = np.concatenate([np.stack([ids, (ids + step) % 40 + ids // 40 * 40]) for step in (1, 2, 3, 4)], axis=1)
    days = [f"2024-03-{1 + day % 28:02}" for day in range(near.shape[1])]
    pl.DataFrame({"a": near[0], "b": near[1], "amount": 9.0, "day": days}).write_csv(tmp_path / "paid.csv")
    pl.DataFrame({"id": ids, "age": ids // 40 * 50 + ids % 7, "case": ""}).write_csv(tmp_path / "users.csv")
    out, _ = worked(run("detect", graph, "--preset", "untrained", "--out", tmp_path / "result"))
    first = pl.read_csv(tmp_path / "result" / "edges.csv").row(0)
    report = (tmp_path / "result" / "report.html").read_text()
    assert rf"The edge most out of place is {first[0]} \u2013 {first[1]}:" in report
    assert "1 group found, in groups.csv; the first is a group of 4 nodes: " in out
    assert "They share device 0 (4 of 4 members)" in " ".join(out.split())


def test_commands_on_several_tables(tmp_path: Path, run: Run) -> None:
    graph, first, quick = platform(tmp_path), tmp_path / "first", ("--set", "n_epochs=6", "--set", "burn_in=3")
    assert "of 80 nodes" in worked(run("detect", graph, "--out", first, *quick))[0]
    table = pl.read_csv(first / "scores.csv")
    assert set(table["type"]) == {"user"} and "relation" in pl.read_csv(first / "edges.csv").columns
    assert run("score", first / "model", graph, "--out", tmp_path / "scored")[0] == 0
    assert pl.read_csv(tmp_path / "scored" / "scores.csv")["score"].to_list() == table["score"].to_list()
    assert run("rerun", first / "run.json", "--out", tmp_path / "again")[0] == 0
    assert (tmp_path / "again" / "scores.csv").read_bytes() == (first / "scores.csv").read_bytes()
    assert "1.000" in run("compare", first, tmp_path / "again")[1]
    assert "Has 15 cards; users usually have 2." in run("explain", first, "0")[1]
    assert run("convert", graph, tmp_path / "users.npz")[0] == 0
    assert run("detect", tmp_path / "users.npz", "--out", tmp_path / "converted", *quick)[0] == 0
    assert (tmp_path / "converted" / "scores.csv").read_bytes() == (first / "scores.csv").read_bytes()
    assert run("convert", graph, tmp_path / "plain.csv")[0] == 0
    assert_refused(run("inject", graph, tmp_path / "planted.npz", "--cliques", 1), "one type of node: inject into one")
    assert_refused(run("describe", graph, "--rank", "users"), "no type of this graph, got 'users'; did you mean user?")
    assert_refused(run("stream", graph, "--out", tmp_path / "stream"), "names several tables, and one is read here")
    assert_refused(run("detect", graph, "--engine", "spark", "--out", tmp_path / "no"), "pass EDGES --nodes NODES")
    assert_refused(
        run("detect", graph, "--nodes", "users.csv", "--out", tmp_path / "no"), "--nodes is for one edge table"
    )


def test_a_column_of_the_ranked_type_teaches(tmp_path: Path, run: Run) -> None:
    graph, quick = platform(tmp_path), ("--set", "n_epochs=6", "--set", "burn_in=3")
    options = ("--learn-from", "case", "--anomalous-value", "bad", "--out", tmp_path / "taught", *quick)
    worked(run("detect", graph, *options))
    table = pl.read_csv(tmp_path / "taught" / "scores.csv").sort("node")
    assert table["anomaly_probability"][:4].mean() > 2 * table["anomaly_probability"][6:].mean()
    assert "case" not in str(read_record(tmp_path / "taught")["graph"])
    told = "--learn-from names no column of a node table, got 'cas'; did you mean case?"
    for column, words in (("cas", told), ("price", "price")):
        assert_refused(run("detect", graph, "--learn-from", column, "--out", tmp_path / "no"), words)


def test_score_ranks_the_type_that_its_run_ranked(tmp_path: Path, run: Run) -> None:
    graph = platform(tmp_path)
    pl.DataFrame({"one": np.arange(39), "other": np.arange(39) + 1}).write_csv(tmp_path / "near.csv")
    near = '[edges.near]\nfile = "near.csv"\nsource_type = "device"\ntarget_type = "device"\n'
    graph.write_text(graph.read_text().replace('rank = "user"', "") + near)
    worked(run("detect", graph, "--rank", "device", "--preset", "untrained", "--out", "devices"))
    _, err = worked(run("score", "devices", graph, "--out", "next"))
    assert "Read as in the run of this model: --rank device." in err


def test_one_type_in_a_file_is_the_same_graph_as_its_two_tables(tmp_path: Path, run: Run) -> None:
    platform(tmp_path)
    (tmp_path / "one.toml").write_text(
        'rank = "user"\n[nodes.user]\nfile = "users.csv"\nignore = ["case"]\n'
        '[edges.paid]\nfile = "paid.csv"\nweight = "amount"\n'
    )
    quick = ("--set", "n_epochs=6", "--set", "burn_in=3")
    assert run("detect", "one.toml", "--out", "one", *quick)[0] == 0
    pair = ("paid.csv", "--nodes", "users.csv", "--ignore", "case", "--weight-column", "amount")
    assert run("detect", *pair, "--out", "two", *quick)[0] == 0
    for name in ("scores.csv", "edges.csv"):
        assert (tmp_path / "one" / name).read_bytes() == (tmp_path / "two" / name).read_bytes()
    assert_refused(run("detect", "one.toml", "--rank", "usr", "--out", "no"), "must be 'user', the only type")
