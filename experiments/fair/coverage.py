"""What of the plan ended, what did not, and why."""

from __future__ import annotations

import json
from collections import Counter
from functools import lru_cache

from fair.graphs import FIXED_VIEW, GRAPHS
from fair.plan import DETECTORS, Cell, all_cells, group, is_slow, key
from fair.stats import Results, Row
from fair.tables import markdown, marked, named

USED_UP = "expected to take minutes and therefore last in the plan; the time of the machine was used up"
KINDS = {
    "tot_nodes": "fails: does not work with this version of PyG (`unexpected keyword argument 'tot_nodes'`)",
    "CUDA out of memory": "fails: out of GPU memory beside the other cells",
    "expanded size of the tensor": "fails: `The expanded size of the tensor must match the existing size`",
    "not finished": "over the limit of 100 s",
    "GiB in use": "over the limit of 16 GiB",
}
EXPERIMENTS = {
    "comparison": "comparison", "table1": "the paper's Table 1", "optimizers": "optimizers",
    "sweep": "sweeps of R, C, S", "growth": "growth",
}  # fmt: skip


@lru_cache(maxsize=1)
def planned() -> tuple[Cell, ...]:
    """Return every cell of the plan."""
    return tuple(all_cells())


def counts(results: Results) -> str:
    """Count the cells of the plan by what became of them."""
    ended = by_key(results)
    hopeless = {group(one) for one in planned() if key(one) in ended and ended[key(one)]["status"] != "ok"}
    found: dict[tuple[str, str], Counter[str]] = {}
    for one in planned():
        row = ended.get(key(one))
        place = EXPERIMENTS[one["experiment"]], one["view"]
        status = row["status"] if row else "not repeated" if group(one) in hopeless else "not run"
        found.setdefault(place, Counter())[status] += 1
    columns = ("ok", "failed", "time limit", "memory limit", "not repeated", "not run")
    lines = [[*place, *(str(count[name]) for name in columns)] for place, count in found.items()]
    head = [
        "experiment", "view", "ended", "failed", "over the limit of time", "over the limit of memory",
        "not repeated after that", "not run",
    ]  # fmt: skip
    return markdown(head, lines)


def missing(results: Results) -> str:
    """List the detectors without a figure on some graphs of the fixed view, and the reasons."""
    ended, reasons = by_key(results), dict[str, Row]()
    fixed = [one for one in planned() if one["experiment"] == "comparison" and one["view"] == FIXED_VIEW]
    for one in fixed:
        row = ended.get(key(one))
        if row and row["status"] != "ok":
            reasons.setdefault(group(one), row)
    found: dict[tuple[str, str], list[str]] = {}
    for one in fixed:
        if results.fixed(one["detector"], one["graph"]):
            continue
        n_ended = results.n_ended(one["detector"], one["graph"])
        reason = f"only {n_ended} of 5 repetitions: {USED_UP}" if n_ended else why(one, reasons.get(group(one)))
        graphs = found.setdefault((one["detector"], reason), [])
        if one["graph"] not in graphs:
            graphs.append(one["graph"])
    order = sorted(found, key=lambda place: DETECTORS.index(place[0]))
    lines = [
        [
            named(name),
            "all" if len(found[name, reason]) == len(GRAPHS) else "; ".join(map(marked, found[name, reason])),
            reason,
        ]
        for name, reason in order
    ]
    return markdown(["detector", "no figure on", "why"], lines)


def why(one: Cell, row: Row | None) -> str:
    """Return why a cell has no figure: what its group ended with, or that it was not reached."""
    if row is not None:
        return next(text for part, text in KINDS.items() if part in row["reason"])
    if not is_slow(one):
        raise ValueError(f"{one['detector']} on {one['graph']} was neither run nor slow: run it, or say why not")
    return f"not run: {USED_UP}"


def by_key(results: Results) -> dict[str, Row]:
    """Return a row of every cell that has a record."""
    fields = ("experiment", "graph", "detector", "view")
    return {
        key(
            {name: row[name] for name in fields}
            | {"injection": int(row["injection"]), "seed": int(row["seed"]), "changes": json.loads(row["changes"])}
        ): row
        for row in results.rows
    }
