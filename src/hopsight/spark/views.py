"""What the model sees of a node beside its own attributes: ÂX, for every fold, on the links that the fold shows."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray

from hopsight.spark.blocks import SENT, Layout, added, on_cells, pieces, send
from hopsight.spark.folds import Splits
from hopsight.spark.network import LINK_TYPES

if TYPE_CHECKING:
    from pyspark.sql import DataFrame

Array = NDArray[Any]

TYPES: dict[str, Any] = {"x": np.float32, "degree": np.int32, **LINK_TYPES}


def neighbourhoods(blocks: DataFrame, cells: DataFrame, layout: Layout, splits: Splits) -> DataFrame:
    """Return ÂX of every fold, kind ``ax``, from blocks ``x`` and ``degree``: join with links, group by node."""

    def multiply(
        layout: Layout, fold: int, cell: int, blocks: dict[str, Array], links: dict[str, Array]
    ) -> Iterator[dict[str, Any]]:
        i, j = layout.pairs[cell]
        seen = splits.visible(links["hash"], fold)
        u, v = links["u"][seen], links["v"][seen]
        operator = sp.csr_array((np.ones(u.size, dtype=np.float32), (u, v)), shape=(layout.sizes[i], layout.sizes[j]))
        roots = [_inverse_roots(blocks[f"degree{side}"], fold) for side in (0, 1)]
        scaled = [blocks[f"x{side}"] * roots[side] for side in (0, 1)]
        into_second = operator.T @ scaled[0]
        if i == j:
            into_second += operator @ scaled[0] + scaled[0]
        else:
            into_first = (operator @ scaled[1]) * roots[0]
            yield from ({**row, "cell": cell} for row in pieces(fold, i, "ax", into_first))
        yield from ({**row, "cell": cell} for row in pieces(fold, j, "ax", into_second * roots[1]))

    sent = send(blocks, layout, splits.folds)
    return added(on_cells(sent, cells, layout, splits.folds, multiply, TYPES, SENT), layout, np.float32)


def _inverse_roots(degrees: Array, fold: int) -> Array:
    """Return D̃^{-1/2} of a fold as a column; the first column of the degrees is the whole network's."""
    return (1.0 / np.sqrt(degrees[:, fold + 1] + 1.0)).astype(np.float32)[:, None]
