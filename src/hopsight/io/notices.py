"""Notices: what hopsight did to the data that the user may want to know, such as a column it left out."""

from __future__ import annotations

import logging

from hopsight.checks import plural

LOGGER = logging.getLogger("hopsight")


def notice(message: str, notices: list[str] | None) -> None:
    """Append a sentence to the caller's list, or log it as a warning if there is no list.

    A caller with a list shows the notices in its own way, so they are logged at INFO level only.

    >>> kept: list[str] = []
    >>> notice("Column 'weight' is left out.", kept)
    >>> kept
    ["Column 'weight' is left out."]
    """
    if notices is None:
        LOGGER.warning(message)
    else:
        LOGGER.info(message)
        notices.append(message)


def notice_merged(n_duplicates: int, n_self_loops: int, notices: list[str] | None) -> None:
    """Give notice of the edges that were merged or removed on the way in.

    >>> kept: list[str] = []
    >>> notice_merged(1, 2, kept)
    >>> kept
    ['Merged 1 duplicate edge.', 'Removed 2 self-loops.']
    """
    if n_duplicates:
        notice(f"Merged {plural(n_duplicates, 'duplicate edge')}.", notices)
    if n_self_loops:
        notice(f"Removed {plural(n_self_loops, 'self-loop')}.", notices)
