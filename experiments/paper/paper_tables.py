"""All tables of the paper's suites, in the order of the paper."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from hopsight.benchmark.cells import N_COMPONENTS
from hopsight.benchmark.results import ResultTable, Row
from paper.claims import claims_table
from paper.comparison_tables import PublishedFigures, comparison_tables
from paper.published import NOTES, SIZES, SIZES_NOTE, paper_value
from paper.setups import SETUPS
from paper.study_tables import study_tables

_NOTE = (
    "Ours (mean ± sd over repetitions) / the paper's (difference). Usual attributes: if anomalies are planted, "
    f"{N_COMPONENTS} principal components, the same for all detectors of the paper; otherwise, and for plain HCM and "
    "CrossHCM, whatever the detector makes of the graph's own attributes. Detectors that do not depend on the seed run "
    "once per injection. " + " ".join(NOTES)
)
PUBLISHED = PublishedFigures(
    titles={name: setup.title for name, setup in SETUPS.items()},
    auc=paper_value,
    sizes=SIZES,
    note=_NOTE,
    sizes_note=SIZES_NOTE,
)


def paper_tables(rows: Sequence[Row]) -> list[ResultTable]:
    """Return every table that has any rows."""
    compared = [_renamed(table) for table in comparison_tables(rows, PUBLISHED, mean_ranks=False)]
    return [table for table in (*compared, *study_tables(rows), claims_table(rows)) if table.rows]


def peer_tables(rows: Sequence[Row]) -> list[ResultTable]:
    """Return the tables of the comparison with other libraries, mean ranks included."""
    return [_renamed(table) for table in comparison_tables(rows, PUBLISHED)]


def _renamed(table: ResultTable) -> ResultTable:
    return replace(table, name="table1", title="Table 1: ROC-AUC") if table.name == "overview" else table
