"""The behaviour of functions for sparse tensors: a table of rules by function names, and PyTorch's error for others."""
from __future__ import annotations

from collections.abc import Callable
from typing import Any

from jtorch._api import torch_function as protocol
from jtorch._base.layout import IN_WORDS
from jtorch.dispatch.writes import require_cast
from jtorch.dtype import can_cast
from jtorch.sparse.tensor import SparseTensor

RULES: dict[str, Callable] = {}

# Maps function names to the overloads that PyTorch's error names.
_ATEN = {"gt": "gt.Scalar", "lt": "lt.Scalar", "ge": "ge.Scalar", "le": "le.Scalar", "eq": "eq.Tensor", "ne": "ne.Tensor",
         "sort": "sort.stable", "softmax": "_softmax", "log_softmax": "_log_softmax", "mean": "mean.dim",
         "ones_like": "fill_.Scalar", "narrow": "as_strided", "diagonal": "as_strided", "slice": "as_strided"}


def rule(*names: str) -> Callable:
    """Return a decorator that registers the rule of functions and methods of these names for sparse tensors."""
    def declare(function: Callable) -> Callable:
        for name in names:
            RULES[name] = function
        return function
    return declare


def dispatch(func: Any, args: tuple, kwargs: dict) -> Any:
    """Run a function of sparse tensors: its rule, a method of the class, or the function itself if it needs no rule."""
    # An operator of torch.ops.aten has a record. The record calls a function of torch, which is dispatched to its rule.
    record = getattr(func, "_record", None)
    if record is not None:
        return record(*args, **kwargs)
    name = getattr(func, "__name__", "").rsplit(".", 1)[-1]
    out = kwargs.get("out")
    if out is not None:
        if name not in _WITH_OUT:
            raise not_there(f"{name}.out", (*args, out))
        return written(dispatch(func, args, {k: v for k, v in kwargs.items() if k != "out"}), out, name, args)
    found = RULES.get(name)
    if found is None and args and _is_own_method(args[0], name):
        return getattr(args[0], name)(*args[1:], **kwargs)
    if found is None and name in _WITHOUT_RULE:
        with protocol.switched_off(layouts=True):
            return func(*args, **kwargs)
    if found is None:
        raise not_there(name, (*args, *kwargs.values()))
    return found(*args, **kwargs)


# Functions that accept ``out=`` for sparse arguments, as in PyTorch.
_WITH_OUT = frozenset("add sub mul div mm addmm matmul sspaddmm".split()) | frozenset(
    "abs sqrt sin sinh asin asinh tan tanh atan atanh log1p expm1 floor ceil round trunc sign sgn erf erfinv neg deg2rad rad2deg "
    "relu".split())


def written(made: Any, out: Any, name: str, args: tuple) -> Any:
    """Write a result to ``out``, which must have the same layout, and return ``out``."""
    if isinstance(out, SparseTensor) is not isinstance(made, SparseTensor) or out.layout is not made.layout:
        raise not_there(f"{name}.out", args)
    made = cast_for(made, out, name)
    if isinstance(out, SparseTensor):
        return out.become(made)
    with protocol.switched_on():
        return (out if out.shape == made.shape else out.resize_(made.shape)).copy_(made)


def cast_for(made: Any, out: Any, name: str) -> Any:
    """Return a result with the dtype of the tensor that it is written to. Raise RuntimeError if PyTorch does not cast it."""
    if made.dtype is out.dtype:
        return made
    if name in _ARITHMETIC and not can_cast(made.dtype, out.dtype):
        raise RuntimeError(f"Can't convert result type {made.dtype.scalar_name} to output {out.dtype.scalar_name} in "
                           f"{_ARITHMETIC[name]} operation")
    require_cast(made.dtype, out.dtype)
    return made.to(out.dtype)


_ARITHMETIC = {"add": "add", "sub": "add", "mul": "mul"}


def _is_own_method(t: Any, name: str) -> bool:
    """Return whether sparse/tensor.py defines this method for the class of a sparse tensor."""
    return any([getattr(vars(c).get(name), "__module__", None) == SparseTensor.rebuilt.__module__ for c in type(t).__mro__])


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


# These functions need no elements, or consist of functions that have rules.
_WITHOUT_RULE = frozenset(
    "__get__ __set__ __delete__ size dim ndimension numel nelement element_size is_floating_point is_complex is_signed "
    "is_inference "
    "get_device __hash__ type_as is_same_size result_type is_tensor size is_nonzero backward register_post_accumulate_grad_hook "
    "is_conj is_neg as_tensor asarray".split())
