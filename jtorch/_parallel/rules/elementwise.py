"""Elementwise ops, which are split as their arguments are."""
from __future__ import annotations

from typing import Any

from jtorch._parallel.rule import Rule
from jtorch._parallel.rules.arguments import RULES, dtensors, handler
from jtorch.ops.registry import OPS
from jtorch.tensor import Tensor

# Ops whose result is Partial if their arguments are: both arguments (_BOTH), or the only one (_ONE). See _linear for products
# and quotients.
_BOTH = {"add", "sub", "rsub", "subtract"}
_ONE = {"neg", "negative", "positive", "clone", "contiguous", "to", "float", "double", "half", "bfloat16", "type", "detach",
        "alias", "real", "type_as"}
_FURTHER = ("clone contiguous to float double half bfloat16 int long short bool type type_as where zeros_like "
            "ones_like full_like empty_like relu relu6 gelu silu mish elu celu selu leaky_relu hardtanh hardswish "
            "hardsigmoid softplus softsign threshold logsigmoid tanhshrink softshrink hardshrink sigmoid tanh clamp "
            "clamp_min clamp_max lerp addcmul addcdiv masked_fill copy zero fill nan_to_num isnan isfinite isinf "
            "isclose positive cpu rsub subtract multiply divide true_divide negative absolute bitwise_not logical_not "
            "alias xlogy").split()


def broadcast_labels(shapes: list[tuple[int, ...]]) -> tuple[list[tuple], tuple]:
    """Return the labels of arguments that broadcast with each other, and those of the result."""
    ndim = max([len(s) for s in shapes], default=0)
    wide = [max([s[d - ndim + len(s)] for s in shapes if d - ndim + len(s) >= 0]) for d in range(ndim)]
    if any(0 in s for s in shapes):
        return [(None,) * len(s) for s in shapes], (None,) * ndim
    ins = [tuple([d if s[d - ndim + len(s)] == wide[d] != 1 else None for d in range(ndim - len(s), ndim)]) for s in shapes]
    return ins, tuple([d if n != 1 else None for d, n in enumerate(wide)])


def elementwise(func: Any, args: tuple, kwargs: dict) -> Rule:
    """Return the rule of an elementwise op."""
    from jtorch._parallel.calls import name_of  # late, because ``calls`` imports this module
    given = dtensors(args, kwargs)
    ins, out = broadcast_labels([t._spec.shape for t in given])
    return Rule(ins, [out], linear=_linear(name_of(func), args, kwargs, len(given)))


def _linear(name: str, args: tuple, kwargs: dict, n: int) -> tuple:
    numbers = [a for a in args if not isinstance(a, Tensor)]
    if name in _BOTH:
        return ((True, True),) if n == 2 and not numbers else ()
    if name in _ONE:
        return ((True,) * n,) if n == 1 else ()
    if name in ("mul", "multiply"):
        return ((True,),) if n == 1 else ((True, False), (False, True))
    if name in ("div", "divide", "true_divide") and kwargs.get("rounding_mode") is None:
        first = args and isinstance(args[0], Tensor)
        return (((True,),) if n == 1 and first else ((True, False),) if n == 2 else ())
    return ((True,),) if name in ("zeros_like", "zero", "empty_like") else ()


def _register() -> None:
    for name, op in OPS.items():
        if op.elementwise and op.view is None:
            RULES[name] = elementwise
    RULES.update(dict.fromkeys(_FURTHER, elementwise))


_register()


@handler("detach", "detach_")
def _detach(func: Any, args: tuple, kwargs: dict) -> Any:
    return args[0].data


@handler("item", "__float__", "__int__", "__bool__", "tolist", "numpy", "__index__", "__complex__", "__array__", "is_nonzero")
def _read(func: Any, args: tuple, kwargs: dict) -> Any:
    """Call a function that reads elements, such as ``item``, on whole tensors."""
    from jtorch._parallel.full_tensor import full_tensors
    return func(*full_tensors(args), **kwargs)


@handler("equal")
def _equal(func: Any, args: tuple, kwargs: dict) -> bool:
    from jtorch._parallel.full_tensor import full_tensors
    return func(*full_tensors(args), **kwargs)
