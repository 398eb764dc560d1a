"""What an account did together: a hub and a takeover raise one alert each that names them; clubs and wages none."""

from __future__ import annotations

from pathlib import Path

import polars as pl
import pytest

from hopsight.datasets.bank import bank_tables
from hopsight.streams import run
from hopsight.streams.events import Columns

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


def test_the_order_of_the_rows_does_not_matter(tmp_path: Path) -> None:
    transfers = bank_tables(n=300, seed=0, n_rings=1, n_takeovers=2, n_hubs=1).transfers
    transfers = transfers.with_columns(pl.col("time").dt.truncate("1h"))  # many at the same time
    tables = []
    for rows in (transfers, transfers.sample(fraction=1.0, shuffle=True, seed=3)):
        folder = tmp_path / str(len(tables))
        folder.mkdir()
        rows.write_parquet(folder / "rows.parquet")
        run.stream(run.StreamRequest(path=str(folder / "rows.parquet"), columns=Columns()), folder / "run")
        tables.append([(folder / "run" / name).read_bytes() for name in ("alerts.csv", "scores.csv", "windows.csv")])
    assert tables[0] == tables[1]
