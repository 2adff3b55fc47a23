"""The named tuples that ops with several results return."""
from __future__ import annotations

import sys
from operator import itemgetter
from typing import Any

import jax

from jtorch._base import pytree
from jtorch.engine import Call

_return_types: dict[tuple, type] = {}


def named(c: Call, out: list):
    """Return the results as PyTorch returns them: a named tuple where the op names its fields, else a tuple."""
    op = c.op
    if not op.returns:
        return tuple(out)
    return tuple.__new__(return_type(op.name.replace("linalg.", "linalg_").split(".")[-1], op.returns), out)


def return_type(name: str, fields: tuple[str, ...]) -> type:
    """Return a class of named tuples, such as ``torch.return_types.max``."""
    key = (name, fields)
    found = _return_types.get(key)
    if found is None:
        found = _return_types[key] = _make_return_type(name, fields)
    return found


def _new(cls: Any, sequence: Any, dict: Any = None) -> Any:
    """Return the results in a sequence; pickles call this with an empty dict."""
    made = tuple.__new__(cls, sequence)
    if len(made) != cls.n_fields:
        raise TypeError(f"torch.return_types.{cls.__name__}() takes a {cls.n_fields}-sequence ({len(made)}-sequence given)")
    return made


def _show(self: Any) -> str:
    """Return the text of the results, each after its name."""
    shown = ",\n".join([f"{f}={v!r}" for f, v in zip(self.__match_args__, self, strict=True)])
    return f"torch.return_types.{type(self).__name__}(\n{shown})"


def _make_return_type(name: str, fields: tuple[str, ...]) -> type:
    """Return a class of struct sequences, as PyTorch's are: made of one sequence, and no ``namedtuple``."""
    n = len(fields)
    made = type(name, (tuple,), {
        "__slots__": (), "__module__": f"{sys.modules['jtorch'].__name__}.return_types", "__match_args__": fields,
        "n_fields": n, "n_sequence_fields": n, "n_unnamed_fields": 0, "__new__": _new, "__repr__": _show,
        "__reduce__": lambda self: (type(self), (tuple(self), {})), **{f: property(itemgetter(i)) for i, f in enumerate(fields)}})
    pytree.register(made, pytree.list_flatten, lambda parts, _: tuple.__new__(made, tuple(parts)))
    jax.tree_util.register_pytree_node(made, lambda t: (tuple(t), None), lambda _, parts: tuple.__new__(made, parts))
    return made
