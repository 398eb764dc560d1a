"""What the relations of a node to other types say about it, in words: how many, what is usual, and who shares them."""

from __future__ import annotations

import re
from collections.abc import Iterator

import numpy as np

from hopsight.checks import plural, printable
from hopsight.explanations.events import FlowReason
from hopsight.graph import AttributedGraph
from hopsight.io.typed import SHARED

MOST_NAMES = 3
ENGLISH = (  # type names whose plural is known
    "account", "address", "author", "bank", "branch", "buyer", "card", "city", "client", "company", "contract",
    "country", "customer", "device", "director", "domain", "driver", "email", "employee", "event", "file", "firm",
    "group", "host", "invoice", "ip", "item", "loan", "location", "member", "merchant", "message", "officer",
    "order", "organization", "owner", "page", "paper", "patient", "payment", "person", "phone", "place", "policy",
    "post", "product", "project", "provider", "review", "seller", "server", "session", "shop", "site", "store",
    "student", "supplier", "team", "tender", "ticket", "topic", "transaction", "user", "vendor", "website",
)  # fmt: skip


def relation_reasons(graph: AttributedGraph, node: int) -> Iterator[FlowReason]:
    """Yield what a node has more of than others of its type, and what it shares with whom."""
    if graph.context is None or graph.node_types is None:
        return
    kind = str(graph.node_types[node])
    found = _most(graph, node)
    if found is not None:
        name, (count, n_rows), (usual, rows_usual) = found
        repeat = (count, usual) != (n_rows, rows_usual)
        what = _counted(count, name) + (f" in {plural(n_rows, 'row')}" if repeat else "")
        few = f"{usual:g}{f' in {rows_usual:g}' if repeat else ''}"
        sentence = f"Has {printable(what)}; {printable(_several(kind))} usually have {few if rows_usual else 'none'}."
        yield FlowReason("relations", sentence, f"{what}; {few} {'is' if few == '1' else 'are'} usual")
    shared = [_shared(graph, node, at) for at in np.flatnonzero(graph.context.shared[node]).tolist()]
    if shared:
        sentence = f"Shares {' and '.join(shared)}."
        yield FlowReason("sharing", sentence, sentence[0].lower() + sentence[1:-1])


def _of_type(count: int, kind: str) -> str:
    """Return a count with the name of a type, in the plural if that is known; a name in another language stays.

    >>> _of_type(1, "card"), _of_type(2, "card"), _of_type(2, "Company"), _of_type(2, "kunde")
    ('1 card', '2 cards', '2 Companies', '2 kunde')
    """
    return plural(count, kind) if kind.lower() in ENGLISH else f"{count:,} {kind}"


def _several(kind: str) -> str:
    """Return the nodes of a type in words: users, nodes of type 'kunde'."""
    return plural(2, kind).removeprefix("2 ") if kind.lower() in ENGLISH else f"nodes of type {kind!r}"


def _counted(count: int, name: str) -> str:
    """Return a count with its noun, which begins with a type or the word edges.

    >>> _counted(14, "card"), _counted(1, "outgoing edges 'paid'"), _counted(3, "device by 'used'")
    ('14 cards', "1 outgoing edge 'paid'", "3 devices by 'used'")
    """
    edges = re.fullmatch(r"((?:outgoing |incoming )?)edges (.+)", name)
    if edges:
        return f"{count:,} {edges[1]}{'edge' if count == 1 else 'edges'} {edges[2]}"
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


def _shared(graph: AttributedGraph, node: int, at: int) -> str:
    """Say how many nodes of another type a node shares, and with whom."""
    assert graph.context is not None and graph.node_types is not None
    other, mine = graph.context.types[at], str(graph.node_types[node])
    codes = [code for code, words in enumerate(graph.relation_names) if SHARED + other in words.split(", ")]
    first, second = graph.edges[:, np.isin(graph.edge_relation, codes)]
    partners = np.unique(np.concatenate([second[first == node], first[second == node]]))
    what = _of_type(int(graph.context.shared[node, at]), other)
    if not partners.size:
        return f"{printable(what)} that many {_several(mine)} have"
    names = ", ".join(printable(each) for each in graph.node_ids[partners[:MOST_NAMES]].tolist())
    more = ", …" if partners.size > MOST_NAMES else ""
    return f"{printable(what)} with {printable(_of_type(partners.size, mine))} ({names}{more})"
