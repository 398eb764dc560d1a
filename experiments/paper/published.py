"""What the paper printed: Table 1, its dataset table and its complexity table."""

from __future__ import annotations

from paper.oracle import MADANOracle

GRAPH_ORDER = ("flickr", "blogcatalog", "acm", "amazon", "enron")

_ROC_AUC = {
    ("LOF", "score"): (0.488, 0.491, 0.473, 0.490, 0.440),
    ("AMEN", "score"): (0.604, 0.665, 0.533, 0.470, 0.470),
    ("Radar", "score"): (0.728, 0.725, 0.693, 0.580, 0.650),
    ("ANOMALOUS", "score"): (0.716, 0.728, 0.718, 0.602, 0.695),
    ("DOMINANT", "score"): (0.781, 0.749, 0.749, 0.625, 0.685),
    ("MADAN", "score"): (None, None, None, 0.680, 0.660),
    ("ResGCN", "score"): (0.780, 0.785, 0.768, 0.710, 0.660),
    ("HCM", "ahp"): (0.791, 0.808, 0.806, 0.62, 0.670),
    ("HCM", "hav"): (0.792, 0.798, 0.761, 0.708, 0.715),
}

_SAME_METHOD = {
    "HCM (paper)": "HCM",
    "HCM (authors)": "HCM",
    MADANOracle.title: "MADAN",
}

# graph: nodes, edges, attributes, anomalies
SIZES = {
    "amazon": (1_418, 3_695, 28, 28),
    "enron": (13_533, 176_987, 20, 5),
    "blogcatalog": (5_196, 171_743, 8_189, 300),
    "flickr": (7_575, 239_738, 12_074, 450),
    "acm": (16_484, 71_980, 8_337, 600),
}

COMPLEXITY = {
    "LOF": "|V| log |V|",
    "AMEN": "|c|² d + |E| d",
    "Radar": "i d |V|² + i |V|³",
    "ANOMALOUS": "i d |V|²",
    "DOMINANT": "|E| d |F| + |V|²",
    "MADAN": "|V|²",
    "ResGCN": "k d |F| + |V|²",
    "HCM": "|E| + (|E| + |V|) log |V| + (|E| d |F| + s t h^k C) i   (text only)",
}

COMPLEXITY_NOTE = (
    "The paper's own formula for HCM is incomplete: (|E| + |V|) log |V| is the cost of hop counts from one source, "
    "and hop counts between pairs of nodes need a search from every source that is sampled, |V| of them for all "
    "pairs; the scoring of every edge at every posterior sample is not counted. HCM is missing from the paper's own "
    "table, which lists only the baselines. Time and memory are therefore measured here."
)

NOTES = (
    "The paper's DOMINANT row has Flickr and BlogCatalog exchanged: DOMINANT's own figure says .7490 and .7813.",
    "The paper's MADAN values choose its time scale by the labels; so does our row with that name. Its Enron value is "
    ".680 in the paper that it is quoted from.",
    "The published figures of HCM on injected graphs appear to be those of one chosen injection (its script loads "
    "files called …_anomaly_best.mat); ours are means over injections.",
)


SIZES_NOTE = (
    "In brackets the paper's number where it differs. The files of Amazon and Enron have 21 and 18 attributes, not 28 "
    "and 20; Flickr has 12,047, the paper's 12,074 has two digits exchanged."
)


def paper_value(row: str, score: str | None, graph: str) -> float | None:
    """Return the ROC-AUC in Table 1 of the paper, or None if it has none.

    >>> paper_value("HCM (paper)", "ahp", "blogcatalog"), paper_value("MADAN", "score", "flickr")
    (0.808, None)
    """
    values = _ROC_AUC.get((_SAME_METHOD.get(row, row), score or "score"))
    return values[GRAPH_ORDER.index(graph)] if values and graph in GRAPH_ORDER else None
