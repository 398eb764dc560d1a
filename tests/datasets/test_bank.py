"""The bank that can be made up: what is planted, and that ordinary life does not look like it by size alone."""

from __future__ import annotations

import polars as pl

import hopsight as hs
from hopsight.datasets import bank_tables


def test_the_planted_accounts_do_what_their_role_says() -> None:
    bank = bank_tables(n=800, seed=3, ring_size=6)
    flows = bank.transfers.with_columns(day=pl.col("time").dt.epoch("s") / 86400.0)
    for role, case in zip(bank.cases["role"], bank.cases.rows(named=True), strict=True):
        sent = flows.filter(pl.col("sender") == case["account"])
        received = flows.filter(pl.col("receiver") == case["account"])
        if role == "mule":
            assert sent.filter(pl.col("amount") >= 3000.0 * 0.97**12).height >= 2
        elif role == "takeover":
            busiest = sent.sort("time").rolling("time", period="6h").agg(pl.col("receiver").n_unique())
            assert busiest["receiver"].max() >= 9
        else:
            below = received.filter(pl.col("amount").is_between(880.0, 1000.0))
            assert 28 <= below.height <= 42
            assert below["day"].max() - below["day"].min() < 7.0


def test_a_bank_is_decided_by_its_seed_and_can_be_written_and_read(tmp_path) -> None:
    one, same, other = (bank_tables(n=400, seed=seed) for seed in (1, 1, 2))
    assert one.transfers.equals(same.transfers)
    assert one.accounts.equals(same.accounts)
    assert not one.transfers.equals(other.transfers)
    one.write(tmp_path)
    read = hs.load(tmp_path / "transfers.csv", nodes=tmp_path / "accounts.csv", notices=[])
    made = hs.make_demo(400, 1)
    assert read.n_edges == made.n_edges
    assert set(made.node_ids[made.labels == 1]) == set(one.cases["account"])
