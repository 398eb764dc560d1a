"""Which columns are the times of edges, and which moments are read from them."""

from datetime import UTC, datetime, time, timedelta
from pathlib import Path

import numpy as np
import polars as pl
import pytest

from hopsight.loading import load

from .cases import DAY, FEW, PAIRS, Case, each_of, loaded, put, rows, workbook

ADDED = "Added the time of day in column 'time' to the date in column 'date'."
FAR = "is far from all other times; it counts as empty."

FORMS = {
    "numbers of milliseconds that no calendar has": Case("from,to,timestamp", "{a},{b},{i}709251200000", timed=True),
    "milliseconds": Case(
        "from,to,ts", "{a},{b},17092512{i:02}000", times=("2024-03-01", 1),
        said="Read the times in column 'ts', such as 1709251200000, as milliseconds."),
    "a date and a time of day": Case(
        "from,to,date,time", "{a},{b},2024-03-{day:02},12:30", times=("2024-03-01 12:30", DAY), said=ADDED),
    "seconds without any header": Case("", "{a},{b},17092512{i:02}", times=("2024-03-01", 1)),
    "a date and digits of a time of day": Case(
        "from,to,date,time", "{a},{b},202403{day:02},0723{i:02}", frame="text", said=ADDED,
        times=("2024-03-01 07:23", DAY + 1)),
    "a date and a number of a time of day": Case(
        "from,to,date,time", "{a},{b},202403{day:02},723{i:02}", frame="typed", said=ADDED,
        times=("2024-03-01 07:23", DAY + 1)),
    "a day and the duration of a call, and a birthday": Case(
        "caller,callee,date,talk_time,dob", "{a},{b},2024-03-{day:02},00:0{c}:10,1980-01-{day:02}",
        [*"012345"], times=("2024-03-01", DAY), unsaid="Added the time of day…"),
    "a date without a time of day has no time": Case(
        "from,to,date,time", "{a},{b},2024-03-{day:02},{c}", ["10:15"] * 3 + [""] + ["10:15"] * 8,
        times=("2024-03-01 10:15", DAY), untimed=[3], said=f"{ADDED[:-1]}; 1 row without one has no time."),
    "seconds among milliseconds are set aside": Case(
        "from,to,ts", "{a},{b},17092512{i:02}000", swap=("1709251203000", "1709251203"), times=("2024-03-01", 1),
        untimed=[3], said="…row 4: '1709251203' is far from all other times…"),
    "a date of many rows that is far from all others is a placeholder": Case(
        "payer,payee,date", "{a},{b},{c}", [f"2024-05-{i + 1:02}" if i % 4 else "1900-01-01" for i in range(31)],
        pairs=(FEW * 3)[:31], times=("2024-05-01", DAY), untimed=range(0, 31, 4),
        said="…it and 7 other times count as empty…"),
    "year, month and day in columns of their own are named": Case(
        "from,to,amount,year,month,day", "{a},{b},{i},2024,{c},{day}", ["1", "2", "3"], timed=False,
        said="Columns 'year', 'month', 'day' are plain numbers: write dates…"),
    "serial numbers of a spreadsheet are days": Case(
        "from,to,Booking date", "{a},{b},453{day:02}.5", frame="typed", times=("2024-01-10 12:00", DAY),
        said="Read the times in column 'Booking date', such as 45301, as days since 1900."),
    "a day and a time with a year of two digits are named": Case(
        "from,to,timestamp", "{a},{b},2403{day:02}0130", said="The times in column 'timestamp', such as …, are plain…"),
} | {
    f"the parts {names} of dates are no times": Case(
        f"from,to,amount,{names}", "{a},{b},{i}.5" + ",{day}" * (names.count(",") + 1), timed=False,
        said=f"Columns {said} are plain numbers: write dates…")
    for names, said in (("day,month", "'month', 'day'"), ("year,month,day,hour", "'year', 'month', 'day', 'hour'"))
} | {
    f"as in {row.format(end=20, day=1, i=0)} under {name!r}": Case(
        f"from,to,{name}", "{a},{b}," + row, times=(first, step))
    for name, row, first, step in (
        ("when", "3/{end}/24 01:30:00 PM", "2024-03-20 13:30", DAY),
        ("when", "3/{end}/24 1:30 p.\u00a0m.", "2024-03-20 13:30", DAY),
        ("when", "{day} Mar 2024", "2024-03-01", DAY),
        ("when", '"Fri, March {day}, 2024 02:00"', "2024-03-01 02:00", DAY),
        *(("when", row, "2024-03-01", DAY) for row in (
            "{day}. März 2024", "{day} mars 2024", "{day} de março de 2024", "{day} marca 2024", "{day}-Mar-24",
            "{day} March 24", "{day} марта 2024", "{day} Mart 2024", "2024-Mar-{day:02}", "{day}st March 2024")),
        ("when", "{day:02}.03.2024 um 13:30", "2024-03-01 13:30", DAY),
        ("when", "{day:02}.03.2024 13.30", "2024-03-01 13:30", DAY),
        ("date", "202403{day:02}", "2024-03-01", DAY),
        ("timestamp", "202403{day:02}0130", "2024-03-01 01:30", DAY),
        ("timestamp", "202403{day:02}01", "2024-03-01 01:00", DAY),
        ("timestamp", "202403{day:02}013005", "2024-03-01 01:30:05", DAY),
        ("ts", "17092512{i:02}000000", "2024-03-01", 1),
        ("ts_ms", "17092512{i:02}000", "2024-03-01", 1),
        ("epoch_us", "17092512{i:02}000000", "2024-03-01", 1),
        ("when", "{day:02}.03.24", "2024-03-01", DAY), ("when", "{end}-03-24", "2024-03-20", DAY))
} | {
    f"as programs of many countries write them: {cell}": Case(
        "from|to|amount|date", "{a}|{b}|{i}|" + cell, times=(f"2024-03-20{' 06:05:56' * ('5' in cell)}", DAY))
    for cell in (
        "2024. 3. {end}.", "{end}. 03. 2024", "{end}.03.2024.", "{end}.03.2024 г.", "{end}-Mar-24 06.05.56.000000 AM",
        "2024-03-{end}-06.05.56.000000", "2024-03-{end} 06:05:56,000", "{end}Mar2024:06:05:56",
        "[{end}/Mar/2024:06:05:56 +0000]", "Wed Mar {end} 06:05:56 2024", "2024年03月{end}日 06時05分56秒",
        "202403{end} 060556", "{end}/Mar/2024", "{end}.03.2024 06:05:56 Uhr",
        "2024-03-{end}T06:05:56+00:00[Europe/London]")
} | {
    f"{odd}, which is far from all others, is set aside": Case(
        "from,to,amount,date", "{a},{b},{i}.5,2024-03-{day:02}", swap=("2024-03-04", odd), times=("2024-03-01", DAY),
        untimed=[3], said=f"Column 'date', row 4: '{odd}' {FAR}")
    for odd in ("1900-01-01", "9999-12-31", "2129-01-01")
} | {
    f"{cells[0]}, which may be read in two ways, is refused": Case(
        "payer,payee,ts", "{a},{b},{c}", cells, refused=f"…{refused}…")
    for cells, refused in (
        (["17092512{i:02}", "17092512{i:02}000"], "has times in different units (1709251200 and 1709251201000)"),
        (["24-05-{end}"], "'24-05-20' seems to begin with the year"),
        (["24/05/{end}"], "'24/05/20' seems to begin with the year"),
        (["24.05.{end}"], "'24.05.20' seems to begin with the year; write dates as 2024-05-31"))
}  # fmt: skip


@each_of(FORMS)
def test_times_are_read_in_every_usual_form(case: Case, tmp_path: Path) -> None:
    case.check(tmp_path)


DUE, BORN = ["2025-04-{day:02}"], ["198{p}-01-05"]
REFUND, LOADED, IMPORT = ["2024-05-01", *[""] * 5], ["2024-05-01", "2024-05-02", "2024-05-03"], ["2024-06-01 00:00:00"]
COLUMNS = {
    f"not {other!r} but {paid!r}": Case(
        f"from,to,{other},{paid}", "{a},{b},{c},2024-03-{day:02}", cells, times=("2024-03-01", DAY),
        said=f"Read column {paid!r} as the time of each edge: 2024-03-01 to 2024-03-12.")
    for cells, other, paid in (
        (DUE, "Fecha vencimiento", "Fecha pago"), (DUE, "Last Login", "Paid At"), (DUE, "Invoice Date", "Paid Date"),
        (DUE, "Statement Date", "Transaction Date"), (DUE, "Value Date", "Booking Date"),
        (DUE, "due_date", "invoice_date"), (DUE, "updated_at", "created_at"), (DUE, "load_date", "value_date"),
        (DUE, "created_at", "transaction_date"), (DUE, "Mandate Date", "Execution Date"),
        (BORN, "narozen", "zaksięgowano"), (BORN, "geboren", "zaksięgowano"), (BORN, "dob", "zaksięgowano"),
        (BORN, "konto założone", "zaksięgowano"),
        (REFUND, "refund_date", "txn_dt"), (REFUND, "gemeldet", "txn_dt"), (LOADED, "snapshot_dt", "txn_dt"),
        (LOADED, "ETL_LOAD_TS", "txn_dt"), (LOADED, "archived_on", "txn_dt"), (IMPORT, "ingested_at", "occurred"),
        (IMPORT, "batch_date", "occurred"))
} | {
    "not when an account was opened, of whatever type": Case(
        "from,account_opened,to,paid_on", "{a},{c},{b},2024-03-{day:02}", BORN, frame="typed",
        times=("2024-03-01", DAY), said="Read column 'paid_on' as the time of each edge: 2024-03-01 to 2024-03-12."),
}  # fmt: skip


@each_of(COLUMNS)
def test_the_time_of_a_payment_is_not_a_date_that_something_else_has(case: Case, tmp_path: Path) -> None:
    case.check(tmp_path)


@pytest.mark.parametrize(("name", "first", "step", "is_time"), [
    ("start", 1759708800033, 61, True), ("first", 1759708800, 61, True), ("x", 1759708800033, 61, True),
    ("x", 1759708800033000, 61, True), ("x", 1759708800033000000, 1000, True), ("x", 1759708800, 61, False),
    ("tweet_id", 1759708800033, 61, False), ("value", 1759708800033, 61, False), ("ean", 1259708800033, 61, False),
    ("x", 4915112345678, 61, False), ("x", 4006381333931, 61, False), ("x", 9783161484100, 61, False),
    ("x", 1759708800033000001, 61, False), ("x", 1259708800033, 99_000_000_000, False),
    *((name, 1_700_000_000, 3600, True) for name in ("zeit", "created", "Buchungszeit", "hora", "booked")),
])  # fmt: skip
def test_unix_times_are_known_by_name_or_by_value(
    name: str, first: int, step: int, is_time: bool, tmp_path: Path
) -> None:
    lines = [f"{a},{b},{first + step * i},{i % 3}" for i, (a, b) in enumerate(PAIRS)]
    graph, notices = loaded(put(tmp_path / "flows.csv", f"src,dst,{name},packets", lines))
    assert (graph.edge_time is not None) == is_time, notices
    assert not is_time or int(graph.events.time.min()) == int(f"{first:010}"[:10])


@pytest.mark.parametrize(("header", "cells", "empty"), [
    ("Buchungstag", "{t:%Y%m%d}", ""), ("Valuta", "{t:%Y%m%d%H%M%S}", ""), ("date", "{t:%Y%m%d}", "99991231"),
    ("date", "{t:%Y%m%d}", "0"), ("date", "{t:%Y%m%d}", "00000000"), ("date", "{t:%d.%m.%Y}", "00.00.0000"),
    ("date", "{t:%m/%d/%Y}", "  /  /    "), ("date", "{t:%Y-%m-%d}", "0001-01-01T00:00:00"),
    ("ts_ms", "{s:.0f}000", "0"), ("event_timestamp", "{s:.0f}", "n/a"),
    ("timestamp", "{s:.0f}", "xx"), ("date,duration,time", "{t:%Y%m%d},0:03:25,{t:%H:%M}", ""),
    ("date", "{t:%Y.%m.%d}", ""), ("date", "{t:%d-%b-%y}", ""), ("Date,Time", "{t:%Y-%m-%d 00:00:00},{t:%H:%M:%S}", ""),
    ("Date,Time", "{t:%Y-%m-%dT00:00:00Z},{t:%H:%M:%S}", ""),
    ("Date,Time", "{t:%m/%d/%Y 12:00:00 AM},{t:%H:%M:%S}", ""),
    ("Date,Time", "{t:%Y-%m-%d},{t:1899-12-30 %H:%M:%S}", ""),
    ("Date,Time", "{t:%Y-%m-%d 00:00:00.000},{t:1900-01-01 %H:%M:%S}", ""),
])  # fmt: skip
def test_times_are_the_same_in_any_form_and_placeholders_count_as_empty(
    header: str, cells: str, empty: str, tmp_path: Path
) -> None:
    times = [datetime(2024, 3, 1, 0, 23, tzinfo=UTC) + timedelta(hours=7 * row) for row in range(120)]
    written = [cells.format(t=time, s=time.timestamp()) for time in times]
    written[50] = empty or written[50]
    lines = [f"a{row % 11},b{row % 7},{row + 1},{cell}" for row, cell in enumerate(written)]
    graph, notices = loaded(put(tmp_path / "a.csv", f"payer,payee,amount,{header}", lines))
    by_hour = "s:" in cells or "H" in cells
    expected = np.array([time.timestamp() if by_hour else DAY * (time.timestamp() // DAY) for time in times])
    expected[50] = np.nan if empty else expected[50]
    np.testing.assert_allclose(graph.events.time[np.argsort(graph.events.amount)], expected)
    assert header != "Date,Time" or ADDED.replace("time'", "Time'").replace("date'", "Date'") in notices


def test_dates_with_milliseconds_and_no_signs_are_dates() -> None:
    moments = [datetime(2024, 5, 1, tzinfo=UTC) + timedelta(hours=5 * row) for row in range(12)]
    cells = [f"{each:%Y%m%d%H%M%S}{row:03}" for row, each in enumerate(moments)]
    for column in (cells, [int(cell) for cell in cells]):
        frame = pl.DataFrame(PAIRS, schema=["from", "to"], orient="row").with_columns(txn_time=pl.Series(column))
        expected = [moment.timestamp() + row / 1000 for row, moment in enumerate(moments)]
        found = sorted(load(frame, notices=[]).events.time)
        np.testing.assert_allclose(found, expected, rtol=0, atol=0.0021)  # 17 digits are more than 53 bits
        assert found[0] == expected[0]


def test_numbers_in_text_are_times_and_a_time_may_be_a_category() -> None:
    edges = pl.DataFrame(PAIRS, schema=["from", "to"], orient="row")
    edges = edges.with_columns(day=pl.Series(rows("2024030{c}", "123456")), amount=np.arange(12))
    assert min(load(edges, notices=[]).events.time) == datetime(2024, 3, 1, tzinfo=UTC).timestamp()
    assert load(edges, category=["day"], notices=[]).events.time is None


def test_times_of_day_in_a_workbook_are_added_to_its_dates(tmp_path: Path) -> None:
    lines = [[a, b, i, datetime(2024, 3, 1 + i), time(16 + i % 8, 30)] for i, (a, b) in enumerate(PAIRS)]
    forms = {3: "yyyy-mm-dd", 4: "hh:mm"}
    graph, notices = loaded(
        workbook(tmp_path / "book.xlsx", ["from", "to", "amount", "date", "time"], *lines, forms=forms)
    )
    assert ADDED in notices
    expected = [datetime(2024, 3, 1 + i, 16 + i % 8, 30, tzinfo=UTC).timestamp() for i in range(12)]
    assert sorted(graph.events.time) == expected


@pytest.mark.parametrize(("usual", "last", "names"), [
    ("{i},2024-03-05 {at}", "{i},18 May 2024", "branch,when"),
    ("{i},2024-03-05 {at}", "{i},2024年5月18日", "branch,when"),
    ("{code},2024", "01,2024", "branch,when"), ("{code},2024.5", '{i},"1,234.5"', "zip,amount"),
])  # fmt: skip
def test_the_order_of_rows_changes_nothing(usual: str, last: str, names: str, tmp_path: Path) -> None:
    lines = [
        f"n{i % 40},n{i * 7 % 41}," + usual.format(i=i % 9, code=10 + i % 9, at=f"0{i // 60}:{i % 60:02}")
        for i in range(397)
    ]
    lines += [f"n{i},n40," + last.format(i=i) for i in range(3)]
    found = []
    for order in (lines, lines[::-1]):
        graph, notices = loaded(put(tmp_path / "a.csv", f"from,to,{names}", order))
        pattern = None if graph.events is None else graph.events.dates
        found.append((graph.attribute_names, graph.attributes.tolist(), notices[1:4], pattern))
    assert found[0] == found[1] and not any("cannot be read" in notice for notice in found[0][2])
