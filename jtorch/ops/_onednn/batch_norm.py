"""Batch norm's sums as ops of JAX, with their derivatives: what ``batch_norm.cc`` computes where oneDNN is, beside whose
convolutions most of them are.

oneDNN has a batch norm, but for arrays in this order its threads are OpenMP's, for which XLA's wait. Milliseconds of a batch norm
with ``relu`` behind it, forward and backward, as a program, on 2 cores of an Intel machine with AVX-512:

| images, channels, image | by formulas | with this | PyTorch |
|---|---|---|---|
| 16, 64, 32x32 | 1.86 | 1.26 | 1.99 |
| 4, 256, 16x16 | 0.93 | 0.76 | 0.65 |
| 4, 2048, 2x2 | 0.38 | 0.40 | 0.43 |
| 32, 16, 28x28 | 1.09 | 0.86 | 0.95 |
| 2, 16, 128x128 | 1.39 | 0.94 | 1.21 |

Compiling takes less: a ResNet-50's step has 53 of them, 2.5 s by formulas, 1.4 with this.
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

LEAST = 1 << 13         # numbers; fewer are over before anybody is called
LEAST_PLACES = 4        # of a channel; fewer are gone through one by one


def normalizes(x: jax.Array, axes: tuple[int, ...]) -> bool:
    """Whether the mean and variance over these axes are those of channels (dim 1), and computed here."""
    if x.ndim < 3 or axes != (0, *range(2, x.ndim)) or x.dtype != np.float32 or is_spread() or is_portable():
        return False
    if library.version() is None:
        return False
    return not check.are_known(x.shape) or (x.size >= LEAST and x.size >= LEAST_PLACES * x.shape[0] * x.shape[1])


def _along(x: jax.Array) -> tuple[tuple[int, ...], tuple[int, ...]]:
    """The dims that are not the channels', and the shape that numbers of channels have beside ``x``."""
    return (0, *range(2, x.ndim)), (1, x.shape[1], *[1] * (x.ndim - 2))


Formula = Callable[..., tuple[jax.Array, ...]]
Shapes = Callable[..., list[tuple[int, ...]]]


def _several(name: str, formula: Formula, shapes: Shapes) -> Primitive:
    """An op with several results of these shapes, computed by ``formula``, as its derivatives are."""
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
    """The op, computed by a handler of XLA's on the CPU, which takes its options as doubles."""
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
    """What gives the gradients by ``_tangent``'s last three arguments, in which it is linear, of those by its first results."""
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
    """The gradients of ``_tangent`` by its last three: of the result alone, as they mostly are, they are computed here."""
    *given, dx, dweight, dbias = operands
    made = list(map(ad.instantiate_zeros, cotangents))
    of_result_alone = all(type(c) is ad.Zero for c in cotangents[1:])
    found = _gradients_p.bind(*given, made[0]) if of_result_alone else _pull_back(3, *given)(tuple(made))
    return [None] * 4 + [g if ad.is_undefined_primal(v) else None for g, v in zip(found, (dx, dweight, dbias), strict=True)]


ad.primitive_transposes[_tangent_p] = _transposed


def statistics(x: jax.Array, axes: tuple[int, ...], eps: float, correction: int) -> tuple[jax.Array, jax.Array, jax.Array]:
    """What ``_normal_formulas.statistics`` gives, of what this ``normalizes``."""
    mean, var, scale = (v.reshape(_along(x)[1]) for v in _statistics_p.bind(x, eps=float(eps), correction=float(correction)))
    return mean, var, scale


def tangent(x: jax.Array, mean: jax.Array, scale: jax.Array, weight: formulas.Affine, dx: jax.Array, dweight: formulas.Affine,
            dbias: formulas.Affine, axes: tuple[int, ...]) -> tuple[jax.Array, jax.Array, jax.Array]:
    """What ``_normal_formulas.tangent`` gives, of what this ``normalizes``."""
    weight = jnp.ones_like(mean) if weight is None else weight
    dweight, dbias = (jnp.zeros_like(mean) if d is None else d for d in (dweight, dbias))
    mean, scale, weight, dweight, dbias = (v.reshape(-1) for v in (mean, scale, weight, dweight, dbias))
    result, *of_channels = _tangent_p.bind(x, mean, scale, weight, dx, dweight, dbias)
    d_mean, d_var = (d.reshape(_along(x)[1]) for d in of_channels)
    return result, d_mean, d_var


def host_statistics(eps: float, correction: float) -> Callable[[np.ndarray], list[np.ndarray]]:
    """What computes the statistics of an array of NumPy's."""
    def run(x: np.ndarray) -> list[np.ndarray]:
        made = [np.empty(x.shape[1], np.float32) for _ in range(3)]
        library.batch_statistics(np.ascontiguousarray(x), eps, correction, made)
        return made
    return run


def host_gradients(*arrays: np.ndarray) -> list[np.ndarray]:
    """The gradients of arrays of NumPy's."""
    made = [np.empty(shape, np.float32) for shape in _one_of_all(*arrays)]
    library.batch_norm_gradients([np.ascontiguousarray(a) for a in arrays], made)
    return made


def sums_in(text: str) -> int:
    """How many of these sums there are in a program of that text (StableHLO)."""
    return text.count(f"@{library.STATISTICS}") + text.count(f"@{library.GRADIENTS}")
