"""Explanations as small HTML tables, for notebooks."""

from __future__ import annotations

from itertools import islice
from typing import Any

from hopsight.explanations.derived import named, said
from hopsight.explanations.text import fixed, number, percent, printable
from hopsight.markup import card, paragraph, table


def explanation_card(explanation: Any) -> str:
    """Return the reason, the evidence, the first neighbors and the attributes that differ most."""
    top = explanation.top
    evidence = [
        [each.kind, f"{each.strength:.1f}" + ("" if each.counts else " (does not count)"), each.meaning]
        for each in explanation.evidence
    ]
    neighbors = [
        [printable(each.node), f"{each.rank:,}", number(each.score), fixed(each.hop, 1)]
        for each in islice(explanation.neighbors, top)
    ]
    attributes = [each.cells() for each in explanation.attributes[:top]]
    return card(
        f"Node {printable(explanation.node)}",
        paragraph(explanation.summary),
        table(["evidence", "strength", "meaning"], evidence),
        table(["neighbor", "rank", "score", "hops"], neighbors),
        table(["attribute", "value", "neighbors", "difference", "higher than"], attributes),
        *(paragraph(note) for note in explanation.notes),
    )


def edge_card(explanation: Any) -> str:
    """Return what is known of an edge, and in which attributes its ends differ most."""
    source, target = printable(explanation.source), printable(explanation.target)
    chance = explanation.probability
    facts = [
        *((printable(each.name), each.text) for each in explanation.data),
        ("rank", None if explanation.rank is None else f"{explanation.rank:,} of {explanation.n_edges:,}"),
        ("hops", None if explanation.hop is None else f"{explanation.hop:.1f}"),
        ("probability of 1 hop", None if chance is None else "below 0.001" if chance < 0.001 else number(chance)),
        ("less alike than", None if explanation.unlikeness is None else f"{percent(explanation.unlikeness)} of edges"),
        ("neighbors in common", f"{explanation.common_neighbors:,}"),
    ]
    rows = [
        [printable(named(gap.name)), said(gap.name, gap.value), said(gap.name, gap.median), f"{gap.difference:+.1f}"]
        for gap in explanation.attributes
    ]
    return card(
        f"Edge {source} – {target}",
        paragraph(explanation.summary),
        table([], [fact for fact in facts if fact[1] is not None]),
        table(["attribute", source, target, "difference"], rows),
    )


def group_card(explanation: Any) -> str:
    """Return the members of a group and what they share."""
    rows = [
        [printable(each.node), f"{each.rank:,}", f"{each.strength:.1f}", "yes" if each.flagged else ""]
        for each in explanation.members
    ]
    return card(
        f"Group {explanation.group}: {explanation.kind}",
        paragraph(f"What they share: {explanation.shared}. {explanation.density:.0%} of their pairs are connected."),
        table(["member", "rank", explanation.kind, "flagged"], rows),
    )
