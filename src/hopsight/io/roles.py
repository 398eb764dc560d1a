"""What a column is for, judged by its name and its values: ground truth, row numbers, names of nodes."""

from __future__ import annotations

import re
from collections.abc import Sequence

from hopsight.system.lazy_polars import pl

TRUTH_NAMES = {"label", "labels", "y", "gnd", "truth", "ground_truth", "class", "isfraud", "is_sar", "is_bot"}
_TRUTH = re.compile(
    r"(is_)?(flagged_)?(fraud|fraudulent|anomaly|anomalous|outlier|attack|laundering|money_laundering|suspicious|"
    r"phishing|scam|malicious|malware|spam|illicit)(_(type|category|cat|flag|label))?"
)
CODE_WORDS = {
    "id", "ids", "account", "acct", "iban", "imei", "imsi", "msisdn", "phone", "port", "zip", "zipcode", "postcode",
    "plz", "code", "number", "ref", "reference", "block", "blockno", "nonce",
}  # fmt: skip
WEIGHT_NAMES = ("hopsight_weight", "weight", "weights", "edge_weight")
TIME_NAMES = (
    "hopsight_time", "timestamp", "time", "datetime", "date", "ts", "t", "unixtime", "unix_time", "epoch", "created_at",
    "sent_at", "event_time", "datum", "fecha", "dato", "minute", "hour", "day", "step",
)  # fmt: skip
TYPE_NAMES = ("hopsight_type", "node_type")
NAME_NAMES = ("hopsight_name", "name", "full_name", "display_name", "title")
FEWEST_ROWS = 3  # of a table in which an id that differs in every row tells rows apart
LEAST_ROWS = 10  # of a table in which a column of different texts is a column of names
_ROW_ID = re.compile(r"(.*_)?(id|uid|uuid|guid|hash|idx|index|rowid|row|row_number|mid|tid|txid|msgid|key)")
_EVENT = re.compile(
    r"(booking|transaction|trans|tx|txn|event|record|row|message|msg|order|invoice|payment|transfer|entry|reference|ref)"
    r"_?(id|uid|no|nr|number|hash|index|key|date|time)|id|uuid|guid|index|row|date|datetime|timestamp"
)


def normalized_name(name: str) -> str:
    """Return a column name in lower case, with underscores between its words.

    >>> normalized_name(" Node-ID "), normalized_name("isFraud"), normalized_name("FromNodeId")
    ('node_id', 'is_fraud', 'from_node_id')
    """
    parted = re.sub(r"(?<=[a-z0-9])(?=[A-Z])", "_", name.strip())
    return re.sub(r"[\s\-_.]+", "_", parted.lower())


def is_truth_name(name: str) -> bool:
    """Return whether a column is called like a ground-truth label.

    >>> [is_truth_name(name) for name in ("Label", "label_source", "isFraud", "Laundering_type", "y", "labor", "age")]
    [True, True, True, True, True, False, False]
    """
    known = normalized_name(name)
    return known in TRUTH_NAMES or known.startswith("label_") or _TRUTH.fullmatch(known) is not None


def is_row_id_name(name: str) -> bool:
    """Return whether a column is called like a number that only tells rows apart.

    >>> [is_row_id_name(name) for name in ("tx_id", "mid", "transactionID", "uuid", "paid", "amount")]
    [True, True, True, True, False, False]
    """
    return _ROW_ID.fullmatch(normalized_name(name)) is not None


def is_code_name(name: str) -> bool:
    """Return whether whole numbers of this name are ids or codes, of which no mean can be taken.

    >>> [is_code_name(name) for name in ("IMEI", "cell_id", "A_NUMBER", "id.orig_p", "number", "paid", "amount")]
    [True, True, True, True, False, False, False]
    """
    words = normalized_name(name).split("_")
    if words == ["number"]:  # of what?
        return False
    return words[-1] in CODE_WORDS or (words[0] == "id" and len(words) > 1)


def is_event_name(name: str) -> bool:
    """Return whether a column is called like the number or the time of an event, which is no end of an edge.

    >>> [is_event_name(name) for name in ("Booking ID", "tx_id", "Date", "account_id", "shop")]
    [True, True, True, False, False]
    """
    known = normalized_name(name)
    return _EVENT.fullmatch(known) is not None


def is_row_id(column: pl.Series) -> bool:
    """Return whether whole numbers or text only tell rows apart.

    Such a column is called like an id and differs in most rows, or it numbers the rows without a gap.
    """
    known = column.drop_nulls()
    n_rows = len(known)
    if n_rows < FEWEST_ROWS or not (known.dtype.is_integer() or known.dtype in (pl.String, pl.Categorical)):
        return False
    if is_row_id_name(column.name):
        return known.n_unique() > (n_rows / 2 if n_rows >= LEAST_ROWS else n_rows - 1)
    return known.dtype.is_integer() and n_rows >= 2 * LEAST_ROWS and is_gapless(known)


def is_gapless(numbers: pl.Series) -> bool:
    """Return whether whole numbers are those from the lowest to the highest, each once."""
    low, high = numbers.min(), numbers.max()
    return int(high) - int(low) == len(numbers) - 1 and numbers.n_unique() == len(numbers)  # type: ignore[arg-type]


def first_known(names: Sequence[str], known: Sequence[str]) -> str | None:
    """Return the first of some known names that a table has, as the table writes it.

    >>> first_known(["Amount", "Created-At", "T"], TIME_NAMES)
    'T'
    """
    by_name = {normalized_name(name): name for name in reversed(names)}
    return next((by_name[name] for name in known if name in by_name), None)
