"""Words for the two ends of an edge, in names that are otherwise alike: ``Sender_account`` and ``Receiver_account``."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence

from hopsight.io.roles import normalized_name

WORDS = (
    ("source", "target"), ("source", "destination"), ("source", "dest"), ("src", "dst"), ("src", "dest"),
    ("from", "to"), ("sender", "receiver"), ("sender", "recipient"), ("sender", "beneficiary"),
    ("sending", "receiving"), ("payer", "payee"), ("payer", "beneficiary"), ("originator", "beneficiary"),
    ("remitter", "beneficiary"), ("ordering", "beneficiary"), ("debtor", "creditor"), ("debit", "credit"),
    ("buyer", "seller"), ("caller", "callee"), ("calling", "called"), ("origin", "destination"), ("orig", "dest"),
    ("orig", "resp"), ("client", "server"), ("employee", "manager"), ("child", "parent"), ("citing", "cited"),
    ("follower", "followee"), ("follower", "followed"), ("lender", "borrower"), ("referrer", "referred"), ("a", "b"),
    ("auftraggeber", "empfänger"), ("auftraggeber", "begünstigter"), ("absender", "empfänger"),
    ("zahler", "empfänger"), ("ordenante", "beneficiario"), ("remitente", "destinatario"), ("emisor", "receptor"),
    ("mittente", "destinatario"), ("ordinante", "beneficiario"), ("débiteur", "créditeur"),
    ("débiteur", "créancier"), ("émetteur", "destinataire"), ("expéditeur", "destinataire"),
    ("pagador", "recebedor"), ("remetente", "destinatário"), ("rekening", "tegenrekening"),
    ("отправитель", "получатель"), ("плательщик", "получатель"), ("付款", "收款"), ("转出", "转入"),
    ("送金元", "送金先"), ("振込元", "振込先"), ("발신", "수신"), ("보낸", "받는"),
)  # fmt: skip
ALONE = {"a", "b", "debit", "credit"}  # words that mean an end only beside another word
NO_ENDS = {
    "amount", "balance", "currency", "value", "fee", "port", "bank", "location", "country", "city", "state", "type",
    "date", "time", "bytes", "packets", "pkts", "lat", "lon", "latitude", "longitude", "mac", "name",
}  # fmt: skip
ID_WORDS = {"id", "account", "iban", "address", "ip", "h", "host", "number", "acct", "user", "node", "账号", "口座"}
AMOUNTS = {
    "amount", "amt", "value", "price", "currency", "quantity", "qty", "fee", "total", "sum", "balance", "weight",
    "score", "rating", "count", "duration", "type", "status", "year", "month", "hour", "betrag", "währung", "summe",
    "importe", "importo", "montant", "devise", "moneda", "bedrag", "valuta", "saldo", "金额", "金額", "币种", "通貨",
}  # fmt: skip
_LATIN = re.compile(r"[a-zà-žß]+")


def paired(names: Sequence[str]) -> tuple[str, str] | None:
    """Return two columns whose names differ by words for the two ends, the most likely ids first; None without any.

    >>> paired(["Time", "Sender_bank_location", "Receiver_bank_location", "Sender_account", "Receiver_account"])
    ('Sender_account', 'Receiver_account')
    >>> paired(["A_NUMBER", "B_NUMBER"]), paired(["a", "b"]), paired(["debit", "credit"])
    (('A_NUMBER', 'B_NUMBER'), None, None)
    """
    known = {normalized_name(name): name for name in reversed(names)}
    found: list[tuple[int, int, str, str]] = []
    for name in names:
        words = normalized_name(name).split("_")
        for first, second in WORDS:
            other = _other(words, first, second, known)
            rest = [word for word in words if word != first]
            if other is not None and other != name and not NO_ENDS.intersection(rest):
                found.append((not ID_WORDS.intersection(rest), len(found), name, other))
    return min(found)[2:] if found else None


def _other(words: list[str], first: str, second: str, known: Mapping[str, str]) -> str | None:
    """Return the column that has the second word where this one has the first."""
    if not _LATIN.fullmatch(first):  # without spaces between words
        name = "_".join(words)
        return known.get(name.replace(first, second)) if first in name else None
    if first not in words or (first in ALONE and len(words) < 2):
        return None
    place = words.index(first)
    return known.get("_".join([*words[:place], second, *words[place + 1 :]]))


def is_amount_name(name: str) -> bool:
    """Return whether a column is called like a measure or a property of an edge, which is no end of it.

    >>> [is_amount_name(name) for name in ("Amount", "raised_amount", "currency", "account", "Betrag")]
    [True, True, True, False, True]
    """
    words = normalized_name(name).split("_")
    return words[-1] in AMOUNTS or words[0] in {"amount", "betrag"}
