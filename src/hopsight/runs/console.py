"""What the commands print on standard output: short tables that a person reads, ids as plain text."""

from __future__ import annotations

import sys
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from rich.console import Console
from rich.table import Table
from rich.text import Text

from hopsight.runs.detect import Result
from hopsight.runs.progress import duration, one_line

LONGEST_ID = 48


def console() -> Console:
    """Return standard output; in a pipe or a file nothing is cut to the width of a terminal."""
    return Console(soft_wrap=True) if sys.stdout.isatty() else Console(width=160, soft_wrap=True)


def shown(value: object) -> Text:
    """Return an id as text that is never markup, stays on one line and is not longer than a column."""
    text = one_line(str(value))
    return Text(text if len(text) <= LONGEST_ID else f"{text[: LONGEST_ID - 1]}…")


def show_result(result: Result, *, top: int, files: Sequence[str]) -> None:
    """Print the top nodes, what was flagged, how the truth was met, and where the files are."""
    out, graph = console(), result.graph
    order = result.order[:top].tolist()
    ranked = [(graph.node_ids[node], result.scores[node], graph.degrees[node]) for node in order]
    show_ranking(ranked, n_nodes=graph.n_nodes, n_flagged=result.record["n_flagged"], threshold=result.threshold)
    truth = result.record["labels"]
    if truth is not None:
        out.print(
            f"Known anomalies: {truth['n_found']} of {truth['n_anomalies']} are among the first "
            f"{truth['n_anomalies']}, ROC-AUC {truth['roc_auc']:.3f} (labels are used only for this line)."
        )
    total = duration(sum(result.record["seconds"].values()))
    out.print(Text(f"Written in {total}: {', '.join(str(result.folder / name) for name in files)}"))


def show_ranking(
    ranked: Sequence[tuple[object, float, int]], *, n_nodes: int, n_flagged: int, threshold: float
) -> None:
    """Print the top nodes, each as (id, score, degree), most anomalous first, and how many are flagged."""
    out = console()
    table = _table(f"The {len(ranked)} most anomalous of {n_nodes:,} nodes")
    for column in ("rank", "node", "score", "degree", "flagged"):
        table.add_column(column, justify="left" if column == "node" else "right")
    for rank, (node, score, degree) in enumerate(ranked, start=1):
        table.add_row(str(rank), shown(node), f"{score:.4g}", f"{degree:,}", "yes" if score > threshold else "")
    out.print(table)
    out.print(f"{n_flagged:,} nodes are flagged (score above {threshold:.4g}).")


def show_networks(networks: Iterable[Mapping[str, Any]]) -> None:
    """Print the catalog, one network a row."""
    out = console()
    table = _table("Networks")
    for column in ("name", "kind", "nodes", "edges", "attributes", "anomalies", "here", "citation"):
        table.add_column(column, justify="right" if column in ("nodes", "edges", "attributes", "anomalies") else "left")
    for network in networks:
        counts = (network.get(figure) for figure in ("nodes", "edges", "attributes", "anomalies"))
        cells = ["" if count is None else f"{count:,}" for count in counts]
        here = "yes" if network["present"] else "no"
        table.add_row(network["name"], network["kind"], *cells, here, Text(network["citation"]))
    out.print(table)


def show_benchmark(tables: Iterable[Any], line: str) -> None:
    """Print the first table of a benchmark (they are plain text cells) and a line about the whole."""
    out = console()
    for table in list(tables)[:1]:
        shape = _table(table.title)
        for column in table.columns:
            shape.add_column(Text(one_line(column)))
        for row in table.rows:
            shape.add_row(*(Text(one_line(cell)) for cell in row))
        out.print(shape)
    out.print(Text(line))


def show_values(title: str, values: Mapping[str, Any]) -> None:
    """Print names and values, one a line."""
    out = console()
    table = _table(title)
    table.add_column("")
    table.add_column("")
    for name, value in values.items():
        if value is None or value == "" or value == []:
            continue
        lines = value if isinstance(value, list) and all(isinstance(line, str) for line in value) else [value]
        for line in lines:
            table.add_row(name.replace("_", " "), Text(one_line(_readable(line))))
    out.print(table)


def _readable(value: object) -> str:
    if isinstance(value, bool):
        return "yes" if value else "no"
    if isinstance(value, int):
        return f"{value:,}"
    if isinstance(value, Mapping):
        return ", ".join(f"{name} {_readable(item)}" for name, item in value.items())
    return f"{value:.4g}" if isinstance(value, float) else str(value)


def _table(title: str) -> Table:
    return Table(title=Text(one_line(title)), title_justify="left", box=None, pad_edge=False)
