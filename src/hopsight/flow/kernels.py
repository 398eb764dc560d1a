"""Compiled loops over events that are in order of time at each node."""

from __future__ import annotations

from typing import Any

import numpy as np

from hopsight.system.kernels import compiled


@compiled(nogil=True)
def busiest(start: Any, time: Any, weight: Any, counted: Any, width: float) -> Any:
    """Return for each node the window of a width with the most counted weight, and the next busiest apart from it.

    The result is (n_nodes, 4): what the counted events of the busiest window weigh, the position of its first event,
    what events, counted or not, weigh at most in a window that neither overlaps nor touches it, and the number of
    counted events in the busiest window. ``start`` says where the events of each node begin.

    >>> time = np.array([0.0, 1.0, 2.0, 9.0, 9.5])
    >>> busiest(np.array([0, 5]), time, np.ones(5), np.ones(5, dtype=np.bool_), 2.0).tolist()
    [[3.0, 0.0, 2.0, 3.0]]
    """
    n_nodes = start.size - 1
    found = np.zeros((n_nodes, 4))
    for node in range(n_nodes):
        low, high = start[node], start[node + 1]
        end, inside, number, first = low, 0.0, 0, low
        for begin in range(low, high):
            while end < high and time[end] <= time[begin] + width:
                if counted[end]:
                    inside, number = inside + weight[end], number + 1
                end += 1
            if inside > found[node, 0]:
                found[node, 0], found[node, 3], first = inside, number, begin
            if counted[begin]:
                number -= 1
                inside = inside - weight[begin] if number else 0.0  # nothing is left of rounding
        second, inside, end = 0.0, 0.0, low
        for begin in range(low, high):
            while end < high and time[end] <= time[begin] + width:
                inside += weight[end]
                end += 1
            if time[begin] > time[first] + 2.0 * width or time[end - 1] < time[first] - width:
                second = max(second, inside)
            inside = inside - weight[begin] if end > begin + 1 else 0.0
        found[node, 1], found[node, 2] = first, second
    return found


@compiled(nogil=True)
def passed(start: Any, time: Any, amount: Any, window: float) -> Any:
    """Return how much of each event is what came into a node and went out again within a window.

    ``amount`` is positive for what came in and negative for what went out. What goes out is taken from what came in
    first, of what came in earlier by at most the window.

    >>> passed(np.array([0, 4]), np.array([0.0, 1.0, 2.0, 9.0]), np.array([100.0, 50.0, -120.0, -30.0]), 3.0).tolist()
    [100.0, 20.0, 120.0, 0.0]
    """
    n_nodes = start.size - 1
    found, left = np.zeros(amount.size), amount.copy()
    for node in range(n_nodes):
        oldest = start[node]
        for event in range(start[node], start[node + 1]):
            if amount[event] > 0.0:
                continue
            wanted = -amount[event]
            while oldest < event and wanted > 0.0:
                if left[oldest] <= 0.0 or time[oldest] < time[event] - window:
                    oldest += 1
                    continue
                taken = min(left[oldest], wanted)
                left[oldest] -= taken
                wanted -= taken
                found[oldest] += taken
                found[event] += taken
    return found


@compiled(nogil=True)
def chains(
    source: Any, target: Any, time: Any, amount: Any, rarity: Any, start: Any, incoming: Any, arrival: Any,
    window: float, lowest: float, highest: float, least: float, longest: int, n_nodes: int,
) -> Any:  # fmt: skip
    """Return the best chain into and out of every event, and the best cycle through every event and every node.

    Events are in order of time. Event e follows d if d leads to where e begins, at most ``window`` earlier, e does not
    lead back to where d began, and the ratio of the amounts of e and d is between ``lowest`` and ``highest``. Of events
    at the same time, such as on one day, those come first that follow none of the others, as far as there are any. If
    c events came in within the window, a follower by chance is expected c · ``rarity`` times; the link counts −log₁₀ of
    that, and less than ``least`` is no link. ``incoming`` lists the events that lead to each node, in order of time,
    from ``start`` on, and ``arrival`` has their times. A cycle has three to ``longest`` events.

    Returns
    -------
    before, after
        (n_events,) position of the event before and after in the best chain, -1 without any.
    into, out
        (n_events,) what the links up to an event count together, and those after it.
    around
        (n_events,) what the links of the best cycle through an event count.
    value, last
        (n_nodes,) what the links of the best cycle through a node count, and the event that closes it, -1 without any.
    length
        (n_nodes,) number of events in that cycle.
    """
    n = source.size
    before, after = np.full(n, -1), np.full(n, -1)
    into, out, around, weight = np.zeros(n), np.zeros(n), np.zeros(n), np.zeros(n)
    value, last, length = np.zeros(n_nodes), np.full(n_nodes, -1), np.zeros(n_nodes, dtype=np.int64)
    turn, placed, n_placed = np.empty(n, dtype=np.int64), np.zeros(n, dtype=np.bool_), 0
    while n_placed < n:
        begin, end, waits, n_passes = n_placed, n_placed, True, 0
        while end < n and time[end] == time[begin]:
            end += 1
        while n_placed < end:
            before_pass, n_passes = n_placed, n_passes + 1
            for event in range(begin, end):
                if placed[event]:
                    continue
                node, free = source[event], True
                place = start[node] + np.searchsorted(arrival[start[node] : start[node + 1]], time[event])
                while waits and free and place < start[node + 1] and arrival[place] == time[event]:
                    ratio = amount[event] / amount[incoming[place]]
                    free = placed[incoming[place]] or incoming[place] == event or ratio < lowest or ratio > highest
                    place += 1
                if free:
                    turn[n_placed], placed[event], waits = event, True, n_passes < longest
                    n_placed += 1
            waits = n_passes < longest and n_placed > before_pass  # else some go in a circle: the next does not wait
    placed[:] = False
    for event in turn:
        node = source[event]
        placed[event] = True
        high = start[node] + np.searchsorted(arrival[start[node] : start[node + 1]], time[event], side="right")
        low = high
        while low > start[node] and arrival[low - 1] >= time[event] - window:
            low -= 1
            if (high - low) * rarity[event] > 10.0**-least:
                break
        count = high - low
        if count == 0 or count * rarity[event] > 10.0**-least:
            continue
        weight[event] = -np.log10(count * rarity[event])
        for place in range(low, high):
            other = incoming[place]
            ratio = amount[event] / amount[other]
            fits = placed[other] and source[other] != target[event] and ratio >= lowest and ratio <= highest
            if fits and (before[event] < 0 or into[other] > into[before[event]]):
                before[event] = other
        if before[event] >= 0:
            into[event] = into[before[event]] + weight[event]
    for event in turn[::-1]:
        other = before[event]
        if other >= 0 and out[event] + weight[event] > out[other]:
            out[other], after[other] = out[event] + weight[event], event
    for event in range(n):
        total, at = 0.0, event
        for hops in range(2, longest + 1):
            total += weight[at]
            at = before[at]
            if at < 0:
                break
            if source[at] == target[event]:
                if hops >= 3:
                    member = event
                    for _ in range(hops):
                        node = source[member]
                        around[member] = max(around[member], total)
                        if total > value[node]:
                            value[node], last[node], length[node] = total, event, hops
                        member = before[member]
                break
    return before, after, into, out, around, value, last, length
