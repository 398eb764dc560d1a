"""Explain what a finished run found."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer


def explain(
    folder: Annotated[Path, typer.Argument(help="The folder of a finished run.", metavar="DIR")],
    node: Annotated[
        str | None, typer.Argument(help="The id of a node, or of the source of an edge.", show_default=False)
    ] = None,
    target: Annotated[str | None, typer.Argument(help="The id of the target of the edge.", show_default=False)] = None,
    group: Annotated[int | None, typer.Option(help="The number of a group in groups.csv.")] = None,
    as_json: Annotated[bool, typer.Option("--json", help="Print JSON instead of text.")] = False,
) -> None:
    """Explain a node, the edge between two nodes, or a group of a finished run."""
    from hopsight.explanations.text import printable, printable_json
    from hopsight.runs.explain import explain as explain_run
    from hopsight.runs.folder import OVER_TIME

    if (folder / OVER_TIME).is_file():
        from hopsight.streams.results import explain_node, explain_pair

        if node is None or group is not None:
            raise ValueError(f"{folder} is a run over time, which has no groups: name a node, or a source and a target")
        found = explain_node(folder, node) if target is None else explain_pair(folder, node, target)
        typer.echo(printable_json(found) if as_json else printable(found["summary"]))
        return
    reasons = explain_run(folder, node, target, group=group)
    typer.echo(printable_json(reasons.to_dict()) if as_json else str(reasons))
