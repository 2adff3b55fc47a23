"""How exact PyTorch's float32 products may be: one setting with several names.

It is remembered and answered as in PyTorch, but makes no difference: products of float32 are computed in float32.
"""
from __future__ import annotations

from jtorch._base import warned

PRECISIONS = ("none", "ieee", "tf32", "bf16")
_MATMUL = {"highest": "ieee", "high": "tf32", "medium": "bf16"}
_chosen = {"generic": "none", "matmul": "none", "mkldnn": "none", "cudnn": "none", "conv": "tf32", "rnn": "tf32"}
_matmul = {"precision": "highest"}


def get_float32_matmul_precision() -> str:
    """How exact matrix products of float32 may be. See torch.get_float32_matmul_precision."""
    return _matmul["precision"]


def set_float32_matmul_precision(precision: str) -> None:
    """Choose how exact products of float32 may be: highest, high or medium. See torch.set_float32_matmul_precision."""
    if precision not in _MATMUL:
        warned.warn(f"{precision} is not one of 'highest', 'high', or 'medium'; the current"
                    "setFloat32MatmulPrecision call has no effect.")
        return
    _matmul["precision"] = precision
    _chosen["matmul"] = "ieee" if precision == "highest" else "tf32"


def get(what: str) -> str:
    """The precision chosen for a kind of op, or for all if it has none of its own."""
    own = _chosen[what]
    return _chosen["generic"] if own == "none" else own


def choose(what: str, precision: str) -> None:
    """Choose the precision for a kind of op."""
    if precision not in PRECISIONS:
        raise RuntimeError(f"Unknown precision: {precision}")
    _chosen[what] = precision
    if what == "matmul":
        _matmul["precision"] = "high" if precision == "tf32" else "highest"
