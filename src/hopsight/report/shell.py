"""One self-contained HTML file with its data, styles and scripts; it fetches nothing and runs nothing else."""

from __future__ import annotations

import base64
import gzip
import hashlib
import html
import json
from collections.abc import Mapping, Sequence
from importlib.resources import files
from pathlib import Path
from string import Template
from typing import Any

from hopsight.system.arrays import plain
from hopsight.system.files import write_whole

STYLES = ("tokens.css", "base.css", "parts.css", "overview.css", "print.css")
SCRIPTS = ("dom.js", "table.js")
MAX_PLAIN = 500_000  # characters of data; more are compressed, which takes a browser of 2023 or later
_ESCAPES = {"<": "\\u003c", ">": "\\u003e", "&": "\\u0026"}


def write_page(path: Path, title: str, data: Mapping[str, Any], scripts: Sequence[str]) -> None:
    """Write the page; the file appears complete or not at all."""
    write_whole(path, render_page(title, data, scripts))


def render_page(
    title: str, data: Mapping[str, Any], scripts: Sequence[str], *, styles: Sequence[str] = (), served: bool = False
) -> str:
    """Return the HTML of a page whose scripts read ``data``.

    The content security policy allows the hashes of exactly this style and this script and nothing else: no request
    leaves the page (a ``served`` page may ask its own server), and a name that looks like markup could not run even if
    it were inserted as such.
    """
    style = _read((*STYLES, *styles))
    script = '(async () => {\n"use strict";\n' + _read((*SCRIPTS, *scripts)) + "})();\n"
    kind, content = "application/json", embedded_json(data)
    if len(content) > MAX_PLAIN:
        kind, content = "application/gzip", base64.b64encode(gzip.compress(content.encode(), 6, mtime=0)).decode()
    shell = Template(files("hopsight.report").joinpath("templates", "shell.html").read_text(encoding="utf-8"))
    return shell.substitute(
        title=html.escape(title),
        policy=_policy(style, script) + ("; connect-src 'self'" if served else ""),
        icon=_icon(),
        style=style,
        type=kind,
        data=content,
        script=script,
    )


def embedded_json(data: Any) -> str:
    r"""Return JSON that cannot end its script element early: ASCII only, no ``<``, ``>`` or ``&``.

    Numbers are rounded to six significant digits; numbers that are not finite become null.

    >>> print(embedded_json({"node": "</script>\u2028", "score": float("nan")}))
    {"node":"\u003c/script\u003e\u2028","score":null}
    """
    text = json.dumps(plain(data, digits=6), separators=(",", ":"), allow_nan=False)
    for character, escape in _ESCAPES.items():
        text = text.replace(character, escape)
    return text


def _read(names: Sequence[str]) -> str:
    folder = files("hopsight.report").joinpath("templates")
    return "".join(folder.joinpath(name).read_text(encoding="utf-8") for name in names)


def _policy(style: str, script: str) -> str:
    def digest(text: str) -> str:
        return "'sha256-" + base64.b64encode(hashlib.sha256(text.encode()).digest()).decode() + "'"

    return (
        f"default-src 'none'; script-src {digest(script)}; style-src {digest(style)}; "
        "img-src data:; base-uri 'none'; form-action 'none'"
    )


def _icon() -> str:
    image = files("hopsight.report").joinpath("templates", "icon.svg").read_bytes()
    return "data:image/svg+xml;base64," + base64.b64encode(image).decode()
