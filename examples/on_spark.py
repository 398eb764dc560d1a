"""Find anomalies on Spark.

On Spark, hopsight runs the same detection as DataFrame operations, for graphs that outgrow one machine. This example
runs Spark locally; on a cluster, use its session. The ranking is the same as that of the local engine, up to rounding.
"""

import matplotlib.pyplot as plt
import numpy as np
import pandas as pd

import hopsight as hs
import hopsight.spark

graph = hs.make_textbook("stranger", n=100, seed=0)
spark = hopsight.spark.open_session("local[1]")
nodes = pd.DataFrame(graph.attributes, columns=list(graph.attribute_names)).assign(id=graph.node_ids)
edges = pd.DataFrame(graph.edges.T, columns=["source", "target"])

settings = hs.CrossHCM(n_epochs=20, burn_in=10, n_folds=2, n_inner=2, seed=0)
found = hopsight.spark.detect(spark.createDataFrame(edges), spark.createDataFrame(nodes), settings)
scores = found.scores.toPandas().sort_values("rank")
print(scores[["node", "rank", "score", "degree", "decided_by"]].head(5).to_string(index=False))
spark.stop()

local = settings.fit(graph)
on_spark = scores.set_index("node")["score"].loc[graph.node_ids].to_numpy()
print(f"largest difference from the local engine: {np.abs(on_spark - local.decision_score_).max():.0e}")

_, axes = plt.subplots(figsize=(5, 4), layout="constrained")
axes.scatter(local.decision_score_, on_spark, s=14)
axes.set(xlabel="score on one machine", ylabel="score on Spark")
plt.show()
