"""Choose a threshold.

By default, a test of p-values flags the nodes that stand out from the bulk; a lower level flags fewer. The picture
shows the distribution of the scores and the last threshold.
"""

import matplotlib.pyplot as plt

import hopsight as hs

graph = hs.make_textbook("outlier", n=400, seed=0)
for change in ({"false_alarms": 0.1}, {"false_alarms": 0.01}, {"contamination": 0.05}):
    model = hs.LOF(**change).fit(graph)
    flagged = model.label_ == 1
    print(f"{change}: {flagged.sum()} flagged, {graph.labels[flagged].sum()} of 3 outliers among them")

hs.plot.scores(model)
plt.show()
