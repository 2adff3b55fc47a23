"""Products of vectors and matrices. See https://docs.pytorch.org/docs/stable/torch.html#blas-and-lapack-operations.

Operands must have the same dtype, since PyTorch does not promote here.
"""
from __future__ import annotations

from itertools import pairwise

import jax
import jax.numpy as jnp
import numpy as np

import jtorch.dtype as dtypes
from jtorch._base import warned
from jtorch._base.error_notes import INNER_SIZES
from jtorch.ops import arrival, check, out_dtypes, promotion
from jtorch.ops.elementwise import beyond_first
from jtorch.ops.facts import Out, Saves
from jtorch.ops.registry import Number, Tensor, Tensors, op
from jtorch.ops.strided import compute_view_stride

_C_NAMES = {"float32": "float", "float64": "double", "float16": "c10::Half", "bfloat16": "c10::BFloat16", "int64": "long long",
            "int32": "int", "int16": "short", "int8": "signed char", "uint8": "unsigned char", "bool": "bool",
            "complex64": "c10::complex<float>", "complex128": "c10::complex<double>"}


def c_name(array) -> str:
    """Return the C++ name of the dtype (``float``, ``double``, …) for PyTorch's messages."""
    name = dtypes.of_numpy(np.dtype(array.dtype)).name
    return _C_NAMES.get(name, name)


def shape_text(array) -> str:
    """Return the shape as in PyTorch's messages on matrix products: ``2x3``."""
    return "x".join(map(str, array.shape))


def same_scalar_type(*arrays) -> None:
    """Raise RuntimeError "expected scalar type …" unless all have the same dtype."""
    for other in arrays[1:]:
        check.require(other.dtype == arrays[0].dtype,
                      f"expected scalar type {check.scalar_name(arrays[0].dtype)} but found {check.scalar_name(other.dtype)}")


def expand(array, shape: tuple[int, ...]):
    """Return ``array`` broadcast to ``shape``, with the errors of Tensor.expand."""
    extra = len(shape) - array.ndim
    if extra < 0:
        raise RuntimeError(f"expand({check.type_name(array.dtype)}{{{list(array.shape)}}}, size={list(shape)}): "
                           f"the number of sizes provided ({len(shape)}) must be greater or equal to the number of "
                           f"dimensions in the tensor ({array.ndim})")
    for i in range(len(shape) - 1, extra - 1, -1):
        have = array.shape[i - extra]
        if have not in (1, shape[i]):
            raise RuntimeError(f"The expanded size of the tensor ({shape[i]}) must match the existing size ({have}) at "
                               f"non-singleton dimension {i}.  Target sizes: {list(shape)}.  "
                               f"Tensor sizes: {list(array.shape)}")
    return jnp.broadcast_to(array, shape)


def product(a, b):
    """Return the matrix product by jnp.matmul."""
    return jnp.matmul(a, b)


def _no_bool(kernel: str, array, *factors) -> None:
    """Raise NotImplementedError for bools, unless a factor is empty."""
    check.require(array.dtype != np.bool_ or 0 in [n for f in factors for n in f.shape],
                  f"\"{kernel}\" not implemented for 'Bool'", NotImplementedError)


def _scaled(array, factor):
    if isinstance(factor, check.Int):      # the default, 1; a factor that was given is an array
        return array
    return array * jax.lax.convert_element_type(factor, array.dtype)


def _unrounded(a, b):
    """Return the product, unrounded in float32 for 16-bit floats. ``_plus_scaled`` rounds it later."""
    return jnp.matmul(a, b, preferred_element_type=promotion.opmath(np.dtype(a.dtype)))


def _plus_scaled(input, beta, term, alpha):
    """Return beta * input + alpha * term, computed in the dtype of ``term``. A beta of 0 drops even nan inputs."""
    dtype, input, term = input.dtype, input.astype(term.dtype), _scaled(term, alpha)
    if not isinstance(beta, check.Int):
        input = jnp.where(beta.astype(bool), _scaled(input, beta), jnp.zeros((), input.dtype))
    return (input + term).astype(dtype)


def _check_mm(a, b) -> None:
    check.require(a.shape[-1] == b.shape[0],
                  f"mat1 and mat2 shapes cannot be multiplied ({shape_text(a)} and {shape_text(b)})", advice=INNER_SIZES)
    check.require(a.dtype == b.dtype,
                  f"expected m1 and m2 to have the same dtype, but got: {c_name(a)} != {c_name(b)}")
    _no_bool("addmm_impl_cpu_", a, a, b)


def _check_batches(a, b, *first: int) -> None:
    """Check batches of matrices. Raise IndexError if a dim of ``first``, which PyTorch reads first, is missing."""
    for dim in first:
        check.require(a.ndim, f"Dimension specified as {dim} but tensor has no dimensions", IndexError)
        check.wrap_dim(dim, a.ndim)
    for name, m in (("batch1", a), ("batch2", b)):
        check.require(m.ndim == 3, f"{name} must be a 3D tensor")


def _check_bmm(a, b, kernel: str = "bmm") -> None:
    want, got = [a.shape[0], a.shape[2]], list(b.shape[:2])
    check.require(want == got,
                  f"Expected size for first two dimensions of batch2 tensor to be: {want} but got: {got}.")
    same_scalar_type(a, b)
    _no_bool(kernel, a, a, b)


def _check_mv(input_size: int, mat, vec) -> None:
    check.require(mat.shape[1] == vec.shape[0] and input_size in (1, mat.shape[0]),
                  f"size mismatch, got input ({input_size}), mat ({shape_text(mat)}), vec ({vec.shape[0]})")


def _check_dot(a, b) -> None:
    check.require(a.ndim == 1 and b.ndim == 1, f"1D tensors expected, but got {a.ndim}D and {b.ndim}D tensors")
    check.require(a.dtype == b.dtype, "dot : expected both vectors to have same dtype, but found "
                  f"{check.scalar_name(a.dtype)} and {check.scalar_name(b.dtype)}")
    check.require(a.shape == b.shape,
                  f"inconsistent tensor size, expected tensor [{a.size}] and src [{b.size}] to have the same number of "
                  f"elements, but got {a.size} and {b.size} elements respectively")


@op(out=Out(refuses=out_dtypes.EXPECTED))
def mm(input: Tensor, mat2: Tensor):
    """Return the product of two matrices. See torch.mm."""
    check.require(input.ndim == 2, "self must be a matrix")
    check.require(mat2.ndim == 2, "mat2 must be a matrix")
    _check_mm(input, mat2)
    return product(input, mat2)


@op(out=Out(refuses=out_dtypes.EXPECTED))
def bmm(input: Tensor, mat2: Tensor):
    """Return the products of two batches of matrices. See torch.bmm."""
    _check_batches(input, mat2)
    _check_bmm(input, mat2)
    return product(input, mat2)


@op(out=Out(refuses=out_dtypes.EXPECTED))
def mv(input: Tensor, vec: Tensor):
    """Return the product of a matrix and a vector. See torch.mv."""
    check.require(input.ndim == 2 and vec.ndim == 1,
                  f"vector + matrix @ vector expected, got 1, {input.ndim}, {vec.ndim}")
    _check_mv(input.shape[0], input, vec)
    check.require(input.dtype == vec.dtype, "addmv input tensors must have the same dtype, but got "
                  f"{check.scalar_name(vec.dtype)}, {check.scalar_name(input.dtype)}, and {check.scalar_name(vec.dtype)}")
    _no_bool("addmv_impl_cpu", input, input)
    return product(input, vec)


@op(out=Out(refuses=out_dtypes.OF_DOT))
def dot(input: Tensor, tensor: Tensor):
    """Return the dot product of two vectors, neither conjugated. See torch.dot."""
    _check_dot(input, tensor)
    _no_bool("dot", input)
    return product(input, tensor)


@op(out=Out(refuses=out_dtypes.OF_DOT))
def vdot(input: Tensor, other: Tensor):
    """Return the dot product of two vectors, the first conjugated. See torch.vdot."""
    _check_dot(input, other)
    _no_bool("vdot", input)
    return product(jnp.conj(input), other)


def _matmul_name(template: tuple, a: tuple[int, ...], b: tuple[int, ...]) -> str:
    if len(a) == 1 and len(b) == 2:
        return "SqueezeBackward4"
    return {(1, 1): "DotBackward0", (2, 1): "MvBackward0", (2, 2): "MmBackward0"}.get((len(a), len(b)), "UnsafeViewBackward0")


def _folds(geometry: tuple, first: bool, other_needed: bool) -> bool:
    """Return whether PyTorch folds a batch to one matrix, even if it must copy the batch."""
    size, stride = geometry
    if other_needed:
        return True
    return first and (0 in size or compute_view_stride(size[:-1], stride[:-1], (int(np.prod(size[:-1])),)) is not None)


def _copies(geometries: tuple, needed: tuple[bool, ...]) -> tuple[bool, ...]:
    """Return which arguments PyTorch's matmul copies, since no view is a matrix or a batch of matrices."""
    sizes = [size for size, _ in geometries]
    larger = 0 if len(sizes[0]) >= len(sizes[1]) else 1
    if len(sizes[larger]) < 3:
        return (False, False)
    if len(sizes[0]) == len(sizes[1]) == 3 and sizes[0][0] != sizes[1][0]:
        for i in (0, 1):
            if sizes[i][0] == 1 and needed[i]:
                return _copies(tuple([(s[1:], t[1:]) if i == j else (s, t) for j, (s, t) in enumerate(geometries)]), needed)
    size, stride = geometries[larger]
    if larger == 1:     # PyTorch transposes the matrices of the right argument
        size, stride = (*size[:-2], size[-1], size[-2]), (*stride[:-2], stride[-1], stride[-2])
    if len(sizes[1 - larger]) < 3 and _folds((size, stride), larger == 0, needed[1 - larger]):
        copied = compute_view_stride(size, stride, (int(np.prod(size[:-1])), size[-1])) is None
        return (copied, False) if larger == 0 else (False, copied)
    batch = np.broadcast_shapes(*[size[:-2] for size in sizes])
    return tuple([_copied_as_batch(size, stride, batch) for size, stride in geometries])


def _copied_as_batch(size: tuple, stride: tuple, batch: tuple) -> bool:
    ahead = len(batch) - len(size[:-2])
    strides = [0] * ahead + [0 if n == 1 else s for n, s in zip(size[:-2], stride[:-2], strict=True)]
    return compute_view_stride(batch, strides, (int(np.prod(batch)),)) is None


def _vector_last(template: tuple, avals: tuple, edges: tuple) -> arrival.Turns:
    """Return a turn for a vector before a matrix, since PyTorch converts the vector to a matrix."""
    return {0: 1} if len(avals) == 2 and len(avals[0].shape) == 1 < len(avals[1].shape) else {}


@op(operators=("__matmul__", "__rmatmul__"), aliases=("linalg.matmul",),
    backward_name_by_shapes=_matmul_name, saves=Saves(copies=_copies), out=Out(refuses=out_dtypes.of_matmul),
    arrival=_vector_last)
def matmul(input: Tensor, other: Tensor):
    """Return the matrix product, over broadcast batches where there are more than two dimensions. See torch.matmul."""
    check.require(input.ndim > 0 and other.ndim > 0,
                  f"both arguments to matmul need to be at least 1D, but they are {input.ndim}D and {other.ndim}D")
    match min(input.ndim, 3), min(other.ndim, 3):
        case 1, 1:
            return dot(input, other)
        case 2, 1:
            return mv(input, other)
        case 1, 2:
            return mm(input[None], other)[0]
        case 3, 1:
            return mv(_rows(input), other).reshape(input.shape[:-1])
        case (2, 2):
            return mm(input, other)
        case 3, 2:      # one product over all rows of the batch
            return mm(_rows(input), other).reshape(*input.shape[:-1], other.shape[1])
    _check_batched(input, other)
    return product(input, other)


def _rows(array):
    return array.reshape(int(np.prod(array.shape[:-1])), array.shape[-1])


def _check_batched(a, b) -> None:
    batch = int(np.prod(check.broadcast_shapes(a.shape[:-2], b.shape[:-2])))
    rows = a.shape[-2] if a.ndim > 1 else 1
    _check_bmm(jax.ShapeDtypeStruct((batch, rows, a.shape[-1]), a.dtype), jax.ShapeDtypeStruct((batch, *b.shape[-2:]), b.dtype))


@op(saves="inputs", backward_name="ViewBackward0")
def inner(input: Tensor, other: Tensor):
    """Return the dot products over the last dimension of both. See torch.inner."""
    if input.ndim == 0 or other.ndim == 0:
        return jnp.multiply(*_promoted(input, other))
    check.require(input.dtype == other.dtype, "both inputs should have same dtype")
    check.require(input.shape[-1] == other.shape[-1],
                  "inner() the last dimension must match on both input tensors but got shapes "
                  f"{list(input.shape)} and {list(other.shape)}")
    return jnp.tensordot(input, other, axes=(-1, -1))


def _promoted(*arrays):
    rank = [promotion.DIM if a.ndim else promotion.ZERO_DIM for a in arrays]
    d = promotion.result_type((np.dtype(a.dtype), r) for a, r in zip(arrays, rank, strict=True))
    return [a.astype(d) for a in arrays]


@op(aliases=("ger",), backward_name="MulBackward0", out=Out(not_expanded=True))
def outer(input: Tensor, vec2: Tensor):
    """Return the outer product of two vectors. See torch.outer."""
    for name, a in (("self", input), ("vec2", vec2)):
        check.require(a.ndim == 1, f"outer: Expected 1-D argument {name}, but got {a.ndim}-D")
    a, b = _promoted(input, vec2)
    return a[:, None] * b[None, :]


@op(inplace=True, saves=Saves(frees=beyond_first), out=Out(refuses=out_dtypes.EXPECTED), fits="beta:opmath alpha:opmath")
def addmm(input: Tensor, mat1: Tensor, mat2: Tensor, *, beta: Number = 1, alpha: Number = 1):
    """Return beta * input + alpha * (mat1 @ mat2). See torch.addmm."""
    for name, m in (("mat1", mat1), ("mat2", mat2)):
        check.require(m.ndim == 2, f"{name} must be a matrix, got {m.ndim}-D tensor")
    check.require(mat1.shape[1] == mat2.shape[0],
                  f"mat1 and mat2 shapes cannot be multiplied ({shape_text(mat1)} and {shape_text(mat2)})")
    input = expand(input, (mat1.shape[0], mat2.shape[1]))
    check.require(input.dtype == mat2.dtype, "self and mat2 must have the same dtype, but got "
                  f"{check.scalar_name(input.dtype)} and {check.scalar_name(mat2.dtype)}")
    _check_mm(mat1, mat2)
    return _plus_scaled(input, beta, _unrounded(mat1, mat2), alpha)


@op(inplace=True, saves=Saves(frees=beyond_first), out=Out(refuses=out_dtypes.EXPECTED), fits="beta alpha")
def addmv(input: Tensor, mat: Tensor, vec: Tensor, *, beta: Number = 1, alpha: Number = 1):
    """Return beta * input + alpha * (mat @ vec). See torch.addmv."""
    check.require(mat.ndim == 2 and vec.ndim == 1 and input.ndim <= 1,
                  f"vector + matrix @ vector expected, got {input.ndim}, {mat.ndim}, {vec.ndim}")
    _check_mv(input.shape[0] if input.ndim else 1, mat, vec)
    names = [check.scalar_name(a.dtype) for a in (input, mat, vec)]
    check.require(len(set(names)) == 1,
                  f"addmv input tensors must have the same dtype, but got {names[0]}, {names[1]}, and {names[2]}")
    _no_bool("addmv_impl_cpu", mat, mat)
    return _plus_scaled(expand(input, mat.shape[:1]), beta, _unrounded(mat, vec), alpha)


@op(inplace=True, saves=Saves(frees=beyond_first), out=Out(refuses=out_dtypes.EXPECTED), fits="beta:opmath alpha:opmath")
def addbmm(input: Tensor, batch1: Tensor, batch2: Tensor, *, beta: Number = 1, alpha: Number = 1):
    """Return beta * input + alpha * the sum of the products of a batch. See torch.addbmm."""
    _check_batches(batch1, batch2, 1, 2)
    (n, rows, k), (n2, k2, columns) = batch1.shape, batch2.shape
    check.require(n == n2, f"batch1 and batch2 must have same number of batches, got {n} and {n2}")
    check.require(k == k2, f"Incompatible matrix sizes for bmm ({rows}x{k} and {k2}x{columns})")
    input = expand(input, (rows, columns))
    check.require(input.dtype == batch2.dtype, "self and mat2 must have the same dtype, but got "
                  f"{check.scalar_name(input.dtype)} and {check.scalar_name(batch2.dtype)}")
    same_scalar_type(batch1, batch2)
    return _plus_scaled(input, beta, jnp.einsum("bij,bjk->ik", batch1, batch2), alpha)


@op(inplace=True, saves=Saves(frees=beyond_first), out=Out(refuses=out_dtypes.EXPECTED), fits="beta:opmath alpha:opmath")
def baddbmm(input: Tensor, batch1: Tensor, batch2: Tensor, *, beta: Number = 1, alpha: Number = 1):
    """Return beta * input + alpha * the products of a batch. See torch.baddbmm."""
    _check_batches(batch1, batch2, 0, 1, 2)
    input = expand(input, (*batch1.shape[:2], batch2.shape[2]))
    check.require(input.dtype == batch1.dtype or batch1.dtype != batch2.dtype,
                  f"Input dtypes must be the same, got: input {c_name(input)}, batch1: {c_name(batch1)}, "
                  f"batch2: {c_name(batch2)}")
    _check_bmm(batch1, batch2, "baddbmm")
    return _plus_scaled(input, beta, _unrounded(batch1, batch2), alpha)


@op(promote="numeric", broadcast=False, saves=Saves(frees=beyond_first), fits="beta alpha")
def addr(input: Tensor, vec1: Tensor, vec2: Tensor, *, beta: Number = 1, alpha: Number = 1):
    """Return beta * input + alpha * the outer product of two vectors. See torch.addr."""
    for name, v in (("vec1", vec1), ("vec2", vec2)):
        check.require(v.ndim == 1, f"addr: Expected 1-D argument {name}, but got {v.ndim}-D")
    input = expand(input, (vec1.shape[0], vec2.shape[0]))
    if input.dtype == np.bool_:
        return (input & jnp.asarray(beta, bool)) | (vec1[:, None] & vec2[None, :] & jnp.asarray(alpha, bool))
    return _plus_scaled(input, beta, vec1[:, None] * vec2[None, :], alpha)


def _multi_dot(tensors):
    n = len(tensors)
    check.require(n >= 2, f"multi_dot(): expected at least 2 tensors but got {n}")
    for which, t in (("first", tensors[0]), ("last", tensors[-1])):
        check.require(t.ndim in (1, 2), f"multi_dot(): the {which} tensor must be 1D or 2D but got {t.ndim}D")
    for i, t in enumerate(tensors[1:-1], 1):
        check.require(t.ndim == 2, f"multi_dot(): tensor {i} must be 2D but got {t.ndim}D")
    for i, (a, b) in enumerate(pairwise(tensors)):
        check.require(a.dtype == b.dtype, f"multi_dot(): all tensors must have be the same dtype but tensor {i} is "
                      f"{c_name(a)} and tensor {i + 1} {c_name(b)}")
        check.require(a.shape[-1] == b.shape[0], f"multi_dot(): tensors {i} and {i + 1} with shapes {list(a.shape)} and "
                      f"{list(b.shape)} cannot be multiplied")
    check.sizes_known(tensors)      # the order of the products depends on the sizes
    return jnp.linalg.multi_dot(tensors)


@op(name="linalg.multi_dot", backward_name="ViewBackward0",
    out=Out(refuses=out_dtypes.refusal("multi_dot(): expected out tensor to have dtype {made} but got {out}")))
def multi_dot(tensors: list[Tensor]):
    """Return the product of two or more matrices, in the order that costs least. See torch.linalg.multi_dot."""
    return _multi_dot(tensors)


@op(method=False, backward_name="ViewBackward0")
def chain_matmul(matrices: Tensors):
    """Return the product of matrices, in the order that costs least. See torch.chain_matmul."""
    warned.warn_once("torch.chain_matmul is deprecated and will be removed in a future PyTorch release. Use "
                     "torch.linalg.multi_dot instead, which accepts a list of two or more tensors rather than multiple "
                     "parameters.")
    for m in matrices:
        check.require(m.ndim == 2, f"Tensor dimension is {m.ndim}, expected 2 instead.")
    return _multi_dot(matrices) if len(matrices) > 1 else matrices[0]


@op(method=False, backward_name="ViewBackward0", arrival=arrival.last_first,
    out=Out(refuses=out_dtypes.refusal("tensordot: Expected the output tensor to have dtype {made}, but got "
                                       "an output tensor with dtype {out}")))
def tensordot(a: Tensor, b: Tensor, dims=2):
    """Return the sum of products over pairs of dimensions. See torch.tensordot."""
    check.require(a.dtype == b.dtype, "both inputs should have same dtype")
    in_a, in_b = _contracted(a.ndim, b.ndim, dims)
    check.require(len(in_a) == len(in_b), "both dimension lists should have same length")
    for i, j in zip(in_a, in_b, strict=True):
        n, m = a.shape[check.wrap_dim(i, a.ndim)], b.shape[check.wrap_dim(j, b.ndim)]
        check.require(n == m or 1 in (n, m), f"contracted dimensions need to match, but first has size {n} in dim {i} "
                      f"and second has size {m} in dim {j}")
        if n != m:      # a size of 1 broadcasts
            a, b = (a.sum(i, keepdims=True, dtype=a.dtype), b) if m == 1 else (a, b.sum(j, keepdims=True, dtype=b.dtype))
    return jnp.tensordot(a, b, axes=(in_a, in_b))


def _contracted(ndim_a: int, ndim_b: int, dims) -> tuple[list[int], list[int]]:
    if not isinstance(dims, check.Int):
        in_a, in_b = ([d] if isinstance(d, check.Int) else list(d) for d in dims)
        return in_a, in_b
    check.require(dims >= 0, f"tensordot expects dims >= 0, but got dims={dims}")
    check.require(dims <= min(ndim_a, ndim_b), f"tensordot expects dims < ndim_a or ndim_b, but got dims={dims}")
    return list(range(-dims, 0)), list(range(dims))


@op(promote="numeric", broadcast=False, inplace=False, backward_name="UnsafeViewBackward0",
    saves=Saves(checks=check.nothing), layout=None, arrival=arrival.last_first)
def kron(input: Tensor, other: Tensor):
    """Return the Kronecker product. See torch.kron."""
    if input.dtype == bool:
        return jnp.kron(input.astype(jnp.uint8), other.astype(jnp.uint8)) != 0
    return jnp.kron(input, other)


def cross_product(input, other, dim: int):
    """Return the cross product along ``dim``, for torch.cross and torch.linalg.cross."""
    check.require(input.ndim == other.ndim, "linalg.cross: inputs must have the same number of dimensions.")
    check.wrap_dim(dim, input.ndim)
    check.require(input.shape[dim] == other.shape[dim] == 3, f"linalg.cross: inputs dimension {dim} must have length 3. "
                  f"Got {input.shape[dim]} and {other.shape[dim]}")
    shape = check.broadcast_shapes(input.shape, other.shape)
    same_scalar_type(input, other)
    a, b = jnp.broadcast_to(input, shape), jnp.broadcast_to(other, shape)
    return jnp.roll(a, -1, dim) * jnp.roll(b, -2, dim) - jnp.roll(a, -2, dim) * jnp.roll(b, -1, dim)


@op(backward_name="LinalgCrossBackward0", out=Out(refuses=out_dtypes.EXPECTED))
def cross(input: Tensor, other: Tensor, dim: int | None = None):
    """Return the cross product along ``dim``, or along the first dimension of size 3. See torch.cross."""
    if dim is None:
        check.require(3 in input.shape, "no dimension of size 3 in input")
        dim = input.shape.index(3)
    return cross_product(input, other, dim)


@op(name="linalg.cross", out=Out(refuses=out_dtypes.EXPECTED))
def linalg_cross(input: Tensor, other: Tensor, *, dim: int = -1):
    """Return the cross product along ``dim``. See torch.linalg.cross."""
    return cross_product(input, other, dim)
