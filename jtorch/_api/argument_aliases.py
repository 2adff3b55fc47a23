"""Aliases of the arguments of generated functions: NumPy's names, and old orders of arguments.

All parameters of a generated function are positional. A guard parameter precedes those that PyTorch takes by keyword only.
A call that sets the guard uses an old overload or is an error. So normal calls pay nothing for the aliases.
"""
from __future__ import annotations

import sys
from collections.abc import Sequence
from typing import Any

from jtorch._api.argument_errors import GUARD, MISSING, NUMPY_NAMES, has_overloads, invalid_combination
from jtorch._api.torch_function import as_written
from jtorch._base import warned
from jtorch.ops.registry import Op, Param
from jtorch.tensor import Tensor

MADE = "<jtorch functions made from op records>"     # the file name of generated functions


def numpy_names(params: Sequence[Param]) -> dict[str, tuple[str, ...]]:
    """Return NumPy's names of each parameter, except names of other parameters of the op."""
    names = [p.name for p in params]
    return {n: tuple([a for a in NUMPY_NAMES[n] if a not in names]) for n in names if n in NUMPY_NAMES}


def first_given(op: Op, name: str, given: Any, others: Sequence[Any] = ()) -> Any:
    """Return the argument for a parameter, given under its own name or another. Raise PyTorch's TypeError if it is missing."""
    if given is not MISSING:
        return given
    found = next((v for v in others if v is not MISSING), MISSING)
    if found is not MISSING:
        return found
    frame = sys._getframe(1)
    while frame.f_code.co_filename != MADE and frame.f_back is not None:
        frame = frame.f_back
    if has_overloads(op):
        raise invalid_combination(op, frame)
    values = frame.f_locals
    lacking = [f'"{p.name}"' for p in op.params if values.get(p.name) is MISSING
               and all([values.get(n, MISSING) is MISSING for n in NUMPY_NAMES.get(p.name, ())])]
    # PyTorch writes "arguments" for one, and "argument" for several.
    what = f"required positional argument{'s' if len(lacking) == 1 else ''}"
    raise TypeError(f"{op.name.split('.')[-1]}() missing {len(lacking)} {what}: {', '.join(lacking)}")


def in_old_order(function: Any, op: Op, values: dict[str, Any]) -> Any:
    """Call an old overload, such as ``addcmul(a, value, b, c)``, in today's order. Raise TypeError if there is none."""
    function = as_written(function)
    names = function.__code__.co_varnames[:function.__code__.co_argcount]
    taken = names.index(GUARD)
    by_name = {n: values[n] for n in names[taken + 1:] if values[n] is not _default(function, n)}
    given = [values[n] for n in names[:taken + 1]] + [by_name.pop(n) for n in ("beta", "alpha")
                                                      if isinstance(by_name.get(n), Tensor)]
    numbers = [v for v in given if not isinstance(v, Tensor)]
    words = [p.name for p in op.params if p.kind == "number" and p.keyword_only][:len(numbers)]       # such as beta, alpha
    tensors = [p.name for p in op.params if p.kind.startswith("tensor")]
    stands_for_tensor = len(given) == 3 and len(numbers) == 2 and "alpha" not in by_name      # the second operand is a number
    if words == ["alpha"] and stands_for_tensor:
        first, alpha, second = given if op.name != "rsub" else (given[0], given[2], given[1])
        return function(first, second, alpha=alpha, **by_name)
    if not words or len(words) != len(numbers) or len(given) - len(numbers) != len(tensors):
        raise _too_many(function, op, taken, len(given) + len(by_name))
    _warn(function.__name__, tensors, words)
    return function(*[v for v in given if isinstance(v, Tensor)], **dict(zip(words, numbers, strict=True)), **by_name)


def _default(function: Any, name: str) -> Any:
    names = function.__code__.co_varnames[:function.__code__.co_argcount]
    return function.__defaults__[names.index(name) - len(names) + len(function.__defaults__)]


def _too_many(function: Any, op: Op, taken: int, given: int) -> TypeError:
    if has_overloads(op):
        return invalid_combination(op, sys._getframe(2))
    return TypeError(f"{function.__name__}() takes {taken} positional argument{'s' if taken != 1 else ''} but {given} were given")


def _warn(name: str, tensors: Sequence[str], numbers: Sequence[str]) -> None:
    old = ", ".join([f"Number {n}" for n in numbers] + [f"Tensor {n}" for n in tensors])
    new = ", ".join([f"Tensor {n}" for n in tensors] + ["*"] + [f"Number {n} = 1" for n in numbers])
    warned.warn(f"This overload of {name} is deprecated:\n\t{name}({old})\n"
                f"Consider using one of the following signatures instead:\n\t{name}({new})")
