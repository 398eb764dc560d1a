"""Which rows are edges: not headers, totals, comments and copies, nor what did not take place."""

from pathlib import Path

import numpy as np
import polars as pl
import pytest

from .cases import FEW, PAIRS, PEOPLE, Case, each_of, loaded, put, refuses, rows

HEADER = "from,to,amount,place"
PIPES = "from|to|DateTime|UnixTimestamp", "{a}|{b}|2024-03-{day:02}|17092512{i:02}"
NUMBERED = [f"{i},A{p},A{q},{i + 1},{'bad' if i < 3 else 'ok'}" for i, (p, q) in enumerate(FEW)]

ROWS = {
    "a footer is no edge, and a second time is not summed": Case(
        *PIPES, after="EOF|12 records\n", ids=PEOPLE, sums=(),
        said="Left out the last row, 'EOF' and '12 records', which has no other cell."),
    "a footer of one cell is no edge": Case(
        *PIPES, after="End of report|||\n", said="Left out 1 row without a node id…"),
    "a payment in the last row is one": Case(*PIPES, after="ann|bo\n", unsaid="…last row…"),
    "a total below numbered rows is no edge": Case(
        "Nº|from|to", [*(f"{i}|{PEOPLE[i % 5]}|{PEOPLE[i % 5 + 1]}" for i in range(7, 27)), "TOTAL||"],
        said=["Left out 1 row without a node id, first row 21 of the data.",
              "Column 'Nº' only identifies rows and is left out."]),
    "numbers of the rows of three months are left out": Case(
        "Lp.,from,to,amount", [f"{i % 40 + 1},{PEOPLE[i % 6]},{PEOPLE[i % 5]},{i * i % 7}.5" for i in range(118)],
        said="Column 'Lp.' only identifies rows and is left out."),
    "numbers of operations are left out, with their copies": Case(
        "Num. operazione,from,to,amount",
        [f"{2600 + 3 * (i % 50)},{PEOPLE[i % 50 % 6]},{PEOPLE[i % 5]},{i % 50}.5" for i in range(55)],
        said=["Column 'Num. operazione' only identifies rows and is left out.",
              "5 rows are exact copies of earlier rows, first row 51 of the data, with the same 'Num. operazione'…"]),
    "a total that counts rows is no edge": Case(
        "from;to;note;amount", "{a};{b};;{i}.5", after="TOTAL;60 rows;;999\n", amounts=[i + 0.5 for i in range(12)],
        said="Left out the last row, 'TOTAL' and '60 rows', which adds up others."),
    "a header in the middle": Case(
        "from,to,amount", "{a},{b},{i}", swap=("ann,cy", "from,to,amount\nann,cy"), ids=PEOPLE,
        said="Left out 1 row like the header, first row 7 of the data."),
    "a header in the middle of a file with a byte order mark": Case(
        "from,to,amount", "{a},{b},{i}", swap=("ann,cy", "from,to,amount\nann,cy"), before="\ufeff", ids=PEOPLE,
        said="Left out 1 row like the header, first row 7 of the data."),
    "a header at the end": Case(
        "Von;An;Betrag", "{a};{b};{i},50 €", after="Von;An;Betrag\n", ids=PEOPLE,
        said="Left out 1 row like the header, first row 13 of the data."),
    "numbers of rows with leading zeros are left out": Case(
        "from,to,tx_id,amount", "{a},{b},0{i:02},{i}", said="Column 'tx_id' only identifies rows and is left out."),
    "a comment among rows below a comment": Case(
        HEADER, "{a},{b},{i},x", before="# payments of May\n", swap=("ann,cy", "# a remark\nann,cy"), n_edges=12,
        said="Left out the lines of a.csv that begin with '#', such as '# a remark': these are comments."),
    "a comment that looks like a row": Case(
        HEADER, "{a},{b},{i},x", before="#payments of May\n\n", swap=("ann,cy", "#1,2,3,4\nann,cy"), n_edges=12,
        said="Left out the lines of a.csv that begin with '#', such as '#1,2,3,4': these are comments."),
    "no comment": Case(HEADER, "{a},{b},{i},x", n_edges=12, unsaid="…comments…"),
    "rows that an open quotation mark swallows are counted": Case(
        "from,to,amount,memo", "{a},{b},{i},{c}", ["x", '"see above', "y", 'as agreed"', "x", '"y\nz"'], n_edges=8,
        said="6 lines of a.csv begin within quotation marks and belong to the row above: a quotation mark in a cell "
        "must be doubled."),
    "copies with the same number are one payment, and rows are numbered as in the file": Case(
        "invoice_no,payer,payee,amount,status", [*NUMBERED, NUMBERED[5], NUMBERED[7], "99,A1,,7,ok"],
        options={"ignore": ["status=bad"]}, amounts=list(range(4, 13)),
        said=["2 rows are exact copies of earlier rows, first row 13 of the data, with the same 'invoice_no': they are "
              "left out.", "Left out 1 row without a node id, first row 15 of the data."]),
    "the status of a customer leaves no payment out": Case(
        "from,to,amount,customer_status", "{a},{b},{i},{c}", ["ok", "rejected", "ok"], n_edges=12),
    "other values of a status are listed": Case(
        "from,to,amount,status", "{a},{b},{i},{c}", ["ok", "failed", "late", "ok"],
        said="Rows of any other status count ('ok': 6, 'late': 3)…"),
}  # fmt: skip


@each_of(ROWS)
def test_the_rows_are_those_that_a_user_would_count(case: Case, tmp_path: Path) -> None:
    case.check(tmp_path)


@pytest.mark.parametrize(("states", "ignore", "said"), [
    (["done", "REVERTED", "Not_Executed", "pending"], [],
     "Left out 6 rows whose status is 'Not_Executed' or 'REVERTED', "),
    (["OK", "odrzucona", "OK", "OK"], [], "Left out 3 rows whose status is 'odrzucona', "),
    (["OK", "Respinta", "Stornata", "OK"], [], "Left out 6 rows whose status is 'Respinta' or 'Stornata', "),
    (["Failed", "failed", "OK", "declined"], [], "Rows whose status is 'Failed' or 'declined' count, "),
    (["OK", "failed", "OK", "OK"], ["status"], None),
    (["OK", "failed", "OK", "late"], ["status=late"], "Left out 3 rows whose status is 'failed', "),
    (["OK", "bounced", "ok", "late"], [], "Rows count whatever their status is ('OK': 6, 'bounced': 3, "),
    (["OK", "bounced", "OK", "late"], ["status=bounced"], None), (["OK", "OK", "OK", "OK"], [], None),
    (["", "", "", "Returned"], [], "Rows count whatever their status is ('Returned': 3, empty: 9); to leave some "),
])  # fmt: skip
def test_failed_payments_are_left_out(tmp_path: Path, states: list[str], ignore: list[str], said: str | None) -> None:
    """Rows that did not take place do not count, unless the table is about them."""
    path = put(tmp_path / "paid.csv", "from,to,status,amount", rows("{a},{b},{c},{i}", states))
    notices = loaded(path, ignore=ignore)[1]
    found = [each for each in notices if each.startswith(("Rows ", "Left out ")) and "=" not in each.split(";")[0]]
    assert [each[: len(said or "")] for each in found[:1]] == ([said] if said else [])


@pytest.mark.parametrize("kind", [pl.Categorical, pl.Enum(["OK", "failed"])])
def test_a_categorical_status_leaves_rows_out(kind: object) -> None:
    frame = pl.DataFrame(PAIRS, schema=["from", "to"], orient="row")
    graph, notices = loaded(frame.with_columns(pl.Series("status", ["OK", "OK", "failed"] * 4).cast(kind)))
    assert graph.n_edges == 8 and any(each.startswith("Left out 4 rows whose status is 'failed'") for each in notices)


def test_self_loops_are_in_no_summary_and_words_in_one_case(tmp_path: Path) -> None:
    lines = [*rows("{a},{b},{i}.5,Card"), "ann,ann,90000,CARD", "ann,bo,7.5,cash"]
    graph, notices = loaded(put(tmp_path / "a.csv", "from,to,amount,how", lines))
    assert graph.attributes[:, graph.attribute_names.index("amount sent, mean")].max() < 100
    assert "Column 'how': read 'CARD' as 'Card'." in notices
    assert not [name for name in graph.attribute_names if "CARD" in name]


def test_exact_copies_are_left_out_beside_lists(tmp_path: Path) -> None:
    frame = pl.DataFrame(PAIRS, schema=["from", "to"], orient="row")
    numbers = pl.Series("payment_id", [f"P{i}" for i in range(12)]), pl.Series("amount", np.arange(12.0))
    frame = frame.with_columns(*numbers, tags=pl.lit(["a", "b"]))
    pl.concat([frame, frame.head(3)]).write_parquet(tmp_path / "a.parquet")
    assert any("3 rows are exact copies" in each for each in loaded(tmp_path / "a.parquet")[1])


def test_a_wrong_cell_has_the_number_of_its_row_in_the_file(tmp_path: Path) -> None:
    lines = [f"A{p},A{q},{1.5 if i else 'inf'},{'bad' if i < 3 else 'ok'}" for i, (p, q) in enumerate(FEW)]
    edges = put(tmp_path / "edges.csv", "payer,payee,amount,status", [",,7,ok", *lines, "A1,A2,inf,ok"])
    refuses("'amount', row 14 is infinite", edges, ignore=["status=bad"])
    put(edges, "payer,payee", ["A0,A1", "A1,A2"])
    nodes = put(tmp_path / "bad.csv", "id,age", [",5", "A0,5", "A0,5", "A1,7", "A2,8", "A1,9"])
    refuses("node 'A1' has two rows, 4 and 6", edges, nodes=nodes)
    put(nodes, "id,age", [",5", "A0,5", "A0,5", "A1,7", "A2,"])
    refuses("'age', row 5 is empty", edges, nodes=nodes, missing="refuse")
