"""Check that a change of the code left every score as it was.

    python experiments/same_scores.py save before.npz      # in a checkout of the old code
    python experiments/same_scores.py compare before.npz   # in a checkout of the new code

Every detector is fitted to Disney, Amazon and gen_1000, HCM and CrossHCM to every graph of HOPSIGHT_DATA (default:
../shared/data), each with seed 0 on the CPU. ``compare`` prints the largest difference per fit, relative to the
range of the old scores, and exits with 1 if one is above 1e-6.
"""

from __future__ import annotations

import argparse
import os
import sys
import time
import warnings
from pathlib import Path

import numpy as np

import hopsight as hs

SMALL = ("Disney", "Amazon", "gen_1000")
LARGE = ("inj_cora", "bitcoin_alpha", "BlogCatalog", "Flickr", "amazon_fraud", "Enron", "enron_bond", "tolokers")
TOLERANCE = 1e-6


def main() -> None:
    """Save the scores of this checkout, or compare them with saved ones."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("action", choices=("save", "compare"))
    parser.add_argument("file", type=Path)
    parser.add_argument("--graphs", nargs="+", default=[*SMALL, *LARGE])
    options = parser.parse_args()
    folder = Path(os.environ.get("HOPSIGHT_DATA", Path(__file__).resolve().parents[2] / "shared" / "data"))
    before = dict(np.load(options.file)) if options.file.exists() else {}
    worst = 0.0
    for name in options.graphs:
        graph = hs.load(str(folder / f"{name}.mat"))
        for detector in hs.DETECTORS if name in SMALL else ("hcm", "cross_hcm"):
            key = f"{name} {detector}"
            if options.action == "save" and key in before:
                continue
            start = time.perf_counter()
            scores = fit(detector, graph)
            line = f"{key}: {time.perf_counter() - start:.1f} s"
            if options.action == "save":
                before[key] = scores
                np.savez_compressed(options.file, **before)
            else:
                difference = float(np.abs(scores - before[key]).max() / (np.ptp(before[key]) or 1.0))
                worst = max(worst, difference)
                line += f", largest difference {difference:.1e}"
            print(line, flush=True)
    if worst > TOLERANCE:
        sys.exit(f"some scores differ by {worst:.1e}, more than {TOLERANCE:g} of their range")


def fit(detector: str, graph: hs.AttributedGraph) -> np.ndarray:
    """Return the scores of one fit."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return hs.DETECTORS[detector](seed=0, device="cpu").fit(graph).decision_score_


if __name__ == "__main__":
    main()
