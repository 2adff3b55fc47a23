"""Linear functions. See https://docs.pytorch.org/docs/stable/nn.functional.html#linear-functions."""
from __future__ import annotations

import jax
import jax.numpy as jnp
import numpy as np
from jax import lax

import jtorch.dtype as dtypes
from jtorch._base import float32_products
from jtorch._base.accelerated import is_accelerated, is_spread
from jtorch._base.error_notes import INNER_SIZES, with_note
from jtorch.ops import arrival, check, promotion
from jtorch.ops.facts import Saves
from jtorch.ops.nn._common import functional
from jtorch.ops.registry import Tensor

MANY = 1024         # Features. A weight with fewer features is not padded, because the added rows would cost too much.
ALIGNED = 4         # Number of float32 in 16 bytes, the size of a GPU's load.


def _check_dtypes(input: jax.Array, weight: jax.Array, bias: jax.Array | None) -> None:
    if input.dtype == weight.dtype and (bias is None or bias.dtype == input.dtype):
        return
    name = check.scalar_name
    if input.dtype != weight.dtype:
        if bias is None and input.ndim <= 2:
            a, b = (_cpp_name(x.dtype) for x in (input, weight))
            raise RuntimeError(f"expected m1 and m2 to have the same dtype, but got: {a} != {b}")
        raise with_note(RuntimeError(f"mat1 and mat2 must have the same dtype, but got {name(input.dtype)} and "
                                     f"{name(weight.dtype)}"),
                        "Bring the input to the weight's: x.to(weight.dtype). NumPy's arrays are float64 unless told otherwise.")
    assert bias is not None
    raise RuntimeError(f"self and mat2 must have the same dtype, but got {name(bias.dtype)} and {name(weight.dtype)}")


def _cpp_name(d) -> str:
    """Return the C++ name of a dtype, such as ``long long``, for the error of ``_check_dtypes``."""
    return {"int64": "long long", "int32": "int", "int16": "short", "int8": "signed char", "uint8": "unsigned char",
            "float32": "float", "float64": "double"}.get(dtypes.of_numpy(d).name, f"c10::{check.scalar_name(d)}")


def _check_linear(input: jax.Array, weight: jax.Array, bias: jax.Array | None) -> None:
    check.require(input.ndim > 0 and weight.ndim > 0, "both arguments to linear need to be at least 1D, but they are "
                  f"{input.ndim}D and {weight.ndim}D")
    check.require(weight.ndim <= 2, f"t() expects a tensor with <= 2 dimensions, but self is {weight.ndim}D")
    check.require(weight.ndim == 2 or bias is None, "mat2 must be a matrix, got 1-D tensor")
    rows, features = _rows(input), input.shape[-1]
    if features != weight.shape[-1]:
        raise with_note(RuntimeError(_mismatch(input, weight, rows)), INNER_SIZES)
    _check_dtypes(input, weight, bias)
    target = (rows, weight.shape[0])
    if bias is not None and (bias.ndim > 2 and bias.shape != (*input.shape[:-1], weight.shape[0])):
        raise RuntimeError(f"expand({check.type_name(bias.dtype)}{{{list(bias.shape)}}}, "
                           f"size={list(target)}): the number of sizes provided (2) must be greater or equal to the "
                           f"number of dimensions in the tensor ({bias.ndim})")
    if bias is not None and bias.ndim <= 2:
        _check_expands(bias.shape, target)


def _rows(input: jax.Array) -> int:
    rows = 1
    for n in input.shape[:-1]:
        rows *= n
    return rows


def _mismatch(input: jax.Array, weight: jax.Array, rows: int) -> str:
    features = input.shape[-1]
    if weight.ndim == 2:
        return (f"mat1 and mat2 shapes cannot be multiplied ({rows}x{features} and "
                f"{weight.shape[1]}x{weight.shape[0]})")
    if input.ndim == 1:
        return (f"inconsistent tensor size, expected tensor [{features}] and src [{weight.shape[0]}] to have the same "
                f"number of elements, but got {features} and {weight.shape[0]} elements respectively")
    return f"size mismatch, got input ({rows}), mat ({rows}x{features}), vec ({weight.shape[0]})"


def _check_expands(shape: tuple[int, ...], target: tuple[int, ...]) -> None:
    for i in range(1, len(shape) + 1):
        check.require(shape[-i] in (1, target[-i]), f"The expanded size of the tensor ({target[-i]}) must match the "
                      f"existing size ({shape[-i]}) at non-singleton dimension {len(target) - i}.  Target sizes: "
                      f"{list(target)}.  Tensor sizes: {list(shape)}")


def _linear_name(template: tuple) -> str:
    return "MmBackward0" if template[2] is None else "AddmmBackward0"


@functional(backward_name=_linear_name, composite=True, arrival=arrival.these(1))
def linear(input: Tensor, weight: Tensor, bias: Tensor | None = None):
    """Return ``input @ weight.T + bias``. See torch.nn.functional.linear."""
    _check_linear(input, weight, bias)
    made = input.dtype if bias is None else promotion.opmath(np.dtype(input.dtype))    # The sum with the bias is rounded once.
    out = _product(input, weight, made)
    return out if bias is None else _plus(out, bias.astype(made)).astype(input.dtype)


def _product(x: jax.Array, weight: jax.Array, made: np.dtype) -> jax.Array:
    filled = _filled(weight)
    out = lax.dot_general(x, filled, (((x.ndim - 1,), (filled.ndim - 1,)), ((), ())), preferred_element_type=made)
    return out if filled is weight else out[..., :weight.shape[0]]


def _filled(weight: jax.Array) -> jax.Array:
    """Return ``weight`` padded with rows of zeros, so that a GPU's TF32 products load and store 16 bytes at a time.

    Otherwise rows are not aligned, and the products read and write single numbers, which is much slower.
    """
    if not is_accelerated() or is_spread() or weight.ndim < 2 or weight.dtype != np.float32:
        return weight
    rows = weight.shape[0]
    if not float32_products.are_quick("matmul") or not check.are_known((rows,)) or rows < MANY or rows % ALIGNED == 0:
        return weight
    return jnp.pad(weight, ((0, -rows % ALIGNED), (0, 0)))


def _plus(out: jax.Array, bias: jax.Array) -> jax.Array:
    """Add the bias. A matrix as bias applies to the flattened result."""
    if bias.ndim == 2 and out.ndim != 2:
        return (out.reshape(-1, out.shape[-1]) + bias).reshape(out.shape)
    if bias.shape == out.shape[-1:] and is_accelerated():
        return _plus_row(out, bias)
    return out + jnp.broadcast_to(bias, out.shape)


@jax.custom_vjp
def _plus_row(out: jax.Array, bias: jax.Array) -> jax.Array:
    """Add a row bias whose gradient is summed from the finished gradient of the result.

    On a GPU XLA would fuse both to one slow loop that sums columns while it writes rows.
    """
    return out + jnp.broadcast_to(bias, out.shape)


def _plus_row_backward(_: None, d: jax.Array) -> tuple[jax.Array, jax.Array]:
    return d, jnp.sum(lax.optimization_barrier(d), axis=tuple(range(d.ndim - 1)))


_plus_row.defvjp(lambda out, bias: (_plus_row(out, bias), None), _plus_row_backward)


def _check_bilinear(input1: jax.Array, input2: jax.Array, weight: jax.Array, bias: jax.Array | None) -> None:
    check.require(input1.ndim == input2.ndim, f"bilinear(): input dimensions do not match: got {input1.ndim} and "
                  f"{input2.ndim}")
    for i, (a, b) in enumerate(zip(input1.shape[:-1], input2.shape[:-1], strict=True)):
        check.require(a == b, f"bilinear(): input batch dimensions do not match at dim {i}: got {a} and {b}")
    for i, x in ((1, input1), (2, input2)):
        check.require(x.shape[-1] == weight.shape[i], f"bilinear(): input{i} size does not match weight size: got "
                      f"{x.shape[-1]} but expected {weight.shape[i]}")
    check.require(bias is None or bias.shape[0] == weight.shape[0], "bilinear(): bias size does not match weight size: "
                  f"got {bias.shape[0] if bias is not None and bias.ndim else 0} but expected {weight.shape[0]}")


def _others_needed(template: tuple, edges: tuple) -> tuple[int, ...]:
    """Return the factors that PyTorch saves: each factor if another factor needs a gradient."""
    return tuple([i for i in range(3) if any([edges[k] is not None for k in range(3) if k != i])])


@functional(aliases=("bilinear",), backward_name=lambda t: "ViewBackward0" if t[3] is None else "AddBackward0",
            saves=Saves(checks=_others_needed), arrival=arrival.these(2, 1, 0))
def bilinear(input1: Tensor, input2: Tensor, weight: Tensor, bias: Tensor | None = None):
    """Return ``input1 @ weight[k] @ input2`` for each output feature k, plus ``bias``. See torch.nn.functional.bilinear."""
    _check_bilinear(input1, input2, weight, bias)
    check.sizes_known((input1, weight, input2))     # the order of the products depends on the sizes
    out = jnp.einsum("...i,kij,...j->...k", input1, weight, input2)
    return out if bias is None else out + jnp.broadcast_to(bias, out.shape)
