"""Look at suspects in the browser and record verdicts."""

from __future__ import annotations

import getpass
from pathlib import Path
from typing import Annotated

import typer


def review(
    folder: Annotated[Path, typer.Argument(help="The folder of a finished run.", metavar="DIR")],
    reviewer: Annotated[
        str | None, typer.Option(help="Who the verdicts are by.", show_default="your user name")
    ] = None,
    database: Annotated[
        str | None, typer.Option(help="Keep verdicts in a shared PostgreSQL: postgresql://…", show_default="in DIR")
    ] = None,
    host: Annotated[str, typer.Option(help="Address to listen on; the default is this machine only.")] = "127.0.0.1",
    port: Annotated[int, typer.Option(help="Port to listen on; 0 is any free one.", min=0, max=65535)] = 0,
    token: Annotated[str | None, typer.Option(help="The secret in the address.", show_default="a new one")] = None,
    browser: Annotated[bool, typer.Option("--open/--no-open", help="Open the page in the browser.")] = True,
) -> None:
    """Look at suspects in the browser, record verdicts, and have the ranking learn from them."""
    from hopsight.review.serve import serve

    serve(
        folder, reviewer=reviewer if reviewer is not None else _user(), host=host, port=port, place=database,
        token=token, browser=browser, say=lambda text: typer.echo(text, err=True),
    )  # fmt: skip


def _user() -> str:
    try:
        return getpass.getuser()
    except (KeyError, OSError):
        return "reviewer"
