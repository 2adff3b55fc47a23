"""The dynamic sizes of a call."""
from __future__ import annotations

import inspect
import sys
from typing import Any

from jtorch._base.pytree import STANDARD_DICT_TYPES, flatten
from jtorch.export._user_error import UserError
from jtorch.export.dynamic_shapes import Dim, ShapesCollection, _DimHint
from jtorch.nn.modules.module import Module
from jtorch.tensor import Tensor


class OpenSizes:
    """The dynamic sizes of a call: the name, bounds and example of each, and the dims that have it."""

    def __init__(self, model: Any, args: tuple, kwargs: dict[str, Any], given: Any):
        leaves, form = flatten((args, kwargs))
        self.known: dict[str, Dim] = {}
        self.examples: dict[str, int] = {}
        per_leaf = given.of(leaves) if isinstance(given, ShapesCollection) \
            else _spread(_by_position(model, args, kwargs, given), form)
        self.sizes = [self._named(t, shape) for t, shape in zip(leaves, per_leaf, strict=True) if isinstance(t, Tensor)]

    def _named(self, t: Tensor, shape: Any) -> list[str | None]:
        if shape is not None and not isinstance(shape, (dict, list, tuple)):
            raise UserError(f"Unexpected dynamic shape {shape!r} for a tensor: a dict or a sequence of Dims, or None")
        if isinstance(shape, (list, tuple)) and len(shape) != t.dim():
            raise UserError(f"Expected dynamic shape spec {shape} to have the same length as the actual tensor shape "
                            f"{t.shape} (expected {t.dim()}, but got {len(shape)} instead)")
        by_dim = dict(enumerate(shape)) if isinstance(shape, (list, tuple)) \
            else {d % t.dim(): s for d, s in (shape or {}).items()}
        return [self._name(by_dim.get(d), int(n)) for d, n in enumerate(t.shape)]

    def _name(self, dim: Any, size: int) -> str | None:
        if dim is None or dim is Dim.STATIC or (isinstance(dim, int) and dim == size):
            return None
        if isinstance(dim, _DimHint):
            dim = Dim(f"s{len(self.known)}")
        if not isinstance(dim, Dim):
            raise UserError(f"Unexpected dim {dim!r} in dynamic_shapes: a torch.export.Dim, None, or the size itself")
        name = dim.__name__
        if self.examples.setdefault(name, size) != size:
            raise UserError(f"Constraints violated ({name})! The inputs have sizes {self.examples[name]} and {size} for one Dim")
        if not dim.min <= size <= dim.max:
            raise UserError(f"Constraints violated ({name})! The input has size {size}, which is not in [{dim.min}, {dim.max}]")
        self.known[name] = dim
        return name

    def constraints(self) -> list[str]:
        """Return the bounds in the form of jax.export."""
        low = [f"{n} >= {d.min}" for n, d in self.known.items() if d.min > 1]
        return low + [f"{n} <= {d.max}" for n, d in self.known.items() if d.max != sys.maxsize]


def _by_position(model: Any, args: tuple, kwargs: dict[str, Any], given: Any) -> tuple[Any, Any]:
    """Return the dynamic shapes of each argument, in the structure of (args, kwargs)."""
    if given is None:
        return (None,) * len(args), dict.fromkeys(kwargs)
    names = _names(model, args, kwargs)
    if isinstance(given, dict):
        rest = names[-1] if len(given) == 1 and names[-1:] == list(given) and len(names) < len(args) else None
        if set(given) != set(names) and rest is None:
            raise UserError("When `dynamic_shapes` is specified as a dict, its top-level keys must be the arg names "
                            f"{names} of `inputs`, but here they are {list(given)}. Alternatively, you could also ignore arg "
                            "names entirely and specify `dynamic_shapes` as a list/tuple matching `inputs`.")
        entries = list(given[rest]) if rest is not None else [given[n] for n in names]
    else:
        entries = list(given)
    if len(entries) != len(args) + len(kwargs):
        raise UserError(f"dynamic_shapes has {len(entries)} entries for {len(args) + len(kwargs)} inputs")
    return tuple(entries[:len(args)]), dict(zip(kwargs, entries[len(args):], strict=True))


def _names(model: Any, args: tuple, kwargs: dict[str, Any]) -> list[str]:
    called = model.forward if isinstance(model, Module) else model
    bound = inspect.signature(called).bind(*args, **kwargs)
    return [name for p, name in [(inspect.signature(called).parameters[n], n) for n in bound.arguments]
            if p.kind is not p.VAR_KEYWORD] + [k for k in kwargs if k not in bound.arguments]


def _spread(entry: Any, form: Any) -> list[Any]:
    """Return an entry for each leaf; None above leaves stands for None at each."""
    if form.is_leaf():
        return [entry]
    children, keys = form.children(), form.context if form.type in STANDARD_DICT_TYPES else None
    if entry is None:
        return [x for c in children for x in _spread(None, c)]
    if not isinstance(entry, (dict, list, tuple)) or len(entry) != len(children):
        raise UserError(f"dynamic_shapes does not have the form of the inputs: {entry!r}")
    values = [entry[k] for k in keys] if isinstance(keys, list) and isinstance(entry, dict) else list(
        entry.values() if isinstance(entry, dict) else entry)
    return [x for v, c in zip(values, children, strict=True) for x in _spread(v, c)]
