"""What an account did together: a hub and a takeover raise one alert each that names them; clubs and wages none."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import polars as pl
import pytest

from hopsight.datasets.bank import bank_tables
from hopsight.metrics import roc_auc
from hopsight.streams import run
from hopsight.streams.events import Columns
from stream_toys import START

PLANTED = ("takeover", "hub")


@pytest.fixture(scope="module")
def watched(tmp_path_factory: pytest.TempPathFactory) -> tuple[pl.DataFrame, pl.DataFrame, pl.DataFrame]:
    """Return the alerts on a bank, its cases and the ranking of its accounts."""
    folder = tmp_path_factory.mktemp("bank")
    bank = bank_tables(seed=1)
    bank.write(folder)
    run.stream(run.StreamRequest(path=str(folder / "transfers.csv"), columns=Columns()), folder / "run")
    alerts = pl.read_csv(folder / "run" / "alerts.csv")
    return alerts, bank.cases, pl.read_csv(folder / "run" / "scores.csv")


def test_hubs_and_takeovers_raise_alerts_and_few_others_do(watched: tuple) -> None:
    alerts, cases, _ = watched
    found = cases.filter(pl.col("account").is_in(alerts["account"].to_list()))["role"].value_counts()
    found = dict(found.iter_rows())
    assert found["hub"] >= 4
    assert found["takeover"] >= 10
    planted = cases["account"].to_list()
    ordinary = alerts.filter(~pl.any_horizontal(pl.col("account", "source", "target").is_in(planted)))
    assert ordinary.height <= 25  # as many as there are cases


def test_an_account_has_one_alert_per_episode(watched: tuple) -> None:
    alerts, cases, _ = watched
    partners = alerts.filter(pl.col("decided_by") == "partners")
    takeovers = partners.filter(pl.col("account").is_in(cases.filter(role="takeover")["account"].to_list()))
    assert takeovers["account"].is_unique().all()
    assert takeovers["reason"].str.contains(r"^2024-\d\d-\d\d .* paid \d+ new partners within .* EUR in all \(").all()
    assert takeovers["window"].str.contains(r"^2024-\d\d-\d\d$").all()
    assert (takeovers["amount"] > takeovers["usual_amount"]).all()


def test_accounts_rank_by_what_their_events_did_together(watched: tuple) -> None:
    _, cases, scores = watched
    ranks = scores.join(cases.filter(pl.col("role").is_in(PLANTED)), left_on="node", right_on="account")["rank"]
    assert ranks.median() < 30


def test_the_order_of_rows_at_different_times_does_not_matter(tmp_path: Path) -> None:
    transfers = bank_tables(n=300, seed=0, n_rings=1, n_takeovers=2, n_hubs=1).transfers.unique("time").sort("time")
    tables = []
    for rows in (transfers, transfers.sample(fraction=1.0, shuffle=True, seed=3)):
        folder = tmp_path / str(len(tables))
        folder.mkdir()
        rows.write_parquet(folder / "rows.parquet")
        run.stream(run.StreamRequest(path=str(folder / "rows.parquet"), columns=Columns()), folder / "run")
        tables.append([(folder / "run" / name).read_bytes() for name in ("alerts.csv", "scores.csv", "windows.csv")])
    assert tables[0] == tables[1]


def test_attributes_of_nodes_say_which_strangers_belong_together(tmp_path: Path) -> None:
    """Every account deals once only, the young with the young: the past says nothing, their ages say all."""
    rng = np.random.default_rng(0)
    size = 3000
    young = rng.random(size) < 0.5
    odd = np.isin(np.arange(size), rng.choice(np.arange(1500, size), 100, replace=False))
    accounts = pl.DataFrame(
        {
            "id": [f"{end}{row}" for end in "st" for row in range(size)][: 2 * size - 9],  # some have no row
            "age": np.where(np.concatenate([young, young ^ odd]), 20.0, 70.0)[: 2 * size - 9]
            + rng.normal(0, 3, 2 * size - 9),
        }
    )
    accounts.write_csv(tmp_path / "accounts.csv")
    pl.DataFrame(
        {"source": [f"s{row}" for row in range(size)], "target": [f"t{row}" for row in range(size)],
         "time": START + 600 * np.arange(size)}
    ).write_csv(tmp_path / "events.csv")  # fmt: skip
    areas = []
    for nodes in (None, str(tmp_path / "accounts.csv")):
        request = run.StreamRequest(path=str(tmp_path / "events.csv"), columns=Columns(), nodes=nodes)
        run.stream(request, tmp_path / f"run{len(areas)}")
        surprise = pl.read_csv(tmp_path / f"run{len(areas)}" / "edges.csv").sort("row")["surprise"].to_numpy()
        areas.append(roc_auc(odd[1500:].astype(int), surprise[1500:]))
    assert areas[0] < 0.6
    assert areas[1] > 0.9
