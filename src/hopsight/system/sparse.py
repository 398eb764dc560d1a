"""Sparse matrices on a device."""

from __future__ import annotations

import warnings
from typing import Any


def csr_tensor(start: Any, columns: Any, values: Any, size: tuple[int, ...]) -> Any:
    """Return a torch CSR tensor where ``values`` are, without warnings that it is in beta and that nobody checks it."""
    import torch

    with warnings.catch_warnings():
        warnings.filterwarnings("ignore", message="Sparse CSR tensor support is in beta|Sparse invariant checks are")
        return torch.sparse_csr_tensor(start, columns, values, size=size, device=values.device, check_invariants=False)
