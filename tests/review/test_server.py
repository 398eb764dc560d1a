"""The server refuses whatever did not come from its own page."""

from __future__ import annotations

import base64
import hashlib
import http.client
import json
import socket
from typing import Any

import pytest

from hopsight.review.server import MAX_BODY, Guard, check_reviewer
from review_served import TOKEN, Served

JSON = {"Content-Type": "application/json"}


def ask(served: Served, method: str, path: str, body: Any = None, **headers: str) -> tuple[int, str, dict[str, str]]:
    connection = http.client.HTTPConnection("127.0.0.1", served.port, timeout=20)
    names = {name.replace("_", "-"): value for name, value in headers.items()}
    connection.request(method, path, None if body is None else json.dumps(body), names)
    answer = connection.getresponse()
    found = answer.status, answer.read().decode(), {name.lower(): value for name, value in answer.getheaders()}
    connection.close()
    return found


def post(served: Served, path: str, body: Any, **headers: str) -> tuple[int, str, dict[str, str]]:
    own = {"Content-Type": "application/json", "X-Hopsight-Token": TOKEN, "Origin": served.address}
    return ask(served, "POST", path, body, **{name.replace("-", "_"): value for name, value in own.items()} | headers)


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
        with pytest.raises(ValueError, match="reviewer must be a name"):
            check_reviewer(name)


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


def send(served: Served, body: str) -> tuple[int, str, dict[str, str]]:
    """Post a body that is not JSON of ours."""
    connection = http.client.HTTPConnection("127.0.0.1", served.port, timeout=20)
    headers = {"Content-Type": "application/json", "X-Hopsight-Token": TOKEN, "Origin": served.address}
    connection.request("POST", "/api/decide", body.encode(), headers)
    answer = connection.getresponse()
    found = answer.status, answer.read().decode(), dict(answer.getheaders())
    connection.close()
    return found


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
