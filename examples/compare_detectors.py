"""Plant anomalies and compare detectors.

Cliques and copied attributes are planted in a generated graph. The ROC curves show how well each detector finds them;
no detector sees the labels.
"""

import matplotlib.pyplot as plt
from sklearn.metrics import RocCurveDisplay

import hopsight as hs
from hopsight.metrics import roc_auc

graph = hs.make_graph(600, seed=1)
planted = hs.inject(graph, n_cliques=2, clique_size=8, n_attribute=16, seed=1)

models = {"lof": hs.LOF().fit(planted), "hcm": hs.HCM(n_epochs=40, burn_in=20).fit(planted)}
for name, model in models.items():
    print(f"{name:4} ROC-AUC {roc_auc(planted.labels, model.decision_score_):.2f}")

axes = plt.subplots()[1]
for name, model in models.items():
    RocCurveDisplay.from_predictions(planted.labels, model.decision_score_, name=name, ax=axes)
plt.show()
