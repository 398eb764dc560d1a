"""Small pieces of HTML for notebooks: a title, a sentence and tables, with every value escaped."""

from __future__ import annotations

import html
import re
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
    """Return a table; empty without rows. Columns of numbers are aligned right, the others and the first left.

    >>> table([], [["a&b"]])
    '<table><tbody><tr><td style="text-align:left">a&amp;b</td></tr></tbody></table>'
    """
    texts = [[str(value) for value in row] for row in rows]
    if not texts:
        return ""
    columns = list(zip(*texts, strict=True))[1:]
    sides = ["left", *("right" if all(map(_is_number, column)) else "left" for column in columns)]
    body = "".join(f"<tr>{_cells('td', row, sides)}</tr>" for row in texts)
    head = f"<thead><tr>{_cells('th', [str(name) for name in header], sides)}</tr></thead>" if header else ""
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


def _is_number(text: str) -> bool:
    """Return whether a cell reads as a number, a range of numbers, or as no value.

    >>> [_is_number(text) for text in ("2,448", "+8.3", "21.1 to 31.75", "–", "99% Oslo", "time")]
    [True, True, True, True, False, False]
    """
    return re.fullmatch(r"[\d\s.,%+×<−–e-]*(to [\d\s.,%+×−e-]+)?", text) is not None


def _cells(tag: str, values: Sequence[str], sides: Sequence[str]) -> str:
    pairs = zip(sides, values, strict=True)
    return "".join(f'<{tag} style="text-align:{side}">{html.escape(value)}</{tag}>' for side, value in pairs)
