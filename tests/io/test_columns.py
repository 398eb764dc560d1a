"""What columns hold: numbers, dates, categories, labels and names; and the attributes that they become."""

import re
from dataclasses import dataclass, field
from datetime import UTC, date, datetime, time
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import pytest
import scipy.sparse as sp

from hopsight.io.nodes import KINDS, encode, node_fields, read_flags
from hopsight.io.rules import as_seconds, is_time, text_kind
from hopsight.loading import load

from .cases import put, refuses


def encoded(name: str, values: Any, **options: Any) -> tuple[list[str], list[list[float]], list[str]]:
    """Encode a column beside a plain one, and return the names, the values and the notices of the former."""
    notices: list[str] = []
    column = values.alias(name) if isinstance(values, pl.Series) else pl.Series(name, values)
    plain = pl.Series("plain", np.arange(float(len(column))))
    matrix, names = encode([plain, column], len(column), notices=notices, **options)
    assert matrix.shape == (len(column), len(names))
    return names[1:], matrix[:, 1:].T.tolist(), notices


@dataclass(frozen=True)
class Column:
    """A column, and the names, the columns and the notices that it gives; what is None may be anything."""

    name: str
    values: Any
    names: list[str] | None = None
    columns: list[list[float]] | None = None
    said: list[str] | None = None
    options: dict[str, Any] = field(default_factory=dict)


def alone(name: str) -> list[str]:
    """Return what is said of numbers that are no attribute."""
    return [f"Column {name!r} only identifies rows and is left out."]


IBANS = [f"DE{i:04}" for i in range(58)]
SHARED = "; 4 rows share a value: 'Several tables' in the docs shows how to use that."  # two may be one person
ROWS = [*range(100, 120)]
CODES = [*["01067", "20095"] * 9, "A-1010", "CH-8001"]

COLUMNS = {
    "fifty values are a category": Column(
        "name", [f"n{i}" for i in range(50)], sorted(f"name=n{i}" for i in range(50))),
    "fifty-one values are left out": Column(
        "name", [f"n{i}" for i in range(51)], [], [],
        ["Column 'name' has more than 50 different values and is left out."]),
    "equally long lists are columns": Column("x", [[1, 2], [3, 4]], ["x_0", "x_1"], [[1, 3], [2, 4]], []),
    "so are arrays": Column(
        "x", pl.Series([[1.0, 2.0], [3.0, 4.0]], dtype=pl.Array(pl.Float32, 2)), ["x_0", "x_1"], [[1, 3], [2, 4]]),
    "codes as numbers are categories": Column("port", [80, 443, 80], ["port=443", "port=80"]),
    "codes as text are categories": Column("port", ["80", "443 ", "80"], ["port=443", "port=80"]),
    "fractions are no codes": Column("account", ["1.5", "2", ""], ["account"]),
    "a few numbers among text are categories": Column("code", ["A1", "B2", "7"], ["code=7", "code=A1", "code=B2"]),
    "a word beside blank cells is a known case": Column("confirmed_case", ["confirmed", "", "", ""], []),
    "so are two words": Column("confirmed_case", ["confirmed", "cleared", None, ""], []),
    "an address may be confirmed": Column(
        "email_confirmed", ["yes", "", "yes", ""], ["email_confirmed=yes"]),
    "yes and no are no known case": Column("confirmed", ["yes", "no", "no", "no"], ["confirmed=no", "confirmed=yes"]),
    "fractions are no ground truth": Column("y", [0.5, 1.5, 2.5], ["y"]),
    "a named category is kept": Column(
        "class", ["a", "b", "a"], ["class=a", "class=b"], options={"category": ["class"]}),
    "few rows that share a value are counted": Column("IBAN", [*IBANS, *IBANS[:2]], [], [], [
        f"Column 'IBAN' has more than 50 different values and is left out{SHARED}"]),
    "so are those of a reference": Column("iban_ref", [*IBANS, *IBANS[:2]], [], [], [
        f"Column 'iban_ref' only identifies rows and is left out{SHARED}"]),
    "a city is no such value": Column("city", [each[:5] for each in IBANS], said=[]),
    "numbers in any order only tell rows apart": Column("tx_id", [i * 7 % 101 for i in ROWS], [], [], alone("tx_id")),
    "so do numbers that count down": Column("anything", ROWS[::-1], [], [], alone("anything")),
    "squares do not": Column("income", [i * i for i in ROWS], ["income"]),
    "five rows are too few to tell": Column("age", ROWS[:5], ["age"]),
    "dates are days since 1970": Column("born", [date(1970, 1, 2), date(1971, 1, 1)], columns=[[1.0, 365.0]]),
    "empty dates are flagged": Column(
        "born", [date(1970, 1, 2), None] * 3, ["born, days since 1970", "born=(missing)"]),
    "dates in two forms": Column("born", ["1970-01-02", "1.1.1971"], ["born, days since 1970"]),
    "a date and a time": Column("born", ["1970-01-02", "1970-01-01 12:00"], columns=[[1.0, 0.5]]),
    "a date and an empty cell": Column("born", ["2.1.1970", ""], ["born, days since 1970"], [[1.0, 1.0]]),
    "three customs in one column are text": Column(
        "size", ["1 234,5", "1'000'000", "3.5-"], [f"size={cell}" for cell in ("1 234,5", "1'000'000", "3.5-")]),
    "a decimal point in all": Column("size", ["0.125", "1.250", "12.500"], ["size"], [[0.125, 1.25, 12.5]], []),
    "one decimal point decides": Column("size", ["950", "1.200", "7.5"], ["size"], [[950, 1.2, 7.5]], []),
    "and is doubtful where it may not": Column("size", ["1500", "1.200", "9.999"], ["size"], [[1500, 1.2, 9.999]], [
        "Column 'size': read '1.200' as 1.2; if the point separates thousands, remove it."]),
} | {
    f"{cell} is no date": Column(
        "opened", [*(form.format(day) for day in range(10, 18)), cell, cell], ["opened, days since 1970"],
        [[*range(14709, 14717), 14712.5, 14712.5]], [
            f"Column 'opened', row 9: {cell!r} is far from all other times; it and 1 other time count as empty.",
            "Filled empty cells with the mean of the column without a flag, because they are few: 2 in 'opened'."])
    for form, cell in (("2010-04-{}", "1900-01-01"), ("{}.04.2010", "31.12.9999"), ("04/{}/2010", "01/01/1970"))
} | {
    f"{len(cells)} cells such as {cells[0]!r} are empty dates": Column(
        "opened", [*(form.format(day) for day in range(10, 18)), *cells], ["opened, days since 1970"],
        [[*range(14709, 14717), 14712.5, 14712.5]])
    for form, cells in (
        ("201004{}", ["0", "00000000"]), ("{}.04.2010", ["00.00.0000", "  .  .    "]),
        ("2010/04/{}", ["0000/00/00"] * 2), ("04/{}/2010", ["00/00/0000", "  /  /    "]),
        ("2010-04-{}", ["0001-01-01T00:00:00", "0000-00-00"]))
} | {
    f"numbers as {kind}": Column("x", values, ["x"], [[1.0, 2.5, -300.0]], [])
    for kind, values in (
        ("text", ["1", "2.5", "-3e2"]), ("text with spaces", [" 1", "2.5 ", "-300"]), ("numbers", [1.0, 2.5, -300.0]),
        ("short numbers", pl.Series([1.0, 2.5, -300], dtype=pl.Float32)))
} | {
    f"a category of type {kind}": Column(
        "city", pl.Series(["Oslo", "Bern", "Oslo"], dtype=kind), ["city=Bern", "city=Oslo"], [[0, 1, 0], [1, 0, 1]])
    for kind in (pl.String, pl.Categorical, pl.Enum(["Oslo", "Bern"]))
} | {
    f"two-digit years in {dates!r} are from 1940 to 2039": Column(
        "born", [dates.format(year) for year in ("39", "40", "99", "00")],
        columns=[[(date(year, 3, 14) - date(1970, 1, 1)).days for year in (2039, 1940, 1999, 2000)]],
        said=[f"Column 'born': read {dates.format(40)!r} as 1940; two-digit years are from 1940 to 2039."])
    for dates in ("3/14/{}", "14.03.{}", "14-Mar-{}")
} | {
    f"codes of mixed form in {name!r} are text": Column(
        name, CODES, [f"{name}={code}" for code in sorted({*CODES})], said=[])
    for name in ("PLZ", "where")
} | {
    f"{values[0]!r} is a date": Column(
        "opened", values, ["opened, days since 1970"], [[19872, 19873, 19874, 19875, 19722]],
        ["Column 'opened': read 20240529 as a date."])
    for values in ([20240529, 20240530, 20240531, 20240601, 20231231],
                   ["20240529", "20240530", "20240531", "20240601", "20231231"])
} | {
    f"numbers such as {cells[0]!r} as people write them": Column(
        "size", cells, ["size"], [numbers], [f"Column 'size': read {said}."])
    for cells, numbers, said in (
        (["1,5", "2,25", "-3,0"], [1.5, 2.25, -3], "'1,5' as 1.5"),
        (["1.234,5", "7", "12,25 €"], [1234.5, 7, 12.25], "'1.234,5' as 1234.5"),
        (["1,234", "5,678,901", "12"], [1234, 5678901, 12], "'1,234' as 1234"),
        (["$1,234.50", "($7.00)", "-$0.25"], [1234.5, -7, -0.25], "'$1,234.50' as 1234.5"),
        (["EUR 5", "12 €", "1,000.00"], [5, 12, 1000], "'1,000.00' as 1000"),
        (["12,34,567.50", "5,678", "99"], [1234567.5, 5678, 99], "'12,34,567.50' as 1234567.5"),
        (["12%", "7.5 %", "100%"], [12, 7.5, 100], "'7.5 %' as 7.5"),
        (["950 €", "1.200 €", "12.500 €"], [950, 1200, 12500], "'1.200 €' as 1200"),
        (["950", "1.200", "12.500"], [950, 1200, 12500], "'1.200' as 1200"),
        (["$950", "$1,200", "$12,500"], [950, 1200, 12500], "'$1,200' as 1200"),
        (["1.459 €", "1.482 €", "1.501 €"], [1.459, 1.482, 1.501],
         "'1.459 €' as 1.459; if the point separates thousands, remove it"))
}  # fmt: skip


@pytest.mark.parametrize("column", COLUMNS.values(), ids=COLUMNS)
def test_a_column_becomes_the_attributes_that_a_user_expects(column: Column) -> None:
    names, columns, said = encoded(column.name, column.values, **column.options)
    assert column.names is None or names == column.names
    assert column.columns is None or columns == column.columns
    assert column.said is None or said == column.said


@pytest.mark.parametrize("values", [[None, None], ["", "  "], [["a"], ["b"]], [[1.0], [1.0, 2.0]], [{"a": 1}] * 2])
def test_columns_without_numbers_or_text_are_left_out_with_a_notice(values: Any) -> None:
    names, _, (said,) = encoded("odd", values)
    assert names == [] and said.startswith("Column 'odd'") and said.endswith("left out.")


@pytest.mark.parametrize("missing", ["refuse", "mean"])
@pytest.mark.parametrize("values", [["1", "inf"], ["1", "-Infinity"], [1.0, np.inf], ["1", "1e999"]])
def test_infinity_is_always_refused(values: Any, missing: str) -> None:
    refuses("column 'x', row 2 is infinite", "x", values, missing=missing, by=encoded)


@pytest.mark.parametrize(
    "values", [["1", "", "3"], ["1", "NA", "3"], ["1", "nan", "3"], [1.0, None, 3.0], [1.0, np.nan, 3.0]]
)
def test_empty_numbers_are_filled_and_flagged_or_refused_or_get_the_mean(values: Any) -> None:
    """A flag that few nodes have would make an outlier of each: 3 empty cells of 60 are flagged, 3 of 61 are not."""
    mean = "Filled empty cells with the mean of the column"
    names, columns, notices = encoded("age", values * 3 + [values[0], values[2]] * 25 + [values[0]])
    assert (names, columns[0][1]) == (["age", "age=(missing)"], 113 / 57)
    assert columns[1] == [0.0, 1.0, 0.0] * 3 + [0.0] * 51
    assert notices == [f"{mean} and flagged them as '…=(missing)': 3 in 'age'."]
    names, columns, notices = encoded("age", values * 3 + [values[0], values[2]] * 26)
    assert (names, columns[0][:3]) == (["age"], [1.0, 2.0, 3.0])
    assert notices == [f"{mean} without a flag, because they are few: 3 in 'age'."]
    for column, name in ((values, "age"), ([[1.0, 2.0], [3.0, None]], "age_1")):
        refuses(f"'{name}', row 2 is empty or NaN", "age", column, missing="refuse", by=encoded)
    names, columns, notices = encoded("age", values, missing="mean")
    assert (names, columns) == (["age"], [[1.0, 2.0, 3.0]]) and notices == [f"{mean}: 1 in 'age'."]


@pytest.mark.parametrize("values", [["a", "", "b"], ["a", None, "b"]])
def test_empty_categories_are_refused_or_get_a_category_of_their_own(values: Any) -> None:
    refuses("column 'city', row 2 is empty", "city", values, missing="refuse", by=encoded)
    names, columns, notices = encoded("city", values * 3)
    assert (names, columns[0]) == (["city=(missing)", "city=a", "city=b"], [0, 1, 0] * 3)
    assert notices == ["Column 'city': 3 empty cells are in the category (missing)."]
    said = ["Column 'city': 1 empty cell is filled with the shares of the values."]
    assert encoded("city", [*values, "b", "b"]) == (
        ["city=a", "city=b"],
        [[1, 0.25, 0, 0, 0], [0, 0.75, 1, 1, 1]],
        said,
    )


@pytest.mark.parametrize(
    "values",
    [[0, 1, 0], ["1", "0", ""], ["fraud", "ok", "ok"], ["hit", "miss", "hit"], ["1", "0", "unknown"], [True, False]],
)
@pytest.mark.parametrize("name", ["is_fraud", "Label", "label_target", "class", "y", "attack"])
def test_a_column_that_looks_like_ground_truth_is_left_out(name: str, values: Any) -> None:
    names, _, notices = encoded(name, values)
    assert names == []
    evaluate = "" if "hit" in values else f", or label={name!r} to evaluate with it"
    learn = f"Column {name!r} looks like ground truth and is left out; pass learn_from={name!r} to learn from it"
    assert notices == [f"{learn}{evaluate}."]


def test_numeric_codes_can_be_declared_categories_and_rare_ones_share_one() -> None:
    names, columns, _ = encoded("zip", [8001, 3000, 8001], category=["zip"])
    assert (names, columns) == (["zip=3000", "zip=8001"], [[0, 1, 0], [1, 0, 1]])
    names, columns, _ = encoded("zip", [0] * 5 + list(range(1, 80)), category=["zip"])
    found = dict(zip(names, map(sum, columns), strict=True))
    assert (len(found), found["zip=(other)"], found["zip=0"]) == (50, 31, 5)


def test_a_large_matrix_of_mostly_zeros_is_sparse_and_a_small_one_is_not() -> None:
    rng = np.random.default_rng(0)
    n_rows = 12_000
    columns = [pl.Series(f"c{k}", rng.choice(list("abcdefghijklmnopqrstuvwxyz"), n_rows)) for k in range(33)]
    matrix, names = encode(columns, n_rows)
    assert sp.issparse(matrix) and matrix.shape == (n_rows, 33 * 26)
    assert set(matrix.sum(axis=1).tolist()) == {33.0}
    column = names.index("c7=d")
    assert np.array_equal(matrix[:, [column]].toarray().ravel() == 1, (columns[7] == "d").to_numpy())
    assert not sp.issparse(encode([column.head(100) for column in columns], 100)[0])


@pytest.mark.parametrize(
    "values", [[0, 1, 1], [False, True, True], ["0", "1", "1"], ["no", "yes", "yes"], [0.0, 1.0, 1.0]]
)
def test_labels_are_0_and_1_or_true_and_false(values: Any) -> None:
    assert read_flags(pl.Series("y", values)).tolist() == [0, 1, 1]


def test_kinds_go_up_to_three_and_no_flag_may_be_empty() -> None:
    assert read_flags(pl.Series("kind", [0, 1, 2, 3]), KINDS).tolist() == [0, 1, 2, 3]
    for values in ([0, 4], [0, -1], [0, None], [0.0, 0.5]):
        refuses("row 2", pl.Series("kind", values), KINDS, by=read_flags)


def test_empty_cells_get_the_mean_of_their_own_type() -> None:
    price = pl.Series("price", [1.0, 3.0, None, 100.0, None, None])
    types = ["cheap", "cheap", "cheap", "dear", "dear", "free"]
    matrix, names = encode([price], 6, types=types, notices=(notices := []))
    assert names == ["price", "price=(missing)"]
    assert matrix[:, 0].tolist() == [1.0, 3.0, 2.0, 100.0, 100.0, 104.0 / 3.0]  # no free node has a price
    assert "with the mean of the node's type" in notices[0]


def test_dates_with_slashes_that_no_row_decides_are_refused() -> None:
    with pytest.raises(ValueError, match="may have its day or its month first, and no row decides; write dates as"):
        text_kind(pl.Series("when", ["01/02/2024", "03/04/2024"]), [])


@pytest.mark.parametrize(("cell", "seconds"), [
    ("1970-01-02", 86400.0), ("1970/1/2", 86400.0), ("1970-01-01 00:00:01.5", 1.5), ("1970-01-01T01:00:00Z", 3600.0),
    ("1970-01-01T00:00:00-01:30", 5400.0), ("1970-01-01T00:00-00:30", 1800.0), ("1970-01-01 01:00:03.5+00", 3603.5),
    ("1970-01-01 00:00:00-02", 7200.0), ("19700102T010000Z", 90000.0), ("19700102T0100", 90000.0),
    ("2.1.1970 00:01", 86460.0), ("2024-02-29", 1709164800.0), (date(1970, 1, 3), 172800.0),
    (datetime(1970, 1, 1, 0, 1, tzinfo=UTC), 60.0), (time(0, 2), 120.0),
])  # fmt: skip
def test_dates_become_seconds(cell: object, seconds: float) -> None:
    column = pl.Series("when", [cell, None])
    assert is_time(column) and as_seconds(column).to_list() == [pytest.approx(seconds), None]


FRAME = pl.DataFrame(
    {"age": [31, 42], "fraud": ["true", "false"], "hopsight_label": [0, 1], "hopsight_kind": [0, 3], "note": ["a", "b"]}
)


def test_a_label_that_is_named_takes_precedence_over_our_own() -> None:
    fields = node_fields(FRAME.columns, FRAME.__getitem__, 2, label="fraud", ignore=["note"])
    assert fields["attribute_names"] == ["age"] and fields["labels"].tolist() == [1, 0]


def test_labels_may_be_partial() -> None:
    column = pl.Series("fraud", ["1", "", "unknown", "-1", "0", None, "?"])
    fields = node_fields(["fraud"], {"fraud": column}.__getitem__, 7, label="fraud", may_lack=True)
    assert fields["labels"].tolist() == [1, -1, -1, -1, 0, -1, -1] and "attributes" not in fields


def test_a_text_that_differs_for_every_node_is_its_name() -> None:
    frame = pl.DataFrame({"who": [f"Person {i}" for i in range(12)], "x": range(12), "team": ["a", "b", "c"] * 4})
    fields = node_fields(frame.columns, frame.__getitem__, 12, notices=(notices := []), category=["x"])
    assert fields["node_names"][3] == "Person 3"
    assert notices == ["Used column 'who' as the name of each node."]
    assert not any(name.startswith("who") for name in fields["attribute_names"])
    typed = node_fields(frame.columns, frame.__getitem__, 12, name_column="team", type_column="team", ignore=["who"])
    names = [f"Firm {i % 57}" for i in range(60)]  # some have the same name
    for called in ("Name 1", "Nome / Razão Social", "姓名"):
        frame = pl.DataFrame({"IBAN": range(60), called: names, "x": [1, 2, 3] * 20})
        assert node_fields(frame.columns, frame.__getitem__, 60, ignore=["IBAN"])["node_names"] == names
    frame = pl.DataFrame({"income": [f"{i}.5k" for i in range(12)], "x": range(12)})
    assert "node_names" not in node_fields(frame.columns, frame.__getitem__, 12, category=["x"])
    assert typed["node_types"] == typed["node_names"] == ["a", "b", "c"] * 4
    frame = pl.DataFrame({"balance": [f"€{i * 1300.5:,.2f}" for i in range(12)]})
    assert node_fields(frame.columns, frame.__getitem__, 12)["attribute_names"] == ["balance"]


@pytest.mark.parametrize(("cells", "message"), [
    (["$7", "8 EUR", "9"], "different currencies (EUR, USD)"),
    (["2024-01-31", "2024-02-30", "2024-03-01"], "row 2: '2024-02-30' is not a date"),
    (["2024-01-31 10:00", "2024-02-01 25:61:00"], "row 2: '2024-02-01 25:61:00' is not a date"),
    (["10:30", "23:59:60", "25:61:00"], "row 3: '25:61:00' is not a time of day"),
    (["31/03/2024", "03/31/2024"], "dates in different forms ('31/03/2024' and '03/31/2024')"),
    (["2024-03-31", "31/03/2024"], "dates in different forms ('2024-03-31' and '31/03/2024')"),
    ([*["01/02/2024"] * 90, "25/03/2024", "03/25/2024"], "forms ('25/03/2024' and '03/25/2024')"),
])  # fmt: skip
def test_amounts_and_dates_that_do_not_go_together_are_refused(cells: list[str], message: str, tmp_path: Path) -> None:
    """In a node table, an edge list and among dates of a stream alike, by the rule that reads all of them."""
    refuses(re.escape(message), "when", cells, by=encoded)
    rows = [f"a{row},b{row},{cell}" for row, cell in enumerate(cells)]
    refuses(re.escape(message), put(tmp_path / "edges.csv", "source,target,when", rows))


def test_an_empty_date_is_unknown_and_the_last_second_of_a_day_is_one(tmp_path: Path) -> None:
    edges = put(tmp_path / "edges.csv", "source,target,when", ["a,b,1970-01-01 24:00:00", "b,c,n/a", "c,d,1970-01-02"])
    assert str(load(edges, notices=[]).edge_time.tolist()) == "[86400.0, nan, 86400.0]"


@pytest.mark.parametrize(("cells", "wrong", "noun"), [
    ("2024-01-{:02}", "2024-02-30", "date"), ("01/{:02}/2024", "02/30/2024", "date"),
    ("{:02}.01.2024 10:30", "11.01.2024 25:61", "date"), ("202401{:02}", 20240230, "date"),
    ("{:02}:30", "25:61", "time of day"), ("{}.5", "#REF!", "number"), ("1.000,{}", "see memo", "number"),
])  # fmt: skip
def test_a_few_impossible_cells_count_as_empty(cells: str, wrong: Any, noun: str, tmp_path: Path) -> None:
    """One in 200 does, with a notice; three in 200 are more than 1% and refused."""
    values = [cells.format(row % 20 + 1) for row in range(200)]
    values[0] = str(wrong)
    rows = [f"{who};{(who * 7 + 1) % 200};{value}" for who, value in enumerate(values)]
    edges = put(tmp_path / "edges.csv", "source;target;date", rows)
    table = put(tmp_path / "nodes.csv", "id;age;date", rows)
    said = f"Column 'date', row 1: {wrong!r} cannot be read as a {noun}; it counts as empty."
    for nodes in (None, table):
        graph = load(edges, nodes, notices=(notices := []))
        assert notices.count(said) == (1 if nodes is None else 2), cells
    if graph.edge_time is not None:
        assert np.isnan(graph.edge_time).sum() == 1
    two = [*values[:7], str(wrong), str(wrong), *values[9:]]
    rows = [f"{who};{(who * 7 + 1) % 200};{value}" for who, value in enumerate(two)]
    refuses(f"row 1: {re.escape(repr(wrong))} is not a {noun}, unlike the rest", put(edges, "source;target;date", rows))
