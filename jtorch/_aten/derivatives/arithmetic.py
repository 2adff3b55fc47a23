"""The derivatives of elementwise functions, ``copy_``, ``roll``, ``diag_embed`` and ``pixel_shuffle``."""
from __future__ import annotations

import math
from typing import Any

from jtorch._api import functions as torch
from jtorch._aten.composites.losses import scalar_tensor
from jtorch._aten.context import Context
from jtorch._aten.derivatives.rules import Grads, rule, times, unary
from jtorch._library.namespaces import ops
from jtorch.tensor import Tensor

aten = ops.aten


@rule("add")
def _add(c: Context) -> Grads:
    g, made = c.grad(), {}
    if c.needs_of("input"):
        made["input"] = g
    if c.needs_of("other"):
        made["other"] = times(g, c.alpha)
    return made


@rule("sub")
def _sub(c: Context) -> Grads:
    g, made = c.grad(), {}
    if c.needs_of("input"):
        made["input"] = g
    if c.needs_of("other"):
        made["other"] = -g if c.alpha == 1 else g * -c.alpha
    return made


@rule("mul")
def _mul(c: Context) -> Grads:
    g, made = c.grad(), {}
    if c.needs_of("input"):
        made["input"] = g * _conj(c.other)
    if c.needs_of("other"):
        made["other"] = g * _conj(c.args["input"])
    return made


def _conj(x: Any) -> Any:
    return x.conj() if isinstance(x, Tensor) and x.is_complex() else x


@rule("div", "true_divide")
def _div(c: Context) -> Any:
    if c.args.get("rounding_mode") is not None:
        return NotImplemented
    g, other, made = c.grad(), c.other, {}
    if c.needs_of("other"):
        quotient = (c.args["input"] / other) / other
        made["other"] = -g * _conj(quotient)
    if c.needs_of("input"):
        made["input"] = g / _conj(other)
    return made


@unary("neg")
def _neg(c: Context, g: Any) -> Any:
    return -g


@unary("abs")
def _abs(c: Context, g: Any) -> Any:
    return g * c.args["input"].sgn()


@rule("pow")
def _pow(c: Context) -> Any:
    g, x, n = c.grad(), c.args["input"], c.exponent
    if isinstance(x, Tensor) and not isinstance(n, Tensor):
        if n == 0:
            return {"input": torch.zeros_like(x)}
        return {"input": g * aten.mul.Scalar(x.pow(float(n - 1)), float(n))}
    if isinstance(n, Tensor) and not isinstance(x, Tensor):
        return {_second(c): g * aten.mul.Scalar(c.result(), math.log(x))} if x > 0 else NotImplemented
    return NotImplemented


def _second(c: Context) -> str:
    return c.node.call.op.params[1].name


@unary("square")
def _square(c: Context, g: Any) -> Any:
    return g * aten.mul.Scalar(c.args["input"].pow(1.0), 2.0)


@unary("reciprocal")
def _reciprocal(c: Context, g: Any) -> Any:
    y = c.result()
    squared = y * y
    return -g * squared


@unary("exp")
def _exp(c: Context, g: Any) -> Any:
    return g * c.result()


@unary("log")
def _log(c: Context, g: Any) -> Any:
    return g / c.args["input"]


@unary("log1p")
def _log1p(c: Context, g: Any) -> Any:
    return g / aten.add.Scalar(c.args["input"], 1)


@unary("sqrt")
def _sqrt(c: Context, g: Any) -> Any:
    return g / aten.mul.Scalar(c.result(), 2)


@unary("rsqrt")
def _rsqrt(c: Context, g: Any) -> Any:
    cubed = c.result().pow(3)
    return aten.mul.Scalar(g, -0.5) * cubed


@unary("sin")
def _sin(c: Context, g: Any) -> Any:
    return g * c.args["input"].cos()


@unary("cos")
def _cos(c: Context, g: Any) -> Any:
    return g * -c.args["input"].sin()


@unary("erf")
def _erf(c: Context, g: Any) -> Any:
    return aten.mul.Scalar((-c.args["input"].pow(2)).exp(), 2 / math.sqrt(math.pi)) * g


@unary("clamp", "clamp_min", "clamp_max")
def _clamp(c: Context, g: Any) -> Any:
    x, low, high = c.args["input"], c.args.get("min"), c.args.get("max")
    if isinstance(low, Tensor) or isinstance(high, Tensor) or not g.dtype.is_floating_point:
        return NotImplemented
    zero = scalar_tensor(0.0, g)
    inside = x >= low if low is not None else x <= high
    if low is not None and high is not None:
        inside = inside.logical_and_(x <= high)
    return torch.where(inside, g, zero)


@rule("where")
def _where(c: Context) -> Grads:
    g, made = c.grad(), {}
    if c.needs_of("input"):
        made["input"] = torch.where(c.condition, g, scalar_tensor(0, g))
    if c.needs_of("other"):
        made["other"] = torch.where(c.condition, scalar_tensor(0, g), g)
    return made


@rule("masked_fill")
def _masked_fill(c: Context) -> Any:
    if c.needs_of("value"):
        return NotImplemented
    return {"input": c.grad().masked_fill(c.mask, 0)}


@rule("_copy_over")
def _copy_over(c: Context) -> Grads:
    target, src = (p.name for p in c.node.call.op.params[:2])
    g, made = c.grad(), {}
    if c.needs_of(target):
        made[target] = torch.zeros_like(g)
    if c.needs_of(src):
        made[src] = g if g.dtype is c.args[src].dtype else g.to(c.args[src].dtype)
    return made


@rule("addcmul")
def _addcmul(c: Context) -> Grads:
    g, made = c.grad(), {}
    if c.needs_of("tensor1"):
        made["tensor1"] = g * aten.mul.Scalar(c.tensor2, c.value)
    if c.needs_of("tensor2"):
        made["tensor2"] = g * aten.mul.Scalar(c.tensor1, c.value)
    if c.needs_of("input"):
        made["input"] = g
    return made


@unary("fmod", "remainder")
def _fmod(c: Context, g: Any) -> Any:
    return NotImplemented if c.needs_of("other") else g


@unary("roll")
def _roll(c: Context, g: Any) -> Any:
    if c.args.get("dims") is None:
        return NotImplemented
    shifts, dims = ([x] if x.__class__ is int else list(x) for x in (c.shifts, c.dims))
    return g.roll([-s for s in shifts][::-1], dims[::-1])


@unary("diag_embed")
def _diag_embed(c: Context, g: Any) -> Any:
    return g.diagonal(c.offset, c.dim1, c.dim2)


@unary("pixel_shuffle", "nn.functional.pixel_shuffle")
def _pixel_shuffle(c: Context, g: Any) -> Any:
    return torch.pixel_unshuffle(g, c.upscale_factor)


@rule("maximum", "minimum")
def _maximum(c: Context) -> Grads:
    g, made = c.grad(), {}
    a, b = c.args["input"], c.args["other"]
    greater = c.node.call.op.name == "maximum"
    for name, loses in (("other", torch.gt if greater else torch.lt), ("input", torch.lt if greater else torch.gt)):
        if c.needs_of(name):
            half = aten.div.Scalar(g, 2)
            made[name] = torch.where(a == b, half, g).masked_fill_(loses(a, b), 0)
    return made


@rule("lerp")
def _lerp(c: Context) -> Any:
    if isinstance(c.weight, Tensor):
        return NotImplemented
    g = c.grad()
    return {"input": aten.mul.Scalar(g, 1 - c.weight), "end": aten.mul.Scalar(g, c.weight)}


@unary("fill", "zero")
def _fill(c: Context, g: Any) -> Any:
    return torch.zeros_like(g)
