"""The tables of a run over time (events, windows, nodes and windows), and what it says as a whole.

Scores per node, explanations, the report and the record come from the state, which has a bounded size, so that
``watch`` can write them anew after every piece.
"""

from __future__ import annotations

import json
import math
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from hopsight.checks import plural, shortened
from hopsight.io.ids import are_forms_of
from hopsight.metrics import roc_auc
from hopsight.report.pages import write_timeline
from hopsight.runs.folder import ALERTS, RECORD, STATE, TRAJECTORIES, WINDOWS, WRITTEN, read_record, write_record
from hopsight.streams import accounts as said
from hopsight.streams import kernel as at
from hopsight.streams.alerts import CHAIN, OF_CHAIN, PARTNERS, SINGLE, Wording
from hopsight.streams.evidence import KINDS
from hopsight.streams.memory import EVENTS, FITTED, N_LATE
from hopsight.streams.state import Journal, State, write_rows
from hopsight.streams.times import as_seconds, parse_window
from hopsight.system.cells import guarded, unguarded_frame
from hopsight.system.files import checksum, replacing
from hopsight.system.lazy_polars import pl
from hopsight.system.machine import machine, peak_memory, versions

EDGE_COLUMNS = ("source", "target", "time", "hop", "surprise", "score", "flagged", "decided_by", "window", "row")
SCORES = "scores.csv"
FAR_HOP = 4.0
LEAST_WINDOWS = 5.0
LEAST_SPREAD = 0.1
FEW = 5  # alerts to print
UNIT = 1e6  # surprise is summed as whole numbers of this fraction, so that no order of adding changes the sum
MOST_NODES = 200_000  # of which totals are kept
MEASURES = ("events", "surprise", "flagged")
N_WINDOWS, N_ALERTS, N_TRAJECTORY = 400, 300, 120
N_RECENT = 100_000  # rows per node and window from which trajectories are drawn


def event_frame(events: pl.DataFrame, judged: at.Judged, alarm: float) -> pl.DataFrame:
    """Return events with their judgments."""
    judgments, windows, accounts = judged.events, judged.windows, judged.accounts[:, :, said.SCORE]
    score, sender = np.ascontiguousarray(judgments[:, at.SCORE]), np.maximum(accounts[:, 0], accounts[:, OF_CHAIN])
    return pl.DataFrame(
        {
            "source": events["source"], "target": events["target"], "time": events["time"],
            "hop": judgments[:, at.HOP], "surprise": judgments[:, at.SURPRISE], "score": score,
            "flagged": (score >= alarm).astype(np.int8), "decided_by": kind_names(judgments),
            "window": windows, "row": events["row"], "start": events["seconds"],
            "new_pair": judgments[:, at.NEW_PAIR].astype(np.int64), "past_hop": judgments[:, at.PAST_HOP],
            "far": ((judgments[:, at.PAST_HOP] >= FAR_HOP) & (judgments[:, at.NEW_PAIR] > 0)).astype(np.int64),
            "count": judgments[:, at.COUNT_SEEN].astype(np.float64),
            "usual": judgments[:, at.COUNT_USUAL].astype(np.float64),
            "carried": judgments[:, at.COUNT_CARRIED], "scale": judgments[:, at.SCALE].astype(np.int8),
            "streak_place": judgments[:, at.STREAK_PLACE].astype(np.int8), "streak_size": judgments[:, at.STREAK_SIZE],
            "source_score": judgments[:, at.SOURCE_SCORE], "target_score": judgments[:, at.TARGET_SCORE],
            "source_flagged": (np.maximum(judgments[:, at.SOURCE_SCORE], sender) >= alarm).astype(np.int8),
            "target_flagged": (np.maximum(judgments[:, at.TARGET_SCORE], accounts[:, 1]) >= alarm).astype(np.int8),
            "source_account": sender.astype(np.float32), "target_account": accounts[:, 1].astype(np.float32),
            "source_kind": np.where(accounts[:, OF_CHAIN] > accounts[:, 0], CHAIN, PARTNERS),
            "target_kind": np.full(score.size, PARTNERS), "late": judged.late,
            "amount": events["amount"], "currency": events["currency"],
            "usual_amount": judgments[:, at.USUAL_AMOUNT] / events["factor"].to_numpy(),
            "hop_evidence": judgments[:, at.EV_HOP], "amount_evidence": judgments[:, at.EV_AMOUNT],
            "hour_evidence": judgments[:, at.EV_HOUR],
        }
    )  # fmt: skip


def kind_names(judgments: NDArray[np.float32]) -> Any:
    """Return the names of the kinds of evidence that decided."""
    return np.array(KINDS)[judgments[:, at.KIND].astype(np.int64)]


def node_tally(events: pl.DataFrame, before: pl.DataFrame | None) -> pl.DataFrame:
    """Return one row per window and node: what it did, its share of the strongest score, and what decided it.

    ``before`` are the rows of the window that was open.
    """
    ends = []
    for end, sent in (("source", 1), ("target", 0)):
        account = pl.col(f"{end}_account").cast(pl.Float32)
        ends.append(
            events.select(
                pl.col("window", "start"),
                pl.col(end).cast(pl.String).alias("node"),
                pl.lit(1).alias("events"),
                pl.lit(sent).alias("sent"),
                pl.col("new_pair").alias("new_pairs"),
                "far",
                pl.col(f"{end}_flagged").alias("flagged"),
                decided_by=pl.when(account > pl.col(f"{end}_score")).then(f"{end}_kind").otherwise("decided_by"),
                score=pl.max_horizontal(f"{end}_score", account),
            )
        )
    rows = [*([before] if before is not None else []), *ends]
    schema: Any = dict.fromkeys(("events", "sent", "new_pairs", "far", "flagged"), pl.Int64)
    both = pl.concat([row.cast(schema) for row in rows])
    return both.group_by("window", "node", maintain_order=True).agg(
        pl.col("start").min(),
        pl.col("events", "sent", "new_pairs", "far", "flagged").sum(),
        pl.col("decided_by").sort_by("score", "decided_by").last(),
        pl.col("score").max(),
    ).select("window", "start", "node", "events", "sent", "new_pairs", "far", "flagged", "decided_by", "score").sort(
        "window", "node"
    )  # fmt: skip


def window_tally(events: pl.DataFrame, before: pl.DataFrame | None) -> pl.DataFrame:
    """Return one row per window, without its score, which it gets when it is closed."""
    rows = events.select(
        "window", "start", pl.col("start").alias("end"), pl.lit(1).alias("events"),
        pl.col("new_pair").alias("new_pairs"), "flagged",
        (pl.col("surprise").cast(pl.Float64) * UNIT).round().cast(pl.Int64), pl.col("score").alias("strongest"),
    )  # fmt: skip
    schema: Any = dict.fromkeys(("events", "new_pairs", "flagged"), pl.Int64)
    both = pl.concat([row.cast(schema) for row in ([rows] if before is None else [before, rows])])
    return both.group_by("window", maintain_order=True).agg(
        pl.col("start").min(), pl.col("end").max(), pl.col("events", "new_pairs", "flagged", "surprise").sum(),
        pl.col("strongest").max(),
    ).sort("window")  # fmt: skip


def score_windows(closed: pl.DataFrame, habits: dict[str, list[float]]) -> pl.DataFrame:
    """Return closed windows with a score: how unusual their events, surprise and flags are among earlier windows.

    ``habits`` holds number, mean and sum of squares per measure, and is changed.
    """
    scores, reasons, means = [], [], []
    for row in closed.iter_rows(named=True):
        values = {
            "events": math.log1p(row["events"]),
            "surprise": row["surprise"] / UNIT / row["events"],
            "flagged": math.log1p(row["flagged"]),
        }
        found = {name: _unusual(habits[name], value) for name, value in values.items()}
        means.append(values["surprise"])
        best = max(MEASURES, key=lambda name: found[name])
        scores.append(found[best] / math.log(10.0))
        reasons.append(best if found[best] > 0 else "")
    return closed.with_columns(
        pl.Series("surprise", means, dtype=pl.Float64),
        pl.Series("score", scores, dtype=pl.Float64),
        pl.Series("decided_by", reasons, dtype=pl.String),
    )


def new_habits() -> dict[str, list[float]]:
    """Return the statistics of windows before the first."""
    return {name: [0.0, 0.0, 0.0] for name in MEASURES}


def _unusual(habit: list[float], value: float) -> float:
    """Return −log of the chance of a value as large by a heavy tail (Student's t, 4 degrees), and learn the value.

    What is learned is limited to 3 standard deviations.
    """
    number, mean, squares = habit
    spread = max(math.sqrt(squares / max(number - 1.0, 1.0)), LEAST_SPREAD)
    off = (value - mean) / spread
    found = 2.0 * math.log1p(0.25 * off * off) if number >= LEAST_WINDOWS and off > 0 else 0.0
    learned = value if number < LEAST_WINDOWS else mean + spread * min(max(off, -3.0), 3.0)
    habit[0] = number + 1.0
    habit[1] = mean + (learned - mean) / habit[0]
    habit[2] = squares + (learned - mean) * (learned - habit[1])
    return found


def node_totals(rows: pl.DataFrame, before: pl.DataFrame | None) -> pl.DataFrame:
    """Add rows per window and node, which are in order, to one row per node: its totals and its strongest window.

    ``before_…`` are the totals up to that window. Of more than ``MOST_NODES`` the least recently seen are left out.
    """
    counts = ("events", "sent", "new_pairs", "far", "flagged")
    earlier = ("events", "new_pairs", "windows")
    rows = rows.with_columns(pl.lit(1, dtype=pl.Int64).alias("windows"))
    rows = rows.with_columns(
        *((pl.col(name).cum_sum().over("node") - pl.col(name)).alias(f"before_{name}") for name in earlier)
    )
    strongest = pl.col("score").arg_max()  # the first of several
    new = rows.group_by("node", maintain_order=True).agg(
        pl.col(*counts, "windows").sum(),
        pl.col("score").max(),
        pl.col("decided_by").get(strongest),
        pl.col("window", "start", "events", "sent", "new_pairs", "far").get(strongest).name.prefix("peak_"),
        pl.col([f"before_{name}" for name in earlier]).get(strongest),
        pl.col("window").last().alias("last"),
    )
    if before is None:
        return new
    known = before.select("node", *(pl.col(name).alias(f"old_{name}") for name in earlier))
    new = new.join(known, on="node", how="left", maintain_order="left").with_columns(
        (pl.col(f"before_{name}") + pl.col(f"old_{name}").fill_null(0)).alias(f"before_{name}") for name in earlier
    )
    both = pl.concat([before, new.select(before.columns)])
    kept = [name for name in before.columns if name not in ("node", *counts, "windows", "score", "last")]
    merged = both.group_by("node", maintain_order=True).agg(
        pl.col(*counts, "windows").sum(), pl.col("score").max(), pl.col(kept).get(strongest), pl.col("last").max()
    ).select(before.columns)  # fmt: skip
    if merged.height > MOST_NODES:
        merged = merged.sort("last", descending=True, maintain_order=True).head(MOST_NODES)
    return merged


def node_scores(totals: pl.DataFrame) -> pl.DataFrame:
    """Return the columns of ``scores.csv``, most anomalous node first."""
    nodes = totals.sort("score", "flagged", "events", "node", descending=[True, True, True, False])
    return nodes.select(
        "node", (pl.int_range(pl.len()) + 1).alias("rank"), "score",
        (pl.col("flagged") > 0).cast(pl.Int8).alias("flagged"), pl.lit(1, dtype=pl.Int8).alias("judged"),
        pl.col("new_pairs").alias("degree"), "decided_by", "events", "sent", "far",
        pl.col("flagged").alias("flagged_events"), "windows", "peak_window", "peak_start",
    )  # fmt: skip


def scores_so_far(state: State) -> pl.DataFrame:
    """Return the rows of ``scores.csv`` for all events so far."""
    return node_scores(_totals(state))


def _totals(state: State) -> pl.DataFrame:
    return node_totals(state.tallies[TRAJECTORIES], state.tallies["nodes"])


def keep(state: State, alerts: pl.DataFrame, trajectories: pl.DataFrame, windows: pl.DataFrame) -> None:
    """Add new alerts and closed rows to what the state keeps for the summary."""
    kept = state.tallies
    texts = alerts.with_columns(pl.col("source", "target").cast(pl.String))
    kept["alerts"] = _strongest([kept.get("alerts"), texts], N_ALERTS, "alert")
    kept["nodes"] = node_totals(trajectories, kept.get("nodes"))
    kept["recent"] = pl.concat([*([kept["recent"]] if "recent" in kept else []), trajectories]).tail(N_RECENT)
    kept["windows"] = _strongest([kept.get("windows"), windows], N_WINDOWS, "window")
    state.notes["n_windows"] += windows.height


def write_summary(folder: Path, state: State, record: dict[str, Any], top: int) -> None:
    """Write ``scores.csv``, ``explanations.json``, ``report.html`` and last ``run.json``, each as a whole."""
    trajectories, windows = state.tallies[TRAJECTORIES], open_rows(state)[WINDOWS].drop("span")
    journal, totals = Journal(folder, state), _totals(state)
    recent = pl.concat([state.tallies["recent"], trajectories])
    scores = node_scores(totals)
    with replacing(journal.own(SCORES)) as temporary:
        write_rows(temporary, scores, header=True)
    first = scores["node"].head(top).to_list()
    details = {row["node"]: row for row in totals.filter(pl.col("node").is_in(first)).iter_rows(named=True)}
    wording = Wording.of(state.notes)
    reasons = dict(reversed(state.tallies["alerts"].select("account", "reason").rows()))  # the strongest of each
    stories = {name: f"{reasons.get(name, '')} {node_story(details[name], wording)}".strip() for name in first}
    shown = recent.filter(pl.col("node").is_in(first)).sort("window")
    rows = {name: shown.filter(pl.col("node") == name).tail(N_TRAJECTORY).to_dicts() for name in first}
    explained = [
        {"node": name, "score": details[name]["score"], "decided_by": details[name]["decided_by"],
         "summary": stories[name], "windows": rows[name]}
        for name in first
    ]  # fmt: skip
    with replacing(folder / "explanations.json") as temporary:
        temporary.write_text(json.dumps(explained, indent=1, ensure_ascii=False), encoding="utf-8")
    windows = _strongest([state.tallies["windows"], windows], N_WINDOWS, "window").sort("window")
    record |= _facts(state) | {"peak_memory_bytes": peak_memory()}
    with replacing(folder / "report.html") as temporary:
        write_timeline(temporary, _page(state, record, windows, scores.head(top), stories, rows))
    if WRITTEN in record:  # a table that somebody changed keeps the checksum that it had
        files = [journal.own(name) for name in (SCORES, "explanations.json", "report.html", *state.notes["sizes"])]
        record[WRITTEN] |= {path.name: checksum(path) for path in files}
    with replacing(folder / RECORD) as temporary:
        write_record(temporary, record)


def explain_node(folder: Path, node: str) -> dict[str, Any]:
    """Return what a node of a run over time did, as a sentence and as its rows per window."""
    state = State.load(folder / STATE)
    schema, journal = dict(state.tallies[TRAJECTORIES].schema), Journal(folder, state)
    with _reading(folder):
        files = [pl.read_csv(path, schema_overrides=schema, glob=False) for path in journal.paths(TRAJECTORIES)]
        every, named = unguarded_text(pl.concat(files)), _alerts(journal.paths(ALERTS))
    names = every["node"].unique()
    if node not in names:
        node = next(iter(names.filter(are_forms_of(names, node)).sort()), node)
    rows = every.filter(pl.col("node") == node).sort("window")
    if not rows.height:
        raise ValueError(f"node {shortened(node)} has no event in {folder}")
    totals = _totals(state).filter(pl.col("node") == node)  # not of those least recently seen
    total = (totals if totals.height else node_totals(rows, None)).row(0, named=True)
    alerts = named.filter(pl.col("account") == node)
    ranks = scores_so_far(state)
    rank = ranks.filter(pl.col("node") == node)["rank"].to_list()  # of those least recently seen it is unknown
    place = f"rank {rank[0]:,} of {ranks.height:,}, " if rank else ""
    raised, least = plural(alerts.height, "alert"), state.notes["alarm"] + SINGLE
    if state.notes["paid"] and not alerts.height and total["score"] >= state.notes["alarm"]:
        raised = f"no alert (a single event raises one from a score of {least:g})"
    summary = " ".join((
        f"{node}: {place}score {total['score']:.2f}, {raised}.",
        *alert_lines(alerts.to_dicts(), alerts.height),
        node_story(total, Wording.of(state.notes)),
    ))  # fmt: skip
    return {
        "node": node, "rank": rank[0] if rank else None, "score": total["score"], "summary": summary,
        "alerts": alerts.to_dicts(), "windows": rows.to_dicts(),
    }  # fmt: skip


def strongest(folder: Path, n: int) -> list[dict[str, Any]]:
    """Return the rows of the alerts with the highest scores."""
    texts = dict.fromkeys(("account", "source", "target", "time", "window"), pl.String)
    rows = unguarded_text(pl.read_csv(folder / ALERTS, schema_overrides=texts, glob=False))
    return rows.sort("score", "alert", descending=[True, False]).head(n).to_dicts()


def alert_lines(alerts: list[dict[str, Any]], number: int) -> list[str]:
    """Return the reasons of the strongest of so many alerts, the strongest first, and where the others are.

    >>> alerts = [{"score": score, "reason": f"Reason {score}."} for score in range(7)]
    >>> alert_lines(alerts, 9)
    ['Reason 6.', 'Reason 5.', 'Reason 4.', 'Reason 3.', 'Reason 2.', 'Others in alerts.csv: 4.']
    >>> alert_lines(alerts[:1], 1)
    ['Reason 0.']
    """
    shown = [each["reason"] for each in sorted(alerts, key=lambda alert: -alert["score"])[:FEW]]
    return shown + ([f"Others in alerts.csv: {number - len(shown):,}."] if number > len(shown) else [])


@contextmanager
def _reading(folder: Path) -> Iterator[None]:
    """Say in one sentence that a table of a run cannot be read, which somebody may have edited."""
    try:
        yield
    except pl.exceptions.PolarsError as error:
        raise ValueError(f"a table in {folder} is damaged or was changed: {str(error).splitlines()[0]}") from None


def _alerts(paths: list[Path]) -> pl.DataFrame:
    """Return the alerts; a table that somebody edited may lack some columns, and is then left out."""
    kinds: Any = {
        "alert": pl.Int64, "account": pl.String, "time": pl.String, "score": pl.Float64, "decided_by": pl.String,
        "reason": pl.String,
    }  # fmt: skip
    tables = (pl.read_csv(path, infer_schema=False, glob=False) for path in paths)
    rows = [table.select(list(kinds)).cast(kinds, strict=False) for table in tables if {*kinds} <= {*table.columns}]
    return unguarded_text(pl.concat([pl.DataFrame(schema=kinds), *rows]))


def explain_pair(folder: Path, source: str, target: str) -> dict[str, Any]:
    """Return the events from one node to another in a run over time, the strongest of them in a sentence."""
    same = (pl.col("source") == guarded(source)) & (pl.col("target") == guarded(target))
    state = State.load(folder / STATE)
    journal = Journal(folder, state)
    with _reading(folder):
        events, alerts = (
            pl.concat([pl.scan_csv(path, infer_schema=False, glob=False) for path in journal.paths(name)])
            .filter(same).collect() for name in ("edges.csv", ALERTS)
        )  # fmt: skip
    if not events.height:
        raise ValueError(f"there is no event from {shortened(source)} to {shortened(target)} in {folder}")
    rows = [alerts, events.with_columns(pl.lit("").alias("reason"))]
    first = pl.concat([each.select("time", pl.col("score").cast(pl.Float64), "reason") for each in rows])
    time, score, reason = first.sort("score", descending=True, maintain_order=True).row(0)
    if not reason:
        time = _in_words(time, read_record(folder)["request"]["columns"]["times"], Wording.of(state.notes))
    summary = (
        f"{plural(events.height, 'event')} from {source} to {target}, {plural(alerts.height, 'alert')}; "
        f"the strongest came at {time} with a score of {score:.2f}. {reason}"
    )
    shown = events.tail(N_TRAJECTORY).select("time", "hop", "surprise", "score", "flagged", "decided_by")
    return {"source": source, "target": target, "score": score, "summary": summary.strip(), "events": shown.to_dicts()}


def _in_words(time: str, form: str, wording: Wording) -> str:
    """Return the time of an event as alerts write it, where it is a date."""
    second = as_seconds(pl.Series("time", [time]), form).item() if wording.dated else None
    return time if second is None else wording.moment(second)


def unguarded_text(frame: pl.DataFrame) -> pl.DataFrame:
    """Return rows that were read from a CSV file with their original text; an empty cell is an empty text."""
    return unguarded_frame(frame).with_columns(pl.col(pl.String).fill_null(""))


def evaluation(labels: list[Any]) -> dict[str, Any] | None:
    """Return ROC-AUC and the number of anomalies, from pairs of labels and scores, or None without both classes."""
    truth = np.concatenate([each for each, _ in labels]) if labels else np.zeros(0, np.int8)
    known = truth >= 0
    if not 0 < truth[known].sum() < known.sum():
        return None
    scores = np.concatenate([each for _, each in labels])
    return {"roc_auc": float(roc_auc(truth[known], scores[known])), "n_anomalies": int(truth[known].sum())}


def _strongest(frames: list[pl.DataFrame | None], number: int, key: str) -> pl.DataFrame:
    """Return the rows with the highest scores, the first of equal ones."""
    rows = pl.concat([frame for frame in frames if frame is not None])
    return rows.sort("score", key, descending=[True, False]).head(number)


def titled(windows: pl.DataFrame, state: State) -> pl.DataFrame:
    """Return windows with their spans, as dates."""
    wording = Wording.of(state.notes)
    return windows.with_columns(pl.Series("span", [wording.title(each) for each in windows["window"]], dtype=pl.String))


def open_rows(state: State) -> dict[str, pl.DataFrame]:
    """Return the rows of the window that is open: of windows, and of nodes in it."""
    habits = {key: list(habit) for key, habit in state.notes["habits"].items()}
    windows = titled(score_windows(state.tallies[WINDOWS], habits), state)
    return {WINDOWS: windows, TRAJECTORIES: state.tallies[TRAJECTORIES]}


def _facts(state: State) -> dict[str, Any]:
    clock = state.memory.clock
    return {
        "detector": "streams", "seed": state.notes["seed"], "versions": versions(), "machine": machine(),
        "window": state.notes["window"], "alarm": state.notes["alarm"], "n_events": int(clock[EVENTS]),
        "n_alerts": state.notes["alerts"], "n_flagged": state.notes["flagged"], "n_late": int(clock[N_LATE]),
        "n_windows": state.notes["n_windows"] + state.tallies[WINDOWS].height,
        "n_pieces": state.notes["n_pieces"], "n_fits": int(state.memory.sums[FITTED]), "fits": state.notes["fits"],
    }  # fmt: skip


def _page(
    state: State, record: dict[str, Any], windows: pl.DataFrame, scores: pl.DataFrame,
    stories: dict[str, str], rows: dict[str, list[dict[str, Any]]],
) -> dict[str, Any]:  # fmt: skip
    """Return the contents of the report as plain values."""
    alerts, wording = state.tallies["alerts"], Wording.of(state.notes)
    shown = ("number_of_window", "source", "target", "time", "score", "decided_by", "hop", "reason")
    dated = alerts.select(shown).rows()  # the page has a column of times beside the reasons
    later = record["n_pieces"] - 1
    return {
        "name": Path(record["request"]["path"]).name + (f" and {plural(later, 'later file')}" if later > 0 else ""),
        "summary": _summary(state, record),
        "windows": [
            [row["window"], wording.title(row["window"]), row["events"], row["new_pairs"], row["flagged"],
             row["surprise"], row["score"], row["decided_by"]]
            for row in windows.iter_rows(named=True)
        ],
        "n_windows": record["n_windows"],
        "alerts": [(*row[:-1], row[-1].partition(f"{row[3]}: ")[2]) for row in dated],
        "nodes": [
            [row["node"], row["score"], row["decided_by"], row["events"], row["flagged_events"], stories[row["node"]],
             _course(rows[row["node"]], wording)]
            for row in scores.iter_rows(named=True)
        ],
        "fits": [
            [fit["event"], wording.moment(fit["time"]), fit["reason"], fit["loss_before"], fit["loss_after"]]
            for fit in state.notes["fits"]
        ],
        "run": record,
    }  # fmt: skip


def _course(rows: list[dict[str, Any]], wording: Wording) -> list[list[Any]]:
    """Return window, its span, events and score of a node's last windows."""
    return [[row["window"], wording.title(row["window"]), row["events"], row["score"]] for row in rows]


def _summary(state: State, record: dict[str, Any]) -> list[str]:
    """Say what was judged."""
    length = parse_window(state.notes["window"]).words_of(1.0, dated=bool(state.notes["hours"]))
    counts = f"{plural(record['n_events'], 'event')} in {plural(record['n_windows'], 'window')} of {length}"
    summary = [
        f"hopsight judged {counts}, each by what was known before it, and raised "
        f"{plural(record['n_alerts'], 'alert')}: one for each episode of an account or a pair. "
        f"{plural(record['n_flagged'], 'single event')} {'is' if record['n_flagged'] == 1 else 'are'} flagged.",
    ]
    if record["n_late"]:
        summary.append(f"{plural(record['n_late'], 'event')} came late and counted as of the newest time so far.")
    return summary


def node_story(node: dict[str, Any], wording: Wording) -> str:
    """Return what a node did until its strongest window, and what it did then, from its row of :func:`node_totals`.

    >>> peak = {"peak_window": 1, "peak_events": 37, "peak_sent": 37, "peak_new_pairs": 30, "peak_far": 30}
    >>> day = Wording(parse_window("1d"), True, "%Y-%m-%d")
    >>> story = node_story({**peak, "before_events": 4, "before_windows": 1, "before_new_pairs": 3}, day)
    >>> for part in story.split(", with ", 1):
    ...     print(part)
    In its strongest window, 1970-01-02, it had 37 events (37 sent, 0 received)
    30 new partners that it had no known path to; until then it was active in 1 window, with 4 events and 3 partners.
    """
    when = wording.title(node["peak_window"])
    events, sent = node["peak_events"], node["peak_sent"]
    text = (
        f"In its strongest window, {when}, it had {plural(events, 'event')} ({sent:,} sent, {events - sent:,} received)"
    )
    new, far = node["peak_new_pairs"], node["peak_far"]
    if new:
        text += f", with {plural(new, 'new partner')}"
    if far:
        text += f", {far:,} of which it had no known path to" if new != far else " that it had no known path to"
    if not node["before_windows"]:
        return f"{text}; it was new."
    active, had = plural(node["before_windows"], "window"), plural(node["before_events"], "event")
    partners = plural(node["before_new_pairs"], "partner")
    return f"{text}; until then it was active in {active}, with {had} and {partners}."
