"""Norms of vectors and matrices, and distances. See torch.linalg.vector_norm, matrix_norm, norm, cond and torch.cdist."""
from __future__ import annotations

import math

import jax
import jax.numpy as jnp
import numpy as np

from jtorch.ops import check, out_dtypes, promotion
from jtorch.ops.facts import Out
from jtorch.ops.linalg import converges
from jtorch.ops.matmul import product, same_scalar_type
from jtorch.ops.reduce import vector_norm as norm_along
from jtorch.ops.reduce import wide
from jtorch.ops.registry import Tensor, dtype, op, thaw


def _in_dtype(x, dtype, name: str):
    """Return ``x`` cast to the dtype in which a norm is computed."""
    check.require(promotion.is_inexact(np.dtype(x.dtype)), f"{name}: Expected a floating point or complex tensor as input. "
                  f"Got {check.scalar_name(x.dtype)}")
    if dtype is None:
        return x
    check.require(promotion.is_inexact(dtype), f"{name}: dtype should be floating point or complex. Got "
                  f"{check.scalar_name(dtype)}")
    both = promotion.is_complex(np.dtype(x.dtype)), promotion.is_complex(dtype)
    check.require(both[0] == both[1], f"{name}: dtype should be {'complex' if both[0] else 'real'} for "
                  f"{'complex' if both[0] else 'real'} inputs, but got {check.scalar_name(dtype)}")
    return x.astype(dtype)


@op(name="linalg.vector_norm", saves="both", out=Out(refuses=out_dtypes.EXPECTED))
def vector_norm(x: Tensor, ord=2, dim=None, keepdim: bool = False, *, dtype: dtype | None = None):
    """Return the norm of vectors along ``dim``, by default of all elements. See torch.linalg.vector_norm."""
    return vector_norm_of(x, ord, dim, keepdim, dtype)


def vector_norm_of(x, ord=2, dim=None, keepdim=False, dtype=None, name="linalg.vector_norm"):
    """Return vector_norm. Other norms call this with their name."""
    check.require(not isinstance(ord, complex), f"{name}: Expected a non-complex scalar as the order of norm.")
    x = _in_dtype(x, dtype, name)
    axes = check.wrap_dims(dim, x.ndim)
    if ord < 0 or math.isinf(ord):
        _nonempty_for(ord, x, axes, dim)
    result = norm_along(wide(x), float(ord), axes, keepdim)
    return result.astype(np.zeros((), x.dtype).real.dtype)


def _nonempty_for(ord, x, axes, dim) -> None:
    what = f"linalg.vector_norm cannot compute the {_number(ord)} norm on "
    if dim is None or (len(axes) == x.ndim and not isinstance(dim, check.Int)):
        check.require(x.size > 0, what + "an empty tensor because the operation does not have an identity")
    for a in axes:
        check.require(x.shape[a] > 0, what + f"the dimension {a}because this dimension is empty and the operation "
                      "does not have an identity")       # PyTorch's message lacks the blank too


def _number(p) -> str:
    return str(p) if math.isinf(p) else f"{p:g}"


def _takes_singular_values(ord) -> bool:
    """Return whether a matrix norm depends on singular values."""
    return ord == "nuc" or (isinstance(ord, (check.Int, float)) and abs(ord) == 2)


def _matrices(A, ord=None, dim=None, keepdim=False, *, dtype=None):
    return jnp.moveaxis(A, dim or (-2, -1), (-2, -1))


@op(name="linalg.matrix_norm", saves="both", backward_name="LinalgVectorNormBackward0", value_check=converges(_matrices),
    checked_where=lambda template: _takes_singular_values(thaw(template[1])),
    out=Out(refuses=out_dtypes.refusal("linalg.matrix_norm expected out tensor dtype {made} but got: {out}")))
def matrix_norm(A: Tensor, ord="fro", dim=(-2, -1), keepdim: bool = False, *, dtype: dtype | None = None):
    """Return the norm of matrices, in two dimensions of a tensor. See torch.linalg.matrix_norm."""
    return matrix_norm_of(A, ord, dim, keepdim, dtype)


def matrix_norm_of(A, ord="fro", dim=(-2, -1), keepdim=False, dtype=None):
    """Return matrix_norm. Other norms call this."""
    check.require(not isinstance(ord, complex), "linalg.matrix_norm: Expected a non-complex scalar as the order of norm.")
    check.require(A.ndim >= 2, "linalg.matrix_norm: The input tensor A must have at least 2 dimensions.")
    A = _in_dtype(A, dtype, "linalg.matrix_norm")
    check.require(len(dim) == 2, f"linalg.matrix_norm: dim must be a 2-tuple. Got {' '.join(map(str, dim))}")
    row, column = (check.wrap_dim(d, A.ndim) for d in dim)
    check.require(row != column, f"linalg.matrix_norm: dims must be different. Got ({dim[0]}, {dim[1]})")
    if ord == "fro":
        return vector_norm_of(A, 2, (row, column), keepdim)
    if _takes_singular_values(ord):
        return _from_singular_values(A, ord, row, column, keepdim)
    check.require(not isinstance(ord, str), f"linalg.matrix_norm: Order {ord} not supported.")
    check.require(abs(ord) in (1, math.inf), f"linalg.matrix_norm: Order {_number(ord)} not supported.")
    summed, kept = (row, column) if abs(ord) == 1 else (column, row)
    result = _extreme(norm_along(A, 1, (summed,), True), ord, kept, 0)
    return result if keepdim else jnp.squeeze(result, (row, column))


def _extreme(x, ord, dim: int, named: int):
    """Return the maximum or minimum of ``x`` along a dim. An empty maximum is 0. ``named``: the dim in the error message."""
    if ord > 0 and not x.shape[dim]:
        return jnp.sum(x, dim, keepdims=True)
    if ord > 0:
        return jnp.max(x, dim, keepdims=True)
    check.require(x.shape[dim] > 0, f"amin(): Expected reduction dim {named} to have non-zero size.", IndexError)
    return jnp.min(x, dim, keepdims=True)


def _from_singular_values(A, ord, row: int, column: int, keepdim: bool):
    s = singular_values(jnp.moveaxis(A, (row, column), (-2, -1)))
    result = jnp.sum(s, -1) if ord == "nuc" else _extreme(s, ord, -1, -1)[..., 0]
    return jnp.expand_dims(result, sorted((row, column))) if keepdim else result


@jax.custom_jvp
def singular_values(A):
    """Return the singular values of matrices. The gradient is finite even for equal singular values."""
    return jnp.linalg.svd(A, compute_uv=False)


@singular_values.defjvp
def _singular_values_jvp(primals, tangents):
    U, s, Vh = jnp.linalg.svd(primals[0], full_matrices=False)
    ds = jnp.sum(jnp.conj(U) * product(tangents[0], jnp.conj(jnp.swapaxes(Vh, -2, -1))), -2)
    return s, jnp.real(ds)


def _is_of_matrices(template: tuple) -> bool:
    """Return whether linalg.norm computes singular values of a matrix."""
    ord, dim = thaw(template[1]), template[2]
    return _takes_singular_values(ord) and not isinstance(dim, check.Int) and (dim is None or len(dim) == 2)


def _norm_converges():
    flag, error = converges(_matrices)

    def flag_of(x, ord=None, dim=None, keepdim=False, *, dtype=None):
        return flag(x, ord, dim) if x.ndim > 1 else (jnp.zeros((), bool), jnp.zeros((), np.int64))
    return flag_of, error


@op(name="linalg.norm", saves="both", backward_name="LinalgVectorNormBackward0", value_check=_norm_converges(),
    checked_where=_is_of_matrices,
    out=Out(refuses=out_dtypes.refusal("linalg.norm expected out tensor dtype {made} but got: {out}")))
def linalg_norm(input: Tensor, ord=None, dim=None, keepdim: bool = False, *, dtype: dtype | None = None):
    """Return a vector's or a matrix's norm, depending on the number of dims. See torch.linalg.norm."""
    if dim is not None:
        n = 1 if isinstance(dim, check.Int) else len(dim)
        check.require(n in (1, 2), f"linalg.norm: If dim is specified, it must be of length 1 or 2. "
                      f"Got {[dim] if isinstance(dim, check.Int) else list(dim)}")
    elif ord is not None:
        check.require(input.ndim in (1, 2), "linalg.norm: If dim is not specified but ord is, the input must be 1D or 2D. "
                      f"Got {input.ndim}D.")
    if ord is not None and (n == 2 if dim is not None else input.ndim == 2):
        return matrix_norm_of(input, ord, (0, 1) if dim is None else dim, keepdim, dtype)
    check.require(not isinstance(ord, str), f"linalg.norm: Order {ord} not supported for vectors.")
    return vector_norm_of(input, 2 if ord is None else ord, dim, keepdim, dtype)


@op(name="linalg.cond", backward_name="SqueezeBackward1", value_check=converges(),
    checked_where=lambda template: template[1] is None or _takes_singular_values(thaw(template[1])))
def cond(A: Tensor, p=None):
    """Return the condition number of matrices. See torch.linalg.cond."""
    check.require(A.ndim >= 2, "linalg.cond: The input tensor must have at least 2 dimensions.")
    if not A.size:
        return jnp.zeros(A.shape[:-2], A.real.dtype)
    if p is None or (not isinstance(p, str) and abs(p) == 2):
        s = singular_values(A)
        return s[..., -1] / s[..., 0] if p == -2 else s[..., 0] / s[..., -1]
    check.require(A.shape[-1] == A.shape[-2], "linalg.cond: A must be batches of square matrices, but they are "
                  f"{A.shape[-1]} by {A.shape[-2]} matrices")
    result = matrix_norm_of(A, p) * matrix_norm_of(jnp.linalg.inv(A), p)
    return jnp.where(jnp.isnan(result), jnp.inf, result)


@op(method=False, saves="both")
def cdist(x1: Tensor, x2: Tensor, p: float = 2.0,
          compute_mode: str | None = "use_mm_for_euclid_dist_if_necessary"):
    """Return the p-norm distances between the rows of two batches of matrices. See torch.cdist."""
    modes = ("use_mm_for_euclid_dist_if_necessary", "use_mm_for_euclid_dist", "donot_use_mm_for_euclid_dist")
    check.require(compute_mode in modes, f"{compute_mode} is not a valid value for compute_mode", ValueError)
    _check_cdist(x1, x2, p)
    batch = check.broadcast_shapes(x1.shape[:-2], x2.shape[:-2])
    x1, x2 = (jnp.broadcast_to(x, batch + x.shape[-2:]) for x in (x1, x2))
    rows = x1.shape[-2] > 25 or x2.shape[-2] > 25
    if p == 2 and (compute_mode == modes[1] or (compute_mode == modes[0] and rows)):
        return _euclidean_by_product(x1, x2)
    return norm_along(x1[..., :, None, :] - x2[..., None, :, :], float(p), (-1,), False)


def _check_cdist(x1, x2, p) -> None:
    for name, x in (("X1", x1), ("X2", x2)):
        check.require(x.ndim >= 2, f"cdist only supports at least 2D tensors, {name} got: {x.ndim}D")
    n, m = x1.shape[-1], x2.shape[-1]
    check.require(n == m, f"X1 and X2 must have the same number of columns. X1: {n} X2: {m}")
    for name, x in (("X1", x1), ("X2", x2)):
        check.require(promotion.is_float(np.dtype(x.dtype)), "cdist only supports floating-point dtypes, "
                      f"{name} got: {check.scalar_name(x.dtype)}")
    check.require(p >= 0, "cdist only supports non-negative p values")
    check.broadcast_shapes(x1.shape[:-2], x2.shape[:-2])
    same_scalar_type(x1, x2)


def _euclidean_by_product(x1, x2):
    """Return distances by |x|² + |y|² - 2xy, as PyTorch does for many rows. It is less exact but needs less memory."""
    squares = jnp.sum(x1 * x1, -1)[..., :, None] + jnp.sum(x2 * x2, -1)[..., None, :]
    squares = squares - 2 * product(x1, jnp.swapaxes(x2, -2, -1))
    zero = squares <= 0
    return jnp.where(zero, 0, jnp.sqrt(jnp.where(zero, 1, squares)))
