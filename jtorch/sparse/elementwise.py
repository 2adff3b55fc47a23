"""Elementwise functions that map 0 to 0, arithmetic, masks, zeros and copies of sparse tensors."""
from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from jtorch._api import functions
from jtorch.sparse import places
from jtorch.sparse.convert import as_coo, coalesce, like, summed, take, to_dense
from jtorch.sparse.rules import cast_for, not_there, rule
from jtorch.sparse.tensor import CooTensor, SparseTensor, coo, is_sparse, make
from jtorch.tensor import Tensor

_LINEAR = "neg negative positive conj conj_physical resolve_conj resolve_neg"
_KEEP_ZERO = ("abs absolute sqrt square sin sinh asin arcsin asinh arcsinh tan tanh atan arctan atanh arctanh log1p expm1 "
              "floor ceil "
              "round trunc fix sign sgn erf erfinv relu nan_to_num deg2rad rad2deg isnan isinf isposinf isneginf signbit "
              "angle frac")

_OPERATORS = {"neg": "__neg__", "abs": "__abs__", "positive": "__pos__"}


def of_values(t: SparseTensor, function: Callable) -> SparseTensor:
    """Apply a function to the values, and keep the indices."""
    return t.rebuilt(function(t.stored_values))


def _declare(names: str, alone: bool) -> None:
    for name in names.split():
        def apply(t: SparseTensor, *args: Any, name: str = name, **kw: Any) -> Any:
            summed_up = coalesce(t) if alone and isinstance(t, CooTensor) else t
            return of_values(summed_up, lambda v: getattr(functions, name)(v, *args, **kw))

        def in_place(t: SparseTensor, *args: Any, apply: Callable = apply, **kw: Any) -> Any:
            return t.become(cast_for(apply(t, *args, **kw), t, ""))
        rule(name, _OPERATORS.get(name, name))(apply)
        rule(f"{name}_")(in_place)


_declare(_LINEAR, alone=False)
_declare(_KEEP_ZERO, alone=True)


@rule("pow", "__pow__")
def power(t: Any, exponent: Any) -> Any:
    """Compute ``t ** exponent`` of the stored values, for a number other than 0."""
    if is_sparse(exponent) or not is_sparse(t):
        raise not_there("pow", (t, exponent))
    number = exponent.item() if isinstance(exponent, Tensor) else exponent
    if number == 0:
        raise RuntimeError("pow: scalar exponent 0 would make a sparse tensor dense")
    return of_values(coalesce(t) if isinstance(t, CooTensor) else t, lambda v: v ** exponent)


# ---------------------------------------------------------------- products

def _is_number(x: Any) -> bool:
    return not isinstance(x, Tensor) or (not is_sparse(x) and x.dim() == 0)


@rule("mul", "__mul__", "__rmul__", "multiply")
def mul(a: Any, b: Any) -> Any:
    """Multiply by a number, by a dense tensor at the stored indices, or by a sparse tensor at the common indices."""
    if not is_sparse(a):
        a, b = b, a
    if _is_number(b):
        return of_values(a, lambda v: v * b)
    if is_sparse(b):
        return _product(a, b)
    dense = b.expand(a.shape) if tuple(b.shape) != tuple(a.shape) else b
    return of_values(a, lambda v: v * at_places(dense, a))


def at_places(dense: Tensor, t: SparseTensor) -> Tensor:
    """Return a dense tensor's elements at the indices of a sparse one's values."""
    c = as_coo(t)
    rows = tuple(c.stored_indices[0].unbind(0))
    if not rows:
        return dense.expand(t._nnz(), *dense.shape)
    if t.layout is not c.layout and t.layout.name == "sparse_csc":      # The values of a CSC matrix are ordered by columns.
        rows = tuple([places.tensor(r, c.stored_indices[0]) for r in _by_columns(t)])
    found = dense[rows]      # type: ignore[index]
    return found if isinstance(t, CooTensor) else found.reshape(t.stored_values.shape)


def _by_columns(t: SparseTensor) -> tuple[np.ndarray, np.ndarray]:
    starts, rows = map(places.host, t.stored_indices)
    return rows, places.rows_of(starts)


def _product(a: SparseTensor, b: SparseTensor) -> SparseTensor:
    _require_same_size(a, b, "mul")
    x, y = as_coo(a), as_coo(b)
    if x.coalesced and (a is b or a.stored_indices is b.stored_indices):
        return of_values(a, lambda v: v * b.stored_values)
    y = coalesce(y)
    sizes = tuple(x.shape)[:x.sparse_dim()]
    numbers = [places.flat(places.host(t.stored_indices[0]), sizes) for t in (x, y)]
    left, right = places.lookup(*numbers)
    indices = places.tensor(places.unflat(numbers[0][left], sizes), x.stored_indices[0])
    made = coo(indices, take(x.stored_values, left) * take(y.stored_values, right), tuple(a.shape), x.coalesced)
    return like(made, a)


@rule("div", "__truediv__", "__div__", "true_divide", "divide")
def div(a: Any, b: Any, *, rounding_mode: Any = None) -> Any:
    """Divide by a number."""
    if not is_sparse(a):
        raise not_there("reciprocal", (b,))
    if not _is_number(b):
        raise RuntimeError("Sparse division requires a scalar or zero-dim dense tensor divisor (got shape "
                           f"{list(b.shape)} for divisor)")
    return of_values(a, lambda v: functions.div(v, b, rounding_mode=rounding_mode))


# ---------------------------------------------------------------- sums

def _require_same_size(a: Any, b: Any, name: str) -> None:
    if tuple(a.shape) != tuple(b.shape):
        raise RuntimeError(f"{name}: expected sizes of 'self' and 'other' to match, but {list(a.shape)} != {list(b.shape)}")


@rule("add", "__add__")
def add(a: Any, b: Any, *, alpha: Any = 1) -> Any:
    """Add two sparse tensors, or a sparse tensor to a dense one."""
    if is_sparse(a) and is_sparse(b):
        return _sum(a, b, alpha)
    if is_sparse(a) and a.is_sparse:
        raise RuntimeError("add(sparse, dense) is not supported. Use add(dense, sparse) instead.")
    if not isinstance(a, Tensor) or not isinstance(b, Tensor) or tuple(a.shape) != tuple(b.shape):
        sizes = [list(x.shape) if isinstance(x, Tensor) else [] for x in (a, b)]
        raise RuntimeError(f"add: expected 'self' and 'other' to have same size, but self has size {sizes[1]} while other "
                           "has size "
                           f"{sizes[0]} (FYI: op2-sparse addition does not currently support broadcasting)")
    if is_sparse(a):
        return functions.add(to_dense(a), b, alpha=alpha)       # type: ignore[arg-type]
    return functions.add(a, to_dense(b), alpha=alpha)       # type: ignore[arg-type]


def _sum(a: SparseTensor, b: SparseTensor, alpha: Any) -> SparseTensor:
    _require_same_size(a, b, "add")
    other = b.stored_values * alpha if alpha != 1 else b.stored_values
    if a is b or a.stored_indices is b.stored_indices:
        return a.rebuilt(a.stored_values + other)
    x, y = as_coo(a), as_coo(b)
    second = as_coo(b.rebuilt(other)).stored_values
    indices = np.concatenate([places.host(x.stored_indices[0]), places.host(y.stored_indices[0])], 1)
    made = coo(places.tensor(indices, x.stored_indices[0]), functions.cat([x.stored_values, second]), tuple(a.shape))
    if not _in_order(x) or not _in_order(y):
        return like(made, a)
    return like(coalesce(made)._coalesced_(x.coalesced and y.coalesced), a)


def _in_order(t: CooTensor) -> bool:
    """Return whether the indices are unique and sorted. ``_sum`` coalesces its result only if this holds for both arguments."""
    if t.coalesced:
        return True
    numbers = places.flat(places.host(t.stored_indices[0]), tuple(t.shape)[:t.sparse_dim()])
    return bool((np.diff(numbers) > 0).all())


@rule("sub", "__sub__", "subtract")
def sub(a: Any, b: Any, *, alpha: Any = 1) -> Any:
    """Subtract two sparse tensors, or a sparse tensor from a dense one."""
    if is_sparse(a) and is_sparse(b):
        return _sum(a, b, -alpha)
    if is_sparse(a):
        raise RuntimeError("sub(sparse, dense) is not supported. Use sub(dense, sparse) instead.")
    return add(a, b, alpha=-alpha)


@rule("__radd__")
def _added_to(b: Any, a: Any) -> Any:
    return add(a, b)


@rule("__rsub__", "rsub")
def _subtracted_from(b: Any, a: Any) -> Any:
    return sub(a, b)


def _in_place(function: Callable, *names: str) -> None:
    def write(t: Any, *args: Any, **kw: Any) -> Any:
        made = function(t, *args, **kw)
        if is_sparse(t):
            return t.become(cast_for(made, t, names[0].strip("_")))
        if is_sparse(made):
            raise not_there(names[0], (made,))
        return t.copy_(made)
    rule(*names)(write)


for _f, *_names in ((add, "add_", "__iadd__"), (sub, "sub_", "__isub__", "subtract_"), (mul, "mul_", "__imul__", "multiply_"),
                    (div, "div_", "__itruediv__", "__idiv__", "divide_"), (power, "pow_", "__ipow__")):
    _in_place(_f, *_names)


# ---------------------------------------------------------------- masks, zeros and copies

@rule("sparse_mask")
def sparse_mask(t: Tensor, mask: SparseTensor) -> SparseTensor:
    """Return the elements of ``t`` at the indices of ``mask``. See torch.Tensor.sparse_mask."""
    if tuple(t.shape) != tuple(mask.shape):
        raise RuntimeError(f"sparse_mask(): operands have incompatible sizes; self has size {list(t.shape)} but mask has size "
                           f"{list(mask.shape)}")
    return mask.rebuilt(at_places(to_dense(t) if isinstance(t, SparseTensor) else t, mask))


@rule("zeros_like")
def zeros_like(t: SparseTensor, *, dtype: Any = None, device: Any = None, requires_grad: bool = False, **kw: Any) -> SparseTensor:
    """Return a sparse tensor of the same shape without values."""
    values = functions.zeros((0, *t.stored_values.shape[1:]), dtype=dtype or t.dtype, device=device or t.device,
                             requires_grad=requires_grad)
    none = places.tensor(np.zeros((t.sparse_dim(), 0), np.int64), values)
    if isinstance(t, CooTensor):
        return coo(none, values, tuple(t.shape), True)
    starts = places.tensor(np.zeros(t.stored_indices[0].shape[0], np.int64), values)
    return make(type(t), (starts, places.tensor(np.zeros(0, np.int64), values)), values, tuple(t.shape))


@rule("zero_")
def zero_(t: SparseTensor) -> SparseTensor:
    """Remove all values."""
    return t.become(zeros_like(t.detach()))


@rule("copy_")
def copy_(t: Any, source: Any, non_blocking: bool = False) -> Any:
    """Copy the elements of another tensor."""
    if not is_sparse(t):
        return t.copy_(to_dense(source))
    if not is_sparse(source):
        raise RuntimeError("copy_() between dense and sparse Tensors is not implemented! Found self type = "
                           "torch.sparse.FloatTensor and src type = torch.FloatTensor")
    _require_same_size(t, source, "copy_")
    return t.become(like(source.rebuilt(source.stored_values.to(t.dtype).clone()), t))


__all__ = ["add", "at_places", "copy_", "div", "mul", "of_values", "power", "sparse_mask", "sub", "summed", "zero_", "zeros_like"]
