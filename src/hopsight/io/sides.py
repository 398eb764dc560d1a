"""Bipartite edge lists: two columns of ids that name different kinds of nodes, such as users and items."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from hopsight.checks import option, shortened
from hopsight.io import ids
from hopsight.io.notices import notice
from hopsight.io.roles import normalized_name
from hopsight.system.lazy_polars import pl

_ACTORS = (
    "user", "customer", "client", "buyer", "reviewer", "author", "account", "card", "patient", "person", "actor",
    "investor", "member", "viewer", "visitor",
)  # fmt: skip
_THINGS = (
    "item", "product", "merchant", "shop", "store", "movie", "book", "song", "artist", "page", "paper", "venue",
    "subreddit", "group", "event", "device", "ip", "provider", "company", "business", "asin",
    "repo", "repository", "video", "channel", "track", "restaurant", "hotel", "domain", "project",
)  # fmt: skip
_ENDINGS = ("", "_id", "_name", "_number", "_no")
PAIRS = tuple(
    (f"{actor}{ending}", f"{thing}{other}")
    for actor in _ACTORS for thing in _THINGS for ending in _ENDINGS for other in _ENDINGS
)  # fmt: skip
UNKNOWN = "(unknown)"


@dataclass(frozen=True)
class Sides:
    """The ids at both ends of every edge, and the types of nodes that they name, None if there is one type only."""

    sources: pl.Series
    targets: pl.Series
    types: tuple[str, str] | None = None
    prefixed: bool = False  # whether ids of both types overlap, so that each became type:id

    def all_ids(self) -> pl.Series:
        """Return every id once, sorted."""
        if self.sources.dtype == self.targets.dtype == pl.Int64 and len(self.sources):
            numbers = ids.distinct_numbers(self.sources.to_numpy(), self.targets.to_numpy())
            if numbers is not None:
                return pl.Series("id", numbers)
        first, second = ids.same_type(self.sources.unique(), self.targets.unique())
        return pl.concat([first.rename("id"), second.rename("id")]).unique().sort()

    def types_of_all(self) -> list[str] | None:
        """Return the type of every id of :meth:`all_ids`."""
        return None if self.types is None else self._types_of(self.all_ids())

    def ids_of_nodes(self, node_ids: pl.Series, fields: dict[str, Any]) -> pl.Series:
        """Return the ids of a node table as the edges write them, and add the types of its nodes to the fields."""
        if self.types is None:
            return node_ids
        if not self.prefixed:
            if fields.get("node_types") is None:
                fields["node_types"] = self._types_of(node_ids)
            return node_ids
        known = fields.get("node_types")
        if known is None:
            raise ValueError(
                f"{self.types[0]} and {self.types[1]} share ids, so that a node table needs a column with "
                f"{self.types[0]!r} or {self.types[1]!r} for each node; add it and pass {option('type_column')}"
            )
        wrong = next((word for word in known if word not in self.types), None)
        if wrong is not None:
            raise ValueError(
                f"type {shortened(wrong)} of a node is neither {self.types[0]!r} nor {self.types[1]!r}, which the "
                "columns of the edge list are called"
            )
        return pl.Series(node_ids.name, known, dtype=pl.String) + ":" + node_ids.cast(pl.String)

    def _types_of(self, node_ids: pl.Series) -> list[str]:
        assert self.types is not None
        node_ids, sources, targets = ids.same_type(node_ids, self.sources.unique(), self.targets.unique())
        first, second = node_ids.is_in(sources.implode()), node_ids.is_in(targets.implode())
        return [
            self.types[0] if a else self.types[1] if b else UNKNOWN
            for a, b in zip(first.to_list(), second.to_list(), strict=True)
        ]


def as_sides(
    sources: pl.Series, targets: pl.Series, names: tuple[str, str], bipartite: bool | None, notices: list[str] | None
) -> Sides:
    """Return both ends; if they name different kinds of nodes, ids that overlap become ``type:id``.

    ``bipartite`` None decides by the names of the two columns, such as ``user`` and ``item``.
    """
    known = (normalized_name(names[0]), normalized_name(names[1]))
    if not (known in PAIRS if bipartite is None else bipartite):
        return Sides(sources, targets)
    types = (_without_ending(known[0]), _without_ending(known[1]))
    sources, targets = ids.same_type(sources, targets)
    overlap = bool(sources.unique().is_in(targets.unique().implode()).any())
    if overlap:
        sources, targets = (
            pl.select(pl.lit(f"{kind}:") + each.cast(pl.String)).to_series()
            for kind, each in zip(types, (sources, targets), strict=True)
        )
    prefixed = ", and write their ids as type:id because they overlap" if overlap else ""
    notice(f"Take {types[0]!r} and {types[1]!r} for two kinds of nodes{prefixed}.", notices)
    return Sides(sources, targets, types, overlap)


def _without_ending(name: str) -> str:
    """Return what a column of ids is about: the user of ``user_id``."""
    return next((name.removesuffix(ending) for ending in _ENDINGS[1:] if name.endswith(ending)), name)
