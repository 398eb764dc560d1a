"""What commands print: progress on standard error, short tables on standard output, with ids as plain text."""

from __future__ import annotations

import shlex
import sys
import textwrap
import time
from collections import deque
from collections.abc import Iterable, Mapping, Sequence
from typing import IO, TYPE_CHECKING, Any

from rich.console import Console
from rich.table import Table
from rich.text import Text

from hopsight.checks import duration, one_line, plural
from hopsight.runs.results import Result, table_of
from hopsight.system.machine import check_limit

if TYPE_CHECKING:
    from hopsight.detectors.base import Epoch

SECONDS_BETWEEN_LINES = 5.0
SECONDS_OF_SPEED = 30.0
STAGES = {
    "load": "Reading the graph",
    "fit": "Fitting",
    "score": "Scoring",
    "explain": "Explaining",
    "write": "Writing the results",
    "bench": "Benchmark",
}
FIT_STAGES = {  # the parts of a fit that may take long
    "attributes": "Reducing attributes",
    "hops": "Counting hops",
    "views": "Collecting neighborhoods",
    "pairs": "Drawing pairs",
    "train": "Training",
    "judge": "Judging edges",
    "scores": "Scoring nodes",
}
LONGEST_ID = 48
WIDTH = 80  # columns of a terminal
LONGEST_RANKED = 24  # characters of an id or a name beside a reason
SHORT = ("load", "write", "explain")  # stages whose time is not worth a line


class Progress:
    """Report nothing: the behavior of ``--quiet`` and the base of the other two."""

    def begin(self, stage: str) -> None:
        """Begin a stage of the run."""
        check_limit()
        self.stage = STAGES.get(stage, stage)
        self.marks: deque[tuple[float, int]] = deque()

    def part(self, name: str) -> None:
        """Begin a part of the fit."""
        check_limit()
        self.stage = FIT_STAGES.get(name, name)
        self.show(0, 0, "…")

    def __call__(self, epoch: Epoch) -> None:
        """Act as the callback of a detector."""
        self.epoch(epoch)

    def epoch(self, epoch: Epoch) -> None:
        """Report one epoch of the fit."""
        self.step(epoch.number, epoch.total, "epoch", f"loss {epoch.loss:.4g}")

    def step(self, number: int, total: int, unit: str, detail: str) -> None:
        """Report step ``number`` of ``total``; the speed is that of the last half minute."""
        check_limit()
        now = time.perf_counter()
        if self.marks and number < self.marks[-1][1]:  # another fit begins
            self.marks.clear()
        self.marks.append((now, number))
        while len(self.marks) > 2 and now - self.marks[0][0] > SECONDS_OF_SPEED:
            self.marks.popleft()
        since, first = self.marks[0]
        speed = (number - first) / (now - since) if now > since else 0.0
        rate = f", {speed:.3g}/s, {duration((total - number) / speed)} left" if speed > 0 else ""
        self.show(number, total, f"{unit} {number:,} of {total:,}, {detail}{rate}")

    def show(self, number: int, total: int, text: str) -> None:
        """Show the progress of the stage."""

    def end(self, stage: str, seconds: float) -> None:
        """Report how long a stage took, unless it is a short one."""
        if stage not in SHORT:
            self.say(f"{STAGES.get(stage, stage)} took {duration(seconds)}")

    def say(self, text: str) -> None:
        """Show a message."""

    def close(self) -> None:
        """Restore the terminal."""


class LineProgress(Progress):
    """Write plain lines for a log: each stage, and every few seconds its progress, speed and time left."""

    def __init__(self, stream: IO[str], *, seconds_between: float = SECONDS_BETWEEN_LINES) -> None:
        self.stream = stream
        self.seconds_between = seconds_between
        self.last_line = time.perf_counter()

    def show(self, number: int, total: int, text: str) -> None:
        """Write a line if the last one was a few seconds ago."""
        if time.perf_counter() - self.last_line >= self.seconds_between:
            self.say(f"{self.stage}: {text}")

    def say(self, text: str) -> None:
        """Write a line, broken where it is wider than a terminal."""
        self.last_line = time.perf_counter()
        self.stream.write(f"{broken(one_line(text))}\n")
        self.stream.flush()


class BarProgress(Progress):
    """Show a bar with stage, steps, loss, speed and time left."""

    def __init__(self) -> None:
        from rich.console import Console
        from rich.progress import BarColumn, SpinnerColumn, TextColumn, TimeElapsedColumn
        from rich.progress import Progress as Display

        self.console = Console(stderr=True)
        columns = (
            SpinnerColumn(),
            TextColumn("{task.description}"),
            BarColumn(bar_width=24),
            TextColumn("{task.fields[detail]}", markup=False),
            TimeElapsedColumn(),
        )
        self.display = Display(*columns, console=self.console, transient=True)
        self.display.start()
        self.task = self.display.add_task("", total=None, detail="")

    def begin(self, stage: str) -> None:
        """Start a new bar for the stage."""
        super().begin(stage)
        self.display.remove_task(self.task)
        self.task = self.display.add_task(self.stage, total=None, detail="")

    def show(self, number: int, total: int, text: str) -> None:
        """Move the bar."""
        self.display.update(
            self.task, description=self.stage, total=total or None, completed=number, detail=one_line(text)
        )

    def say(self, text: str) -> None:
        """Print above the bar, never reading the text as markup."""
        self.console.print(one_line(text), markup=False, highlight=False)

    def close(self) -> None:
        """Remove the bar."""
        self.display.stop()


def make_progress(stream: IO[str], *, quiet: bool = False) -> Progress:
    """Return bars when ``stream`` is a terminal, lines otherwise, nothing when ``quiet``."""
    if quiet:
        return Progress()
    return BarProgress() if stream.isatty() else LineProgress(stream)


def console() -> Console:
    """Return a console for standard output that does not cut lines in a pipe or a file."""
    return Console(soft_wrap=True) if sys.stdout.isatty() else Console(width=160, soft_wrap=True)


def broken(text: str) -> str:
    """Break a text into lines of at most 80 columns, unless a word is longer; later lines are indented."""
    return textwrap.fill(text, WIDTH, subsequent_indent="  ", break_long_words=False, break_on_hyphens=False) or text


def shown(value: object, longest: int = LONGEST_ID) -> Text:
    """Return an id as plain text on one line, cut to the width of a column."""
    text = one_line(str(value))
    return Text(text if len(text) <= longest else f"{text[: longest - 1]}…")


def show_result(result: Result, *, top: int, files: Sequence[str]) -> None:
    """Print the top nodes, how many are flagged, how many known anomalies were found, and where the files are."""
    out, graph = console(), result.graph
    order = result.order[:top].tolist()
    ranked = [(graph.node_ids[node], float(result.scores[node])) for node in order]
    more: dict[str, Sequence[str]] = {}
    if graph.node_names is not None:
        more["name"] = [shown(name, LONGEST_RANKED).plain for name in graph.node_names[order]]
    if "stability" in result.own:
        more["stability"] = [f"{share:.0%}" for share in result.own["stability"][order]]
    if any(result.reasons):
        more["what is special"] = [*result.reasons, *[""] * len(order)][: len(order)]  # a rerun may show more
    show_ranking(
        ranked,
        n_nodes=graph.n_nodes,
        n_flagged=result.record["n_flagged"],
        threshold=result.threshold,
        rule=result.record["flagged"],
        more=more,
    )
    truth = result.record["labels"]
    if truth is not None:
        out.print(
            f"Known anomalies: {truth['n_found']:,} of {truth['n_anomalies']:,} are among the first "
            f"{truth['n_anomalies']:,}, ROC-AUC {truth['roc_auc']:.3f}."
        )
    total = duration(sum(result.record["seconds"].values()))
    names = [name if "." in name else table_of(result.folder, name).name for name in files]
    out.print(Text(f"Written in {total} to {result.folder}: {', '.join(names)}"))
    if order:
        words = [str(result.folder), str(graph.node_ids[order[0]])]
        words = ["--", *words] if any(word.startswith("-") for word in words) else words
        command = one_line(shlex.join(["hopsight", "explain", *words]))
        out.print(Text(f"Open report.html in a browser, or: {command}"))


def show_ranking(
    ranked: Sequence[tuple[object, float]],
    *,
    n_nodes: int,
    n_flagged: int,
    threshold: float,
    rule: str | None = None,
    more: Mapping[str, Sequence[str]] | None = None,
) -> None:
    """Print the top nodes, each as (id, score), most anomalous first, and how many are flagged.

    ``rule`` is the sentence about the flagged nodes (:func:`hopsight.explanations.text.flagged_sentence`), ``more``
    further columns of text, the last of which is cut where the line would be wider than a terminal.
    """
    out = console()
    header = ["rank", "node", "score", "flagged", *(more or {})]
    rows = [
        [f"{place + 1}", shown(node, LONGEST_RANKED).plain, _score(score), "yes" if score > threshold else "",
         *(one_line(cells[place]) for cells in (more or {}).values())]
        for place, (node, score) in enumerate(ranked)
    ]  # fmt: skip
    left = {"node", "name", "decided by", header[-1]}
    widths = [max(len(row[column]) for row in (header, *rows)) for column in range(len(header))]
    out.print(Text(f"The {len(ranked):,} most anomalous of {plural(n_nodes, 'node')}"))
    for row in (header, *rows):
        cells = [
            cell.ljust(width) if name in left else cell.rjust(width)
            for cell, width, name in zip(row, widths, header, strict=True)
        ]
        line = "  ".join(cells).rstrip()
        out.print(Text(line if len(line) <= WIDTH else f"{line[: WIDTH - 1]}…"))
    out.print(Text(broken(rule or f"{plural(n_flagged, 'node')} flagged (score above {threshold:.4g}).")))


def _score(value: float) -> str:
    """Format a score with four digits, so that the column lines up.

    >>> _score(5.14), _score(12345.6), _score(0.00001)
    ('5.140', '12,346', '1e-05')
    """
    return f"{value:#.4g}" if 1e-4 <= abs(value) < 1e3 else f"{value:,.0f}" if abs(value) >= 1e3 else f"{value:.4g}"


def show_catalog(graphs: Iterable[Mapping[str, Any]]) -> None:
    """Print the catalog, one graph per row."""
    out = console()
    table = _table("Graphs")
    for column in ("name", "kind", "nodes", "edges", "attributes", "anomalies", "local", "citation"):
        table.add_column(column, justify="right" if column in ("nodes", "edges", "attributes", "anomalies") else "left")
    for graph in graphs:
        counts = (graph.get(figure) for figure in ("nodes", "edges", "attributes", "anomalies"))
        cells = ["" if count is None else f"{count:,}" for count in counts]
        local = "yes" if graph["present"] else "no"
        table.add_row(graph["name"], graph["kind"], *cells, local, Text(graph["citation"]))
    out.print(table)


def show_benchmark(tables: Iterable[Any], line: str) -> None:
    """Print the first table of a benchmark and a line about the whole."""
    out = console()
    for table in list(tables)[:1]:
        shown_table = _table(table.title)
        for column in table.columns:
            shown_table.add_column(Text(one_line(column)))
        for row in table.rows:
            shown_table.add_row(*(Text(one_line(cell)) for cell in row))
        out.print(shown_table)
    out.print(Text(line))


def show_values(title: str, values: Mapping[str, Any]) -> None:
    """Print names and values, one per line; empty values are left out."""
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
