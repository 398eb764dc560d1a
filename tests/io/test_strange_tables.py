"""Tables of banks, telecoms, marketplaces, chains and logs as they are exported: the right columns, or one sentence."""

from __future__ import annotations

import json
from dataclasses import dataclass
from datetime import UTC, date, datetime, time, timedelta
from decimal import Decimal
from ipaddress import ip_address
from pathlib import Path
from typing import Any

import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
import xlsxwriter

from hopsight.graph import AttributedGraph
from hopsight.io.vocabulary import find_end_names
from hopsight.loading import load

N_NODES, N_ROWS = 12, 48
PAIRS = [(row % N_NODES, (row * 5 + 1 + row // N_NODES) % N_NODES) for row in range(N_ROWS)]
SOURCES, TARGETS = [a for a, _ in PAIRS], [b for _, b in PAIRS]


@dataclass(frozen=True)
class Export:
    """A table as a program exports it, and what hopsight should make of it.

    ``row`` is formatted with both ends (``a`` and ``b``), the row number ``i``, a ``day`` and a ``month``. ``sums`` are
    the columns of amounts; ``gone`` are those that must be left out.
    """

    header: str
    row: str
    ends: str
    timed: bool
    sums: tuple[str, ...] = ()
    gone: tuple[str, ...] = ()
    before: str = ""
    after: str = ""
    encoding: str = "utf-8"
    name: str = "table.csv"


EXPORTS = {
    "german bank": Export(
        "Buchungstag;IBAN Auftraggeber;Name Auftraggeber;IBAN Empfänger;Name Empfänger;Zweck;Betrag;Währung",
        "{day:02}.{month:02}.2024;DE{a:020};Firma {a};DE{b:020};Firma {b};Rechnung {i};-1.{i:03},50;EUR",
        "IBAN Auftraggeber>IBAN Empfänger", True, ("Betrag",), ("Zweck",), encoding="cp1252"),
    "laundering": Export(
        "Time,Date,Sender_account,Receiver_account,Amount,Sender_bank_location,Receiver_bank_location,Is_laundering,"
        "Laundering_type",
        "10:{i:02}:19,2024-03-{day:02},{a}8724731,{b}8724731,{i}.5,UK,UK,0,Normal_Cash",
        "Sender_account>Receiver_account", True, ("Amount",), ("Is_laundering", "Laundering_type")),
    "mobile money": Export(
        "step,type,amount,nameOrig,oldbalanceOrg,nameDest,oldbalanceDest,isFraud,isFlaggedFraud",
        "{i},PAYMENT,{i}.5,C{a},17{i}.0,M{b},0.0,0,0",
        "nameOrig>nameDest", True, ("amount", "oldbalanceOrg", "oldbalanceDest"), ("isFraud", "isFlaggedFraud")),
    "ethereum": Export(
        '"Transaction Hash","Blockno","UnixTimestamp","DateTime (UTC)","From","To","Value_IN(ETH)","Status"',
        '"0x{i:064}","{i}17","{i}","2024-03-{day:02} 10:00:00","0x{a:040}","0x{b:040}","0.{i:02}",""',
        "From>To", True, ("Value_IN(ETH)",), ("Transaction Hash", "Status")),
    "tron": Export(
        "txid,block,sender_address,recipient_address,token,value", "{i:032}z,{day},T{a}x,T{b}x,USDT,{i}.5e+06",
        "sender_address>recipient_address", False, ("value in USDT",), ("txid",)),
    "call records": Export(
        "CDR_ID|A_NUMBER|B_NUMBER|START_TIME|DURATION_SEC|CELL_ID|IMEI",
        "90{i}|+47912340{a:02}|+47912340{b:02}|2024-03-{day:02}T12:00:00Z|{i}7|{month}04|35{a:013}",
        "A_NUMBER>B_NUMBER", True, ("DURATION_SEC",), ("CDR_ID",)),
    "british calls": Export(
        "calling_party;called_party;date;time;duration",
        "07911{a:06};07911{b:06};{day}/{month}/2024;9:30;00:{month:02}:07",
        "calling_party>called_party", True, ("duration",)),
    "zeek": Export(
        "", "13319010{i:02}.25\tC{i:016}\t192.168.1.{a}\t4{i:03}\t192.168.1.{b}\t443\ttcp\t{dash}\t{i}00",
        "id.orig_h>id.resp_h", True, ("duration", "bytes"), ("uid",),
        before="#separator \\x09\n#path\tconn\n#fields\tts\tuid\tid.orig_h\tid.orig_p\tid.resp_h\tid.resp_p\tproto\t"
        "duration\tbytes\n#types\ttime\tstring\taddr\tport\taddr\tport\tenum\tinterval\tcount\n",
        after="#close\t2012\n", name="conn.tsv"),
    "flows": Export(
        "Flow ID, Source IP, Source Port, Destination IP, Destination Port, Timestamp, Flow Duration, Label",
        "{a}-{b}-{i},10.0.0.{a},5{i:03},10.0.0.{b},80,7/7/2017 3:{i:02},{i}000.5,BENIGN",
        "Source IP>Destination IP", True, ("Flow Duration",), ("Flow ID", "Label")),
    "organization": Export(
        "Employee ID,Employee Name,Manager ID,Department,Salary",
        "E{i:03},Person {i},E{a:03},Dep {month},{i}5000.50", "Employee ID>Manager ID", False, ("Salary",)),
    "mail": Export(
        "Message-ID,Date,From,To,Subject",
        '<{i}.JavaMail@x>,"Mon, {day} May 2001 16:30:00 -0700 (PDT)",p{a}@x.com,p{b}@x.com,RE: deal {month}',
        "From>To", True, (), ("Message-ID",)),
    "trust": Export("", "{a},{b},{month},12892419{i:02}.72836", "column1>column2", True, ("column3",)),
    "konect": Export(
        "", "{a} {b} 1 10820409{i:02}", "column1>column2", True, ("column3",),
        before="% asym posweighted\n% 48 12 12\n", name="out.txt"),
    "snap": Export("", "{a}\t{b}", "FromNodeId>ToNodeId", False, before="# Nodes: 12\n# FromNodeId\tToNodeId\n"),
    "subreddits": Export(
        "SOURCE_SUBREDDIT\tTARGET_SUBREDDIT\tPOST_ID\tTIMESTAMP\tLINK_SENTIMENT",
        "sub{a}\tsub{b}\t1u4{i:03}\t2013-12-31 16:39:{i:02}\t-1", "SOURCE_SUBREDDIT>TARGET_SUBREDDIT", True,
        ("LINK_SENTIMENT",), ("POST_ID",), name="links.tsv"),
    "chinese bank": Export(
        "交易日期,付款账号,付款方,收款账号,收款方,金额",
        '2024年{month}月{day}日,62{a:014},公司{a},62{b:014},公司{b},"1,0{i:02}.00"',
        "付款账号>收款账号", True, ("金额",), encoding="gb18030"),
    "french bank": Export(
        "Date opération;Débiteur;Créditeur;Montant;Libellé",
        "{day:02}/{month:02}/2024;Société {a};Société {b};1\u202f1{i:02},50 €;VIREMENT {i}",
        "Débiteur>Créditeur", True, ("Montant",), ("Libellé",)),
    "spanish bank": Export(
        "fecha;ordenante;beneficiario;importe", "{day:02}-{month:02}-2024;Cliente {a};Cliente {b};1.{i:03},50",
        "ordenante>beneficiario", True, ("importe",)),
    "dutch bank": Export(
        "Datum,Rekening,Tegenrekening,Bedrag,Af/Bij", '202403{day:02},NL{a:016},NL{b:016},"{i},50",Af',
        "Rekening>Tegenrekening", True, ("Bedrag",)),
    "swiss bank": Export(
        "Zahler;Empfänger;Betrag", "Kunde {a};Kunde {b};1'0{i:02}.50", "Zahler>Empfänger", False, ("Betrag",)),
    "pandas index": Export(",source,target,weight", "{i},p{a},p{b},{month}.5", "source>target", False, (), ("",)),
    "dependencies": Export(
        "package,version,depends_on,kind", "lib{a},1.{i}.0,lib{b},runtime", "package>depends_on", False),
    "flights": Export(
        "", "2B,41{month},AP{a},29{a:02},AP{b},29{b:02},,0,CR2", "column3>column5", False,
        ("column2", "column4", "column6", "column8"), ("column7",), name="routes.dat"),
    "amount first": Export(
        "amount,currency,debtor,creditor,txn_ref", "{i},USD,50{a:02},50{b:02},TX{i:06}", "debtor>creditor", False,
        ("amount in USD",), ("txn_ref",)),
    "marketplace": Export(
        "id_pedido;data;cliente;loja;valor", "{i:06x};{day:02}/{month:02}/2024;c{a};l{b};R$ 1.{i:03},50",
        "cliente>loja", True, ("valor",), ("id_pedido",)),
    "citations": Export("citing,cited,year", "10.1000/{a},10.1000/{b},19{i:02}", "citing>cited", False, ("year",)),
}  # fmt: skip


@pytest.mark.parametrize("export", EXPORTS.values(), ids=EXPORTS)
def test_the_right_columns_become_ends_times_and_amounts(export: Export, tmp_path: Path) -> None:
    rows = [
        export.row.format(a=a, b=b, i=i, day=i % 28 + 1, month=i % 12 + 1, dash="-" if i % 5 else f"0.{i}")
        for i, (a, b) in enumerate(PAIRS)
    ]
    text = export.before + "\n".join([export.header, *rows] if export.header else rows) + "\n" + export.after
    path = tmp_path / export.name
    path.write_bytes(text.encode(export.encoding))
    source = f"{path}?encoding=gb18030" if export.encoding == "gb18030" else str(path)
    notices: list[str] = []
    graph = load(source, notices=notices)
    ends = export.ends.split(">")
    stated = f"Read edges from column {ends[0]!r} to column {ends[1]!r}."
    assert stated in notices or ends == ["source", "target"]
    assert (graph.edge_time is not None) == export.timed
    assert graph.edge_attribute_names == export.sums
    for name in export.gone:
        assert any(notice.startswith(f"Column {name!r} ") and "left out" in notice for notice in notices)


def edge_list(graph: AttributedGraph) -> set[frozenset[str]]:
    """Return both ends of every edge as text."""
    return {frozenset(str(node) for node in graph.node_ids[pair]) for pair in graph.edges.T}


EDGES = {frozenset((str(a), str(b))) for a, b in PAIRS if a != b}


def test_an_answer_of_an_api_is_unwrapped(tmp_path: Path) -> None:
    rows = [
        {"id": i, "from": {"id": a, "name": f"U{a}"}, "to": {"id": b, "name": f"U{b}"}, "likes": i % 5}
        for i, (a, b) in enumerate(PAIRS)
    ]
    (tmp_path / "api.json").write_text(json.dumps({"data": rows, "paging": {"next": "x"}}))
    graph = load(tmp_path / "api.json", notices=[])
    assert edge_list(graph) == EDGES
    assert graph.edge_attribute_names == ("likes",)


def test_the_name_of_an_actor_is_no_other_end(tmp_path: Path) -> None:
    rows = [
        {"id": f"24{i}", "type": "Watch", "actor": {"id": a, "login": f"u{a}"},
         "repo": {"id": b, "name": f"r{b}"},
         "created_at": f"2015-01-01T15:00:{i:02}Z"}
        for i, (a, b) in enumerate(PAIRS)
    ]  # fmt: skip
    (tmp_path / "events.jsonl").write_text("\n".join(map(json.dumps, rows)))
    notices: list[str] = []
    graph = load(tmp_path / "events.jsonl", notices=notices)
    assert "Read edges from column 'actor.id' to column 'repo.id'." in notices
    assert sorted(set(graph.node_types)) == ["actor", "repo"]
    assert {"actor:5", "repo:5"} <= set(graph.node_ids)
    assert graph.edge_attribute_names == ()


FRAMES = {
    "pandas categories, nullable numbers and time zones": pd.DataFrame(
        {"payer": pd.Categorical(map(str, SOURCES)), "payee": pd.Categorical(map(str, TARGETS)),
         "amount": pd.array([None if i % 9 == 0 else i for i in range(N_ROWS)], dtype="Int64"),
         "when": pd.date_range("2024-01-01", periods=N_ROWS, freq="7h", tz="Europe/Oslo")}),
    "pandas decimals": pd.DataFrame(
        {"sender": SOURCES, "receiver": TARGETS, "amount": [Decimal(i) / 7 for i in range(N_ROWS)],
         "when": [pd.Timestamp("2024-01-01") + pd.Timedelta(days=i) for i in range(N_ROWS)]}),
    "pandas levels": pd.DataFrame(
        {"amount": [i + 0.5 for i in range(N_ROWS)], "when": pd.date_range("2024-01-01", periods=N_ROWS)},
        index=pd.MultiIndex.from_arrays([SOURCES, TARGETS], names=["source", "target"])),
    "polars durations, lists and structs": pl.DataFrame(
        {"src": SOURCES, "dst": TARGETS, "amount": [Decimal(f"{i}.25") for i in range(N_ROWS)],
         "when": [date(2024, 1, 1) + timedelta(days=i) for i in range(N_ROWS)], "tags": [["a"]] * N_ROWS,
         "place": [{"lat": 1.0, "lon": 2.0}] * N_ROWS}),
    "arrow dictionaries": pa.table(
        {"from": pa.array(map(str, SOURCES)).dictionary_encode(), "to": pa.array(map(str, TARGETS)).dictionary_encode(),
         "amount": pa.array([i % 7 for i in range(N_ROWS)], pa.uint8()), "raw": pa.array([b"z"] * N_ROWS),
         "when": pa.array([i * 10**12 for i in range(N_ROWS)], pa.timestamp("ns", "UTC"))}),
}  # fmt: skip


@pytest.mark.parametrize("frame", FRAMES.values(), ids=FRAMES)
def test_frames_with_every_kind_of_column(frame: object) -> None:
    graph = load(frame, notices=[])
    assert edge_list(graph) == EDGES
    assert graph.edge_attribute_names == ("amount",)
    assert graph.edge_time is not None


def test_a_duration_is_an_amount_and_no_time() -> None:
    frame = pl.DataFrame({"src": SOURCES, "dst": TARGETS, "took": [timedelta(seconds=i * 2) for i in range(N_ROWS)]})
    graph = load(frame, notices=[])
    assert graph.edge_time is None
    assert graph.edge_attribute_names == ("took",)
    assert set(graph.edge_attributes.ravel() % 1) <= {0.0, 0.5}


@pytest.mark.parametrize(
    ("content", "message"),
    [
        ("Account,To Bank,Account\n1,2,3\n2,3,4\n", "two of its columns are called 'Account'; rename one"),
        (
            'Employee,Boss,Salary\na,b,"50,000"\nb,c,"60,000"\n',
            r"has a comma that may stand for a decimal point or separate thousands; write .*ignore=\['Salary'\]",
        ),
        ("src,dst,rate\na,b,1\nb,c,Infinity\n", "column 'rate', row 2 is infinite; .* correct it, or pass ignore="),
    ],
)
def test_what_cannot_be_decided_is_refused_in_one_sentence(content: str, message: str, tmp_path: Path) -> None:
    (tmp_path / "t.csv").write_text(content)
    with pytest.raises(ValueError, match=message) as caught:
        load(tmp_path / "t.csv", notices=[])
    assert "\n" not in str(caught.value)


@pytest.mark.parametrize("header", ["payer, payee, amount", '"payer", "payee", "amount"'])
def test_quotes_after_a_space_belong_to_the_cell(tmp_path: Path, header: str) -> None:
    rows = [f'"C{a}", "C{b}", {a + 1}.5' for a, b in PAIRS]
    (tmp_path / "edges.csv").write_text("\n".join([header, *rows]) + "\n")
    graph = load(tmp_path / "edges.csv", notices=[])
    assert sorted(graph.node_ids.tolist()) == sorted(f"C{node}" for node in range(N_NODES))
    assert graph.events is not None and graph.events.amount is not None
    assert graph.events.amount.sum() == sum(a + 1.5 for a, b in PAIRS if a != b)


OWNED = ("Conta Origem;Nome Origem;Conta Destino;Nome Destino", "Conta Debitada;Pagador;Conta Creditada;Recebedor")


@pytest.mark.parametrize(
    ("names", "alone"),
    [*((names, True) for names in OWNED), *((names, False) for names in (*OWNED, "A;Cliente;B;Loja"))],
)
def test_accounts_are_ends_and_not_the_names_of_their_owners(tmp_path: Path, names: str, alone: bool) -> None:
    owner = {node: f"Owner {node}" for node in range(N_NODES)}
    rows = [f"{a:05};{owner[a]};{b:05};{owner[b]};{a + 1},50" for a, b in PAIRS]
    (tmp_path / "edges.csv").write_text("\n".join([f"{names};Valor", *rows]) + "\n")
    nodes = pl.DataFrame({"id": range(N_NODES), "age": range(20, 20 + N_NODES)})  # without leading zeros
    graph = load(tmp_path / "edges.csv", nodes=None if alone else nodes, notices=[])
    expected = [f"{node:05}" for node in range(N_NODES)] if alone else list(map(str, range(N_NODES)))
    assert sorted(graph.node_ids.tolist()) == sorted(expected) and graph.known is None


def test_times_of_day_in_a_workbook_are_added_to_its_dates(tmp_path: Path) -> None:
    book = xlsxwriter.Workbook(tmp_path / "book.xlsx")
    sheet, day = book.add_worksheet(), book.add_format({"num_format": "yyyy-mm-dd"})
    clock = book.add_format({"num_format": "hh:mm"})
    sheet.write_row(0, 0, ["from", "to", "amount", "Date", "Time"])
    for row, (a, b) in enumerate(PAIRS, 1):
        sheet.write_row(row, 0, [f"A{a}", f"A{b}", row])
        sheet.write_datetime(row, 3, datetime(2024, 3, 1 + row % 20), day)
        sheet.write_datetime(row, 4, time(row % 24, 30), clock)
    book.close()
    graph = load(tmp_path / "book.xlsx", notices=(notices := []))
    assert "Added the time of day in column 'Time' to the date in column 'Date'." in notices
    assert graph.events is not None and graph.events.time is not None
    assert graph.events.time.min() == datetime(2024, 3, 1, 16, 30, tzinfo=UTC).timestamp()


@pytest.mark.parametrize("pair", [("Af", "Bij"), ("Cr.", "Dr."), ("Money in", "Money out"), ("支出", "收入"),
                                  ("Debe", "Haber"), ("RECEIVE", "SEND"), ("Ausgang", "Eingang")])  # fmt: skip
def test_a_column_that_says_which_way_money_went_is_named(pair: tuple[str, str]) -> None:
    ways = ["REV" if row == 7 else pair[row % 2] for row in range(N_ROWS)]
    frame = pl.DataFrame({"Rekening": SOURCES, "Tegenrekening": TARGETS, "Af Bij": ways, "Bedrag": [1.5] * N_ROWS})
    load(frame, notices=(notices := []))
    assert any(
        each.startswith(f"Column 'Af Bij' may say which way money went ({pair[0]!r} and {pair[1]!r})")
        for each in notices
    )


@pytest.mark.parametrize(
    ("header", "ends"),
    [
        ("Data/Hora;Nome Pagador;CPF Pagador;Nome Recebedor;CPF Recebedor;Valor", ("CPF Pagador", "CPF Recebedor")),
        ("Плательщик;Счет плательщика;Получатель;Счет получателя;Сумма", ("Счет плательщика", "Счет получателя")),
        ("Tarih;Gönderen;Gönderen IBAN;Alıcı;Alıcı IBAN;Tutar", ("Gönderen IBAN", "Alıcı IBAN")),
        ("Amt;Ccy;DbtrNm;DbtrAcct;CdtrNm;CdtrAcct", ("DbtrAcct", "CdtrAcct")),
        ("Umsatz (ohne S/H);Soll/Haben-Kennzeichen;Konto;Gegenkonto (ohne BU)", ("Konto", "Gegenkonto (ohne BU)")),
        ("u;v;source;target", ("u", "v")),
    ],
)
def test_the_ends_of_exports_of_many_countries_are_accounts(header: str, ends: tuple[str, str]) -> None:
    assert find_end_names(header.split(";"))[0] == ends


def test_one_large_amount_with_a_point_between_thousands_is_large() -> None:
    cells = ["25.000" if row == 7 else str(90 + row) for row in range(N_ROWS)]
    graph = load(pl.DataFrame({"from": SOURCES, "to": TARGETS, "Betrag": cells}), notices=(notices := []))
    assert graph.events is not None and graph.events.amount is not None and graph.events.amount.max() == 25_000
    assert "Column 'Betrag': read '25.000' as 25000." in notices


def test_lines_above_a_table_may_be_padded_by_a_spreadsheet(tmp_path: Path) -> None:
    rows = ["Customer,ACME,,", "Currency,EUR,,", "sender,receiver,amount,date", "A1,A2,10.50,2024-01-01"]
    (tmp_path / "edges.csv").write_text("\n".join([*rows, "A2,A3,20.00,2024-01-02", "A3,A1,7.25,2024-01-03"]) + "\n")
    graph = load(tmp_path / "edges.csv", notices=(notices := []))
    assert graph.node_ids.tolist() == ["A1", "A2", "A3"]
    assert "Left out 2 lines above the table in edges.csv: 'Customer,ACME,,'." in notices


PAYSIM = """step,type,amount,nameOrig,oldbalanceOrg,newbalanceOrig,nameDest,oldbalanceDest,newbalanceDest,isFraud
1,PAYMENT,9839.64,C1231006815,170136.0,160296.36,M1979787155,0.0,0.0,0
1,TRANSFER,181.0,C1305486145,181.0,0.0,C553264065,0.0,0.0,1
2,CASH_OUT,182.0,C553264065,182.0,0.0,C1305486145,7.0,1.0,1
"""


def test_balances_of_both_ends_are_no_ends(tmp_path: Path) -> None:
    (tmp_path / "paysim.csv").write_text(PAYSIM)
    load(tmp_path / "paysim.csv", notices=(notices := []))
    assert notices[0] == "Read edges from column 'nameOrig' to column 'nameDest'."


@pytest.mark.parametrize("zeros", [".00", ",00", ".0000000000"])
def test_zeros_behind_an_id_are_no_other_id(zeros: str, tmp_path: Path) -> None:
    rows = [f'"{4000 + a}{zeros}";{4000 + b};{a + 1}' for a, b in PAIRS]
    (tmp_path / "edges.csv").write_text("\n".join(["from;to;amount", *rows]) + "\n")
    graph = load(tmp_path / "edges.csv", notices=[])
    assert graph.node_ids.tolist() == [4000 + node for node in range(N_NODES)]


@pytest.mark.parametrize("typed", [True, False])
def test_times_of_day_without_colons_belong_to_the_date_beside_them(typed: bool) -> None:
    days, times = [20240301 + row % 28 for row in range(N_ROWS)], [72300 + row for row in range(N_ROWS)]
    cells = (days, times) if typed else ([str(day) for day in days], [f"{time:06}" for time in times])
    frame = pl.DataFrame({"from": SOURCES, "to": TARGETS, "date": cells[0], "time": cells[1]})
    graph = load(frame, notices=(notices := []))
    assert "Added the time of day in column 'time' to the date in column 'date'." in notices
    first = min(row for row, (a, b) in enumerate(PAIRS) if a != b)
    expected = datetime(2024, 3, 1 + first, 7, 23, tzinfo=UTC) + timedelta(seconds=first)
    assert graph.events is not None and graph.events.time is not None
    assert graph.events.time.min() == expected.timestamp()


@pytest.mark.parametrize(
    ("day", "clock"),
    [
        ("%Y-%m-%d 00:00:00", "%H:%M:%S"), ("%Y-%m-%dT00:00:00Z", "%H:%M:%S"), ("%m/%d/%Y 12:00:00 AM", "%H:%M:%S"),
        ("%Y-%m-%d", "1899-12-30 %H:%M:%S"), ("%Y-%m-%d 00:00:00.000", "1900-01-01 %H:%M:%S"),
    ],
)  # fmt: skip
def test_days_at_midnight_and_clocks_behind_a_placeholder_are_put_together(day: str, clock: str) -> None:
    moments = [datetime(2024, 5, 1, 7, 23) + timedelta(hours=9 * row) for row in range(N_ROWS)]
    cells = {"Date": [f"{each:{day}}" for each in moments], "Time": [f"{each:{clock}}" for each in moments]}
    graph = load(pl.DataFrame({"from": SOURCES, "to": TARGETS, **cells}), notices=(notices := []))
    assert "Added the time of day in column 'Time' to the date in column 'Date'." in notices
    first = min(row for row, (a, b) in enumerate(PAIRS) if a != b)
    assert graph.events is not None and graph.events.time is not None
    assert graph.events.time.min() == moments[first].replace(tzinfo=UTC).timestamp()


def test_the_time_of_an_import_is_not_that_of_the_payments() -> None:
    moments = [f"2024-05-{1 + row % 28:02} 09:15:00" for row in range(N_ROWS)]
    for stamp in ("ingested_at", "batch_date"):
        frame = pl.DataFrame(
            {"from": SOURCES, "to": TARGETS, stamp: ["2024-06-01 00:00:00"] * N_ROWS, "occurred": moments}
        )
        load(frame, notices=(notices := []))
        assert any(each.startswith("Read column 'occurred' as the time of each edge") for each in notices)


@pytest.mark.parametrize(("cells", "unit"), [("R {},11", "R"), ("{},11 TL", "TL"), ("Ksh{},11", "Ksh")])
def test_letters_around_all_amounts_are_their_unit(cells: str, unit: str) -> None:
    frame = pl.DataFrame({"from": SOURCES, "to": TARGETS, "Amount": [cells.format(row) for row in range(N_ROWS)]})
    graph = load(frame, notices=[])
    assert graph.events is not None and graph.events.currencies == (unit,)
    assert graph.events.amount is not None
    assert graph.events.amount.sum() == pytest.approx(sum(row + 0.11 for row, (a, b) in enumerate(PAIRS) if a != b))


@pytest.mark.parametrize("name", ["Beløp", "Částka", "Összeg", "Số tiền", "Ποσό", "סכום", "Сума", "DMBTR"])
def test_amounts_are_found_in_many_languages(name: str) -> None:
    graph = load(pl.DataFrame({"from": SOURCES, "to": TARGETS, name: [1.5 + row for row in range(N_ROWS)]}), notices=[])
    assert graph.events is not None and graph.events.amount is not None


def test_tokens_are_currencies_also_where_one_of_them_is_unknown() -> None:
    tokens = {"value": [1.5 + row for row in range(N_ROWS)], "token_symbol": ["USDC", "WETH"] * (N_ROWS // 2)}
    load(pl.DataFrame({"from": SOURCES, "to": TARGETS, **tokens}), notices=(notices := []))
    assert any(each.startswith("Amounts are in 2 currencies (USDC, WETH)") for each in notices)


def test_amounts_in_two_forms_are_refused() -> None:
    cells = ["1.234,50" if row % 2 else "1,234.50" for row in range(N_ROWS)]
    with pytest.raises(ValueError, match=r"different forms \('1,234.50' and '1.234,50'\); write all of them with a"):
        load(pl.DataFrame({"from": SOURCES, "to": TARGETS, "Amount": cells}), notices=[])


def test_parts_of_a_folder_whose_types_differ_are_one_table(tmp_path: Path) -> None:
    for name, amounts in (("jan", [10, 20]), ("feb", [10.5, 20.25])):
        frame = pl.DataFrame(
            {"from": ["A", "B"], "to": ["B", "C"], "amount": amounts, "on": [f"2024-01-0{k}" for k in (1, 2)]}
        )
        frame.write_parquet(tmp_path / f"{name}.parquet")
    graph = load(tmp_path, notices=[])
    assert graph.events is not None and sorted(graph.events.amount.tolist()) == [10, 10.5, 20, 20.25]
    pl.DataFrame({"from": ["A"], "to": ["C"], "amount": [[1]], "on": ["x"]}).write_parquet(tmp_path / "mar.parquet")
    with pytest.raises(ValueError, match=r"its parts differ: column 'amount' holds .* in feb.parquet and .* in "):
        load(tmp_path, notices=[])


def test_a_file_of_utf_16_without_a_mark_is_read_as_the_message_says(tmp_path: Path) -> None:
    for code in ("utf-16le", "utf-16be"):
        (tmp_path / "a.csv").write_bytes("from,to\nA,B\nB,C\n".encode(code))
        with pytest.raises(ValueError, match=rf"if it is UTF-16, append '\?encoding={code}'"):
            load(tmp_path / "a.csv")
        assert load(f"{tmp_path / 'a.csv'}?encoding={code}", notices=[]).n_nodes == 3


def test_a_column_of_ends_that_a_library_has_renamed_is_one() -> None:
    banks = {"From Bank": [1, 2] * (N_ROWS // 2), "Account": SOURCES, "To Bank": [2, 1] * (N_ROWS // 2)}
    load(pl.DataFrame({**banks, "Account.1": TARGETS}), notices=(notices := []))
    assert "Read edges from column 'Account' to column 'Account.1'." in notices


def test_a_last_row_of_totals_is_no_payment(tmp_path: Path) -> None:
    rows = [f"A{a};A{b};;{a + 1}.5" for a, b in PAIRS]
    (tmp_path / "edges.csv").write_text("\n".join(["from;to;note;amount", *rows, "TOTAL;60 rows;;999"]) + "\n")
    graph = load(tmp_path / "edges.csv", notices=(notices := []))
    assert "Left out the last row, 'TOTAL' and '60 rows', which adds up others." in notices
    assert graph.events is not None and graph.events.amount.max() < 999


def test_dates_with_milliseconds_and_no_signs_are_dates() -> None:
    moments = [datetime(2024, 5, 1) + timedelta(hours=5 * row) for row in range(N_ROWS)]
    written = [f"{each:%Y%m%d%H%M%S}{row:03}" for row, each in enumerate(moments)]
    for cells in (written, [int(cell) for cell in written]):
        graph = load(pl.DataFrame({"from": SOURCES, "to": TARGETS, "txn_time": cells}), notices=[])
        assert graph.events is not None and graph.events.time is not None
        first = min(row for row, (a, b) in enumerate(PAIRS) if a != b)
        assert graph.events.time.min() == moments[first].replace(tzinfo=UTC).timestamp() + first / 1000


def test_copies_with_the_same_number_are_one_payment_and_rows_are_numbered_as_in_the_file(tmp_path: Path) -> None:
    rows = [f"{row},A{a},A{b},{row + 1},{'bad' if row < 9 else 'ok'}" for row, (a, b) in enumerate(PAIRS)]
    rows = [*rows, rows[20], rows[30], "99,A1,,7,ok"]
    (tmp_path / "edges.csv").write_text("\n".join(["invoice_no,payer,payee,amount,status", *rows]) + "\n")
    graph = load(tmp_path / "edges.csv", ignore=["status=bad"], notices=(notices := []))
    said = "2 rows are exact copies of earlier rows, first row 49 of the data, with the same 'invoice_no': they are"
    assert f"{said} left out." in notices
    assert "Left out 1 row without a node id, first row 51 of the data." in notices
    assert graph.events is not None and graph.events.size == sum(a != b for a, b in PAIRS[9:])


def test_a_wrong_cell_has_the_number_of_its_row_in_the_file(tmp_path: Path) -> None:
    rows = [f"A{a},A{b},{'1.5' if row else 'inf'},{'bad' if row < 9 else 'ok'}" for row, (a, b) in enumerate(PAIRS)]
    edges = tmp_path / "edges.csv"
    edges.write_text("\n".join(["payer,payee,amount,status", ",,7,ok", *rows]) + "\nA1,A2,inf,ok\n")
    with pytest.raises(ValueError, match=rf"'amount', row {len(rows) + 2}: 'inf'|'amount', row {len(rows) + 2} is inf"):
        load(edges, ignore=["status=bad"])
    (tmp_path / "bad.csv").write_text("id,age\n,5\nA0,5\nA0,5\nA1,7\nA2,8\nA1,9\n")
    edges.write_text("payer,payee\nA0,A1\nA1,A2\n")
    with pytest.raises(ValueError, match="node 'A1' has two rows, 4 and 6"):
        load(edges, nodes=tmp_path / "bad.csv")
    (tmp_path / "bad.csv").write_text("id,age\n,5\nA0,5\nA0,5\nA1,7\nA2,\n")
    with pytest.raises(ValueError, match="'age', row 5 is empty"):
        load(edges, nodes=tmp_path / "bad.csv", missing="refuse")


@pytest.mark.parametrize(
    "names", [("fee_currency", "currency"), ("balance_currency", "amount_currency"), ("account_currency", "currency")]
)
def test_the_currency_of_amounts_is_not_that_of_fees(names: tuple[str, str]) -> None:
    codes = ["EUR" if row % 3 else "GBP" for row in range(N_ROWS)]
    columns: dict[str, list[Any]] = {
        "fee": [0.5] * N_ROWS,
        "fee_amount": [0.5, 0.7] * (N_ROWS // 2),
        "amount": [5.0 + a for a in SOURCES],
    }
    frame = pl.DataFrame(
        {"sender": SOURCES, "receiver": TARGETS, **columns, names[0]: ["USD"] * N_ROWS, names[1]: codes}
    )
    graph = load(frame, notices=(notices := []))
    assert f"Read column {names[1]!r} as the currency of column 'amount'." in notices
    assert graph.events is not None and set(graph.events.currencies) == {"EUR", "GBP"}


def test_the_time_of_payments_is_not_when_an_account_was_opened() -> None:
    opened = [date(2001 + a, 5, 4) for a in SOURCES]
    paid = [date(2024, 3, 1) + timedelta(days=row) for row in range(N_ROWS)]
    frame = pl.DataFrame({"sender": SOURCES, "account_opened": opened, "receiver": TARGETS, "paid_on": paid})
    graph = load(frame, notices=(notices := []))
    assert (
        any(line.startswith("Read column 'paid_on' as the time of each edge: 2024-03-01 to ") for line in notices)
        and graph.events is not None
    )


def test_dates_that_begin_with_a_year_of_two_digits_are_refused() -> None:
    days = [f"24.05.{row % 30 + 1:02}" for row in range(N_ROWS)]
    with pytest.raises(ValueError, match=r"'24\.05\.01' seems to begin with the year; write dates as 2024-05-31"):
        load(pl.DataFrame({"from": SOURCES, "to": TARGETS, "amount": [1.5] * N_ROWS, "date": days}))


def test_dates_as_serial_numbers_of_a_spreadsheet_are_named() -> None:
    days = [45387 + 7 * row % 40 for row in range(N_ROWS)]
    load(pl.DataFrame({"from": SOURCES, "to": TARGETS, "Booking date": days}), notices=(notices := []))
    assert any(
        each.startswith("The times in column 'Booking date', such as 45387, are plain numbers") for each in notices
    )


def test_numbers_of_transactions_are_no_ends() -> None:
    frame = pl.DataFrame({"tran_id": range(1, N_ROWS + 1), "orig_acct": SOURCES, "bene_acct": TARGETS})
    assert sorted(load(frame, notices=[]).node_ids.tolist()) == list(range(N_NODES))


@pytest.mark.parametrize("name", ["zeit", "created", "Buchungszeit", "hora", "booked"])
def test_unix_times_are_found_under_names_of_times(name: str) -> None:
    times = [1_700_000_000 + 3600 * row for row in range(N_ROWS)]
    graph = load(pl.DataFrame({"from": SOURCES, "to": TARGETS, name: times}), notices=[])
    assert graph.events is not None and graph.events.time is not None and graph.events.time.min() == times[0]


def test_objects_of_python_become_text() -> None:
    addresses = [ip_address(f"10.0.0.{node}") for node in SOURCES]
    sent = pd.DataFrame({"from": addresses, "to": [ip_address(f"10.0.0.{node}") for node in TARGETS], "amount": 1.5})
    sent["tags"] = [{row % 2} for row in range(N_ROWS)]
    for frame in (sent, pl.DataFrame({name: pl.Series(sent[name].tolist(), dtype=pl.Object) for name in sent})):
        assert "10.0.0.3" in load(frame, source_column="from", target_column="to", notices=[]).node_ids.tolist()


def test_amounts_in_two_columns_are_named() -> None:
    debit, credit = ([float(row) if row % 2 == side else None for row in range(N_ROWS)] for side in (0, 1))
    load(pl.DataFrame({"from": SOURCES, "to": TARGETS, "debit": debit, "credit": credit}), notices=(notices := []))
    assert "Columns 'debit' and 'credit' are not used as amounts: write what each edge moved into one." in notices
