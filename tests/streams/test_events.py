"""Reading events: times and amounts of every kind, order, windows, and refusals that name the row."""

from __future__ import annotations

from pathlib import Path
from tempfile import TemporaryDirectory

import numpy as np
import polars as pl
import pytest

from hopsight.streams import events as module
from hopsight.streams.events import Columns, have_hours, in_one_currency, sorted_events
from hopsight.streams.times import parse_window
from stream_toys import read_events

COLUMNS = Columns(time="when")
PAID = Columns(time="when", amount="paid")


def frame_of(times: list[object]) -> pl.DataFrame:
    return pl.DataFrame({"source": list("abcd")[: len(times)], "target": ["x"] * len(times), "when": times})


def test_events_are_sorted_by_time_and_ties_keep_their_order() -> None:
    events = read_events(frame_of([5, 1, 5]), COLUMNS)
    assert events["source"].to_list() == ["b", "a", "c"]
    assert events["row"].to_list() == [2, 1, 3]


@pytest.mark.parametrize("clocks", [[91500, 234010], ["1900-01-01 09:15:00", "1900-01-01 23:40:10"]])
def test_times_of_day_in_any_form_are_added_to_the_date(clocks: list[object]) -> None:
    days = ["2024-03-01 00:00:00", "2024-03-02 00:00:00"]
    frame = pl.DataFrame({"source": ["a", "b"], "target": ["x", "y"], "Date": days, "Time": clocks})
    seconds = read_events(frame, Columns())["seconds"].to_list()
    assert seconds == [1709284500.0, 1709422810.0]  # 2024-03-01 09:15:00 and 2024-03-02 23:40:10


def test_exact_copies_with_the_same_number_count_once(caplog: pytest.LogCaptureFixture) -> None:
    rows = {"tx_id": ["t1", "t2", "t1", "t3"], "source": list("abac"), "target": list("xyxz"), "when": [5, 1, 5, 2]}
    frame = pl.DataFrame({**rows, "paid": [7.5, 8.0, 7.5, 9.0]})
    assert read_events(frame, PAID)["source"].to_list() == ["b", "c", "a"]
    said = "1 event is an exact copy of earlier ones, first in row 3, with the same 'tx_id': it is left out."
    assert said in caplog.messages
    assert read_events(frame.with_columns(paid=pl.Series([7.5, 8.0, 7.25, 9.0])), PAID).height == 4
    assert read_events(frame.drop("tx_id"), PAID).height == 4


def test_it_is_said_that_the_order_of_rows_decides_among_equal_times(caplog: pytest.LogCaptureFixture) -> None:
    read_events(frame_of(["2024-05-01", "2024-05-02", "2024-05-03", "2024-05-03"]), COLUMNS)
    assert not any("order of rows" in each for each in caplog.messages)
    read_events(frame_of(["2024-05-01"] * 4), COLUMNS)
    assert any(each.startswith("Most events share their time with others") for each in caplog.messages)


@pytest.mark.parametrize(
    ("times", "message"),
    [
        (["2020-01-01", "soon"], "row 2: 'soon' is not a date"),
        (["1700001120", "1700001121", "soon"], "row 3: 'soon' is not a number"),
        ([None, None], "none of its events has a time"),
        ([1.0, 1e300], "row 2: 1e\\+300 is not a time"),
        ([1.0, float("inf")], "row 2: inf is not a time"),
        ([True, False], "not times"),
        ([1700000000, 1700000060, 1700000120000, 1700000180000], r"different units \(1700000000 and 1700000120000\)"),
        (["01/02/2024", "03/04/2024"], "'01/02/2024' may have its day or its month first, and no row decides"),
    ],
)
def test_refuses_a_bad_time(times: list[object], message: str) -> None:
    with pytest.raises(ValueError, match=message):
        read_events(frame_of(times), COLUMNS)


@pytest.mark.parametrize(("cells", "wrong"), [("01/{:02}/2024", "02/30/2024"), ("202401{:02}", "20240230")])
def test_a_few_impossible_times_are_left_out(cells: str, wrong: str, caplog: pytest.LogCaptureFixture) -> None:
    times = [cells.format(row % 20 + 1) for row in range(200)]
    times[6], times[7] = wrong, ""
    frame = pl.DataFrame({"source": ["a", "b"] * 100, "target": ["x", "y"] * 100, "when": times})
    assert read_events(frame, COLUMNS).height == 198
    assert f"Column 'when', row 7: '{wrong}' cannot be read as a time; it counts as empty." in caplog.messages
    assert "Left out 2 rows without a time in column 'when'." in caplog.messages


def test_refuses_a_missing_column() -> None:
    with pytest.raises(ValueError, match="time_column"):
        read_events(frame_of([1]).rename({"when": "then"}), COLUMNS)


def test_a_header_without_events_is_refused(tmp_path: Path) -> None:
    (tmp_path / "e.csv").write_text("source,target,when,paid\n")
    with pytest.raises(ValueError, match=r"e\.csv: it has a header but no events"):
        read_events(tmp_path / "e.csv", Columns(time="when", amount="paid"))


def test_an_empty_amount_is_not_judged_and_text_is_refused() -> None:
    columns = Columns(time="when", amount="paid")
    frame = frame_of([1, 2])
    assert np.isnan(read_events(frame.with_columns(paid=pl.Series([None, 2.0])), columns)["amount"][0])
    with pytest.raises(ValueError, match="row 1: 'much' is not a number"):
        read_events(frame.with_columns(paid=pl.Series(["much", "2"])), columns)
    with pytest.raises(ValueError, match="row 2: inf is not a finite number"):
        read_events(frame.with_columns(paid=pl.Series([1.0, float("inf")])), columns)


def test_amounts_are_read_as_people_write_them() -> None:
    frame = frame_of([1, 2]).with_columns(paid=pl.Series(["1.234,50 €", "7,25 €"]))
    assert read_events(frame, Columns(time="when", amount="paid"))["amount"].to_list() == [1234.5, 7.25]


@pytest.mark.parametrize(
    ("columns", "found"),
    [(["id", "when", "made"], "made"), (["value", "when", "ts"], "ts"), (["made", "date", "x"], "date")],
)
def test_a_time_that_is_not_named_is_recognized(columns: list[str], found: str) -> None:
    dates = ["2024-05-01", "2024-05-02"]
    values = {"made": dates, "date": dates}
    frame = pl.DataFrame(
        {"source": ["a", "b"], "target": ["x", "y"]} | {name: values.get(name, [3, 4]) for name in columns}
    )
    with TemporaryDirectory() as folder, sorted_events(frame, Columns(), Path(folder)) as events:
        assert events.columns.time == found


def test_a_table_without_times_is_refused() -> None:
    wanted = r"no column looks like the time of an event, of 3 columns \('source', 'target', 'paid'\)"
    with pytest.raises(ValueError, match=wanted):
        read_events(pl.DataFrame({"source": ["a"], "target": ["b"], "paid": [3]}), Columns())


def test_rows_of_a_status_can_be_left_out_and_others_keep_their_numbers(caplog: pytest.LogCaptureFixture) -> None:
    states = ["ok", "Failed", "ok", None]
    frame = pl.DataFrame({"from": [*"abcd"], "to": [*"bcda"], "ts": [1, 2, 3, 4], "state": states})
    assert read_events(frame, Columns(ignore=["state=failed"]))["row"].to_list() == [1, 3, 4]
    assert caplog.messages[-2] == "Left out 1 row with state=failed."
    assert read_events(frame, Columns())["row"].to_list() == [1, 3, 4]
    assert "Left out 1 row whose state is 'Failed', as these did not take place; to count them, " in caplog.text
    assert read_events(frame, Columns(ignore=["state"]))["row"].to_list() == [1, 2, 3, 4]
    with (
        TemporaryDirectory() as folder,
        sorted_events(frame.with_columns(state=pl.lit("ok")), Columns(), Path(folder)) as one,
    ):
        first = one.columns
    assert read_events(frame, first)["row"].to_list() == [1, 3, 4]  # a later file of the stream
    many = pl.concat([frame.with_columns(state=pl.lit("ok"))] * 70 + [frame.with_columns(state=pl.lit("bounced"))])
    read_events(many, Columns())
    assert "Rows count whatever their state is ('ok': 280, 'bounced': 4); to leave some out, pass" in caplog.text


def table(n_rows: int = 1000) -> pl.DataFrame:
    rng = np.random.default_rng(0)
    return pl.DataFrame(
        {
            "source": rng.integers(0, 9, n_rows), "target": [f"t{n}" for n in rng.integers(0, 9, n_rows)],
            "when": rng.integers(0, 50, n_rows), "paid": rng.random(n_rows),
        }
    )  # fmt: skip


def test_a_bad_row_of_a_later_block_is_named_as_in_the_table(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "CHUNK", 130)
    table()[:500].with_columns(
        paid=pl.when(pl.int_range(pl.len()) == 399).then(np.inf).otherwise("paid")
    ).write_parquet(tmp_path / "e.parquet")
    with pytest.raises(ValueError, match="row 400: inf"), sorted_events(tmp_path / "e.parquet", PAID, tmp_path):
        pass


def test_self_loops_rows_without_a_time_and_far_ones_are_left_out(caplog: pytest.LogCaptureFixture) -> None:
    days = [f"2024-05-{day:02}" for day in range(1, 29)]
    times = [*days, "", "9999-12-31", None, "2024-05-09"]
    targets = [*(f"t{row}" for row in range(len(times) - 1)), "a"]
    frame = pl.DataFrame({"source": "a", "target": targets, "when": times})
    events = read_events(frame, COLUMNS)
    assert events["time"].to_list() == days
    with pytest.raises(ValueError, match="all its events are self-loops"):
        read_events(frame[-1:], COLUMNS)
    assert caplog.messages == [
        "Removed 1 self-loop.",
        "Left out 2 rows without a time in column 'when'.",
        "Left out 1 event with a time far from all others, such as 9999-12-31 in row 30.",
        "Read column 'when' as the time of each event: 2024-05-01 to 2024-05-28.",
    ]


def test_times_and_amounts_are_found_as_detect_finds_them_unless_they_are_categories() -> None:
    frame = pl.DataFrame(
        {"from": ["a", "b"], "to": ["x", "y"], "booked": ["2024-05-01", "2024-05-02"], "due": ["2024-05-03"] * 2,
         "amount": [3.5, 4.0], "currency": ["EUR", "USD"]}
    )  # fmt: skip
    for category, expected in (((), "booked"), (("booked",), "due")):
        with TemporaryDirectory() as folder, sorted_events(frame, Columns(category=category), Path(folder)) as events:
            found = events.columns
        assert (found.time, found.amount, found.currency, found.shown) == (expected, "amount", "currency", "%Y-%m-%d")


@pytest.mark.parametrize("days", [["2024-05-01", "2024-05-02"], [20240501, 20240502]])
def test_a_time_of_day_is_added_to_a_date_as_in_detect(days: list[object], caplog: pytest.LogCaptureFixture) -> None:
    columns = {"from": ["a", "b"], "to": ["x", "y"], "date": days, "time": ["23:15", "00:30"], "amount": [5.0, 6.0]}
    for time in (None, "date"):
        events = read_events(pl.DataFrame(columns), Columns(time=time))
        assert (events["seconds"] - 1_714_521_600).to_list() == [23.25 * 3600, 24.5 * 3600]
        assert events["time"].to_list() == [f"{days[0]} 23:15", f"{days[1]} 00:30"]
    assert "Added the time of day in column 'time' to the date in column 'date'." in caplog.messages


@pytest.mark.parametrize(
    ("columns", "money"),
    [
        (Columns(), False), (Columns(amount="bytes"), False), (Columns(amount="amount"), True),
        (Columns(amount="bytes", unit="EUR"), True), (Columns(amount="bytes", currency="ccy"), True),
    ],
)  # fmt: skip
def test_amounts_are_money_by_their_name_or_a_currency(columns: Columns, money: bool) -> None:
    assert columns.are_money is money


def test_columns_are_found_by_their_words_also_where_all_cells_are_text() -> None:
    columns = {
        "from": ["1", "x2"],
        "to": ["3", "4"],
        "Amount Paid": ["3.50", "4.00"],
        "Payment Currency": ["EUR", "USD"],
    }
    frame = pl.DataFrame(columns | {"time": ["15", "75"]})
    with TemporaryDirectory() as folder, sorted_events(frame, Columns(), Path(folder)) as events:
        found = events.columns
    assert (found.time, found.amount, found.currency) == ("time", "Amount Paid", "Payment Currency")


def test_amounts_of_another_currency_count_by_what_is_usual_in_it(caplog: pytest.LogCaptureFixture) -> None:
    """Yen are 100 times as many as euros: 20,000 of them are as unusual as 200 euros. Dollars come in the last part."""
    rows = [("EUR", 10.0)] * 11 + [("JPY", 1000.0)] * 10 + [("JPY", 20_000.0), ("EUR", 200.0), ("USD", 7.0)]
    events = pl.DataFrame({"currency": [row[0] for row in rows], "amount": [row[1] for row in rows]})
    for parts in ([events], [events[:15], events[15:]]):
        found = compared(parts)
        np.testing.assert_allclose(found[21:], [200.0, 200.0, np.nan])
        assert np.isnan(found[11:21]).all()  # too few to compare with
    assert caplog.messages == ["Amounts in USD are new to this stream: the first 10 of them are not judged."]


def compared(parts: list[pl.DataFrame]) -> np.ndarray:
    """Return the amounts of the parts of a stream as they are compared."""
    notes: dict = {"currencies": {}, "unit": None}
    found = pl.concat([in_one_currency(part, notes) for part in parts])
    return (found["amount"] * found["factor"]).to_numpy()


@pytest.mark.parametrize("size", [1, 7, 60])
def test_parts_of_any_size_compare_amounts_alike_and_one_amount_in_gold_is_no_measure(size: int) -> None:
    """The first event has no amount, the second is the only one in gold, and yen are rarer than euros only later."""
    rng = np.random.default_rng(0)
    shares = [0.3] * 50 + [0.9] * 250
    names = ["JPY", "XAU", *np.where(rng.random(300) < shares, "EUR", "JPY")]
    usual = np.where(np.array(names) == "JPY", 9.0, 4.0)
    amounts = [np.nan, 1.0, *np.exp(rng.normal(usual[2:], 0.5))]
    events = pl.DataFrame({"currency": names, "amount": amounts})
    whole = compared([events])
    np.testing.assert_array_equal(whole, compared([events[at : at + size] for at in range(0, events.height, size)]))
    assert np.isfinite(whole[40:]).all()
    assert abs(np.log(whole[100:]).mean() - 9.0) < 0.2


@pytest.mark.parametrize("last", [("c", "d", 5, 0.5), ("c", "d", 2.5, 1.0), ("c", "d", 5, "1.234,50")])
def test_text_in_pieces_gives_the_events_of_a_whole_read(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, last: tuple[object, ...]
) -> None:
    """Also if a late row is the first with a fraction, or decides how amounts are written."""
    columns = ("source", "target", "when", "paid")
    paid = "{}.000" if isinstance(last[3], str) else "{}"
    rows = [(f"s{n % 9}", n % 7, n % 50, paid.format(n)) for n in range(1000)] + [last]
    text = ";".join(columns) + "\n" + "".join(";".join(map(str, row)) + "\n" for row in rows)
    (tmp_path / "e.csv").write_text(text)
    whole = read_events(tmp_path / "e.csv", PAID)
    monkeypatch.setattr(module, "CHUNK", 130)
    with sorted_events(tmp_path / "e.csv", PAID, tmp_path) as found:
        chunks = list(found.chunks())
    assert pl.concat(chunks).equals(whole)
    if isinstance(last[3], str):
        assert whole["amount"].max() == 999_000
        assert found.columns.amounts == "comma numbers"


@pytest.mark.parametrize(
    ("times", "seconds", "said"),
    [
        (["03/20/2024", "03/21/2024 12:00 PM"], [0, 129600], "such as 03/20/2024, as month/day/year."),
        (["20/03/2024 00:00", "21/03/2024"], [0, 86400], "such as 20/03/2024 00:00, as day/month/year."),
        ([1_710_892_800_000, 1_710_892_800_500], [0, 0.5], "such as 1710892800000, as milliseconds."),
        ([1_710_892_800_000_000, 1_710_892_801_000_000], [0, 1], "such as 1710892800000000, as microseconds."),
        ([20240320, 20240401], [0, 12 * 86400], "such as 20240320, as dates."),
    ],
)
def test_other_times_are_read_and_it_is_said(
    times: list[object], seconds: list[float], said: str, caplog: pytest.LogCaptureFixture
) -> None:
    events = read_events(frame_of(times), COLUMNS)
    assert (events["seconds"] - 1_710_892_800).to_list() == seconds
    assert caplog.messages[0] == f"Read the times in column 'when', {said}"


def test_it_is_said_which_columns_are_the_ends_and_which_are_not_used(caplog: pytest.LogCaptureFixture) -> None:
    frame = pl.DataFrame(
        {"src_ip": ["a", "b"], "dst_ip": ["x", "y"], "ts": ["2024-05-01", "2024-05-02"], "proto": ["tcp", "udp"],
         "note": ["", ""], "port": [80, 53]}
    )  # fmt: skip
    read_events(frame, Columns(ignore=("note",)))
    assert caplog.messages == [
        "Read edges from column 'src_ip' to column 'dst_ip'.",
        "Not used: 2 columns ('proto', 'port').",
        "Read column 'ts' as the time of each event: 2024-05-01 to 2024-05-02.",
    ]


@pytest.mark.parametrize("amount", [None, "packets"])
def test_where_events_have_no_amount_a_hint_says_how_to_give_one(
    caplog: pytest.LogCaptureFixture, amount: str | None
) -> None:
    frame = pl.DataFrame(
        {"src": ["a", "b"], "dst": ["x", "y"], "ts": ["2024-05-01", "2024-05-02"], "bytes": ["1", "2"],
         "packets": [80, 53]}
    )  # fmt: skip
    read_events(frame, Columns(amount=amount))
    hint = " If one of them is the size of an event, pass it as weight_column."
    rest = "2 columns ('bytes', 'packets')." + hint if amount is None else "1 column ('bytes')."
    assert f"Not used: {rest}" in caplog.messages
    said = [] if amount is None else ["Read column 'packets' as the amount of each event: 53 to 80, 133 in all."]
    assert [line for line in caplog.messages if "the amount" in line] == said


@pytest.mark.parametrize(
    ("times", "dated"),
    [(["1965-03-01", "1965-03-02"], True), ([-5, 1000], False), (["7", "9"], False), ([1_700_000_000] * 2, True)],
)
def test_dates_are_dates_also_before_1980(times: list[object], dated: bool) -> None:
    assert have_hours(read_events(frame_of(times), COLUMNS)) is dated


def test_windows_of_a_duration_begin_at_midnight_utc() -> None:
    window, moments = parse_window("1d"), np.array([0.0, 59.0, 60.0, 86399.0, 86400.0, -1.0])
    assert window.number(moments, 0).tolist() == [0, 0, 0, 0, 1, -1]
    assert window.number(moments, 0, window.n_ticks).tolist() == [0, 0, 1, 1439, 1440, -1]


@pytest.mark.parametrize("text", ["", "0", "0d", "1 fortnight", "-3h", "1.5", "d"])
def test_refuses_what_is_no_window(text: str) -> None:
    with pytest.raises(ValueError, match="window must be a duration such as 30d"):
        parse_window(text)


def test_where_times_are_dates_a_tick_is_a_minute_also_in_windows_of_events() -> None:
    window, moments = parse_window("96"), np.array([0.0, 1.0, 59.0, 60.0, 200.0])
    assert window.ticks(moments, 0, dated=True).tolist() == [0, 0, 0, 1, 3]
    assert window.ticks(moments, 0, dated=False).tolist() == [0, 1, 2, 3, 4]
    hour = parse_window("1h")
    np.testing.assert_array_equal(hour.ticks(moments, 0, dated=True), hour.number(moments, 0, hour.n_ticks))


def test_a_row_without_a_time_of_day_is_left_out_and_one_that_is_none_is_named(
    caplog: pytest.LogCaptureFixture,
) -> None:
    columns = {"from": ["a", "b", "c"], "to": ["x", "y", "z"], "date": ["2024-05-01"] * 3}
    assert read_events(pl.DataFrame(columns | {"time": ["23:15", None, "00:30"]}), Columns()).height == 2
    assert "Left out 1 row without a time in column 'date' or 'time'." in caplog.messages
    frame = pl.DataFrame(columns)[[0] * 200 + [1]]
    clocks = pl.Series("time", ["23:15"] * 200 + ["25:70"])
    assert read_events(frame.with_columns(clocks), Columns()).height == 200
    assert any("'25:70'" in each for each in caplog.messages)
