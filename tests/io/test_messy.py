"""Tables as people have them: titles, spaces, dates and ids in every form; each is read or refused in a sentence."""

import json
import re
from datetime import UTC, datetime, timedelta
from pathlib import Path

import numpy as np
import polars as pl
import pytest

from hopsight.graph import AttributedGraph
from hopsight.loading import load

PEOPLE = ["ann", "bo", "cy", "di", "eve", "flo"]
PAIRS = [(PEOPLE[i % 6], PEOPLE[(i + 1 + i // 6) % 6]) for i in range(12)]
DAY = 86400.0
MARCH = 19783 * DAY  # 2024-03-01 in seconds


def table(path: Path, header: str, row: str, *, before: str = "") -> Path:
    """Write a table of twelve edges; ``row`` is formatted with both ends and the number of the row."""
    rows = [row.format(a=a, b=b, i=i, day=i + 1, end=i + 20) for i, (a, b) in enumerate(PAIRS)]
    path.write_text(before + "\n".join([header, *rows] if header else rows) + "\n")
    return path


def loaded(path: Path, **options: object) -> tuple[AttributedGraph, list[str]]:
    """Load a table as a user does, with the notices."""
    notices: list[str] = []
    return load(str(path), notices=notices, **options), notices  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("header", "row", "first", "step"),
    [
        ("from,to,when", "{a},{b},3/{end}/24 01:30:00 PM", MARCH + 19 * DAY + 13.5 * 3600, DAY),
        ("from,to,when", "{a},{b},3/{end}/24 1:30 p.\u00a0m.", MARCH + 19 * DAY + 13.5 * 3600, DAY),
        ("from,to,when", "{a},{b},{day} Mar 2024", MARCH, DAY),
        ("from,to,when", '{a},{b},"Fri, March {day}, 2024 02:00"', MARCH + 7200, DAY),
        ("from,to,date", "{a},{b},202403{day:02}", MARCH, DAY),
        ("from,to,timestamp", "{a},{b},202403{day:02}0130", MARCH + 5400, DAY),
        ("from,to,timestamp", "{a},{b},202403{day:02}013005", MARCH + 5405, DAY),
        ("from,to,timestamp", "{a},{b},{i}709251200000", None, None),
        ("from,to,ts", "{a},{b},17092512{i:02}000", MARCH, 1.0),
        ("from,to,ts", "{a},{b},17092512{i:02}000000", MARCH, 1.0),
        ("from,to,ts_ms", "{a},{b},17092512{i:02}000", MARCH, 1.0),
        ("from,to,epoch_us", "{a},{b},17092512{i:02}000000", MARCH, 1.0),
        ("from,to,when", "{a},{b},{day:02}.03.24", MARCH, DAY),
        ("from,to,date,time", "{a},{b},2024-03-{day:02},12:30", MARCH + 12.5 * 3600, DAY),
        ("", "{a},{b},17092512{i:02}", MARCH, 1.0),
    ],
)
def test_times_are_read_in_every_usual_form(
    header: str, row: str, first: float | None, step: float | None, tmp_path: Path
) -> None:
    graph, _ = loaded(table(tmp_path / "edges.csv", header, row))
    times = sorted(graph.edge_time.tolist())
    if first is not None and step is not None:
        assert times == pytest.approx([first + step * i for i in range(12)])


def test_numbers_in_text_are_times_and_a_time_may_be_a_category() -> None:
    days = [f"202403{day:02}" for day in range(1, 7)] * 2
    edges = pl.DataFrame({"from": [a for a, _ in PAIRS], "to": [b for _, b in PAIRS], "day": days, "amount": range(12)})
    assert min(load(edges, notices=[]).events.time) == MARCH
    assert load(edges, category=["day"], notices=[]).events.time is None


def test_units_of_numeric_times_are_stated(tmp_path: Path) -> None:
    _, notices = loaded(table(tmp_path / "a.csv", "from,to,ts", "{a},{b},17092512{i:02}000"))
    assert "Read the times in column 'ts', such as 1709251200000, as milliseconds." in notices
    _, notices = loaded(table(tmp_path / "b.csv", "from,to,date,time", "{a},{b},2024-03-{day:02},12:3{i}"[:-4] + "30"))
    assert "Added the time of day in column 'time' to the date in column 'date'." in notices


def test_lines_above_a_table_are_left_out(tmp_path: Path) -> None:
    path = table(tmp_path / "edges.csv", "from,to,amount", "{a},{b},{i}.5", before="Payments of 2024\n\n")
    graph, notices = loaded(path)
    assert graph.n_nodes == 6
    assert "Left out 1 line above the table in edges.csv: 'Payments of 2024'." in notices
    spaced = table(tmp_path / "spaced.csv", "from;to;paid at", "{a};{b};2024-03-{day:02} 10:00", before="Title: list\n")
    assert loaded(spaced)[0].n_nodes == 6  # a space in the title, in a name and in each time separates nothing
    marked = table(tmp_path / "marked.csv", "from;to;amount", "{a};{b};{i},5", before="sep=;\n")
    assert sorted(loaded(marked)[0].edge_attributes.ravel().tolist()) == [i + 0.5 for i in range(12)]


def test_a_comma_at_the_end_of_every_row_does_not_cost_the_header(tmp_path: Path) -> None:
    for title in ("", "Payments\n"):
        path = table(tmp_path / "edges.csv", "from,to,amount", "{a},{b},{i},", before=title)
        graph, notices = loaded(path)
        assert graph.events is not None and sorted(graph.events.amount) == list(range(12))
        assert any("above the table" in notice for notice in notices) == bool(title)


def test_spaces_after_commas_belong_to_no_id(tmp_path: Path) -> None:
    graph, _ = loaded(table(tmp_path / "edges.csv", "from, to, amount", "{a}, {b}, {i}.5"))
    assert graph.node_ids.tolist() == sorted(PEOPLE)
    assert graph.edge_attribute_names == ("amount",)
    quoted, _ = loaded(table(tmp_path / "quoted.csv", "from,to,amount", '{a}," {b}",{i}.5'))
    assert quoted.node_ids.tolist() == sorted(PEOPLE)


def test_ends_are_found_behind_dates_and_amounts(tmp_path: Path) -> None:
    path = table(tmp_path / "edges.csv", "Valuta;Summe;Konto;Partner", "{day}.03.2024;{i},50;{a};{b}")
    graph, notices = loaded(path)
    assert "Read edges from column 'Konto' to column 'Partner'." in notices
    assert graph.n_nodes == 6


def test_nested_objects_and_arrays_of_json(tmp_path: Path) -> None:
    rows = [{"sender": {"id": a}, "receiver": {"id": b}, "paid": {"value": i}} for i, (a, b) in enumerate(PAIRS)]
    lines, array = tmp_path / "edges.jsonl", tmp_path / "edges.json"
    lines.write_text("\n".join(map(json.dumps, rows)))
    array.write_text(json.dumps(rows, indent=1))
    for path in (lines, array):
        graph, notices = loaded(path)
        assert graph.node_ids.tolist() == sorted(PEOPLE)
        assert graph.edge_attribute_names == ("paid.value",)
        assert "Read edges from column 'sender.id' to column 'receiver.id'." in notices


def test_codes_with_leading_zeros_are_categories_and_free_text_is_no_name(tmp_path: Path) -> None:
    edges = table(tmp_path / "edges.csv", "from,to", "{a},{b}")
    everyone = [*PEOPLE, "gus", "hal", "ida", "jo"]
    rows = [f"{who},0{1000 + i % 3},{who} says that the new card works very well" for i, who in enumerate(everyone)]
    (tmp_path / "nodes.csv").write_text("\n".join(["id,zip,notes", *rows]))
    graph, notices = loaded(edges, nodes=str(tmp_path / "nodes.csv"))
    assert {"zip=01000", "zip=01001", "zip=01002"} <= set(graph.attribute_names)
    assert "Column 'zip' holds codes with leading zeros, which are not read as numbers." in notices
    assert graph.node_names is None


@pytest.mark.parametrize(
    ("names", "usual", "last"),
    [
        ("branch,when", "{i},2024-03-05 {at}", "{i},18 May 2024"),
        ("branch,when", "{i},2024-03-05 {at}", "{i},2024年5月18日"),
        ("branch,when", "{code},2024", "01,2024"),
        ("zip,amount", "{code},2024.5", '{i},"1,234.5"'),
    ],
)
def test_the_order_of_rows_changes_nothing(names: str, usual: str, last: str, tmp_path: Path) -> None:
    rows = [
        f"n{i % 40},n{i * 7 % 41}," + usual.format(i=i % 9, code=10 + i % 9, at=f"0{i // 60}:{i % 60:02}")
        for i in range(397)
    ]
    rows += [f"n{i},n40," + last.format(i=i) for i in range(3)]
    graphs = []
    for number, order in enumerate((rows, rows[::-1])):
        (tmp_path / f"{number}.csv").write_text("\n".join([f"from,to,{names}", *order]))
        graph, notices = loaded(tmp_path / f"{number}.csv")
        pattern = None if graph.events is None else graph.events.dates
        graphs.append((graph.attribute_names, graph.attributes.tolist(), notices[1:4], pattern))
    assert graphs[0] == graphs[1]
    assert not any("cannot be read" in notice for notice in graphs[0][2])


def test_the_order_of_rows_does_not_choose_the_ends(tmp_path: Path) -> None:
    rows = [f"a{i % 50},b{i % 60},{'c' if i < 150 else 'a'}{i * 3 % 50},{i}" for i in range(400)]
    said = []
    for number, order in enumerate((rows, rows[::-1], sorted(rows))):
        (tmp_path / f"{number}.csv").write_text("\n".join(["k1,k2,k3,amount", *order]))
        said.append(loaded(tmp_path / f"{number}.csv")[1][0])
    assert said == ["Read edges from column 'k1' to column 'k3'."] * 3


@pytest.mark.parametrize("mark", ["", "\ufeff"])
def test_a_header_below_and_currencies_in_other_letters(mark: str, tmp_path: Path) -> None:
    row = "{a},{b},{i}.5,2024-03-{day:02},"
    rows = [row.format(a=a, b=b, i=i, day=i + 1) + ("EUR", "eur", "€")[i % 3] for i, (a, b) in enumerate(PAIRS)]
    header = f"{mark}from,to,amount,day,currency"
    (tmp_path / "a.csv").write_text("\n".join([header, *rows[:6], header, *rows[6:]]))
    graph, notices = loaded(tmp_path / "a.csv")
    assert graph.node_ids.tolist() == PEOPLE
    assert "Left out 1 row like the header, first row 7 of the data." in notices
    assert graph.events is not None and graph.events.currencies == ("EUR",)
    assert not any("currencies" in notice for notice in notices)
    (tmp_path / "b.csv").write_text(
        "\n".join(["Von;An;Betrag", *["ann;bob;7,50 €", "cy;dan;8,50 €"] * 9, "Von;An;Betrag"])
    )
    graph, notices = loaded(tmp_path / "b.csv")
    assert graph.n_nodes == 4 and "Left out 1 row like the header, first row 19 of the data." in notices


def test_codes_with_leading_zeros_are_categories_in_every_format(tmp_path: Path) -> None:
    frame = pl.DataFrame({"from": PEOPLE * 2, "to": PEOPLE[1:] * 2 + PEOPLE[:2], "zip": ["01", "10", "11"] * 4})
    frame.write_csv(tmp_path / "a.csv")
    frame.write_parquet(tmp_path / "a.parquet")
    frame.write_ndjson(tmp_path / "a.jsonl")
    found = [loaded(tmp_path / f"a.{kind}") for kind in ("csv", "parquet", "jsonl")]
    assert len({graph.attribute_names for graph, _ in found}) == 1
    for _, notices in found:
        assert "Column 'zip' holds codes with leading zeros, which are not read as numbers." in notices


def test_padded_numbers_of_rows_are_no_codes(tmp_path: Path) -> None:
    _, notices = loaded(table(tmp_path / "a.csv", "from,to,tx_id,amount", "{a},{b},0{i:02},{i}"))
    assert "Column 'tx_id' only identifies rows and is left out." in notices


@pytest.mark.parametrize(
    ("name", "content", "message"),
    [
        ("a.csv", "<!DOCTYPE html>\n<html><p>Not, found</p></html>\n", "it is a web page, not a table"),
        ("a.txt", "1 2 3\n2 4\n3 1 2 4 5\n", "its lines have different numbers of cells; write one edge per line"),
        ("a.csv", ",a,b,c\na,0,1,1\nb,1,0,0\nc,1,0,0\n", "it is an adjacency matrix"),
        ("a.csv", "from,to,x\na,b,1\nb,c,2,9\n", r"row 2 \('b,c,2,9'\) has more cells than its header"),
        ("a.csv", "from,to,x\na,,1\nb,,2\n", "it has a header but no edges"),
        ("a.json", '{"nodes": [{"id": 1}], "links": [{"a": 1}]}', "column 'nodes' holds List.*, not node ids"),
    ],
)
def test_what_is_no_edge_list_is_refused_in_one_sentence(name: str, content: str, message: str, tmp_path: Path) -> None:
    (tmp_path / name).write_text(content)
    with pytest.raises(ValueError, match=message) as caught:
        loaded(tmp_path / name)
    assert "\n" not in str(caught.value)


def test_objects_as_ids_of_a_typed_table_are_refused() -> None:
    frame = pl.DataFrame({"source": [{"id": 1}, {"id": 2}], "target": [{"id": 2}, {"id": 3}]})
    with pytest.raises(ValueError, match=r"column 'source' holds Struct.*, not node ids; name another column"):
        load(frame, notices=[])


def test_a_sheet_with_a_title_is_read_from_its_header_on(tmp_path: Path) -> None:
    writer = pytest.importorskip("xlsxwriter", reason="xlsxwriter writes the workbook")
    book = writer.Workbook(tmp_path / "book.xlsx")
    sheet = book.add_worksheet("payments")
    sheet.write_row(0, 0, ["Payments of 2024"])
    sheet.write_row(2, 0, ["payer", "payee", "amount"])
    for number, (a, b) in enumerate(PAIRS):
        sheet.write_row(3 + number, 0, [a, b, number + 0.5])
    book.close()
    graph, notices = loaded(tmp_path / "book.xlsx")
    assert graph.edge_attribute_names == ("amount",)
    assert "Read edges from column 'payer' to column 'payee'." in notices
    assert "Left out 1 row above the table in book.xlsx: 'Payments of 2024'." in notices


def test_amounts_have_their_currency_before_or_after_them_and_in_the_header(tmp_path: Path) -> None:
    for sign, unit in (("R$ ", "BRL"), ("S/ ", "S/"), ("CHF ", "CHF"), ("₫", "₫"), ("Rs. ", "INR"), ("NT$", "NT$")):
        graph, _ = loaded(table(tmp_path / "a.csv", "from;to;valor", "{a};{b};" + sign + "{day},50"))
        assert sorted(graph.events.amount.tolist()) == [day + 0.5 for day in range(1, 13)]
        assert graph.events.currencies == (unit,)
    graph, notices = loaded(table(tmp_path / "b.csv", "from;to;Preço pago (R$)", "{a};{b};{day},50"))
    assert graph.events.currencies == ("BRL",) and "as the amount of each edge" in " ".join(notices)


@pytest.mark.parametrize(
    ("name", "words"), [("Fraude avérée", "Oui Non"), ("Betrugsverdacht", "ja nein"), ("suspeito?", "sim não")]
)
def test_known_cases_are_recognized_in_other_languages(name: str, words: str, tmp_path: Path) -> None:
    yes, no = words.split()
    for cells in ((yes, no), (no, "")):
        rows = [f"{a},{b},{cells[i % 2]}" for i, (a, b) in enumerate(PAIRS)]
        (tmp_path / "edges.csv").write_text("\n".join([f"from,to,{name}", *rows]))
        nodes = [f"{who},{cells[i % 2]},{i}" for i, who in enumerate(PEOPLE)]
        (tmp_path / "nodes.csv").write_text("\n".join([f"id,{name},age", *nodes]))
        graph, notices = loaded(tmp_path / "edges.csv", nodes=str(tmp_path / "nodes.csv"))
        assert graph.attribute_names == ("age",)
        assert sum("looks like ground truth" in each for each in notices) == 2


def test_codes_that_nearly_nobody_shares_are_no_attributes(tmp_path: Path) -> None:
    people = [f"p{i}" for i in range(60)]
    edges = [f"{one},{other}" for one, other in zip(people, [*people[1:], people[0]], strict=True)]
    (tmp_path / "edges.csv").write_text("\n".join(["from,to", *edges]))
    rows = [f"{who},0{6000 + i},0{1000 + i % 55},{90000 + i % 55},{i % 9}" for i, who in enumerate(people)]
    (tmp_path / "nodes.csv").write_text("\n".join(["id,Tél.,Code postal,zip,age", *rows]))
    graph, notices = loaded(tmp_path / "edges.csv", nodes=str(tmp_path / "nodes.csv"))
    assert graph.attribute_names == ("age",)
    said = "Column 'Code postal' has 55 different values (more than 50) and is left out; 10 rows share a value"
    assert any(each.startswith(said) for each in notices)


def test_cells_that_mean_empty_or_nothing_are_counted(tmp_path: Path) -> None:
    empty = ["n.c.", "n/d", "s/d", "k.A."]
    cells = [*empty, *map(str, range(8))]
    rows = [f"{a},{b},{cell}" for (a, b), cell in zip(PAIRS, cells, strict=True)]
    (tmp_path / "a.csv").write_text("\n".join(["from,to,amount", *rows]))
    graph, _ = loaded(tmp_path / "a.csv")
    assert int(np.isnan(graph.events.amount).sum()) == 4
    rows[:3] = [f"{a},{b},{cell}" for (a, b), cell in zip(PAIRS, ["tbd", "wait", "tbd"], strict=False)]
    (tmp_path / "a.csv").write_text("\n".join(["from,to,amount", *rows]))
    with pytest.raises(ValueError, match=r"row 1: 'tbd' \(elsewhere 'wait'\) is not .* correct this and 2 other cells"):
        loaded(tmp_path / "a.csv")


def test_numbers_of_rows_are_no_ends_and_the_ids_of_the_node_table_are(tmp_path: Path) -> None:
    for number in ("S{i:03}", "{i:03}", "S{mixed}"):
        rows = [f"{number},A{i % 9},GAR{i % 7},B{i % 5},{i}.5".format(i=i, mixed=i * 37 % 101) for i in range(60)]
        (tmp_path / "claims.csv").write_text("\n".join(["Sinistre,Assuré,Garage,Médecin,Montant", *rows]))
        assert "Read edges from column 'Assuré' to column 'Garage'." in loaded(tmp_path / "claims.csv")[1]
    (tmp_path / "doctors.csv").write_text("Médecin,age\n" + "\n".join(f"B{i},{40 + i}" for i in range(5)))
    _, notices = loaded(tmp_path / "claims.csv", nodes=str(tmp_path / "doctors.csv"))
    assert "Read edges from column 'Assuré' to column 'Médecin'." in notices
    trees = [f"D{i:03},U{i // 2},red,{i}" for i in range(60)]  # every device has one owner
    (tmp_path / "devices.csv").write_text("\n".join(["Gerät,Besitzer,Farbe,x", *trees]))
    assert "Read edges from column 'Gerät' to column 'Besitzer'." in loaded(tmp_path / "devices.csv")[1]


def test_a_second_time_is_not_summed_and_a_footer_is_no_edge(tmp_path: Path) -> None:
    path = table(tmp_path / "a.csv", "from|to|DateTime|UnixTimestamp", "{a}|{b}|2024-03-{day:02}|17092512{i:02}")
    path.write_text(path.read_text() + "EOF|12 records\n")
    graph, notices = loaded(path)
    assert graph.node_ids.tolist() == PEOPLE
    assert "Left out the last row, 'EOF' and '12 records', which has no other cell." in notices
    path.write_text(path.read_text().replace("EOF|12 records", "End of report|||"))
    assert any(each.startswith("Left out 1 row without a node id") for each in loaded(path)[1])
    path.write_text(path.read_text().replace("End of report|||", "EOF|12 records"))
    rows = [f"{i}|{PEOPLE[i % 5]}|{PEOPLE[i % 5 + 1]}" for i in range(7, 27)]
    (total := tmp_path / "b.csv").write_text("\n".join(["Nº|from|to", *rows, "TOTAL||"]))
    lacking = "Left out 1 row without a node id, first row 21 of the data."
    said = [lacking, "Column 'Nº' only identifies rows and is left out."]
    assert [text for text in loaded(total)[1] if text in said] == said
    path.write_text(path.read_text().replace("EOF|12 records", f"{PEOPLE[0]}|{PEOPLE[1]}"))  # a payment, in any row
    assert not any("last row" in each for each in loaded(path)[1])
    assert not [name for name in graph.attribute_names if "Unix" in name and ("sum" in name or "mean" in name)]
    assert graph.edge_attribute_names == ()


@pytest.mark.parametrize("before", ["Account;DE12;;\n", "Period;01.01.2024;31.01.2024;\nPayments;;;\n"])
def test_lines_that_a_spreadsheet_padded_are_no_header(tmp_path: Path, before: str) -> None:
    path = table(tmp_path / "a.csv", "payer;payee;amount;date", "{a};{b};{i}.5;{day:02}.03.2024", before=before)
    graph, notices = loaded(path)
    assert graph.node_ids.tolist() == PEOPLE and graph.events.size == len(PAIRS)
    assert "Read edges from column 'payer' to column 'payee'." in notices


def test_columns_of_json_are_rows(tmp_path: Path) -> None:
    rows = pl.DataFrame({"source": [a for a, _ in PAIRS], "target": [b for _, b in PAIRS], "amount": range(12)})
    (path := tmp_path / "a.json").write_text(rows.to_pandas().to_json())
    assert loaded(path)[0].n_edges == load(rows, notices=[]).n_edges


def test_self_loops_are_in_no_summary_and_words_in_one_case(tmp_path: Path) -> None:
    path = table(tmp_path / "a.csv", "from,to,amount,how", "{a},{b},{i}.5,Card")
    rows = [f"{PEOPLE[0]},{PEOPLE[0]},90000,CARD", f"{PEOPLE[0]},{PEOPLE[1]},7.5,cash"]
    path.write_text(path.read_text() + "\n".join(rows) + "\n")
    graph, notices = loaded(path)
    assert graph.attributes[:, graph.attribute_names.index("amount sent, mean")].max() < 100
    assert "Column 'how': read 'CARD' as 'Card'." in notices
    assert not [name for name in graph.attribute_names if "CARD" in name]


def test_a_refund_does_not_make_amounts_useless(tmp_path: Path) -> None:
    path = table(tmp_path / "a.csv", "from,to,amount,date", "{a},{b},{i}.5,2024-03-{day:02}")
    path.write_text(path.read_text().replace(",3.5,", ",-3.5,"))
    graph, notices = loaded(path)
    assert (
        "1 negative amount in column 'amount': it counts in sums and means, but not in evidence from amounts and times."
        in notices
    )
    assert graph.events.amount.sum() == 12 * 11 / 2 + 6 - 2 * 3.5


@pytest.mark.parametrize("odd", ["1900-01-01", "9999-12-31", "2129-01-01"])
def test_a_date_far_from_all_others_is_set_aside(odd: str, tmp_path: Path) -> None:
    path = table(tmp_path / "a.csv", "from,to,amount,date", "{a},{b},{i}.5,2024-03-{day:02}")
    path.write_text(path.read_text().replace("2024-03-04", odd))
    graph, notices = loaded(path)
    assert f"Column 'date', row 4: '{odd}' is far from all other times; it counts as empty." in notices
    assert sorted(graph.events.time[np.isfinite(graph.events.time)]) == [MARCH + i * DAY for i in range(12) if i != 3]


def test_seconds_among_milliseconds_are_set_aside(tmp_path: Path) -> None:
    path = table(tmp_path / "a.csv", "from,to,ts", "{a},{b},17092512{i:02}000")
    path.write_text(path.read_text().replace("1709251203000", "1709251203"))
    graph, notices = loaded(path)
    assert any("row 4: '1709251203' is far from all other times" in each for each in notices)
    assert np.nanmin(graph.events.time) == MARCH and np.nanmax(graph.events.time) == MARCH + 11


@pytest.mark.parametrize(
    ("header", "cells", "empty"),
    [
        ("Buchungstag", "{t:%Y%m%d}", ""),
        ("Valuta", "{t:%Y%m%d%H%M%S}", ""),
        ("date", "{t:%Y%m%d}", "99991231"),
        ("date", "{t:%Y%m%d}", "0"),
        ("ts_ms", "{s:.0f}000", "0"),
        ("event_timestamp", "{s:.0f}", "n/a"),
        ("timestamp", "{s:.0f}", "xx"),
        ("date,duration,time", "{t:%Y%m%d},0:03:25,{t:%H:%M}", ""),
        ("date", "{t:%Y.%m.%d}", ""),
        ("date", "{t:%d-%b-%y}", ""),
    ],
)
def test_times_are_the_same_in_any_form_and_placeholders_count_as_empty(
    header: str, cells: str, empty: str, tmp_path: Path
) -> None:
    times = [datetime(2024, 3, 1, tzinfo=UTC) + timedelta(hours=7 * row) for row in range(120)]
    written = [cells.format(t=time, s=time.timestamp()) for time in times]
    written[50] = empty or written[50]
    rows = [f"a{row % 11},b{row % 7},{row + 1},{cell}" for row, cell in enumerate(written)]
    (tmp_path / "a.csv").write_text("\n".join([f"payer,payee,amount,{header}", *rows]) + "\n")
    graph, _ = loaded(tmp_path / "a.csv")
    by_hour = "s:" in cells or "H" in cells
    expected = np.array([time.timestamp() if by_hour else 86400 * (time.timestamp() // 86400) for time in times])
    found = graph.events.time[np.argsort(graph.events.amount)]
    assert np.isnan(found).tolist() == [bool(empty) and row == 50 for row in range(120)]
    np.testing.assert_allclose(found[~np.isnan(found)], expected[~np.isnan(found)])


@pytest.mark.parametrize(
    ("cells", "message"),
    [
        (["17092512{i:02}", "17092512{i:02}000"], "has times in different units (1709251200 and 1709251201000)"),
        (["24/05/{d}"], "'24/05/10' seems to begin with the year"),
    ],
)
def test_times_that_can_be_read_in_two_ways_are_refused(cells: list[str], message: str, tmp_path: Path) -> None:
    rows = [f"a{row},b{row},{cells[row % len(cells)].format(i=row, d=row + 10)}" for row in range(20)]
    (tmp_path / "a.csv").write_text("\n".join(["payer,payee,ts", *rows]) + "\n")
    with pytest.raises(ValueError, match=re.escape(message)):
        loaded(tmp_path / "a.csv")


def test_a_date_of_many_rows_that_is_far_from_all_others_is_a_placeholder(tmp_path: Path) -> None:
    rows = [f"a{row},b{row},{'1900-01-01' if row % 4 == 0 else f'2024-05-{row % 30 + 1:02}'}" for row in range(60)]
    (tmp_path / "a.csv").write_text("\n".join(["payer,payee,date", *rows]) + "\n")
    graph, notices = loaded(tmp_path / "a.csv")
    assert np.isnan(graph.events.time).sum() == 15 and "it and 14 other times count as empty" in " ".join(notices)


def test_phone_numbers_are_no_quantities_and_an_iban_is_no_name(tmp_path: Path) -> None:
    edges = table(tmp_path / "a.csv", "from,to", "{a},{b}")
    rows = [
        f"{name},+48 796 158 51{i},{600 + i} 100 20{i},DE{i}0500105175407324{i},{i}" for i, name in enumerate(PEOPLE)
    ]
    (tmp_path / "n.csv").write_text("\n".join(["id,Telefon,Mobile,IBAN,age", *rows]) + "\n")
    graph, notices = loaded(edges, nodes=str(tmp_path / "n.csv"))
    assert {"Telefon", "Mobile"}.isdisjoint(graph.attribute_names) and graph.node_names is None
    assert not any("name of each node" in each for each in notices)


@pytest.mark.parametrize("more", ["Łódź", "MIASTO ŁÓDŹ", "MIASTO ŻABKA", "MIASTO ŹRÓDŁO"])
def test_polish_text_is_not_read_as_western_european(tmp_path: Path, more: str) -> None:
    names = ("KUPUJĄCY", "SPRZEDAJĄCY") if more.isupper() else ("Kupujący", "Sprzedający")
    path = table(tmp_path / "a.csv", f"{names[0]};{names[1]};{more}", "{a};{b};{i}")
    path.write_bytes(path.read_text().encode("cp1250"))
    _, notices = loaded(path)
    assert f"Read edges from column '{names[0]}' to column '{names[1]}'." in notices
    advice = "name the encoding, as in 'a.csv?encoding=cp1251' (Cyrillic) or cp1252 (Western European)."
    assert f"Read a.csv as Windows-1250, because it is not UTF-8; if letters look wrong, {advice}" in notices


@pytest.mark.parametrize("more", ["GARÇON CŒUR", "¿QUÉ? MAÑANA", "GRÖSSE (M³)", "£GBP", "ÅRHUS ÆGIR"])
def test_western_european_capitals_are_not_read_as_polish(tmp_path: Path, more: str) -> None:
    path = table(tmp_path / "a.csv", f"from;to;{more}", "{a};{b};{i}")
    path.write_bytes(path.read_text().encode("cp1252"))
    assert "as in 'a.csv?encoding=cp1250' (Central European) or cp1251 (Cyrillic)." in " ".join(loaded(path)[1])


def test_points_that_may_separate_thousands_are_named(tmp_path: Path) -> None:
    for cell, is_doubtful in (("1{end}.500", True), ("1{end}.50", False), ("0.{i}25", False)):
        notices = loaded(table(tmp_path / "a.csv", "from;to;amount", f"{{a}};{{b}};{cell}"))[1]
        assert any("if the point separates thousands" in each for each in notices) == is_doubtful


@pytest.mark.parametrize("kind", ["csv", "parquet"])
def test_codes_that_hardly_repeat_are_no_ends_beside_codes_that_do(kind: str, tmp_path: Path) -> None:
    """Among a few rows of a large table even suppliers hardly repeat: all rows tell them from invoices."""
    n = 3000
    rng = np.random.default_rng(0)
    columns = {
        "Kreditor": [str(700_000 + i) for i in rng.integers(900, size=n)],
        "Vorgang": [f"RE-2025-{i}" for i in rng.choice(40_000, size=n)],
        "Betrag": [f"{i},50" for i in range(n)],
        "Freigabe": [f"E10{i:02}" for i in rng.integers(40, size=n)],
    }
    frame = pl.DataFrame(columns)
    frame.write_csv(tmp_path / "bills.csv") if kind == "csv" else frame.write_parquet(tmp_path / "bills.parquet")
    assert "Read edges from column 'Freigabe' to column 'Kreditor'." in loaded(tmp_path / f"bills.{kind}")[1]


@pytest.mark.parametrize(
    ("name", "first", "step", "is_time"),
    [
        ("start", 1759708800033, 61, True), ("first", 1759708800, 61, True), ("x", 1759708800033, 61, True),
        ("x", 1759708800033000, 61, True), ("x", 1759708800033000000, 1000, True), ("x", 1759708800, 61, False),
        ("tweet_id", 1759708800033, 61, False), ("value", 1759708800033, 61, False), ("ean", 1259708800033, 61, False),
        ("x", 4915112345678, 61, False), ("x", 4006381333931, 61, False), ("x", 9783161484100, 61, False),
        ("x", 1759708800033000001, 61, False), ("x", 1259708800033, 99_000_000_000, False),
    ],
)  # fmt: skip
def test_unix_times_are_known_by_name_or_by_value(
    name: str, first: int, step: int, is_time: bool, tmp_path: Path
) -> None:
    rows = [f"{a},{b},{first + step * i},{i % 3}" for i, (a, b) in enumerate(PAIRS)]
    (tmp_path / "flows.csv").write_text("\n".join([f"src,dst,{name},packets", *rows]))
    graph, notices = loaded(tmp_path / "flows.csv")
    assert (graph.edge_time is not None) == is_time, notices


@pytest.mark.parametrize(
    ("states", "ignore", "said"),
    [
        (
            ["done", "REVERTED", "Not_Executed", "pending"],
            [],
            "Left out 6 rows whose status is 'Not_Executed' or 'REVERTED', ",
        ),
        (["OK", "odrzucona", "OK", "OK"], [], "Left out 3 rows whose status is 'odrzucona', "),
        (["Failed", "failed", "OK", "declined"], [], "Rows whose status is 'Failed' or 'declined' count, "),
        (["OK", "failed", "OK", "OK"], ["status"], None),
        (["OK", "failed", "OK", "late"], ["status=late"], "Left out 3 rows whose status is 'failed', "),
        (["OK", "bounced", "ok", "late"], [], "Rows count whatever their status is ('OK': 6, 'bounced': 3, "),
        (["OK", "bounced", "OK", "late"], ["status=bounced"], None),
        (["OK", "OK", "OK", "OK"], [], None),
        (["", "", "", "Returned"], [], "Rows count whatever their status is ('Returned': 3, empty: 9); to leave some "),
    ],
)
def test_rows_that_did_not_take_place_are_left_out_unless_the_table_is_about_them(
    tmp_path: Path, states: list[str], ignore: list[str], said: str | None
) -> None:
    rows = [f"{a},{b},{states[i % 4]},{i}" for i, (a, b) in enumerate(PAIRS)]
    (tmp_path / "paid.csv").write_text("\n".join(["from,to,status,amount", *rows]))
    notices = loaded(tmp_path / "paid.csv", ignore=ignore)[1]
    found = [each for each in notices if each.startswith(("Rows ", "Left out ")) and "=" not in each.split(";")[0]]
    assert [each[: len(said or "")] for each in found[:1]] == ([said] if said else [])
