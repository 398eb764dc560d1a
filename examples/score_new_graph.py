"""Score a new graph with a saved model.

Fit on one month, save the model, and score the next month with the same threshold. In the next month, six nodes have
the attributes of another node.
"""

import tempfile
from pathlib import Path

import matplotlib.pyplot as plt

import hopsight as hs

january = hs.make_graph(300, n_structural=0, n_attribute_anomalies=0, n_attributes=12, seed=0)
february = hs.inject(january, n_cliques=0, n_attribute=6, seed=0)

with tempfile.TemporaryDirectory() as folder:
    hs.CrossHCM(n_epochs=40, burn_in=20, contamination=0.02, seed=0).fit(january).save(Path(folder) / "model")
    model = hs.load_detector(Path(folder) / "model")

judged = model.judge(february)  # scores of the new graph, threshold of the fit
print(f"{judged.label_.sum()} of {february.n_nodes} nodes flagged")
print(f"{february.labels[judged.label_ == 1].sum()} of them planted")

hs.plot.scores(judged)
plt.show()
