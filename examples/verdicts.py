"""Teach the ranking with verdicts.

A person who knows the data decides which suspects are anomalous. Here, nodes with edges to all communities are
anomalous, and nodes with extreme attributes are fine. The queue names the nodes whose verdicts help most.
"""

import dataclasses

import matplotlib.pyplot as plt
import numpy as np

import hopsight as hs

graph = hs.make_graph(600, n_edges=2400, n_attributes=12, n_structural=20, n_attribute_anomalies=1, seed=1)
wanted = graph.kinds == 1
loud = np.random.default_rng(0).choice(np.flatnonzero(~wanted), 14, replace=False)
attributes = graph.attributes.copy()
attributes[loud] *= 1.8  # unusual in themselves, but harmless
graph = dataclasses.replace(graph, attributes=attributes, labels=None, kinds=None)

model = hs.CrossHCM(n_epochs=40, burn_in=20, seed=0).fit(graph)
taught, verdicts = model, {}
for _ in range(2):  # a person would answer; hopsight review asks in the browser
    for node in taught.queue(10):
        verdicts[node] = "anomalous" if wanted[graph.index_of(node)] else "normal"
    taught = model.learn(verdicts)
print(taught.learned_words)

for when, each in (("before", model), ("after", taught)):
    first = np.argsort(-each.decision_score_)[:20]
    print(f"{when}: {wanted[first].sum()} of the first 20 nodes are what we look for")

_, axes = plt.subplots(figsize=(6, 4), layout="constrained")
ordinary = ~wanted
ordinary[loud] = False
for label, chosen in (("ordinary", ordinary), ("loud, but harmless", loud), ("what we look for", wanted)):
    axes.scatter(model.decision_score_[chosen], taught.decision_score_[chosen], s=16, label=label)
axes.set(xlabel="score before the verdicts", ylabel="score after them")
axes.legend(frameon=False)
plt.show()
