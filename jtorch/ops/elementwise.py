"""What the bodies of pointwise ops share: PyTorch's "not implemented for" errors, its derivatives, its division."""
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

NEVER = (np.False_, np.int64(0))    # what a value check returns where the dtypes alone rule the error out


def kind(x) -> str:
    """``b``, ``i``, ``f`` or ``c``: what the elements of ``x`` are."""
    d = np.dtype(x.dtype)
    return "f" if promotion.is_float(d) else {"b": "b", "c": "c"}.get(d.kind, "i")


def unsupported(kernel: str, x, kinds: str) -> None:
    """Raises what PyTorch raises for a dtype of these kinds: ``"abs_cpu" not implemented for 'Bool'``."""
    if kind(x) in kinds:
        raise NotImplementedError(f"\"{kernel}\" not implemented for '{check.scalar_name(x.dtype)}'")


def only_double(kernel: str, x) -> None:
    """Raises for what PyTorch's float32 and float64 kernels do not take: complex and 16-bit floats."""
    unsupported(kernel, x, "c" if np.dtype(x.dtype).itemsize > 2 else "cf")


def widen(x: jax.Array) -> jax.Array:
    """``x``, in float32 if it has 16 bits: PyTorch's kernels compute those in float32."""
    return x.astype(promotion.opmath(np.dtype(x.dtype)))


def broadcast(*arrays) -> list:
    """The arrays in their common shape; RuntimeError where there is none."""
    shape = check.broadcast_shapes(*[a.shape for a in arrays])
    return [jnp.broadcast_to(a, shape) for a in arrays]


def like(x, value):
    """The Python number ``value`` as a 0-dim array of ``x``'s dtype."""
    return jnp.asarray(value, x.dtype)


def derivative(*partials: Callable | None, opmath: bool = False) -> Callable[[Callable], Callable[..., jax.Array]]:
    """Gives a function its derivatives: ``partial(t, result, *arguments)`` is what an argument's tangent ``t`` adds.

    For functions whose gradient PyTorch defines otherwise than JAX, at ties, edges and infinities. None: no gradient. ``opmath``:
    PyTorch has a kernel for the backward, so that of 16-bit floats it is computed in float32 and rounded once.
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
    """The backward name of an op that has one for a tensor and one for a number as its argument at ``position``."""
    return lambda template: f"{name}Backward{tensor if template[position] is T else number}"


def beyond_first(template: tuple, edges: tuple) -> bool:
    """Whether an argument behind the first needs a gradient; where none does, some ops save nothing (``frees``)."""
    return any([e is not None for e in edges[1:]])


def quotient(a, b):
    """``a / b``; nan where a complex divisor is infinite in both parts, as NumPy and PyTorch have it (XLA: 0)."""
    if kind(b) != "c":
        return a / b
    both = jnp.isinf(b.real) & jnp.isinf(b.imag)
    return jnp.where(both, jnp.array(complex(np.nan, np.nan), b.dtype), a / b)


def _divided_exactly(a, b):
    """``a / b`` of floats, each by itself. XLA would multiply by the reciprocal of a divisor that it sees to be broadcast, so
    that 49 / 49 were less than 1.
    """
    return a / jnp.where(a != a, a, b)


def _divided_whole(a, b):
    """``a / b`` of integers, towards zero. XLA ends the process where it divides constants by 0 while it compiles."""
    return lax.div(a, jnp.where(b == 0, jnp.ones_like(b), b))


def _rest_whole(a, b):
    """What ``_divided_whole`` leaves."""
    return lax.rem(a, jnp.where(b == 0, jnp.ones_like(b), b))


def _is_rounded_up(left, b):
    """Whether dividing by ``b`` towards zero, which has ``left`` something, gave one more than floor division."""
    return (left != 0) & ((b < 0) != (left < 0))


def _with_sign_of(b, left):
    """What floor division by ``b`` leaves, from what dividing towards zero does."""
    return jnp.where(_is_rounded_up(left, b), left + b, left)


def _modulo_whole(a, b):
    """What floor division of integers leaves."""
    return _with_sign_of(b, _rest_whole(a, b))


# What the host does instead, which knows these functions by their names.
ON_HOST = {_divided_exactly.__name__: "div", _divided_whole.__name__: "div", _rest_whole.__name__: "rem",
           _modulo_whole.__name__: "mod", promotion.TRUNCATION: promotion.TRUNCATION}


_exactly, _whole, _rest, _modulo = map(by_name, (_divided_exactly, _divided_whole, _rest_whole, _modulo_whole))


def rest(a, b):
    """What dividing towards zero leaves."""
    a, b = broadcast(a, b)
    return lax.rem(a, b) if kind(a) == "f" else _rest(a, b)


def modulo(a, b):
    """What floor division leaves, with the sign of ``b``."""
    a, b = broadcast(a, b)
    return _with_sign_of(b, lax.rem(a, b)) if kind(a) == "f" else _modulo(a, b)


@derivative(lambda t, r, a, b: quotient(t, b), lambda t, r, a, b: -t * quotient(r, b))
def divide(a, b):
    """``a / b`` of floats and complex numbers."""
    return _exactly(a, b) if kind(b) == "f" else quotient(a, b)


def logistic(x):
    """1 / (1 + exp(-x))."""
    return quotient(like(x, 1), 1 + jnp.exp(-x)) if kind(x) == "c" else _logistic(x)


@derivative(lambda t, r, x: t * (1 - r) * r, opmath=True)
def _logistic(x):
    return lax.logistic(widen(x)).astype(x.dtype)


def divides_by_zero(input, other, *_, **__):
    """Whether integers are divided by zero, for ``value_check``."""
    if kind(other) != "i" or kind(input) != "i":
        return NEVER
    return jnp.any(other == 0) & (input.size > 0), jnp.zeros((), jnp.int64)


def unfit(value, dtype):
    """Whether a number is too large for what it is to be written to, for ``value_check``; integers may wrap below 0.

    Floats are not looked at, since programs with such a check are waited for: too large a one becomes infinite.
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
    """A number in another dtype; of a complex one the real part, where that is not complex."""
    return (value.real if promotion.drops_imaginary(value.dtype, np.dtype(dtype)) else value).astype(dtype)


def zero_division(*_, **__) -> Exception:
    """PyTorch's error for an integer divided by zero."""
    return RuntimeError("ZeroDivisionError")


def floor_div(a, b):
    """``a // b``, of floats the way Python does it, so that it agrees with the remainder."""
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
    """``a / b`` rounded towards zero."""
    return _whole(*broadcast(a, b)) if kind(a) == "i" else jnp.trunc(divide(a, b))
