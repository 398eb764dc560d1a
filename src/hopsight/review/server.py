"""The server behind ``hopsight review``: answers one page, and only that page, on this machine."""

from __future__ import annotations

import hmac
import ipaddress
import json
import re
import socket
from collections.abc import Callable
from typing import Any

from starlette.applications import Starlette
from starlette.concurrency import run_in_threadpool
from starlette.requests import Request
from starlette.responses import JSONResponse, PlainTextResponse, Response
from starlette.routing import Route
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from hopsight.checks import shortened
from hopsight.report.shell import render_page
from hopsight.review.session import VIEWS, Session
from hopsight.review.storage import MAX_NOTE, MAX_REQUEST, MAX_REVIEWER
from hopsight.system.plain import plain

SCRIPTS = ("charts.js", "ego.js", "node.js", "review.js")
MAX_BODY = 16 * 1024
MAX_QUERY = 4 * 1024
TOKEN = "token"
TOKEN_HEADER = b"x-hopsight-token"
HEADERS = {
    "Cache-Control": "no-store",
    "Cross-Origin-Opener-Policy": "same-origin",
    "Cross-Origin-Resource-Policy": "same-origin",
    "Referrer-Policy": "no-referrer",
    "X-Content-Type-Options": "nosniff",
    "X-Frame-Options": "DENY",
}
POLICY = "default-src 'none'; frame-ancestors 'none'; base-uri 'none'; form-action 'none'"


def make_app(session: Session, *, token: str, hosts: frozenset[str] | None, reviewer: str) -> ASGIApp:
    """Return the application; ``hosts`` are the values of the Host header that it answers, None for any address.

    Without ``hosts`` it is open to a network: an address in numbers is accepted, a name is not, because a name can be
    made to point here by anyone (DNS rebinding).
    """
    page = render_page(
        f"Review {session.graph.name or 'graph'} · hopsight",
        {
            "name": session.graph.name or "Graph",
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
    def answer(call: Callable[[Request], Any]) -> Callable[[Request], Any]:
        async def respond(request: Request) -> Response:
            try:
                return _json(await run_in_threadpool(call, request))
            except ValueError as error:
                return _json({"error": str(error)}, 400)
            except OSError as error:
                return _json({"error": str(error.strerror or error)}, 503)

        return respond

    return [
        Route("/api/state", answer(lambda request: session.state())),
        Route("/api/list", answer(lambda request: session.listed(request.query_params.get("view", "queue")))),
        Route("/api/node", answer(lambda request: session.node(_whole(request.query_params.get("place"))))),
        Route("/api/search", answer(lambda request: session.search(request.query_params.get("text", "")))),
    ]


def _writes(session: Session, reviewer: str) -> list[Route]:
    def answer(call: Callable[[dict[str, Any]], Any]) -> Callable[[Request], Any]:
        async def respond(request: Request) -> Response:
            try:
                body = _object(await request.body() or b"{}")
                return _json(await run_in_threadpool(call, body))
            except ValueError as error:
                return _json({"error": str(error)}, 400)
            except OSError as error:
                return _json({"error": f"the verdict could not be written: {error.strerror or error}"}, 503)

        return respond

    def decide(body: dict[str, Any]) -> dict[str, Any]:
        row = session.decide(
            _text(body, "request", MAX_REQUEST, needed=True), _whole(body.get("place")),
            _text(body, "verdict", 20, needed=True), _text(body, "note", MAX_NOTE), reviewer,
        )  # fmt: skip
        return {"number": row.number, "verdict": row.verdict}

    def undo(body: dict[str, Any]) -> dict[str, Any]:
        return {"place": session.undo(_text(body, "request", MAX_REQUEST, needed=True), reviewer)}

    return [
        Route("/api/decide", answer(decide), methods=["POST"]),
        Route("/api/undo", answer(undo), methods=["POST"]),
        Route("/api/learn", answer(lambda body: {"words": session.learn()}), methods=["POST"]),
    ]


class Guard:
    """Refuses requests that did not come from the page: wrong host, origin or token, or too large."""

    def __init__(self, app: ASGIApp, token: str, hosts: frozenset[str] | None) -> None:
        self.app, self.token, self.hosts = app, token.encode(), hosts

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answer one request."""
        if scope["type"] == "lifespan":
            await self.app(scope, receive, send)
            return
        if scope["type"] != "http":
            return
        headers = {name.lower(): value for name, value in scope["headers"]}
        refusal = self._refusal(scope, headers)
        if refusal is None and scope["method"] == "POST":
            body = await _bounded(receive)
            if body is None:
                refusal = (413, f"a request has at most {MAX_BODY:,} bytes")
            else:
                receive = _replay(body)
        app: ASGIApp = self.app if refusal is None else PlainTextResponse(refusal[1], refusal[0])
        await app(scope, receive, _secured(send))

    def _refusal(self, scope: Scope, headers: dict[bytes, bytes]) -> tuple[int, str] | None:
        host = headers.get(b"host", b"").decode("latin-1").lower()
        if not self._is_own(host):
            return 403, "this server answers only under its own address"
        origin = headers.get(b"origin")
        if origin is not None and origin.decode("latin-1").lower() != f"http://{host}":
            return 403, "requests come from the page of this server only"
        if headers.get(b"sec-fetch-site", b"none") not in (b"same-origin", b"none"):
            return 403, "requests come from the page of this server only"
        if len(scope["query_string"]) > MAX_QUERY:
            return 414, f"an address has at most {MAX_QUERY:,} characters"
        if scope["method"] == "POST":
            if headers.get(b"content-type", b"").split(b";")[0].strip() != b"application/json":
                return 415, "requests are JSON"
            if origin is None or TOKEN_HEADER not in headers:
                return 403, "requests come from the page of this server only"
        given = headers.get(TOKEN_HEADER) or Request(scope).query_params.get(TOKEN, "").encode()
        if not hmac.compare_digest(given, self.token):
            return (
                403,
                "open the address that hopsight review printed: it has a token, and this one is missing or wrong",
            )
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
            names = {name.lower() for name, _ in message["headers"]}
            more = HEADERS | {"Content-Security-Policy": POLICY}
            message["headers"] = [
                *message["headers"],
                *(
                    (name.encode(), value.encode())
                    for name, value in more.items()
                    if name.lower().encode() not in names
                ),
            ]
        await send(message)

    return wrapped


async def _bounded(receive: Receive) -> bytes | None:
    """Return the body of a request; None if it is too large."""
    body = b""
    while True:
        message = await receive()
        body += message.get("body", b"")
        if len(body) > MAX_BODY or message["type"] == "http.disconnect":
            return None
        if not message.get("more_body"):
            return body


def _replay(body: bytes) -> Receive:
    async def receive() -> Message:
        return {"type": "http.request", "body": body, "more_body": False}

    return receive


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
        raise ValueError(f"reviewer must be a name of at most {MAX_REVIEWER} characters, got {name!r}")
    return short
