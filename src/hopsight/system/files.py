"""Files written as a whole, and locks."""

from __future__ import annotations

import errno
import hashlib
import os
import re
import secrets
import stat
import sys
import time
from collections.abc import Collection, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import IO, Any

LOCK = ".hopsight-lock"
LEFTOVER = re.compile(r"\..+\.[0-9a-f]{12}\.part")
YOUNG = 60.0  # seconds
NO_ROOM = (errno.ENOSPC, errno.EDQUOT, errno.EFBIG, errno.EIO, errno.EROFS)


@contextmanager
def replacing(path: Path) -> Iterator[Path]:
    """Yield a temporary file beside ``path`` that takes its place when the block succeeds, and is removed otherwise.

    The temporary file is created exclusively, never through a symbolic link, and is on the disk before it replaces
    the old one: after a power cut there is the old content or the new one. Temporary files that killed processes left
    in the folder are removed.
    """
    _remove_leftovers(path.parent)
    temporary = path.with_name(f".{path.name[:100]}.{secrets.token_hex(6)}.part")
    try:
        with temporary.open("x", encoding="utf-8") as mark:
            if sys.platform != "win32":  # there, a lock would keep the block from writing
                try_lock(mark)  # says that the file is in use, until this process ends
            mode = stat.S_IMODE(os.fstat(mark.fileno()).st_mode)
            yield temporary
            temporary.chmod(mode)  # safetensors would let nobody else read it
            sync(temporary)
        temporary.replace(path)
    except OSError as error:
        raise _named(error, path, temporary) from None
    finally:
        with suppress(OSError):
            temporary.unlink(missing_ok=True)


def write_whole(path: Path, content: bytes | str) -> None:
    """Write a file that appears complete or not at all."""
    with replacing(path) as temporary:
        temporary.write_bytes(content.encode(errors="replace") if isinstance(content, str) else content)


def read_regular(path: Path) -> bytes:
    """Return the content of a file, but never wait for a pipe or read a device, which may have no end."""
    with open(path, "rb", opener=_open_at_once) as file:
        if not stat.S_ISREG(os.fstat(file.fileno()).st_mode):
            raise ValueError(f"{path} is not a file but a folder, pipe or device")
        return file.read()


def checksum(path: Path) -> str:
    """Return the SHA-256 checksum of a file."""
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()


def _open_at_once(path: str, flags: int) -> int:
    return os.open(path, flags | getattr(os, "O_NONBLOCK", 0))


def open_own(path: Path, mode: str) -> IO[Any]:
    """Open a file of ours to change it, but never one elsewhere through a symbolic link, nor a pipe or device."""
    return open(path, mode, encoding=None if "b" in mode else "utf-8", opener=_open_own)


def _open_own(path: str, flags: int) -> int:
    refusal = f"{path} is a symbolic link, folder, pipe or device: move it away, or choose another folder"
    if not hasattr(os, "O_NOFOLLOW") and Path(path).is_symlink():  # Windows cannot refuse while it opens
        raise ValueError(refusal)
    try:
        handle = os.open(path, flags | getattr(os, "O_NOFOLLOW", 0) | getattr(os, "O_NONBLOCK", 0), 0o666)
    except OSError as error:
        if error.errno in (errno.ELOOP, errno.ENXIO, errno.EISDIR):  # a link, a pipe that nobody reads, a folder
            raise ValueError(refusal) from None
        raise
    if not stat.S_ISREG(os.fstat(handle).st_mode):
        os.close(handle)
        raise ValueError(refusal)
    return handle


def sync(path: Path) -> None:
    """Wait until the content of a file is on the disk."""
    handle = os.open(path, os.O_RDWR)
    try:
        os.fsync(handle)
    finally:
        os.close(handle)


@contextmanager
def naming(path: Path) -> Iterator[None]:
    """Let an error that a full disk causes while the block writes a file name that file."""
    try:
        yield
    except OSError as error:
        raise _named(error, path, path) from None


def _named(error: OSError, path: Path, temporary: Path) -> OSError:
    """Return an error that names the file the user asked for: writing to a full disk names none."""
    number = error.errno
    if number is None:  # Rust's errors say "No space left on device (os error 28)"
        found = re.search(r"\(os error (\d+)\)", str(error))
        number = int(found[1]) if found else None
    if number is None or not (
        error.filename in (str(temporary), temporary) or (not error.filename and number in NO_ROOM)
    ):
        return error
    return OSError(number, os.strerror(number), str(path))


def _remove_leftovers(folder: Path) -> None:
    """Remove temporary files that no process holds locked; young ones may not be locked yet."""
    if sys.platform == "win32":
        return
    with suppress(OSError), os.scandir(folder) as entries:
        for entry in entries:
            if LEFTOVER.fullmatch(entry.name) and entry.is_file(follow_symlinks=False):
                with suppress(OSError), Path(entry.path).open("rb") as file:
                    old = time.time() - os.fstat(file.fileno()).st_mtime > YOUNG
                    if old and try_lock(file):
                        Path(entry.path).unlink()


@contextmanager
def held(folder: Path, created: Collection[Path] = ()) -> Iterator[None]:
    """Lock the folder while the block runs, then remove those of the ``created`` folders that are empty."""
    handle = _locked_file(folder)
    try:
        yield
    finally:
        with suppress(PermissionError):  # Windows does not remove an open file
            (folder / LOCK).unlink(missing_ok=True)
        handle.close()
        for path in created:
            if path.is_dir() and not any(path.iterdir()):
                path.rmdir()


def _locked_file(folder: Path) -> IO[str]:
    """Lock the folder; the system releases the lock when the process ends, however it ends."""
    path = folder / LOCK
    for _ in range(10):
        if folder.is_file():
            raise ValueError(f"{folder} is a file: choose a folder")
        folder.mkdir(parents=True, exist_ok=True)
        handle = open_own(path, "a+")  # held until the run ends
        if not try_lock(handle):
            handle.seek(0)
            process = handle.read().strip() or "unknown"
            handle.close()
            raise ValueError(
                f"another run (process {process}) is writing to {folder}: wait for it or choose another folder"
            )
        if path.exists() and os.path.samestat(os.fstat(handle.fileno()), path.stat()):
            handle.truncate(0)
            handle.write(str(os.getpid()))
            handle.flush()
            return handle
        handle.close()  # its owner removed it between our opening and locking it: try again
    raise OSError(f"cannot lock {folder}")


if sys.platform == "win32":
    import msvcrt

    def try_lock(handle: IO[Any]) -> bool:
        """Lock an open file for this process and return whether that was possible."""
        try:
            msvcrt.locking(handle.fileno(), msvcrt.LK_NBLCK, 1)
        except OSError:
            return False
        return True

else:
    import fcntl

    def try_lock(handle: IO[Any]) -> bool:
        """Lock an open file for this process and return whether that was possible; a killed process holds no lock."""
        try:
            fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            return False
        return True
