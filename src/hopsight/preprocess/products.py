"""Products with a centered and scaled matrix that is never formed: on the CPU in blocks of rows, or on a GPU."""

from __future__ import annotations

from typing import Any

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray

from hopsight.system.sparse import csr_tensor
from hopsight.system.threads import in_order

FloatArray = NDArray[np.float64]

BLOCK_VALUES = 1 << 21  # numbers in a block of rows
LEAST_BLOCKS = 8  # so that several threads have work,
NARROW = 512  # unless there are so few columns that it does not matter


class CenteredMatrix:
    """M = (X − 1μᵀ)D⁻¹ on the CPU, for a dense or sparse X.

    Rows are worked on in blocks that depend on the shape of X alone, each on one thread, and sums over blocks are added
    up in their order.
    """

    linalg = np.linalg

    def __init__(self, values: Any, center: FloatArray, scale: FloatArray) -> None:
        self.values = sp.csr_array(values).astype(np.float64, copy=False) if sp.issparse(values) else values
        self.center, self.scale = center, scale
        self.shape = values.shape
        width = values.nnz / values.shape[0] if sp.issparse(values) else values.shape[1]
        step = int(max(64.0, BLOCK_VALUES / max(width, 1.0)))
        if values.shape[1] > NARROW:
            step = max(64, min(step, -(-values.shape[0] // LEAST_BLOCKS)))
        self.blocks = [slice(start, start + step) for start in range(0, values.shape[0], step)]
        self.parts = [self.values[rows] for rows in self.blocks]

    @staticmethod
    def array(values: FloatArray) -> FloatArray:
        """Return the values as the products return them."""
        return values

    def forward(self, vectors: FloatArray) -> FloatArray:
        """Return M times the columns of a matrix."""
        scaled = vectors / self.scale[:, None]
        shift = self.center @ scaled
        return np.concatenate(list(in_order(lambda part: np.asarray(part @ scaled) - shift, self.parts)))

    def backward(self, vectors: FloatArray) -> FloatArray:
        """Return Mᵀ times the columns of a matrix."""
        total = np.zeros((self.shape[1], vectors.shape[1]))
        for part in in_order(lambda rows, part: np.asarray(part.T @ vectors[rows]), self.blocks, self.parts):
            total += part
        total -= np.outer(self.center, vectors.sum(axis=0))
        return total / self.scale[:, None]

    def squared(self, vectors: FloatArray) -> FloatArray:
        """Return MᵀM or MMᵀ, whichever is smaller, times the columns of a matrix."""
        if self.shape[1] < self.shape[0]:
            return self.backward(self.forward(vectors))
        return self.forward(self.backward(vectors))

    def column_products(self) -> FloatArray:
        """Return MᵀM."""
        total = np.zeros((self.shape[1], self.shape[1]))
        if sp.issparse(self.values):
            for part in in_order(lambda part: part.T @ part, self.parts):
                total += part.toarray()
            total -= self.shape[0] * np.outer(self.center, self.center)
            return total / np.outer(self.scale, self.scale)

        def product(part: FloatArray) -> FloatArray:
            centered = (part - self.center) / self.scale
            return centered.T @ centered

        for part in in_order(product, self.parts):
            total += part
        return total

    def row_products(self) -> FloatArray:
        """Return MMᵀ."""
        dense = self.values.toarray() if sp.issparse(self.values) else self.values
        centered = (dense - self.center) / self.scale
        return np.concatenate(list(in_order(lambda rows: centered[rows] @ centered.T, self.blocks)))


class DeviceMatrix:
    """The same on a GPU, as torch tensors in double precision."""

    def __init__(self, values: Any, center: FloatArray, scale: FloatArray, device: Any) -> None:
        import torch

        self.linalg, self.device = torch.linalg, torch.device(device)
        self.center, self.scale = self.array(center)[:, None], self.array(scale)[:, None]
        self.shape = values.shape
        self.sparse = sp.issparse(values)
        if self.sparse:
            values = sp.csr_array(values)
            self.values = self._sparse(values)
            self.turned = self._sparse(sp.csr_array(values.T))
        else:
            self.values = (self.array(np.asarray(values, dtype=np.float64)) - self.center.T) / self.scale.T
            self.turned = self.values.T

    def array(self, values: FloatArray) -> Any:
        """Return the values as a tensor on the device."""
        import torch

        return torch.tensor(values, device=self.device)  # a copy: torch warns about sharing read-only memory

    def _sparse(self, values: Any) -> Any:
        import torch

        parts = (values.indptr.astype(np.int64), values.indices.astype(np.int64), values.data.astype(np.float64))
        start, columns, data = (torch.from_numpy(part) for part in parts)
        return csr_tensor(start, columns, data.to(self.device), values.shape)

    def forward(self, vectors: Any) -> Any:
        """Return M times the columns of a matrix."""
        if not self.sparse:
            return self.values @ vectors
        scaled = vectors / self.scale
        return self.values @ scaled - self.center.T @ scaled

    def backward(self, vectors: Any) -> Any:
        """Return Mᵀ times the columns of a matrix."""
        if not self.sparse:
            return self.turned @ vectors
        return (self.turned @ vectors - self.center * vectors.sum(dim=0)) / self.scale

    def squared(self, vectors: Any) -> Any:
        """Return MᵀM or MMᵀ, whichever is smaller, times the columns of a matrix."""
        if self.shape[1] < self.shape[0]:
            return self.backward(self.forward(vectors))
        return self.forward(self.backward(vectors))

    def column_products(self) -> Any:
        """Return MᵀM."""
        centered = self._centered()
        return centered.T @ centered

    def row_products(self) -> Any:
        """Return MMᵀ."""
        centered = self._centered()
        return centered @ centered.T

    def _centered(self) -> Any:
        return (self.values.to_dense() - self.center.T) / self.scale.T if self.sparse else self.values
