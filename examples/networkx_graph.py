"""Use a NetworkX graph.

The graph connects characters of *Les Misérables* that appear in the same chapter. Edge weights count these chapters.
The nodes have no attributes, so hopsight derives them from the edges.
"""

import matplotlib.pyplot as plt
import networkx as nx

import hopsight as hs

novel = nx.les_miserables_graph()
novel.name = "Les Misérables"
graph = hs.load(novel)
print(graph)

model = hs.CrossHCM(n_epochs=40, burn_in=20, contamination=0.05, seed=0).fit(graph)
print(model.to_frame().select("node", "score", "degree", "decided_by").head(4))

hs.plot.evidence(model, top=8)
plt.show()
