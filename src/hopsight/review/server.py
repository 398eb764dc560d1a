"""The server behind ``hopsight review``: answers one page, and only that page, on this machine."""

from __future__ import annotations

import hmac
import ipaddress
import json
import re
import socket
from base64 import b64encode
from collections.abc import Callable
from hashlib import sha256
from typing import Any, ClassVar

from starlette.applications import Starlette
from starlette.concurrency import run_in_threadpool
from starlette.datastructures import MutableHeaders
from starlette.requests import ClientDisconnect, Request
from starlette.responses import HTMLResponse, JSONResponse, PlainTextResponse, Response
from starlette.routing import Route
from starlette.types import ASGIApp, Message, Receive, Scope, Send
from uvicorn import Config, Server
from uvicorn.protocols.http.h11_impl import H11Protocol

from hopsight.checks import Refusal, shortened
from hopsight.report.shell import render_page
from hopsight.review.session import VIEWS, Session
from hopsight.review.storage import MAX_NOTE, MAX_REQUEST, MAX_REVIEWER
from hopsight.system.arrays import plain

SCRIPTS = ("charts.js", "ego.js", "events.js", "node.js", "review.js")
NO_TOKEN = "open the address that hopsight review printed: it has a token, and this one is missing or wrong"
AGAIN = """const token = sessionStorage.getItem("token");
if (token && !location.search) location.replace("/?" + new URLSearchParams({ token }) + location.hash);"""  # a reload
DOOR = f"<!doctype html><title>Review</title><p>{NO_TOKEN}</p><script>{AGAIN}</script>"
HEADER_SECONDS = 10.0  # in which a request must have sent its headers
MOST_IDLE = 100  # connections without a request; beyond, the oldest is closed
STOP_SECONDS = 1  # for which answers may go on after Ctrl-C
MAX_BODY = 16 * 1024
MAX_QUERY = 4 * 1024
TOKEN = "token"
TOKEN_HEADER = "x-hopsight-token"
POLICY = "default-src 'none'; frame-ancestors 'none'; base-uri 'none'; form-action 'none'"
DOOR_POLICY = f"{POLICY}; script-src 'sha256-{b64encode(sha256(AGAIN.encode()).digest()).decode()}'"
HEADERS = {
    "Cache-Control": "no-store",
    "Content-Security-Policy": POLICY,
    "Cross-Origin-Opener-Policy": "same-origin",
    "Cross-Origin-Resource-Policy": "same-origin",
    "Referrer-Policy": "no-referrer",
    "X-Content-Type-Options": "nosniff",
    "X-Frame-Options": "DENY",
}


def make_app(session: Session, *, token: str, hosts: frozenset[str] | None, reviewer: str) -> ASGIApp:
    """Return the application; ``hosts`` are the values of the Host header that it answers, None for any address.

    Without ``hosts`` it is open to a network: an address in numbers is accepted, a name is not, because a name can be
    made to point here by anyone (DNS rebinding).
    """
    page = render_page(
        f"Review {session.title} · hopsight",
        {
            "name": session.title,
            "detector": type(session.fitted).__name__,
            "method": getattr(type(session.fitted), "meaning", None),
            "reviewer": reviewer,
            "n_nodes": session.graph.n_nodes,
            "views": VIEWS,
        },
        SCRIPTS,
        styles=("review.css",),
        served=True,
    )
    found = re.search(r'http-equiv="Content-Security-Policy" content="([^"]*)"', page)
    policy = f"{found.group(1) if found else POLICY}; frame-ancestors 'none'"

    async def index(request: Request) -> Response:
        return Response(page, media_type="text/html", headers={"Content-Security-Policy": policy})

    async def export(request: Request) -> Response:
        text = await run_in_threadpool(session.export)
        name = 'attachment; filename="verdicts.csv"'
        return Response(text, media_type="text/csv", headers={"Content-Disposition": name})

    routes = [Route("/", index), Route("/verdicts.csv", export), *_reads(session), *_writes(session, reviewer)]
    return Guard(Starlette(routes=routes), token, hosts)


def _reads(session: Session) -> list[Route]:
    calls: dict[str, Callable[[Request], Any]] = {
        "state": lambda request: session.state(),
        "list": lambda request: session.listed(request.query_params.get("view", "queue")),
        "node": lambda request: session.node(_whole(request.query_params.get("place"))),
        "search": lambda request: session.search(request.query_params.get("text", "")),
    }
    return [Route(f"/api/{name}", _answer(call)) for name, call in calls.items()]


def _writes(session: Session, reviewer: str) -> list[Route]:
    def decide(body: dict[str, Any]) -> dict[str, Any]:
        row = session.decide(
            _text(body, "request", MAX_REQUEST, needed=True), _whole(body.get("place")),
            _text(body, "verdict", 20, needed=True), _text(body, "note", MAX_NOTE), reviewer,
        )  # fmt: skip
        return {"number": row.number, "verdict": row.verdict}

    def undo(body: dict[str, Any]) -> dict[str, Any]:
        return {"place": session.undo(_text(body, "request", MAX_REQUEST, needed=True), reviewer)}

    calls = {"decide": decide, "undo": undo}
    return [Route(f"/api/{name}", _answer(call, writes=True), methods=["POST"]) for name, call in calls.items()]


def _answer(call: Callable[[Any], Any], *, writes: bool = False) -> Callable[[Request], Any]:
    """Return a handler that answers with what a function makes of a request, or of the object that it sends."""

    async def respond(request: Request) -> Response:
        body = await _body(request) if writes else b""
        if body is None:
            return PlainTextResponse(f"a request has at most {MAX_BODY:,} bytes", 413)
        try:
            given = _object(body or b"{}") if writes else request
            return _json(await run_in_threadpool(call, given))
        except ValueError as error:
            return _json({"error": str(error)}, 400)
        except OSError as error:
            refusal = "the verdict could not be written: " if writes else ""
            return _json({"error": f"{refusal}{error.strerror or error}"}, 503)

    return respond


def make_server(app: ASGIApp) -> Server:
    """Return the server of an application, in which connections that send nothing cannot block others."""
    return Server(
        Config(
            app, http=Bounded, ws="none", backlog=MOST_IDLE, log_level="warning", access_log=False, server_header=False,
            lifespan="off", timeout_graceful_shutdown=STOP_SECONDS,
        )
    )  # fmt: skip


class Bounded(H11Protocol):
    """A connection that is closed if the headers of a request take too long, or if it is the oldest idle one of many.

    Otherwise connections that are opened and left would use up the files that a process may open.
    """

    idle: ClassVar[dict[Bounded, Any]] = {}  # connections without a request, the oldest first, and their timers

    def connection_made(self, transport: Any) -> None:
        """Begin to wait for a request."""
        super().connection_made(transport)
        self._wait()

    def data_received(self, data: bytes) -> None:
        """Stop waiting once the headers have arrived."""
        super().data_received(data)
        if self.cycle is not None and not self.cycle.response_complete:
            self._stop_waiting()

    def on_response_complete(self) -> None:
        """Wait for the next request."""
        super().on_response_complete()
        if self.cycle is None or self.cycle.response_complete:
            self._wait()

    def shutdown(self) -> None:
        """End without waiting for the rest of a request, which may never come."""
        super().shutdown()
        if self.cycle is not None and self.cycle.more_body:
            self.transport.close()

    def connection_lost(self, exc: Exception | None) -> None:
        """Forget the connection."""
        self._stop_waiting()
        super().connection_lost(exc)

    def _wait(self) -> None:
        self._stop_waiting()
        self.idle[self] = self.loop.call_later(HEADER_SECONDS, self.transport.close)
        if len(self.idle) > MOST_IDLE:
            oldest = next(iter(self.idle))
            oldest._stop_waiting()
            oldest.transport.close()

    def _stop_waiting(self) -> None:
        timer = self.idle.pop(self, None)
        if timer is not None:
            timer.cancel()


class Guard:
    """Refuses requests that did not come from the page: wrong host, origin or token, or a very long address."""

    def __init__(self, app: ASGIApp, token: str, hosts: frozenset[str] | None) -> None:
        self.app, self.token, self.hosts = app, token.encode(), hosts

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answer one request."""
        refusal = self._refusal(Request(scope))
        app: ASGIApp = self.app
        if refusal == (403, NO_TOKEN) and scope["path"] == "/":
            app = HTMLResponse(DOOR, 403, {"Content-Security-Policy": DOOR_POLICY})
        elif refusal is not None:
            app = PlainTextResponse(refusal[1], refusal[0])
        await app(scope, receive, _secured(send))

    def _refusal(self, request: Request) -> tuple[int, str] | None:
        headers, foreign = request.headers, (403, "requests come from the page of this server only")
        host, origin = headers.get("host", "").lower(), headers.get("origin")
        if not self._is_own(host):
            return 403, "this server answers only under its own address"
        if origin is not None and origin.lower() != f"http://{host}":
            return foreign
        if headers.get("sec-fetch-site", "none") not in ("same-origin", "none"):
            return foreign
        if len(request.scope["query_string"]) > MAX_QUERY:
            return 414, f"an address has at most {MAX_QUERY:,} characters"
        if request.method == "POST":
            if headers.get("content-type", "").split(";")[0].strip() != "application/json":
                return 415, "requests are JSON"
            if origin is None or TOKEN_HEADER not in headers:
                return foreign
        given = headers.get(TOKEN_HEADER) or request.query_params.get(TOKEN, "")
        if not hmac.compare_digest(given.encode(), self.token):
            return 403, NO_TOKEN
        return None

    def _is_own(self, host: str) -> bool:
        if self.hosts is not None:
            return host in self.hosts
        name = host.rsplit(":", 1)[0].strip("[]")
        try:
            ipaddress.ip_address(name)
        except ValueError:
            return name in ("localhost", socket.gethostname().lower())
        return True


def _secured(send: Send) -> Send:
    """Add the headers of every answer."""

    async def wrapped(message: Message) -> None:
        if message["type"] == "http.response.start":
            headers = MutableHeaders(scope=message)
            for name, value in HEADERS.items():
                headers.setdefault(name, value)
        await send(message)

    return wrapped


async def _body(request: Request) -> bytes | None:
    """Return the body of a request; None if it is too large, or the page has gone."""
    body = b""
    try:
        async for piece in request.stream():
            body += piece
            if len(body) > MAX_BODY:
                return None
    except ClientDisconnect:
        return None
    return body


def _json(value: Any, status: int = 200) -> JSONResponse:
    return JSONResponse(plain(value, digits=6), status)


def _object(body: bytes) -> dict[str, Any]:
    try:
        found = json.loads(body)
    except (ValueError, RecursionError):  # ten thousand brackets are the latter
        found = None
    if not isinstance(found, dict):
        raise ValueError("the request is not a JSON object")
    return found


def _whole(value: Any) -> int:
    """Return a place; anything that is only almost a whole number would be a verdict on another node."""
    if not re.fullmatch("[0-9]{1,15}", value if isinstance(value, str) else str(value)) or isinstance(value, bool):
        raise ValueError(f"place must be a whole number, got {shortened(value)}")
    return int(value)


def _text(body: dict[str, Any], name: str, limit: int, *, needed: bool = False) -> str:
    value = body.get(name, "")
    if not isinstance(value, str) or len(value) > limit or (needed and not value):
        raise ValueError(f"{name} must be a text of at most {limit:,} characters")
    if "\0" in value or any("\ud800" <= character <= "\udfff" for character in value):
        raise ValueError(f"{name} has characters that cannot be stored")  # half characters, and NUL in PostgreSQL
    return value


def check_reviewer(name: str) -> str:
    """Return the name of a reviewer without spaces around it; refuse an empty or very long one."""
    short = name.strip()
    if not short or len(short) > MAX_REVIEWER or not short.isprintable():
        raise Refusal("reviewer", f"must be a name of at most {MAX_REVIEWER} characters, got {name!r}")
    return short
