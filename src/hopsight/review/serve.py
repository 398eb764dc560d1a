"""Bind, print the address, open the browser and serve until Ctrl-C."""

from __future__ import annotations

import ipaddress
import secrets
import socket
import webbrowser
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path

from hopsight.checks import Refusal

LOCAL = "127.0.0.1"


def serve(
    folder: Path,
    *,
    reviewer: str,
    host: str = LOCAL,
    port: int = 0,
    token: str | None = None,
    browser: bool = True,
    say: Callable[[str], None] = print,
) -> None:
    """Serve the review of a finished run; ``say`` receives what to print.

    Port 0 is any free one, and without ``token`` the secret in the address is a new one.
    """
    try:
        from hopsight.review.server import check_reviewer, make_app, make_server
    except ModuleNotFoundError as error:
        raise ValueError(f"review needs {error.name}: run pip install 'hopsight[review]'") from None
    from hopsight.review.session import open_session

    name = check_reviewer(reviewer)
    secret = secrets.token_urlsafe(24) if token is None else token
    if len(secret) < 16:
        raise Refusal("token", f"must have at least 16 characters, got {len(secret)}")
    with _listen(host, port) as listener:
        say(f"Opening {folder}, which takes some seconds for a large graph.")
        session = open_session(folder)
        port = listener.getsockname()[1]
        local = is_local(host)
        hosts = _own_hosts(host, port) if local else None
        app = make_app(session, token=secret, hosts=hosts, reviewer=name)
        address = f"http://{'localhost' if host in ('0.0.0.0', '::') else _bracketed(host)}:{port}/?token={secret}"
        if not local:
            say(
                f"Listening on {host}: whoever has this address with its token can read the graph and record verdicts "
                "in your name, and the traffic is not encrypted."
            )
        say(f"Review {folder} at {address}\nStop with Ctrl-C; verdicts are kept.")
        if browser:
            webbrowser.open(address)
        with suppress(KeyboardInterrupt):
            make_server(app).run(sockets=[listener])


def is_local(host: str) -> bool:
    """Return whether only this machine can reach an address.

    >>> is_local("127.0.0.1"), is_local("localhost"), is_local("0.0.0.0"), is_local("192.168.1.5")
    (True, True, False, False)
    """
    try:
        return ipaddress.ip_address(host).is_loopback
    except ValueError:
        return host == "localhost"


def _own_hosts(host: str, port: int) -> frozenset[str]:
    """Return the Host headers of browsers on this machine; they leave port 80 out."""
    names = (host.lower(), LOCAL, "localhost", "[::1]")
    return frozenset(f"{name}:{port}" for name in names) | frozenset(names if port == 80 else ())


def _listen(host: str, port: int) -> socket.socket:
    try:
        return socket.create_server((host, port), family=socket.AF_INET6 if ":" in host else socket.AF_INET)
    except (OSError, OverflowError) as error:
        raise ValueError(f"cannot listen on {host} port {port}: {error}") from None


def _bracketed(host: str) -> str:
    return f"[{host}]" if ":" in host else host
