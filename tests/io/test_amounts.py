"""Which columns are the amounts of edges, how their numbers are read, and in which currency they are."""

from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import pytest

from hopsight.flow.evidence import Flow
from hopsight.loading import load

from .cases import FEW, Case, each_of, refuses

COUNTED = [float(i) for i in range(12)]
HALVES = [i + 0.5 for i in range(12)]

NAMES = {
    f"{name!r} is the amount": Case(
        f"Date,From,To,{name}", "2024-03-{day:02},{a},{b},{i}",
        said=f"Read column {name!r} as the amount of each edge: 0 to 11, 66 in all.")
    for name in ("Suma", "Znesek", "Summa", "Upphæð", "مبلغ", "Beløp", "Částka", "Összeg", "Số tiền", "Ποσό", "סכום",
                 "Сума", "DMBTR", "Amount in local currency")
} | {
    f"'{other} amount' is not the amount": Case(
        f"from,to,{other} amount,amount", "{a},{b},0.{i},1{i:02}",
        said="Read column 'amount' as the amount of each edge: 100 to 111…")
    for other in ("fee", "tax", "moms", "opłata", "fx_rate", "unit_price", "balance", "saldo")
} | {
    f"of {first} and {second} the first is the amount": Case(
        f"Date,From,To,{first},{second}", "2024-03-{day:02},{a},{b},{i},2{i:02}",
        said=f"Read column {first!r} as the amount of each edge: 0 to 11…")
    for first, second in (("Amount in USD", "Amount in EUR"), ("Betrag in Fremdwährung", "Betrag in EUR"))
} | {
    f"{paid!r} is the amount and {other!r} is not": Case(
        f"Date,From,To,{other},{paid}", "2024-03-{day:02},{a},{b},{i},1{i:02}",
        said=f"Read column {paid!r} as the amount of each edge: 100 to 111…")
    for other, paid in (
        ("MwSt Betrag", "Betrag brutto"), ("Betrag netto", "Betrag brutto"), ("VAT amount", "Amount excl. VAT"),
        ("Amount excl. VAT", "Amount incl. VAT"), ("tax amount", "amount incl. tax"),
        ("Importe IVA", "Importe con IVA"), ("Fee Amount", "Total Amount incl. fee"),
        ("Discount amount", "Amount after discount"), ("Source fee amount", "Source amount (after fees)"))
} | {
    f"{other} is no amount": Case(
        f"Date,From,To,{other},{amount}", "2024-03-{day:02},{a},{b},2403{day:02},1{i:02}",
        said=f"Read column {amount!r} as the amount of each edge: 100 to 111…")
    for other, amount in (("Value Date", "Txn Amount"), ("Total Items", "Order Total"), ("Value of", "Paid sum"))
} | {
    f"the currency of {name} says that a comma separates thousands": Case(
        f"from,to,{name}", '{a},{b},"{end},750"', amounts=[1000 * (i % 12 + 20) + 750 for i in range(12)])
    for name in ("Amount (USD)", "amount_krw", "Amount ($)")
} | {
    f"a column that says which way money went is named: {one} and {other}": Case(
        "Rekening,Tegenrekening,Af Bij,Bedrag", "{a},{b},{c},1.5", [one, other, one, other, one, "REV"],
        said=f"Column 'Af Bij' may say which way money went ({one!r} and {other!r})…")
    for one, other in (
        ("Af", "Bij"), ("Cr.", "Dr."), ("Money in", "Money out"), ("支出", "收入"), ("Debe", "Haber"),
        ("RECEIVE", "SEND"), ("Ausgang", "Eingang"), ("Transfer in", "Transfer out"), ("+", "-"))
} | {
    "a currency in brackets is a word of its own": Case(
        "from,to,Value_IN(ETH),Value_OUT(ETH)", "{a},{b},0,1{i:02}", unsaid="…'Value_IN(ETH)' as the amount…"),
    "where no amount is known a hint says how to name one": Case(
        "Date,From,To,Kiasi", "2024-03-{day:02},{a},{b},{c}.5", [str(i * 7 % 24) for i in range(24)], pairs=FEW * 2,
        said="No column is read as the amount of each edge; if 'Kiasi' is one, pass weight_column='Kiasi'."),
    "the hint works": Case(
        "Date,From,To,Kiasi", "2024-03-{day:02},{a},{b},{c}.5", [str(i * 7 % 24) for i in range(24)], pairs=FEW * 2,
        options={"weight_column": "Kiasi"}, amounts=[i + 0.5 for i in range(24)]),
} | {
    f"amounts in two columns are named: {one} and {other}": Case(
        f"from,to,{one},{other}", "{a},{b},{c}", ["{i}.0,", ",{i}.0"], frame="typed",
        said=f"Columns {one!r} and {other!r} are not used as amounts, as each row has only one of them…")
    for one, other in (("debit", "credit"), ("Wypłata", "Wpłata"), ("Amount out", "Amount in"))
} | {
    "a refund beside the amount is no other side of it": Case(
        "date,from,to,amount,refund", "2024-03-{day:02},{a},{b},{c}", ["{i}.5,", "{i}.5,", ",{i}.5"], frame="typed",
        said="…Read column 'amount' as the amount of each edge…"),
    "a column of edges that was not understood is named with what it holds": Case(
        "from,to,date,amount,isError,Wert,place", "{a},{b},2024-03-{day:02},{i},{c}",
        ["0,{i}7,", "1,{i}7,x", "0,{i}7,x", "1,{i}7,", "0,{i}7,x", "1,{i}7,x"],
        said="Other columns describe edges: 'place' ('x', empty), 'isError' (0, 1), 'Wert' (numbers)."),
}  # fmt: skip


@each_of(NAMES)
def test_the_amount_is_the_column_that_a_user_would_name(case: Case, tmp_path: Path) -> None:
    case.check(tmp_path)


DOUBT = "…if the point separates thousands…"
COMMA = "…comma that may stand for a decimal point or separate thousands…"

CELLS = {
    "codes of several lengths that begin with 0": Case(
        "from,to,amount,client", "{a},{b},{i},{c}", ["01234567890", "5250007738", "98765432109"],
        said="Column 'client' holds codes with leading zeros, which are not read as numbers."),
    "words for empty count as empty": Case(
        "from,to,amount", "{a},{b},{c}", ["n.c.", "n/d", "s/d", "k.A.", *"01234567"],
        amounts=[*range(8), *[np.nan] * 4]),
    "0 of an accountant is empty": Case(
        "from,to,amount", "{a},{b},{c}", [" $ -   ", "$ 1.50", "$ 2.50"], frame="text",
        amounts=[*[1.5] * 4, *[2.5] * 4, *[np.nan] * 4]),
    "other words are refused and counted": Case(
        "from,to,amount", "{a},{b},{c}", ["tbd", "wait", "tbd", "k.A.", *"01234567"],
        refused="…row 1: 'tbd' (elsewhere 'wait') is not … correct this and 2 other cells…"),
    "a cell that is no number does not turn thousands into ones": Case(
        "from,to,amount", "{a},{b},{c}", [*["950", "1.200", "12.500"] * 40, "see mail"], pairs=(FEW * 11)[:121],
        amounts=[*[950, 1200, 12500] * 40, np.nan]),
    "the first numbers may be doubtful": Case(
        "payer,payee,amount", [*(f"A{i},A{i + 1},{i + 1}.200" for i in range(300)), "A0,A7,950", "A3,A9,45"],
        said="Column 'amount': read '1.200' as 1200.", amounts=[*(1000 * i + 200 for i in range(1, 301)), 950, 45]),
    "one large amount may have a point between thousands": Case(
        "from,to,Betrag", "{a},{b},{c}", [str(90 + i) if i != 7 else "25.000" for i in range(48)], pairs=FEW * 4,
        frame="text", amounts=[90 + i if i != 7 else 25_000 for i in range(48)],
        said="Column 'Betrag': read '25.000' as 25000."),
    "points between thousands from 10,000 on": Case(
        "from;to;Importe;place", "{a};{b};{c};x", ["950", "4500", "12.345", "250.000"],
        said="…as the amount of each edge: 950 to 250,000, 803,385 in all."),
    "points that may separate thousands": Case("from;to;amount", "{a};{b};1{end}.500", said=DOUBT),
    "points before one digit or two": Case("from;to;amount", "{a};{b};1{end}.50", unsaid=DOUBT),
    "points behind a zero": Case("from;to;amount", "{a};{b};0.{i}25", unsaid=DOUBT),
    "commas that may be of either kind are refused": Case(
        "from,to,amount,place", '{a},{b},"{day},670 €",x', refused=COMMA),  # of a litre of petrol, perhaps
    "such commas without a currency too": Case(
        "Employee,Boss,Salary", ['a,b,"50,000"', 'b,c,"60,000"'], refused=f"{COMMA[:-1]}; write …ignore=['Salary']…"),
    "two forms are refused": Case(
        "from;to;Amount", "{a};{b};{c}", ["1,234.50", "1.234,50"],
        refused="…different forms ('1,234.50' and '1.234,50'); write all of them with a…"),
    "a refund does not make amounts useless": Case(
        "from,to,amount,date", "{a},{b},{i}.5,2024-03-{day:02}", swap=(",3.5,", ",-3.5,"),
        amounts=[*HALVES[:3], -3.5, *HALVES[4:]],
        said="1 negative amount in column 'amount': it counts in sums and means, but not in evidence from amounts and "
        "times."),
    "many negative numbers are no amounts": Case(
        "from,to,amount", "{a},{b},{c}", ["1.5", "-2.5", "3.5", "4.5"], frame="typed",
        said="…'amount' is not used as the amount of each edge: 3 of 12 are neg…"),
    "nor are equal ones": Case(
        "from,to,amount", "{a},{b},5.0", frame="typed", pairs=FEW[:9],
        said="…'amount' is not used as the amount of each edge: its numbers are all the same."),
    "nor are bytes": Case(
        "from,to,bytes", "{a},{b},{i}", frame="typed",
        said="Column 'bytes' is an attribute of edges; pass weight_column='bytes' to weigh edges…"),
    "nor are times of day times": Case(
        "from,to,time", "{a},{b},10:3{c}", ["1", "2"], frame="text",
        said="…is not the time of each edge: it has times of day without a date…"),
} | {
    f"a comma after {mark} separates thousands": Case(
        "from,to,amount,place", f'{{a}},{{b}},"{mark}{{day}},670",x',
        said="…as the amount of each edge: 1,670 to 12,670…")
    for mark in "¥₩$£"
}  # fmt: skip


@each_of(CELLS)
def test_amounts_are_read_as_people_write_them(case: Case, tmp_path: Path) -> None:
    case.check(tmp_path)


FEES = "sender,receiver,fee,fee_amount,amount"

CURRENCIES = {
    "each currency has its sum": Case(
        "from,to,amount,currency", "{a},{b},{i},{c}", ["EUR", "PLN"],
        said="Read column 'amount' as the amount of each edge: 0 to 11, 30 EUR and 36 PLN in all."),
} | {
    f"the currency {unit} is that of amounts like {cell.format(i=7)}": Case(
        "from;to;valor", f"{{a}};{{b}};{cell}", amounts=amounts, currencies=(unit,))
    for amounts, cells in (
        (HALVES, {"R$ {i},50": "BRL", "S/ {i},50": "S/", "CHF {i},50": "CHF", "₫{i},50": "₫", "Rs. {i},50": "INR",
                  "NT$ {i},50": "NT$"}),
        ([i + 0.11 for i in range(12)], {"R {i},11": "R", "{i},11 TL": "TL", "Ksh{i},11": "Ksh"}))
    for cell, unit in cells.items()
} | {
    f"the currency is known by {names[-1]!r}": Case(
        ",".join(["from", "to", *names]), "{a},{b},{i}.5{c}", cells, frame="text", currencies=currencies)
    for names, cells, currencies in (
        (["amount_usd"], [""], ("USD",)), (["Amount ($)"], [""], ("USD",)),
        (["amount", "Whg"], [",EUR", ",CHF"], ("CHF", "EUR")), (["amount", "kind"], [",EUR", ",card"], ()))
} | {
    f"{names[1]!r} is the currency and {names[0]!r} is not": Case(
        f"{FEES},{','.join(names)}", "{a},{b},0.5,0.7,1{i}.5,USD,{c}", ["GBP", "EUR", "EUR"],
        currencies=("EUR", "GBP"), said=f"Read column {names[1]!r} as the currency of column 'amount'.")
    for names in (("fee_currency", "currency"), ("balance_currency", "amount_currency"),
                  ("account_currency", "currency"))
} | {
    "the currency is in the header": Case(
        "from;to;Preço pago (R$)", "{a};{b};{day},50", currencies=("BRL",), said="…as the amount of each edge…"),
    "the currency is in the header, in letters": Case(
        "from;to;Betrag (EUR)", "{a};{b};{day},50", currencies=("EUR",)),
    "tokens are currencies, known or not": Case(
        "from,to,value,token_symbol", "{a},{b},{i}.5,{c}", ["USDC", "WETH"],
        said="Amounts are in 2 currencies (USDC, WETH)…"),
    "of a column and cells one counts": Case(
        "from,to,amount,currency", "{a},{b},${i}.5,EUR", frame="text",
        said="…EUR by column 'currency', but in USD by the cells of column…"),
    "of a column and a header one counts": Case(
        "from,to,amount_usd,currency", "{a},{b},{i},EUR", frame="text",
        said="…by the name of column 'amount_usd': column 'currency' counts…"),
    "of a header and cells one counts": Case(
        "from,to,Betrag (EUR)", "{a},{b},${i}.5", frame="text",
        said="…EUR by the name of column 'Betrag (EUR)', but in USD by the cells…"),
    "a row without a currency has that of the others": Case(
        "from,to,amount,currency", "{a},{b},{i},{c}", ["EUR"] * 11 + [""],
        said="Read the currency of 1 row without one as EUR."),
    "one currency in three forms is one": Case(
        "from,to,amount,day,currency", "{a},{b},{i}.5,2024-03-{day:02},{c}", ["EUR", "eur", "€"], currencies=("EUR",),
        unsaid="…currencies…"),
}  # fmt: skip


@each_of(CURRENCIES)
def test_the_currency_is_the_one_that_a_user_would_name(case: Case, tmp_path: Path) -> None:
    case.check(tmp_path)


@pytest.mark.parametrize("codes", [["978", "392"], [978, 392], ["EUR", "JPY"]])
def test_currencies_may_be_numbers(codes: list[Any]) -> None:
    paid = {"from": list("abcdef") * 2, "to": list("bcdefacddfab"), "amount": [*range(5, 11), *range(900, 906)]}
    frame = pl.DataFrame({**paid, "ccy": [codes[0]] * 6 + [codes[1]] * 6, "currency rate": [1.25] * 11 + [1.5]})
    graph = load(frame, notices=(notices := []))
    assert graph.events is not None and graph.events.currencies == ("EUR", "JPY")
    assert any(each.startswith("Amounts are in 2 currencies (EUR, JPY)") for each in notices)
    assert "currency rate sent, median" in graph.attribute_names
    count = pl.DataFrame({**paid, "amount in currency": paid["amount"]}).drop("amount")
    assert "amount in currency sent, median" in load(count, notices=[]).attribute_names


def test_amounts_of_several_currencies_are_compared_with_their_own() -> None:
    amounts, codes = [100.0, 50.0, 200.0, 11_000.0, 22_000.0], ["EUR", "EUR", "EUR", "HUF", "HUF"]
    rows = pl.DataFrame({"from": list("abcab"), "to": list("bcaca"), "amount": amounts, "Currency": codes})
    graph = load(rows, derive="sent", notices=(notices := []))
    assert any(each.startswith("Amounts are in 2 currencies (EUR, HUF): each is compared") for each in notices)
    assert graph.events.amount.tolist() == amounts  # as they are written
    assert graph.edge_attribute_names == ("amount in EUR",)
    amounts = dict(zip(map(tuple, graph.edges.T.tolist()), graph.edge_attributes[:, 0].tolist(), strict=True))
    assert amounts[1, 2] == 50.0  # of b and c; medians are 100 EUR and 16,500 HUF
    np.testing.assert_allclose(amounts[0, 2], (200.0 + 11_000.0 / 165.0) / 2)
    asked = load(rows, derive="sent", currency="huf", notices=[])
    np.testing.assert_allclose(asked.edge_attributes, 165.0 * graph.edge_attributes)
    refuses(r"currency must be one that amounts are in \(EUR, HUF\), got 'USD'", rows, currency="USD")
    plain = load(rows, derive="sent", ignore=["Currency"], notices=[])
    assert plain.edge_attribute_names == ("amount",)
    one = load(rows.with_columns(Currency=pl.lit("EUR")), derive="sent", notices=[])
    assert one.edge_attribute_names == ("amount in EUR",)  # so that a model of these knows both
    assert one.events.currencies == ("EUR",)


def test_bytes_are_an_amount_that_nobody_passes_on() -> None:
    ends = {"src": [f"h{row % 5}" for row in range(30)], "dst": [f"h{(row + 1) % 5}" for row in range(30)]}
    times = [f"2024-03-01 10:{row:02}" for row in range(30)]
    for name, moves in (("bytes", False), ("Total Bytes", False), ("amount", True), ("paid", True)):
        frame = pl.DataFrame({**ends, name: range(900, 930), "time": times})
        events = load(frame, weight_column=name, notices=[]).events
        assert events.moves == moves and np.isfinite(Flow.fit(events, 5).raw[1]).any() == moves
