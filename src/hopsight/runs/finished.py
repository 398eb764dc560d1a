"""Look at finished runs: explain what they found, compare two, write a report that can be shared."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from hopsight.checks import check_count, listed, option, plural, printable
from hopsight.explanations import EdgeExplanation, Explainer, Explanation, GroupExplanation
from hopsight.explanations.explainer import near_names, no_node
from hopsight.explanations.text import Readable, Table
from hopsight.graph import AttributedGraph
from hopsight.io.ids import are_forms_of
from hopsight.metrics import mid_ranks, ranking
from hopsight.report.page import redacted, report
from hopsight.runs.folder import KEY, OVER_TIME, REDACTED, adding, read_record
from hopsight.runs.results import read_table, table_of
from hopsight.system.cells import guarded, unguarded
from hopsight.system.files import replacing
from hopsight.system.lazy_polars import pl
from hopsight.system.threads import check_polars

COLUMNS = ("node", "rank", "score", "flagged")
SHOWN = 3  # nodes of one name


def explain(
    folder: Path, node: str | None = None, target: str | None = None, *, group: int | None = None
) -> Explanation | EdgeExplanation | GroupExplanation:
    """Explain a node of a finished run, the edge from one node to another, or a group by its number."""
    if (node is None) == (group is None):
        raise ValueError(f"explain takes a node, the two nodes of an edge, or {option('group')}")
    model, graph = open_run(folder)
    explainer = Explainer(model, graph)
    if node is None:
        return explainer.group(group or 0)
    if target is None:
        try:
            return explainer.node(find_node(graph, node))
        except ValueError as error:
            numbers = {str(number) for number in range(1, 1 + len(getattr(model, "groups_", ())))}
            hint = f"; for the group of that number, pass {option('group', node)}" if node in numbers else ""
            raise ValueError(f"{error}{hint}") from None
    return explainer.edge(find_node(graph, node), find_node(graph, target))


def open_run(folder: Path) -> tuple[Any, AttributedGraph]:
    """Return the model of a finished run, ready to be explained, and its graph."""
    from hopsight.detectors.storage import load_detector, with_edges
    from hopsight.loading import load

    read_record(folder)  # refuses what is not a finished run
    if (folder / OVER_TIME).is_file():
        raise ValueError(
            f"{folder} is a run over time, which has no model of nodes: see its report.html and alerts.csv, or pass a "
            "node to hopsight explain"
        )
    if not (folder / "graph.npz").is_file() or not (folder / "model").is_dir():
        raise ValueError(
            f"{folder} lacks graph.npz or model, which explain needs: Spark does not write both; repeat the run on one "
            "machine"
        )
    graph = load(folder / "graph.npz")
    model = load_detector(folder / "model")
    if model.decision_score_.shape != (graph.n_nodes,):
        raise ValueError(f"the model and the graph in {folder} do not belong together: repeat the run")
    if hasattr(model, "edge_hop_"):
        model = with_edges(model, graph.edges)
    model.graph_ = graph  # groups come from its events and from what nodes share
    return model, graph


def find_node(graph: AttributedGraph, text: str) -> Any:
    """Return the node id that a text means: an id as in the graph or in ``scores.csv``, or the name of one node.

    An id in another form, such as another case or with leading zeros, is meant if it is the only one of that form.
    """
    text = text.strip()
    for written in dict.fromkeys((text, unguarded(text))):
        try:
            return graph.node_ids[graph.index_of(written)]
        except ValueError:
            continue
    names = [str(name) for name in graph.node_ids.tolist()]
    titles = [] if graph.node_names is None else [str(name) for name in graph.node_names.tolist()]
    same = are_forms_of(pl.Series(names, dtype=pl.String), text).arg_true().to_list()
    called = [] if same else [place for place, name in enumerate(titles) if name.casefold() == text.casefold()]
    if len(same or called) == 1:
        return graph.node_ids[(same or called)[0]]
    if called:
        some = listed([printable(names[each]) for each in called[:SHOWN]])
        raise ValueError(f"several nodes are called {text!r}, such as {some}: give the id of one")
    if graph.context is not None and text in (others := list(graph.context.others)):
        kind = graph.context.types[graph.context.other_types[others.index(text)]]
        raise ValueError(f"{text!r} is a node of type {kind!r}; this run ranks nodes of type {graph.node_types[0]!r}")
    raise ValueError(no_node(text, [names[each] for each in same] or near_names(text, names)))


def write_redacted(folder: Path, *, top: int = 20) -> tuple[Path, Path]:
    """Write ``report-redacted.html`` and the key to it, ``redacted.csv``, into the folder of a finished run.

    The key says which node each number stands for: keep it, and share only the report.
    """
    check_polars()  # before anything is written
    model, graph = open_run(folder)
    order = ranking(model.decision_score_, graph.id_places)
    names = redacted(graph, model.decision_score_).node_ids
    key = {"node": [guarded(str(graph.node_ids[node])) for node in order], "redacted": names[order].tolist()}
    with adding(folder, KEY, REDACTED):
        with replacing(folder / KEY) as file:
            pl.DataFrame(key).write_csv(file)
        return report(model, graph, top=top, redact=True).write(folder / REDACTED), folder / KEY


@dataclass(frozen=True)
class Move:
    """A node of both runs: its rank and whether it is flagged, before and after."""

    node: str
    rank: int
    new_rank: int
    flagged: bool
    new_flagged: bool


@dataclass(frozen=True, repr=False)
class Comparison(Readable):
    """Two runs side by side.

    ``correlation`` is Spearman's, of the ranks of the nodes in both runs (None with fewer than two); ``shared_top``
    is how many of the first ``top`` nodes of one are among the first of the other. ``moves`` are the nodes among the
    first in either run whose rank changed most. ``settings`` are the settings that differ.
    """

    first: str
    second: str
    n_common: int
    only_first: int
    only_second: int
    flagged_both: int
    flagged_first: int
    flagged_second: int
    correlation: float | None
    top: int
    shared_top: int
    moves: tuple[Move, ...]
    settings: dict[str, tuple[Any, Any]]

    @property
    def summary(self) -> str:
        """What both have in common."""
        alone = f" ({self.only_first:,} only in the first, {self.only_second:,} only in the second)"
        nodes = f"{plural(self.n_common, 'node')} in common{alone if self.only_first or self.only_second else ''}"
        return f"{printable(self.first)} and {printable(self.second)} have {nodes}."

    def _parts(self) -> Iterator[str | Table]:
        yield self.summary
        yield f"Flagged in both: {self.flagged_both:,}; only in the first: {self.flagged_first:,}; " + (
            f"only in the second: {self.flagged_second:,}."
        )
        if self.correlation is not None:
            yield f"The rank correlation (Spearman) is {self.correlation:.3f}; {self.shared_top:,} of the first " + (
                f"{self.top:,} nodes are the same."
            )
        if self.settings:
            rows = [
                [printable(name), *("–" if value is None else printable(value) for value in values)]
                for name, values in self.settings.items()
            ]
            yield Table("Settings that differ", ("setting", "first", "second"), rows)
        if self.moves:
            rows = [[printable(each.node), f"{each.rank:,}", f"{each.new_rank:,}", _flags(each)] for each in self.moves]
            yield Table("Nodes among the first that moved most", ("node", "rank", "new rank", "flagged"), rows)


def compare(first: Path, second: Path, *, top: int = 20) -> Comparison:
    """Compare two finished runs by the node ids in their ``scores.csv``.

    The first ``top`` nodes of each count as the first ones, and at most so many moves are listed.
    """
    check_count("top", top)
    records = [read_record(folder) for folder in (first, second)]
    old, new = (_scores(folder) for folder in (first, second))
    both = old.join(new, on="node", suffix="_new")
    was, now = pl.col("flagged"), pl.col("flagged_new")
    near = both.filter((pl.col("rank") <= top) | (pl.col("rank_new") <= top))
    moved = near.with_columns((pl.col("rank") - pl.col("rank_new")).abs().alias("by")).filter(pl.col("by") > 0)
    moved = moved.sort(["by", "rank", "node"], descending=[True, False, False]).head(top)
    return Comparison(
        first=str(first),
        second=str(second),
        n_common=both.height,
        only_first=old.height - both.height,
        only_second=new.height - both.height,
        flagged_both=both.filter(was & now).height,
        flagged_first=both.filter(was & ~now).height,
        flagged_second=both.filter(~was & now).height,
        correlation=_correlation(both),
        top=top,
        shared_top=both.filter((pl.col("rank") <= top) & (pl.col("rank_new") <= top)).height,
        moves=tuple(Move(*row) for row in moved.select("node", "rank", "rank_new", "flagged", "flagged_new").rows()),
        settings=_differences(*records),
    )


def _scores(folder: Path) -> pl.DataFrame:
    """Return node, rank, score and flagged of a run, with the ids as they are in the graph."""
    path = table_of(folder, "scores")
    if not path.exists():
        raise ValueError(f"{folder} has no scores.csv to compare: repeat the run, or name another folder")
    try:
        table = read_table(path, COLUMNS)
        kinds = {"rank": pl.Int64, "score": pl.Float64, "flagged": pl.Int8}
        table = table.with_columns(pl.col(name).cast(kind) for name, kind in kinds.items())
        if table.null_count().sum_horizontal().sum() or table["node"].is_duplicated().any():
            raise ValueError("it has an empty cell, or a node twice")
    except (pl.exceptions.PolarsError, ValueError) as error:
        reason = str(error).splitlines()[0].removeprefix(f"cannot read {path}: ")
        raise ValueError(f"{path} is damaged: {reason}; repeat the run") from None
    return table.with_columns(pl.col("flagged").cast(pl.Boolean))


def _correlation(both: pl.DataFrame) -> float | None:
    """Return the Spearman correlation of the ranks of nodes in both runs."""
    if both.height < 2:
        return None
    return float(np.corrcoef(mid_ranks(both["rank"]), mid_ranks(both["rank_new"]))[0, 1])


def _differences(first: dict[str, Any], second: dict[str, Any]) -> dict[str, tuple[Any, Any]]:
    """Return the detector, parameters and ways to read the data that differ; None is what a run does not have."""
    old, new = _settings(first), _settings(second)
    found = {name: (old.get(name), new.get(name)) for name in {**old, **new} if old.get(name) != new.get(name)}
    before, after = _part(first, "inputs"), _part(second, "inputs")
    changed = [path for path in before if path in after and before[path] != after[path]]
    return found | {f"content of {path}": (str(before[path])[:8], str(after[path])[:8]) for path in changed}


def _settings(record: dict[str, Any]) -> dict[str, Any]:
    source = dict(_part(_part(record, "request"), "source") or _part(record, "source"))
    read = {"source": source.pop("path", None), **source}
    return {
        "detector": record.get("detector"),
        "learned from labels": "yes" if record.get("learned") else None,
        "repeat": record.get("repeat"),
        **{name: value for name, value in read.items() if value not in (None, [], False)},
        **_part(record, "parameters"),
    }


def _part(record: dict[str, Any], name: str) -> dict[str, Any]:
    """Return a part of a record, empty if it has none; people edit these files by hand."""
    part = record.get(name)
    return part if isinstance(part, dict) else {}


def _flags(move: Move) -> str:
    if move.flagged == move.new_flagged:
        return "in both" if move.flagged else ""
    return "before" if move.flagged else "now"
