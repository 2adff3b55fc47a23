"""The precision of float32 products on an accelerator. PyTorch has several names for this setting.

TF32 rounds the factors to 10 bits of mantissa for faster matrix units. As in PyTorch, convolutions use TF32 by default and
matrix products do not. On a CPU products are always float32.
"""
from __future__ import annotations

PRECISIONS = ("none", "ieee", "tf32", "bf16")
OF_MATMUL = {"highest": "ieee", "high": "tf32", "medium": "tf32"}

_chosen = {"generic": "none", "matmul": "none", "mkldnn": "none", "cudnn": "none", "conv": "tf32", "rnn": "tf32"}
_matmul = {"precision": "highest"}


def matmul_precision() -> str:
    """Return the precision that was chosen: "highest", "high" or "medium"."""
    return _matmul["precision"]


def choose_matmul(precision: str) -> None:
    """Choose one of ``OF_MATMUL``."""
    _matmul["precision"] = precision
    _chosen["matmul"] = OF_MATMUL[precision]


def get(what: str) -> str:
    """Return the precision of a kind of op, or the generic precision if none was chosen for it."""
    own = _chosen[what]
    return _chosen["generic"] if own == "none" else own


def choose(what: str, precision: str) -> None:
    """Choose one of ``PRECISIONS`` for a kind of op."""
    _chosen[what] = precision
    if what == "matmul":
        _matmul["precision"] = "high" if precision == "tf32" else "highest"


def are_quick(what: str) -> bool:
    """Return whether products of this kind (matmul, conv) may use TF32."""
    return get(what) == "tf32"
