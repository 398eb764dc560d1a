"""What the events of a node say about it, in words: who, how much, from when to when, and what is usual."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class FlowReason:
    """What one kind of evidence from events says about a node, as a sentence and in a few words."""

    kind: str
    sentence: str
    in_short: str
