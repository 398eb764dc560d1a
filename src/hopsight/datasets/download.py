"""Download a published graph, verify it, and keep it in the cache of the user."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from hopsight.datasets.catalog import cache_folder, get_entry, how_to_get
from hopsight.datasets.published import Entry
from hopsight.system.files import replacing

if TYPE_CHECKING:
    from rich.progress import Progress

PIECE = 1 << 16  # bytes that are written at a time


def fetch(
    name: str | Entry,
    *,
    base_url: str | None = None,
    cache_dir: str | Path | None = None,
    progress: bool = True,
    timeout: float = 30.0,
) -> Path:
    """Return the file of a graph, downloading it unless the cache has an undamaged copy.

    The file appears in the cache in one step, after its checksum has been verified, so several processes may fetch
    the same graph at once.

    Parameters
    ----------
    name
        A name or alias in the catalog, or an entry of your own.
    base_url
        Another server with the same layout (``repository/commit/path``), such as a mirror.
    cache_dir
        Folder to keep the file in; by default the cache of the user.
    progress
        Show a progress bar on standard error, if that is a terminal.
    timeout
        Seconds to wait for an answer of the server.

    Raises
    ------
    ValueError
        If the name is unknown, the server cannot be reached or has no such file, the connection is lost, the
        checksum is wrong, or the cache cannot be written. Nothing is left behind.
    """
    entry = name if isinstance(name, Entry) else get_entry(name)
    if not entry.can_be_fetched:
        raise ValueError(f"cannot fetch {entry.name!r}: it has no published checksum; {how_to_get(entry)}")
    folder = cache_folder() if cache_dir is None else Path(cache_dir)
    target = folder / entry.file_name
    if target.is_file() and entry.checksum_of(target) == entry.checksum:
        return target
    try:
        folder.mkdir(parents=True, exist_ok=True)
        with replacing(target) as temporary:
            _download(entry, entry.address(base_url), temporary, progress=progress, timeout=timeout)
    except OSError as error:
        raise ValueError(f"cannot keep {entry.name!r} in {folder}: {error.strerror or error}") from None
    return target


def _download(entry: Entry, url: str, file: Path, *, progress: bool, timeout: float) -> None:
    """Download a file and verify it."""
    import requests

    refusal = f"cannot fetch {entry.name!r} from {url}:"
    try:
        with requests.get(url, stream=True, timeout=timeout) as answer, file.open("wb") as copy, _bar(progress) as bar:
            answer.raise_for_status()
            size = int(answer.headers.get("content-length", 0)) or None
            task = bar.add_task(entry.file_name, total=size)
            for piece in answer.iter_content(PIECE):
                copy.write(piece)
                bar.advance(task, len(piece))
    except requests.HTTPError as error:
        status = 0 if error.response is None else error.response.status_code
        reason = "the server has no such file" if status in (404, 410) else "the server refused"
        raise ValueError(f"{refusal} {reason} (HTTP {status})") from None
    except (requests.exceptions.ChunkedEncodingError, requests.exceptions.ContentDecodingError):
        raise ValueError(f"{refusal} the connection was lost") from None
    except requests.Timeout:
        raise ValueError(f"{refusal} the server did not answer within {timeout:g} s") from None
    except requests.RequestException as error:
        was_lost = "timed out" in str(error).lower() or "aborted" in str(error).lower()
        reason = "the connection was lost" if was_lost else "the server cannot be reached"
        raise ValueError(f"{refusal} {reason}") from None
    found = entry.checksum_of(file)
    if found != entry.checksum:
        raise ValueError(f"{refusal} the file has checksum {found} instead of {entry.checksum} and was discarded")


def _bar(shown: bool) -> Progress:
    """Return a progress bar on standard error, if that is a terminal."""
    from rich.console import Console
    from rich.progress import BarColumn, DownloadColumn, Progress, TextColumn, TransferSpeedColumn

    console = Console(stderr=True)
    columns = TextColumn("{task.description}"), BarColumn(), DownloadColumn(), TransferSpeedColumn()
    return Progress(*columns, console=console, disable=not (shown and console.is_terminal))
