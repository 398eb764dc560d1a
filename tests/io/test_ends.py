"""Which columns hold the ends of the edges, and which ids are read from them."""

from pathlib import Path

import numpy as np
import pandas as pd
import polars as pl
import pytest

from hopsight.loading import load

from .cases import MANY, PAIRS, PEOPLE, Case, each_of, ends_are, loaded, put, refuses

PAYSIM = """step,type,amount,nameOrig,oldbalanceOrg,newbalanceOrig,nameDest,oldbalanceDest,newbalanceDest,isFraud
1,PAYMENT,9839.64,C1231006815,170136.0,160296.36,M1979787155,0.0,0.0,0
1,TRANSFER,181.0,C1305486145,181.0,0.0,C553264065,0.0,0.0,1
2,CASH_OUT,182.0,C553264065,182.0,0.0,C1305486145,7.0,1.0,1"""

NAMED = {
    "behind dates and amounts": Case(
        "Valuta;Summe;Konto;Partner", "{day}.03.2024;{i},50;{a};{b}", ends="Konto>Partner", ids=PEOPLE),
    "payers before users and devices": Case(
        "from,to,amount,time,user,device", "{a},{b},{i},2024-03-{day:02},u{p},d{q}", ends="from>to", ids=PEOPLE),
    "in and out are no ends of the statement of one account": Case(
        "Date,Account,Partner,D/C,Amount",
        [f"2024-05-{i + 1:02},DE111,AC{i % 4},{'DCD'[i % 3]},{i}.5" for i in range(9)],
        ends="Account>Partner", ids=["AC0", "AC1", "AC2", "AC3", "DE111"]),
    "a statement in the form of savings banks": Case(
        "Auftragskonto;Buchungstag;Buchungstext;Beguenstigter/Zahlungspflichtiger;Kontonummer/IBAN;Betrag",
        [f"DE1;{i % 28 + 1:02}.05.24;{('Last', 'Gut')[i % 2]}schrift;F {i % 7};DE8{i % 7};{i},50" for i in range(40)],
        ends="Auftragskonto>Kontonummer/IBAN"),
    "balances of both ends are no ends": Case(
        PAYSIM.split("\n")[0], PAYSIM.split("\n")[1:], ends="nameOrig>nameDest"),
    "every device has one owner": Case(
        "Gerät,Besitzer,Farbe,x", [f"D{i:03},U{i // 2},red,{i}" for i in range(60)], ends="Gerät>Besitzer"),
    "a second column of the same name that a library has renamed": Case(
        "From Bank,Account,To Bank,Account.1", "1,{p},2,{q}", pairs=MANY, frame="typed", ends="Account>Account.1"),
    "a repeated name, where an account has digits only": Case(
        "From Bank,Account,To Bank,Account", "01,8000{c}{p},02,8000{c}{q}", ["E", "1"], ends="Account>Account_2"),
    "the ids of a block that a table has twice": Case(
        "Bank,IBAN,Name,Bank,IBAN,Name", "B{p},D{p},N{p},B{q},D{q},N{q}", ends="IBAN>IBAN_2"),
    "the accounts of branches": Case(
        "Orig Branch,Orig Acct,Bene Branch,Bene Acct", "0,{p},1,{q}", pairs=MANY,
        ends="Orig Acct>Bene Acct"),
    "numbers of transactions are no ends": Case(
        "tran_id,orig_acct,bene_acct", "{i},{p},{q}", pairs=MANY, frame="typed", ids=[*range(12)]),
    "numbers of bookings are no ends and a total is no edge": Case(
        "Booking ID,Date,Account,Shop,Amount",
        [f"B-{i},2024-01-{i + 1:02},a{i % 3},s{i % 2},{i + 0.5}" for i in range(9)], after=",,,,40.5",
        ids=["a0", "a1", "a2", "s0", "s1"], said="Left out 1 row without a node id, first row 10 of the data."),
} | {
    f"the row numbers {index!r} are no end of {names}": Case(
        f"{index},{names.replace('>', ',')},amount", "{i},{p},{q},{i}.5", ends=names)
    for index in ("", "Unnamed: 0", "no", "level_0") for names in ("customer_id>supplier_id", "person>friend")
} | {
    f"a {number} is no end": Case(
        f"{number};Datum;Kunde;Laden;Betrag", [f"T{i};2024-01-0{1 + i % 9};K{i % 7};L{i % 3};{i}.5" for i in range(40)],
        ids=[*(f"K{i}" for i in range(7)), "L0", "L1", "L2"])
    for number in ("Trans-Nr.", "txn_ref", "Belegnummer")
} | {
    f"numbers of claims such as {claims[1]} are no ends": Case(
        "Sinistre,Assuré,Garage,Médecin,Montant",
        [f"{claims[i]},A{i % 9},GAR{i % 7},B{i % 5},{i}.5" for i in range(60)], ends="Assuré>Garage")
    for claims in ([f"S{i:03}" for i in range(60)], [f"{i:03}" for i in range(60)],
                   [f"S{i * 37 % 101}" for i in range(60)])
} | {
    f"in another language: {first}": Case(
        f"kod,{first},antal,{second}", [f"K{i % 5},{a},V{i % 4},{b}" for i, (a, b) in enumerate(PAIRS)], ids=PEOPLE)
    for first, second in (("nadawca", "odbiorca"), ("avsändare", "mottagare"), ("maksaja", "saaja"),
                          ("pengirim", "penerima"))
} | {
    f"who receives comes first: {first}": Case(
        f"Trạng thái,{first},Remarks,{second},amount",
        [f"{'late' if i % 3 else 'ok'},{b},memo {i % 5},{a},{i}" for i, (a, b) in enumerate(PAIRS)],
        ends=f"{second}>{first}")
    for first, second in (
        ("Begünstigter", "Auftraggeberkonto"), ("Konto Zahlungsempfänger", "Konto Auftraggeber"),
        ("Beneficiary Account", "Originator"), ("Naar rekening", "Rekening"), ("Bénéficiaire", "Donneur d'ordre"),
        ("受取人", "支払人"), ("ผู้รับ", "ผู้ส่ง"), ("Zielkonto", "Quellkonto"), ("Compte crédité", "Compte débité"),
        ("Rachunek uznany", "Rachunek obciążony"), ("入账账号", "出账账号"), ("Contra Account", "Account"),
        ("Beneficiary A/c No", "Remitter A/c No"), ("Tài khoản người nhận", "Tài khoản người gửi"),
        ("Đến tài khoản", "Từ tài khoản"), ("Λογαριασμός παραλήπτη", "Λογαριασμός αποστολέα"))
} | {
    f"{more} ({cells}) are no ends": Case(
        f"{more},{names.replace('>', ',')},amount,place", f"{cells},{{a}},{{b}},{{i}},x", ids=PEOPLE, ends=names)
    for more, cells, names in (
        ("valid_from,valid_to", "2024-01-01,2025-01-01", "payer>payee"),
        ("status_from,status_to", "open,paid", "payer>payee"),
        ("source_system,target_system", "SAP,bank", "debtor>creditor"),
        ("Exchange From,Exchange To", "EUR,USD", "Payer Name>Payee Name"),
        ("Exchange From,Exchange To", ",", "Payer Name>Payee Name"))
}  # fmt: skip


@each_of(NAMED)
def test_the_ends_are_the_columns_that_a_user_would_name(case: Case, tmp_path: Path) -> None:
    case.check(tmp_path)


IDS = {
    "spaces after commas belong to no id": Case(
        "from, to, amount", "{a}, {b}, {i}.5", ids=PEOPLE, sums=("amount",)),
    "nor do spaces within quotes": Case("from,to,amount", '{a}," {b}",{i}.5', ids=PEOPLE),
    "nor quotes after a space": Case(
        "payer, payee, amount", '"C{p}", "C{q}", {i}.5', ids=[f"C{p}" for p in range(6)],
        amounts=[i + 0.5 for i in range(12)]),
    "nor those of a header": Case(
        '"payer", "payee", "amount"', '"C{p}", "C{q}", {i}.5', ids=[f"C{p}" for p in range(6)],
        amounts=[i + 0.5 for i in range(12)]),
    "a hash before every id": Case(
        "from,to,amount,place", "#{a},#{b},{i},x", ids=[f"#{name}" for name in PEOPLE], n_edges=12),
    "a hash before every id and a comment above": Case(
        "from,to,amount,place", "#{a},#{b},{i},x", before="# payments of May\n",
        ids=[f"#{name}" for name in PEOPLE], n_edges=12),
} | {
    f"zeros behind a number ({zeros}) make no other id": Case(
        "from;to;amount", f'"400{{p}}{zeros}";400{{q}};{{i}}', ids=[*range(4000, 4006)])
    for zeros in (".00", ",00", ".0000000000")
}  # fmt: skip


@each_of(IDS)
def test_the_ids_are_those_that_a_user_means(case: Case, tmp_path: Path) -> None:
    case.check(tmp_path)


def test_the_ids_of_the_node_table_choose_the_ends(tmp_path: Path) -> None:
    claims = put(
        tmp_path / "claims.csv", "Sinistre,Assuré,Garage,Médecin,Montant",
        [f"S{i * 37 % 101},A{i % 9},GAR{i % 7},B{i % 5},{i}.5" for i in range(60)],
    )  # fmt: skip
    doctors = put(tmp_path / "doctors.csv", "Médecin,age", [f"B{i},{40 + i}" for i in range(5)])
    assert ends_are("Assuré", "Médecin") in loaded(claims, nodes=str(doctors))[1]


def test_the_order_of_rows_does_not_choose_the_ends(tmp_path: Path) -> None:
    lines = [f"a{i % 50},b{i % 60},{'c' if i < 150 else 'a'}{i * 3 % 50},{i}" for i in range(400)]
    for order in (lines, lines[::-1], sorted(lines)):
        assert loaded(put(tmp_path / "a.csv", "k1,k2,k3,amount", order))[1][0] == ends_are("k1", "k3")


@pytest.mark.parametrize("kind", ["csv", "parquet"])
def test_codes_that_hardly_repeat_are_no_ends_beside_codes_that_do(kind: str, tmp_path: Path) -> None:
    """Among a few rows of a large table even suppliers hardly repeat: all rows tell them from invoices."""
    n = 3000
    rng = np.random.default_rng(0)
    frame = pl.DataFrame(
        {
            "Kreditor": [str(700_000 + i) for i in rng.integers(900, size=n)],
            "Vorgang": [f"RE-2025-{i}" for i in rng.choice(40_000, size=n)],
            "Betrag": [f"{i},50" for i in range(n)],
            "Freigabe": [f"E10{i:02}" for i in rng.integers(40, size=n)],
        }
    )
    (frame.write_csv if kind == "csv" else frame.write_parquet)(tmp_path / f"bills.{kind}")
    assert ends_are("Freigabe", "Kreditor") in loaded(tmp_path / f"bills.{kind}")[1]


OWNED = ("Conta Origem;Nome Origem;Conta Destino;Nome Destino", "Conta Debitada;Pagador;Conta Creditada;Recebedor")


@pytest.mark.parametrize(
    ("names", "alone"),
    [*((names, True) for names in OWNED), *((names, False) for names in (*OWNED, "A;Cliente;B;Loja"))],
)
def test_accounts_are_ends_and_not_the_names_of_their_owners(tmp_path: Path, names: str, alone: bool) -> None:
    lines = [f"{p:05};Owner {p};{q:05};Owner {q};{p + 1},50" for p, q in MANY]
    nodes = pl.DataFrame({"id": range(12), "age": range(20, 32)})  # without leading zeros
    graph, _ = loaded(put(tmp_path / "edges.csv", f"{names};Valor", lines), nodes=None if alone else nodes)
    expected = [f"{node:05}" for node in range(12)] if alone else list(map(str, range(12)))
    assert sorted(graph.node_ids.tolist()) == sorted(expected) and graph.known is None


def test_objects_of_python_become_text() -> None:
    from ipaddress import ip_address

    addresses = [[ip_address(f"10.0.0.{pair[end]}") for pair in MANY] for end in (0, 1)]
    sent = pd.DataFrame({"from": addresses[0], "to": addresses[1], "amount": 1.5})
    sent["tags"] = [{row % 2} for row in range(len(MANY))]
    for frame in (sent, pl.DataFrame({name: pl.Series(sent[name].tolist(), dtype=pl.Object) for name in sent})):
        assert "10.0.0.3" in load(frame, source_column="from", target_column="to", notices=[]).node_ids.tolist()


def test_objects_as_ids_of_a_typed_table_are_refused() -> None:
    frame = pl.DataFrame({"source": [{"id": 1}, {"id": 2}], "target": [{"id": 2}, {"id": 3}]})
    refuses(r"column 'source' holds Struct.*, not node ids; name another column", frame)
