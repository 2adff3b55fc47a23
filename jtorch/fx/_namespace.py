"""Unique names of nodes and globals in generated code, which avoid Python's keywords and builtins."""
from __future__ import annotations

import builtins
import keyword
import math
import re
from typing import Any, NamedTuple

_ILLEGAL_CHARACTERS = re.compile("[^0-9a-zA-Z_]+")
_NUMBERED = re.compile(r"^([a-zA-Z_][0-9a-zA-Z_]*?)(?:_(\d+))?$")
_CAMEL = re.compile("(?<=[a-z])([A-Z])")


class _CustomBuiltin(NamedTuple):
    """A name that all generated code knows: its import statement, and the object."""

    import_str: str
    obj: Any


_custom_builtins: dict[str, _CustomBuiltin] = {}
_illegal_names: dict[str, Any] = {**{k: object() for k in keyword.kwlist}, **vars(builtins)}


def _register_custom_builtin(name: str, import_str: str, obj: Any) -> None:
    """Add a name that all generated code knows. See torch.fx.graph._register_custom_builtin."""
    _custom_builtins[name] = _CustomBuiltin(import_str, obj)
    _illegal_names[name] = obj


def _register_own() -> None:
    from jtorch.device import device
    from jtorch.fx import _pytree as fx_pytree
    from jtorch.fx._paths import torch_in_code
    from jtorch.utils import _pytree
    _register_custom_builtin("inf", "from math import inf", math.inf)
    _register_custom_builtin("nan", "from math import nan", math.nan)
    _register_custom_builtin("NoneType", "NoneType = type(None)", type(None))
    _register_custom_builtin("torch", "import torch", torch_in_code())
    _register_custom_builtin("device", "from torch import device", device)
    _register_custom_builtin("fx_pytree", "import torch.fx._pytree as fx_pytree", fx_pytree)
    _register_custom_builtin("pytree", "import torch.utils._pytree as pytree", _pytree)


_register_own()


def snake_case(s: str) -> str:
    """Convert camel case to snake case: ``MaxPool`` becomes ``max_pool``."""
    return _CAMEL.sub(r"_\1", s).lower()


class _Namespace:
    """The names that are in use, and the objects that have them."""

    def __init__(self) -> None:
        self._obj_to_name: dict[Any, str] = {}
        self._used_names: set[str] = set()
        self._base_count: dict[str, int] = {}

    def create_name(self, candidate: str, obj: Any) -> str:
        """Return the name of an object: ``candidate``, with a number if it is in use."""
        if obj is not None and _hashable(obj) and obj in self._obj_to_name:
            return self._obj_to_name[obj]
        base, number = _parts(candidate)
        candidate = base if number is None else f"{base}_{number}"
        if number is None or candidate in self._used_names:
            n = self._base_count.get(base, 0)
            if candidate in _illegal_names and _illegal_names[candidate] is not obj:
                n += 1
                candidate = f"{base}_{n}"
        else:
            n = int(number)
        while candidate in self._used_names:
            n += 1
            candidate = f"{base}_{n}"
        self._used_names.add(candidate)
        self._base_count[base] = n
        if obj is not None and _hashable(obj):
            self._obj_to_name[obj] = candidate
        return candidate

    def associate_name_with_obj(self, name: str, obj: Any) -> None:
        """Register the object that has this name."""
        if self._obj_to_name.setdefault(obj, name) is not name:
            raise AssertionError("obj is already associated")

    def _rename_object(self, obj: Any, name: str) -> None:
        if obj not in self._obj_to_name:
            raise AssertionError(f"Object {obj} is not in _obj_to_name")
        self._obj_to_name[obj] = name
        self._used_names.add(name)


def _hashable(obj: Any) -> bool:
    return getattr(type(obj), "__hash__", None) is not None


def _parts(candidate: str) -> tuple[str, str | None]:
    """Split a candidate into a legal base name and the number at its end."""
    found = _NUMBERED.match(candidate)
    if found is None:
        candidate = _ILLEGAL_CHARACTERS.sub("_", candidate) or "_unnamed"
        found = _NUMBERED.match(f"_{candidate}" if candidate[0].isdigit() else candidate)
        assert found is not None
    return found.group(1, 2)        # type: ignore[return-value]


def graph_target_name(target: Any) -> str:
    """Return the base name of a node for its target."""
    if callable(target):
        from jtorch.fx._paths import path_of
        found = path_of(target)
        return snake_case(found.rpartition(".")[2] if found else target.__name__)
    name = target[2:-2] if target.startswith("__") and target.endswith("__") else target
    return snake_case(name)


