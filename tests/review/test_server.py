"""The server: who is answered, what is printed, and what it withstands."""

import base64
import hashlib
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
from collections.abc import Mapping
from contextlib import closing, suppress
from pathlib import Path
from typing import Any

import pytest

from hopsight.review.serve import serve
from hopsight.review.server import MAX_BODY, Guard, check_reviewer
from hopsight.review.storage import FILE
from hopsight.runs.finished import open_run
from review_served import TOKEN, Served
from toys import refuses

Answer = tuple[int, str, dict[str, str]]


def request(port: int, method: str, path: str, body: str | None, headers: Mapping[str, str]) -> Answer:
    """Return status, text and headers of what the server answers."""
    with closing(http.client.HTTPConnection("127.0.0.1", port, timeout=20)) as connection:
        connection.request(method, path, None if body is None else body.encode(), dict(headers))
        with connection.getresponse() as answer:
            names = {name.lower(): value for name, value in answer.getheaders()}
            return answer.status, answer.read().decode(), names


def own(port: int) -> dict[str, str]:
    """Return the headers with which the page sends a verdict."""
    return {"Content-Type": "application/json", "X-Hopsight-Token": TOKEN, "Origin": f"http://127.0.0.1:{port}"}


def ask(served: Served, method: str, path: str, body: Any = None, **headers: str) -> Answer:
    text = None if body is None else json.dumps(body)
    return request(served.port, method, path, text, {name.replace("_", "-"): each for name, each in headers.items()})


def post(served: Served, path: str, body: Any, **headers: str) -> Answer:
    changed = {name.replace("_", "-"): value for name, value in headers.items()}
    return request(served.port, "POST", path, json.dumps(body), own(served.port) | changed)


def send(served: Served, body: str) -> Answer:
    """Post a body that is not JSON of ours."""
    return request(served.port, "POST", "/api/decide", body, own(served.port))


def test_the_page_has_a_strict_policy_and_nothing_is_answered_without_the_token(served: Served) -> None:
    status, page, headers = ask(served, "GET", f"/?token={TOKEN}")
    assert status == 200 and "<script" in page and TOKEN not in page
    policy = headers["content-security-policy"]
    assert "default-src 'none'" in policy and "frame-ancestors 'none'" in policy and "unsafe" not in policy
    assert headers["x-content-type-options"] == "nosniff" and "access-control-allow-origin" not in headers
    for path in ("/", "/api/state", "/api/list?view=queue", "/api/node?place=0", "/verdicts.csv", "/?token=wrong"):
        status, text, headers = ask(served, "GET", path)
        assert status == 403 and "token" in text and headers["content-security-policy"]


def test_another_host_and_another_origin_are_refused(served: Served) -> None:
    good = {"X_Hopsight_Token": TOKEN}
    assert ask(served, "GET", "/api/state", **good)[0] == 200
    assert ask(served, "GET", "/api/state", **good, Host=f"localhost:{served.port}")[0] == 200
    for host in ("evil.example", f"evil.example:{served.port}", "127.0.0.1", f"127.0.0.1.evil.example:{served.port}"):
        assert ask(served, "GET", "/api/state", **good, Host=host)[0] == 403
    verdict = {"request": "r", "place": 1, "verdict": "normal"}
    for changes in ({"Origin": "http://evil.example"}, {"Origin": "null"}, {"Sec_Fetch_Site": "cross-site"}):
        assert post(served, "/api/decide", verdict, **changes)[0] == 403
    assert ask(served, "POST", f"/api/decide?token={TOKEN}", verdict, Content_Type="application/json")[0] == 403
    assert post(served, "/api/decide", verdict, Content_Type="text/plain")[0] == 415
    assert served.session.store.rows() == []


def test_requests_are_bounded_and_bad_ones_are_sentences(served: Served) -> None:
    assert post(served, "/api/decide", {"note": "x" * MAX_BODY})[0] == 413
    assert ask(served, "GET", "/api/search?text=" + "x" * 5000, X_Hopsight_Token=TOKEN)[0] == 414
    for body, message in (
        ({"request": "r", "place": 1, "verdict": "guilty"}, "verdict must be one of"),
        ({"request": "r", "place": "here", "verdict": "normal"}, "place must be a whole number"),
        ({"request": "r", "place": 10**9, "verdict": "normal"}, "no node at place"),
        ({"request": "", "place": 1, "verdict": "normal"}, "request must be a text"),
        ({"request": "r", "place": 1, "verdict": "normal", "note": "x" * 3000}, "note must be a text"),
        ([1], "not a JSON object"),
    ):
        status, text, _ = post(served, "/api/decide", body)
        assert status == 400 and message in json.loads(text)["error"]
    assert ask(served, "GET", "/api/node?place=x", X_Hopsight_Token=TOKEN)[0] == 400
    assert ask(served, "GET", "/api/nothing", X_Hopsight_Token=TOKEN)[0] == 404
    assert served.session.store.rows() == []


def test_a_repeated_request_is_written_once(served: Served) -> None:
    verdict = {"request": "same", "place": 1, "verdict": "normal", "note": "n"}
    answers = [post(served, "/api/decide", verdict) for _ in range(3)]
    assert {status for status, _, _ in answers} == {200} and len({text for _, text, _ in answers}) == 1
    assert len(served.session.store.rows()) == 1
    assert json.loads(post(served, "/api/undo", {"request": "u"})[1]) == {"place": 1}
    status, text, headers = ask(served, "GET", f"/verdicts.csv?token={TOKEN}")
    assert status == 200 and text == "node,verdict,reviewer,decided,note\n"
    assert "attachment" in headers["content-disposition"]


@pytest.mark.parametrize(
    ("host", "own"), [("192.168.1.5:80", True), ("[::1]:80", True), ("evil.example:80", False), ("", False)]
)
def test_on_a_network_an_address_in_numbers_is_accepted_and_a_name_is_not(host: str, own: bool) -> None:
    guard: Any = Guard(lambda *_: None, TOKEN, None)  # type: ignore[arg-type, return-value]
    assert guard._is_own(host) is own


def test_a_reviewer_has_a_name() -> None:
    assert check_reviewer(" Zoë ") == "Zoë"
    for name in ("", "  ", "x" * 101, "a\x1bb"):
        refuses("reviewer must be a name", check_reviewer, name)


@pytest.mark.parametrize("place", ["1.7", "true", "1_0", '"1_0"', '"\u0661"', "1e400", "NaN", "-1", '" 1"', "9" * 5000])
def test_a_place_that_is_only_almost_a_number_is_no_verdict(served: Served, place: str) -> None:
    body = f'{{"request": "r", "place": {place}, "verdict": "normal"}}'
    status, text, _ = send(served, body)
    assert status == 400 and "error" in json.loads(text) and served.session.store.rows() == []


def test_nested_brackets_and_half_characters_get_a_sentence(served: Served) -> None:
    assert send(served, "[" * 16_000)[:2] == (400, '{"error":"the request is not a JSON object"}')
    for note in ("\\ud800", "\\u0000"):
        status, text, _ = send(served, f'{{"request": "r", "place": 1, "verdict": "normal", "note": "{note}"}}')
        assert status == 400 and "note has characters that cannot be stored" in text
    assert served.session.store.rows() == []


def half_open(port: int, count: int) -> list[socket.socket]:
    """Open connections that never send the end of their headers."""
    found = [socket.create_connection(("127.0.0.1", port), timeout=20) for _ in range(count)]
    for each in found:
        each.sendall(b"GET / HTTP/1.1\r\nHost: ")
    return found


def is_closed(connection: socket.socket) -> bool:
    try:
        return connection.recv(1) == b""
    except ConnectionResetError:
        return True


def test_connections_that_send_no_whole_request_are_closed_and_block_nobody(
    served: Served, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("hopsight.review.server.MOST_IDLE", 10)
    many = half_open(served.port, 40)
    assert ask(served, "GET", "/api/state", X_Hopsight_Token=TOKEN)[0] == 200
    assert all(map(is_closed, many[:25]))  # the oldest make room
    monkeypatch.setattr("hopsight.review.server.HEADER_SECONDS", 0.2)
    (late,) = half_open(served.port, 1)
    assert is_closed(late)
    for each in (*many, late):
        each.close()


def test_a_reload_of_the_page_asks_the_tab_for_the_token_which_is_not_in_the_address(served: Served) -> None:
    status, door, headers = ask(served, "GET", "/")
    assert status == 403 and "sessionStorage" in door and "shop" not in door
    digest = base64.b64encode(hashlib.sha256(door.split("<script>")[1].split("</script>")[0].encode()).digest())
    assert f"script-src 'sha256-{digest.decode()}'" in headers["content-security-policy"]


def start(folder: Path, port: int, *options: str) -> subprocess.Popen[str]:
    command = [sys.executable, "-m", "hopsight", "review", str(folder), "--port", str(port), "--token", TOKEN]
    return subprocess.Popen([*command, "--no-open", *options], stderr=subprocess.PIPE, text=True)


def free_port() -> int:
    with socket.create_server(("127.0.0.1", 0)) as listener:
        return int(listener.getsockname()[1])


def decided(port: int, path: str, body: dict[str, Any]) -> dict[str, Any]:
    status, text, _ = request(port, "POST", path, json.dumps(body), own(port))
    assert status == 200, text
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
            assert decided(port, "/api/decide", {"request": "r", "place": 2, "verdict": "normal"})["number"] == 1
            break
        except ConnectionError:
            time.sleep(0.1)
    os.kill(server.pid, signal.SIGKILL)
    server.communicate()
    rows = opened(run_folder)
    assert [(row.node, row.reviewer) for row in rows] == [("user-002", "zoe")]


def test_ctrl_c_ends_the_server_although_a_request_waits_for_its_body(run_folder: Path) -> None:
    port = free_port()
    server = start(run_folder, port)
    assert server.stderr is not None and "Stop" in [server.stderr.readline() for _ in range(3)][2]
    host = f"127.0.0.1:{port}"
    heads = f"Host: {host}\r\nOrigin: http://{host}\r\nContent-Type: application/json\r\nX-Hopsight-Token: {TOKEN}\r\n"
    with socket.create_connection(("127.0.0.1", port), timeout=20) as waiting:
        waiting.sendall(f"POST /api/decide HTTP/1.1\r\n{heads}Content-Length: 100\r\n\r\n".encode())
        assert decided(port, "/api/decide", {"request": "r", "place": 2, "verdict": "normal"})["number"] == 1
        os.kill(server.pid, signal.SIGINT)
        with suppress(subprocess.TimeoutExpired):
            server.wait(10)  # a second for the request, and the end of the process
        server.kill()
    assert "Traceback" not in server.communicate()[1] and server.returncode == 0


def opened(folder: Path) -> list[Any]:
    from hopsight.review.storage import Store, graph_key

    return Store(folder / FILE, graph_key(open_run(folder)[1])).rows()


@pytest.mark.attack
def test_20_kills_of_the_server_while_two_windows_write_lose_nothing(run_folder: Path) -> None:
    """Kill the server again and again; every verdict that a window saw confirmed is there, once."""
    kills, port, stop = 20, free_port(), threading.Event()
    confirmed: dict[str, int] = {}

    def window(name: str) -> None:
        """Send verdicts, each until it is confirmed, as the page does."""
        number = 0
        while not stop.is_set():
            request = f"{name}-{number}"
            try:
                confirmed[request] = decided(
                    port, "/api/decide", {"request": request, "place": 3, "verdict": "normal"}
                )["number"]
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
    assert confirmed.items() <= rows.items() and len(rows) <= len(confirmed) + 2


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
    assert decided(port, "/api/decide", {"request": "r", "place": 2, "verdict": "normal"})["number"] == 1
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
        refuses(message, serve, folder, **{"reviewer": "ann", "browser": False, **options})
