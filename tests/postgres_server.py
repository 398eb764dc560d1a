"""A real PostgreSQL server of our own, for the tests that need one."""

import os
import shutil
import socket
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path


def programs() -> Path | None:
    """Return the folder of the programs of the server, or None if it is not installed."""
    found = sorted(Path("/usr/lib/postgresql").glob("*/bin/initdb")) or [Path(shutil.which("initdb") or "initdb")]
    return found[-1].parent if found[-1].is_file() else None


@contextmanager
def postgres_server(folder: Path) -> Iterator[str]:
    """Start a server in an empty folder and yield its address; PostgreSQL refuses to run as root."""
    tools = programs()
    assert tools is not None, "PostgreSQL is not installed: install Debian's package postgresql"
    with socket.create_server(("127.0.0.1", 0)) as free:
        port = free.getsockname()[1]
    user = "postgres" if os.getuid() == 0 else None
    if user:
        shutil.chown(folder, user)
        for parent in (folder, *folder.parents[:3]):
            if parent.stat().st_uid == 0 and parent != Path("/"):
                parent.chmod(parent.stat().st_mode | 0o011)
    data = folder / "data"
    options = f"-p {port} -k {folder} -c listen_addresses=127.0.0.1"
    subprocess.run([tools / "initdb", "-D", data, "-A", "trust", "-U", "ann"], check=True, user=user, cwd=folder)
    start = [tools / "pg_ctl", "-D", data, "-o", options, "-l", folder / "log", "-w"]
    subprocess.run([*start, "start"], check=True, user=user, cwd=folder)
    try:
        yield f"postgresql://ann:secret@127.0.0.1:{port}/postgres"
    finally:
        subprocess.run([*start, "stop", "-m", "immediate"], check=True, user=user, cwd=folder)
