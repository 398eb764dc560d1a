"""Principal axes of dense or sparse attributes, by scikit-learn; sparse ones are not made dense."""

from __future__ import annotations

from typing import Any

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray
from scipy.sparse.linalg import ArpackError

from hopsight.system.threads import blas_on_one_thread

FloatArray = NDArray[np.float64]

SMALL = 1 << 20  # values of a sparse matrix that is made dense


def principal_axes(
    attributes: Any, center: FloatArray, scale: FloatArray, n_components: int, *, rng: np.random.Generator
) -> FloatArray:
    """Return the ``(n_components, n_attributes)`` principal axes of ``(attributes − center) / scale``.

    Those of dense attributes are eigenvectors of the covariance matrix, or singular vectors if there are more columns
    than rows. ARPACK finds those of large sparse attributes from products with them. The largest entry of each axis is
    positive, and BLAS runs on one thread, so that the axes are the same for any number of threads. There are no more
    axes than rows or columns.
    """
    from sklearn.decomposition import PCA

    n_rows, n_columns = attributes.shape
    n_components = min(n_components, n_rows, n_columns)
    if sp.issparse(attributes) and n_rows * n_columns > SMALL and n_components < min(n_rows, n_columns):
        scaled: Any = sp.csr_array(attributes.astype(np.float64) @ sp.diags_array(1.0 / scale))
        solver = "arpack"
    else:
        scaled = ((attributes.toarray() if sp.issparse(attributes) else attributes) - center) / scale
        solver = "covariance_eigh" if n_columns <= n_rows else "full"
    model = PCA(n_components, svd_solver=solver, random_state=int(rng.integers(2**31)))
    try:
        with blas_on_one_thread(), np.errstate(invalid="ignore"):  # shares of no variance at all
            return np.asarray(model.fit(scaled).components_, dtype=np.float64)
    except ArpackError:  # no start vector, since all rows are equal
        return np.eye(n_components, n_columns)
