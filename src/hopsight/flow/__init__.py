"""Evidence from the amounts and times of edges: bursts, money that passes through, cycles, and unusual amounts."""

from __future__ import annotations

from hopsight.flow.evidence import Flow, FlowBaseline, flow_of
from hopsight.flow.facts import AmountFacts, BurstFacts, CycleFacts, PassThroughFacts, facts

__all__ = [
    "AmountFacts",
    "BurstFacts",
    "CycleFacts",
    "Flow",
    "FlowBaseline",
    "PassThroughFacts",
    "facts",
    "flow_of",
]
