"""What commands print: progress on standard error, short tables on standard output, with ids as plain text."""

from __future__ import annotations

import shlex
import sys
import textwrap
import time
from collections import deque
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from typing import IO, TYPE_CHECKING, Any

from hopsight.checks import duration, one_line, plural
from hopsight.explanations.text import WIDTH, broken, chance, printable_json
from hopsight.metrics import ranks
from hopsight.runs.results import Result, table_of
from hopsight.system.arrays import plain
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
LONGEST_RANKED, LONGEST_NAME, SHORTEST_NAME = 34, 24, 12  # characters of an id, such as an IBAN, and of a name
FEWEST_WRAPPED, BELOW = 20, 6  # characters of a line of a reason, and spaces before one in a line of its own
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


def write(*lines: str) -> None:
    """Write lines to standard output."""
    for line in lines:
        sys.stdout.write(f"{line}\n")


def write_json(value: Any) -> None:
    """Write what a command found to standard output, for other programs."""
    write(printable_json(plain(value)))


def shown(value: object, longest: int = LONGEST_ID) -> str:
    """Return an id as plain text on one line, cut to the width of a column."""
    text = one_line(str(value))
    return text if len(text) <= longest else f"{text[: longest - 1]}…"


def show_result(result: Result, *, top: int, as_json: bool = False) -> None:
    """Print the top nodes, how many are flagged, how many known anomalies were found, and where the files are."""
    graph, order = result.graph, result.order[:top].tolist()
    ranked = [(graph.node_ids[node], float(result.scores[node])) for node in order]
    places = ranks(result.scores)[order].tolist()  # among all nodes, also if only some are asked for
    reasons = [*result.reasons, *[""] * len(order)][: len(order)]  # a rerun may show more
    if as_json:
        write_json(_summary(result, ranked, places, reasons))
        return
    more: dict[str, Sequence[str]] = {}
    if "anomaly_probability" in result.own:
        more["probability"] = [chance(each) for each in result.own["anomaly_probability"][order]]
    if graph.node_names is not None:
        more["name"] = [shown(name, LONGEST_NAME) for name in graph.node_names[order]]
    if "stability" in result.own:
        more["stability"] = [f"{share:.0%}" for share in result.own["stability"][order]]
    if any(reasons):
        more["what is special"] = reasons
    if result.edges:
        show_edges(result)
        return
    show_ranking(
        ranked,
        n_nodes=graph.n_nodes if graph.ranked is None else int(graph.ranked.sum()),
        n_listed=None if result.order.size == graph.n_nodes else result.order.size,
        places=places,
        n_flagged=result.record["n_flagged"],
        threshold=result.threshold,
        rule=result.record["flagged"],
        more=more,
    )
    if result.groups:
        write(broken(result.groups))
    truth = result.record["labels"]
    if truth is not None:
        write(
            f"Known anomalies: {truth['n_found']:,} of {truth['n_anomalies']:,} are among the first "
            f"{plural(truth['n_anomalies'], 'labeled node')}, ROC-AUC {truth['roc_auc']:.3f}."
        )
    _show_next(result, "scores", [graph.node_ids[node] for node in order[:1]])


def show_edges(result: Result) -> None:
    """Print the edges that are most probably anomalous by what was learned from labels, and where the files are."""
    header = ["rank", "source", "target", "probability", "flagged"]
    rows = [
        [f"{place}", *(shown(end, LONGEST_NAME) for end in ends), chance(probability), "yes" if flagged else ""]
        for place, (*ends, probability, flagged) in enumerate(result.edges, start=1)
    ]
    write(f"The {len(rows):,} most probable of {plural(result.graph.n_edges, 'edge')}, by what was learned")
    write(*_lines(header, rows, left={"source", "target"}))
    write("The ranking of nodes, in scores.csv, is as it is without labels.")
    _show_next(result, "edges", result.edges[0][:2])


def _show_next(result: Result, table: str, chosen: Sequence[object]) -> None:
    """Print where the files are, and how to look at the first one of the ranking."""
    files = [result.folder / "report.html", table_of(result.folder, table)]
    write(broken(f"Written in {duration(_seconds(result))}: {one_line(', '.join(map(str, files)))}"))
    if chosen:
        words = [str(result.folder), *map(str, chosen)]
        words = ["--", *words] if any(word.startswith("-") for word in words) else words
        write(f"Next: open the report in a browser, or {one_line(shlex.join(['hopsight', 'explain', *words]))}")


def _seconds(result: Result) -> float:
    return float(sum(result.record["seconds"].values()))


def _summary(
    result: Result, ranked: Sequence[tuple[object, float]], places: Sequence[int], reasons: Sequence[str]
) -> dict[str, Any]:
    """Return what a run found: counts, the first nodes and where the files are."""
    record, own = result.record, result.own
    chances = own.get("anomaly_probability")
    nodes = [
        {"node": node, "rank": place, "score": score, "flagged": score > result.threshold, "reason": reasons[at]}
        | ({} if chances is None else {"anomaly_probability": float(chances[result.order[at]])})
        for at, ((node, score), place) in enumerate(zip(ranked, places, strict=True))
    ]
    return {
        "folder": str(result.folder),
        "nodes": result.graph.n_nodes,
        "edges": result.graph.n_edges,
        "flagged": record["n_flagged"],
        "threshold": result.threshold,
        "top": nodes,
        "top_edges": [
            {"source": source, "target": target, "anomaly_probability": probability, "flagged": flagged}
            for source, target, probability, flagged in result.edges
        ],
        "labels": record["labels"],
        "learned": record["learned"],
        "notices": record.get("warnings", []),
        "seconds": _seconds(result),
    }


def show_ranking(
    ranked: Sequence[tuple[object, float]],
    *,
    n_nodes: int,
    n_flagged: int,
    threshold: float,
    n_listed: int | None = None,
    places: Sequence[int] = (),
    rule: str | None = None,
    more: Mapping[str, Sequence[str]] | None = None,
) -> None:
    """Print the top nodes, each as (id, score), most anomalous first, and how many are flagged.

    ``places`` are their ranks, by default from 1 on, where only ``n_listed`` of the nodes are asked for. ``rule`` is
    the sentence about the flagged nodes (:func:`hopsight.explanations.text.flagged_sentence`), ``more`` further columns
    of text; a probability takes the place of the score. Where lines would be wider than a terminal, names are cut and
    reasons go on in another line.
    """
    columns = {
        "rank": [f"{place:,}" for place in places or range(1, len(ranked) + 1)],
        "node": [shown(node, LONGEST_RANKED) for node, _ in ranked],
        "score": [_score(score) for _, score in ranked],
        "flagged": ["yes" if score > threshold else "" for _, score in ranked],
        **{name: [one_line(cell) for cell in cells] for name, cells in (more or {}).items()},
    }
    if "probability" in columns:
        del columns["score"]
    header, rows = list(columns), [list(row) for row in zip(*columns.values(), strict=True)]
    if "name" in header:
        at, widths = header.index("name"), _widths(header, rows)
        others = sum(widths) - widths[at] + 2 * (len(widths) - 1)
        if header[-1] != "name" and WIDTH - (others - widths[-1]) - SHORTEST_NAME < FEWEST_WRAPPED:
            others -= widths[-1] + 2  # reasons are in lines of their own
        for row in rows:
            row[at] = shown(row[at], max(SHORTEST_NAME, WIDTH - others))
    listed = "" if n_listed is None else f"{plural(n_listed, 'listed node')}, with ranks among all "
    write(f"The {len(ranked):,} most anomalous of {listed}{plural(n_nodes, 'node')}")
    write(*_lines(header, rows, left={"node", "name", "decided by", header[-1]}))
    write(broken(rule or f"{plural(n_flagged, 'node')} flagged (score above {threshold:.4g})."))


def _lines(header: Sequence[str], rows: Sequence[Sequence[str]], left: Collection[str]) -> Iterator[str]:
    """Yield the lines of a table, none wider than a terminal: a last column of text is broken, other lines are cut.

    Where little room is beside the other columns, the text is in lines of its own.
    """
    widths = _widths(header, rows)
    start = sum(widths[:-1]) + 2 * (len(widths) - 1)
    below = WIDTH - start < FEWEST_WRAPPED
    for row in (header, *rows):
        cells = [
            cell.ljust(width) if name in left else cell.rjust(width)
            for cell, width, name in zip(row, widths, header, strict=True)
        ]
        line = "  ".join(cells).rstrip()
        if len(line) <= WIDTH or header[-1] not in left:
            yield line if len(line) <= WIDTH else f"{line[: WIDTH - 1]}…"
            continue
        indent = " " * (BELOW if below else start)
        first, *others = textwrap.wrap(row[-1], WIDTH - len(indent))
        yield from (line[:start].rstrip(), indent + first) if below else (line[:start] + first,)
        yield from (indent + other for other in others)


def _widths(header: Sequence[str], rows: Sequence[Sequence[str]]) -> list[int]:
    return [max(len(row[column]) for row in (header, *rows)) for column in range(len(header))]


def _score(value: float) -> str:
    """Format a score with four digits, so that the column lines up.

    >>> _score(5.14), _score(12345.6), _score(0.00001)
    ('5.140', '12,346', '1e-05')
    """
    return f"{value:#.4g}" if 1e-4 <= abs(value) < 1e3 else f"{value:,.0f}" if abs(value) >= 1e3 else f"{value:.4g}"


def show_catalog(graphs: Iterable[Mapping[str, Any]]) -> None:
    """Print the catalog, one graph per row."""
    counts = ("nodes", "edges", "attributes", "anomalies")
    rows = [
        [each["name"], each["kind"], *("" if each.get(name) is None else f"{each[name]:,}" for name in counts),
         "yes" if each["present"] else "no"]
        for each in graphs
    ]  # fmt: skip
    write(*_lines(["name", "kind", *counts, "local"], rows, left={"name", "kind"}))
    write("hopsight data list --json has the citations.")


def show_benchmark(tables: Iterable[Any], line: str) -> None:
    """Print the first table of a benchmark, and a line about the whole."""
    for table in list(tables)[:1]:
        write(one_line(table.title))
        names, *rows = ([one_line(cell) for cell in row] for row in (table.columns, *table.rows))
        write(*_lines(names, rows, left={names[0]}))
    write(broken(line))
