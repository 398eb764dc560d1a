"""Learning from labels: features of nodes and edges, experts, and their combination."""
