"""Find a ring.

Twelve nodes from different communities are all connected to each other. No member is odd by itself; together they
close triangles of nodes that look far apart.
"""

import matplotlib.pyplot as plt

import hopsight as hs

graph = hs.make_textbook("ring", n=300, seed=0)
model = hs.CrossHCM(n_epochs=40, burn_in=20, seed=0).fit(graph)

for group in model.groups_:
    planted = int(graph.labels[group.members].sum())
    print(f"a {group.kind} of {len(group.members)} nodes, {planted} of them planted, density {group.density:.0%}")

hs.plot.evidence(model, top=12)
plt.show()
