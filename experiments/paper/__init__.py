"""The experiments of the paper and the comparison with PyGOD and PyOD; ``python experiments/bench.py`` runs them."""
