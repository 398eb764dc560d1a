"""How help looks: examples of every command, panels of options, and words that people know for their values.

These are tables beside the commands, so that a command says what it does and nothing about its layout.
"""

from __future__ import annotations

from typing import Any

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
    "inject": (
        "hopsight inject blogcatalog planted.npz --seed 1",
        "hopsight inject edges.csv planted.npz --nodes people.csv --cliques 2 --clique-size 8",
    ),
    "bench": ("hopsight bench --suite quick", "hopsight bench --graphs planted.npz --detectors lof --detectors 'hcm*'"),
    "convert": ("hopsight convert edges.csv graph.graphml --nodes people.csv", "hopsight convert graph.mat graph.npz"),
    "data list": ("hopsight data list", "hopsight data list --data-dir graphs"),
    "data fetch": ("hopsight data fetch blogcatalog", "hopsight data fetch enron"),
    "data info": ("hopsight data info demo", "hopsight data info edges.csv --nodes people.csv"),
}
PANELS = {
    "Reading the graph": (
        "nodes", "directed", "label", "ignore", "source_column", "target_column", "id_column", "weight_column",
        "time_column", "type_column", "name_column", "category", "derive", "duplicates", "bipartite", "no_header",
        "missing", "data_dir",
    ),
    "Finding anomalies": (
        "detector", "preset", "settings", "evidence", "false_alarms", "contamination", "seed", "repeat", "verdicts",
        "only",
    ),
    "Running": ("device", "engine", "master", "memory_limit", "scratch", "resume", "restart", "quiet"),
    "Output": ("out", "top", "csv", "redact"),
}  # fmt: skip
GROUPED = ("detect", "score")  # the others have too few options to group
WORDS = {
    "COLUMN": (
        "label", "ignore", "source_column", "target_column", "id_column", "weight_column", "time_column", "type_column",
        "name_column", "category",
    ),
    "TABLE": ("nodes",),
    "DIR": ("out", "scratch", "data_dir"),
    "NUMBER": (
        "seed", "top", "repeat", "port", "workers", "alarm", "group", "cliques", "clique_size", "attribute_anomalies",
        "candidates", "repetitions", "seeds",
    ),
    "SHARE": ("false_alarms", "contamination"),
    "SIZE": ("memory_limit",),
    "NAME": ("detector", "preset", "device", "engine"),
    "NAME=VALUE": ("settings",),
    "KIND": ("evidence",),
    "FILE": ("verdicts", "only"),
    "CHOICE": ("missing", "duplicates", "protocol"),
    "SECONDS": ("time_limit",),
}  # fmt: skip


def decorate(app: Any) -> Any:
    """Add examples, panels and words to the commands of an app, and return it."""
    app.epilog = _epilog(START)
    _decorate_options(app, grouped=False)
    for name, command in app.commands.items():
        for part, each in getattr(command, "commands", {"": command}).items():
            each.epilog = _epilog(EXAMPLES[f"{name} {part}".strip()])
            _decorate_options(each, grouped=name in GROUPED)
    return app


def _decorate_options(command: Any, *, grouped: bool) -> None:
    panels = {option: panel for panel, options in PANELS.items() for option in options}
    words = {option: word for word, options in WORDS.items() for option in options}
    ask_for_help = command.get_help_option
    command.get_help_option = lambda context: _without_type(ask_for_help(context))
    for each in command.params:
        if each.param_type_name != "option":
            each.metavar = each.metavar or each.name.upper()
            _without_type(each)
            continue
        if grouped and each.name in panels:
            each.rich_help_panel = panels[each.name]
        each.metavar = "" if each.is_flag else words.get(each.name, each.metavar or "TEXT")
        if each.is_flag:
            _without_type(each)
        if each.name == "detector":
            each.help = f"One of {', '.join(_detectors())}."


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
