"""Small pieces of HTML for notebooks: a title, a sentence and tables, with every value escaped."""

from __future__ import annotations

import html
from collections.abc import Iterable, Sequence
from typing import Any

N_NAMES = 12  # attributes to name


def card(title: str, *parts: str) -> str:
    """Return a title above some parts, which are HTML already.

    >>> card("a <b>", paragraph("5 > 4"))
    '<div class="hopsight"><strong>a &lt;b&gt;</strong><p>5 &gt; 4</p></div>'
    """
    return f'<div class="hopsight"><strong>{html.escape(title)}</strong>{"".join(parts)}</div>'


def paragraph(text: str) -> str:
    """Return a text as a paragraph; empty without text."""
    return f"<p>{html.escape(text)}</p>" if text else ""


def table(header: Sequence[object], rows: Iterable[Sequence[object]]) -> str:
    """Return a table; empty without rows. The first column is aligned left, the others right.

    >>> table([], [["a&b"]])
    '<table><tbody><tr><td style="text-align:left">a&amp;b</td></tr></tbody></table>'
    """
    body = "".join(f"<tr>{_cells('td', row)}</tr>" for row in rows)
    if not body:
        return ""
    head = f"<thead><tr>{_cells('th', header)}</tr></thead>" if header else ""
    return f"<table>{head}<tbody>{body}</tbody></table>"


def graph_card(graph: Any) -> str:
    """Return what a graph holds: counts, the names of its first attributes, labels, and what its edges carry."""
    names = list(graph.attribute_names)
    rows: list[Sequence[object]] = [
        ("nodes", f"{graph.n_nodes:,}"),
        ("directed edges" if graph.directed else "edges", f"{graph.n_edges:,}"),
        ("attributes", ", ".join(names[:N_NAMES]) + (f" and {len(names) - N_NAMES:,} more" * (len(names) > N_NAMES))),
    ]
    if graph.labels is not None:
        rows.append(
            ("labels", f"{int((graph.labels == 1).sum()):,} anomalous, {int((graph.labels == 0).sum()):,} normal")
        )
    carried = {"weight": graph.edge_weight, "time": graph.edge_time, "attributes": graph.edge_attributes}
    if any(value is not None for value in carried.values()):
        rows.append(("edges have", ", ".join(name for name, value in carried.items() if value is not None)))
    return card(f"Graph {graph.name}".strip(), table([], rows))


def _cells(tag: str, values: Sequence[object]) -> str:
    sides = ["left", *["right"] * (len(values) - 1)]
    pairs = zip(sides, values, strict=True)
    return "".join(f'<{tag} style="text-align:{side}">{html.escape(str(value))}</{tag}>' for side, value in pairs)
