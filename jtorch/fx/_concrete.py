"""``concrete_args``: arguments that have fixed values while a function is traced."""
from __future__ import annotations

from typing import Any

from jtorch._base import warned
from jtorch.fx._assertion import _assert
from jtorch.fx._wrapped import wrap
from jtorch.fx.node import base_types
from jtorch.tensor import Tensor

__all__ = ["PH", "PHBase", "PHWithMeta"]


class PHBase:
    """Marks an input of the graph in ``concrete_args``. See torch.fx.PH."""

    def __repr__(self) -> str:
        return "PH"


class PHWithMeta(PHBase):
    """Marks an input whose node gets attributes. See torch.fx._symbolic_trace.PHWithMeta."""

    def __init__(self, ph_key: str | None = None):
        self.ph_key = ph_key


PH = PHBase()


def transfer_attrs(source: Any, to: Any) -> None:
    """Copy the attributes of ``source`` that ``to`` lacks, except callables and names with two underscores."""
    for name in dir(source):
        value = getattr(source, name)
        if not callable(value) and not name.startswith("__") and not hasattr(to, name):
            setattr(to, name, value)


def check_input(tracer: Any, made: Any, name: str, x: Any) -> Any:
    """Return the fixed value of an input, and add a node that checks that callers pass it; warn if the value has no check."""
    if isinstance(x, base_types) and not isinstance(x, Tensor):
        _assert(made == x, f"{name} has been specialized to have value {x} but got another value")
    elif x is None:
        tracer.create_proxy("call_function", _assert_is_none, (made, f"{name} has been specialized to have value None but got "
                                                               "another value"), {})
    else:
        warned.warn("Was not able to add assertion to guarantee correct input "
                    f"{name} to specialized function. It is up to the user to make sure that your inputs match the inputs you "
                    "specialized the function with.")
    return x


@wrap
def _assert_is_none(value: Any, msg: str) -> None:
    if value is not None:
        raise AssertionError(msg)
