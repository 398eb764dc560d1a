"""Rows, cells and files of several kinds in one table, and tables written like an earlier one."""

import json
from pathlib import Path

import numpy as np
import polars as pl
import pytest

from hopsight.graph import AttributedGraph
from hopsight.io import rules
from hopsight.loading import load

PEOPLE = ["ann", "bo", "cy", "di", "eve", "flo"]
PAIRS = [(PEOPLE[i % 6], PEOPLE[(i + 1 + i // 6) % 6]) for i in range(12)]


def written(path: Path, *lines: str) -> tuple[AttributedGraph, list[str]]:
    """Write a table and load it as a user does, with the notices."""
    path.write_text("\n".join(lines) + "\n")
    return loaded(path)


def loaded(source: object) -> tuple[AttributedGraph, list[str]]:
    notices: list[str] = []
    return load(source, notices=notices), notices


def rows(last: list[str], amount: str = "{i}") -> list[str]:
    """Return a row per pair, with an amount and the texts of one more column in turn."""
    return [f"{a},{b},{amount.format(i=i)},{last[i % len(last)]}" for i, (a, b) in enumerate(PAIRS)]


def test_cells_of_another_type_far_down_a_sheet_are_read(tmp_path: Path) -> None:
    writer = pytest.importorskip("xlsxwriter", reason="xlsxwriter writes the workbook")
    book = writer.Workbook(tmp_path / "book.xlsx")
    sheet = book.add_worksheet()
    sheet.write_row(0, 0, ["payer", "payee", "amount"])
    for row in range(1500):
        sheet.write_row(1 + row, 0, [row, row + 1, 5.5])
    sheet.write_row(1501, 0, ["K-7", 3, 5.5])
    book.close()
    graph, _ = loaded(tmp_path / "book.xlsx")
    assert "K-7" in graph.node_ids.tolist() and graph.n_edges == 1501


@pytest.mark.parametrize("kind", [pl.Categorical, pl.Enum(["OK", "failed"])])
def test_a_categorical_status_leaves_rows_out(kind: object) -> None:
    frame = pl.DataFrame(PAIRS, schema=["from", "to"], orient="row")
    states = pl.Series("status", ["OK", "OK", "failed"] * 4).cast(kind)  # type: ignore[arg-type]
    graph, notices = loaded(frame.with_columns(states))
    assert graph.n_edges == 8 and any(each.startswith("Left out 4 rows whose status is 'failed'") for each in notices)


def test_what_a_folder_holds_besides_is_named_and_an_empty_file_of_it_too(tmp_path: Path) -> None:
    header = "from,to,amount,place"
    (tmp_path / "may.csv").write_text("\n".join([header, *rows(["x"])]))
    pl.DataFrame({"a": [1, 2], "b": [2, 3]}).write_ndjson(tmp_path / "june.json")
    (tmp_path / "old").mkdir()
    pl.DataFrame({"a": [1, 2], "b": [2, 3]}).write_parquet(tmp_path / "old" / "april.parquet")
    graph, notices = loaded(tmp_path)
    assert graph.n_nodes == 6
    assert f"Read 1 file of {tmp_path}; not read: june.json, old/april.parquet." in notices
    (tmp_path / "july.csv").touch()
    with pytest.raises(ValueError, match=r"july\.csv"):
        load(tmp_path)


def test_forms_are_those_of_the_earlier_table_and_each_table_has_its_own(tmp_path: Path) -> None:
    """01/02/2024 is January 2 or February 1; the node table of the same column is written the other way."""
    edges, nodes = tmp_path / "edges.csv", tmp_path / "nodes.csv"
    edges.write_text("\n".join(["from,to,amount,date", *rows(["01/02/2024", "05/31/2024"])]))
    nodes.write_text("\n".join(["id,date", *(f"{name},{day}/02/2024" for day, name in enumerate(PEOPLE, 10))]))
    with rules.remembered({}) as forms:
        load(str(edges), str(nodes), notices=[])
    edges.write_text("\n".join(["from,to,amount,date", *rows(["01/02/2024", "02/03/2024"])]))
    with rules.remembered(forms):
        graph = load(str(edges), str(nodes), notices=[])
    assert graph.edge_time is not None
    assert {*np.asarray(graph.edge_time, "datetime64[s]").astype(str)} <= {"2024-01-02T00:00:00", "2024-02-03T00:00:00"}


def test_a_status_counts_as_in_the_earlier_table(tmp_path: Path) -> None:
    paid, header = tmp_path / "paid.csv", "from,to,amount,status"
    paid.write_text("\n".join([header, *rows(["failed", "failed", "ok"])]))
    with rules.remembered({}) as forms:
        assert load(str(paid), notices=[]).n_edges == 12
    paid.write_text("\n".join([header, *rows(["failed", "ok", "ok"])]))
    with rules.remembered(forms):
        assert load(str(paid), notices=[]).n_edges == 12
    assert load(str(paid), notices=[]).n_edges == 8


@pytest.mark.parametrize(
    ("above", "comments"),
    [(["# payments of May"], ["# a remark"]), (["#payments of May", ""], ["#1,2,3,4"]), ([], [])],
)
def test_only_remarks_are_left_out_among_rows(above: list[str], comments: list[str], tmp_path: Path) -> None:
    lines = rows(["x"])
    graph, notices = written(tmp_path / "a.csv", *above, "from,to,amount,place", *lines[:6], *comments, *lines[6:])
    assert graph.n_edges == 12
    said = [
        f"Left out the lines of a.csv that begin with '#', such as {each!r}: these are comments." for each in comments
    ]
    assert [each for each in notices if "comments" in each] == said


def test_ids_that_begin_with_a_hash_are_rows(tmp_path: Path) -> None:
    header, lines = "from,to,amount,place", [f"#{a},#{b},{i},x" for i, (a, b) in enumerate(PAIRS)]
    for above in ([], ["# payments of May"]):
        graph, _ = written(tmp_path / "a.csv", *above, header, *lines)
        assert sorted(graph.node_ids.tolist()) == [f"#{name}" for name in PEOPLE] and graph.n_edges == 12


def test_a_header_may_begin_with_a_hash_of_its_own(tmp_path: Path) -> None:
    lines = [f"{i},{a},{b}" for i, (a, b) in enumerate(PAIRS, 1)]
    graph, _ = written(tmp_path / "a.csv", "#,From,To", *lines)
    assert sorted(graph.node_ids.tolist()) == PEOPLE


def test_the_separator_is_the_one_that_makes_most_cells(tmp_path: Path) -> None:
    lines = [f"{a};{b};{i},5;x" for i, (a, b) in enumerate(PAIRS)]
    graph, _ = written(tmp_path / "a.csv", "from;to;amount, EUR;place", *lines)
    assert sorted(graph.node_ids.tolist()) == PEOPLE


def test_a_backslash_may_stand_before_a_quote_within_quotes(tmp_path: Path) -> None:
    lines = [f'"{a} \\"x\\", ltd","{b} \\"x\\", ltd",{i}' for i, (a, b) in enumerate(PAIRS)]
    graph, _ = written(tmp_path / "a.csv", "from,to,amount", *lines)
    assert sorted(graph.node_ids.tolist()) == [f'{name} "x", ltd' for name in PEOPLE]


def test_exact_copies_are_left_out_beside_lists(tmp_path: Path) -> None:
    frame = pl.DataFrame(PAIRS, schema=["from", "to"], orient="row")
    numbers = pl.Series("payment_id", [f"P{i}" for i in range(12)]), pl.Series("amount", np.arange(12.0))
    frame = frame.with_columns(*numbers, tags=pl.lit(["a", "b"]))
    pl.concat([frame, frame.head(3)]).write_parquet(tmp_path / "a.parquet")
    _, notices = loaded(tmp_path / "a.parquet")
    assert any(each.startswith("Left out 3 exact copies") or "3 rows are exact copies" in each for each in notices)


def test_one_cell_that_is_no_number_does_not_turn_thousands_into_ones(tmp_path: Path) -> None:
    numbers = ["950", "1.200", "12.500"] * 40 + ["see mail"]
    lines = [f"{a},{b},{number}" for (a, b), number in zip(PAIRS * 11, numbers, strict=False)]
    graph, _ = written(tmp_path / "a.csv", "from,to,amount", *lines)
    amounts = graph.edge_data.attributes[:, graph.edge_attribute_names.index("amount")]
    assert {*amounts} == {950.0, 1200.0, 12500.0}


def test_how_long_it_took_and_when_somebody_was_born_are_no_times(tmp_path: Path) -> None:
    """A call on March 1 that took 00:03:10 did not begin at that time."""
    lines = [f"{a},{b},2024-03-{1 + i:02},00:0{i % 6}:10,1980-01-{1 + i:02}" for i, (a, b) in enumerate(PAIRS)]
    graph, notices = written(tmp_path / "a.csv", "caller,callee,date,talk_time,dob", *lines)
    assert graph.edge_time is not None
    times = np.asarray(graph.edge_time, "datetime64[s]")
    assert not any("Added the time of day" in each for each in notices)
    assert (times == times.astype("datetime64[D]")).all() and times.min() == np.datetime64("2024-03-01")


def test_dates_in_parts_are_no_times_and_the_user_hears_it(tmp_path: Path) -> None:
    lines = [f"{a},{b},{i},2024,{1 + i % 3},{1 + i}" for i, (a, b) in enumerate(PAIRS)]
    graph, notices = written(tmp_path / "a.csv", "from,to,amount,year,month,day", *lines)
    assert graph.edge_time is None
    assert any(each.startswith("Columns 'year', 'month', 'day' are plain numbers: write dates") for each in notices)


@pytest.mark.parametrize(
    "ends", [("nadawca", "odbiorca"), ("avsändare", "mottagare"), ("maksaja", "saaja"), ("pengirim", "penerima")]
)
def test_ends_are_known_in_more_languages(ends: tuple[str, str], tmp_path: Path) -> None:
    lines = [f"K{i % 5},{a},V{i % 4},{b}" for i, (a, b) in enumerate(PAIRS)]
    graph, _ = written(tmp_path / "a.csv", f"kod,{ends[0]},antal,{ends[1]}", *lines)
    assert sorted(graph.node_ids.tolist()) == PEOPLE


def test_the_way_of_money_may_be_said_in_several_words(tmp_path: Path) -> None:
    _, notices = written(tmp_path / "a.csv", "from,to,amount,kind", *rows(["Transfer in", "Transfer out"]))
    assert any("may say which way money went ('Transfer in' and 'Transfer out')" in each for each in notices)


def test_the_status_of_a_customer_leaves_no_payment_out(tmp_path: Path) -> None:
    graph, _ = written(tmp_path / "a.csv", "from,to,amount,customer_status", *rows(["ok", "rejected", "ok"]))
    assert graph.n_edges == 12


def test_other_values_of_a_status_are_listed(tmp_path: Path) -> None:
    _, notices = written(tmp_path / "a.csv", "from,to,amount,status", *rows(["ok", "failed", "late", "ok"]))
    assert any(each.startswith("Rows of any other status count ('ok': 6, 'late': 3)") for each in notices)


def test_a_row_without_a_time_of_day_has_no_time(tmp_path: Path) -> None:
    """Midnight would be a time of day like another one."""
    lines = [f"{a},{b},2024-03-{1 + i:02},{'' if i == 3 else '10:15'}" for i, (a, b) in enumerate(PAIRS)]
    graph, notices = written(tmp_path / "a.csv", "from,to,date,time", *lines)
    added = "Added the time of day in column 'time' to the date in column 'date'; 1 row without one has no time."
    assert added in notices and graph.edge_time is not None
    times = graph.edge_time[~np.isnan(graph.edge_time)]
    assert times.size == 11 and {*times % 86_400} == {10.25 * 3600}


def test_plus_and_minus_may_be_ways_of_money(tmp_path: Path) -> None:
    _, notices = written(tmp_path / "a.csv", "from,to,amount,kind", *rows(["+", "-"]))
    assert any("may say which way money went ('+' and '-')" in each for each in notices)


def test_every_column_of_edges_is_named_with_what_it_holds(tmp_path: Path) -> None:
    """What was not understood, such as another amount or a failure, can be seen."""
    lines = [f"{a},{b},2024-03-{1 + i:02},{i},{i % 2},{7 * i},{'x' if i % 3 else ''}" for i, (a, b) in enumerate(PAIRS)]
    _, notices = written(tmp_path / "a.csv", "from,to,date,amount,isError,Wert,place", *lines)
    assert "Other columns describe edges: 'place' ('x', empty), 'isError' (0, 1), 'Wert' (numbers)." in notices


@pytest.mark.parametrize("born", ["narozen", "geboren", "dob", "konto założone"])
def test_dates_that_belong_to_accounts_are_no_times_of_payments(born: str, tmp_path: Path) -> None:
    of = {name: f"1980-01-{1 + i:02}" for i, name in enumerate(PEOPLE)}
    lines = [f"{a},{b},{of[a]},2024-03-{1 + i:02}" for i, (a, b) in enumerate(PAIRS)]
    graph, _ = written(tmp_path / "a.csv", f"from,to,{born},zaksięgowano", *lines)
    assert graph.edge_time is not None and np.asarray(graph.edge_time, "datetime64[s]").min() > np.datetime64("2024")


@pytest.mark.parametrize("other", ["fee", "tax", "moms", "opłata", "fx_rate", "unit_price", "balance", "saldo"])
def test_the_amount_is_not_what_stands_beside_it(other: str, tmp_path: Path) -> None:
    lines = [f"{a},{b},0.{i},{100 + i}" for i, (a, b) in enumerate(PAIRS)]
    _, notices = written(tmp_path / "a.csv", f"from,to,{other} amount,amount", *lines)
    assert any(each.startswith("Read column 'amount' as the amount of each edge: 100 to 111") for each in notices)


def test_a_currency_in_brackets_is_a_word_of_its_own(tmp_path: Path) -> None:
    lines = [f"{a},{b},0,{100 + i}" for i, (a, b) in enumerate(PAIRS)]
    _, notices = written(tmp_path / "a.csv", "from,to,Value_IN(ETH),Value_OUT(ETH)", *lines)
    assert not any("'Value_IN(ETH)' as the amount" in each for each in notices)


@pytest.mark.parametrize(("yes", "no"), [("Y", "N"), ("fraud", "ok"), ("1.0", "0.0"), ("TRUE", "FALSE")])
def test_labels_are_read_in_words(yes: str, no: str, tmp_path: Path) -> None:
    (tmp_path / "nodes.csv").write_text("id,age,bad\n" + "".join(
        f"{name},{20 + i},{yes if i == 2 else no}\n" for i, name in enumerate(PEOPLE)
    ))  # fmt: skip
    (tmp_path / "edges.csv").write_text("from,to\n" + "".join(f"{a},{b}\n" for a, b in PAIRS))
    graph = load(str(tmp_path / "edges.csv"), str(tmp_path / "nodes.csv"), label="bad", notices=[])
    assert graph.labels is not None and graph.labels.tolist() == [int(name == "cy") for name in graph.node_ids]


def test_rows_that_an_open_quotation_mark_swallows_are_counted(tmp_path: Path) -> None:
    memos = ["x", '"see above', "y", 'as agreed"', "x", "y"] * 2
    graph, notices = written(tmp_path / "a.csv", "from,to,amount,memo", *rows(memos))
    said = "4 lines of a.csv begin within quotation marks and belong to the row above: a quotation mark in a cell must "
    assert f"{said}be doubled." in notices and graph.n_edges == 8


@pytest.mark.parametrize(
    "cell",
    [
        "2024. 3. {}.", "{}. 03. 2024", "{}.03.2024.", "{}.03.2024 г.", "{}-Mar-24 06.05.56.000000 AM",
        "2024-03-{}-06.05.56.000000", "2024-03-{} 06:05:56,000", "{}Mar2024:06:05:56", "[{}/Mar/2024:06:05:56 +0000]",
        "Wed Mar {} 06:05:56 2024", "2024年03月{}日 06時05分56秒", "202403{} 060556", "{}/Mar/2024",
        "{}.03.2024 06:05:56 Uhr", "2024-03-{}T06:05:56+00:00[Europe/London]",
    ],
)  # fmt: skip
def test_dates_as_programs_of_many_countries_write_them(cell: str, tmp_path: Path) -> None:
    lines = [f"{a}|{b}|{i}|{cell.format(10 + i)}" for i, (a, b) in enumerate(PAIRS)]
    graph, _ = written(tmp_path / "a.csv", "from|to|amount|date", *lines)
    assert graph.edge_time is not None
    found = np.sort(np.asarray(graph.edge_time, "datetime64[s]"))
    clock = np.timedelta64(6 * 3600 + 5 * 60 + 56 if "5" in cell else 0, "s")
    assert found[0] == np.datetime64("2024-03-10") + clock and found[-1] == np.datetime64("2024-03-21") + clock


def test_thousands_may_be_separated_from_10000_on(tmp_path: Path) -> None:
    amounts = ["950", "4500", "12.345", "250.000"]
    lines = [f"{a};{b};{amounts[i % 4]};x" for i, (a, b) in enumerate(PAIRS)]
    _, notices = written(tmp_path / "a.csv", "from;to;Importe;place", *lines)
    assert any("as the amount of each edge: 950 to 250,000, 803,385 in all" in each for each in notices)


@pytest.mark.parametrize("mark", ["¥", "₩", "$", "£"])
def test_a_comma_of_countries_with_decimal_points_separates_thousands(mark: str, tmp_path: Path) -> None:
    lines = [f'{a},{b},"{mark}{1 + i},670",x' for i, (a, b) in enumerate(PAIRS)]
    _, notices = written(tmp_path / "a.csv", "from,to,amount,place", *lines)
    assert any("as the amount of each edge: 1,670 to 12,670" in each for each in notices)
    lines = [f'{a},{b},"{1 + i},670 €",x' for i, (a, b) in enumerate(PAIRS)]  # of a litre of petrol, perhaps
    with pytest.raises(ValueError, match="comma that may stand for a decimal point or separate thousands"):
        written(tmp_path / "a.csv", "from,to,amount,place", *lines)


@pytest.mark.parametrize(
    ("first", "second"),
    [
        ("Begünstigter", "Auftraggeberkonto"), ("Konto Zahlungsempfänger", "Konto Auftraggeber"),
        ("Beneficiary Account", "Originator"), ("Naar rekening", "Rekening"), ("Bénéficiaire", "Donneur d'ordre"),
        ("受取人", "支払人"), ("ผู้รับ", "ผู้ส่ง"), ("Zielkonto", "Quellkonto"), ("Compte crédité", "Compte débité"),
        ("Rachunek uznany", "Rachunek obciążony"), ("入账账号", "出账账号"), ("Contra Account", "Account"),
        ("Beneficiary A/c No", "Remitter A/c No"),
        ("Tài khoản người nhận", "Tài khoản người gửi"), ("Đến tài khoản", "Từ tài khoản"),
        ("Λογαριασμός παραλήπτη", "Λογαριασμός αποστολέα"),
    ],
)  # fmt: skip
def test_who_receives_may_come_first(first: str, second: str, tmp_path: Path) -> None:
    lines = [f"{'late' if i % 3 else 'ok'},{b},memo {i % 5},{a},{i}" for i, (a, b) in enumerate(PAIRS)]
    _, notices = written(tmp_path / "a.csv", f"Trạng thái,{first},Remarks,{second},amount", *lines)
    assert f"Read edges from column {second!r} to column {first!r}." in notices


@pytest.mark.parametrize(
    ("other", "paid"),
    [
        ("Fecha vencimiento", "Fecha pago"),
        ("Last Login", "Paid At"),
        ("Statement Date", "Transaction Date"),
        ("Value Date", "Booking Date"),
        ("created_at", "transaction_date"),
        ("Invoice Date", "Paid Date"),
        ("Mandate Date", "Execution Date"),
    ],
)
def test_a_date_that_something_else_has_is_not_that_of_the_payment(other: str, paid: str, tmp_path: Path) -> None:
    lines = [f"{a},{b},2025-04-{1 + i:02},2024-03-{1 + i:02}" for i, (a, b) in enumerate(PAIRS)]
    _, notices = written(tmp_path / "a.csv", f"from,to,{other},{paid}", *lines)
    assert any(each.startswith(f"Read column {paid!r} as the time of each edge: 2024-03-01") for each in notices)


def test_a_header_of_r_lacks_the_name_of_the_row_numbers(tmp_path: Path) -> None:
    lines = [f'"{i + 1}","{a}","{b}",{i}.5' for i, (a, b) in enumerate(PAIRS)]
    graph, notices = written(tmp_path / "a.csv", '"from","to","amount"', *lines)
    assert sorted(graph.node_ids.tolist()) == PEOPLE
    assert any("as the amount of each edge: 0.50 to 11.50, 72 in all" in each for each in notices)


def test_json_of_pandas_may_be_by_rows(tmp_path: Path) -> None:
    by_row = {str(28 + i): {"from": a, "to": b, "amount": i} for i, (a, b) in enumerate(PAIRS)}
    names = ("from", "to", "amount")
    by_column = {name: {label: cells[name] for label, cells in by_row.items()} for name in names}
    for rows_of in (by_row, by_column):
        (tmp_path / "a.json").write_text(json.dumps(rows_of))
        assert loaded(tmp_path / "a.json")[0].n_edges == 12


def test_bytes_that_are_no_text_are_hexadecimal_digits(tmp_path: Path) -> None:
    frame = pl.DataFrame(PAIRS, schema=["from", "to"], orient="row")
    frame = frame.with_columns(amount=np.arange(12.0), hash=pl.Series([bytes([255, i % 2]) for i in range(12)]))
    frame.write_parquet(tmp_path / "a.parquet")
    for source in (frame, tmp_path / "a.parquet"):
        assert "Other columns describe edges: 'hash' ('ff00', 'ff01')." in loaded(source)[1]


def test_the_order_of_day_and_month_of_an_earlier_file_is_said(tmp_path: Path) -> None:
    header, path = "from,to,amount,date", tmp_path / "a.csv"
    path.write_text("\n".join([header, *rows(["01/02/2024", "31/05/2024"])]))
    with rules.remembered({}) as forms:
        loaded(path)
    path.write_text("\n".join([header, *rows(["06/07/2024", "06/12/2024"])]))
    with rules.remembered(forms):
        _, notices = loaded(path)
    read = "Column 'date': read '06/07/2024' as day/month/year as in the earlier file: no row of this one decides."
    assert read in notices
    assert "Read column 'date' as the time of each edge: 06 Jul 2024 to 06 Dec 2024." in notices


@pytest.mark.parametrize(
    ("more", "cells", "ends"),
    [
        ("valid_from,valid_to", "2024-01-01,2025-01-01", ("payer", "payee")),
        ("status_from,status_to", "open,paid", ("payer", "payee")),
        ("source_system,target_system", "SAP,bank", ("debtor", "creditor")),
        ("Exchange From,Exchange To", "EUR,USD", ("Payer Name", "Payee Name")),
        ("Exchange From,Exchange To", ",", ("Payer Name", "Payee Name")),
    ],
)
def test_what_else_comes_from_something_to_something_is_no_end(
    more: str, cells: str, ends: tuple[str, str], tmp_path: Path
) -> None:
    lines = [f"{cells},{a},{b},{i},x" for i, (a, b) in enumerate(PAIRS)]
    graph, notices = written(tmp_path / "a.csv", f"{more},{','.join(ends)},amount,place", *lines)
    assert sorted(graph.node_ids.tolist()) == PEOPLE
    assert f"Read edges from column {ends[0]!r} to column {ends[1]!r}." in notices


@pytest.mark.parametrize("other", ["refund_date", "gemeldet", "snapshot_dt", "ETL_LOAD_TS", "archived_on"])
def test_dates_that_few_payments_have_or_that_say_when_they_were_loaded_are_not_theirs(
    other: str, tmp_path: Path
) -> None:
    few = other in ("refund_date", "gemeldet")
    days = [f"2024-05-0{1 + i % 3}" if i % 6 == 0 or not few else "" for i in range(12)]
    lines = [f"{a},{b},{i},{days[i]},2024-03-{1 + i:02}" for i, (a, b) in enumerate(PAIRS)]
    _, notices = written(tmp_path / "a.csv", f"payer,payee,amount,{other},txn_dt", *lines)
    assert "Read column 'txn_dt' as the time of each edge: 2024-03-01 to 2024-03-12." in notices


def test_an_amount_in_local_currency_is_one(tmp_path: Path) -> None:
    lines = [f"{a},{b},{i},x" for i, (a, b) in enumerate(PAIRS)]
    _, notices = written(tmp_path / "a.csv", "Customer,Vendor,Amount in local currency,place", *lines)
    assert "Read column 'Amount in local currency' as the amount of each edge: 0 to 11, 66 in all." in notices


def test_a_comment_above_a_table_is_its_header_where_the_first_row_begins_with_a_date(tmp_path: Path) -> None:
    lines = [f"{1 + i:02}.03.2024;Miete {i};A{i};B{i % 5};{i},00" for i in range(12)]
    graph, notices = written(tmp_path / "a.csv", "#Datum;Text;Zahler;Empfänger;Betrag", *lines)
    assert "Read edges from column 'Zahler' to column 'Empfänger'." in notices and graph.n_edges == 12


@pytest.mark.parametrize("names", ["Amount in USD,Amount in EUR", "Betrag in Fremdwährung,Betrag in EUR"])
def test_amounts_in_two_currencies_are_no_debit_and_credit(names: str, tmp_path: Path) -> None:
    lines = [f"2024-03-{1 + i:02},{a},{b},{i},{2 * i}" for i, (a, b) in enumerate(PAIRS)]
    _, notices = written(tmp_path / "a.csv", f"Date,From,To,{names}", *lines)
    first = names.partition(",")[0]
    assert any(each.startswith(f"Read column {first!r} as the amount of each edge: 0 to 11") for each in notices)


@pytest.mark.parametrize("name", ["Suma", "Znesek", "Summa", "Upphæð", "مبلغ"])
def test_amounts_are_known_in_more_languages(name: str, tmp_path: Path) -> None:
    lines = [f"2024-03-{1 + i:02},{a},{b},{i}" for i, (a, b) in enumerate(PAIRS)]
    _, notices = written(tmp_path / "a.csv", f"Date,From,To,{name}", *lines)
    assert any(each.startswith(f"Read column {name!r} as the amount of each edge: 0 to 11") for each in notices)


def test_where_no_amount_is_known_a_hint_says_how_to_name_one(tmp_path: Path) -> None:
    lines = [f"2024-03-{1 + i:02},{a},{b},{i * 7 % 24}.5" for i, (a, b) in enumerate(PAIRS * 2)]
    _, notices = written(tmp_path / "a.csv", "Date,From,To,Kiasi", *lines)
    hint = "No column is read as the amount of each edge; if 'Kiasi' is one, pass weight_column='Kiasi'."
    assert hint in notices
    graph = load(str(tmp_path / "a.csv"), weight_column="Kiasi", notices=notices)
    assert graph.events is not None and graph.events.amount is not None and graph.events.amount.sum() == 288.0
