"""Describe several tables of one graph: a node table per type, an edge table per relation.

A ``graph.toml`` names them::

    rank = "user"

    [nodes.user]
    file = "users.parquet"
    id = "id"
    label = "fraud"

    [edges.paid]
    file = "payments.parquet"
    source = "from_user_id"
    target = "to_user_id"
    source_type = "user"
    target_type = "user"
    weight = "amount"

Types whose nodes are listed nowhere, such as cards of which only the ids are known, need no table.
"""

from __future__ import annotations

import tomllib
from collections.abc import Mapping, Sequence
from dataclasses import fields
from pathlib import Path
from typing import Any

from hopsight.checks import suggest
from hopsight.io.sources import reading
from hopsight.io.tables import Description, EdgeTable, NodeTable

OF_NODES, OF_EDGES = (
    [each.name for each in fields(table) if each.name not in ("type", "header")] for table in (NodeTable, EdgeTable)
)
OF_GRAPH = ("rank", "nodes", "edges")
LISTS = ("attributes", "ignore", "category")


def read_description(path: Path) -> Description:
    """Read a ``graph.toml``; files in it are relative to its folder."""
    with reading(path):
        try:
            content = tomllib.loads(path.read_text(encoding="utf-8-sig"))
        except (tomllib.TOMLDecodeError, UnicodeDecodeError) as error:
            quotes = "; write texts in quotes" if "Invalid value" in str(error) else ""
            raise ValueError(f"it is not a TOML file: {error}{quotes}") from None
        _check_keys(content, OF_GRAPH, "at the top")
        rank = content.get("rank")
        if rank is not None and not isinstance(rank, str):
            raise ValueError(f"rank must be the name of a type, got {rank!r}")
        parts: dict[str, dict[str, Any]] = {}
        for part, keys in (("nodes", OF_NODES), ("edges", OF_EDGES)):
            parts[part] = content.get(part, {})
            if not isinstance(parts[part], dict):
                raise ValueError(f"write [{part}.NAME] above each table, not {part} = …")
            for name, table in parts[part].items():
                where = f"in [{part}.{name}]"
                if not isinstance(table, dict) or "file" not in table:
                    raise ValueError(f"there is no file {where}")
                _check_keys(table, keys, where)
                _check_values(table, where)
                if table["file"].lower().endswith(".toml"):
                    raise ValueError(f"file {where} must be a table, got {table['file']!r}")
                if "://" not in table["file"]:  # of a server
                    table["file"] = str(path.parent / table["file"])
        if not parts["edges"]:
            raise ValueError("it has no [edges.NAME] table; a graph needs edges")
        return Description(
            {name: NodeTable(**table) for name, table in parts["nodes"].items()},
            {name: EdgeTable(**table) for name, table in parts["edges"].items()},
            rank,
            path.parent.resolve().name if path.stem == "graph" else path.stem,
        )


def description_of(nodes: Mapping[str, Any] | None, edges: Mapping[Any, Any]) -> Description:
    """Return what Python gives: tables of nodes by type, and tables of edges by (type, relation, type)."""
    if not isinstance(edges, Mapping) or not edges:
        raise ValueError('edges must map (type, relation, type) to a table, as in {("user", "paid", "user"): frame}')
    if nodes is not None and not isinstance(nodes, Mapping):
        raise ValueError('nodes must map each type to a table, as in {"user": frame}, where edges has several tables')
    of_nodes = {
        str(kind): NodeTable(**_options(table, OF_NODES, f"of nodes[{kind!r}]"))
        for kind, table in (nodes or {}).items()
    }
    of_edges: dict[str, EdgeTable] = {}
    for key, table in edges.items():
        if not (isinstance(key, tuple) and len(key) == 3 and all(isinstance(word, str) for word in key)):
            raise ValueError(f"edges must be named (type, relation, type), got {key!r}")
        first, relation, second = key
        options = _options(table, OF_EDGES, f"of edges[{key!r}]")
        name = relation if relation not in of_edges else f"{first} {relation} {second}"
        of_edges[name] = EdgeTable(**{"source_type": first, "target_type": second, **options})
    return Description(of_nodes, of_edges)


def _options(table: Any, known: Sequence[str], where: str) -> dict[str, Any]:
    """Return the options of a table that Python gives alone or as a mapping with ``file`` and names of columns."""
    if isinstance(table, Mapping) and "file" in table:
        _check_keys(table, known, where)
        return dict(table)
    return {"file": table}


def _check_keys(table: Mapping[str, Any], known: Sequence[str], where: str) -> None:
    for key in table:
        if key not in known:
            near = suggest(key, known) or f"; there are {', '.join(known)}"
            raise ValueError(f"there is no setting {key!r} {where}{near}")


def _check_values(table: Mapping[str, Any], where: str) -> None:
    for key, value in table.items():
        if key in LISTS:
            fits, kind = isinstance(value, list) and all(isinstance(each, str) for each in value), "a list of columns"
        elif key == "directed":
            fits, kind = isinstance(value, bool), "true or false"
        else:
            fits, kind = isinstance(value, str), "a text"
        if not fits:
            raise ValueError(f"{key} {where} must be {kind}, got {value!r}")
