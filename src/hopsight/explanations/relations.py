"""What the relations of a node to other types say about it, in words: how many, what is usual, and who shares them."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Any

import numpy as np

from hopsight.checks import plural, printable
from hopsight.explanations.events import FlowReason
from hopsight.graph import AttributedGraph

MOST_NAMES = 3
ENGLISH = (  # nouns whose plural is known
    "account", "address", "agency", "agent", "apartment", "asset", "author", "bank", "booking", "branch", "broker",
    "business", "buyer", "call", "campaign", "car", "card", "carrier", "city", "claim", "client", "clinic", "company",
    "container", "contract", "country", "course", "creditor", "customer", "dealer", "debtor", "department", "device",
    "director", "doctor", "document", "domain", "donor", "driver", "email", "employee", "employer", "event", "file",
    "firm", "fund", "garage", "group", "guest", "hospital", "host", "hotel", "house", "household", "insurer",
    "investor", "invoice", "ip", "item", "job", "landlord", "lawyer", "lender", "listing", "loan", "location",
    "machine",
    "manager", "member", "merchant", "message", "movie", "node", "nurse", "office", "officer", "order", "organization",
    "owner", "page", "paper", "parcel", "partner", "party", "passenger", "patient", "payee", "payer", "payment",
    "person", "pharmacy", "phone", "place", "platform", "player", "policy", "post", "prescription", "product",
    "project", "property", "provider", "publisher", "recipient", "repair", "restaurant", "review", "row", "school",
    "seller", "sender", "sensor", "server", "service", "session", "shipment", "shop", "site", "station", "store",
    "student", "subscriber", "supplier", "teacher", "team", "tenant", "tender", "terminal", "ticket", "topic", "trader",
    "transaction", "transfer", "truck", "user", "vehicle", "vendor", "video", "visit", "wallet", "warehouse", "website",
    "worker", "workshop",
)  # fmt: skip
SINGULAR = {plural(2, noun).removeprefix("2 "): noun for noun in ENGLISH}


def relation_reasons(graph: AttributedGraph, node: int) -> Iterator[FlowReason]:
    """Yield what a node has more of than others of its type, and what it shares with whom."""
    if graph.context is None or graph.node_types is None:
        return
    kind = str(graph.node_types[node])
    found = _most(graph, node)
    if found is not None:
        name, (count, n_rows), (usual, rows_usual) = found
        what, few = _counted(count, name), f"{usual:g}" if usual else "none"
        if (count, usual) != (n_rows, rows_usual):  # rows name a node again
            what, few = (
                f"{plural(n_rows, 'row')} with {what}",
                f"{_of_type(rows_usual, 'row')} with {_counted(usual, name)}",
            )
        what, few, mine = printable(what), printable(few), printable(_several(kind))
        sentence = f"Has {what}; {mine} usually have {few}."
        yield FlowReason("relations", sentence, f"{what}; {few} {'is' if rows_usual == 1 else 'are'} usual")
    shared = _shared(graph, node)
    if shared:
        sentence = f"Shares {' and '.join(shared)}."
        yield FlowReason("sharing", sentence, sentence[0].lower() + sentence[1:-1])


def _of_type(count: float, kind: str) -> str:
    """Return a count with the name of a type: with its plural, or as a name if that is in another language.

    >>> _of_type(1, "card"), _of_type(2, "Company"), _of_type(1.5, "bank_account"), _of_type(1, "users")
    ('1 card', '2 Companies', '1.5 bank accounts', '1 user')
    >>> _of_type(1, "kunde"), _of_type(2000, "kunde")
    ("1 'kunde' node", "2,000 'kunde' nodes")
    """
    count = int(count) if count == int(count) else count
    words = re.sub(r"[\s_]+", " ", kind)
    last = words.rpartition(" ")[2]
    if last.lower() in SINGULAR:
        words = words.removesuffix(last) + SINGULAR[last.lower()]
    elif last.lower() not in ENGLISH:
        words = f"{kind!r} node"
    return plural(count, words)  # type: ignore[arg-type]


def _several(kind: str) -> str:
    """Return the nodes of a type in words: users, 'kunde' nodes."""
    return _of_type(2, kind).removeprefix("2 ")


def _counted(count: float, name: str) -> str:
    """Return a count with its noun, which begins with a type or the word edges, whose rows are counted.

    >>> _counted(14, "card"), _counted(1, "outgoing edges 'paid'"), _counted(3, "device by 'used'")
    ('14 cards', "1 outgoing row of 'paid'", "3 devices by 'used'")
    """
    edges = re.fullmatch(r"((?:outgoing |incoming )?)edges (.+)", name)
    if edges:
        return f"{count:,} {edges[1]}{'row' if count == 1 else 'rows'} of {edges[2]}"
    noun, mark, relation = name.partition(" by '")
    return _of_type(count, noun) + mark + relation


def _most(graph: AttributedGraph, node: int) -> tuple[str, list[int], list[float]] | None:
    """Return what the node has most rows of, compared with others; None if nothing is above the median.

    That is its name, the numbers of different nodes and of rows, and the medians of both.
    """
    assert graph.context is not None
    context, counts = graph.context, graph.context.counts
    if not counts.shape[1]:
        return None
    above = (counts >= counts[node]).mean(axis=0)
    at = int(np.argmin(above))
    both = (context.distinct[:, at], counts[:, at])
    usual = [float(np.median(each)) for each in both]
    return (context.names[at], [int(each[node]) for each in both], usual) if counts[node, at] > usual[1] else None


def _shared(graph: AttributedGraph, node: int) -> list[str]:
    """Say for each other type how many of its nodes a node shares and with whom, those that count most first."""
    assert graph.context is not None and graph.node_types is not None
    context, mine = graph.context, str(graph.node_types[node])
    things = _row(context.has, node)
    things = things[np.argsort(-context.worth[things], kind="stable")]  # the rarest first
    found = []
    for at in dict.fromkeys(context.other_types[things].tolist()):
        some, kind = things[context.other_types[things] == at], context.types[at]
        who = [_row(context.had_by, each) for each in some.tolist()]
        partners, rare = (np.setdiff1d(np.concatenate(part), [node]).tolist() for part in (who, who[:1]))
        names = ", ".join([*map(str, graph.node_ids[rare[:MOST_NAMES]].tolist()), *["…"][: len(rare) > MOST_NAMES]])
        if len(rare) < len(partners):
            names = f"{kind} {context.others[some[0]]} with {len(rare):,}: {names}"
        what = f"{kind} {context.others[some[0]]}" if some.size == 1 else _of_type(some.size, kind)
        found.append(printable(f"{what} with {_of_type(len(partners), mine)} ({names})"))
    return found


def shared_by_all(graph: AttributedGraph, nodes: Any) -> str:
    """Return the node of another type that some nodes all share, the rarest one; empty if there is none."""
    context = graph.context
    if context is None:
        return ""
    common = np.flatnonzero(context.has[nodes].sum(axis=0) == nodes.size)
    if not common.size:
        return ""
    rare = common[np.argmax(context.worth[common])]
    return printable(f"{context.types[context.other_types[rare]]} {context.others[rare]}")


def _row(matrix: Any, at: int) -> Any:
    """Return the places in a row of a CSR matrix, or in a column of a CSC matrix, that are not empty."""
    return matrix.indices[matrix.indptr[at] : matrix.indptr[at + 1]]
