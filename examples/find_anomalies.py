"""Find the anomalies of the demo graph and explain why the first one stands out."""

import hopsight as hs

graph = hs.make_demo()
model = hs.CrossHCM(n_epochs=40, burn_in=20, seed=0).fit(graph)  # fewer epochs than the default, for a first look

print(f"{graph!r}: {model.label_.sum()} nodes are flagged, the first five are")
table = model.to_frame()  # one row per node, most anomalous first
for node, score, kind in table.select("node", "score", "decided_by").head(5).iter_rows():
    print(f"  {node}: {score:.2f}, decided by {kind}")

for group in model.groups_[:3]:
    print(f"a {group.kind} of {len(group.members)}: {', '.join(graph.node_ids[group.members])}")

print()
print(hs.explain(model, table["node"][0]))
