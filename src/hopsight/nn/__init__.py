"""Layers and losses that more than one model uses, without torch's global random state."""
