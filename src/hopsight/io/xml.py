"""Read XML safely: no document type and so no entities, bounded depth and tokens, and time linear in the size."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any
from xml.parsers import expat

MAX_DEPTH = 32
MAX_TOKEN = 16 * 2**20  # bytes of one tag or comment
_PIECE = 2**20  # expat begins a token anew with every piece, so small pieces take quadratic time


def parse_xml(
    path: Path,
    start: Callable[[str, dict[str, str]], None],
    end: Callable[[str], None],
    text: Callable[[str], None],
) -> None:
    """Call the three functions for the elements and the text of a document, with tags without namespace."""
    parser = expat.ParserCreate(namespace_separator=" ")
    parser.buffer_text = True
    depth = 0

    def begin(element: str, given: dict[str, str]) -> None:
        nonlocal depth
        depth += 1
        if depth > MAX_DEPTH:
            raise ValueError(f"its elements are nested more than {MAX_DEPTH} levels deep")
        start(element.rpartition(" ")[2], given)

    def finish(element: str) -> None:
        nonlocal depth
        depth -= 1
        end(element.rpartition(" ")[2])

    parser.StartDoctypeDeclHandler = parser.EntityDeclHandler = _refuse
    parser.StartElementHandler, parser.EndElementHandler = begin, finish
    parser.CharacterDataHandler = text
    fed = 0
    try:
        with path.open("rb") as file:
            while piece := file.read(_PIECE):
                parser.Parse(piece, False)
                fed += len(piece)
                if fed - parser.CurrentByteIndex > MAX_TOKEN:
                    raise ValueError("one of its tags or comments has more than 16 million characters")
        parser.Parse(b"", True)
    except expat.ExpatError as error:
        raise ValueError(f"it is not XML: {error}") from None


def _refuse(*_: Any) -> None:
    raise ValueError("it declares a document type, which is refused because entities could follow")
