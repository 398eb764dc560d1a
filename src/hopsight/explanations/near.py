"""Suggestions for the id of a node that is not in the graph."""

from __future__ import annotations

from difflib import get_close_matches

from hopsight.explanations.text import printable

MOST_COMPARED = 50_000


def no_node(text: object, near: list[str]) -> str:
    """Say that there is no such node, and which ones are meant perhaps.

    >>> no_node("ACC1", ["ACC10", "ACC12"])
    "there is no node 'ACC1' in this graph; did you mean ACC10 or ACC12?"
    """
    hint = f"; did you mean {' or '.join(printable(name) for name in near)}?" if near else ""
    return f"there is no node {text!r} in this graph{hint}"


def near_names(text: str, names: list[str]) -> list[str]:
    """Return up to three names that are spelled like a text, whatever their case."""
    by_fold = {name.casefold(): name for name in names}
    folded = text.casefold()
    choices: list[str] = [name for name in by_fold if abs(len(name) - len(folded)) <= 2 or folded in name]
    if len(choices) > MOST_COMPARED:  # comparing takes a second for this many; most slips are not in the first letter
        choices = [name for name in choices if name[:1] == folded[:1]][:MOST_COMPARED]
    begin = [name for name in choices if folded and name.startswith(folded)]  # an id that is not complete yet
    inside = [name for name in choices if folded and folded in name]
    near = begin[:2] + [name for name in get_close_matches(folded, choices) if name not in begin[:2]]
    return [by_fold[name] for name in (near or inside)[:3]]
