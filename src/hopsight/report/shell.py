"""One self-contained HTML file: data as JSON, styles and scripts inside, nothing fetched, nothing injected."""

from __future__ import annotations

import base64
import hashlib
import html
import json
import math
from collections.abc import Mapping, Sequence
from importlib.resources import files
from pathlib import Path
from string import Template
from typing import Any

import numpy as np

STYLES = ("tokens.css", "base.css", "parts.css", "print.css")
SCRIPTS = ("dom.js", "table.js")
_ESCAPES = {"<": "\\u003c", ">": "\\u003e", "&": "\\u0026"}


def write_page(path: Path, title: str, data: Mapping[str, Any], scripts: Sequence[str]) -> None:
    """Write the page; the file appears complete or not at all."""
    partial = path.with_name(f"{path.name}.part")
    partial.write_text(render_page(title, data, scripts), encoding="utf-8", errors="replace", newline="\n")
    partial.replace(path)


def render_page(title: str, data: Mapping[str, Any], scripts: Sequence[str]) -> str:
    """Return the HTML of a page whose scripts read ``data``.

    The content security policy names the hashes of exactly this style and this script and allows nothing
    else: no request leaves the page, and a name that looks like markup cannot run even if it were put there.
    """
    style = _read(STYLES)
    script = '(() => {\n"use strict";\n' + _read((*SCRIPTS, *scripts)) + "})();\n"
    shell = Template(files("hopsight.report").joinpath("templates", "shell.html").read_text(encoding="utf-8"))
    return shell.substitute(
        title=html.escape(title),
        policy=_policy(style, script),
        icon=_icon(),
        style=style,
        data=embedded_json(data),
        script=script,
    )


def embedded_json(data: Any) -> str:
    r"""Return JSON that cannot end its script element early: ASCII only, no ``<``, ``>`` or ``&``.

    Numbers are cut to six significant digits; what is not finite becomes null.

    >>> print(embedded_json({"node": "</script>\u2028", "score": float("nan")}))
    {"node":"\u003c/script\u003e\u2028","score":null}
    """
    text = json.dumps(_plain(data), separators=(",", ":"), allow_nan=False)
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


def _plain(value: Any) -> Any:
    """Return the value in JSON's own types."""
    if isinstance(value, Mapping):
        return {str(key): _plain(item) for key, item in value.items()}
    if isinstance(value, list | tuple):
        return [_plain(item) for item in value]
    if isinstance(value, np.ndarray | np.generic):
        return _plain(value.tolist())
    if isinstance(value, float):
        return float(f"{value:.6g}") if math.isfinite(value) else None
    return value if value is None or isinstance(value, str | int | bool) else str(value)
