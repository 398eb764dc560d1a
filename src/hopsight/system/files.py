"""Write files as a whole, and lock folders."""

from __future__ import annotations

import os
import secrets
import sys
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import IO


@contextmanager
def replacing(path: Path) -> Iterator[Path]:
    """Yield a temporary file beside ``path`` that takes its place when the block succeeds, and is removed otherwise.

    The temporary file is created exclusively, never through a symbolic link, and is on the disk before it replaces
    the old one: after a power cut there is the old content or the new one.
    """
    temporary = path.with_name(f".{path.name[:100]}.{secrets.token_hex(6)}.part")
    try:
        temporary.open("xb").close()
        yield temporary
        _sync(temporary)
        temporary.replace(path)
    finally:
        with suppress(OSError):
            temporary.unlink(missing_ok=True)


def write_whole(path: Path, content: bytes | str) -> None:
    """Write a file that appears complete or not at all."""
    with replacing(path) as temporary:
        temporary.write_bytes(content.encode(errors="replace") if isinstance(content, str) else content)


def _sync(path: Path) -> None:
    handle = os.open(path, os.O_RDWR)
    try:
        os.fsync(handle)
    finally:
        os.close(handle)


if sys.platform == "win32":
    import msvcrt

    def try_lock(handle: IO[str]) -> bool:
        """Lock an open file for this process and return whether that was possible."""
        try:
            msvcrt.locking(handle.fileno(), msvcrt.LK_NBLCK, 1)
        except OSError:
            return False
        return True

else:
    import fcntl

    def try_lock(handle: IO[str]) -> bool:
        """Lock an open file for this process and return whether that was possible; a killed process holds no lock."""
        try:
            fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            return False
        return True
