"""Why a node is a suspect, in sentences for readers who have never heard of hop counts."""

from __future__ import annotations

from typing import Any

import numpy as np

from hopsight.checks import plural
from hopsight.explanations import Explanation
from hopsight.explanations.evidence import MEANINGS, NOTICEABLE
from hopsight.explanations.text import listed, percent, printable

UNLIKE = 90.0  # a neighbor less alike than this percentage of connected pairs is a stranger
RAISED = 0.05  # judged nodes that change a score by less are not worth a sentence


def sentences(explanation: Explanation, association: float = 0.0) -> list[str]:
    """Return the reasons in plain words, the most important first."""
    found = [_standing(explanation), _reason(explanation), *_also(explanation)]
    if abs(association) >= RAISED:
        way, share = "raise" if association > 0 else "lower", abs(float(np.expm1(association)))
        found.append(f"Verdicts on nodes that it is connected to or resembles {way} its score by {share:.0%}.")
    return [sentence for sentence in found if sentence]


def _standing(explanation: Explanation) -> str:
    above = 100 * (1 - explanation.rank / explanation.n_nodes)
    flagged = "It is flagged" if explanation.flagged else "It is not flagged"
    return f"{flagged}: it looks more unusual than {percent(above)} of the {explanation.n_nodes:,} nodes."


def _reason(explanation: Explanation) -> str:
    strength = next((each.strength for each in explanation.evidence if each.kind == explanation.decided_by), None)
    if strength is not None and strength < NOTICEABLE:
        return "Nothing about it stands out."
    if explanation.decided_by in (None, "misfit"):
        return " ".join(filter(None, (_strangers(explanation), _difference(explanation))))
    return explanation.unusual


def _strangers(explanation: Explanation) -> str:
    """Say how many neighbors are unlike the node, and name the two that fit least."""
    known = [each for each in explanation.neighbors if each.unlikeness is not None]
    strange = [each for each in known if (each.unlikeness or 0.0) >= UNLIKE]
    if not known:
        return "" if explanation.decided_by is None else "Its neighbors do not fit it."
    names = listed([printable(each.node) for each in known[:2]])
    if not strange:
        return f"Its {plural(len(known), 'neighbor')} fit it less well than neighbors usually do, first of all {names}."
    if len(known) == 1:
        return f"Its only neighbor, {names}, is less like it than most connected pairs are alike."
    many = "All" if len(strange) == len(known) else f"{len(strange):,}"
    verb = "is" if len(strange) == 1 else "are"
    return (
        f"{many} of its {len(known):,} neighbors {verb} less like it than 90% of connected pairs are alike; {names} "
        "fit it least."
    )


def _difference(explanation: Explanation) -> str:
    n_neighbors = len({neighbor.node for neighbor in explanation.neighbors})
    return explanation.attributes[0].sentence(n_neighbors) if explanation.attributes else ""


def _also(explanation: Explanation) -> list[str]:
    """Return one sentence about the other evidence that counts and is noticeable."""
    others = [each for each in explanation.evidence
              if each.counts and each.kind != explanation.decided_by and each.strength >= NOTICEABLE]  # fmt: skip
    others.sort(key=lambda each: -each.strength)
    return [f"Also, {listed([MEANINGS[each.kind] for each in others])}."] if others else []


def group_words(group: Any, number: int) -> str:
    """Say what kind of group a node belongs to.

    >>> from types import SimpleNamespace
    >>> group_words(SimpleNamespace(kind="ring", members=range(12), density=0.5), 3)
    'Group 3: a ring of 12 nodes that are unlike each other and yet densely connected (50% of their pairs).'
    """
    what = "unlike each other and yet" if group.kind == "ring" else "nearly the same and"
    kind = "ring" if group.kind == "ring" else "lockstep group"
    size = plural(len(group.members), "node")
    return f"Group {number}: a {kind} of {size} that are {what} densely connected ({group.density:.0%} of their pairs)."
