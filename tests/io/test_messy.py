"""Tables as people have them: titles, spaces, dates and ids in every form; each is read or refused in a sentence."""

import json
from pathlib import Path

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
        ("from,to,when", "{a},{b},{day} Mar 2024", MARCH, DAY),
        ("from,to,when", '{a},{b},"Fri, March {day}, 2024 02:00"', MARCH + 7200, DAY),
        ("from,to,date", "{a},{b},202403{day:02}", MARCH, DAY),
        ("from,to,timestamp", "{a},{b},{i}709251200000", None, None),
        ("from,to,ts", "{a},{b},17092512{i:02}000", MARCH, 1.0),
        ("from,to,ts", "{a},{b},17092512{i:02}000000", MARCH, 1.0),
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
    marked = table(tmp_path / "marked.csv", "from;to;amount", "{a};{b};{i},5", before="sep=;\n")
    assert sorted(loaded(marked)[0].edge_attributes.ravel().tolist()) == [i + 0.5 for i in range(12)]


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
    assert "Column 'zip' holds codes with leading zeros; they are read as categories." in notices
    assert graph.node_names is None


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
