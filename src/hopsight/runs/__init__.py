"""The commands as functions: detect, score, explain and rerun over a folder of results."""
