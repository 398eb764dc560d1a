"""Find the anomalies of the demo graph and explain why the first one stands out."""

import hopsight as hs

graph = hs.make_demo()
model = hs.HCM(n_epochs=40, burn_in=20, seed=0).fit(graph)  # fewer epochs than the default, for a first look

order = model.decision_score_.argsort()[::-1]
print(f"{graph!r}: {model.label_.sum()} nodes are flagged, the first five are")
for node in order[:5]:
    print(f"  {graph.node_ids[node]}: {model.decision_score_[node]:.2f}")

print()
print(hs.explain(model, graph.node_ids[order[0]]))
