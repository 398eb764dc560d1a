"""Arguments and options that several commands share, and how help shows them.

``--help`` of a command with many options shows the most used ones on one screen, ``--help-all`` shows all of them in
panels. Examples, panels and words for values are tables here: a command says what it does and nothing of its layout.
"""

from __future__ import annotations

import copy
from collections.abc import Callable
from functools import wraps
from inspect import Parameter, Signature, signature
from pathlib import Path
from typing import Annotated, Any, get_type_hints

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
        "time_column", "type_column", "name_column", "category", "currency", "derive", "duplicates", "bipartite",
        "no_header", "missing", "rank", "rank_unknown", "data_dir",
    ),
    "Finding anomalies": (
        "detector", "preset", "settings", "evidence", "false_alarms", "contamination", "seed", "repeat", "learn_from",
        "anomalous_value", "only",
    ),
    "Running": ("device", "engine", "master", "memory_limit", "resume", "restart", "quiet"),
    "Output": ("out", "top", "csv", "redact", "force", "as_json"),
}  # fmt: skip
HIDDEN = (  # by --help, shown by --help-all
    "rank", "device", "settings", "false_alarms", "type_column", "name_column", "category", "currency", "derive",
    "duplicates", "bipartite", "no_header", "missing", "rank_unknown", "data_dir", "preset", "repeat",
    "anomalous_value", "resume", "restart", "memory_limit", "csv", "engine", "master", "redact", "quiet",
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
        "seed", "top", "repeat", "port", "workers", "alarm", "group", "n_cliques", "clique_size", "n_attribute",
        "n_candidates", "repetitions", "seeds", "n",
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
NoHeader = Annotated[bool, typer.Option("--no-header", help="The edge list has no header row.")]
Force = Annotated[bool, typer.Option("--force", help="Replace output files that exist.")]
Label = Annotated[str | None, typer.Option(help="Ground-truth label column, only for evaluation.")]
Ignore = Annotated[
    list[str] | None, typer.Option(help="Column to leave out, or rows or nodes such as status=cancelled; repeatable.")
]
SourceColumn = Annotated[str | None, typer.Option(help="Column with the source of each edge.")]
TargetColumn = Annotated[str | None, typer.Option(help="Column with the target of each edge.")]
Category = Annotated[list[str] | None, typer.Option(help="Column of codes, such as zip codes.")]
DataDir = Annotated[str | None, typer.Option(help="Folder with local copies of catalog graphs.")]
Quiet = Annotated[bool, typer.Option("--quiet", help="Do not report progress on standard error.")]
Contamination = Annotated[float | None, typer.Option(help="Flag this share of nodes instead of testing.")]
Seed = Annotated[int, typer.Option(help="Random seed.")]
Top = Annotated[int, typer.Option(help="Number of nodes to show.")]
Run = Annotated[Path, typer.Argument(help="The folder of a finished run.", metavar="DIR")]
Json = Annotated[bool, typer.Option("--json", help="Print JSON on standard output instead of text.")]
Out = Annotated[Path, typer.Option(help="Output folder; replaces an earlier run.")]
Csv = Annotated[bool, typer.Option("--csv", help="Write CSV, not Parquet, beyond a million rows.")]


def reading(
    nodes: Annotated[str | None, typer.Option(help="Node table for an edge list.")] = None,
    directed: Annotated[bool, typer.Option("--directed", help="Keep the direction of the edges.")] = False,
    label: Label = None,
    ignore: Ignore = None,
    source_column: SourceColumn = None,
    target_column: TargetColumn = None,
    id_column: Annotated[str | None, typer.Option(help="Column of the node table with the ids.")] = None,
    weight_column: Annotated[str | None, typer.Option(help="Column with the weight of each edge.")] = None,
    time_column: Annotated[str | None, typer.Option(help="Column with the time of each edge.")] = None,
    type_column: Annotated[str | None, typer.Option(help="Column with the type of each node.")] = None,
    rank: Annotated[str | None, typer.Option(help="Type of node to rank.")] = None,
    name_column: Annotated[str | None, typer.Option(help="Column with a name to show beside the id.")] = None,
    category: Category = None,
    currency: Annotated[str | None, typer.Option(help="Currency to which other amounts are scaled.")] = None,
    derive: Annotated[
        str | None,
        typer.Option(
            help="Attributes to derive from the edges: none, or some of structure,sent,received.",
            show_default="all; with a node table, sent and received if edges have columns",
        ),
    ] = None,
    duplicates: Annotated[
        str | None, typer.Option(help="Weight of duplicate edges: their sum, count or last.", show_default="sum")
    ] = None,
    bipartite: Annotated[
        bool | None, typer.Option("--bipartite/--one-kind", help="Source and target are separate sets of nodes.")
    ] = None,
    no_header: NoHeader = False,
    missing: Annotated[str, typer.Option(help="Empty attribute cells: fill (and mark), mean or refuse.")] = "fill",
    rank_unknown: Annotated[
        bool, typer.Option("--rank-unknown", help="Rank nodes without a row in the node table as well.")
    ] = False,
    data_dir: DataDir = None,
) -> dict[str, Any]:
    """Return the options that say how to read a graph, as fields of :class:`hopsight.runs.request.Source`."""
    given = locals()
    header = False if given.pop("no_header") else None
    return given | {"header": header, "ignore": tuple(ignore or ()), "category": tuple(category or ())}


def reads_graph(argument: Any, default: Any = Parameter.empty) -> Callable[[Callable[..., None]], Callable[..., None]]:
    """Give a command the argument SOURCE and the options of :func:`reading`, and pass it both as one ``source``."""

    def extended(command: Callable[..., None]) -> Callable[..., None]:
        own, shared = signature(command).parameters, signature(reading).parameters
        command.__annotations__["source"] = argument

        @wraps(command)
        def run(**given: Any) -> None:
            from hopsight.runs.request import Source

            options = reading(**{name: given.pop(name) for name in shared})
            command(**given | {"source": Source(path=given["source"], **options)})

        hints = get_type_hints(command, include_extras=True) | get_type_hints(reading, include_extras=True)
        parameters = {
            name: each.replace(kind=Parameter.KEYWORD_ONLY, annotation=hints[name])
            for name, each in {**shared, **own}.items()
        }
        parameters["source"] = parameters["source"].replace(default=default)
        del run.__wrapped__
        run.__signature__ = Signature(list(parameters.values()))  # type: ignore[attr-defined]
        run.__annotations__ = hints
        return run

    return extended


def decorate(app: Any) -> Any:
    """Add examples, panels and words to the commands of an app, and return it."""
    app.epilog = _epilog(START)
    _decorate_options(app)
    for name, command in app.commands.items():
        _decorate_options(command)
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
        each.hidden = _has_more(command) and each.name in HIDDEN
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
