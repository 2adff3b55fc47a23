"""The reductions of collectives, and their XLA counterparts. See torch.distributed.ReduceOp."""
from __future__ import annotations

from typing import Any

import numpy as np


class RedOpType:
    """One kind of reduction, which compares and hashes by name."""

    def __init__(self, name: str, body: str):
        self.name, self.body = name, body

    def __call__(self, *args: Any) -> Any:
        return self

    def __eq__(self, other: object) -> bool:
        return isinstance(other, RedOpType) and other.name == self.name

    def __hash__(self) -> int:
        return hash(self.name)

    def __repr__(self) -> str:
        return f"<RedOpType.{self.name}>"

    def __str__(self) -> str:
        return f"RedOpType.{self.name}"


class ReduceOp:
    """The reductions of collectives: ``ReduceOp.SUM``, ``AVG``, ``PRODUCT``, ``MIN``, ``MAX``, ``BAND``, ``BOR`` and ``BXOR``."""

    SUM, AVG, PRODUCT = RedOpType("SUM", "sum"), RedOpType("AVG", "sum"), RedOpType("PRODUCT", "product")
    MIN, MAX = RedOpType("MIN", "min"), RedOpType("MAX", "max")
    BAND, BOR, BXOR = RedOpType("BAND", "band"), RedOpType("BOR", "bor"), RedOpType("BXOR", "bxor")
    PREMUL_SUM = RedOpType("PREMUL_SUM", "sum")

    def __new__(cls, op: RedOpType) -> Any:
        """Return ``op`` itself."""
        return op


_OF_BOOLS = {"sum": "max", "product": "min", "band": "min", "bor": "max"}


setattr(ReduceOp, "RedOpType", RedOpType)      # noqa: B010  (PyTorch's name of the class within the class)


def body_of(op: RedOpType, array: Any) -> str:
    """Return the name of the kernel that reduces an array: by Gloo for a NumPy array, by NCCL for a JAX array.

    Raises:
        ValueError: a reduction that the backend lacks, or lacks for the array's dtype.

    """
    dtype = array.dtype
    if not isinstance(array, np.ndarray):
        return _body_with_nccl(op, dtype)
    if op.name == "AVG":
        raise ValueError("Cannot use ReduceOp.AVG with Gloo")
    if op.name == "PREMUL_SUM":
        raise ValueError("Cannot use ReduceOp.PREMUL_SUM with Gloo")
    if op.body in ("band", "bor", "bxor") and dtype.kind not in "iub":
        raise ValueError(f"Cannot use ReduceOp.{op.name} with non-integral dtype")
    return _OF_BOOLS.get(op.body, op.body) if dtype.kind == "b" else op.body


def _body_with_nccl(op: RedOpType, dtype: np.dtype) -> str:
    if op.body in ("band", "bor", "bxor"):
        raise ValueError(f"Cannot use ReduceOp.{op.name} with NCCL")
    if op.name == "PREMUL_SUM":
        raise NotImplementedError("ReduceOp.PREMUL_SUM is not built: multiply the tensor before the sum")
    if op.name == "AVG":
        if dtype.kind == "b":
            raise ValueError("Cannot use ReduceOp.AVG with Boolean inputs")
        return "mean"
    return _OF_BOOLS.get(op.body, op.body) if dtype.kind == "b" else op.body


def check_complex(op: Any, dtype: Any) -> None:
    """Raise ValueError if complex numbers are reduced by anything but a sum or a mean."""
    if dtype.is_complex and op.name not in ("SUM", "AVG", "PREMUL_SUM"):
        raise ValueError(f"all_reduce does not support {op} on complex tensors")
