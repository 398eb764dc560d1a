"""Measure what 20 verdicts are worth: a simulated analyst goes down the queue of the development graphs.

    python experiments/verdicts.py --out experiments/results/verdicts.json
    python experiments/verdicts.py table experiments/results/verdicts.json

Graphs are read from HOPSIGHT_DATA (default: ../shared/data). Each fit is judged in 10 random orders: the analyst takes
20 of the first 30 labeled nodes of the queue and gives their labels as verdicts (nodes without a label are passed
over). With ``--steps 4`` the model learns, and the queue is asked again, after every 5 verdicts. Measured before and
after: the precision among the next 50 nodes of the ranking, and the ROC-AUC, both without the judged nodes.
"""

from __future__ import annotations

import argparse
import json
import warnings
from collections import defaultdict
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np

from evidence import DEVELOPMENT, INJECTED, Cell, make

N_VERDICTS, N_SPARE, N_NEXT = 20, 10, 50


def main() -> None:
    """Fit, let the analyst judge, and print the table; or print it from a file."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("what", nargs="?", choices=("run", "table"), default="run")
    parser.add_argument("files", nargs="*", type=Path)
    parser.add_argument("--graphs", nargs="*", default=DEVELOPMENT)
    parser.add_argument("--fits", type=int, default=2, help="fits per graph, each with another seed and injection")
    parser.add_argument("--orders", type=int, default=10)
    parser.add_argument("--steps", type=int, default=1)
    parser.add_argument("--device", default="auto")
    parser.add_argument("--out", type=Path)
    options = parser.parse_args()
    if options.what == "table":
        print_table([row for file in options.files for row in json.loads(file.read_text())])
        return
    warnings.simplefilter("ignore")
    import hopsight as hs

    rows: list[dict[str, Any]] = []
    for number in range(options.fits):
        for name in options.graphs:
            graph = make(Cell("dev", name, number if name in INJECTED else 0, number, "cross_hcm", options.device))
            model = hs.CrossHCM(seed=number, device=options.device).fit(graph)
            for order in range(options.orders):
                row = {"graph": name, "seed": number, "order": order, "steps": options.steps}
                rows.append(row | judge(model, graph, order, options.steps))
            if options.out:
                options.out.write_text(json.dumps(rows, indent=0))
    print_table(rows)


def judge(model: Any, graph: Any, order: int, steps: int = 1) -> dict[str, Any]:
    """Let the analyst give verdicts, and return what they changed."""
    rng = np.random.default_rng(order)
    words = {0: "normal", 1: "anomalous"}
    taught, verdicts = model, {}
    for step in range(steps):
        wanted = N_VERDICTS * (step + 1) // steps - len(verdicts)
        asked = [node for node in taught.queue(min(graph.n_nodes, 600), graph=graph)
                 if node not in verdicts and graph.labels[graph.index_of(node)] >= 0]  # fmt: skip
        chosen = rng.permutation(min(len(asked), wanted + N_SPARE // steps))[:wanted]
        verdicts |= {asked[place]: words[int(graph.labels[graph.index_of(asked[place])])] for place in chosen}
        taught = model.learn(verdicts, graph=graph)
    labels = np.array(graph.labels)
    labels[[graph.index_of(node) for node in verdicts]] = -1
    return {
        "anomalous": sum(word == "anomalous" for word in verdicts.values()),
        "precision": [next_precision(labels, each.decision_score_) for each in (model, taught)],
        "auc": [auc(labels, each.decision_score_) for each in (model, taught)],
    }


def next_precision(labels: Any, scores: Any) -> float:
    """Return the share of anomalies among the next nodes that are labeled and not judged."""
    known = np.flatnonzero(labels >= 0)
    first = known[np.argsort(-scores[known], kind="stable")[:N_NEXT]]
    return float(labels[first].mean())


def auc(labels: Any, scores: Any) -> float | None:
    """Return the ROC-AUC of the nodes that are labeled and not judged; None without an anomaly among them."""
    from hopsight.metrics import roc_auc

    return round(roc_auc(labels, scores), 4) if (labels == 1).any() else None


def print_table(rows: Sequence[dict[str, Any]]) -> None:
    """Print means per graph, two standard errors of the gains, and the means over graphs."""
    groups: dict[str, list[dict[str, Any]]] = defaultdict(list)
    for row in rows:
        groups[row["graph"]].append(row)
    gains: dict[str, list[float]] = {}
    for name, mine in groups.items():
        text = f"{name} | {len(mine)} orders | {np.mean([row['anomalous'] for row in mine]):.1f} of 20 anomalous"
        for measure in ("precision", "auc"):
            pairs = np.array([row[measure] for row in mine if row[measure] is not None])
            gain = pairs[:, 1] - pairs[:, 0]
            error = 2 * gain.std() / np.sqrt(gain.size)
            before, after = pairs.mean(axis=0)
            text += f" | {measure} {before:.3f} to {after:.3f} ({gain.mean():+.3f} ± {error:.3f})"
            gains.setdefault(name, []).append(float(gain.mean()))
        print(text)
    organic = [pair[1] for name, pair in gains.items() if name not in (*INJECTED, "inj_cora")]
    print(f"mean gain of precision over {len(gains)} graphs {np.mean([pair[0] for pair in gains.values()]):+.4f}")
    if organic:
        print(f"mean gain of ROC-AUC over {len(organic)} organic graphs {np.mean(organic):+.4f}")


if __name__ == "__main__":
    main()
