"""Tables of a fixed size: what is found again, and who makes room."""

from __future__ import annotations

import numpy as np

from hopsight.streams import memory as tables
from hopsight.streams.memory import N_KNOWN, N_ORDER, SENT, SENT_NOW, WAYS, new_memory
from toys import called

find, node_slot, pair_slot = called(tables.find), called(tables.node_slot), called(tables.pair_slot)
pair_key_of = called(tables.pair_key_of)


def test_a_node_is_found_again_and_unknown_ones_are_not() -> None:
    memory = new_memory(64, 64)
    slot = node_slot(memory, np.uint64(77), 0, 1)
    assert node_slot(memory, np.uint64(77), 0, 2) == slot == find(memory.nodes.key, np.uint64(77))
    assert find(memory.nodes.key, np.uint64(78)) == -1
    assert memory.clock[N_ORDER] == 1
    assert memory.clock[N_KNOWN] == 0  # it becomes known when the next tick opens


def test_the_table_never_grows_and_the_least_recently_seen_makes_room() -> None:
    memory = new_memory(WAYS, WAYS)  # one bucket
    for number in range(1, WAYS + 1):
        pair_slot(memory, np.uint64(number), 0, number)
    pair_slot(memory, np.uint64(1), 0, WAYS + 1)  # seen again
    pair_slot(memory, np.uint64(99), 0, WAYS + 2)
    assert find(memory.pairs.key, np.uint64(2)) == -1
    assert all(find(memory.pairs.key, np.uint64(key)) >= 0 for key in (1, 3, 99))


def test_what_a_node_does_counts_as_known_from_the_next_tick_on() -> None:
    memory = new_memory(64, 64)
    slot = node_slot(memory, np.uint64(5), 3, 1)
    memory.nodes.counts[slot, SENT_NOW] += 2
    node_slot(memory, np.uint64(5), 3, 2)
    assert memory.nodes.counts[slot, SENT] == 0
    node_slot(memory, np.uint64(5), 4, 3)
    assert memory.nodes.counts[slot, SENT] == 2
    assert memory.nodes.counts[slot, SENT_NOW] == 0


def test_the_key_of_a_pair_has_a_direction() -> None:
    one, two = np.uint64(3), np.uint64(4)
    assert pair_key_of(one, two) != pair_key_of(two, one)
