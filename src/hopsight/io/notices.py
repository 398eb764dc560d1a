"""Notices: what a loader did that its user may want to know, such as a column it left out."""

from __future__ import annotations

import logging

LOGGER = logging.getLogger("hopsight")


def notice(message: str, notices: list[str] | None) -> None:
    """Put a sentence on the caller's list; without a list it is logged as a warning.

    A caller who passes a list shows the notices in its own way, so the log gets them at INFO only.

    >>> kept: list[str] = []
    >>> notice("column 'weight' is left out", kept)
    >>> kept
    ["column 'weight' is left out"]
    """
    if notices is None:
        LOGGER.warning(message)
    else:
        LOGGER.info(message)
        notices.append(message)
