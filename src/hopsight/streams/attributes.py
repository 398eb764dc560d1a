"""Attributes of nodes over time: a few numbers per node, by which a pair is judged beside what it did before."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from hopsight.io.frames import open_table
from hopsight.io.sources import reading
from hopsight.io.tables import find_id, read_tables
from hopsight.preprocess import AttributeTransform
from hopsight.streams.memory import N_ATTRIBUTES
from hopsight.system.lazy_polars import pl


class NodeAttributes:
    """Attributes of a node table as ``detect`` reads them: standardized, on at most eight principal axes.

    An id without a row has NaN.
    """

    def __init__(self, path: Any, category: tuple[str, ...] = ()) -> None:
        with reading(path):
            table = open_table(path)
            two = table.head([find_id(table.names, None)]).to_series().head(2)
        if len(two) < 2:
            raise ValueError(f"{path}: a node table needs two rows at least")
        pair = pl.DataFrame({"source": two[:1], "target": two[1:2]})
        used = tuple(name for name in category if name in table.names)
        graph = read_tables(pair, path, derive="none", category=used, notices=[])
        _, values = AttributeTransform.fit_apply(
            graph.attributes, graph.attribute_names, scaling="standard", n_components=N_ATTRIBUTES,
            rng=np.random.default_rng(0),
        )  # fmt: skip
        values = np.asarray(values.todense() if hasattr(values, "todense") else values, dtype=np.float32)
        # The last row is that of ids without one; columns beyond those of the table are zero.
        self.values = np.zeros((len(values) + 1, N_ATTRIBUTES), np.float32)
        self.values[:-1, : values.shape[1]] = values
        self.values[-1] = np.nan
        self.rows = pl.DataFrame({"id": [str(each) for each in graph.node_ids], "row": np.arange(len(values))})

    def of(self, events: pl.DataFrame) -> NDArray[np.float32]:
        """Return (events, 2, axes): the attributes of sources and targets."""
        ends = []
        for name in ("source", "target"):
            found = events.select(pl.col(name).cast(pl.String).alias("id")).join(
                self.rows, on="id", how="left", maintain_order="left"
            )["row"]
            ends.append(self.values[found.fill_null(-1).to_numpy()])
        return np.stack(ends, axis=1)
