"""Hop counts of node pairs: one breadth-first search, and the pairs drawn from it."""
