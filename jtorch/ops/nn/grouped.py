"""Products of groups of matrices, and of matrices in 8-bit floats. See torch.nn.functional.grouped_mm and scaled_mm."""
from __future__ import annotations

import jax
import jax.numpy as jnp
import numpy as np
from jax import lax

from jtorch.ops import check
from jtorch.ops.matmul import c_name
from jtorch.ops.nn._common import functional
from jtorch.ops.registry import Tensor, dtype, op

_TAKEN = tuple(map(np.dtype, (jnp.float32, jnp.bfloat16, jnp.float16)))


def _check_operands(a: jax.Array, b: jax.Array, bias: jax.Array | None, out_dtype: np.dtype | None) -> None:
    for name, x in (("mat_a", a), ("mat_b", b)):
        check.require(x.dtype in _TAKEN, f"Expected {name} to be Float32, BFloat16 or Float16 matrix, got "
                      f"{check.scalar_name(x.dtype)}")
    for name, x in (("mat_a", a), ("mat_b", b)):
        check.require(x.ndim in (2, 3), f"{name} has to be 2 or 3d")
    if a.ndim == 3 or b.ndim == 3:      # not checked for two 2-dim matrices, which are cut along this dim
        check.require(a.shape[-1] == b.shape[-2], "contraction dimension of mat_a and mat_b must match")
    check.require(bias is None, "Bias not supported yet")
    check.require(out_dtype in (None, a.dtype), "Grouped gemm output dtype must match `mat_a` dtype")
    check.require(a.dtype == b.dtype, f"expected m1 and m2 to have the same dtype, but got: {c_name(a)} != {c_name(b)}")


def _check_groups(a: jax.Array, b: jax.Array, offs: jax.Array | None) -> None:
    check.require((offs is None) == (a.ndim == b.ndim == 3),
                  "Have to provide offsets if there is a 2d matrix, or no offset if both matrices are 3d")
    if offs is None:
        check.require(a.shape[0] == b.shape[0], "batched dimension has to match")
        return
    check.require(offs.ndim == 1, "offs has to be 1D")
    check.require(offs.dtype == jnp.int32, "Offsets have to be int32")
    for x in (a, b):
        check.require(x.ndim == 2 or x.shape[0] == offs.shape[0], "matrix batch sizes have to match")


@functional(backward_name="GroupedMmBackward0")
def grouped_mm(mat_a: Tensor, mat_b: Tensor, *, offs: Tensor | None = None, bias: Tensor | None = None,
               out_dtype: dtype | None = None):
    """Return one matrix product per group, whose rows or columns end at ``offs``. See torch.nn.functional.grouped_mm.

    It works on any device. If ``offs`` ends early, the rest of the result is 0.
    """
    _check_operands(mat_a, mat_b, bias, out_dtype)
    _check_groups(mat_a, mat_b, offs)
    if offs is None:
        made = jnp.matmul(mat_a, mat_b, preferred_element_type=jnp.float32)
    else:
        made = _ragged(mat_a, mat_b, jnp.diff(offs, prepend=jnp.zeros(1, offs.dtype)))
    return made.astype(mat_a.dtype)


def _ragged(a: jax.Array, b: jax.Array, sizes: jax.Array) -> jax.Array:
    if a.ndim == b.ndim == 2:           # the common dim is cut: one product per group
        group = jnp.repeat(jnp.arange(len(sizes)), sizes, total_repeat_length=a.shape[1])
        inside = jnp.arange(a.shape[1]) < jnp.sum(sizes)
        mine = (group[None] == jnp.arange(len(sizes))[:, None]) & inside[None]
        return jnp.matmul(jnp.where(mine[:, None], a, 0), b, preferred_element_type=jnp.float32)
    if a.ndim == 2:                     # the rows of a are cut
        return lax.ragged_dot(a, b, sizes, preferred_element_type=jnp.float32)
    return _ragged(b.T, jnp.swapaxes(a, 1, 2), sizes).T


_BAD_SCALES = ("Invalid scaling configuration.\n- For TensorWise scaling, a and b should be float8, scales should be float and "
               "singletons.\n- For RowWise scaling, a and b should be float8, scales should be float, scale_a should be "
               "({m}, 1) and scale_b should be (1, {n}), and both should be contiguous.")


@op(name="_scaled_product", function=False, method=False, out=False, tested=False, differentiable=False)
def scaled_product(mat_a: Tensor, mat_b: Tensor, scale_a: Tensor, scale_b: Tensor, bias: Tensor | None, out_dtype: dtype):
    """Return ``(mat_a * scale_a) @ (mat_b * scale_b) + bias`` of 8-bit floats, with scales per tensor or per row and column."""
    check.require(mat_a.ndim == 2, "mat_a must be a matrix", ValueError)
    check.require(mat_b.ndim == 2, "mat_b must be a matrix", ValueError)
    m, n = mat_a.shape[0], mat_b.shape[1]
    check.require(mat_a.shape[1] == mat_b.shape[0], f"mat_a and mat_b shapes cannot be multiplied ({m}x{mat_a.shape[1]} and "
                  f"{mat_b.shape[0]}x{n})", ValueError)
    eight = all(x.dtype.name.startswith("float8") for x in (mat_a, mat_b))
    single = scale_a.size == scale_b.size == 1
    rows = scale_a.shape == (m, 1) and scale_b.shape == (1, n)
    check.require(eight and (single or rows) and scale_a.dtype == scale_b.dtype == jnp.float32,
                  _BAD_SCALES.format(m=m, n=n), ValueError)
    made = jnp.matmul(mat_a.astype(jnp.float32), mat_b.astype(jnp.float32))
    made = made * (scale_a.reshape(()) * scale_b.reshape(()) if single else scale_a * scale_b)
    return (made if bias is None else made + bias.astype(made.dtype)[None]).astype(out_dtype)
