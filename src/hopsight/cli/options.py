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
WeightColumn = Annotated[str | None, typer.Option(help="Column of the edge list with the weight of each edge.")]
TimeColumn = Annotated[str | None, typer.Option(help="Column of the edge list with the time of each edge.")]
TypeColumn = Annotated[str | None, typer.Option(help="Column of the node table with the kind of each node.")]
NameColumn = Annotated[str | None, typer.Option(help="Column of the node table with a name to show beside the id.")]
Category = Annotated[
    list[str] | None, typer.Option(help="Column of codes, such as a zip code, to read as categories; may be repeated.")
]
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
    typer.Option("--bipartite/--one-kind", help="The ends of an edge are two kinds of nodes, or one."),
]
Missing = Annotated[
    str, typer.Option(help="Empty attribute cells: fill them and flag them, fill in the mean, or refuse them.")
]
DataDir = Annotated[str | None, typer.Option(help="Folder with local copies of catalog graphs.")]
Quiet = Annotated[bool, typer.Option("--quiet", help="Do not report progress on standard error.")]
Seed = Annotated[int, typer.Option(help="Random seed.")]
Top = Annotated[int, typer.Option(help="Number of nodes to show and explain.")]
Run = Annotated[Path, typer.Argument(help="The folder of a finished run.", metavar="DIR")]
Json = Annotated[bool, typer.Option("--json", help="Print JSON instead of text.")]
Out = Annotated[Path, typer.Option(help="Output folder; an earlier run in it is replaced on success.")]
Csv = Annotated[bool, typer.Option("--csv", help="Write CSV instead of Parquet even for more than a million rows.")]
