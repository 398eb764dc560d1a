"""Where verdicts are kept: one row per decision, never changed; taking a decision back is another row.

The rows are in SQLite (with a write-ahead log) in the run folder. A row is written once, whatever happens: the window
chooses an id for its request, and repeats the request with that id until it is confirmed. A confirmed row is on the
disk.
"""

from __future__ import annotations

import hashlib
import sqlite3
from collections.abc import Iterator, Sequence
from contextlib import closing, contextmanager
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from time import monotonic, sleep
from typing import Any

from hopsight.checks import check_choice
from hopsight.graph import AttributedGraph
from hopsight.io.labels import VERDICTS

FILE = "verdicts.sqlite"
UNDO = "undo"
WAIT = 30.0  # seconds to wait for another writer
MAX_NOTE, MAX_REVIEWER, MAX_REQUEST = 2000, 100, 100  # characters

COLUMNS = ("number", "request", "graph", "node", "verdict", "note", "reviewer", "decided", "undoes")
SCHEMA = """
CREATE TABLE IF NOT EXISTS decisions (
  number INTEGER PRIMARY KEY AUTOINCREMENT,
  request TEXT NOT NULL UNIQUE,
  graph TEXT NOT NULL,
  node TEXT NOT NULL,
  verdict TEXT NOT NULL CHECK (verdict IN ('anomalous', 'normal', 'unsure', 'undo')),
  note TEXT NOT NULL,
  reviewer TEXT NOT NULL,
  decided TEXT NOT NULL,
  undoes BIGINT UNIQUE REFERENCES decisions (number),
  CHECK ((verdict = 'undo') = (undoes IS NOT NULL))
)
"""


@dataclass(frozen=True)
class Decision:
    """One row: a verdict on a node, or the undoing of an earlier row."""

    number: int
    request: str
    graph: str
    node: str
    verdict: str
    note: str
    reviewer: str
    decided: str
    undoes: int | None


class Store:
    """The decisions about one graph (:func:`graph_key`) in a SQLite file."""

    def __init__(self, path: Path, graph: str) -> None:
        self.path, self.graph = path, graph
        if path.is_symlink() or (path.exists() and not path.is_file()):
            raise ValueError(f"{path} is a symbolic link, pipe or device: move it away, verdicts are kept in a file")
        with self._connection(mode="rwc") as connection:
            connection.execute(SCHEMA)

    def add(self, request: str, node: str, verdict: str, note: str, reviewer: str) -> Decision:
        """Write a verdict, unless this request is already written, and return its row."""
        check_choice("verdict", verdict, VERDICTS)
        with self._connection() as connection:
            self._insert(connection, (request, self.graph, node, verdict, note, reviewer, _now(), None))
            return self._written(connection, request, node, verdict)

    def undo(self, request: str, reviewer: str) -> Decision | None:
        """Take back the reviewer's latest decision that still stands; None if there is none."""
        with self._connection() as connection:
            if self._select(connection, "request = ?", (request,)):
                return self._written(connection, request, None, UNDO)
            last = self._select(
                connection,
                "graph = ? AND reviewer = ? AND verdict <> ? AND number NOT IN "
                "(SELECT undoes FROM decisions WHERE undoes IS NOT NULL) ORDER BY number DESC LIMIT 1",
                (self.graph, reviewer, UNDO),
            )
            if not last:
                return None
            row = (request, self.graph, last[0].node, UNDO, "", reviewer, _now(), last[0].number)
            self._insert(connection, row)
            return self._written(connection, request, None, UNDO)

    def rows(self) -> list[Decision]:
        """Return all decisions about this graph, in the order in which they were made."""
        with self._connection(write=False) as connection:
            return self._select(connection, "graph = ? ORDER BY number", (self.graph,))

    def _written(self, connection: Any, request: str, node: str | None, verdict: str) -> Decision:
        """Return the row of a request; refuse a request whose id was used for something else."""
        row = self._select(connection, "request = ?", (request,))[0]
        if (row.graph, row.verdict) != (self.graph, verdict) or node not in (None, row.node):
            raise ValueError("the id of this request was used for another graph or decision: choose a new one")
        return row

    def _insert(self, connection: Any, values: Sequence[Any]) -> None:
        names = COLUMNS[1:]
        marks = ", ".join("?" * len(names))
        connection.execute(
            f"INSERT INTO decisions ({', '.join(names)}) VALUES ({marks}) ON CONFLICT (request) DO NOTHING", values
        )

    def _select(self, connection: Any, where: str, values: Sequence[Any]) -> list[Decision]:
        query = f"SELECT {', '.join(COLUMNS)} FROM decisions WHERE {where}"
        rows = connection.execute(query, values).fetchall()
        if not all(isinstance(cell, str) for row in rows for cell in row[1:-1]):
            raise OSError(None, "cannot keep verdicts (the table of decisions is not hopsight's)", str(self.path))
        return [Decision(*row) for row in rows]

    @contextmanager
    def _connection(self, *, write: bool = True, mode: str = "rw") -> Iterator[Any]:
        """Open one transaction; it is on the disk when the block ends. A file that has gone is not made again."""
        address = f"{self.path.absolute().as_uri()}?mode={mode}"
        try:
            with closing(sqlite3.connect(address, timeout=WAIT, isolation_level=None, uri=True)) as connection:
                _begin(connection, write)
                yield connection
                connection.execute("COMMIT")
        except sqlite3.Error as error:
            raise OSError(None, f"cannot keep verdicts ({error})", str(self.path)) from error


def _begin(connection: Any, write: bool) -> None:
    """Begin a transaction; where SQLite does not wait by itself, as while another process recovers its log, wait."""
    begun = monotonic()
    while True:
        try:
            connection.execute("PRAGMA journal_mode = WAL")
            connection.execute("PRAGMA synchronous = FULL")
            connection.execute("PRAGMA foreign_keys = ON")
            connection.execute("BEGIN IMMEDIATE" if write else "BEGIN")
            return
        except sqlite3.OperationalError as error:
            if "locked" not in str(error) or monotonic() > begun + WAIT:
                raise
            sleep(0.05)


def current(rows: Sequence[Decision]) -> dict[str, Decision]:
    """Return the decision that stands for each node: the latest that was not undone, whoever made it."""
    undone = {row.undoes for row in rows if row.undoes is not None}
    return {row.node: row for row in rows if row.undoes is None and row.number not in undone}


def graph_key(graph: AttributedGraph) -> str:
    """Return a short key of a graph's nodes: runs on the same nodes share their verdicts."""
    names = "\n".join(map(repr, graph.node_ids.tolist()))
    return hashlib.sha256(names.encode("utf-8", "surrogatepass")).hexdigest()[:16]


def _now() -> str:
    return datetime.now(UTC).isoformat(timespec="milliseconds")
