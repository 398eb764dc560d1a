"""Compare two finished runs."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from hopsight.cli.options import Top


def compare(
    first: Annotated[Path, typer.Argument(help="The folder of a finished run.", metavar="DIR", show_default=False)],
    second: Annotated[Path, typer.Argument(help="The folder of another.", metavar="DIR", show_default=False)],
    top: Top = 20,
    as_json: Annotated[bool, typer.Option("--json", help="Print JSON instead of text.")] = False,
) -> None:
    """Show what changed between two runs: nodes, flags, ranks and settings."""
    from hopsight.explanations.text import printable_json
    from hopsight.runs.comparison import compare as compare_runs

    found = compare_runs(first, second, top=top)
    typer.echo(printable_json(found.to_dict()) if as_json else str(found))
