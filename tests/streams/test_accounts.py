"""What an account did together: a hub and a takeover raise one alert each that names them; clubs and wages none."""

from __future__ import annotations

import json
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
BANK = bank_tables(seed=1)


def run_of(folder: Path, transfers: pl.DataFrame) -> tuple[pl.DataFrame, pl.DataFrame]:
    """Return the alerts on transfers, and the ranking of accounts."""
    transfers.write_csv(folder / "transfers.csv")
    run.stream(run.StreamRequest(path=str(folder / "transfers.csv"), columns=Columns()), folder / "run")
    return pl.read_csv(folder / "run" / "alerts.csv"), pl.read_csv(folder / "run" / "scores.csv")


@pytest.fixture(scope="module")
def watched(tmp_path_factory: pytest.TempPathFactory) -> tuple[pl.DataFrame, pl.DataFrame, pl.DataFrame]:
    """Return the alerts on a bank, its cases and the ranking of its accounts."""
    alerts, scores = run_of(tmp_path_factory.mktemp("bank"), BANK.transfers)
    return alerts, BANK.cases, scores


def check_alerts(alerts: pl.DataFrame) -> None:
    """Check that hubs, takeovers and mules are named, and that there are few alerts on others."""
    found = dict(BANK.cases.filter(pl.col("account").is_in(alerts["account"].to_list()))["role"].value_counts().rows())
    assert found["hub"] >= 4
    assert found["takeover"] >= 10
    assert found["mule"] >= 32  # of 40
    planted = BANK.cases["account"].to_list()
    ordinary = alerts.filter(~pl.any_horizontal(pl.col("account", "source", "target").is_in(planted)))
    assert ordinary.height <= 18  # for 25 cases


def test_hubs_takeovers_and_mules_raise_alerts_and_few_others_do(watched: tuple) -> None:
    check_alerts(watched[0])


def test_windows_follow_times_without_a_unit(tmp_path: Path) -> None:
    """The same bank, whose times are the numbers of its rows: 120 windows instead of one."""
    alerts, _ = run_of(tmp_path, BANK.transfers.with_columns(time=pl.int_range(1, pl.len() + 1)))
    check_alerts(alerts)
    request = json.loads((tmp_path / "run" / "run.json").read_text())["request"]
    assert float(request["window"].removesuffix("s")) == pytest.approx((BANK.transfers.height - 1) / 120, rel=1e-3)
    assert alerts["reason"].str.contains("units of time").any()


def test_who_passes_an_amount_on_is_named_and_who_pays_back_is_not(tmp_path: Path) -> None:
    """Among small payments, 5,000 EUR go from P1 to P5, six hours at each, and P6 and P7 send 5,000 to and fro."""
    rng = np.random.default_rng(1)
    size = 3000
    people = [f"P{number}" for number in range(200)]
    everyday = {
        "source": rng.choice(people, size), "target": rng.choice(people, size),
        "time": START + np.sort(rng.uniform(0, 60 * 86400, size)), "amount": np.exp(rng.normal(3.0, 0.5, size)),
    }  # fmt: skip
    steps = np.arange(4)
    chain = {"source": [f"P{at + 1}" for at in steps], "target": [f"P{at + 2}" for at in steps],
             "time": START + 40 * 86400.0 + 6 * 3600.0 * steps, "amount": 5000.0 - 50.0 * steps}  # fmt: skip
    back = chain | {"source": ["P6", "P7"] * 2, "target": ["P7", "P6"] * 2}
    rows = pl.concat([pl.DataFrame(each) for each in (everyday, chain, back)])
    rows = rows.with_columns(currency=pl.lit("EUR"), time=pl.from_epoch(pl.col("time").cast(pl.Int64)))
    alerts, _ = run_of(tmp_path, rows)
    found = alerts.filter(decided_by="cycle")
    assert found["account"].to_list() == ["P3", "P4"]
    assert found["amount"].to_list() == [4900.0, 4850.0]
    sentence = "P3 sent 4,900 EUR on to P4, 6 hours after it received 4,950 EUR. Since 2023-12-25 00:00:00, such "
    assert f"{sentence}an amount has been passed on 2 times in a row along this chain. It sent" in found["reason"][0]
    assert found["reason"][0].endswith("in each block of 4 days from 2023-11-15 00:00:00 to 2023-12-21 00:00:00.")
    days = (pl.col("time").dt.epoch("s") - START) // 86400  # the alert is in the block from day 40 on
    sums = rows.filter(pl.col("source") == "P3", days < 36).group_by(days // 4).agg(pl.col("amount").sum())
    assert found["usual_amount"][0] == pytest.approx(sums["amount"].max(), rel=1e-6)


@pytest.mark.parametrize("largest", [1e300, 1e308])
def test_one_enormous_amount_hides_no_other_account(tmp_path: Path, largest: float) -> None:
    """On day 20 somebody sends three enormous amounts; on day 50, 25 senders pay about 900 each to a new account.

    The first of these amounts is missing, and the second one is a refund.
    """
    rng = np.random.default_rng(0)
    size = 1500
    people = [f"P{number}" for number in range(120)]
    everyday = {
        "source": rng.choice(people, size), "target": rng.choice(people, size),
        "time": START + rng.uniform(0, 60 * 86400, size), "amount": np.exp(rng.normal(4.0, 0.5, size)),
    }  # fmt: skip
    wrong = {"source": ["P1"] * 3, "target": ["P2"] * 3, "time": [START + 20 * 86400.0] * 3, "amount": [largest] * 3}
    hub = {"source": people[50:75], "target": ["X"] * 25, "time": START + 50 * 86400.0 + 60.0 * np.arange(25),
           "amount": [None, -500.0, *range(902, 925)]}  # fmt: skip
    rows = pl.concat([pl.DataFrame(each) for each in (everyday, wrong, hub)])
    alerts, _ = run_of(tmp_path, rows.with_columns(time=pl.from_epoch(pl.col("time").cast(pl.Int64))))
    reason = alerts.filter(account="X", decided_by="partners")["reason"].item()
    words = "4,520 in 5 of the first payments (902 to 906 each; the others have no amount above 0); nothing else "
    assert f"7 new partners within 6 minutes so far, {words}" in reason


def everyday_payments(n_days: int) -> pl.DataFrame:
    """Return small payments of 120 people, two of three in dollars, the others in yen."""
    rng = np.random.default_rng(0)
    size, people = 25 * n_days, [f"P{number}" for number in range(120)]
    yen = np.arange(size) % 3 == 2
    return pl.DataFrame(
        {
            "source": rng.choice(people, size), "target": rng.choice(people, size),
            "time": START + np.sort(rng.uniform(0, n_days * 86400, size)),
            "amount": np.exp(rng.normal(4.0, 0.5, size)) * np.where(yen, 150.0, 1.0),
            "currency": np.where(yen, "JPY", "USD"),
        }
    )  # fmt: skip


def dated(rows: pl.DataFrame) -> pl.DataFrame:
    return rows.with_columns(time=pl.from_epoch(pl.col("time").cast(pl.Int64)))


def test_amounts_are_told_in_the_currency_that_they_were_paid_in(tmp_path: Path) -> None:
    """An amount goes from yen to dollars and back; 20 strangers pay X in yen, and Y, who sent once, in both."""
    hubs = [
        {"source": [f"P{at}" for at in range(20)], "target": [name] * 20,
         "time": START + 50 * 86400.0 + np.arange(20.0),
         "amount": [300_000.0 + at if yen else 2000.0 + at for at, yen in enumerate(in_yen)],
         "currency": ["JPY" if yen else "USD" for yen in in_yen]}
        for name, in_yen in (("X", [True] * 20), ("Y", [True, False] * 10))
    ]  # fmt: skip
    chain = {"source": ["P1", "C1", "C2", "C3"], "target": ["C1", "C2", "C3", "P2"],
             "time": START + 45 * 86400.0 + 3600.0 * np.arange(4), "amount": [9e5, 6e3, 8.9e5, 5.9e3],
             "currency": ["JPY", "USD"] * 2}  # fmt: skip
    sent = {"source": ["Y"], "target": ["P99"], "time": [START + 40 * 86400.0], "amount": [50.0], "currency": ["USD"]}
    rows = pl.concat([everyday_payments(60), *map(pl.DataFrame, (*hubs, chain, sent))])
    alerts, _ = run_of(tmp_path, dated(rows))
    x, y = (alerts.filter(account=name, decided_by="partners").row(0, named=True) for name in "XY")
    assert "so far, 2,100,021 JPY in first payments (300,000 to 300,006 JPY each); nothing else since" in x["reason"]
    assert (x["amount"], x["currency"]) == (2_100_021.0, "JPY")
    assert "so far, first payments in several currencies; 1 other payment since 2023-11-15 00:00:00." in y["reason"]
    assert (y["amount"], y["usual_amount"], y["currency"]) == (None, None, None)
    last = alerts.filter(account="C3", decided_by="cycle").row(0, named=True)
    assert "C3 sent 5,900 USD on to P2, 60 minutes after it received 890,000 JPY." in last["reason"]
    assert (last["amount"], last["currency"]) == (5900.0, "USD")


def test_late_events_are_no_new_partners_within_a_minute(tmp_path: Path) -> None:
    """A pays one new partner every two days; that file comes late. Later A pays many at once."""
    everyday = everyday_payments(90)
    times = START + 2 * 86400.0 * np.arange(20.0)
    slow = pl.DataFrame(
        {"source": "A", "target": [f"P{at}" for at in range(20)], "time": times, "amount": 900.0, "currency": "USD"}
    )
    many = slow.with_columns(pl.col("target").str.replace("P", "P5"), time=START + 88 * 86400 + pl.int_range(20) * 60.0)
    early = pl.col("time") < START + 80 * 86400
    run_of(tmp_path, dated(everyday.filter(early, pl.col("time") > START + 40 * 86400)))
    found = []
    for number, rows in enumerate((slow, pl.concat([everyday.filter(~early), many]))):
        dated(rows).write_csv(tmp_path / f"{number}.csv")
        assert run.watch(tmp_path / "run", tmp_path / f"{number}.csv").n_late == (0 if number else 20)
        found.append(pl.read_csv(tmp_path / "run" / "alerts.csv").filter(account="A"))
    assert found[0].height == 0
    reason = found[1].filter(decided_by="partners")["reason"].item()
    assert (
        "3 new partners within 2 minutes so far, 2,700 USD in first payments (900 USD each); nothing else since"
        in reason
    )
    assert reason.endswith("; 20 payments that came late are not counted.")


def test_an_account_has_one_alert_per_episode(watched: tuple) -> None:
    alerts, cases, _ = watched
    partners = alerts.filter(pl.col("decided_by") == "partners")
    takeovers = partners.filter(pl.col("account").is_in(cases.filter(role="takeover")["account"].to_list()))
    assert takeovers["account"].is_unique().all()
    assert (
        takeovers["reason"]
        .str.contains(r"^2024-\d\d-\d\d .* paid \d+ new partners within .* so far, .* EUR in first payments \(")
        .all()
    )
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
            "name": ["Ann"] * (2 * size - 9),
            "number": [f"{end}{row}" for end in "st" for row in range(size)][: 2 * size - 9],  # some have no row
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


def test_ids_are_those_of_the_node_table_in_any_form(tmp_path: Path) -> None:
    """The table has A01 to A20; the first file writes some of them a01, and the second one A1 for A01."""
    pl.DataFrame(
        {"account": [f"A{k:02}" for k in range(1, 21)], "age": [20 + k * 7 % 11 for k in range(20)]}
    ).write_csv(tmp_path / "accounts.csv")
    pairs = [(k % 20 + 1, (k * 3 + 1) % 20 + 1) for k in range(400)]
    for name, start, form in (("march", START, "a{:02}"), ("april", START + 400_000, "A{:d}")):
        rows = [(form.format(a) if k % 7 else f"A{a:02}", f"A{b:02}") for k, (a, b) in enumerate(pairs) if a != b]
        frame = pl.DataFrame(rows, schema=["source", "target"], orient="row")
        frame.with_columns(time=start + 600 * pl.int_range(pl.len())).write_csv(tmp_path / f"{name}.csv")
    nodes = str(tmp_path / "accounts.csv")
    run.stream(run.StreamRequest(path=str(tmp_path / "march.csv"), columns=Columns(), nodes=nodes), tmp_path / "run")
    said = json.loads((tmp_path / "run" / "run.json").read_text())["warnings"]
    assert "20 ids are written differently in the node table: 'a01' is 'A01' there." in said
    assert not any("differ only in" in each for each in said)
    run.watch(tmp_path / "run", tmp_path / "april.csv")
    known = pl.read_csv(tmp_path / "run" / "scores.csv")["node"].sort().to_list()
    assert known == [f"A{k:02}" for k in range(1, 21)]
