"""torch._foreach_add and related functions: one op for each tensor of a list, with operands from other lists."""
from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from jtorch._api import functions
from jtorch._api.names import put
from jtorch.tensor import Tensor

_ONE = ("abs acos asin atan ceil cos cosh erf erfc exp expm1 floor frac lgamma log log10 log1p log2 neg reciprocal round rsqrt "
        "sigmoid sign sin sinh sqrt tan tanh trunc").split()
_TWO = "add sub mul div clamp_max clamp_min maximum minimum pow".split()
_THREE = "lerp addcmul addcdiv".split()
_OF_NUMBERS = {"maximum": "clamp_min", "minimum": "clamp_max"}      # maps an op to the op for operands that are numbers


def _check(first: Any, others: Sequence[Any]) -> None:
    if not isinstance(first, (list, tuple)):
        raise TypeError(f"argument 'self' (position 1) must be tuple of Tensors, not {type(first).__name__}")
    if not first:
        raise RuntimeError("Tensor list must have at least one tensor.")
    for other in others:
        if isinstance(other, (list, tuple)) and len(other) != len(first):
            if any(isinstance(x, Tensor) for x in other):
                raise RuntimeError(f"Tensor lists must have the same number of tensors, got {len(first)} and {len(other)}")
            raise RuntimeError("Tensor list must have same number of elements as scalar list.")


def _at(given: Any, k: int) -> Any:
    return given[k] if isinstance(given, (list, tuple)) else given


def _one_by_one(tensors: Any, others: Sequence[Any], call: Callable) -> tuple:
    _check(tensors, others)
    return tuple([call(t, *[_at(o, k) for o in others]) for k, t in enumerate(tensors)])


def _method(name: str, of_numbers: str | None) -> Callable:
    def call(t: Tensor, *args: Any, **kw: Any) -> Tensor:
        other = of_numbers is not None and not isinstance(args[0], Tensor)
        if not other and name in ("maximum_", "minimum_"):      # Tensor has no methods maximum_ and minimum_
            return t.copy_(getattr(t, name[:-1])(*args, **kw))      # type: ignore[attr-defined,no-any-return]
        return getattr(t, of_numbers if other else name)(*args, **kw)       # type: ignore[arg-type,no-any-return]
    return call


def _binary(name: str) -> Callable:
    """Make ``_foreach_<name>(self, other)``. ``other`` is a list of tensors or numbers, or one operand for all."""
    base = name.removesuffix("_")
    numbers = _OF_NUMBERS.get(base)
    call = _method(name, numbers and numbers + "_" * name.endswith("_"))

    def foreach(self: Any, *args: Any, **kw: Any) -> Any:
        named = [kw.pop(n) for n in ("other", "scalars", "scalar", "exponent") if n in kw]
        others = [*args, *named]
        if base == "pow" and not isinstance(self, (list, tuple)):
            return _one_by_one(others[0], [], lambda exponent: functions.pow(self, exponent))
        return _one_by_one(self, others, lambda t, *rest: call(t, *rest, **kw))
    return foreach


def _ternary(name: str) -> Callable:
    """Make ``_foreach_<name>(self, tensors1, tensors2 or weights, numbers)``."""
    def foreach(self: Any, *args: Any, **kw: Any) -> Any:
        names = ("tensors1", "tensor1", "tensor2", "weights", "weight", "scalars", "value")
        others = [*args, *[kw[n] for n in names if n in kw]]
        if name.startswith("lerp"):
            return _one_by_one(self, others, lambda t, end, weight: getattr(t, name)(end, weight))
        value = others[2] if len(others) > 2 else 1
        values = value.tolist() if isinstance(value, Tensor) else value
        return _one_by_one(self, [*others[:2], values], lambda t, a, b, v: getattr(t, name)(a, b, value=v))
    return foreach


def _norm(self: Any, ord: Any = 2, dtype: Any = None) -> tuple:
    norm = functions.linalg.vector_norm
    return _one_by_one(self, [], lambda t: norm(t, ord, dtype=dtype))


def _powsum(self: Any, ord: Any = 2, dtype: Any = None) -> tuple:
    return _one_by_one(self, [], lambda t: t.abs().pow(ord).sum(dtype=dtype))


def _copy(self: Any, src: Any, non_blocking: bool = False) -> tuple:
    return _one_by_one(self, [src], lambda t, s: t.copy_(s, non_blocking))


def _clone(self: Any, *, memory_format: Any = None) -> tuple:
    return _one_by_one(self, [], lambda t: t.clone() if memory_format is None else t.clone(memory_format=memory_format))


def _in_place(made: Callable) -> Callable:
    def foreach(self: Any, *args: Any, **kw: Any) -> Any:
        made(self, *args, **kw)
        return self
    return foreach


def bind() -> None:
    """Add the functions to the package."""
    made: dict[str, Callable] = {
        "norm": _norm, "powsum": _powsum, "copy_": _in_place(_copy), "clone": _clone,
        "max": lambda self: _one_by_one(self, [], lambda t: t.max()),
        "mm": lambda self, mat2: _one_by_one(self, [mat2], functions.mm),
        "zero_": _in_place(lambda self: _one_by_one(self, [], lambda t: t.zero_()))}
    for names, kind in ((_ONE, _binary), (_TWO, _binary), (_THREE, _ternary)):
        for name in names:
            made[name], made[f"{name}_"] = kind(name), _in_place(kind(f"{name}_"))
    for name, function in made.items():
        function.__name__ = function.__qualname__ = f"_foreach_{name}"
        function.__doc__ = f"``{name}`` of each tensor of a list. See torch._foreach_{name}."
    put(functions, {f"_foreach_{name}": function for name, function in made.items()})
