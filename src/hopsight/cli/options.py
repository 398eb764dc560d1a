"""Arguments and options that several commands share, and how help shows them.

``--help`` of a command with many options shows the most used ones on one screen, ``--help-all`` shows all of them in
panels. Examples, panels and words for values are tables here: a command says what it does and nothing of its layout.
"""

from __future__ import annotations

import copy
from pathlib import Path
from typing import Annotated, Any

import typer

START = (
    "hopsight detect --out first",
    "hopsight detect transactions.csv --out result",
    "hopsight explain result NODE",
)
EXAMPLES = {
    "detect": (
        "hopsight detect transactions.csv --out result",
        "hopsight detect edges.csv --nodes people.csv --top 50",
    ),
    "score": (
        "hopsight score result new_edges.csv --out new",
        "hopsight score result/model new_edges.csv --nodes new_people.csv",
    ),
    "explain": ("hopsight explain result a7", "hopsight explain result a7 a120 --json"),
    "review": ("hopsight review result", "hopsight review result --reviewer ann --no-open"),
    "stream": (
        "hopsight stream payments.parquet --out result",
        "hopsight stream payments.csv --time-column ts --weight-column amount --window 12h",
    ),
    "watch": ("hopsight watch result new_payments.parquet", "hopsight watch result new_payments.parquet --json"),
    "compare": ("hopsight compare result again", "hopsight compare monday tuesday --top 50 --json"),
    "rerun": ("hopsight rerun result/run.json", "hopsight rerun result/run.json --out again"),
    "describe": ("hopsight describe edges.csv --nodes people.csv", "hopsight describe graph.toml"),
    "inject": (
        "hopsight inject blogcatalog planted.npz --seed 1",
        "hopsight inject edges.csv planted.npz --nodes people.csv --cliques 2 --clique-size 8",
    ),
    "bench": ("hopsight bench --suite quick", "hopsight bench --graphs planted.npz --detectors lof --detectors 'hcm*'"),
    "convert": ("hopsight convert edges.csv graph.graphml --nodes people.csv", "hopsight convert graph.mat graph.npz"),
    "data list": ("hopsight data list", "hopsight data list --data-dir graphs"),
    "data fetch": ("hopsight data fetch blogcatalog", "hopsight data fetch enron"),
    "data bank": ("hopsight data bank bank", "hopsight data bank bank --seed 1 --force"),
}
PANELS = {
    "Reading the graph": (
        "nodes", "directed", "label", "ignore", "source_column", "target_column", "id_column", "weight_column",
        "time_column", "type_column", "name_column", "category", "derive", "duplicates", "bipartite", "no_header",
        "missing", "rank", "rank_unknown", "data_dir",
    ),
    "Finding anomalies": (
        "detector", "preset", "settings", "evidence", "false_alarms", "contamination", "seed", "repeat", "learn_from",
        "anomalous_value", "only",
    ),
    "Running": ("device", "engine", "master", "memory_limit", "resume", "restart", "quiet"),
    "Output": ("out", "top", "csv", "redact", "force"),
}  # fmt: skip
SHOWN = (  # by --help where there is a --help-all
    "nodes", "rank", "label", "learn_from", "ignore", "directed", "weight_column", "time_column",
    "detector", "settings", "evidence", "false_alarms", "contamination", "seed", "device", "resume", "out", "top",
    "help_all",
)  # fmt: skip
WORDS = {
    "COLUMN": (
        "label", "ignore", "source_column", "target_column", "id_column", "weight_column", "time_column", "type_column",
        "name_column", "category", "learn_from",
    ),
    "TABLE": ("nodes",),
    "TYPE": ("rank",),
    "DIR": ("out", "data_dir"),
    "NUMBER": (
        "seed", "top", "repeat", "port", "workers", "alarm", "group", "cliques", "clique_size", "attribute_anomalies",
        "candidates", "repetitions", "seeds",
    ),
    "SHARE": ("false_alarms", "contamination"),
    "SIZE": ("memory_limit",),
    "NAME": ("detector", "preset", "device", "engine"),
    "NAME=VALUE": ("settings",),
    "KIND": ("evidence",),
    "FILE": ("only",),
    "LABEL": ("anomalous_value",),
    "CHOICE": ("missing", "duplicates", "protocol"),
    "SECONDS": ("time_limit",),
}  # fmt: skip

SOURCE = (
    "An edge list (text, .parquet, .xlsx, a folder of Parquet files, or a table such as bank.db?table=payments), a "
    "graph (.mat, .npz, .graphml, .gml, .gexf, .pt), several tables (.toml), or a catalog name."
)

SourceArgument = Annotated[str, typer.Argument(help=SOURCE, show_default=False)]
OptionalSource = Annotated[
    str | None, typer.Argument(help=f"{SOURCE} Default: the built-in demo graph.", show_default=False)
]
Nodes = Annotated[str | None, typer.Option(help="Node table for an edge list.")]
NoHeader = Annotated[bool, typer.Option("--no-header", help="The edge list has no header row.")]
Force = Annotated[bool, typer.Option("--force", help="Replace output files that exist.")]
Directed = Annotated[bool, typer.Option("--directed", help="Keep the direction of the edges.")]
Label = Annotated[str | None, typer.Option(help="Ground-truth label column, to evaluate.")]
Ignore = Annotated[list[str] | None, typer.Option(help="Column to leave out; repeatable.")]
SourceColumn = Annotated[str | None, typer.Option(help="Column with the source of each edge.")]
TargetColumn = Annotated[str | None, typer.Option(help="Column with the target of each edge.")]
IdColumn = Annotated[str | None, typer.Option(help="Column of the node table with the ids.")]
WeightColumn = Annotated[str | None, typer.Option(help="Column with the weight of each edge.")]
TimeColumn = Annotated[str | None, typer.Option(help="Column with the time of each edge.")]
TypeColumn = Annotated[str | None, typer.Option(help="Column with the type of each node.")]
Rank = Annotated[str | None, typer.Option(help="Type of node to rank.")]
NameColumn = Annotated[str | None, typer.Option(help="Column with a name to show beside the id.")]
Category = Annotated[list[str] | None, typer.Option(help="Column of codes, such as zip codes.")]
Derive = Annotated[
    str | None,
    typer.Option(
        help="Attributes to derive from the edges: none, or some of structure,sent,received.",
        show_default="all; with a node table, sent and received if edges have columns",
    ),
]
Duplicates = Annotated[
    str | None, typer.Option(help="Weight of duplicate edges: their sum, count or last.", show_default="sum")
]
Bipartite = Annotated[
    bool | None,
    typer.Option("--bipartite/--one-kind", help="Source and target are separate sets of nodes."),
]
Missing = Annotated[str, typer.Option(help="Empty attribute cells: fill (and mark), mean or refuse.")]
RankUnknown = Annotated[
    bool, typer.Option("--rank-unknown", help="Rank nodes without a row in the node table as well.")
]
DataDir = Annotated[str | None, typer.Option(help="Folder with local copies of catalog graphs.")]
Quiet = Annotated[bool, typer.Option("--quiet", help="Do not report progress on standard error.")]
Seed = Annotated[int, typer.Option(help="Random seed.")]
Top = Annotated[int, typer.Option(help="Nodes to show and explain.")]
Run = Annotated[Path, typer.Argument(help="The folder of a finished run.", metavar="DIR")]
Json = Annotated[bool, typer.Option("--json", help="Print JSON instead of text.")]
Out = Annotated[Path, typer.Option(help="Output folder; replaces an earlier run.")]
Csv = Annotated[bool, typer.Option("--csv", help="Write CSV, not Parquet, beyond a million rows.")]


def decorate(app: Any) -> Any:
    """Add examples, panels and words to the commands of an app, and return it."""
    app.epilog = _epilog(START)
    _decorate_options(app)
    for name, command in app.commands.items():
        for part, each in getattr(command, "commands", {"": command}).items():
            each.epilog = _epilog(EXAMPLES[f"{name} {part}".strip()])
            _decorate_options(each)
    return app


def _decorate_options(command: Any) -> None:
    words = {option: word for word, options in WORDS.items() for option in options}
    ask_for_help = command.get_help_option
    command.get_help_option = lambda context: _without_type(ask_for_help(context))
    for each in command.params:
        if each.param_type_name != "option":
            each.metavar = each.metavar or each.name.upper()
            _without_type(each)
            continue
        each.hidden = _has_more(command) and each.name not in SHOWN
        each.metavar = "" if each.is_flag else words.get(each.name, each.metavar or "TEXT")
        if each.is_flag:
            _without_type(each)
        if each.name == "detector":
            each.help = f"One of {', '.join(_detectors())}."


def _has_more(command: Any) -> bool:
    return any(each.name == "help_all" for each in command.params)


def _show_all(context: typer.Context, asked: bool) -> None:
    """Print the help with all options, in panels."""
    if not asked or context.resilient_parsing:
        return
    panels = {option: panel for panel, options in PANELS.items() for option in options}
    command: Any = copy.copy(context.command)
    command.params = [copy.copy(each) for each in command.params]
    for each in command.params:
        if each.param_type_name == "option":
            each.hidden, each.rich_help_panel = False, panels.get(each.name)
    typer.echo(command.get_help(context), nl=False)
    raise typer.Exit


def _without_type(parameter: Any) -> Any:
    """Show no type such as <bool> beside a flag or a named argument, and return it."""
    if parameter is not None:
        parameter.display_type_rich = lambda ctx: None
    return parameter


def _detectors() -> list[str]:
    from hopsight.detectors.registry import CLASSES

    return sorted(CLASSES, key=lambda name: name != "cross_hcm")


def _epilog(examples: tuple[str, ...]) -> str:
    """Return examples as paragraphs: rich would join lines."""
    return "\n\n".join(("Examples:", *examples))


HelpAll = Annotated[bool, typer.Option("--help-all", is_eager=True, callback=_show_all, help="Show all options.")]
