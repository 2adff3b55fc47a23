"""Functions shared by pointwise ops: PyTorch's "not implemented for" errors, its derivatives and its division."""
from __future__ import annotations

from collections.abc import Callable

import jax
import jax.numpy as jnp
import numpy as np
from jax import lax
from jax.custom_derivatives import SymbolicZero

from jtorch.ops import check, promotion
from jtorch.ops.named import by_name
from jtorch.ops.registry import T

NEVER = (np.False_, np.int64(0))    # the result of a value check if the dtypes exclude the error


def kind(x) -> str:
    """Return the kind of the elements: ``b``, ``i``, ``f`` or ``c``."""
    d = np.dtype(x.dtype)
    return "f" if promotion.is_float(d) else {"b": "b", "c": "c"}.get(d.kind, "i")


def unsupported(kernel: str, x, kinds: str) -> None:
    """Raise PyTorch's error for a dtype of these kinds: ``"abs_cpu" not implemented for 'Bool'``."""
    if kind(x) in kinds:
        raise NotImplementedError(f"\"{kernel}\" not implemented for '{check.scalar_name(x.dtype)}'")


def only_double(kernel: str, x) -> None:
    """Raise for dtypes without float32 or float64 kernel in PyTorch: complex and 16-bit floats."""
    unsupported(kernel, x, "c" if np.dtype(x.dtype).itemsize > 2 else "cf")


def widen(x: jax.Array) -> jax.Array:
    """Return ``x``, cast to float32 if it has 16 bits, as PyTorch's kernels compute."""
    return x.astype(promotion.opmath(np.dtype(x.dtype)))


def broadcast(*arrays) -> list:
    """Return the arrays broadcast to their common shape. Raise RuntimeError if there is none."""
    shape = check.broadcast_shapes(*[a.shape for a in arrays])
    return [jnp.broadcast_to(a, shape) for a in arrays]


def like(x, value):
    """Return the Python number ``value`` as a 0-dim array of ``x``'s dtype."""
    return jnp.asarray(value, x.dtype)


def derivative(*partials: Callable | None, opmath: bool = False) -> Callable[[Callable], Callable[..., jax.Array]]:
    """Define a function's derivatives: ``partial(t, result, *arguments)`` is the tangent for an argument's tangent ``t``.

    Use this if PyTorch's gradient differs from JAX's at ties, bounds or infinities. None means no gradient. ``opmath``: PyTorch
    has a kernel for the backward, so 16-bit gradients are computed in float32 and rounded once.
    """
    def decorate(fn: Callable) -> Callable:
        wrapped = jax.custom_jvp(fn)
        wide = widen if opmath else lambda x: x

        def rule(primals, tangents):
            result = wrapped(*primals)
            terms = [partial(wide(t), wide(result), *map(wide, primals)) for t, partial in zip(tangents, partials, strict=True)
                     if partial is not None and not isinstance(t, SymbolicZero)]
            if not terms:
                return result, SymbolicZero.from_primal_value(result)
            return result, jnp.broadcast_to(sum(terms[1:], terms[0]), result.shape).astype(result.dtype)

        wrapped.defjvp(rule, symbolic_zeros=True)
        return wrapped
    return decorate


def numbered(name: str, position: int, *, tensor: int, number: int) -> Callable:
    """Return a function that gives the node's name, which depends on whether argument ``position`` is a tensor or a number."""
    return lambda template: f"{name}Backward{tensor if template[position] is T else number}"


def beyond_first(template: tuple, edges: tuple) -> bool:
    """Return whether an argument after the first needs a gradient. If none does, some ops save nothing (``frees``)."""
    return any([e is not None for e in edges[1:]])


def quotient(a, b):
    """Return ``a / b``. A complex divisor with two infinite parts gives nan as in NumPy and PyTorch; XLA gives 0."""
    if kind(b) != "c":
        return a / b
    both = jnp.isinf(b.real) & jnp.isinf(b.imag)
    return jnp.where(both, jnp.array(complex(np.nan, np.nan), b.dtype), a / b)


def _divided_exactly(a, b):
    """Return ``a / b`` of floats with exact divisions. XLA would multiply by the reciprocal of a broadcast divisor, so
    that 49 / 49 would be less than 1.
    """
    return a / jnp.where(a != a, a, b)


def _divided_whole(a, b):
    """Return ``a / b`` of integers, rounded towards zero. XLA aborts the process if it folds a constant division by 0."""
    return lax.div(a, jnp.where(b == 0, jnp.ones_like(b), b))


def _rest_whole(a, b):
    """Return the remainder of ``_divided_whole``."""
    return lax.rem(a, jnp.where(b == 0, jnp.ones_like(b), b))


def _is_rounded_up(left, b):
    """Return whether division towards zero, with remainder ``left``, gave one more than floor division."""
    return (left != 0) & ((b < 0) != (left < 0))


def _with_sign_of(b, left):
    """Return the remainder of floor division by ``b`` from that of division towards zero."""
    return jnp.where(_is_rounded_up(left, b), left + b, left)


def _modulo_whole(a, b):
    """Return the remainder of floor division of integers."""
    return _with_sign_of(b, _rest_whole(a, b))


# Maps the names of functions that stay single calls (``by_name``) to the operations by which the host computes them.
ON_HOST = {_divided_exactly.__name__: "div", _divided_whole.__name__: "div", _rest_whole.__name__: "rem",
           _modulo_whole.__name__: "mod", promotion.TRUNCATION: promotion.TRUNCATION}


_exactly, _whole, _rest, _modulo = map(by_name, (_divided_exactly, _divided_whole, _rest_whole, _modulo_whole))


def rest(a, b):
    """Return the remainder of division towards zero."""
    a, b = broadcast(a, b)
    return lax.rem(a, b) if kind(a) == "f" else _rest(a, b)


def modulo(a, b):
    """Return the remainder of floor division, with the sign of ``b``."""
    a, b = broadcast(a, b)
    return _with_sign_of(b, lax.rem(a, b)) if kind(a) == "f" else _modulo(a, b)


@derivative(lambda t, r, a, b: quotient(t, b), lambda t, r, a, b: -t * quotient(r, b))
def divide(a, b):
    """Return ``a / b`` of floats and complex numbers."""
    return _exactly(a, b) if kind(b) == "f" else quotient(a, b)


def logistic(x):
    """Return 1 / (1 + exp(-x))."""
    return quotient(like(x, 1), 1 + jnp.exp(-x)) if kind(x) == "c" else _logistic(x)


@derivative(lambda t, r, x: t * (1 - r) * r, opmath=True)
def _logistic(x):
    return lax.logistic(widen(x)).astype(x.dtype)


def divides_by_zero(input, other, *_, **__):
    """Return (is an integer divided by zero, 0), for ``value_check``."""
    if kind(other) != "i" or kind(input) != "i":
        return NEVER
    return jnp.any(other == 0) & (input.size > 0), jnp.zeros((), jnp.int64)


def unfit(value, dtype):
    """Return whether a number is too large for ``dtype``, for ``value_check``. Integers may wrap below 0.

    Floats are not checked and become infinite, since the engine waits for programs with a check.
    """
    target, of = np.dtype(dtype), kind(value)
    if value.dtype == target or target == np.bool_ or of == "b":
        return NEVER
    if of == "c":
        lost = np.False_ if promotion.is_complex(target) else value.imag != 0
        return lost | unfit(value.real, target.type(0).real.dtype)[0], np.int64(0)
    if promotion.is_float(target) or promotion.is_complex(target):
        return NEVER
    info, value = np.iinfo(target), value.astype(np.float64 if of == "f" else np.int64)
    low = info.min if target.kind == "i" else -info.max
    return ~((value >= low) & (value <= info.max)), np.int64(0)


def as_number(value, dtype):
    """Return a number in another dtype. A complex number loses its imaginary part if the dtype is real."""
    return (value.real if promotion.drops_imaginary(value.dtype, np.dtype(dtype)) else value).astype(dtype)


def zero_division(*_, **__) -> Exception:
    """Return PyTorch's error for an integer divided by zero."""
    return RuntimeError("ZeroDivisionError")


def floor_div(a, b):
    """Return ``a // b``. Floats are divided as in Python, consistently with the remainder."""
    if kind(a) == "i":
        whole = trunc_div(a, b)
        return whole - _is_rounded_up(rest(a, b), b).astype(whole.dtype)
    mod = rest(a, b)
    div = divide(a - mod, b)
    div = jnp.where(_is_rounded_up(mod, b), div - 1, div)
    floor = jnp.floor(div)
    whole = jnp.where(div - floor > 0.5, floor + 1, floor)
    exact = divide(a, b)
    return jnp.where(b == 0, exact, jnp.where(div == 0, jnp.copysign(jnp.zeros_like(div), exact), whole))


def trunc_div(a, b):
    """Return ``a / b`` rounded towards zero."""
    return _whole(*broadcast(a, b)) if kind(a) == "i" else jnp.trunc(divide(a, b))
