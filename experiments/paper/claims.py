"""The paper's claims, each beside the measurements that support or contradict it."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from hopsight.benchmark.results import ResultTable, Row
from paper.rows import distinct, mean_of, mean_sd, select
from paper.setups import setup_of
from paper.studies import TUNED
from paper.study_tables import SCORES, curve_runs, mean_step

Line = list[str]  # claim, graph, what was measured

_BASELINES = ("LOF", "AMEN", "Radar", "ANOMALOUS", "DOMINANT", "MADAN", "ResGCN")
_OURS = "HCM (paper)"
_SGLD, _QUIET = "SGLD, preconditioned, temperature .001", "the same without noise"
_SGD = ("SGD, rate .01", TUNED, _QUIET)


def claims_table(rows: Sequence[Row]) -> ResultTable:
    """Return the measurements for each claim, with the paper's settings of HCM; the reader judges."""
    lines = [
        *_better_than_baselines(rows),
        *_hav_against_ahp(rows),
        *_higher_for_anomalies(rows),
        *_changes(rows, "sweep R", "a few dropped edges help, many harm", ("0", "0.2"), ("0.2", "0.5")),
        *_changes(rows, "sweep C", "more classes help", ("2", "4"), ("2", "7")),
        *_insensitive_to_s(rows),
        *_better_than_sgd(rows),
        *_steadier_than_sgd(rows),
    ]
    return ResultTable("claims", "The paper's claims, measured", ["claim", "graph", "measured"], lines)


def _better_than_baselines(rows: Sequence[Row]) -> Iterator[Line]:
    compared = select(rows, experiment="comparison", second=False)
    for (graph,) in distinct(compared, "graph"):
        here = select(compared, graph=graph)
        baselines = {name: mean_of(select(here, row=name), "auc") for name in _BASELINES}
        present = {name: summary for name, summary in baselines.items() if summary is not None}
        ours = {score: mean_of(select(here, row=_OURS, score=score), "auc") for score in SCORES}
        if not present or not any(ours.values()):
            continue
        best = max(present, key=lambda name: present[name].mean)
        hcm = ", ".join(f"{SCORES[score]} {mean_sd(summary)}" for score, summary in ours.items())
        yield [
            "HCM beats the baselines",
            setup_of(graph).title,
            f"{hcm}; best baseline {best} {mean_sd(present[best])}",
        ]


def _hav_against_ahp(rows: Sequence[Row]) -> Iterator[Line]:
    compared = select(rows, experiment="comparison", row=_OURS)
    for (graph,) in distinct(compared, "graph"):
        ahp, hav = (mean_of(select(compared, graph=graph, score=score), "auc") for score in SCORES)
        if ahp and hav:
            text = f"HAV − AHP {_signed(hav.mean - ahp.mean)}; sd over repetitions AHP {ahp.sd:.3f}, HAV {hav.sd:.3f}"
            yield ["HAV is better than AHP on all networks", setup_of(graph).title, text]


def _higher_for_anomalies(rows: Sequence[Row]) -> Iterator[Line]:
    compared = [row for row in select(rows, experiment="comparison", row=_OURS) if "mean_normal" in row]
    for graph, score in distinct(compared, "graph", "score"):
        here = select(compared, graph=graph, score=score)
        higher = sum(row["mean_anomalous"] > row["mean_normal"] for row in here)
        text = f"mean {SCORES[score]} of anomalous nodes is higher in {higher} of {len(here)} fits"
        yield ["anomalous nodes score higher on average", setup_of(graph).title, text]


def _changes(rows: Sequence[Row], sweep: str, claim: str, *pairs: tuple[str, str]) -> Iterator[Line]:
    letter = sweep[-1]
    for (graph,) in distinct(select(rows, experiment=sweep), "graph"):
        parts = []
        for score, name in SCORES.items():
            here = select(rows, experiment=sweep, graph=graph, score=score)
            for start, end in pairs:
                low, high = (mean_of(select(here, row=value), "auc") for value in (start, end))
                if low and high:
                    parts.append(f"{name} {_signed(high.mean - low.mean)} from {letter} = {start} to {end}")
        if parts:
            yield [claim, setup_of(graph).title, "; ".join(parts)]


def _insensitive_to_s(rows: Sequence[Row]) -> Iterator[Line]:
    swept = select(rows, experiment="sweep S")
    for (graph,) in distinct(swept, "graph"):
        parts = []
        for score, name in SCORES.items():
            here = select(swept, graph=graph, score=score)
            found = [mean_of(select(here, row=value), "auc") for (value,) in distinct(here, "row")]
            means = [summary.mean for summary in found if summary]
            if means:
                parts.append(f"{name} between {min(means):.3f} and {max(means):.3f}")
        if parts:
            yield ["insensitive to S", setup_of(graph).title, "; ".join(parts)]


def _better_than_sgd(rows: Sequence[Row]) -> Iterator[Line]:
    compared = select(rows, experiment="optimizers")
    for (graph,) in distinct(compared, "graph"):
        parts = []
        for score, name in SCORES.items():
            here = select(compared, graph=graph, score=score)
            sgld = mean_of(select(here, row=_SGLD), "auc")
            for other in _SGD:
                mean = mean_of(select(here, row=other), "auc")
                if sgld and mean:
                    parts.append(f"{name} {_signed(sgld.mean - mean.mean)} against {other}")
        if parts:
            yield ["SGLD is better than SGD", setup_of(graph).title, "; ".join(parts)]


def _steadier_than_sgd(rows: Sequence[Row]) -> Iterator[Line]:
    runs = curve_runs(rows)
    for graph in dict.fromkeys(graph for graph, _ in runs):
        steps = {name: mean_step(curves) for (place, name), curves in runs.items() if place == graph}
        parts = [f"{name} {mean_sd(step, 4)}" for name, step in steps.items()]
        text = f"mean change from epoch to epoch: {'; '.join(parts)}"
        yield ["the AUC over the epochs is steadier under SGLD", setup_of(graph).title, text]


def _signed(value: float) -> str:
    return f"{value:+.3f}".replace("-", "−")
