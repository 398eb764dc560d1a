"""Ends of edges by words in their names, in several languages; amounts and places are no ends."""

import pytest

from hopsight.io.edges import is_amount_name, paired


@pytest.mark.parametrize(
    ("names", "ends"),
    [
        (["Flow ID", "Source IP", "Source Port", "Destination IP", "Destination Port"],
         ("Source IP", "Destination IP")),
        (["IBAN Auftraggeber", "Name Auftraggeber", "IBAN Empfänger", "Name Empfänger"],
         ("IBAN Auftraggeber", "IBAN Empfänger")),
        (["id.orig_h", "id.orig_p", "id.resp_h", "id.resp_p"], ("id.orig_h", "id.resp_h")),
        (["sender_address", "recipient_address"], ("sender_address", "recipient_address")),
        (["交易日期", "付款账号", "付款方", "收款账号", "收款方"], ("付款账号", "收款账号")),
        (["Debit Account", "Credit Account"], ("Debit Account", "Credit Account")),
        (["fromCurrency", "toCurrency", "fromBank", "toBank"], None),
        (["debit", "credit"], None),
        (["a", "b"], None),
        (["source", "amount"], None),
    ],
)  # fmt: skip
def test_names_that_differ_by_words_for_the_ends(names: list[str], ends: tuple[str, str] | None) -> None:
    assert paired(names) == ends


def test_amounts_and_properties_are_told_by_name() -> None:
    assert all(
        map(is_amount_name, ("Amount", "amount_usd", "Unit Price", "currency", "Betrag", "金额", "review_score"))
    )
    assert not any(map(is_amount_name, ("account", "total_customer", "amounting", "shop")))
