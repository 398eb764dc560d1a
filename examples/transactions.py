"""Find odd accounts in transactions, without a node table.

hopsight derives attributes from the edges: how many payments an account sends and receives, their amounts, and
how its neighbors are connected. Account a7 sends many small payments to accounts all over the bank.
"""

import matplotlib.pyplot as plt
import numpy as np
import polars as pl

import hopsight as hs

rng = np.random.default_rng(0)
sender = rng.integers(0, 200, 900)
branch = sender // 50 * 50  # most payments stay within one of four branches
receiver = np.where(rng.random(900) < 0.9, branch + rng.integers(0, 50, 900), rng.integers(0, 200, 900))
amount = rng.lognormal(5.0, 0.5, 900).round(2)
smurf = rng.choice(200, 60, replace=False)
payments = pl.DataFrame(
    {
        "from": [f"a{i}" for i in [*sender, *np.full(60, 7)]],
        "to": [f"a{i}" for i in [*receiver, *smurf]],
        "amount": [*amount, *rng.uniform(9.0, 10.0, 60).round(2)],
    }
)

graph = hs.load(payments)
print(graph)
print("some derived attributes:", "; ".join(graph.attribute_names[2:6]))

model = hs.CrossHCM(n_epochs=40, burn_in=20, seed=0).fit(graph)
print(model.to_frame().select("node", "score", "degree", "decided_by").head(3))
hs.plot.scores(model)
plt.show()
