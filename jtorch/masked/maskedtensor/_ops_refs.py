"""The rules of masked tensors: those for functions, and those for operators."""
from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any

from jtorch._api import functions as torch
from jtorch._api.creation import tensor
from jtorch._base.layout import sparse_coo, sparse_csr, strided
from jtorch._library.namespaces import ops
from jtorch.dtype import named
from jtorch.masked import _ops
from jtorch.masked.maskedtensor.binary import NATIVE_BINARY_MAP, NATIVE_INPLACE_BINARY_MAP
from jtorch.masked.maskedtensor.core import MaskedTensor, data_of, is_masked_tensor, mask_of, masks_match
from jtorch.masked.maskedtensor.layouts import MaskedContiguous, MaskedToLayout, MaskedWhere, chosen, in_layout
from jtorch.masked.maskedtensor.passthrough import PASSTHROUGH
from jtorch.masked.maskedtensor.reductions import REDUCE_NAMES, reduction
from jtorch.masked.maskedtensor.unary import NATIVE_INPLACE_UNARY_MAP, NATIVE_UNARY_MAP
from jtorch.tensor import Tensor

aten = ops.aten
DISPATCH: dict[Any, Callable] = {**{getattr(aten, name): reduction(name) for name in REDUCE_NAMES}, **PASSTHROUGH,
                                 **NATIVE_UNARY_MAP, **NATIVE_INPLACE_UNARY_MAP, **NATIVE_BINARY_MAP, **NATIVE_INPLACE_BINARY_MAP}


# ---------------------------------------------------------------- functions

def _of_masked(function: Callable) -> Callable:
    """Return the rule of a function of torch.masked: the function of the data with the tensor's mask."""
    def run(input: Any, *args: Any, mask: Any = None, **kwargs: Any) -> Any:
        return function(input.get_data(), *args, mask=input.get_mask() if mask is None else mask, **kwargs)
    return run


def _where(*args: Any, **kwargs: Any) -> Any:
    _expect("__torch_function__, torch.where", args, kwargs, 3, 0)
    return MaskedWhere.apply(*args)


def _contiguous(input: MaskedTensor, *args: Any, **kwargs: Any) -> Any:
    _refuse_sparse(input, "contiguous")
    return MaskedContiguous.apply(input)


def _is_contiguous(input: MaskedTensor, *args: Any, **kwargs: Any) -> bool:
    _refuse_sparse(input, "is_contiguous")
    return input._masked_data.is_contiguous(*args, **kwargs)


def _to(layout: Any) -> Callable:
    return lambda input, *args, **kwargs: MaskedToLayout.apply(input, layout)


@functools.cache
def _functions() -> dict[Any, Callable]:
    """Return the rules of functions: the functions themselves are the keys."""
    rules: dict[Any, Callable] = {}
    for name in REDUCE_NAMES:
        for place in (torch, Tensor, aten):
            rules[getattr(place, name)] = reduction(name)
    by_name = {"where": _where, "contiguous": _contiguous, "is_contiguous": _is_contiguous, "to_dense": _to(strided),
             "to_sparse": _to(sparse_coo), "to_sparse_coo": _to(sparse_coo), "to_sparse_csr": _to(sparse_csr)}
    for name, rule in by_name.items():
        for place in (torch, Tensor):
            if hasattr(place, name):
                rules[getattr(place, name)] = rule
    for name in _ops._REDUCTIONS | _ops._NORMALIZATIONS:
        rules[_ops.function(name)] = _of_masked(_ops.function(name))
    return rules


def function_rule(func: Any) -> Callable | None:
    """Return the rule of a function, or None."""
    return _functions().get(func)


def _refuse_sparse(input: MaskedTensor, name: Any) -> None:
    if input.is_sparse:
        raise ValueError(f"MaskedTensors with sparse data do not have {name}")


def _expect(where: str, args: tuple, kwargs: dict, n_args: int, n_kwargs: int | None = None) -> None:
    """Raise ValueError for another number of arguments."""
    if len(args) != n_args:
        raise ValueError(f"{where}: len(args) must be {n_args} but got {len(args)}")
    if n_kwargs is not None and len(kwargs) != n_kwargs:
        raise ValueError(f"{where}: len(kwargs) must be {n_kwargs} but got {len(kwargs)}")


# ---------------------------------------------------------------- operators

def _rule(name: str, n_args: int | None = None, n_kwargs: int | None = None) -> Callable:
    """Return a decorator that registers the rule of an operator. The rule's first argument is the operator."""
    func = getattr(aten, name)

    def note(rule: Callable) -> Callable:
        def run(*args: Any, **kwargs: Any) -> Any:
            if n_args is not None:
                _expect(f"__torch_dispatch__, {func}", args, kwargs, n_args, n_kwargs)
            return rule(func, *args, **kwargs)
        DISPATCH[func] = run
        return rule
    return note


def _refuse(func: Any, problem: str, error: type[Exception] = ValueError) -> None:
    raise error(f"__torch_dispatch__, {func}: {problem}")


@_rule("new_empty_strided", 3)
def _new_empty_strided(func: Any, input: Any, size: Any, stride: Any, **kwargs: Any) -> MaskedTensor:
    data = data_of(input)
    if tuple(size) != tuple(data.size()):
        _refuse(func, "args[1] expected to be the same as data.size()")
    if tuple(stride) != tuple(data.stride()):
        _refuse(func, "args[2] expected to be the same as data.stride()")
    return MaskedTensor(func(data, size, stride, **kwargs), mask_of(input))


@_rule("_local_scalar_dense")
def _local_scalar_dense(func: Any, input: Any) -> Any:
    if not mask_of(input):
        _refuse(func, "expected a mask tensor")
    return func(data_of(input))


@_rule("detach")
@_rule("clone")
def _of_data(func: Any, input: Any, **kwargs: Any) -> MaskedTensor:
    return MaskedTensor(func(data_of(input)), mask_of(input))


@_rule("ones_like", 1)
def _ones_like(func: Any, input: Any, **kwargs: Any) -> MaskedTensor:
    return MaskedTensor(func(data_of(input), **kwargs), mask_of(input))


@_rule("_to_copy")
def _to_copy(func: Any, input: Any, *args: Any, **kwargs: Any) -> MaskedTensor:
    mask = func(mask_of(input), *args, **{**kwargs, "dtype": named("bool")})
    return MaskedTensor(func(data_of(input), *args, **kwargs), mask)


@_rule("_softmax", 3, 0)
def _softmax(func: Any, input: Any, dim: int, half_to_float: bool) -> MaskedTensor:
    data, mask = data_of(input), mask_of(input)
    return MaskedTensor(_ops.function("softmax")(data, dim, mask=mask).masked_fill(~mask, 0), mask)


@_rule("_softmax_backward_data", 4)
def _softmax_backward_data(func: Any, grad: Any, output: Any, dim: int, input_dtype: Any) -> MaskedTensor:
    if not (is_masked_tensor(grad) and is_masked_tensor(output)):
        _refuse(func, "grad and output must both be MaskedTensors")
    if not masks_match(grad, output):
        _refuse(func, "expected the masks of grad and output to match")
    g, y, mask = data_of(grad), data_of(output), mask_of(grad)
    weighted = (g * y).masked_fill(~mask, 0)
    return MaskedTensor((weighted - y * weighted.sum(dim, keepdim=True)).masked_fill(~mask, 0), mask)


@_rule("copy_", 2)
def _copy_(func: Any, target: Any, source: Any) -> Any:
    if not masks_match(target, source):
        raise ValueError("args[0] mask and args[1] mask must match but do not")
    func(data_of(target), data_of(source))
    return target


@_rule("where", 3, 0)
def _where_operator(func: Any, cond: Any, input: Any, other: Any) -> MaskedTensor:
    if not isinstance(cond, Tensor):
        _refuse(func, "expected args[0] to be a tensor")
    return chosen(cond, input, other)


def _conversion(name: str, layout: Any) -> None:
    @_rule(name)
    def convert(func: Any, input: Any, *args: Any, **kwargs: Any) -> MaskedTensor:
        return in_layout(input, layout)


for _name, _layout in (("_to_sparse", sparse_coo), ("_to_sparse_csr", sparse_csr), ("_to_dense", strided)):
    _conversion(_name, _layout)


@_rule("_indices", 1, 0)
def _indices(func: Any, input: Any) -> MaskedTensor:
    found = data_of(input).indices()
    return MaskedTensor(found, torch.ones_like(found, dtype=named("bool")))


@_rule("_values", 1, 0)
def _values(func: Any, input: Any) -> MaskedTensor:
    found = data_of(input).values()
    return MaskedTensor(found, torch.ones_like(found, dtype=named("bool")))


@_rule("is_same_size", 2)
def _is_same_size(func: Any, input: Any, other: Any) -> bool:
    return data_of(input).is_same_size(data_of(other))


@_rule("_is_any_true", 1, 0)
def _is_any_true(func: Any, input: Any) -> MaskedTensor:
    data, mask = data_of(input), mask_of(input)
    if mask is None:
        _refuse(func, "expected args[0] to be a MaskedTensor")
    if data.dtype is not named("bool"):
        _refuse(func, "expected a boolean tensor")
    _refuse_sparse(input, func)
    return MaskedTensor(func(data & mask), tensor(True))
