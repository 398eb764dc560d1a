"""The dense or sparse matrix whose rows an autoencoder reconstructs."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
import scipy.sparse as sp
import torch
from torch import Tensor

from hopsight.nn.gcn import Propagation, torch_csr

Block = Tensor | slice  # positions of rows, or consecutive rows


class Entries(NamedTuple):
    """The stored entries of some rows of a sparse matrix: position among these rows, column and value."""

    row: Tensor
    column: Tensor
    values: Tensor

    def between(self, start: int, stop: int) -> Entries:
        """Return the entries in columns start, …, stop − 1; columns are counted from start."""
        inside = (self.column >= start) & (self.column < stop)
        return Entries(self.row[inside], self.column[inside] - start, self.values[inside])


@dataclass(frozen=True)
class Target:
    """The matrix T to reconstruct, dense or sparse, on one device; create it with :meth:`of`."""

    dense: Tensor | None
    product: Propagation | None  # sparse T, and Tᵀ for the backward pass
    row_of: Tensor | None  # the row of every stored entry of a sparse T
    squares: Tensor  # ‖t_i‖² of every row, (n_rows,)
    shape: tuple[int, int]
    symmetric: bool  # checked for a sparse T only

    @classmethod
    def of(cls, matrix: Any, device: torch.device, dtype: torch.dtype = torch.float32) -> Target:
        """Put a NumPy or SciPy matrix on a device."""
        if not sp.issparse(matrix):
            dense = torch.from_numpy(np.array(matrix)).to(device, dtype)
            return cls(dense, None, None, dense.square().sum(1), tuple(matrix.shape), False)
        rows = sp.csr_array(matrix)
        if not rows.has_canonical_format:
            rows = rows.copy()
            rows.sum_duplicates()
        transposed = sp.csr_array(rows.T)
        symmetric = rows.shape[0] == rows.shape[1] and not (rows != transposed).nnz
        forward = torch_csr(rows, device, dtype)
        backward = forward if symmetric else torch_csr(transposed, device, dtype)
        row_of = torch.from_numpy(np.repeat(np.arange(rows.shape[0]), np.diff(rows.indptr))).to(device)
        squares = torch.from_numpy(np.asarray(rows.multiply(rows).sum(axis=1)).ravel())
        product = Propagation(forward, backward)
        return cls(None, product, row_of, squares.to(device, dtype), rows.shape, symmetric)

    def times(self, right: Tensor) -> Tensor:
        """Return T @ right, differentiable in ``right``."""
        if self.dense is not None:
            return self.dense @ right
        assert self.product is not None
        return self.product(right)

    def as_dense(self) -> Tensor:
        """Return T as a dense tensor."""
        if self.dense is not None:
            return self.dense
        assert self.product is not None
        return self.product.forward.to_dense()

    def subtract_from(self, block: Tensor, rows: Block) -> None:
        """Subtract the given rows of T in place. Shapes: block (n_block, n_columns), rows (n_block,)."""
        if self.dense is not None:
            block -= self.dense[rows]
            return
        found = self.entries(rows)
        block[found.row, found.column] -= found.values

    def entries(self, rows: Block) -> Entries:
        """Return the stored entries of the given rows of a sparse T."""
        assert self.product is not None and self.row_of is not None
        starts = self.product.forward.crow_indices()
        if isinstance(rows, slice):
            entry: Block = slice(int(starts[rows.start]), int(starts[rows.stop]))
            row = self.row_of[entry] - rows.start
        else:
            counts = starts[rows + 1] - starts[rows]
            row = torch.repeat_interleave(torch.arange(rows.numel(), device=rows.device), counts)
            before = torch.repeat_interleave(counts.cumsum(0) - counts, counts)
            entry = torch.arange(row.numel(), device=rows.device) - before + starts[rows][row]
        return Entries(row, self.product.forward.col_indices()[entry], self.product.forward.values()[entry])
