"""Look at finished runs: explain what they found, compare two, review suspects in the browser."""

from __future__ import annotations

import getpass
from pathlib import Path
from typing import Annotated

import typer

from hopsight.cli.options import Json, Run, Top


def explain(
    folder: Run,
    node: Annotated[
        str | None, typer.Argument(help="The id of a node, or of the source of an edge.", show_default=False)
    ] = None,
    target: Annotated[str | None, typer.Argument(help="The id of the target of the edge.", show_default=False)] = None,
    group: Annotated[int | None, typer.Option(help="The number of a group in groups.csv.")] = None,
    as_json: Json = False,
) -> None:
    """Explain a node, the edge between two nodes, or a group of a finished run."""
    from hopsight.checks import printable
    from hopsight.explanations.text import printable_json
    from hopsight.runs.finished import explain as explain_run
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


def compare(
    first: Annotated[Path, typer.Argument(help="The folder of a finished run.", metavar="DIR", show_default=False)],
    second: Annotated[Path, typer.Argument(help="The folder of another.", metavar="DIR", show_default=False)],
    top: Top = 20,
    as_json: Json = False,
) -> None:
    """Show what changed between two runs: nodes, flags, ranks and settings."""
    from hopsight.explanations.text import printable_json
    from hopsight.runs.finished import compare as compare_runs

    found = compare_runs(first, second, top=top)
    typer.echo(printable_json(found.to_dict()) if as_json else str(found))


def review(
    folder: Run,
    reviewer: Annotated[
        str | None, typer.Option(help="Who the verdicts are by.", show_default="your user name")
    ] = None,
    host: Annotated[str, typer.Option(help="Address to listen on; the default is this machine only.")] = "127.0.0.1",
    port: Annotated[int, typer.Option(help="Port to listen on; 0 is any free one.", min=0, max=65535)] = 0,
    token: Annotated[str | None, typer.Option(help="The secret in the address.", show_default="a new one")] = None,
    browser: Annotated[bool, typer.Option("--open/--no-open", help="Open the page in the browser.")] = True,
) -> None:
    """Review suspects in the browser; the ranking learns from your verdicts."""
    from hopsight.review.serve import serve

    serve(
        folder, reviewer=reviewer if reviewer is not None else _user(), host=host, port=port, token=token,
        browser=browser, say=lambda text: typer.echo(text, err=True),
    )  # fmt: skip


def _user() -> str:
    try:
        return getpass.getuser()
    except (KeyError, OSError):
        return "reviewer"
