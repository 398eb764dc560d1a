"""Kinds of evidence about a node: what each means, how strong it is, and sentences that give the reason."""

from __future__ import annotations

from collections.abc import Hashable, Sequence
from dataclasses import dataclass

from hopsight.checks import plural
from hopsight.explanations.derived import LOGARITHMS, is_time, phrase
from hopsight.explanations.text import listed, percent, printable
from hopsight.io.derive import FOR_COUNT

MEANINGS = {
    "misfit": "its neighbors look far away",
    "ring": "its edges close triangles of nodes that look far apart",
    "outlier": "its own attributes are unusual",
    "activity": "its number of edges is unusual for its attributes",
    "lockstep": "it is densely tied to nodes just like it",
}
SCALE = "3 = one ordinary node in a thousand is so unusual"
NOTICEABLE = 1.0  # one ordinary node in ten
MOST_NAMES = 6


@dataclass(frozen=True)
class Evidence:
    """How strong one kind of evidence is: −log₁₀ of the share of ordinary nodes that look so unusual, times a weight.

    ``counts`` says whether this kind plays a part in the score, ``weight`` how much it counts.
    """

    kind: str
    strength: float
    counts: bool
    weight: float
    meaning: str


@dataclass(frozen=True)
class OwnValue:
    """One value of the node among those of all nodes.

    ``lower`` and ``higher`` are the percentages of nodes with a lower and with a higher value. For a category, a word
    or a yes-or-no attribute, ``share`` is the share of nodes that have the same value instead.
    """

    name: str
    value: float | str
    lower: float | None = None
    higher: float | None = None
    share: float | None = None
    unique: bool = False

    @property
    def place(self) -> str:
        """How unusual the value is, as a clause."""
        if self.unique:
            return "as for no other node"
        if self.share is not None:
            return f"as for {100 * self.share:.2g}% of nodes"
        low, high = self.lower or 0.0, self.higher or 0.0
        words = ("later", "earlier") if is_time(self.name) else ("higher", "lower")
        return f"{words[low < high]} than for {percent(max(low, high))} of nodes"

    def __str__(self) -> str:
        if isinstance(self.value, str):
            return f"{printable(self.name)} {printable(self.value)}: {self.place}"
        text = printable(phrase(self.name, self.value))
        return f"{text}{',' if self.name.endswith(FOR_COUNT) else ':'} {self.place}"


@dataclass(frozen=True)
class Companions:
    """The other nodes of a ring or of a lockstep group: of a listed group, or of the node's strongest triangles.

    ``group`` is the number of the group in ``groups.csv``, None if the triangles belong to no listed group.
    """

    kind: str
    nodes: tuple[Hashable, ...]
    group: int | None = None
    density: float | None = None


def strengths(evidence: Sequence[Evidence]) -> str:
    """List how strong each kind of evidence is, and say how to read the numbers.

    >>> kinds = {"misfit": (3.21, True, 1.0), "activity": (0.4, True, 0.6), "lockstep": (0.1, False, 1.0)}
    >>> print(strengths([Evidence(kind, *values, MEANINGS[kind]) for kind, values in kinds.items()]))
    Evidence: misfit 3.2, activity 0.4, lockstep 0.1 (3 = one ordinary node in a thousand is so unusual; activity \
counts 60%; lockstep does not count).
    """
    notes = [SCALE]
    notes += [f"{each.kind} counts {each.weight:.0%}" for each in evidence if each.counts and each.weight != 1]
    left_out = [each.kind for each in evidence if not each.counts]
    if left_out:
        notes.append(f"{listed(left_out)} {'does' if len(left_out) == 1 else 'do'} not count")
    values = ", ".join(f"{each.kind} {each.strength:.1f}" for each in evidence)
    return f"Evidence: {values} ({'; '.join(notes)})."


def outlier_sentence(values: Sequence[OwnValue]) -> str:
    """Say which of a node's own values are unusual, the three most unusual first."""
    if not values:
        return "Its attributes are unusual in combination; none of them is unusual by itself."
    return f"Its own attributes are unusual: {'; '.join(str(value) for value in telling(values, 3))}."


def standing_out(values: Sequence[OwnValue]) -> str:
    """Say which of a node's own values are the most unusual, where its number of edges decided.

    >>> standing_out([OwnValue("in-degree, log", 5.6, 99.6, 0.0)]), standing_out([OwnValue("age", 3.0, 0.0, 98.0)])
    ('', 'What stands out in its attributes: age 3: lower than for 98% of nodes.')
    """
    others = telling([value for value in values if not value.name.endswith(LOGARITHMS[1:])], 2)  # without degrees
    return f"What stands out in its attributes: {'; '.join(map(str, others))}." if others else ""


def telling(values: Sequence[OwnValue], most: int) -> list[OwnValue]:
    """Return the most unusual values, one for each column that attributes are derived from.

    Mean, median and maximum of one payment say the same thing. Of equally unusual ones, those that need no comparison
    with nodes of as many edges are easier to read.

    >>> names = ("amount sent, maximum for its count", "amount sent, mean", "edges sent, log count", "age")
    >>> [each.name for each in telling([OwnValue(name, 9.0, 99.0, 0.0) for name in names], 2)]
    ['amount sent, mean', 'edges sent, log count']
    """
    chosen: dict[str, OwnValue] = {}
    for value in values:
        column = value.name.partition(", ")[0]
        known = chosen.setdefault(column, value)
        alike = (known.lower, known.higher) == (value.lower, value.higher)
        if known.name.endswith(FOR_COUNT) and not value.name.endswith(FOR_COUNT) and alike:
            chosen[column] = value
    return list(chosen.values())[:most]


def activity_sentence(degree: int, expected: float | None, degree_percentile: float, n_nodes: int) -> str:
    """Compare a node's number of edges with that of nodes with such attributes.

    >>> activity_sentence(41, 6.2, 99.0, 1000)
    'Has 41 edges; nodes with such attributes have about 6.'
    >>> activity_sentence(41, 5000.0, 99.0, 1000)
    'Has 41 edges; its attributes would suit a node with far more.'
    """
    has = f"Has {plural(degree, 'edge')}" if degree else "Has no edges"
    if expected is None:
        return f"{has}, more than {percent(degree_percentile)} of nodes."
    if expected >= n_nodes:  # no node can have so many: the regression reaches beyond the data
        return f"{has}; its attributes would suit a node with far more."
    return f"{has}; nodes with such attributes have {usual_edges(expected, n_nodes)}."


def usual_edges(expected: float, n_nodes: int) -> str:
    """Return how many edges are usual for a node with such attributes.

    >>> usual_edges(6.2, 1000), usual_edges(1.26, 1000), usual_edges(5000.0, 1000)
    ('about 6', 'about 1.3', 'far more')
    """
    if expected >= n_nodes:
        return "far more"
    about = max(0.0, expected)
    return f"about {about:,.0f}" if about >= 3 else f"about {about:.1f}"


def companions_sentence(kind: str, companions: Companions | None) -> str:
    """Name the other members of a node's ring or lockstep group."""
    ring = kind == "ring"
    if companions is None or not companions.nodes:
        return f"{MEANINGS[kind][0].upper()}{MEANINGS[kind][1:]}."
    names = [printable(node) for node in companions.nodes[:MOST_NAMES]]
    n_more = len(companions.nodes) - len(names)
    who = listed([*names, f"{n_more:,} more"] if n_more else names)
    if companions.group is None:
        return f"Its edges close triangles of {'nodes that look far apart' if ring else 'near-copies'} with {who}."
    tied = "" if companions.density is None else f", {companions.density:.0%} of whose pairs are connected"
    size = len(companions.nodes) + 1
    what = f"a ring of {size:,} nodes that look far apart" if ring else f"a lockstep group of {size:,} near-copies"
    return f"It belongs to {what}{tied} (group {companions.group}): with {who}."
