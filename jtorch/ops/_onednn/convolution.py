"""Convolutions by oneDNN as an op of JAX with derivatives: each of its three arrays is bilinear in the two others.

Each thread computes some of the images: XLA's threads in a program, jtorch's own on the host (``shares.h``). If these shares
would be uneven, OpenMP's threads divide the work. See docs/measurements/formulas.md for times.
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
from jtorch.ops.nn._conv_config import ConvConfig

INPUT, FILTERS, RESULT = ARRAYS = range(3)
LEAST = 100_000         # Multiplications and additions. Below this number a call of oneDNN costs more than it saves.

Formula = Callable[[jax.Array, jax.Array, ConvConfig, int], jax.Array]


class Geometry(NamedTuple):
    """The shapes of a convolution's arrays and its configuration."""

    input: tuple[int, ...]
    filters: tuple[int, ...]
    result: tuple[int, ...]
    config: ConvConfig
    groups: int

    @property
    def shapes(self) -> tuple[tuple[int, ...], ...]:
        """The shapes of input, filters and result."""
        return self.input, self.filters, self.result

    def numbers(self, kind: int) -> np.ndarray:
        """Return the geometry as a flat array for ``convolution.cc``. ``kind``: the array to compute."""
        stride, padding, dilation, _ = self.config
        low, high = zip(*padding, strict=True)
        rows = [(kind, self.groups, len(stride)), *self.shapes, stride, low, high, dilation]
        return np.array([n for row in rows for n in row], np.int64)

    @property
    def operations(self) -> int:
        """The number of floating-point operations to compute any one of the arrays."""
        return 2 * math.prod(self.result) * math.prod(self.filters[1:])


def takes(x: jax.Array, geometry: Geometry) -> bool:
    """Return whether oneDNN may compute convolutions of this geometry and of ``x``'s dtype. XLA is faster at small ones."""
    if x.dtype != np.float32 or is_spread() or is_portable() or library.version() is None:
        return False
    pads = [n for pair in geometry.config.padding for n in pair]
    return min(pads) >= 0 and max(geometry.config.spread) == 1 and geometry.operations >= LEAST


@functools.lru_cache(maxsize=4096)
def _is_quick(kind: int, geometry: Geometry) -> bool:
    return not _goes_astray(kind, geometry) and library.is_quick(geometry.numbers(kind))


def _goes_astray(kind: int, geometry: Geometry) -> bool:
    """Return whether oneDNN's kernel might write out of bounds: for the filters' gradient of small padded volumes.

    oneDNN 3.2.0 writes out of bounds, or gives wrong numbers, for some of these geometries. See docs/measurements/formulas.md.
    """
    size, filters, config = geometry.input[2:], geometry.filters[2:], geometry.config
    return kind == FILTERS and len(size) == 3 and max(config.padding[0]) > 0 \
        and any(n < f + step for n, f, step in zip(size, filters, config.stride, strict=True))


def is_quick(kind: int, geometry: Geometry) -> bool:
    """Return whether oneDNN has a fast and correct kernel for this array on this processor.

    With symbolic sizes the answer is True, and the host asks again for the known sizes.
    """
    return not check.are_known([n for shape in geometry.shapes for n in shape]) or _is_quick(kind, geometry)


def computed(kind: int, arrays: Sequence[jax.Array], geometry: Geometry, formula: Formula) -> jax.Array:
    """Compute one of a convolution's arrays from the two others, given in the order input, filters, result.

    ``takes`` must be True for the geometry. If oneDNN has no fast kernel, ``formula(input, filters, config, groups)`` and its
    derivatives are used.
    """
    if not is_quick(kind, geometry):
        return _by_formula(*arrays, kind=kind, geometry=geometry, formula=formula)
    return _primitive.bind(*arrays, kind=kind, geometry=geometry, formula=formula)


def _by_formula(a: jax.Array, b: jax.Array, *, kind: int, geometry: Geometry, formula: Formula) -> jax.Array:
    def convolution(x: jax.Array, weight: jax.Array) -> jax.Array:
        return formula(x, weight, geometry.config, geometry.groups)
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
    """Return the transpose rule by one operand: it computes the operand's array from the cotangent and the other operand."""
    def rule(cotangent: jax.Array, *operands: Any, kind: int, geometry: Geometry, formula: Formula) -> jax.Array:
        names = [array for array in ARRAYS if array != kind]
        given = {kind: cotangent, names[1 - number]: operands[1 - number]}
        return computed(names[number], [given[name] for name in sorted(given)], geometry, formula)
    return rule


ad.defbilinear(_primitive, _transposed(0), _transposed(1))


def _batched(arrays: Sequence[jax.Array], dims: Sequence[int | None], *, kind: int, geometry: Geometry,
             formula: Formula) -> tuple[jax.Array, int]:
    """Return a batch of convolutions: one convolution of more images if all have the same filters, else the formula's batching.

    A batch of gradients of the filters always uses the formula.
    """
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
    """Return a function that computes the array from two NumPy arrays."""
    numbers, shape = geometry.numbers(kind), geometry.shapes[kind]

    def run(a: np.ndarray, b: np.ndarray) -> np.ndarray:
        made = np.empty(shape, np.float32)
        library.convolve(numbers, np.ascontiguousarray(a), np.ascontiguousarray(b), made)
        return made
    return run
