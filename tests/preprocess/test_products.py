"""Products with a centered and scaled matrix are those of the matrix itself."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
import scipy.sparse as sp

from hopsight.preprocess.products import CenteredMatrix, DeviceMatrix
from hopsight.preprocess.scale import column_moments


@pytest.mark.parametrize("kind", ["dense", "sparse"])
def test_products_on_a_device_are_those_on_the_cpu(kind: str, rng: np.random.Generator) -> None:
    X = rng.normal(size=(40, 30)) * (rng.random((40, 30)) < 0.5)
    center, scale = column_moments(X)
    given: Any = sp.csr_array(X) if kind == "sparse" else X
    here, there = CenteredMatrix(given, center, scale), DeviceMatrix(given, center, scale, "cpu")
    M, left, right = (X - center) / scale, rng.normal(size=(40, 3)), rng.normal(size=(30, 3))
    wanted = [M @ right, M.T @ left, M.T @ M, M @ M.T, M.T @ (M @ right)]
    for matrix in (here, there):
        found = [matrix.forward(matrix.array(right)), matrix.backward(matrix.array(left)), matrix.column_products(),
                 matrix.row_products(), matrix.squared(matrix.array(right))]  # fmt: skip
        for ours, theirs in zip(found, wanted, strict=True):
            np.testing.assert_allclose(np.asarray(ours), theirs, atol=1e-10)
