"""hopsight review as a process: the address it prints, and kills while two windows write."""

from __future__ import annotations

import http.client
import json
import os
import resource
import signal
import socket
import subprocess
import sys
import threading
import time
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest

from hopsight.review.serve import serve
from hopsight.review.storage import FILE
from hopsight.runs.finished import open_run
from review_served import TOKEN


def start(folder: Path, port: int, *options: str) -> subprocess.Popen[str]:
    command = [sys.executable, "-m", "hopsight", "review", str(folder), "--port", str(port), "--token", TOKEN]
    return subprocess.Popen([*command, "--no-open", *options], stderr=subprocess.PIPE, text=True)


def free_port() -> int:
    with socket.create_server(("127.0.0.1", 0)) as listener:
        return int(listener.getsockname()[1])


def send(port: int, path: str, body: dict[str, Any]) -> dict[str, Any]:
    headers = {"Content-Type": "application/json", "X-Hopsight-Token": TOKEN, "Origin": f"http://127.0.0.1:{port}"}
    with closing(http.client.HTTPConnection("127.0.0.1", port, timeout=5)) as connection:
        connection.request("POST", path, json.dumps(body), headers)
        with connection.getresponse() as answer:
            text = answer.read().decode()
    assert answer.status == 200, text
    found: dict[str, Any] = json.loads(text)
    return found


def test_the_address_is_printed_verdicts_are_kept_and_a_network_is_warned_about(run_folder: Path) -> None:
    port = free_port()
    server = start(run_folder, port, "--reviewer", "zoe", "--host", "0.0.0.0")
    assert server.stderr is not None
    opening, warning, address = (server.stderr.readline() for _ in range(3))
    assert opening.startswith(f"Opening {run_folder}")  # a large run takes seconds: say so at once
    assert "not encrypted" in warning and f":{port}/?token={TOKEN}" in address
    for _ in range(100):
        try:
            assert send(port, "/api/decide", {"request": "r", "place": 2, "verdict": "normal"})["number"] == 1
            break
        except ConnectionError:
            time.sleep(0.1)
    os.kill(server.pid, signal.SIGKILL)
    server.communicate()
    rows = opened(run_folder)
    assert [(row.node, row.reviewer) for row in rows] == [("user-002", "zoe")]


def opened(folder: Path) -> list[Any]:
    from hopsight.review.storage import Store, graph_key

    return Store(folder / FILE, graph_key(open_run(folder)[1])).rows()


@pytest.mark.attack
def test_20_kills_of_the_server_while_two_windows_write_lose_nothing(run_folder: Path) -> None:
    kill_servers(run_folder, 20)


def kill_servers(run_folder: Path, kills: int) -> None:
    """Kill the server again and again; every verdict that a window saw confirmed is there, once."""
    port, stop = free_port(), threading.Event()
    confirmed: dict[str, int] = {}

    def window(name: str) -> None:
        """Send verdicts, each until it is confirmed, as the page does."""
        number = 0
        while not stop.is_set():
            request = f"{name}-{number}"
            try:
                confirmed[request] = send(port, "/api/decide", {"request": request, "place": 3, "verdict": "normal"})[
                    "number"
                ]
                number += 1
            except (OSError, http.client.HTTPException):
                time.sleep(0.02)

    windows = [threading.Thread(target=window, args=(name,)) for name in ("one", "two")]
    for each in windows:
        each.start()
    for kill in range(kills):
        server, before = start(run_folder, port), len(confirmed)
        while len(confirmed) < before + 7 + kill:
            assert server.poll() is None
            time.sleep(0.005)
        if kill == kills - 1:
            stop.set()
            for each in windows:
                each.join()
        os.kill(server.pid, signal.SIGKILL)
        server.communicate()
    rows = {row.request: row.number for row in opened(run_folder)}
    assert len(rows) == len(opened(run_folder))  # nothing is written twice
    assert confirmed.items() <= rows.items()
    assert len(rows) <= len(confirmed) + 2


@pytest.mark.attack
def test_1100_half_open_connections_block_nobody_and_are_not_reported(run_folder: Path) -> None:
    port = free_port()
    server = start(run_folder, port)
    assert server.stderr is not None
    while "Stop with Ctrl-C" not in server.stderr.readline():
        assert server.poll() is None
    files = resource.getrlimit(resource.RLIMIT_NOFILE)
    resource.setrlimit(resource.RLIMIT_NOFILE, (min(files[1], 4096), files[1]))
    opened = []
    for _ in range(1100):
        opened.append(socket.create_connection(("127.0.0.1", port), timeout=20))
        opened[-1].sendall(b"GET / HTTP/1.1\r\nHost: ")
    assert send(port, "/api/decide", {"request": "r", "place": 2, "verdict": "normal"})["number"] == 1
    for each in opened:
        each.close()
    resource.setrlimit(resource.RLIMIT_NOFILE, files)
    server.terminate()
    assert len(server.communicate()[1]) < 1000


def test_bad_options_are_refused_in_one_sentence(run_folder: Path, tmp_path: Path) -> None:
    for folder, options, message in (
        (tmp_path, {}, "no finished run"),
        (run_folder, {"reviewer": " "}, "reviewer must be a name"),
        (run_folder, {"token": "short"}, "token must have at least 16 characters"),
        (run_folder, {"host": "no.such.host.invalid"}, "cannot listen on"),
    ):
        with pytest.raises(ValueError, match=message):
            serve(folder, **{"reviewer": "ann", "browser": False, **options})  # type: ignore[arg-type]
