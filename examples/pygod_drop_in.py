"""Replace a PyGOD detector.

Detectors accept a PyG ``Data`` and return what PyGOD's return. The only change is ``from hopsight import DOMINANT``
instead of ``from pygod.detector import DOMINANT``.
"""

import matplotlib.pyplot as plt
import numpy as np
import torch
from torch_geometric.data import Data

import hopsight as hs
from hopsight import DOMINANT

graph = hs.make_textbook("outlier", n=300, seed=0)
edges = np.concatenate([graph.edges, graph.edges[::-1]], axis=1)
data = Data(x=torch.tensor(graph.attributes, dtype=torch.float32), edge_index=torch.from_numpy(edges))

detector = DOMINANT(contamination=0.02, seed=0)
detector.fit(data)
labels, chances = detector.predict(return_prob=True)
print(f"{labels.sum()} nodes flagged, the highest probability is {chances.max():.2f}")
print(f"{graph.labels[labels == 1].sum()} of the {graph.labels.sum()} outliers are among them")

hs.plot.scores(detector)
plt.show()
