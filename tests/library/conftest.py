"""``same``: run one body with both libraries, and compare the results."""
from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from libraries import library


def plain(x: Any) -> Any:
    """Return ``x`` with arrays in place of tensors."""
    if type(x).__name__ == "Tensor":
        return x.detach().numpy()
    return [plain(v) for v in x] if isinstance(x, (list, tuple)) else x


@pytest.fixture
def same(torch):
    """Run a body with PyTorch and with jtorch, and compare the results."""
    def run(body):
        np.testing.assert_equal(_rounded(plain(body(library("jtorch")))), _rounded(plain(body(torch))))
    return run


def _rounded(x: Any) -> Any:
    if isinstance(x, np.ndarray) and x.dtype.kind == "f":
        return np.round(x, 5)
    return [_rounded(v) for v in x] if isinstance(x, list) else x
