"""Edges as events in time: each is judged by what was known before it.

The design
----------
A stream is a list of events (source, target, time, perhaps an amount). It is cut into *windows* (a duration, or a
number of events), and these into *ticks* of at most a minute. Everything is one pass over the events in order of time:

1. **Judge.** What was known of the two ends before this tick (earlier events of the pair in both directions, common
   neighbors, paths of three edges, degrees, how long ago each was active, whether it is new) goes into a small network
   that gives P(one hop). The hop count that the ends should have had is P · 1 + (1 − P) · their distance in the past
   graph; the surprise is −log P. Nothing of the same tick or later is used.
2. **Count.** The events of this pair, of this sender and of this receiver in this tick, and in this quarter of a window
   (half of the count before is carried over), are compared with what is usual for them and for everyone; a burst is
   hardly learned as usual, unless it lasts; in the first ten windows, what all recent quarters of a window reached is
   usual, and the first window has nothing to compare with. The amount is compared with earlier ones of the pair and the
   sender, the hour with the sender's.
3. **Combine.** Of pairs, amounts and hours the evidence is −log of the share of earlier events that were as surprising.
   An event counts by their sum or by the strongest of them, again as a share of earlier events. Events of one node that
   are unusual together, such as a run of new partners, are a *streak* (`evidence.py`).
4. **Decide.** The strongest of these, and of the bursts, is the score: −log₁₀ of the chance that an ordinary event has
   as much, 3 being one in a thousand. An event is flagged from the alarm level on. For each of its ends it counts less
   by the evidence by which the other end alone is more unusual, so that the targets of a scan rank below who scans.
5. **Add up.** What an account's own events did together is judged apart: many new partners, and much money to or from
   them, within hours, a day or days, beside its own past and what other accounts do, and whether it sends on what it
   has just received, one of several in a row (`accounts.py`). An alert is raised once per episode, on an account or on
   a pair (`alerts.py`).
6. **Remember.** Tables of fixed size hold nodes (with their last 32 neighbors) and pairs; the least recently seen make
   room. So the cost of an event and the size of the state have a bound that the length of the history does not change.

The network learns from the past without labels: each event, as it looked before it came, against a random pair at the
same moment. It is fitted again on a schedule, or when its loss on recent events has risen (`network.py`, `kernel.py`).

A score depends on earlier events only, to the bit. Therefore pieces of a stream (`hopsight watch`) give the alerts of
one run. Within one file events are sorted by time; an event older than one of an earlier file is *late*: it is judged
and counted as if it came at the newest time so far. A piece is known by the hash of its content, so that one that was
processed already is not processed again. Outputs are appended first and the state, which holds their lengths, replaces
the old one last: whatever a killed process had appended beyond that is cut off; what somebody else changed is left
alone (`state.py`).

What ``scores.csv``, ``explanations.json`` and ``report.html`` say comes from totals and strongest rows in the state, so
that ``watch`` writes them anew after every file (`results.py`). A large table is read in pieces, sorted by
polars, on the disk where memory runs short, and judged in chunks (`events.py`).

Attributes of nodes (``--nodes``) are part of the features of a pair: how far apart they are, and whether both are
known (`events.py`). Not supported yet: Spark.
"""
