"""Read Parquet files in a separate process.

A damaged Parquet file can make a reader abort its whole process, which no ``except`` catches. So this module is also
a small program that reads the requested columns and sends them back; if it dies, the file is damaged.

Each request is a line of JSON on standard input. The answer is a line of JSON on standard output (``names``,
``n_rows`` and ``n_bytes``, or ``error``), followed by n_bytes of an Arrow stream if columns were requested.
"""

from __future__ import annotations

import io
import json
import os
import subprocess
import sys
import threading
from collections.abc import Sequence
from pathlib import Path
from types import TracebackType
from typing import TYPE_CHECKING, Any, Self

if TYPE_CHECKING:
    import polars as pl

PIECE = 64 * 2**20  # bytes of columns that are sent at once
READER_BYTES = 512 * 2**20  # memory for the reader itself
SECONDS, BYTES_PER_SECOND = 60, 2**20  # every undamaged file is read far faster


class ParquetFile:
    """A Parquet file and the process that reads it.

    Parameters
    ----------
    path
        The file.
    """

    def __init__(self, path: Path) -> None:
        self._path = path
        self._process: Any = None

    def __enter__(self) -> Self:
        from hopsight.io.files import loaded_limit  # not at the top: the program must start without scipy

        _check_ends(self._path)
        limit = READER_BYTES + 2 * loaded_limit(self._path.stat().st_size)
        self._process = subprocess.Popen(
            [sys.executable, "-P", __file__, str(limit)],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,  # a panic prints many lines
            env=os.environ | {"PYTHONPATH": os.pathsep.join(filter(None, sys.path))},
        )
        return self

    def __exit__(self, *_: type[BaseException] | BaseException | TracebackType | None) -> None:
        self._process.kill()
        self._process.communicate()

    def names(self) -> tuple[str, ...]:
        """Return the names of the columns."""
        return tuple(self._ask([])[0]["names"])

    def read(self, columns: Sequence[str]) -> pl.DataFrame:
        """Return these columns, in this order."""
        import polars as pl

        from hopsight.io.files import check_loaded

        n_rows = int(self._ask([])[0]["n_rows"])
        check_loaded(self._path.stat().st_size, n_nodes=n_rows, n_numbers=n_rows * len(columns))
        at_once = max(1, PIECE // (8 * n_rows + 1))
        pieces = [
            pl.read_ipc_stream(io.BytesIO(self._ask(columns[start : start + at_once])[1]))
            for start in range(0, len(columns), at_once)
        ]
        return pl.concat(pieces, how="horizontal").select(columns)

    def _ask(self, columns: Sequence[str]) -> tuple[dict[str, Any], bytes]:
        request = {"path": str(self._path), "columns": list(columns)}
        seconds = SECONDS + self._path.stat().st_size / BYTES_PER_SECOND
        timer = threading.Timer(seconds, self._process.kill)
        timer.start()
        try:
            self._process.stdin.write(json.dumps(request).encode() + b"\n")
            self._process.stdin.flush()
            answer = json.loads(self._process.stdout.readline())
            content = self._process.stdout.read(answer.get("n_bytes", 0))
        except (OSError, ValueError):
            raise ValueError("it is damaged, or not a Parquet file") from None
        finally:
            timer.cancel()
        if "error" in answer:
            raise ValueError(answer["error"])
        return answer, content


def _check_ends(path: Path) -> None:
    """Refuse a file that cannot be Parquet, by the marks at its ends and the length of its footer."""
    with path.open("rb") as file:
        size = file.seek(0, os.SEEK_END)
        file.seek(0)
        start = file.read(4)
        file.seek(max(0, size - 8))
        end = file.read(8)
    if start != b"PAR1" or end[4:] != b"PAR1" or int.from_bytes(end[:4], "little") > size - 12:
        raise ValueError("it is damaged, or not a Parquet file")


def serve(limit: int) -> None:
    """Answer requests until there are no more; where the system allows it, memory is limited to so many bytes."""
    if sys.platform != "win32":
        import resource

        resource.setrlimit(resource.RLIMIT_DATA, (limit, limit))
    for line in sys.stdin.buffer:
        try:
            answer, content = _answer(**json.loads(line))
        except BaseException as error:
            # A panic of polars is not an Exception, and its message can be very long.
            answer, content = {"error": str(error).strip().partition("\n")[0][:300] or "it is damaged"}, memoryview(b"")
        sys.stdout.buffer.write(json.dumps(answer).encode() + b"\n")
        sys.stdout.buffer.write(content)
        sys.stdout.buffer.flush()


def _answer(path: str, columns: list[str]) -> tuple[dict[str, Any], memoryview]:
    import polars as pl

    lazy = pl.scan_parquet(path, glob=False)
    names = list(lazy.collect_schema())
    n_rows = int(lazy.select(pl.len()).collect().item())
    if not columns:
        return {"names": names, "n_rows": n_rows}, memoryview(b"")
    content = io.BytesIO()
    lazy.select(columns).collect().write_ipc_stream(content)
    return {"n_bytes": content.getbuffer().nbytes}, content.getbuffer()


if __name__ == "__main__":
    serve(int(sys.argv[1]))
