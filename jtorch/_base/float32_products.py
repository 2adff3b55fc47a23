"""How exact products of float32 may be on an accelerator: one setting of PyTorch with several names.

TF32 rounds the factors to 10 bits, for matrix units that are some eight times quicker. As in PyTorch, matrix products are exact
unless told otherwise and convolutions are not. A CPU multiplies float32 as it is.
"""
from __future__ import annotations

PRECISIONS = ("none", "ieee", "tf32", "bf16")
OF_MATMUL = {"highest": "ieee", "high": "tf32", "medium": "tf32"}

_chosen = {"generic": "none", "matmul": "none", "mkldnn": "none", "cudnn": "none", "conv": "tf32", "rnn": "tf32"}
_matmul = {"precision": "highest"}


def matmul_precision() -> str:
    """highest, high or medium, as it was chosen."""
    return _matmul["precision"]


def choose_matmul(precision: str) -> None:
    """Chooses one of ``OF_MATMUL``."""
    _matmul["precision"] = precision
    _chosen["matmul"] = OF_MATMUL[precision]


def get(what: str) -> str:
    """The precision chosen for a kind of op, or for all if it has none of its own."""
    own = _chosen[what]
    return _chosen["generic"] if own == "none" else own


def choose(what: str, precision: str) -> None:
    """Chooses one of ``PRECISIONS`` for a kind of op."""
    _chosen[what] = precision
    if what == "matmul":
        _matmul["precision"] = "high" if precision == "tf32" else "highest"


def are_quick(what: str) -> bool:
    """Whether products of this kind (matmul, conv) may use TF32."""
    return get(what) == "tf32"
