"""Learn from verdicts with a table of scores alone, such as Spark's: no graph and no model are needed."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np

from hopsight.graph import AttributedGraph
from hopsight.hcm.evidence import DEFAULT_EVIDENCE
from hopsight.hcm.feedback import in_words, learn
from hopsight.io.verdicts import read_verdicts
from hopsight.metrics import ranks
from hopsight.runs.tables import read_table, table_of
from hopsight.system.cells import guarded_frame
from hopsight.system.files import replacing
from hopsight.system.lazy_polars import pl


def learn_scores(
    scores: str | Path | pl.DataFrame, verdicts: Any, evidence: Sequence[str] = DEFAULT_EVIDENCE
) -> tuple[pl.DataFrame, str | None]:
    """Return a table of scores in the order that verdicts teach, and what was learned in words (None: nothing yet).

    The kinds of evidence are weighed as :meth:`hopsight.CrossHCM.learn` does; being connected to judged nodes, or
    having attributes like theirs, cannot count here, because the table knows no edges and no attributes.

    Parameters
    ----------
    scores
        ``scores.csv`` or ``scores.parquet`` of a run, or the same as a table: the columns ``node``, ``rank``,
        ``score`` and one per kind of evidence.
    verdicts
        As for :meth:`hopsight.CrossHCM.learn`.
    evidence
        The kinds that count.
    """
    table = scores if isinstance(scores, pl.DataFrame) else _read(Path(scores))
    missing = [name for name in ("node", "rank", "score", *evidence) if name not in table.columns]
    if missing:
        raise ValueError(f"the table of scores has no column {missing[0]}: verdicts need the evidence of cross_hcm")
    nodes = AttributedGraph.from_edges([], [], np.zeros((table.height, 1)), node_ids=table["node"].to_list())
    known = {place: word for place, word in read_verdicts(verdicts, nodes).items() if word != "unsure"}
    judged = np.array(sorted(known), dtype=np.int64)
    anomalous = np.array([known[place] == "anomalous" for place in judged.tolist()], dtype=np.int64)
    strengths = table.select(evidence).to_numpy().T.astype(np.float64)
    learned = learn(strengths, judged, anomalous)
    if learned is None:
        return table, None
    score = learned.scores(strengths)
    changed = table.with_columns(
        pl.col("rank").alias("rank_before"), pl.Series("score", score), pl.Series("rank", ranks(score))
    )
    return changed.sort("rank"), in_words(learned, evidence)


def write_learned(folder: Path, verdicts: str | Path, evidence: Sequence[str]) -> str:
    """Write ``scores-learned.csv`` beside the scores of a finished run, and say what was learned."""
    table, words = learn_scores(table_of(folder, "scores"), verdicts, evidence)
    if words is None:
        return "Nothing is learned before there are verdicts of both kinds."
    with replacing(folder / "scores-learned.csv") as file:
        guarded_frame(table).write_csv(file)
    return words


def _read(path: Path) -> pl.DataFrame:
    if not path.exists():
        raise ValueError(f"there is no file {path}")
    return read_table(path)
