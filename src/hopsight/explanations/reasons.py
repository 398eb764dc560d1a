"""Why a node has its score and why an edge looks out of place: plain values, the sentences they make, and JSON."""

from __future__ import annotations

import math
from collections.abc import Callable, Hashable, Iterator, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, NamedTuple, TypeVar

from hopsight.checks import listed, option, plural, printable
from hopsight.detectors.table import FLOW_KINDS, RELATION_KINDS, UNLABELED
from hopsight.explanations.events import NOTICEABLE, Calendar, FlowReason, money
from hopsight.explanations.text import (
    LOGARITHMS,
    Readable,
    Table,
    chance,
    chance_of,
    fixed,
    is_amount,
    is_time,
    number,
    origin,
    percent,
    phrase,
    shown_name,
    shown_value,
)
from hopsight.graph import AttributedGraph
from hopsight.io.derive import FOR_COUNT

if TYPE_CHECKING:
    from hopsight.feedback.reasons import Influence

MEANINGS = {
    "misfit": "its neighbors look far away",
    "ring": "its edges close triangles of nodes that look far apart",
    "outlier": "its own attributes are unusual",
    "activity": "its number of connections is unusual for its attributes",
    "lockstep": "it is densely tied to nodes just like it",
    "relations": "it has more of something than other nodes of its type",
    "sharing": "it shares what few nodes share",
    "burst": "many events, or many new partners, within a short time",
    "pass_through": "what came in went out again soon",
    "cycle": "amounts went around a circle or along a chain",
    "amount": "amounts unlike its own history, or just below a round limit",
}
SCALE = "3 = an estimated 1 in 1,000 ordinary nodes"
MOST_SPECIFIC = (
    "cycle",
    "burst",
    "pass_through",
    "amount",
)  # first: what goes around also passes through
IN_WORDS = (*FLOW_KINDS, *RELATION_KINDS)  # kinds of evidence whose reasons are sentences already
MOST_NAMES = 6
UNLIKE = 90.0  # neighbors that differ more than this percentage of connected pairs do are counted
WITH_ATTRIBUTES = " with attributes"  # which neighbors are compared, if not all


@dataclass(frozen=True)
class Neighbor:
    """One edge of the explained node: how far its other end looks; ``None`` where the detector predicts no hops.

    ``probability`` is that of really being 1 hop away, ``unlikeness`` the percentage of edges whose ends
    are more alike.
    """

    node: Hashable
    score: float
    rank: int
    degree: int
    hop: float | None = None
    variance: float | None = None
    probability: float | None = None
    unlikeness: float | None = None


@dataclass(frozen=True)
class Category:
    """A categorical column such as ``city``: the node's value, and the most common one among its neighbors."""

    name: str
    value: str
    common: str
    common_share: float


class Others(NamedTuple):
    """How many neighbors a node is compared with, and which they are if not all."""

    size: int
    which: str = ""

    def __str__(self) -> str:
        return f"{self.size:,} neighbors{self.which}"

    @property
    def only(self) -> str:
        """What one of them is called."""
        return f"its only neighbor{self.which}"


@dataclass(frozen=True)
class AttributeGap:
    """One attribute: the node's value, its neighbors' median and 10–90% range, and its place among all nodes.

    ``difference`` is the value minus the mean of the neighbors, in units of how much connected nodes usually
    differ in this attribute; ``percentile`` is the percentage of all nodes with a lower value. Where node and
    neighbors only have 0 or 1, ``share`` is the share of the neighbors that have 1. ``category`` is set where the
    attribute is one value of a categorical column (``city=Oslo``).
    """

    name: str
    value: float
    low: float
    median: float
    high: float
    difference: float
    percentile: float
    share: float | None = None
    category: Category | None = None

    @property
    def range(self) -> str:
        """The 10–90% range of the neighbors as text."""
        low, median, high = (shown_value(self.name, value) for value in (self.low, self.median, self.high))
        return median if self.low == self.high else f"{low} to {high}"

    def sentence(self, others: Others) -> str:
        """Say how the node differs from its neighbors in this attribute."""
        if self.category is not None:
            return _category_sentence(self.category, others)
        own = f"{shown_name(self.name)}: {shown_value(self.name, self.value)}"
        own = phrase(self.name, self.value) if self.name.endswith(FOR_COUNT) else own
        return f"It differs most in {printable(own)}, while {self._theirs(others)}."

    def in_short(self, others: Others) -> str:
        """Say the same in a few words."""
        name, own, theirs, *_ = self.cells()
        if self.category is not None and others.size == 1:
            theirs = printable(self.category.common)
        who = "neighbor" if others.size == 1 else "neighbors"
        if self.name.endswith(FOR_COUNT):
            return f"{printable(phrase(self.name, self.value)).removesuffix(' for as many edges')} ({who} {theirs})"
        return f"{name} {own} ({who} {theirs})"

    def _theirs(self, others: Others) -> str:
        if others.size == 1:
            return f"{others.only} has {shown_value(self.name, self.median)}"
        if self.share is None:
            return f"its neighbors{others.which} have {self.range}"
        if self.share in (0, 1):
            return f"all {others} have {self.share:.0f}"
        return f"{self.share:.0%} of its neighbors{others.which} have 1"

    def cells(self) -> tuple[str, str, str, str, str]:
        """Return the row of this attribute: name, value, neighbors, difference, percentage of lower values."""
        name, own, _, difference = compared(self)
        theirs = self.range if self.share is None else f"{self.share:.0%} have 1"
        if self.category is not None:
            theirs = f"{self.category.common_share:.0%} {printable(self.category.common)}"
        return name, own, theirs, difference, percent(self.percentile) if self.share is None else "–"


@dataclass(frozen=True)
class NodeValue:
    """A value that the detector keeps for the node, its meaning, and the percentage of nodes with a lower one."""

    name: str
    value: float
    percentile: float
    meaning: str


@dataclass(frozen=True)
class WithoutEdges:
    """The node's score and rank when it is scored again without the edges to ``neighbors``."""

    neighbors: tuple[Hashable, ...]
    score: float
    rank: int


@dataclass(frozen=True)
class Evidence:
    """How strong one kind of evidence is: −log₁₀ of the share of ordinary nodes that are about as unusual.

    ``counts`` says whether this kind plays a part in the score, ``weight`` how much of its strength counts.
    """

    kind: str
    strength: float
    counts: bool
    weight: float
    meaning: str

    @property
    def note(self) -> str:
        """How much of it counts, if not all."""
        return " (does not count)" if not self.counts else "" if self.weight == 1 else f" (counts {self.weight:.0%})"


@dataclass(frozen=True)
class OwnValue:
    """One value of the node among those of all nodes.

    ``lower`` and ``higher`` are the percentages of nodes with a lower and with a higher value, and ``usual`` is the
    median. For a category, a word or a yes-or-no attribute, ``share`` is the share of nodes that have the same value
    instead. ``among`` says which nodes these are.
    """

    name: str
    value: float | str
    lower: float | None = None
    higher: float | None = None
    share: float | None = None
    unique: bool = False
    usual: float | None = None
    among: str = "nodes"

    @property
    def place(self) -> str:
        """How unusual the value is, as a clause."""
        if self.unique:
            return "as for no other node"
        if self.share is not None:
            return f"as for {100 * self.share:.2g}% of {self.among}"
        low, high = self.lower or 0.0, self.higher or 0.0
        words = ("later", "earlier") if is_time(self.name) else ("higher", "lower")
        return f"{words[low < high]} than for {percent(max(low, high))} of {self.among}"

    def __str__(self) -> str:
        if isinstance(self.value, str):
            return f"{printable(self.name)} {printable(self.value)}: {self.place}"
        text = printable(phrase(self.name, self.value))
        if self.name.endswith(FOR_COUNT):
            return f"{text}, {self.place}"
        return f"{text}{self._usually}: {self.place}"

    @property
    def in_short(self) -> str:
        """The value and what is usual, in a few words."""
        if isinstance(self.value, str):
            return str(self)
        text = printable(phrase(self.name, self.value))
        return text if self.name.endswith(FOR_COUNT) else f"{text}{self._usually}" if self._usually else str(self)

    @property
    def _usually(self) -> str:
        if self.usual == 0 and self.name.endswith(LOGARITHMS):
            return " (most nodes have none)"
        return "" if self.usual is None else f" ({shown_value(self.name, self.usual)} is usual)"


@dataclass(frozen=True)
class Companions:
    """The other nodes of a ring or of a lockstep group: of a listed group, or of the node's strongest triangles.

    ``group`` is the number of the group in ``groups.csv``, None if the triangles belong to no listed group. All share
    the node of another type in ``shared``, if any.
    """

    kind: str
    nodes: tuple[Hashable, ...]
    group: int | None = None
    density: float | None = None
    shared: str = ""


@dataclass(frozen=True)
class EdgeValue:
    """What the edge list says about one edge; ``text`` is the value as people read it, None and a dash if empty."""

    name: str
    value: float | None
    text: str

    def __str__(self) -> str:
        return f"{printable(self.name)} {self.text}"


Named = TypeVar("Named", AttributeGap, OwnValue)


@dataclass(frozen=True, repr=False)
class Explanation(Readable):
    """Why a node has its score.

    ``neighbors`` holds all of them, the most out of place first (highest score first where the detector predicts no
    hops); ``attributes`` holds those that differ most; printing shows the first ``top`` of both. ``method`` says what
    the score of this detector measures. A detector with kinds of evidence also fills ``evidence``, ``decided_by`` (the
    kind that the score comes from), ``own_values`` (unusual attributes of the node itself), ``expected_degree`` (of
    nodes with similar attributes) and ``companions`` (the other nodes of its ring or lockstep group). ``stability``
    is the share of repeated fits in which the node is among the first. Once the detector has learned from labels,
    ``probability`` is that of being anomalous, ``flagged_from`` that from which nodes are flagged (None if the ranking
    stays as it was), ``influences`` are the features that raised or lowered it most, and ``labeled`` is the node's own
    label. Where edges have amounts or times, ``flow`` is what the events of the node say. ``n_ranked`` nodes are
    ranked, None if all are; the others, such as those that are ``ignored`` as asked, have later ranks. ``attributes``
    are compared with those of ``n_compared`` neighbors, which have a row in the node table; None if all have.
    ``own_degree`` is the degree without edges that only say that both ends share something. ``group`` is the number of
    the first group in ``groups.csv`` that has the node.
    """

    node: Hashable
    detector: str
    method: str | None
    score: float
    threshold: float
    rank: int
    n_nodes: int
    flagged: bool
    judged: bool
    degree: int
    degree_percentile: float
    neighbors: tuple[Neighbor, ...]
    attributes: tuple[AttributeGap, ...]
    values: tuple[NodeValue, ...]
    without: WithoutEdges | None
    notes: tuple[str, ...]
    top: int = 10
    evidence: tuple[Evidence, ...] = ()
    decided_by: str | None = None
    own_values: tuple[OwnValue, ...] = ()
    expected_degree: float | None = None
    companions: Companions | None = None
    stability: float | None = None
    probability: float | None = None
    influences: tuple[Influence, ...] = ()
    flow: tuple[FlowReason, ...] = ()
    n_ranked: int | None = None
    ignored: bool = False
    group: int | None = None
    labeled: str | None = None
    flagged_from: float | None = None
    n_compared: int | None = None
    own_degree: int | None = None

    @property
    def summary(self) -> str:
        """A few sentences: what labels say, what is unusual, and the rank."""
        n_ranked = self.n_nodes if self.n_ranked is None else self.n_ranked
        rank = f"Ranks {self.rank:,} of {n_ranked:,} ({'flagged' if self.flagged else 'not flagged'})."
        if self.rank > n_ranked:
            missing = f": it has no row in the node table; {option('rank_unknown', True)} ranks it."
            rank = f"Not ranked{', as asked.' if self.ignored else missing}"
        return " ".join(filter(None, (self.by_labels, self.unusual, rank)))

    @property
    def by_labels(self) -> str:
        """Say how probable it is that the node is anomalous, by the labels so far, and why; empty without labels."""
        return by_labels(self.probability, self.influences, "node", self.labeled)

    @property
    def unusual(self) -> str:
        """The reason in a few sentences: the strongest evidence first, then what adds at least half as much."""
        if self.decided_by is None:
            return self._neighborhood()
        kinds = self.telling_kinds
        if not kinds:
            return "No evidence about it is strong."
        sentences = [self._sentence(kind) for kind in kinds]
        if kinds[0] == "activity" and "outlier" not in kinds:
            sentences.append(standing_out(self.own_values))  # the attributes for which that number is unusual
        return " ".join(dict.fromkeys(filter(None, sentences)))

    @property
    def telling_kinds(self) -> list[str]:
        """The kinds of evidence worth a sentence: what decided, then what events say, the most specific of it first."""
        counted = [each for each in self.evidence if each.counts and each.strength >= NOTICEABLE]
        counted = sorted(counted, key=lambda each: -each.weight * each.strength)
        most = max((each.weight * each.strength for each in counted), default=0.0)
        events = [each.kind for each in counted if each.kind in FLOW_KINDS and each.strength >= most / 2]
        also = [each.kind for each in counted if each.weight * each.strength >= most / 2]
        also = [kind for kind in also if kind == also[0] or kind not in ("misfit", "ring", "lockstep")]
        others = [kind for kind in also if kind not in FLOW_KINDS]
        others += [each.kind for each in counted if each.kind in RELATION_KINDS and each.kind not in others]
        others = sorted(others, key=lambda kind: kind not in IN_WORDS)
        return sorted([*sorted(events, key=MOST_SPECIFIC.index), *others], key=lambda kind: kind != self.decided_by)

    @property
    def in_short(self) -> str:
        """What is special about the node, in a few words, between its own label and the first of its groups."""
        group = "" if self.group is None else f"group {self.group}"
        special = ", ".join(filter(None, (self._special, group)))
        alone = "" if self.degree or "connection" in special else "no edges"  # such as an account without payments
        return "; ".join(filter(None, (self.labeled and f"labeled {self.labeled}", alone, special)))

    @property
    def _special(self) -> str:
        """What is special about the node, in a few words.

        What raised the probability most comes first, unless that is evidence or the score without labels, which have
        reasons of their own.
        """
        raised = next((each for each in self.influences if each.effect > 0), None)
        if raised is not None and raised.feature != UNLABELED and not raised.feature.startswith("evidence of "):
            return _influence(raised, "node")
        kinds = sorted(self.telling_kinds, key=lambda kind: kind not in IN_WORDS)  # who did what says most
        found = (self._in_short(kind) for kind in (*kinds, *(["misfit"] if "misfit" not in kinds else [])))
        return next(filter(None, found), MEANINGS.get(self.decided_by or "", ""))

    def _in_short(self, kind: str) -> str:
        """Say what is unusual in one kind of evidence in a few words; empty if that cannot be said."""
        if kind in IN_WORDS:
            return next((each.in_short for each in self.flow if each.kind == kind), "")
        if kind == "outlier":
            return telling(self.own_values, 1)[0].in_short if self.own_values else MEANINGS[kind]
        if kind == "activity" and self.expected_degree is None:
            return connections(self.degree, self.degree_percentile)
        if kind == "activity" and self.expected_degree is not None:
            usual = usual_connections(self.expected_degree, self.n_nodes)
            return f"{plural(self._n_made, 'connection')}; its attributes suggest {usual}"
        if kind in ("ring", "lockstep") and self.companions is not None and self.companions.nodes:
            names = [printable(node) for node in self.companions.nodes[:2]]
            more = ["others"] if len(self.companions.nodes) > 2 else []
            shares = self.companions.shared and f"shares {self.companions.shared}"
            tie = shares or ("a ring" if kind == "ring" else "a near-copy, tied")
            return f"{tie} with {listed([*names, *more])}"
        if kind == "misfit" and self.attributes:
            return plainest(self.attributes, 1)[0].in_short(self._others)
        return ""

    @property
    def _n_made(self) -> int:
        return self.degree if self.own_degree is None else self.own_degree

    @property
    def _others(self) -> Others:
        n_neighbors = len({neighbor.node for neighbor in self.neighbors})
        if self.n_compared is None or self.n_compared == n_neighbors:
            return Others(n_neighbors)
        return Others(self.n_compared, WITH_ATTRIBUTES)

    def _sentence(self, kind: str) -> str:
        """Say what is unusual in one kind of evidence."""
        if kind in IN_WORDS:
            return next((each.sentence for each in self.flow if each.kind == kind), "")
        if kind == "outlier":
            return outlier_sentence(self.own_values)
        if kind == "activity":
            return activity_sentence(self._n_made, self.expected_degree, self.degree_percentile, self.n_nodes)
        if kind in ("ring", "lockstep"):
            return companions_sentence(kind, self.companions)
        return self._neighborhood()

    def _neighborhood(self) -> str:
        """Say in which attribute the node differs from its neighbors, and how many of them are unlike it."""
        sentences = []
        if self.attributes:
            sentences.append(plainest(self.attributes, 1)[0].sentence(self._others))
        if any(neighbor.hop is not None for neighbor in self.neighbors):
            sentences.append(self._unlike())
        return " ".join(filter(None, sentences)) or "Its neighbors fit it less well than neighbors usually do."

    def _unlike(self) -> str:
        """Count the neighbors that are unlike the node, and name the two that fit least; empty if none is unlike it."""
        known = [each for each in self.neighbors if each.unlikeness is not None]
        n_unlike = sum((each.unlikeness or 0.0) >= UNLIKE for each in known)
        if not n_unlike or len(known) == 1:
            return ""
        names = listed([printable(each.node) for each in known[:2]])
        others = Others(len(known), "" if len(known) == len(self.neighbors) else WITH_ATTRIBUTES)
        start = f"All {others} differ" if n_unlike == len(known) else f"{n_unlike:,} of its {others} differ"
        verb_end = "s" if n_unlike == 1 else ""
        return f"{start}{verb_end} from it more than {UNLIKE:.0f}% of connected pairs do; {names} fit it least."

    def __repr__(self) -> str:
        return f"<Explanation of {printable(self.node)}: rank {self.rank:,} of {self.n_nodes:,}>"

    def _distance(self) -> str:
        """Say how far away the neighbors look."""
        hops = [neighbor.hop for neighbor in self.neighbors if neighbor.hop is not None]
        ahp = next((value for value in self.values if value.name == "ahp"), None)
        farther = f", farther than for {percent(ahp.percentile)} of nodes" if ahp and ahp.percentile >= 50 else ""
        away = f"{sum(hops) / len(hops):.1f} hops away"
        if len(self.neighbors) == 1:
            return f"Its only neighbor looks {away}{farther}."
        some = len(hops) < len(self.neighbors)
        who = f"The {plural(len(hops), 'neighbor')}{WITH_ATTRIBUTES}" if some else f"Its {len(hops):,} neighbors"
        return f"{who} {'looks' if len(hops) == 1 else 'look'} {away} on average{farther}."

    def _parts(self) -> Iterator[str | Table]:
        yield f"Node {printable(self.node)}, judged by {self.detector}"
        yield self.summary
        if self.method is not None and self.flagged_from is None:
            yield f"The {self.detector} score measures {self.method}."
        has = connections(self.degree, self.degree_percentile)
        if self.flagged_from is None or self.probability is None:
            yield f"Score {number(self.score)} (flagged above {number(self.threshold)}); {has}."
        else:
            own = chance(self.probability)
            if abs(self.probability - self.flagged_from) < 0.01:  # rounded to the side of the threshold that it is on
                toward = math.ceil if self.flagged else math.floor
                own = f"{toward(1000 * self.probability) / 10:.1f}%"
            yield f"Probability {own} (flagged from {self.flagged_from:.1%}); {has}."
        if self.evidence:
            shown = [each for each in self.evidence if each.strength >= NOTICEABLE or each.kind == self.decided_by]
            shown.sort(key=lambda each: -each.weight * each.strength * each.counts)
            lines = [f"{each.strength:.1f}  {each.kind}: {each.meaning}{each.note}" for each in shown]
            lines = lines or [f"nothing above {NOTICEABLE:g}"]
            decided = f", decided by {self.decided_by}" if self.decided_by and self.flagged_from is None else ""
            yield Table(f"Evidence ({SCALE}){decided}", (), [[line] for line in lines])
        if any(neighbor.hop is not None for neighbor in self.neighbors):
            yield self._distance()
        if self.stability is not None:
            yield f"It is among the first nodes with {self.stability:.0%} of the seeds."
        for value in () if self.evidence else self.values:  # evidence says it in words; the JSON has both
            higher = f"higher than for {percent(value.percentile)} of nodes"
            yield f"{value.name} {number(value.value)}: {value.meaning}; {higher}."
        yield from (f"Note: {note}" for note in self.notes)
        if self.own_values:
            yield Table("Unusual attributes of the node itself", (), [[str(value)] for value in self.own_values])
        if self.neighbors:
            yield self._neighbor_table()
        if self.attributes:
            header = ("attribute", "value", "neighbors", "difference", "higher than")
            rows = [gap.cells() for gap in self.attributes]
            yield Table("Attributes that differ most from those of the neighbors", header, rows)
        if self.without is not None:
            names = listed([printable(name) for name in self.without.neighbors])
            edges = "edge" if len(self.without.neighbors) == 1 else "edges"
            score = f"score would be about {number(self.without.score)}"
            if self.flagged_from is not None:
                score = f"probability would be about {chance(chance_of(self.without.score))}"
            yield f"Without the {edges} to {names}, the {score} and the rank about {self.without.rank:,}."

    def _neighbor_table(self) -> Table:
        shown = self.neighbors[: self.top]
        n_more = len(self.neighbors) - len(shown)
        if all(each.hop is None for each in self.neighbors):
            last = self.n_ranked or self.n_nodes
            rows = [
                [printable(each.node), *((number(each.score), f"{each.rank:,}") if each.rank <= last else "––"),
                 f"{each.degree:,}"]
                for each in shown
            ]  # fmt: skip
            return Table("Neighbors", ("neighbor", "score", "rank", "edges"), rows, n_more)
        columns = [("hop", "hops", 2), ("variance", "variance", 3), ("probability", "P(1 hop)", 3)]
        if self.evidence:  # the score is not made of variances
            del columns[1]
        header = ["neighbor", *(title for _, title, _ in columns)]
        rows = [[printable(each.node), *(fixed(getattr(each, key), n) for key, _, n in columns)] for each in shown]
        if all(each.unlikeness is None for each in self.neighbors):
            return Table("Neighbors, farthest first", header, rows, n_more)
        alike = ("–" if each.unlikeness is None else percent(each.unlikeness) for each in shown)
        rows = [[*row, cell] for row, cell in zip(rows, alike, strict=True)]
        return Table("Neighbors, most out of place first", [*header, "less alike than"], rows, n_more)


def by_labels(probability: float | None, influences: Sequence[Influence], noun: str, labeled: str | None = None) -> str:
    """Say how probable it is that a node or an edge is anomalous, and what raised or lowered that; empty if unknown.

    >>> from hopsight.feedback.reasons import Influence
    >>> by_labels(0.87, [Influence("weight", 980.0, 98.2, 1.8, 0.7, 0.2)], "edge")
    'By the labels so far, it is anomalous with a probability of 87%, raised by weight (higher than for 98% of edges).'
    >>> by_labels(0.75, [], "node", "anomalous")
    'It was labeled anomalous. What was learned from all labels gives it a probability of 75%.'
    """
    if probability is None:
        return ""
    start = "By the labels so far, it is anomalous with"
    if labeled is not None:
        start = f"It was labeled {labeled}. What was learned from all labels gives it"
    start = f"{start} a probability of {chance(probability)}"
    return f"{', '.join([start, *moved(influences, noun)])}."


def moved(influences: Sequence[Influence], noun: str) -> Iterator[str]:
    """Yield what raised a probability, and what lowered it."""
    for word, sign in (("raised", 1.0), ("lowered", -1.0)):
        some = [_influence(each, noun) for each in influences if each.effect * sign > 0]
        if some:
            yield f"{word} by {listed(some)}"


def _influence(each: Influence, noun: str) -> str:
    """Name a feature and its place among those of all nodes or edges; of a category, which labels have it as well.

    >>> from hopsight.feedback.reasons import Influence
    >>> _influence(Influence("city=Oslo", 1.0, 71.0, 0.0, 0.7, 0.2, (0.9, 0.25)), "node")
    'city Oslo (as for 90% of known anomalies and 25% of known normal nodes)'
    >>> _influence(Influence("neighbors' city=Oslo", 0.5, 71.0, 20.0, 0.7, 0.2), "node")
    'share of neighbors with city Oslo (higher than for 71% of nodes)'
    >>> _influence(Influence(f"neighbors' {UNLABELED}", 2.5, 95.0, 5.0, 0.7, 0.2), "node")
    'unusual neighbors (more so than for 95% of nodes)'
    """
    name, equals, value = shown_name(each.feature).partition("=")
    who, of, what = name.rpartition("s' ")
    word, share = ("higher", each.lower) if each.lower >= each.higher else ("lower", each.higher)
    if what == UNLABELED and of:
        name, word = f"{'unusual' if word == 'higher' else 'ordinary'} {who}s", "more so"
    elif equals and of and each.shares is None:
        name = f"share of {who}s with {what} {value}"
    elif equals or each.shares is not None:
        name = f"{name} {number(each.value) if not equals else value if each.value else f'not {value}'}"
    if is_time(each.feature):
        word = {"higher": "later", "lower": "earlier"}[word]
    if each.shares is None:
        return f"{printable(name)} ({word} than for {percent(share)} of {noun}s)"
    cases, others = each.shares
    return f"{printable(name)} (as for {cases:.0%} of known anomalies and {others:.0%} of known normal {noun}s)"


@dataclass(frozen=True, repr=False)
class EdgeExplanation(Readable):
    """Why an edge looks out of place, or does not.

    ``data`` holds what the edge list says about it, such as its amount and its time; where that is made of several
    rows, ``merged`` says what they are in all. ``attributes`` compares the source
    (``value``) with the target (``median``); rank 1 is the edge most out of place. ``unlikeness`` is the percentage of
    edges whose ends are more alike, ``score`` −log₁₀ of the share of ordinary edges that are as unusual, ``reason`` the
    clause of ``edges.csv``. Where an end has no row in the node table, ``hop``, ``probability`` (that of really being 1
    hop apart) and ``unlikeness`` are None. Once the detector has learned from labels of edges, ``anomaly_probability``
    is that of being anomalous, ``influences`` are the features that raised or lowered it most, and ``labeled`` is the
    edge's own label. Once labels of nodes make the ranking, ``end_probabilities`` are those of both ends.
    """

    source: Hashable
    target: Hashable
    detector: str
    rank: int | None
    n_edges: int
    hop: float | None
    variance: float | None
    probability: float | None
    source_score: float
    target_score: float
    common_neighbors: int
    attributes: tuple[AttributeGap, ...]
    unlikeness: float | None = None
    score: float | None = None
    flagged: bool | None = None
    reason: str | None = None
    data: tuple[EdgeValue, ...] = ()
    anomaly_probability: float | None = None
    influences: tuple[Influence, ...] = ()
    merged: str | None = None
    labeled: str | None = None
    end_probabilities: tuple[float, float] | None = None

    def __repr__(self) -> str:
        return f"<Explanation of the edge {printable(self.source)} – {printable(self.target)}>"

    @property
    def summary(self) -> str:
        """What labels say about the edge, its rank, and what is unusual about it, in a few sentences."""
        if self.rank is None:
            return f"{self.detector} judges nodes, not edges."
        flagged = "" if self.flagged is None else " (flagged)" if self.flagged else " (not flagged)"
        rank = f"Ranks {self.rank:,} of {plural(self.n_edges, 'edge')}{flagged}: {self.reason}."
        sentences = [by_labels(self.anomaly_probability, self.influences, "edge", self.labeled), rank]
        if self.attributes:
            name, own, theirs, _ = compared(plainest(self.attributes, 1)[0])
            sentences.append(f"They differ most in {name}: {own} and {theirs}.")
        return " ".join(filter(None, sentences))

    def _parts(self) -> Iterator[str | Table]:
        source, target = printable(self.source), printable(self.target)
        yield f"Edge {source} – {target}, judged by {self.detector}"
        yield self.summary
        if self.data or self.merged:
            known = [self.merged] if self.merged else [str(value) for value in self.data if value.value is not None]
            yield f"In the edge list: {'; '.join(known)}."
        if self.score is not None and self.anomaly_probability is None:
            yield f"Score {number(self.score)} (3 = an estimated 1 in 1,000 ordinary edges)."
        if self.probability is not None:
            near = "below 0.001" if self.probability < 0.001 else number(self.probability)
            sure = f"variance of the hops {number(self.variance)}"
            yield f"The probability that its ends are really 1 hop apart is {near} ({sure})."
        what, ends = "Scores", (number(self.source_score), number(self.target_score))
        if self.end_probabilities is not None:
            what, ends = "Probabilities", (chance(self.end_probabilities[0]), chance(self.end_probabilities[1]))
        shared = f"{plural(self.common_neighbors, 'neighbor')} in common"
        yield f"{what} of its ends: {source} {ends[0]}, {target} {ends[1]}; {shared}."
        if self.attributes:
            rows = [compared(gap) for gap in self.attributes]
            yield Table("Attributes that differ most", ("attribute", source, target, "difference"), rows)


def edge_values(graph: AttributedGraph, edge: int, calendar: Calendar) -> tuple[EdgeValue, ...]:
    """Return weight, time and attributes of an edge; of several rows, what :mod:`hopsight.canonical` makes of them.

    >>> times = [1.7e9, 1.7e9 + 3600]
    >>> graph = AttributedGraph.from_edges([0, 1], [1, 2], [[1.0]] * 3, edge_weight=[12.5, 48900.0], edge_time=times)
    >>> [str(each) for each in edge_values(graph, 1, Calendar.of(graph))]
    ['weight 48,900', 'time 2023-11-14 23:13']
    """
    found = []
    if graph.edge_weight is not None:
        found.append(("weight", float(graph.edge_weight[edge])))
    if graph.edge_attributes is not None:
        names = graph.edge_attribute_names or ()
        found += zip(names, graph.edge_attributes[edge].tolist(), strict=False)
    values = [EdgeValue(name, value, (money if is_amount(name) else number)(value)) for name, value in found]
    if graph.edge_time is not None:
        time = float(graph.edge_time[edge])
        values.append(EdgeValue("time", time, "" if math.isnan(time) else calendar.moment(time)))
    return tuple(replace(each, value=None, text="–") if math.isnan(each.value or 0.0) else each for each in values)


def plainest(gaps: Sequence[AttributeGap], most: int) -> list[AttributeGap]:
    """Return the largest differences, one for each column that attributes are derived from.

    One at least half as large that needs no comparison with nodes of as many edges is preferred.
    """
    return _one_per_column(gaps, most, lambda known, gap: abs(gap.difference) >= abs(known.difference) / 2)


def compared(gap: AttributeGap) -> tuple[str, str, str, str]:
    """Return the row of an attribute of an edge: its name, both values, and their difference."""
    if gap.category is not None:
        words = gap.category.name, gap.category.value, gap.category.common
    else:
        words = shown_name(gap.name), shown_value(gap.name, gap.value), shown_value(gap.name, gap.median)
    return printable(words[0]), printable(words[1]), printable(words[2]), f"{gap.difference:+.1f}"


def outlier_sentence(values: Sequence[OwnValue]) -> str:
    """Say which of a node's own values are unusual, the three most unusual first."""
    if not values:
        return "Its attributes are unusual in combination; none of them is unusual by itself."
    return f"Its own attributes are unusual: {'; '.join(str(value) for value in telling(values, 3))}."


def standing_out(values: Sequence[OwnValue]) -> str:
    """Say which of a node's own values are the most unusual, where its number of connections decided.

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
    return _one_per_column(values, most, lambda known, each: (known.lower, known.higher) == (each.lower, each.higher))


def _one_per_column(items: Sequence[Named], most: int, replaces: Callable[[Named, Named], bool]) -> list[Named]:
    """Return the first item of each column that attributes are derived from, or a simpler one that replaces it."""
    chosen: dict[str, Named] = {}
    for item in items:
        column = origin(item.name)
        known = chosen.setdefault(column, item)
        if known.name.endswith(FOR_COUNT) and not item.name.endswith(FOR_COUNT) and replaces(known, item):
            chosen[column] = item
    return list(chosen.values())[:most]


def activity_sentence(degree: int, expected: float | None, degree_percentile: float, n_nodes: int) -> str:
    """Compare a node's number of connections with what the regression on attributes predicts.

    >>> activity_sentence(41, 6.2, 99.0, 1000)
    'Has 41 connections; its attributes suggest about 6.'
    >>> activity_sentence(41, 5000.0, 99.0, 1000)
    'Has 41 connections; its attributes suggest far more.'
    """
    if expected is None:
        return f"Has {connections(degree, degree_percentile)}."
    usual = usual_connections(expected, n_nodes)
    return f"Has {connections(degree, 0.0)}; its attributes suggest {usual}."


def connections(degree: int, percentile: float) -> str:
    """Return how many connections a node has, and which share of nodes has fewer.

    >>> connections(41, 99.0), connections(1, 0.4), connections(0, 0.0)
    ('41 connections, more than 99% of nodes', '1 connection', 'no connections')
    """
    more = f", more than {percent(percentile)} of nodes" if percentile >= 1 else ""
    return f"{plural(degree, 'connection') if degree else 'no connections'}{more}"


def usual_connections(expected: float, n_nodes: int) -> str:
    """Return how many connections the attributes of a node suggest.

    >>> usual_connections(6.2, 1000), usual_connections(1.26, 1000), usual_connections(5000.0, 1000)
    ('about 6', 'about 1.3', 'far more')
    """
    if expected >= n_nodes:  # no node can have so many: the regression reaches beyond the data
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
    if companions.shared:
        return f"It shares {companions.shared} with {who}; they {'look far apart' if ring else 'are near-copies'}."
    if companions.group is None:
        return f"Its edges close triangles of {'nodes that look far apart' if ring else 'near-copies'} with {who}."
    tied = "" if companions.density is None else f", {companions.density:.0%} of whose pairs are connected"
    size = len(companions.nodes) + 1
    what = f"a ring of {size:,} nodes that look far apart" if ring else f"a group of {size:,} near-copies"
    return f"It belongs to {what}{tied} (group {companions.group}): with {who}."


def _category_sentence(category: Category, others: Others) -> str:
    own, common = printable(category.value), printable(category.common)
    start = f"Its {printable(category.name)} is {own}"
    if common == own:
        return f"{start}, shared by only {category.common_share:.0%} of its {others}."
    if others.size == 1:
        return f"{start}; {others.only} has {common}."
    if category.common_share == 1:
        return f"{start}; all {others} have {common}."
    return f"{start}; {category.common_share:.0%} of its {others} have {common}."
