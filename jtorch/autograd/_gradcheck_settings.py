"""The settings of gradcheck."""
from __future__ import annotations

from typing import NamedTuple


class Check(NamedTuple):
    """The settings of one check."""

    eps: float
    atol: float
    rtol: float
    nondet_tol: float
    check_undefined_grad: bool
    check_grad_dtypes: bool
    fast_mode: bool
