"""Arguments and options that several commands share."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

SOURCE = (
    "An edge list (text, .parquet, .xlsx, a folder of Parquet files, or a table such as bank.db?table=payments), a "
    "graph (.mat, .npz, .graphml, .gml, .gexf, .pt), or a name from the catalog."
)

SourceArgument = Annotated[str, typer.Argument(help=SOURCE, show_default=False)]
OptionalSource = Annotated[
    str | None, typer.Argument(help=f"{SOURCE} Default: the built-in demo graph.", show_default=False)
]
Nodes = Annotated[str | None, typer.Option(help="Node table for an edge list.")]
NoHeader = Annotated[bool, typer.Option("--no-header", help="The first line of the edge list is an edge.")]
Directed = Annotated[bool, typer.Option("--directed", help="Keep the direction of the edges.")]
Label = Annotated[str | None, typer.Option(help="Ground-truth label column; used only to evaluate the result.")]
Ignore = Annotated[list[str] | None, typer.Option(help="Column to leave out; may be repeated.")]
SourceColumn = Annotated[str | None, typer.Option(help="Column of the edge list with the source of each edge.")]
TargetColumn = Annotated[str | None, typer.Option(help="Column of the edge list with the target of each edge.")]
IdColumn = Annotated[str | None, typer.Option(help="Column of the node table with the node ids.")]
Missing = Annotated[str, typer.Option(help="Empty attribute cells: refuse them, or fill in the mean.")]
DataDir = Annotated[str | None, typer.Option(help="Folder with local copies of catalog graphs.")]
Quiet = Annotated[bool, typer.Option("--quiet", help="Do not report progress on standard error.")]
Seed = Annotated[int, typer.Option(help="Random seed.")]
Top = Annotated[int, typer.Option(help="Number of nodes to show and explain.")]
Out = Annotated[Path, typer.Option(help="Output folder; an earlier run in it is replaced on success.")]
