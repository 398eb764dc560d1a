"""Find suspects in a small bank.

The demo graph is a made-up bank with 2,400 accounts, 60 of which take part in fraud. The bars show how
strong each kind of evidence is for the accounts that rank highest.
"""

import matplotlib.pyplot as plt

import hopsight as hs

graph = hs.make_demo()
model = hs.CrossHCM(n_epochs=40, burn_in=20, contamination=0.02, seed=0).fit(graph)  # few epochs, for a first look

print(f"{graph!r}: {model.label_.sum()} nodes are flagged, the first five are")
table = model.to_frame()  # one row per node, most anomalous first
for node, score, kind in table.select("node", "score", "decided_by").head(5).iter_rows():
    print(f"  {node}: {score:.2f}, decided by {kind}")

hs.plot.evidence(model)
plt.show()
