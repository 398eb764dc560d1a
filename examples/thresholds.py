"""Choose a threshold.

By default, nodes are flagged so that about a tenth of them are expected to be false alarms. The picture checks the
p-values behind that estimate: those of normal nodes should follow the dashed line.
"""

import matplotlib.pyplot as plt

import hopsight as hs

graph = hs.make_textbook("outlier", n=400, seed=0)
for change in ({"false_alarms": 0.1}, {"false_alarms": 0.01}, {"contamination": 0.05}):
    model = hs.LOF(**change).fit(graph)
    flagged = model.label_ == 1
    print(f"{change}: {flagged.sum()} flagged, {graph.labels[flagged].sum()} of 3 outliers among them")

hs.plot.calibration(model)
plt.show()
