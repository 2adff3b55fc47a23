"""A convolution by oneDNN as an op of JAX, with its derivatives: of its three arrays each is bilinear in the two others.

Milliseconds of a convolution and its gradients of input and filters, 3x3, on 2 cores of an Intel machine with AVX-512, each
called alone:

| channels, image, batch | without oneDNN | with it | PyTorch |
|---|---|---|---|
| 64 to 64, 32x32, 8 | 2.8 5.3 6.6 | 2.2 4.3 4.3 | 2.2 4.5 4.4 |
| 16 to 16, 64x64, 4 | 0.8 1.4 2.0 | 0.5 0.9 1.0 | 0.4 0.9 0.9 |
| 256 to 256, 8x8, 8 | 3.2 6.1 6.0 | 2.1 4.0 4.3 | 1.9 3.9 4.4 |
| 16 to 16, 14x14, 4 | 0.10 0.22 0.26 | 0.05 0.15 0.15 | 0.07 0.20 0.20 |

A convolution takes about the same time on the host, where it needs no compiler, as in a program, whose compiling takes less
without it. On the host OpenMP's threads compute it, in a program XLA's, each some of the images.
"""
from __future__ import annotations

import functools
import math
from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
from jax.extend.core import Primitive
from jax.interpreters import ad, batching, mlir

from jtorch._base.accelerated import is_portable, is_spread
from jtorch.ops import check
from jtorch.ops._onednn import library
from jtorch.ops.nn._how import How

INPUT, FILTERS, RESULT = ARRAYS = range(3)
LEAST = 100_000         # operations; less is over before anybody is called

Formula = Callable[[jax.Array, jax.Array, How, int], jax.Array]


class Geometry(NamedTuple):
    """The shapes of a convolution's arrays and how the filters go over the input."""

    input: tuple[int, ...]
    filters: tuple[int, ...]
    result: tuple[int, ...]
    how: How
    groups: int

    @property
    def shapes(self) -> tuple[tuple[int, ...], ...]:
        """Those of the arrays."""
        return self.input, self.filters, self.result

    def numbers(self, kind: int) -> np.ndarray:
        """All of it in a row, as ``convolution.cc`` reads it. ``kind``: which of the arrays is computed."""
        stride, padding, dilation, _ = self.how
        low, high = zip(*padding, strict=True)
        rows = [(kind, self.groups, len(stride)), *self.shapes, stride, low, high, dilation]
        return np.array([n for row in rows for n in row], np.int64)

    @property
    def operations(self) -> int:
        """Floating-point operations of any of the arrays."""
        return 2 * math.prod(self.result) * math.prod(self.filters[1:])


def takes(x: jax.Array, geometry: Geometry) -> bool:
    """Whether convolutions of this geometry, of ``x``'s dtype, are for oneDNN: it is there, and there is enough to do."""
    if x.dtype != np.float32 or is_spread() or is_portable() or library.version() is None:
        return False
    pads = [n for pair in geometry.how.padding for n in pair]
    return min(pads) >= 0 and max(geometry.how.spread) == 1 and geometry.operations >= LEAST


@functools.lru_cache(maxsize=4096)
def _is_quick(kind: int, geometry: Geometry) -> bool:
    return not _goes_astray(kind, geometry) and library.is_quick(geometry.numbers(kind))


def _goes_astray(kind: int, geometry: Geometry) -> bool:
    """Whether oneDNN's kernel might write beside its array: that of the filters' gradient in small padded volumes.

    Of 14,208 random geometries in three dimensions, on pages between which nothing may be touched, 348 wrote there or gave wrong
    numbers (oneDNN 3.2.0; PyTorch 2.13's gives such too); all are among these. In one and two dimensions, and for the other
    arrays, none of 280,000 did.
    """
    size, filters, how = geometry.input[2:], geometry.filters[2:], geometry.how
    return kind == FILTERS and len(size) == 3 and max(how.padding[0]) > 0 \
        and any(n < f + step for n, f, step in zip(size, filters, how.stride, strict=True))


def is_quick(kind: int, geometry: Geometry) -> bool:
    """Whether oneDNN has a kernel of its own for this array on this processor, and one to be relied on.

    Where a size is left open that is not known yet, and taken to be so: the host asks again.
    """
    return not check.are_known([n for shape in geometry.shapes for n in shape]) or _is_quick(kind, geometry)


def computed(kind: int, arrays: Sequence[jax.Array], geometry: Geometry, formula: Formula) -> jax.Array:
    """One of a convolution's arrays of the two others, in the order input, filters, result; of a geometry that oneDNN ``takes``.

    What it has no quick kernel for is computed by ``formula(input, filters, how, groups)`` and its derivatives.
    """
    if not is_quick(kind, geometry):
        return _by_formula(*arrays, kind=kind, geometry=geometry, formula=formula)
    return _primitive.bind(*arrays, kind=kind, geometry=geometry, formula=formula)


def _by_formula(a: jax.Array, b: jax.Array, *, kind: int, geometry: Geometry, formula: Formula) -> jax.Array:
    def convolution(x: jax.Array, weight: jax.Array) -> jax.Array:
        return formula(x, weight, geometry.how, geometry.groups)
    if kind == RESULT:
        return convolution(a, b)
    of_it = (lambda x: convolution(x, a)) if kind == INPUT else (lambda weight: convolution(a, weight))
    return jax.vjp(of_it, jnp.zeros(geometry.shapes[kind], a.dtype))[1](b)[0]


_primitive = Primitive("onednn_convolution")


@_primitive.def_abstract_eval
def _described(a: Any, b: Any, *, kind: int, geometry: Geometry, formula: Formula) -> Any:
    return jax.core.ShapedArray(geometry.shapes[kind], a.dtype)


@_primitive.def_impl
def _at_once(a: jax.Array, b: jax.Array, *, kind: int, geometry: Geometry, formula: Formula) -> jax.Array:
    call = jax.ffi.ffi_call(library.CONVOLUTION, jax.ShapeDtypeStruct(geometry.shapes[kind], a.dtype))
    return call(a, b, numbers=geometry.numbers(kind))


def _lowered(context: Any, a: Any, b: Any, *, kind: int, geometry: Geometry, formula: Formula) -> Any:
    return jax.ffi.ffi_lowering(library.CONVOLUTION)(context, a, b, numbers=geometry.numbers(kind))


mlir.register_lowering(_primitive, mlir.lower_fun(_by_formula, multiple_results=False))
mlir.register_lowering(_primitive, _lowered, platform="cpu")


def _transposed(number: int) -> Callable:
    """The derivative by one of the operands: its array, of the cotangent and the other operand."""
    def rule(cotangent: jax.Array, *operands: Any, kind: int, geometry: Geometry, formula: Formula) -> jax.Array:
        names = [array for array in ARRAYS if array != kind]
        given = {kind: cotangent, names[1 - number]: operands[1 - number]}
        return computed(names[number], [given[name] for name in sorted(given)], geometry, formula)
    return rule


ad.defbilinear(_primitive, _transposed(0), _transposed(1))


def _batched(arrays: Sequence[jax.Array], dims: Sequence[int | None], *, kind: int, geometry: Geometry,
             formula: Formula) -> tuple[jax.Array, int]:
    """Several convolutions: with the same filters one of more images, else as the formula does it."""
    rule = functools.partial(_by_formula, kind=kind, geometry=geometry, formula=formula)
    images, filters = (0, 1) if kind == RESULT else (1, 0)
    along = dims[images]
    if kind == FILTERS or dims[filters] is not None or along is None:
        return jax.vmap(rule, in_axes=tuple(dims))(*arrays), 0
    several = jnp.moveaxis(arrays[images], along, 0)
    count, n, *rest = several.shape
    given = [several.reshape(count * n, *rest), arrays[filters]]
    many = geometry._replace(input=(count * n, *geometry.input[1:]), result=(count * n, *geometry.result[1:]))
    out = computed(kind, given if kind == RESULT else given[::-1], many, formula)
    return out.reshape(count, n, *out.shape[1:]), 0


batching.primitive_batchers[_primitive] = _batched


def host_function(kind: int, geometry: Geometry) -> Callable[[np.ndarray, np.ndarray], np.ndarray]:
    """What computes the array of two of NumPy's."""
    numbers, shape = geometry.numbers(kind), geometry.shapes[kind]

    def run(a: np.ndarray, b: np.ndarray) -> np.ndarray:
        made = np.empty(shape, np.float32)
        library.convolve(numbers, np.ascontiguousarray(a), np.ascontiguousarray(b), made)
        return made
    return run
