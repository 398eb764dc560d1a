"""Text as programs write it: separators, quotes, encodings, lines above a table; and what is no table."""

from pathlib import Path

from .cases import FEW, PEOPLE, Case, each_of

GOLD = '"Gold" Ltd'
HALVES = [i + 0.5 for i in range(12)]
PAID = "payer;payee;amount;date", "{a};{b};{i}.5;{day:02}.03.2024"
WESTERN = "as in 'a.csv?encoding=cp1250' (Central European) or cp1251 (Cyrillic)."
POLISH = (
    "Read a.csv as Windows-1250, because it is not UTF-8; if letters look wrong, name the encoding, as in "
    "'a.csv?encoding=cp1251' (Cyrillic) or cp1252 (Western European)."
)

DIALECTS = {
    "a title and an empty line above": Case(
        "from,to,amount", "{a},{b},{i}.5", before="Payments of 2024\n\n", ids=PEOPLE,
        said="Left out 1 line above the table in a.csv: 'Payments of 2024'."),
    "a space in a title, in a name and in each time separates nothing": Case(
        "from;to;paid at", "{a};{b};2024-03-{day:02} 10:00", before="Title: list\n", ids=PEOPLE),
    "a line that names the separator": Case(
        "from;to;amount", "{a};{b};{i},5", before="sep=;\n", amounts=HALVES, sums=("amount",)),
    "a comma at the end of every row": Case(
        "from,to,amount", "{a},{b},{i},", amounts=range(12), unsaid="…above the table…"),
    "a comma at the end of every row below a title": Case(
        "from,to,amount", "{a},{b},{i},", before="Payments\n", amounts=range(12), said="…above the table…"),
    "a line above that a spreadsheet padded": Case(
        *PAID, before="Account;DE12;;\n", ids=PEOPLE, amounts=HALVES, ends="payer>payee"),
    "two such lines": Case(
        *PAID, before="Period;01.01.2024;31.01.2024;\nPayments;;;\n", ids=PEOPLE, amounts=HALVES, ends="payer>payee"),
    "lines above with as many cells as the table": Case(
        *PAID, before="Statement;;;\nPeriod:;01.01.2024;until;31.03.2024\n", ids=PEOPLE, amounts=HALVES,
        ends="payer>payee"),
    "two such lines are named": Case(
        "sender,receiver,amount,date", "{a},{b},{i}.50,2024-01-{day:02}", before="Customer,ACME,,\nCurrency,EUR,,\n",
        ids=PEOPLE, said="Left out 2 lines above the table in a.csv: 'Customer,ACME,,'."),
    "a hash that is a column of its own": Case("#,From,To", "{day},{a},{b}", ids=PEOPLE),
    "a comment that is the header of rows that begin with a date": Case(
        "#Datum;Text;Zahler;Empfänger;Betrag", "{day:02}.03.2024;Miete {i};A{i};B{c};{i},00", ["0", "1", "2", "3", "4"],
        ends="Zahler>Empfänger", n_edges=12),
    "a header of R, which lacks the name of the row numbers": Case(
        '"from","to","amount"', '"{day}","{a}","{b}",{i}.5', ids=PEOPLE,
        said="…as the amount of each edge: 0.50 to 11.50, 72 in all…"),
    "the separator is the one that makes most cells": Case(
        "from;to;amount, EUR;place", "{a};{b};{i},5;x", ids=PEOPLE),
    "a backslash before a quote within quotes": Case(
        "from,to,amount", '"{a} \\"x\\", ltd","{b} \\"x\\", ltd",{i}', ids=[f'{name} "x", ltd' for name in PEOPLE]),
    "a quotation mark within a cell is part of it": Case(
        "from,to,amount,memo", '{a},{b},{i},"x"', swap=('cy,1,"x"', 'cy,1,19" monitor'), amounts=range(12),
        n_edges=12),
    "such a mark in a file that begins with a byte order mark": Case(
        '"from","to","amount","memo"', '"{a}","{b}",{i},{c}', ["x", '19" monitor'], encoding="utf-8-sig", ids=PEOPLE,
        ends="from>to"),
    "such a mark beside cells in quotes that hold the separator": Case(
        "from,to,amount,memo", "{a},{b},{i},{c}", ["x", '19" monitor', "y", '"a, b"'], amounts=range(12), ids=PEOPLE,
        unsaid="…quotation…"),
    "such a cell behind the first million characters": Case(
        "from,to,amount,memo", [f"A{i % 9},B{i % 7},{i},{'x' * 99 if i < 12000 else GOLD}" for i in range(12009)],
        n_edges=63, unsaid="…quotation…"),
    "such a cell below one of two lines is named": Case(
        "from,to,amount,memo", ['a,b,1,"two\nlines"', *["b,c,2,x"] * 60000, f"a,c,3,{GOLD}"],
        refused="…line 60004 ('a,c,3,\"Gold\" Ltd…') has a cell that begins with a quotation mark…"),
    "an id that begins with a word in quotes": Case(
        "from\tto\tamount", '"{a}" Ltd\t"{b}" Ltd\t{i}', name="a.tsv", amounts=range(12),
        ids=[f'"{name}" Ltd' for name in PEOPLE]),
    "a quote that is never closed": Case(
        "from,to,amount,memo", "{a},{b},{i},{c}", ['"x', "y", "z"], pairs=FEW[:9], amounts=range(9),
        unsaid="…quotation…"),
} | {
    f"Polish text with {more} is not read as Western European": Case(
        f"{first};{second};{more}", "{a};{b};{i}", encoding="cp1250", ends=f"{first}>{second}", said=POLISH)
    for first, second, more in (
        ("Kupujący", "Sprzedający", "Łódź"), ("KUPUJĄCY", "SPRZEDAJĄCY", "MIASTO ŁÓDŹ"),
        ("KUPUJĄCY", "SPRZEDAJĄCY", "MIASTO ŻABKA"), ("KUPUJĄCY", "SPRZEDAJĄCY", "MIASTO ŹRÓDŁO"))
} | {
    f"Western European text with {more} is not read as Polish": Case(
        f"from;to;{more}", "{a};{b};{i}", encoding="cp1252", said=f"…{WESTERN}")
    for more in ("GARÇON CŒUR", "¿QUÉ? MAÑANA", "GRÖSSE (M³)", "£GBP", "ÅRHUS ÆGIR")
} | {
    f"{code} without a mark is refused with the option to append": Case(
        "from,to,amount", "{a},{b},{i}", encoding=code, refused=f"…if it is UTF-16, append '?encoding={code}'…")
    for code in ("utf-16le", "utf-16be")
} | {
    f"{code} is read with that option": Case(
        "from,to,amount", "{a},{b},{i}", encoding=code, query=f"?encoding={code}", ids=PEOPLE)
    for code in ("utf-16le", "utf-16be")
}  # fmt: skip


@each_of(DIALECTS)
def test_text_is_read_as_programs_write_it(case: Case, tmp_path: Path) -> None:
    case.check(tmp_path)


NO_TABLES = {
    "a web page": Case(
        "<!DOCTYPE html>", ["<html><p>Not, found</p></html>"], refused="…it is a web page, not a table…"),
    "lines of different lengths": Case(
        "", ["1 2 3", "2 4", "3 1 2 4 5"], name="a.txt",
        refused="…its lines have different numbers of cells; write one edge per line…"),
    "an adjacency matrix": Case(",a,b,c", ["a,0,1,1", "b,1,0,0", "c,1,0,0"], refused="…it is an adjacency matrix…"),
    "a row with more cells than the header": Case(
        "from,to,x", ["a,b,1", "b,c,2,9"], refused="…row 2 ('b,c,2,9') has more cells than its header…"),
    "no second ends": Case("from,to,x", ["a,,1", "b,,2"], refused="…it has a header but no edges…"),
    "nodes and edges in one file of JSON": Case(
        "", ['{"nodes": [{"id": 1}], "links": [{"a": 1}]}'], name="a.json",
        refused="…column 'nodes' holds List…, not node ids…"),
    "an infinite number": Case(
        "src,dst,rate", ["a,b,1", "b,c,Infinity"],
        refused="…column 'rate', row 2 is infinite; … correct it, or pass ignore=…"),
}  # fmt: skip


@each_of(NO_TABLES)
def test_what_is_no_edge_list_is_refused_in_one_sentence(case: Case, tmp_path: Path) -> None:
    case.check(tmp_path)
