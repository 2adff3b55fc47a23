"""The named tuples that calls of several results return."""
from __future__ import annotations

from collections import namedtuple

from jtorch.engine import Call

_return_types: dict[tuple, type] = {}


def named(c: Call, out: list):
    """The results as PyTorch returns them: a named tuple where the op names its fields, else a tuple."""
    op = c.op
    if not op.returns:
        return tuple(out)
    return return_type(op.name.replace("linalg.", "linalg_").split(".")[-1], op.returns)(*out)


def return_type(name: str, fields: tuple[str, ...]) -> type:
    """``torch.return_types.max`` and the like."""
    key = (name, fields)
    found = _return_types.get(key)
    if found is None:
        found = _return_types[key] = _make_return_type(name, fields)
    return found


def _make_return_type(name: str, fields: tuple[str, ...]) -> type:
    def show(self):
        return f"torch.return_types.{name}(\n" + ",\n".join(f"{f}={v!r}" for f, v in zip(fields, self, strict=True)) + ")"
    made = namedtuple(name, fields)     # type: ignore[misc]    # noqa: PYI024
    made.__repr__ = show                # type: ignore[assignment]
    return made
