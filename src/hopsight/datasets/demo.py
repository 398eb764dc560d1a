"""The demo graph: people in circles of friends, some of whom do not fit in, and the ground truth."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass
from functools import lru_cache
from types import MappingProxyType

import numpy as np
from numpy.typing import NDArray

from hopsight.datasets.injection import balanced_choice, share_below
from hopsight.graph import AttributedGraph

N_PEOPLE = 2400
N_CIRCLES = 30
N_PLANTED = 24  # of each kind
CITIES = (
    "Athens", "Berlin", "Dublin", "Helsinki", "Krakow", "Lisbon",
    "Lyon", "Naples", "Oslo", "Prague", "Seville", "Utrecht",
)  # fmt: skip
INTERESTS = (
    "astronomy", "chess", "choir", "cooking", "cycling", "football", "gaming", "gardening", "photography", "theatre",
)  # fmt: skip
AGES = (21, 33, 47, 68)  # typical of a circle
INCOMES = (14_000, 32_000, 58_000, 96_000)  # typical of a circle, per year
COLUMNS = (*(f"city={city}" for city in CITIES), *(f"interest={name}" for name in INTERESTS), "age", "income")
PLANTED_ATTRIBUTES = ("city", "interest", "age", "income")

_FIRST_NAMES = (
    "Ada", "Aiko", "Amir", "Anna", "Arne", "Bea", "Bilal", "Carla", "Chen", "Clara", "Dana", "Dario", "Elif",
    "Emil", "Esra", "Eva", "Farid", "Finn", "Gala", "Goran", "Hana", "Hugo", "Ida", "Ines", "Ivan", "Jan",
    "Jana", "Jonas", "Kofi", "Lara", "Leon", "Lina", "Luca", "Maja", "Marta", "Milo", "Nadia", "Nils", "Nora",
    "Olga", "Omar", "Paul", "Petra", "Rafa", "Rosa", "Sami", "Sara", "Tara", "Tom", "Vera", "Yara", "Zoe",
)  # fmt: skip
_LAST_NAMES = (
    "Abe", "Aydin", "Bauer", "Berg", "Bianchi", "Blanc", "Castro", "Costa", "Cruz", "Dahl", "Demir", "Diaz", "Duarte",
    "Egger", "Falk", "Ferrari", "Fischer", "Garcia", "Haas", "Horvat", "Ito", "Jansen", "Kaya", "Keller", "Klein",
    "Kowal", "Lang", "Lehto", "Lopez", "Maier", "Mendes", "Moreau", "Nagy", "Novak", "Okoro", "Olsen", "Papadakis",
    "Park", "Petit", "Popov", "Ricci", "Rossi", "Sato", "Silva", "Singh", "Smit", "Tanaka", "Varga", "Vidal", "Weber",
    "Wolf", "Zhou",
)  # fmt: skip
_ROUNDS = 3  # in each, the people of a circle form a ring and make friends with their neighbors
_MADE_FRIENDS = 0.92  # share of neighbors in a ring who become friends
_ACROSS = 0.02  # friendships across circles, as a share of those within circles
_IN_TOWN = 0.6  # share of friendships across circles that are within a city
_PLANTED_SHARE = 0.6  # share of the edges of a structural anomaly that are planted
_FAR = {"age": 26, "income": 38_000}  # least difference between the typical values of two different circles

Positions = NDArray[np.int64]


@dataclass(frozen=True)
class DemoTruth:
    """The anomalies planted in the demo graph.

    Parameters
    ----------
    labels, kinds
        One value per person. Labels: 1 planted, 0 normal. Kinds: 1 edges to unrelated circles, 2 an attribute that
        does not fit, 0 normal.
    attributes
        For each person of kind 2, by name, the attribute that was changed: ``"city"``, ``"interest"``, ``"age"`` or
        ``"income"``.
    columns
        For each person of kind 2, by name, the attribute columns that the change affects.
    edges
        For each person of kind 1, by name, the friends who were planted.
    """

    labels: NDArray[np.int8]
    kinds: NDArray[np.int8]
    attributes: Mapping[str, str]
    columns: Mapping[str, tuple[str, ...]]
    edges: Mapping[str, tuple[str, ...]]


@dataclass
class _People:
    """Circle, city and interest (as numbers), age and income of every person."""

    circle: Positions
    city: Positions
    interest: Positions
    age: Positions
    income: Positions


def make_demo(seed: int = 0) -> AttributedGraph:
    """Return the demo graph: 2,400 people and their friendships, with 48 people who do not fit in.

    Everybody belongs to a circle of friends who live in one city, share an interest and are of about the same
    age and income; a few friendships lead out of the circle, most of them within the city. Of the 48, 24 have one
    attribute (city, interest, age or income) of a quite different circle, and 24 have most of their friends in
    circles unrelated to their own. Neither kind has more friends or larger values than other people.

    Examples
    --------
    >>> demo = make_demo()
    >>> demo.n_nodes, int(demo.labels.sum()), demo.attribute_names[-2:]
    (2400, 48, ('age', 'income'))
    """
    return _generate(seed)[0]


def demo_truth(seed: int = 0) -> DemoTruth:
    """Return which people, attributes and edges were planted in ``make_demo(seed)``.

    >>> truth = demo_truth()
    >>> len(truth.attributes), len(truth.edges), sorted(set(truth.attributes.values()))
    (24, 24, ['age', 'city', 'income', 'interest'])
    """
    return _generate(seed)[1]


@lru_cache(maxsize=2)
def _generate(seed: int) -> tuple[AttributedGraph, DemoTruth]:
    people_rng, edge_rng, choice_rng, planting_rng = np.random.default_rng(seed).spawn(4)
    names = _draw_names(rng=people_rng)
    people = _draw_people(rng=people_rng)
    edges = _draw_edges(people, rng=edge_rng)  # (2, n_edges)
    strangers, misfits = _choose(people, edges, rng=choice_rng)
    kinds = np.zeros(N_PEOPLE, dtype=np.int8)
    kinds[strangers], kinds[misfits] = 1, 2
    planted_edges = {int(person): _cross_groups(person, people, edges, kinds, rng=planting_rng) for person in strangers}
    attributes, columns = {}, {}
    for number, person in enumerate(misfits):
        attribute = PLANTED_ATTRIBUTES[number % len(PLANTED_ATTRIBUTES)]
        attributes[names[person]] = attribute
        columns[names[person]] = _misfit(person, attribute, people, rng=planting_rng)
    graph = AttributedGraph.from_edges(
        edges[0],
        edges[1],
        _columns_of(people),
        node_ids=names,
        attribute_names=COLUMNS,
        labels=kinds > 0,
        kinds=kinds,
        name="demo",
    )
    truth = DemoTruth(
        graph.labels,
        graph.kinds,
        MappingProxyType(attributes),
        MappingProxyType(columns),
        MappingProxyType({names[p]: tuple(names[friend] for friend in who) for p, who in planted_edges.items()}),
    )
    return graph, truth


def _draw_names(*, rng: np.random.Generator) -> list[str]:
    pairs = rng.choice(len(_FIRST_NAMES) * len(_LAST_NAMES), size=N_PEOPLE, replace=False)
    return [f"{_FIRST_NAMES[pair % len(_FIRST_NAMES)]} {_LAST_NAMES[pair // len(_FIRST_NAMES)]}" for pair in pairs]


def _draw_people(*, rng: np.random.Generator) -> _People:
    """Return people in circles; circles of one city differ in interest and age."""
    number = np.arange(N_CIRCLES)
    turn = number + number // len(CITIES)
    circle_city = rng.permutation(len(CITIES))[number % len(CITIES)]
    circle_interest = rng.permutation(len(INTERESTS))[turn % len(INTERESTS)]
    circle_age = np.array(AGES)[turn % len(AGES)]
    circle_income = np.array(INCOMES)[rng.permuted(number % len(INCOMES))]
    circle = rng.permutation(np.arange(N_PEOPLE) % N_CIRCLES)
    return _People(
        circle,
        circle_city[circle],
        circle_interest[circle],
        _vary_age(circle_age[circle], rng=rng),
        _vary_income(circle_income[circle], rng=rng),
    )


def _vary_age(typical: Positions, *, rng: np.random.Generator) -> Positions:
    return np.clip(np.round(typical + 4.0 * rng.standard_normal(typical.shape)), 16, 95).astype(np.int64)


def _vary_income(typical: Positions, *, rng: np.random.Generator) -> Positions:
    """Return incomes that vary by about 12%, rounded to hundreds."""
    return np.round(typical * np.exp(0.12 * rng.standard_normal(typical.shape)), -2).astype(np.int64)


def _draw_edges(people: _People, *, rng: np.random.Generator) -> Positions:
    """Return distinct friendships, most of them within circles and evenly spread, as among real friends."""
    pairs = []
    for circle in range(N_CIRCLES):
        members = np.flatnonzero(people.circle == circle)
        for _ in range(_ROUNDS):
            ring = rng.permutation(members)
            pairs.append(np.stack([ring, np.roll(ring, 1)])[:, rng.random(ring.size) < _MADE_FRIENDS])
    within = np.concatenate(pairs, axis=1)
    n_across = int(_ACROSS * within.shape[1])
    source = rng.choice(N_PEOPLE, size=n_across, replace=False)
    in_town = rng.random(n_across) < _IN_TOWN
    target = np.array([rng.choice(_outside(people, *end)) for end in zip(source, in_town, strict=True)])
    ends = np.sort(np.concatenate([within, np.stack([source, target])], axis=1), axis=0)
    return np.unique(ends, axis=1)


def _outside(people: _People, person: int, in_town: bool) -> Positions:
    """Return the people of other circles, in the same city if ``in_town``."""
    others = people.circle != people.circle[person]
    return np.flatnonzero(others & (people.city == people.city[person]) if in_town else others)


def _choose(people: _People, edges: Positions, *, rng: np.random.Generator) -> tuple[Positions, Positions]:
    """Return the people who get other edges and those who get another attribute, of average degree and income.

    People with a friend in another circle are not chosen, so that it is clear which edges were planted.
    """
    degrees = np.bincount(edges.ravel(), minlength=N_PEOPLE)
    shares = np.column_stack([share_below(degrees, degrees), share_below(people.income, people.income)])
    across = edges[:, people.circle[edges[0]] != people.circle[edges[1]]]
    eligible = np.setdiff1d(np.flatnonzero(degrees >= 4), across)
    strangers = eligible[balanced_choice(shares[eligible], N_PLANTED, rng=rng)]
    rest = np.setdiff1d(eligible, strangers)
    return strangers, rest[balanced_choice(shares[rest], N_PLANTED, rng=rng)]


def _cross_groups(
    person: int, people: _People, edges: Positions, kinds: NDArray[np.int8], *, rng: np.random.Generator
) -> Positions:
    """Redirect most edges of a person, in place, to people of other cities and interests; return those people."""
    own = np.flatnonzero((edges == person).any(axis=0))
    turned = rng.choice(own, size=math.ceil(_PLANTED_SHARE * own.size), replace=False)
    unrelated = (people.city != people.city[person]) & (people.interest != people.interest[person]) & (kinds == 0)
    friends = rng.choice(np.flatnonzero(unrelated), size=turned.size, replace=False)
    edges[:, turned] = np.stack([np.full(turned.size, person), friends])
    return friends


def _misfit(person: int, attribute: str, people: _People, *, rng: np.random.Generator) -> tuple[str, ...]:
    """Give a person, in place, the value of a quite different circle; return the columns that this affects."""
    values = getattr(people, attribute)
    before = values[person]
    if attribute in _FAR:
        typical, vary = (np.array(AGES), _vary_age) if attribute == "age" else (np.array(INCOMES), _vary_income)
        home = typical[np.abs(typical - before).argmin()]
        values[person] = vary(rng.choice(typical[np.abs(typical - home) >= _FAR[attribute]]), rng=rng)
        return (attribute,)
    options = CITIES if attribute == "city" else INTERESTS
    values[person] = rng.choice(np.delete(np.arange(len(options)), before))
    return f"{attribute}={options[before]}", f"{attribute}={options[values[person]]}"


def _columns_of(people: _People) -> NDArray[np.float64]:
    one_hot = np.eye(len(CITIES))[people.city], np.eye(len(INTERESTS))[people.interest]
    return np.column_stack([*one_hot, people.age, people.income])
