"""A small bank: accounts and the transfers between them, most of them ordinary, and the fraud that was planted.

Ordinary life has what fraud is mistaken for: salaries and rents that recur, shops that hundreds pay, clubs that
collect the same fee from all members, weddings where many give to one account within days, flat shares and
holidays where one collects and passes on, friends who pay each other back, and now and then a car.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import lru_cache
from itertools import pairwise
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from hopsight.checks import check_count
from hopsight.graph import AttributedGraph
from hopsight.system.lazy_polars import pl

START = "2024-01-08"  # a Monday
COUNTRIES, COUNTRY_SHARES = ("DE", "FR", "NL", "IT", "PL"), (0.62, 0.12, 0.1, 0.09, 0.07)
DEVICES = ("android 13", "android 14", "ios 16", "ios 17", "windows", "mac", "branch")
FIRST_NAMES = (
    "Ada", "Aiko", "Amir", "Anna", "Arne", "Bea", "Bilal", "Carla", "Chen", "Clara", "Dana", "Dario", "Elif", "Emil",
    "Eva", "Farid", "Finn", "Gala", "Hana", "Hugo", "Ida", "Ines", "Ivan", "Jan", "Jonas", "Kofi", "Lara", "Leon",
    "Lina", "Luca", "Maja", "Marta", "Milo", "Nadia", "Nils", "Nora", "Olga", "Omar", "Paul", "Petra", "Rosa", "Sami",
    "Sara", "Tara", "Tom", "Vera", "Yara", "Zoe",
)  # fmt: skip
LAST_NAMES = (
    "Abe", "Aydin", "Bauer", "Berg", "Bianchi", "Blanc", "Castro", "Costa", "Cruz", "Dahl", "Demir", "Diaz", "Egger",
    "Falk", "Ferrari", "Fischer", "Garcia", "Haas", "Horvat", "Ito", "Jansen", "Kaya", "Keller", "Klein", "Kowal",
    "Lang", "Lopez", "Maier", "Mendes", "Moreau", "Nagy", "Novak", "Okoro", "Olsen", "Park", "Petit", "Popov", "Ricci",
    "Rossi", "Sato", "Silva", "Singh", "Smit", "Varga", "Vidal", "Weber", "Wolf", "Zhou",
)  # fmt: skip
TRADES = ("bakery", "books", "garage", "kiosk", "market", "pharmacy", "studio", "tools", "travel", "wines")

FloatArray = NDArray[np.float64]
IntArray = NDArray[np.int64]


@dataclass(frozen=True)
class Bank:
    """The tables of a bank.

    Attributes
    ----------
    accounts
        account, holder, type, opened, country, age, income, device; age and income are empty for businesses.
    transfers
        sender, receiver, amount, currency, time, channel, in order of time.
    cases
        account, case (such as "ring 2") and role (mule, takeover or hub) of each account that was planted.
    """

    accounts: pl.DataFrame
    transfers: pl.DataFrame
    cases: pl.DataFrame

    def write(self, folder: str | Path) -> None:
        """Write accounts.csv, transfers.csv and cases.csv into a folder, which is created if need be.

        accounts.csv has a column ``is_fraud`` of what the bank knows: yes for a third of the planted accounts, no for
        one in thirty of the others, and blank for those that nobody has looked at.
        """
        from hopsight.io.frames import write_frame

        folder = Path(folder)
        folder.mkdir(parents=True, exist_ok=True)
        written = self.transfers.with_columns(pl.col("time").dt.strftime("%Y-%m-%d %H:%M:%S"))
        planted = pl.col("account").is_in(self.cases["account"].to_list())
        checked = pl.int_range(pl.len()) % 30 == 0
        known = (
            pl.when(pl.col("account").is_in(self.cases["account"][::3].to_list())).then(pl.lit("yes"))
            .when(checked & ~planted).then(pl.lit("no"))
        )  # fmt: skip
        accounts = self.accounts.with_columns(is_fraud=known)
        for name, table in (("accounts", accounts), ("transfers", written), ("cases", self.cases)):
            write_frame(table, folder / f"{name}.csv")


@dataclass(frozen=True)
class _Plan:
    """What a bank is made of; the parameters of :func:`bank_tables`."""

    n: int
    days: int
    n_rings: int
    ring_size: int
    n_takeovers: int
    n_hubs: int
    passed_on: tuple[float, float]


class _Ledger:
    """Transfers as they are made up, and the people and businesses that make them."""

    def __init__(self, plan: _Plan, rng: np.random.Generator) -> None:
        self.plan, self.rng = plan, rng
        n_firms = max(4, plan.n // 100)
        kinds = {"shop": n_firms, "employer": n_firms, "landlord": 2 * n_firms, "club": n_firms}
        numbers = np.split(rng.permutation(plan.n), np.cumsum(list(kinds.values())))
        self.firms = dict(zip(kinds, numbers, strict=False))
        self.people = np.sort(numbers[-1])
        self.rows: list[tuple[IntArray, IntArray, FloatArray, FloatArray, str]] = []

    def pay(self, source: Any, target: Any, amount: Any, day: Any, channel: str = "app") -> None:
        """Add transfers; whatever is one number is the same for all of them."""
        rows = np.broadcast_arrays(source, target, np.round(np.asarray(amount, dtype=np.float64), 2), day)
        inside = (rows[3] >= 0.0) & (rows[3] < self.plan.days) & (rows[0] != rows[1]) & (rows[2] > 0.0)
        source, target, amount, day = (values[inside] for values in rows)
        self.rows.append((source, target, amount, day, channel))

    def some(self, share: float) -> IntArray:
        """Return a share of the people."""
        chosen = self.rng.choice(self.people, size=round(share * self.people.size), replace=False)
        return np.asarray(chosen, dtype=np.int64)

    def sized(self, median: float, sigma: float, size: Any = None) -> FloatArray:
        """Return amounts of a log-normal distribution."""
        return np.asarray(median * np.exp(sigma * self.rng.standard_normal(size)))

    def hour(self, size: Any = None, low: float = 7.5, high: float = 22.5) -> FloatArray:
        """Return times of the day, as shares of it."""
        return np.asarray(self.rng.uniform(low, high, size)) / 24.0

    def popular(self, kind: str, size: int) -> IntArray:
        """Return businesses of a kind, some of them much more often than others."""
        firms = self.firms[kind]
        weight = 1.0 / np.arange(1.0, firms.size + 1.0)
        return np.asarray(self.rng.choice(firms, size=size, p=weight / weight.sum()), dtype=np.int64)


def bank_tables(
    n: int = 2400,
    seed: int = 1,
    *,
    days: int = 120,
    n_rings: int = 5,
    ring_size: int = 8,
    n_takeovers: int = 15,
    n_hubs: int = 5,
    passed_on: tuple[float, float] = (0.85, 0.98),
) -> Bank:
    """Return the tables of a bank with planted fraud.

    A ring of mules passes 3,000 to 8,000 around twice within days. A takeover pays 9 to 15 strangers in one night. A
    hub of smurfs receives 28 to 40 payments just below 1,000 from strangers within six days and sends most of it on.

    Parameters
    ----------
    n, seed
        Number of accounts, and the seed of everything random.
    days
        Length of the record.
    n_rings, ring_size, n_takeovers, n_hubs, passed_on
        What is planted: how many rings of how many mules, takeovers and hubs, and the smallest and largest share that a
        hub sends on.

    Examples
    --------
    >>> bank = bank_tables(n=600)
    >>> bank.cases["role"].value_counts().sort("role").rows()
    [('hub', 5), ('mule', 40), ('takeover', 15)]
    """
    check_count("n", n, low=200)
    check_count("seed", seed, low=0)
    plan = _Plan(n, days, n_rings, ring_size, n_takeovers, n_hubs, passed_on)
    ledger = _Ledger(plan, np.random.default_rng(seed))
    for live in (_salaries, _rents, _clubs, _shops, _friends, _parties, _purchases):
        live(ledger)
    cases = _plant(ledger)
    names = np.array([f"A{number:05d}" for number in ledger.rng.permutation(n) + 10000])
    return Bank(_accounts(ledger, names), _transfers(ledger, names), _cases(cases, names))


@lru_cache(maxsize=2)
def make_demo(n: int = 2400, seed: int = 1) -> AttributedGraph:
    """Return a small bank as a graph: its accounts, and its transfers with amounts and times as events.

    Planted accounts have the label 1 and the kind 1. :func:`bank_tables` returns the tables and has more parameters.

    Examples
    --------
    >>> bank = make_demo(n=600)
    >>> bank.n_nodes, int(bank.labels.sum())
    (600, 60)
    """
    from hopsight.io.tables import read_tables

    bank = bank_tables(n, seed)
    marked = bank.accounts.with_columns(
        hopsight_kind=pl.col("account").is_in(bank.cases["account"].to_list()).cast(pl.Int8)
    )
    marked = marked.with_columns(hopsight_label=pl.col("hopsight_kind"))
    return replace(read_tables(bank.transfers, marked, label="hopsight_label", notices=[]), name="bank")


def _months(ledger: _Ledger, first: NDArray[Any]) -> FloatArray:
    """Return (n, n_months) days, thirty apart, that begin on the given days of a month."""
    return np.asarray(first[:, None] + 30.0 * np.arange(-1, ledger.plan.days // 30 + 1))


def _monthly(ledger: _Ledger, who: IntArray, to: IntArray, amount: FloatArray, first: NDArray[Any]) -> None:
    """Add standing orders."""
    day = np.floor(_months(ledger, first)) + ledger.hour((who.size, 1), 1.0, 6.0)
    ledger.pay(who[:, None], to[:, None], amount[:, None], day, "standing order")


def _salaries(ledger: _Ledger) -> None:
    who = ledger.some(0.3)
    employer = ledger.popular("employer", who.size)
    payday = ledger.rng.integers(24, 29, ledger.plan.n)[employer]
    months = _months(ledger, payday)
    amount = ledger.sized(2300.0, 0.35, (who.size, 1)) * ledger.rng.uniform(0.98, 1.02, months.shape)
    ledger.pay(employer[:, None], who[:, None], amount, months + ledger.hour((who.size, 1), 4.0, 7.0), "batch")


def _rents(ledger: _Ledger) -> None:
    who = ledger.some(0.16)
    rent = np.round(ledger.sized(750.0, 0.35, who.size), -1)
    _monthly(ledger, who, ledger.popular("landlord", who.size), rent, ledger.rng.integers(1, 5, who.size))
    heads = ledger.some(0.02)  # of flat shares: who collects the rent and passes it on
    for head in heads:
        mates = ledger.rng.choice(ledger.people, size=int(ledger.rng.integers(2, 4)), replace=False)
        share = np.round(ledger.sized(400.0, 0.2), -1)
        for day in 30.0 * np.arange(ledger.plan.days // 30) + 1.0:
            ledger.pay(mates, head, share, day + ledger.rng.uniform(0.0, 2.5, mates.size))
            ledger.pay(head, ledger.popular("landlord", 1), share * (mates.size + 1), day + 3.4, "standing order")


def _clubs(ledger: _Ledger) -> None:
    who = ledger.some(0.12)
    club = ledger.popular("club", who.size)
    fee = np.round(ledger.sized(30.0, 0.5, ledger.plan.n))[club]
    _monthly(ledger, who, club, fee, ledger.rng.integers(1, 29, ledger.plan.n)[club])
    for each in ledger.firms["club"]:  # clubs pay some bills
        days = ledger.rng.uniform(0.0, ledger.plan.days, 4)
        ledger.pay(each, ledger.popular("shop", 4), ledger.sized(180.0, 0.6, 4), days)


def _shops(ledger: _Ledger) -> None:
    size = round(1.6 * ledger.people.size)
    days = np.floor(ledger.rng.uniform(0.0, ledger.plan.days, size)) + ledger.hour(size)
    ledger.pay(
        ledger.rng.choice(ledger.people, size), ledger.popular("shop", size), ledger.sized(38.0, 0.9, size), days
    )
    for firm in (*ledger.firms["shop"], *ledger.firms["landlord"]):  # to suppliers and their owners
        count = int(ledger.rng.poisson(6.0))
        days = ledger.rng.uniform(0.0, ledger.plan.days, count)
        ledger.pay(firm, ledger.rng.choice(ledger.people, count), ledger.sized(600.0, 0.7, count), days, "online")


def _friends(ledger: _Ledger) -> None:
    """Let people pay friends, who are few, and be paid back within days."""
    place = np.arange(ledger.people.size)
    circle = ledger.rng.permutation(ledger.people)
    size = round(1.3 * ledger.people.size)
    who = ledger.rng.choice(place, size)
    friend = (who + ledger.rng.geometric(0.35, size) * ledger.rng.choice([-1, 1], size)) % place.size
    amount = ledger.sized(40.0, 0.9, size)
    amount = np.where(ledger.rng.random(size) < 0.5, np.maximum(5.0, 5.0 * np.round(amount / 5.0)), amount)
    days = np.floor(ledger.rng.uniform(0.0, ledger.plan.days, size)) + ledger.hour(size)
    ledger.pay(circle[who], circle[friend], amount, days)
    back = ledger.rng.random(size) < 0.1
    ledger.pay(
        circle[friend[back]], circle[who[back]], amount[back], days[back] + ledger.rng.exponential(5.0, back.sum())
    )


def _parties(ledger: _Ledger) -> None:
    """Let people give at weddings, and collect for holidays and presents."""
    scale = ledger.plan.n / 2400.0
    for _ in range(round(6 * scale)):
        couple, *guests = ledger.rng.choice(ledger.people, size=int(ledger.rng.integers(15, 32)), replace=False)
        day = ledger.rng.uniform(5.0, ledger.plan.days - 10.0)
        gifts = ledger.rng.choice([50.0, 75.0, 100.0, 150.0, 200.0], len(guests))
        ledger.pay(guests, couple, gifts, day + ledger.rng.exponential(2.0, len(guests)))
        ledger.pay(couple, ledger.popular("shop", 3), ledger.sized(500.0, 0.5, 3), day + ledger.rng.uniform(0, 30, 3))
    for _ in range(round(25 * scale)):
        organizer, *others = ledger.rng.choice(ledger.people, size=int(ledger.rng.integers(4, 9)), replace=False)
        day, cost = ledger.rng.uniform(3.0, ledger.plan.days - 10.0), np.round(ledger.sized(180.0, 0.6))
        ledger.pay(others, organizer, cost, day + ledger.rng.uniform(0.0, 6.0, len(others)))
        ledger.pay(organizer, ledger.popular("shop", 1), cost * (len(others) + 1), day + 7.0, "card")
    for _ in range(round(30 * scale)):  # an afternoon of paying bills, or presents for the family
        who, *others = ledger.rng.choice(ledger.people, size=int(ledger.rng.integers(4, 7)), replace=False)
        day = np.floor(ledger.rng.uniform(0.0, ledger.plan.days)) + ledger.hour(low=16.0, high=20.0)
        payees = np.where(ledger.rng.random(len(others)) < 0.6, ledger.popular("shop", len(others)), others)
        ledger.pay(who, payees, ledger.sized(60.0, 0.8, len(others)), day + ledger.rng.uniform(0.0, 0.06, len(others)))


def _purchases(ledger: _Ledger) -> None:
    """Let a few people buy a car, lend, inherit or move savings: single large amounts."""
    size = round(0.05 * ledger.people.size)
    source, target = ledger.rng.choice(ledger.people, (2, size))
    days = np.floor(ledger.rng.uniform(0.0, ledger.plan.days, size)) + ledger.hour(size)
    ledger.pay(source, target, np.round(ledger.sized(3500.0, 0.6, size), -2), days, "online")


def _plant(ledger: _Ledger) -> list[tuple[int, str, str]]:
    """Add the fraud, and return account, case and role of everybody in it."""
    plan, rng = ledger.plan, ledger.rng
    n_mules = plan.n_rings * plan.ring_size
    chosen = rng.choice(ledger.people, size=n_mules + plan.n_takeovers + plan.n_hubs, replace=False)
    mules, takeovers, hubs = np.split(chosen, [n_mules, n_mules + plan.n_takeovers])
    others = np.setdiff1d(ledger.people, chosen)
    cases: list[tuple[int, str, str]] = []
    for number, members in enumerate(mules.reshape(plan.n_rings, plan.ring_size), start=1):
        _ring(ledger, members)
        cases += [(int(member), f"ring {number}", "mule") for member in members]
    for number, account in enumerate(takeovers, start=1):
        strangers = rng.choice(others, size=int(rng.integers(9, 16)), replace=False)
        night = np.floor(rng.uniform(10.0, plan.days - 1.0)) + rng.uniform(0.5, 2.0) / 24.0
        ledger.pay(
            account,
            strangers,
            rng.uniform(120.0, 900.0, strangers.size),
            night + rng.uniform(0.0, 0.15, strangers.size),
        )
        cases.append((int(account), f"takeover {number}", "takeover"))
    for number, account in enumerate(hubs, start=1):
        _hub(ledger, account, others)
        cases.append((int(account), f"hub {number}", "hub"))
    return cases


def _ring(ledger: _Ledger, members: IntArray) -> None:
    """Let an amount go around a ring twice, each hop within a day and a little less than the one before."""
    rng, n_hops = ledger.rng, 2 * members.size
    delays = rng.uniform(0.1, 0.9, n_hops)
    day = rng.uniform(2.0, max(3.0, ledger.plan.days - delays.sum() - 1.0)) + np.cumsum(delays)
    amount = rng.uniform(3000.0, 8000.0) * np.cumprod(rng.uniform(0.97, 1.0, n_hops))
    hops = np.arange(n_hops)
    ledger.pay(members[hops % members.size], members[(hops + 1) % members.size], amount, day)


def _hub(ledger: _Ledger, account: int, others: IntArray) -> None:
    """Let strangers pay just below 1,000 within six days, and most of it leave soon after."""
    rng = ledger.rng
    count = int(rng.integers(28, 41))
    strangers = rng.choice(others, size=count, replace=False)
    day = rng.uniform(2.0, ledger.plan.days - 9.0)
    amounts, days = rng.uniform(880.0, 996.0, count), day + np.sort(rng.uniform(0.0, 6.0, count))
    ledger.pay(strangers, account, amounts, days)
    n_out = int(rng.integers(3, 7))
    cuts = np.linspace(0, count, n_out + 1).astype(np.int64)
    for low, high in pairwise(cuts):
        share = amounts[low:high].sum() * rng.uniform(*ledger.plan.passed_on)
        ledger.pay(account, rng.choice(others), share, days[high - 1] + rng.uniform(0.1, 1.0), "online")


def _accounts(ledger: _Ledger, names: NDArray[np.str_]) -> pl.DataFrame:
    n, rng = ledger.plan.n, ledger.rng
    kind = np.full(n, "personal", dtype=object)
    for firms in ledger.firms.values():
        kind[firms] = "business"
    kind[ledger.firms["club"]] = "club"
    person = kind == "personal"
    holder = np.array(
        [f"{first} {last}" for first, last in zip(rng.choice(FIRST_NAMES, n), rng.choice(LAST_NAMES, n), strict=True)],
        dtype=object,
    )
    holder[~person] = [f"{rng.choice(LAST_NAMES)} {rng.choice(TRADES)}" for _ in range(int((~person).sum()))]
    opened = np.datetime64(START) - rng.integers(60, 5000, n).astype("timedelta64[D]")
    age = np.clip(np.round(rng.normal(44.0, 15.0, n)), 18, 92)
    income = np.round(ledger.sized(27000.0, 0.45, n) * (1.0 + 0.01 * np.minimum(age - 18.0, 30.0)), -2)
    table = pl.DataFrame(
        {
            "account": names,
            "holder": holder.astype(str),
            "type": kind.astype(str),
            "opened": opened,
            "country": rng.choice(COUNTRIES, n, p=COUNTRY_SHARES),
            "age": pl.Series(np.where(person, age, np.nan)).fill_nan(None).cast(pl.Int64),
            "income": pl.Series(np.where(person, income, np.nan)).fill_nan(None).cast(pl.Int64),
            "device": rng.choice(DEVICES, n),
        }
    )
    return table.sort("account")


def _transfers(ledger: _Ledger, names: NDArray[np.str_]) -> pl.DataFrame:
    source, target, amount, day = (np.concatenate(parts) for parts in list(zip(*ledger.rows, strict=True))[:4])
    channel = np.concatenate([np.full(row[0].size, row[4]) for row in ledger.rows])
    time = (np.datetime64(START, "s") + (day * 86400.0).astype("timedelta64[s]")).astype("datetime64[ms]")
    table = pl.DataFrame(
        {
            "sender": names[source],
            "receiver": names[target],
            "amount": amount,
            "currency": "EUR",
            "time": time,
            "channel": channel,
        }
    )
    return table.sort("time", "sender", "receiver", "amount")


def _cases(cases: Sequence[tuple[int, str, str]], names: NDArray[np.str_]) -> pl.DataFrame:
    return pl.DataFrame(
        {
            "account": [str(names[row[0]]) for row in cases],
            "case": [row[1] for row in cases],
            "role": [row[2] for row in cases],
        }
    )
