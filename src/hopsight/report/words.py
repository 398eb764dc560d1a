"""The summary of a run in sentences, tables of how it was made, and the meaning of words that a reader may not know."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import PurePath
from typing import Any

import numpy as np

from hopsight.checks import duration, listed, plural
from hopsight.detectors.table import decided_by
from hopsight.explanations import Explainer, Explanation
from hopsight.explanations.text import flagged_sentence, shown_name
from hopsight.graph import AttributedGraph

TABLES = {
    "parameters": "Parameters",
    "graph": "Graph",
    "seconds": "Time",
    "versions": "Versions",
    "machine": "Machine",
}
N_OTHERS = 3  # kinds of evidence of which the first node is named

GLOSSARY = {
    "activity": "Evidence that a node has unusually many or few edges for a node with its attributes.",
    "AHP": "Average hop prediction: how many hops away the neighbors of a node look on average.",
    "amount": "Evidence that amounts are unlike a node's own history, or keep just below a round limit.",
    "Attributes": "Numbers about a node. A category such as a city becomes one attribute per value.",
    "burst": "Evidence that a node had many events, or many new partners, within a short time.",
    "Connected": "The share of the pairs of members that are edges.",
    "cycle": "Evidence that similar amounts went around a circle, or along a chain, within days.",
    "Decided by": "The kind of evidence that adds most to the score of a node.",
    "Difference": "How far the node is from its neighbors, in units of how much connected nodes usually differ.",
    "Edges": "Connections between two nodes.",
    "Evidence": "How unusual a node is in one respect, such as its neighbors, its attributes or its events.",
    "Flagged": "With a score or a probability above the threshold.",
    "Group": "Suspicious nodes that belong together: a ring of strangers, near-copies in lockstep, a cycle of amounts, "
    "users around one device.",
    "HAV": "The score of the paper: AHP and IV, each divided by its maximum, added up.",
    "Higher than": "The percentage of all nodes with a lower value, rounded down.",
    "Hops": "How many steps along edges two nodes look apart, judged by their attributes and surroundings.",
    "IV": "Inference variance: how much the predicted hops of a node's edges vary over the samples of the model.",
    "Known": "Ground truth that came with the data. The detector never saw it.",
    "Less alike than": "The percentage of all edges whose ends are more alike, rounded down.",
    "lockstep": "Evidence that a node is densely tied to near-copies of itself.",
    "relations": "Evidence that a node has more of something, such as cards, than other nodes of its type.",
    "sharing": "Evidence that a node shares nodes of another type, such as devices, that few nodes share.",
    "misfit": "Evidence that the neighbors of a node look far away.",
    "Neighbors": "For numbers, the range of the middle 80% of the neighbors; for categories, the most common value.",
    "outlier": "Evidence that the node's own attributes are unusual.",
    "pass_through": "Evidence that what a node received went out again soon.",
    "Probability": "That a node or an edge is anomalous, by what was learned from labels.",
    "P(1 hop)": "The probability that two nodes are really one hop apart. If it is small, an edge is out of place.",
    "Rank": "1 is the most anomalous node.",
    "ring": "Evidence that the edges of a node close triangles of nodes that look far apart.",
    "Score": "Higher means more anomalous. Scores are relative to this graph: compare ranks between graphs instead.",
    "Stability": "The share of repeated fits in which a node is among the first.",
    "Strength": "−log₁₀ of the estimated share of ordinary nodes that are as unusual: 3 means 1 in 1,000.",
    "Threshold": "Nodes above it are flagged.",
    "Variance": "How much the predicted hops vary over the samples of the model: how uncertain the model is.",
}


def summary(explainer: Explainer, explanations: Sequence[Explanation], run: Mapping[str, Any]) -> list[str]:
    """Say what was found, one short paragraph per point."""
    model, graph = explainer.model, explainer.graph
    n_flagged = int((explainer.scores > model.threshold_).sum())
    rule = run.get("flagged") or flagged_sentence(model, n_flagged, graph.n_nodes)
    paragraphs = [
        f"{type(model).__name__} examined {plural(graph.n_nodes, 'node')} and {plural(graph.n_edges, 'edge')}. {rule}"
    ]
    if explanations:
        first = explanations[0]
        paragraphs.append(f"The most anomalous node is {_called(graph, first.node)}. {first.unusual}".strip())
        paragraphs += _other_findings(explainer)
    if explainer.edges.order.size:
        paragraphs.append(_worst_edge(explainer, int(explainer.edges.order[0])))
    groups = Counter(group.kind for group in explainer.groups.found)
    if groups:
        counts = [f"{plural(groups['ring'], 'ring')} of nodes that look far apart"] if groups["ring"] else []
        counts += [f"{plural(groups['lockstep'], 'lockstep group')} of near-copies"] if groups["lockstep"] else []
        counts += [f"{plural(groups['cycle'], 'circle')} of payments"] if groups["cycle"] else []
        counts += [f"{plural(groups['sharing'], 'group')} around what few share"] if groups["sharing"] else []
        paragraphs.append(f"It found {listed(counts)}.")
    if hasattr(model, "stability_"):
        paragraphs.append(
            f"Scores and evidence are means of {plural(run.get('repeat', 1), 'fit')} with different seeds; stability "
            "is the share of them in which a node is among the first. Edges are those of the first fit."
        )
    if getattr(model, "learned_words", None):
        paragraphs.append(model.learned_words)
        from hopsight.feedback.curve import Point
        from hopsight.feedback.curve import in_words as curve_words
        from hopsight.feedback.reasons import Distinction, in_words

        known = run.get("distinguishes")
        found = model.distinctions(explainer.graph) if known is None else [Distinction(**each) for each in known]
        found = [replace(each, feature=shown_name(each.feature)) for each in found]
        sentences = (curve_words([Point(**each) for each in run.get("learning_curve") or ()]), in_words(found))
        paragraphs += [sentence for sentence in sentences if sentence]
    n_unjudged = int(np.sum(~np.asarray(getattr(model, "judged_", True), dtype=bool)))
    if n_unjudged:
        have, were = ("has", "was") if n_unjudged == 1 else ("have", "were")
        paragraphs.append(
            f"{plural(n_unjudged, 'node')} {have} no edges and {were} not judged; the score is the median of the rest."
        )
    labels = run.get("labels")
    if labels:
        first_of = plural(labels["n_anomalies"], "labeled node")
        paragraphs.append(
            f"The graph came with labels, which the detector never saw: {labels['n_found']:,} of the "
            f"{labels['n_anomalies']:,} known anomalies are among the first {first_of} "
            f"(ROC-AUC {labels['roc_auc']:.3f})."
        )
    return paragraphs


def _other_findings(explainer: Explainer) -> list[str]:
    """Name the first flagged node of each kind of evidence other than that of the first node, as one paragraph."""
    decided, order = decided_by(explainer.model), explainer.flagged
    if decided is None or explainer.flagged_from is not None:
        return []
    places = np.sort(np.unique(decided[order], return_index=True)[1])[1 : 1 + N_OTHERS]
    others = explainer.many(order[places].tolist(), absent=0, influences=False)
    said = [f"{_called(explainer.graph, each.node)} (rank {each.rank:,}): {each.in_short}" for each in others]
    return [f"The first of each other kind: {'; '.join(said)}."] if said else []


def _called(graph: AttributedGraph, node: Any) -> str:
    """Return the id of a node, after the name to show where it has one."""
    title = None if graph.node_names is None else str(graph.node_names[graph.index_of(node)])
    return f"{title} ({node})" if title and title != str(node) else str(node)


def title_of(graph: AttributedGraph, run: Mapping[str, Any]) -> str:
    """Return the name of a graph, or else that of the file it was read from."""
    path = str(((run.get("request") or {}).get("source") or {}).get("path") or "").partition("?")[0]
    return graph.name or ("" if "://" in path else PurePath(path.replace("\\", "/")).stem) or "Graph"


def details(run: Mapping[str, Any]) -> list[dict[str, Any]]:
    """Return titled tables of the record; paths are cut to file names, because a report is passed on to others."""
    request = run.get("request") or {}
    about = {
        "started": _moment(run.get("started")),
        "source": _file_name((request.get("source") or run.get("source") or {}).get("path")),
        "detector": run.get("detector"),
        "preset": request.get("preset"),
        "seed": run.get("seed"),
        "peak memory": _memory(run.get("peak_memory_bytes")),
    }
    tables = {"Run": about} | {title: run.get(key) or {} for key, title in TABLES.items()}
    return [
        {"title": title, "rows": [_row(title, str(key), value) for key, value in rows.items() if value is not None]}
        for title, rows in tables.items()
        if any(value is not None for value in rows.values())
    ]


def _row(table: str, key: str, value: Any) -> list[str]:
    """Return a name and a value as people read them; parameters keep the names that ``--set`` takes."""
    if table == "Time":
        return [key, duration(value)]
    if key == "memory_gb":
        return ["memory", f"{value:,.3g} GB"]
    if key == "load" and isinstance(value, list):
        return ["load", ", ".join(f"{each:.1f}" for each in value)]
    if table == "Parameters":
        return [key, _shown(value)]
    return [key.removeprefix("n_").replace("_", " "), _shown(value)]


def _worst_edge(explainer: Explainer, edge: int) -> str:
    graph = explainer.graph
    source, target = (_called(graph, node) for node in graph.node_ids[graph.directions[:, edge]])
    text = f"The edge most out of place is {source} – {target}: {explainer.edges.reasons(np.array([edge]))[0]}."
    if hasattr(explainer.model, "edge_label_"):
        n_flagged = int(explainer.model.edge_label_.sum())
        text += f" {plural(n_flagged, 'edge') if n_flagged else 'No edge'} {'is' if n_flagged < 2 else 'are'} flagged."
    return text


def _moment(started: str | None) -> str | None:
    """Return a time without its seconds and its T: 2024-05-06 07:08 +0000."""
    return None if started is None else f"{started[:16].replace('T', ' ')} {started[19:]}".strip()


def _file_name(path: str | None) -> str | None:
    return None if path is None else PurePath(path.replace("\\", "/")).name


def _memory(n_bytes: int | None) -> str | None:
    return None if n_bytes is None else f"{n_bytes / 2**20:,.0f} MiB"


def _shown(value: Any) -> str:
    if isinstance(value, bool):
        return "yes" if value else "no"
    if isinstance(value, int) and abs(value) >= 1000:
        return f"{value:,}"
    if isinstance(value, list | tuple):
        return ", ".join(_shown(item) for item in value)
    return f"{value:.4g}" if isinstance(value, float) else str(value)
