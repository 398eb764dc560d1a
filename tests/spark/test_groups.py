"""Groups: those of the local engine, with ids as members, or a notice where there are too many suspects."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from hopsight.hcm.evidence import KINDS, EdgeBaseline, EdgeFeatures
from hopsight.hcm.groups import Group, find_groups
from hopsight.spark import groups as module
from hopsight.spark.blocks import BLOCK, Layout
from hopsight.spark.judging import JUDGED, VALUES
from hopsight.spark.ranking import SCORES

N_NODES = 60


@pytest.fixture(scope="module")
def graph(spark: Any) -> tuple[tuple[Any, ...], list[Group]]:
    """Return two cliques among random edges: the arguments of ``collect_groups``, and the groups of the local engine.

    Odd rows of the node table are in the second block.
    """
    rng = np.random.default_rng(0)
    source, target = np.triu_indices(N_NODES, 1)
    clique = (target < 6) | ((source >= 50) & (target < 57))
    chosen = clique | (rng.random(source.size) < 0.05)
    edges, clique = np.stack([source, target])[:, chosen], clique[chosen]
    evidence = rng.random((N_NODES, len(SCORES)))
    ring, lockstep = SCORES.index("ring"), SCORES.index("lockstep")
    evidence[:6, ring] += 5
    evidence[30, ring] += 5  # a suspect that belongs to no group
    evidence[50:57, lockstep] += 5
    values = rng.random((len(VALUES), edges.shape[1]))
    values[VALUES.index("surprise"), clique] += 1
    values[VALUES.index("dissimilarity"), clique] -= 1
    readings = EdgeFeatures(*(values[VALUES.index(name)] for name in ("hop", "surprise", "dissimilarity")))
    laws = EdgeBaseline.fit(readings)
    limits = np.full(len(KINDS), 2.0)
    wanted = []
    for column, kind, side in ((ring, "ring", laws.strangeness), (lockstep, "lockstep", laws.alikeness)):
        wanted += find_groups(kind, edges, side(readings), evidence[:, column], evidence[:, column] > 2.0)
    layout = Layout((30, 30), 2)
    scores = [(-1, block, 0, "scores", evidence[block::2].tobytes()) for block in (0, 1)]
    cells = []
    for cell, pair in enumerate(layout.pairs):
        ends = edges % 2
        swap = ends[0] > ends[1]
        u, v = np.where(swap, edges[::-1], edges)
        mine = (u % 2 == pair[0]) & (v % 2 == pair[1])
        parts = [(end[mine] // 2).astype(np.int32).tobytes() for end in (u, v)]
        cells.append((cell, 0, *parts, b"", b"", values[:, mine].tobytes()))
    nodes = [(f"n{row}", row, row % 2, row // 2) for row in range(N_NODES)]
    frames = (
        spark.createDataFrame(scores, BLOCK),
        spark.createDataFrame(cells, JUDGED),
        spark.createDataFrame(nodes, "id string, row long, block int, position int"),
    )
    return (*frames, layout, laws, limits), wanted


def test_groups_are_those_of_the_local_engine(graph: tuple[tuple[Any, ...], list[Group]]) -> None:
    arguments, wanted = graph
    notices: list[str] = []
    found = module.collect_groups(*arguments, notices)
    assert [group.kind for group in wanted] == ["ring", "lockstep"]
    for group, local in zip(found, wanted, strict=True):
        assert group.members.tolist() == [f"n{node}" for node in local.members]
        assert (group.kind, group.density, group.score) == (local.kind, local.density, local.score)
    assert notices == []


@pytest.mark.parametrize(("name", "what"), [("MOST_SUSPECTS", "nodes may belong"), ("MOST_EDGES", "edges connect")])
def test_too_many_suspects_are_a_notice(
    graph: tuple[tuple[Any, ...], list[Group]], monkeypatch: pytest.MonkeyPatch, name: str, what: str
) -> None:
    monkeypatch.setattr(module, name, 5)
    notices: list[str] = []
    assert module.collect_groups(*graph[0], notices) == []
    assert len(notices) == 1 and f"more than 5 {what}" in notices[0]


def test_no_suspects_no_groups(graph: tuple[tuple[Any, ...], list[Group]]) -> None:
    *arguments, limits = graph[0]
    assert module.collect_groups(*arguments, limits + 100, []) == []
