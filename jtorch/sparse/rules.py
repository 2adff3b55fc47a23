"""The behaviour of functions for sparse tensors: a table of rules by function names, and PyTorch's error for others."""
from __future__ import annotations

from collections.abc import Callable
from typing import Any

from jtorch._api import torch_function as protocol
from jtorch._base.layout import IN_WORDS
from jtorch.sparse.tensor import SparseTensor

RULES: dict[str, Callable] = {}

# Maps function names to the overloads that PyTorch's error names.
_ATEN = {"gt": "gt.Scalar", "lt": "lt.Scalar", "ge": "ge.Scalar", "le": "le.Scalar", "eq": "eq.Tensor", "ne": "ne.Tensor",
         "sort": "sort.stable", "softmax": "_softmax", "log_softmax": "_log_softmax", "mean": "mean.dim",
         "ones_like": "fill_.Scalar", "narrow": "as_strided", "diagonal": "as_strided", "slice": "as_strided"}


def rule(*names: str) -> Callable:
    """Register the rule of functions and methods of these names for sparse tensors."""
    def declare(function: Callable) -> Callable:
        for name in names:
            RULES[name] = function
        return function
    return declare


def dispatch(func: Any, args: tuple, kwargs: dict) -> Any:
    """Run the rule of a function."""
    record = getattr(func, "_record", None)     # The record's call of torch.ops.aten dispatches here again.
    if record is not None:
        return record(*args, **kwargs)
    name = getattr(func, "__name__", "").rsplit(".", 1)[-1]
    found = RULES.get(name)
    if found is None and name in _WITHOUT_RULE:
        with protocol.switched_off():
            return func(*args, **kwargs)
    if found is None:
        raise not_there(name, (*args, *kwargs.values()))
    return found(*args, **kwargs)


def not_there(name: str, args: tuple) -> NotImplementedError:
    """Return PyTorch's error for an operator without a rule."""
    sparse = next((a for a in protocol.relevant(args) if isinstance(a, SparseTensor)), None)
    backend = sparse.backend if sparse is not None else "SparseCPU"
    plain = name.strip("_") if name.startswith("__") else name
    return NotImplementedError(
        f"Could not run 'aten::{_ATEN.get(plain, plain)}' with arguments from the '{backend}' backend. This could be because the "
        "operator doesn't exist for this backend, or was omitted during the selective/custom build process (if using "
        "custom build). "
        "Convert the tensor with to_dense() first.")


def expected(t: SparseTensor, name: str, wanted: str = "sparse coordinate tensor") -> RuntimeError:
    """Return PyTorch's error for a method of another layout."""
    return RuntimeError(f"{name} expected {wanted} layout but got {IN_WORDS[t.layout]}")


# These need no elements, or consist of functions that have rules.
_WITHOUT_RULE = frozenset(
    "__get__ __set__ __delete__ size dim ndimension numel nelement element_size is_floating_point is_complex is_signed "
    "is_inference "
    "get_device __hash__ type_as is_same_size result_type is_tensor size is_nonzero backward register_post_accumulate_grad_hook "
    "is_conj is_neg".split())
