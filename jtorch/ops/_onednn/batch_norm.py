"""Batch norm's sums as ops of JAX with derivatives, computed by ``batch_norm.cc`` if oneDNN is installed.

oneDNN's own batch norm would use OpenMP's threads if channels are dim 1, and XLA's threads would wait for them. The handlers
are faster than the formulas and compile faster: see docs/measurements/formulas.md.
"""
from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
from jax.extend.core import Primitive
from jax.interpreters import ad, batching, mlir

from jtorch._base.accelerated import is_portable, is_spread
from jtorch.ops import check
from jtorch.ops._onednn import library
from jtorch.ops.nn import _normal_formulas as formulas

LEAST = 1 << 13         # Elements. For smaller arrays a call of a handler costs more than it saves.
LEAST_PLACES = 4        # Elements of a channel per image. The handlers' loops are slow for fewer elements.


def normalizes(x: jax.Array, axes: tuple[int, ...]) -> bool:
    """Return whether the handlers compute the statistics over these axes, which must leave channels (dim 1)."""
    if x.ndim < 3 or axes != (0, *range(2, x.ndim)) or x.dtype != np.float32 or is_spread() or is_portable():
        return False
    if library.version() is None:
        return False
    return not check.are_known(x.shape) or (x.size >= LEAST and x.size >= LEAST_PLACES * x.shape[0] * x.shape[1])


def _along(x: jax.Array) -> tuple[tuple[int, ...], tuple[int, ...]]:
    """Return the dims other than the channels', and the shape of per-channel numbers that broadcasts with ``x``."""
    return (0, *range(2, x.ndim)), (1, x.shape[1], *[1] * (x.ndim - 2))


Formula = Callable[..., tuple[jax.Array, ...]]
Shapes = Callable[..., list[tuple[int, ...]]]


def _several(name: str, formula: Formula, shapes: Shapes) -> Primitive:
    """Return a primitive with several results of these shapes. ``formula`` computes it and its derivatives."""
    def jvp(primals: Sequence[Any], tangents: Sequence[Any], **options: float) -> Any:
        given = tuple(primals), tuple(map(ad.instantiate_zeros, tangents))
        return jax.jvp(lambda *arrays: list(formula(*arrays, **options)), *given)

    def batched(arrays: Sequence[Any], dims: Sequence[int | None], **options: float) -> Any:
        found = jax.vmap(lambda *each: list(formula(*each, **options)), in_axes=tuple(dims))(*arrays)
        return found, [0] * len(found)

    made = Primitive(name)
    made.multiple_results = True
    made.def_impl(formula)
    made.def_abstract_eval(lambda *arrays, **_: [jax.core.ShapedArray(s, arrays[0].dtype) for s in shapes(*arrays)])
    mlir.register_lowering(made, mlir.lower_fun(formula, multiple_results=True))
    ad.primitive_jvps[made], batching.primitive_batchers[made] = jvp, batched
    return made


def _on_cpu(made: Primitive, shapes: Shapes, target: str) -> Primitive:
    """Make an XLA handler compute the primitive on the CPU. The handler takes options as doubles. Return the primitive."""
    def call(*arrays: jax.Array, **options: float) -> Sequence[jax.Array]:
        results = [jax.ShapeDtypeStruct(s, np.float32) for s in shapes(*arrays)]
        return jax.ffi.ffi_call(target, results)(*arrays, **{key: np.float64(x) for key, x in options.items()})

    mlir.register_lowering(made, mlir.lower_fun(call, multiple_results=True), platform="cpu")
    return made


def _statistics(x: jax.Array, *, eps: float, correction: float) -> tuple[jax.Array, ...]:
    mean, var, scale = (v.reshape(-1) for v in formulas.statistics(x, _along(x)[0], eps, correction))
    return mean, var, scale


def _tangent(x: jax.Array, *of_channels_and_dx: jax.Array) -> tuple[jax.Array, ...]:
    axes, shape = _along(x)
    mean, scale, weight, dx, dweight, dbias = (v if v.ndim > 1 else v.reshape(shape) for v in of_channels_and_dx)
    made, d_mean, d_var = formulas.tangent(x, mean, scale, weight, dx, dweight, dbias, axes)
    return made, d_mean.reshape(-1), d_var.reshape(-1)


def _pull_back(results: int, x: jax.Array, mean: jax.Array, scale: jax.Array, weight: jax.Array) -> Callable:
    """Return the transpose of the first ``results`` results of ``_tangent``, which is linear in its last three arguments."""
    none = jnp.zeros_like(weight)
    return jax.vjp(lambda *linear: _tangent(x, mean, scale, weight, *linear)[:results], x, none, none)[1]


def _gradients(x: jax.Array, mean: jax.Array, scale: jax.Array, weight: jax.Array, y: jax.Array) -> tuple[jax.Array, ...]:
    return _pull_back(1, x, mean, scale, weight)((y,))


def _three_of_channels(x: Any) -> list[tuple[int, ...]]:
    return [x.shape[1:2]] * 3


def _one_of_all(x: Any, *_: Any) -> list[tuple[int, ...]]:
    return [x.shape, x.shape[1:2], x.shape[1:2]]


_statistics_p = _on_cpu(_several("batch_statistics", _statistics, _three_of_channels), _three_of_channels, library.STATISTICS)
_gradients_p = _on_cpu(_several("batch_norm_gradients", _gradients, _one_of_all), _one_of_all, library.GRADIENTS)
_tangent_p = _several("batch_norm_tangent", _tangent, _one_of_all)


def _transposed(cotangents: Sequence[Any], *operands: Any) -> list[Any]:
    """Transpose ``_tangent`` by its last three arguments. The handler does so if only the result has a cotangent."""
    *given, dx, dweight, dbias = operands
    made = list(map(ad.instantiate_zeros, cotangents))
    of_result_alone = all(type(c) is ad.Zero for c in cotangents[1:])
    found = _gradients_p.bind(*given, made[0]) if of_result_alone else _pull_back(3, *given)(tuple(made))
    return [None] * 4 + [g if ad.is_undefined_primal(v) else None for g, v in zip(found, (dx, dweight, dbias), strict=True)]


ad.primitive_transposes[_tangent_p] = _transposed


def statistics(x: jax.Array, axes: tuple[int, ...], eps: float, correction: int) -> tuple[jax.Array, jax.Array, jax.Array]:
    """Return ``_normal_formulas.statistics``, computed by the handlers."""
    mean, var, scale = (v.reshape(_along(x)[1]) for v in _statistics_p.bind(x, eps=float(eps), correction=float(correction)))
    return mean, var, scale


def tangent(x: jax.Array, mean: jax.Array, scale: jax.Array, weight: formulas.Affine, dx: jax.Array, dweight: formulas.Affine,
            dbias: formulas.Affine, axes: tuple[int, ...]) -> tuple[jax.Array, jax.Array, jax.Array]:
    """Return ``_normal_formulas.tangent``, computed by its formula. A handler computes the transpose, which backward uses."""
    weight = jnp.ones_like(mean) if weight is None else weight
    dweight, dbias = (jnp.zeros_like(mean) if d is None else d for d in (dweight, dbias))
    mean, scale, weight, dweight, dbias = (v.reshape(-1) for v in (mean, scale, weight, dweight, dbias))
    result, *of_channels = _tangent_p.bind(x, mean, scale, weight, dx, dweight, dbias)
    d_mean, d_var = (d.reshape(_along(x)[1]) for d in of_channels)
    return result, d_mean, d_var


def host_statistics(eps: float, correction: float) -> Callable[[np.ndarray], list[np.ndarray]]:
    """Return a function that computes the statistics of a NumPy array."""
    def run(x: np.ndarray) -> list[np.ndarray]:
        made = [np.empty(x.shape[1], np.float32) for _ in range(3)]
        library.batch_statistics(np.ascontiguousarray(x), eps, correction, made)
        return made
    return run


def host_gradients(*arrays: np.ndarray) -> list[np.ndarray]:
    """Return the gradients of batch norm for NumPy arrays."""
    made = [np.empty(shape, np.float32) for shape in _one_of_all(*arrays)]
    library.batch_norm_gradients([np.ascontiguousarray(a) for a in arrays], made)
    return made


def sums_in(text: str) -> int:
    """Return how many of these handlers a program's text (StableHLO) calls."""
    return text.count(f"@{library.STATISTICS}") + text.count(f"@{library.GRADIENTS}")
