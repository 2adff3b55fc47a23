"""Bitwise and logical ops."""
from __future__ import annotations

import jax.numpy as jnp
from jax import lax

from jtorch.ops import check, out_dtypes
from jtorch.ops.elementwise import broadcast, kind, unsupported
from jtorch.ops.facts import InPlace, Out
from jtorch.ops.layout import ITERATED
from jtorch.ops.registry import Number, Tensor, op


@op(promote="numeric", operators=("__and__", "__rand__", "__iand__"), differentiable=False, looks_at_history=True)
def bitwise_and(input: Tensor | Number, other: Tensor | Number):
    """Return the bits set in both. See torch.bitwise_and."""
    unsupported("bitwise_and_cpu", input, "fc")
    return input & other


@op(promote="numeric", operators=("__or__", "__ror__", "__ior__"), differentiable=False, looks_at_history=True)
def bitwise_or(input: Tensor | Number, other: Tensor | Number):
    """Return the bits set in either. See torch.bitwise_or."""
    unsupported("bitwise_or_cpu", input, "fc")
    return input | other


@op(promote="numeric", operators=("__xor__", "__rxor__", "__ixor__"), differentiable=False, looks_at_history=True)
def bitwise_xor(input: Tensor | Number, other: Tensor | Number):
    """Return the bits set in one of the two. See torch.bitwise_xor."""
    unsupported("bitwise_xor_cpu", input, "fc")
    return input ^ other


@op(promote="numeric", differentiable=False, looks_at_history=True, out=Out(refuses=out_dtypes.FOUND))
def bitwise_not(input: Tensor):
    """Return each bit inverted. See torch.bitwise_not."""
    unsupported("bitwise_not_cpu", input, "fc")
    return ~input


@op(operators=("__invert__",), function=False, method=False, out=False, differentiable=False, layout=ITERATED)
def invert(input: Tensor):
    """Return the operator ``~``: each bit inverted."""
    if kind(input) in "fc":
        raise TypeError("~ (operator.invert) is only implemented on integer and Boolean-type tensors")
    return ~input


def _shift_limits(input, other) -> tuple:
    """Return the shift, with 0 in place of one that is negative or not below the type's width, and where it was such a one."""
    bits = input.dtype.itemsize * 8
    too_far = (other < 0) | (other >= bits)
    return jnp.where(too_far, jnp.zeros_like(other), other), too_far


@op(promote="numeric", operators=("__lshift__", "__rlshift__", "__ilshift__"), differentiable=False, looks_at_history=True)
def bitwise_left_shift(input: Tensor | Number, other: Tensor | Number):
    """Return bits moved up by ``other``, 0 beyond the width. See torch.bitwise_left_shift."""
    unsupported("lshift_cpu", input, "bfc")
    by, too_far = _shift_limits(input, other)
    return jnp.where(too_far, jnp.zeros_like(input), lax.shift_left(*broadcast(input, by)))


@op(promote="numeric", operators=("__rshift__", "__rrshift__", "__irshift__"), differentiable=False, looks_at_history=True)
def bitwise_right_shift(input: Tensor | Number, other: Tensor | Number):
    """Return bits moved down by ``other``, keeping the sign. See torch.bitwise_right_shift."""
    unsupported("rshift_cpu", input, "bfc")
    by, too_far = _shift_limits(input, other)
    signed = input.dtype.kind == "i"
    input, by = broadcast(input, by)
    shifted = (lax.shift_right_arithmetic if signed else lax.shift_right_logical)(input, by)
    beyond = jnp.where(input < 0, -jnp.ones_like(input), 0) if signed else jnp.zeros_like(input)
    return jnp.where(too_far, beyond, shifted)


def _truth(x):
    return x if x.dtype == bool else x != 0


@op(promote="bool", differentiable=False, inplace=InPlace(writes_leaves=True))
def logical_and(input: Tensor, other: Tensor):
    """Return whether both are true. See torch.logical_and."""
    return _truth(input) & _truth(other)


@op(promote="bool", differentiable=False, inplace=InPlace(writes_leaves=True))
def logical_or(input: Tensor, other: Tensor):
    """Return whether either is true. See torch.logical_or."""
    return _truth(input) | _truth(other)


@op(promote="bool", differentiable=False, inplace=InPlace(writes_leaves=True))
def logical_xor(input: Tensor, other: Tensor):
    """Return whether one of the two is true. See torch.logical_xor."""
    return _truth(input) ^ _truth(other)


@op(promote="bool", differentiable=False, inplace=InPlace(writes_leaves=True))
def logical_not(input: Tensor):
    """Return whether each element is false. See torch.logical_not."""
    return ~_truth(input)


@op(differentiable=False)
def hash_tensor(input: Tensor, dim: int | tuple[int, ...] = (), *, keepdim: bool = False, mode: int = 0):
    """Return the bits of all elements, as 64-bit numbers, combined by exclusive or. See torch.hash_tensor."""
    check.require(mode == 0, f"Unknown hash_tensor mode: {mode}")
    unsupported("xor_sum_cpu", input, "c")
    dims = check.wrap_dims(dim, input.ndim)
    wide = input.astype(jnp.float64 if jnp.issubdtype(input.dtype, jnp.floating) else jnp.int64)
    bits = lax.bitcast_convert_type(wide, jnp.uint64)
    made = lax.reduce(bits, jnp.uint64(0), lax.bitwise_xor, dims)
    return jnp.expand_dims(made, dims) if keepdim else made
