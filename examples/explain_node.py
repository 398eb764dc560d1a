"""Explain a node.

Three strangers are planted: they have the attributes of one community and all their edges in another. The picture
shows how far away the neighbors of the most anomalous node look.
"""

import matplotlib.pyplot as plt

import hopsight as hs

graph = hs.make_textbook("stranger", n=300, seed=0)
model = hs.CrossHCM(n_epochs=40, burn_in=20, seed=0).fit(graph)

first = model.to_frame()["node"][0]
print(hs.explain(model, first, top=5))
print("planted:", bool(graph.labels[graph.index_of(first)]))

hs.plot.neighborhood(model, first)
plt.show()
