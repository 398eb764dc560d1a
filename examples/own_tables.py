"""Read your own tables.

Write an edge list and a node table, load them, fit a detector, save it, and use the saved model. Person p3 lives in
Delft and also has three friends in Lyon.
"""

import tempfile
from pathlib import Path

import matplotlib.pyplot as plt

import hopsight as hs

PEOPLE = "person,age,city\n" + "\n".join(f"p{i},{20 + i % 40},{'Delft' if i < 30 else 'Lyon'}" for i in range(60))
FRIENDS = "from,to\n" + "\n".join(
    f"p{start + i},p{start + (i + step) % 30}" for start in (0, 30) for step in (1, 2, 5) for i in range(30)
)

with tempfile.TemporaryDirectory() as name:
    folder = Path(name)
    (folder / "people.csv").write_text(PEOPLE)
    (folder / "friends.csv").write_text(FRIENDS + "\np3,p40\np3,p50\np3,p55\n")
    graph = hs.load(folder / "friends.csv", nodes=folder / "people.csv")
    print(graph, list(graph.attribute_names))

    model = hs.HCM(n_epochs=60, burn_in=30, seed=0).fit(graph)
    print("stands out:", graph.node_ids[model.decision_score_.argmax()])

    model.save(folder / "model")
    again = hs.load_detector(folder / "model")
    print("a saved model gives the same labels:", (again.predict(graph) == model.label_).mean())

hs.plot.neighborhood(model, "p3")
plt.show()
