"""Tables of banks, telecoms, marketplaces, chains and logs as they are exported: the right columns in every role."""

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest

from hopsight.io.vocabulary import find_end_names

from .cases import MANY, Case, each_of


def export(
    header: str, row: str, ends: str, timed: bool, sums: tuple[str, ...] = (), gone: Sequence[str] = (), **more: Any
) -> Case:
    return Case(header, row, ends=ends, timed=timed, sums=sums, gone=gone, pairs=MANY, **more)


EXPORTS = {
    "german bank": export(
        "Buchungstag;IBAN Auftraggeber;Name Auftraggeber;IBAN Empfänger;Name Empfänger;Zweck;Betrag;Währung",
        "{day:02}.{month:02}.2024;DE{p:020};Firma {p};DE{q:020};Firma {q};Rechnung {i};-1.{i:03},50;EUR",
        "IBAN Auftraggeber>IBAN Empfänger", True, ("Betrag",), ("Zweck",), encoding="cp1252"),
    "laundering": export(
        "Time,Date,Sender_account,Receiver_account,Amount,Sender_bank_location,Receiver_bank_location,Is_laundering,"
        "Laundering_type",
        "10:{i:02}:19,2024-03-{day:02},{p}8724731,{q}8724731,{i}.5,UK,UK,0,Normal_Cash",
        "Sender_account>Receiver_account", True, ("Amount",), ("Is_laundering", "Laundering_type")),
    "mobile money": export(
        "step,type,amount,nameOrig,oldbalanceOrg,nameDest,oldbalanceDest,isFraud,isFlaggedFraud",
        "{i},PAYMENT,{i}.5,C{p},17{i}.0,M{q},0.0,0,0",
        "nameOrig>nameDest", True, ("amount", "oldbalanceOrg", "oldbalanceDest"), ("isFraud", "isFlaggedFraud")),
    "ethereum": export(
        '"Transaction Hash","Blockno","UnixTimestamp","DateTime (UTC)","From","To","Value_IN(ETH)","Status"',
        '"0x{i:064}","{i}17","{i}","2024-03-{day:02} 10:00:00","0x{p:040}","0x{q:040}","0.{i:02}",""',
        "From>To", True, ("Value_IN(ETH)",), ("Transaction Hash", "Status")),
    "tron": export(
        "txid,block,sender_address,recipient_address,token,value", "{i:032}z,{day},T{p}x,T{q}x,USDT,{i}.5e+06",
        "sender_address>recipient_address", False, ("value in USDT",), ("txid",)),
    "call records": export(
        "CDR_ID|A_NUMBER|B_NUMBER|START_TIME|DURATION_SEC|CELL_ID|IMEI",
        "90{i}|+47912340{p:02}|+47912340{q:02}|2024-03-{day:02}T12:00:00Z|{i}7|{month}04|35{p:013}",
        "A_NUMBER>B_NUMBER", True, ("DURATION_SEC",), ("CDR_ID",)),
    "british calls": export(
        "calling_party;called_party;date;time;duration",
        "07911{p:06};07911{q:06};{day}/{month}/2024;9:30;00:{month:02}:07",
        "calling_party>called_party", True, ("duration",)),
    "zeek": export(
        "", "13319010{i:02}.25\tC{i:016}\t192.168.1.{p}\t4{i:03}\t192.168.1.{q}\t443\ttcp\t{c}\t{i}00",
        "id.orig_h>id.resp_h", True, ("duration", "bytes"), ("uid",),
        before="#separator \\x09\n#path\tconn\n#fields\tts\tuid\tid.orig_h\tid.orig_p\tid.resp_h\tid.resp_p\tproto\t"
        "duration\tbytes\n#types\ttime\tstring\taddr\tport\taddr\tport\tenum\tinterval\tcount\n",
        after="#close\t2012\n", name="conn.tsv", cells=["0.{i}", "-", "-", "-", "-"]),
    "flows": export(
        "Flow ID, Source IP, Source Port, Destination IP, Destination Port, Timestamp, Flow Duration, Label",
        "{p}-{q}-{i},10.0.0.{p},5{i:03},10.0.0.{q},80,7/7/2017 3:{i:02},{i}000.5,BENIGN",
        "Source IP>Destination IP", True, ("Flow Duration",), ("Flow ID", "Label")),
    "organization": export(
        "Employee ID,Employee Name,Manager ID,Department,Salary",
        "E{i:03},Person {i},E{p:03},Dep {month},{i}5000.50", "Employee ID>Manager ID", False, ("Salary",)),
    "mail": export(
        "Message-ID,Date,From,To,Subject",
        '<{i}.JavaMail@x>,"Mon, {day} May 2001 16:30:00 -0700 (PDT)",p{p}@x.com,p{q}@x.com,RE: deal {month}',
        "From>To", True, (), ("Message-ID",)),
    "trust": export("", "{p},{q},{month},12892419{i:02}.72836", "column1>column2", True, ("column3",)),
    "konect": export(
        "", "{p} {q} 1 10820409{i:02}", "column1>column2", True, ("column3",),
        before="% asym posweighted\n% 48 12 12\n", name="out.txt"),
    "snap": export("", "{p}\t{q}", "FromNodeId>ToNodeId", False, before="# Nodes: 12\n# FromNodeId\tToNodeId\n"),
    "subreddits": export(
        "SOURCE_SUBREDDIT\tTARGET_SUBREDDIT\tPOST_ID\tTIMESTAMP\tLINK_SENTIMENT",
        "sub{p}\tsub{q}\t1u4{i:03}\t2013-12-31 16:39:{i:02}\t-1", "SOURCE_SUBREDDIT>TARGET_SUBREDDIT", True,
        ("LINK_SENTIMENT",), ("POST_ID",), name="links.tsv"),
    "chinese bank": export(
        "交易日期,付款账号,付款方,收款账号,收款方,金额",
        '2024年{month}月{day}日,62{p:014},公司{p},62{q:014},公司{q},"1,0{i:02}.00"',
        "付款账号>收款账号", True, ("金额",), encoding="gb18030", query="?encoding=gb18030"),
    "french bank": export(
        "Date opération;Débiteur;Créditeur;Montant;Libellé",
        "{day:02}/{month:02}/2024;Société {p};Société {q};1\u202f1{i:02},50 €;VIREMENT {i}",
        "Débiteur>Créditeur", True, ("Montant",), ("Libellé",)),
    "spanish bank": export(
        "fecha;ordenante;beneficiario;importe", "{day:02}-{month:02}-2024;Cliente {p};Cliente {q};1.{i:03},50",
        "ordenante>beneficiario", True, ("importe",)),
    "dutch bank": export(
        "Datum,Rekening,Tegenrekening,Bedrag,Af/Bij", '202403{day:02},NL{p:016},NL{q:016},"{i},50",Af',
        "Rekening>Tegenrekening", True, ("Bedrag",)),
    "swiss bank": export(
        "Zahler;Empfänger;Betrag", "Kunde {p};Kunde {q};1'0{i:02}.50", "Zahler>Empfänger", False, ("Betrag",)),
    "pandas index": export(",source,target,weight", "{i},p{p},p{q},{month}.5", "", False, (), ("",)),
    "dependencies": export(
        "package,version,depends_on,kind", "lib{p},1.{i}.0,lib{q},runtime", "package>depends_on", False),
    "flights": export(
        "", "2B,41{month},AP{p},29{p:02},AP{q},29{q:02},,0,CR2", "column3>column5", False,
        ("column2", "column4", "column6", "column8"), ("column7",), name="routes.dat"),
    "amount first": export(
        "amount,currency,debtor,creditor,txn_ref", "{i},USD,50{p:02},50{q:02},TX{i:06}", "debtor>creditor", False,
        ("amount in USD",), ("txn_ref",)),
    "marketplace": export(
        "id_pedido;data;cliente;loja;valor", "{i:06x};{day:02}/{month:02}/2024;c{p};l{q};R$ 1.{i:03},50",
        "cliente>loja", True, ("valor",), ("id_pedido",)),
    "citations": export("citing,cited,year", "10.1000/{p},10.1000/{q},19{i:02}", "citing>cited", False, ("year",)),
}  # fmt: skip


@each_of(EXPORTS)
def test_the_right_columns_become_ends_times_and_amounts(case: Case, tmp_path: Path) -> None:
    case.check(tmp_path)


@pytest.mark.parametrize(("header", "ends"), [
    ("Data/Hora;Nome Pagador;CPF Pagador;Nome Recebedor;CPF Recebedor;Valor", ("CPF Pagador", "CPF Recebedor")),
    ("Плательщик;Счет плательщика;Получатель;Счет получателя;Сумма", ("Счет плательщика", "Счет получателя")),
    ("Tarih;Gönderen;Gönderen IBAN;Alıcı;Alıcı IBAN;Tutar", ("Gönderen IBAN", "Alıcı IBAN")),
    ("Amt;Ccy;DbtrNm;DbtrAcct;CdtrNm;CdtrAcct", ("DbtrAcct", "CdtrAcct")),
    ("Umsatz (ohne S/H);Soll/Haben-Kennzeichen;Konto;Gegenkonto (ohne BU)", ("Konto", "Gegenkonto (ohne BU)")),
    ("u;v;source;target", ("u", "v")),
])  # fmt: skip
def test_the_ends_of_exports_of_many_countries_are_accounts(header: str, ends: tuple[str, str]) -> None:
    assert find_end_names(header.split(";"))[0] == ends
