"""torch.ops.aten: PyTorch's operators with their schemas, implemented by this package's functions.

``_base/aten_schemas.txt`` has all schemas. Operators that are not built exist too, since programs that rewrite graphs compare
with them. Calling them raises an error.
"""
from __future__ import annotations

import functools
from collections.abc import Callable
from pathlib import Path
from typing import Any

from jtorch._api import functions, lazy_modules, nn_functions
from jtorch._base import late_bindings
from jtorch._base.aten_schemas import schemas
from jtorch._base.layout import strided
from jtorch._base.not_built import NotBuiltError
from jtorch._library.aten_forms import FORMS
from jtorch._library.aten_gradients import GRADIENTS
from jtorch._library.aten_kernels import KERNELS
from jtorch._library.operators import OPERATORS, PACKETS, Operator
from jtorch._library.schema import FunctionSchema, parse_schema
from jtorch.tensor import Tensor

_SPACES = ("linalg", "special", "fft")


@functools.cache
def _composites() -> frozenset[str]:
    return frozenset(Path(__file__).with_name("aten_composites.txt").read_text().split())


def is_composite(name: str) -> bool:
    """Return whether PyTorch computes an overload, ``aten::name.overload``, by calling other operators."""
    return name.removeprefix("aten::") in _composites()


def function_of(name: str) -> Callable | None:
    """Return this package's function or method for an operator, or None."""
    if name in FORMS or name in GRADIENTS:
        return FORMS.get(name) or GRADIENTS[name]
    for space in _SPACES:
        if name.startswith(space + "_"):
            module = getattr(functions, space, None) or _module(space)
            found = getattr(module, name[len(space) + 1:], None)
            if found is not None:
                return found
    for place in (vars(functions), vars(nn_functions), vars(Tensor), KERNELS):
        found = place.get(name)
        if callable(found):
            return found
    return lazy_modules.load(name) if lazy_modules.NAMES.get(name, "").startswith("_api.") else None


def _not_built(name: str) -> Callable:
    """Return a function that raises the error of an operator that is not built."""
    def refuse(*args: Any, **kwargs: Any) -> Any:
        raise NotBuiltError(f"torch.ops.aten.{name} is not built: call the functions of torch, torch.nn.functional or Tensor "
                            "that compute the same")
    return refuse


def _module(space: str) -> Any:
    import sys
    return sys.modules[f"jtorch.{space}"]


class AtenOperator(Operator):
    """An overload implemented by a function of this package, which records its own history."""

    def __init__(self, schema: FunctionSchema, function: Callable):
        super().__init__(schema.full_name)
        self.define(schema, [], "")
        self.binder.numbers_are_tensors = True
        self.function = function
        self.kernels["CompositeImplicitAutograd"] = function

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        given = self.binder.as_called(self.binder.bind(args, kwargs))
        made = late_bindings.aten.operator(self, *given) if late_bindings.aten is not None else None
        return self.run(*given) if made is None else made

    def run(self, args: tuple, kwargs: dict) -> Any:
        """Call the function. Several out arguments of the schema become one ``out`` tuple."""
        if kwargs.get("layout") is strided:
            del kwargs["layout"]
        if kwargs.get("pin_memory") is False:
            del kwargs["pin_memory"]
        outs = [a.name for a in self.binder.arguments if a.is_out]
        if outs and all(name in kwargs for name in outs):
            given = [kwargs.pop(name) for name in outs]
            kwargs = {**kwargs, "out": given[0] if len(given) == 1 else tuple(given)}
        return self.function(*args, **kwargs)


def is_dunder(name: str) -> bool:
    """Return whether a name is that of an operator such as ``aten::__and__``."""
    return name.startswith("aten::__") and name[6:] in schemas()


def define(name: str) -> None:
    """Make the overloads of ``aten::name``, if PyTorch has such an operator."""
    texts = schemas().get(name)
    if texts is None:
        return
    function = function_of(name) or _not_built(name)
    for text in texts:
        made = AtenOperator(parse_schema(f"aten::{text}"), function)
        OPERATORS[made.name] = made
        PACKETS.setdefault(f"aten::{name}", []).append(made)
