"""Download a published network, verify it, and keep it in the user's cache."""

from __future__ import annotations

import os
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from hopsight.datasets.catalog import cache_folder, get_network
from hopsight.datasets.published import Network


def fetch(
    name: str | Network,
    *,
    base_url: str | None = None,
    cache_dir: str | Path | None = None,
    progress: bool = True,
    timeout: float = 30.0,
) -> Path:
    """Return the file of a network, downloading it unless an undamaged copy is in the cache.

    The download goes to a file of its own and takes the final name only after its checksum is right, in one
    step: nobody ever sees half a file, and several processes may fetch the same network at once.

    Parameters
    ----------
    name
        A name or alias of the catalog, or an entry of your own.
    base_url
        Another server with the same layout (``repository/commit/path``), such as a mirror.
    cache_dir
        Where to keep it; the user's cache when left out.
    progress
        Show a bar on standard error, if that is a terminal.
    timeout
        Seconds without an answer after which the server counts as gone.

    Raises
    ------
    ValueError
        If the name is unknown, the server is out of reach or has no such file, the connection was cut, the
        checksum is wrong, or the cache cannot be written. Nothing is left behind.
    """
    network = name if isinstance(name, Network) else get_network(name)
    folder = cache_folder() if cache_dir is None else Path(cache_dir)
    target = folder / network.file_name
    if target.is_file() and network.checksum_of(target) == network.checksum:
        return target
    try:
        folder.mkdir(parents=True, exist_ok=True)
        with _scratch_file(target) as scratch:
            _download(network, network.address(base_url), scratch, progress=progress, timeout=timeout)
            scratch.replace(target)
    except OSError as error:
        raise ValueError(f"cannot keep {network.name!r} in {folder}: {error.strerror or error}") from None
    return target


def _download(network: Network, url: str, file: Path, *, progress: bool, timeout: float) -> None:
    """Write the file at ``url`` and verify it."""
    import pooch
    import requests

    refusal = f"cannot fetch {network.name!r} from {url}:"
    bar = _Bar(network.file_name) if progress else None
    try:
        pooch.HTTPDownloader(progressbar=bar or False, timeout=timeout)(url, str(file), None)
    except requests.HTTPError as error:
        status = 0 if error.response is None else error.response.status_code
        reason = "there is no such file" if status in (404, 410) else "the server refused"
        raise ValueError(f"{refusal} {reason} (HTTP {status})") from None
    except (requests.exceptions.ChunkedEncodingError, requests.exceptions.ContentDecodingError):
        raise ValueError(f"{refusal} the connection was cut before the end") from None
    except requests.Timeout:
        raise ValueError(f"{refusal} the server did not answer within {timeout:g} s") from None
    except requests.RequestException as error:
        cut = "timed out" in str(error).lower() or "aborted" in str(error).lower()
        reason = "the connection was cut before the end" if cut else "the server is out of reach"
        raise ValueError(f"{refusal} {reason}") from None
    finally:
        if bar is not None:
            bar.stop()
    found = network.checksum_of(file)
    if found != network.checksum:
        raise ValueError(f"{refusal} its checksum is {found}, the published one {network.checksum}; it was not kept")


@contextmanager
def _scratch_file(target: Path) -> Iterator[Path]:
    """Yield a new file beside ``target`` that is gone afterwards unless it was renamed."""
    handle, name = tempfile.mkstemp(prefix=f".{target.name}.", suffix=".part", dir=target.parent)
    os.close(handle)
    scratch = Path(name)
    try:
        yield scratch
    finally:
        scratch.unlink(missing_ok=True)


class _Bar:
    """The progress bar that pooch drives: ``total``, ``update``, ``reset`` and ``close``; it draws with rich."""

    def __init__(self, description: str) -> None:
        from rich.console import Console
        from rich.progress import BarColumn, DownloadColumn, Progress, TextColumn, TransferSpeedColumn

        console = Console(stderr=True)
        columns: tuple[Any, ...] = (
            TextColumn("{task.description}"),
            BarColumn(),
            DownloadColumn(),
            TransferSpeedColumn(),
        )
        self._progress = Progress(*columns, console=console, disable=not console.is_terminal)
        self._task = self._progress.add_task(description, total=None)
        self._progress.start()

    @property
    def total(self) -> float | None:
        """Number of bytes to expect."""
        return self._progress.tasks[0].total

    @total.setter
    def total(self, n_bytes: int) -> None:
        self._progress.update(self._task, total=n_bytes or None)

    def update(self, n_bytes: int) -> None:
        """Count bytes that have arrived."""
        self._progress.advance(self._task, n_bytes)

    def reset(self) -> None:
        """Count from zero again."""
        self._progress.update(self._task, completed=0)

    def close(self) -> None:
        """Do nothing: the bar ends in ``stop``, also when the download fails."""

    def stop(self) -> None:
        """Leave the terminal as it was."""
        self._progress.stop()
