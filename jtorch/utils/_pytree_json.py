"""Tree structures as JSON, in PyTorch's format."""
from __future__ import annotations

import importlib
import json
from collections import OrderedDict, defaultdict, deque, namedtuple
from collections.abc import Callable
from enum import Enum
from typing import Any, NamedTuple

from jtorch._base.pytree import LEAF, TreeSpec

PROTOCOL = 1


class Serialized(NamedTuple):
    """A class's serialized name, and the functions that convert its contexts to and from JSON."""

    name: str
    dump: Callable | None
    load: Callable | None


_NAMED: dict[Any, Serialized] = {}


def name(cls: Any, called: str, dump: Callable | None = None, load: Callable | None = None) -> None:
    """Register the serialized name of a class."""
    _NAMED[cls] = Serialized(called, dump, load)


def name_of(cls: type) -> str:
    """Return the serialized name of a class of named tuples."""
    if cls not in _NAMED:
        raise NotImplementedError(f"Can't serialize TreeSpec of namedtuple class {cls} because we didn't register a "
                                  "serializated_type_name. Please register using `_register_namedtuple`.")
    return _NAMED[cls].name


def named(called: str) -> type:
    """Return the class of a serialized name."""
    cls = next((c for c, s in _NAMED.items() if s.name == called), None)
    if cls is None:
        raise NotImplementedError(f"Can't deserialize TreeSpec of namedtuple class {called} because we couldn't find a "
                                  "serializated name.")
    return cls


def _dump_defaultdict(context: list) -> dict:
    factory, keys = context
    return {"default_factory_module": factory.__module__, "default_factory_name": factory.__qualname__, "dict_context": keys}


def _load_defaultdict(dumped: dict) -> list:
    made = getattr(importlib.import_module(dumped["default_factory_module"]), dumped["default_factory_name"])
    return [made, dumped["dict_context"]]


for _cls, _called in ((tuple, "builtins.tuple"), (list, "builtins.list"), (dict, "builtins.dict"), (deque, "collections.deque"),
                      (OrderedDict, "collections.OrderedDict")):
    name(_cls, _called)
name(namedtuple, "collections.namedtuple", name_of, named)
name(defaultdict, "collections.defaultdict", _dump_defaultdict, _load_defaultdict)


class _Encoder(json.JSONEncoder):
    def default(self, o: Any) -> Any:
        if isinstance(o, Enum):
            return {"__enum__": True, "fqn": f"{type(o).__module__}:{type(o).__qualname__}", "name": o.name}
        return super().default(o)


def _enum(found: dict) -> Any:
    if "__enum__" not in found:
        return found
    module, _, qualname = found["fqn"].partition(":")
    cls: Any = importlib.import_module(module)
    for part in qualname.split("."):
        cls = getattr(cls, part)
    return cls[found["name"]]


def _written(spec: TreeSpec) -> dict:
    if spec.is_leaf():
        return {"type": None, "context": None, "children_spec": []}
    found = _NAMED.get(spec.type)
    if found is None:
        raise NotImplementedError(f"No registered serialization name for {spec.type} found. Please update your "
                                  "_register_pytree_node call with a `serialized_type_name` kwarg.")
    context = found.dump(spec.context) if found.dump is not None else json.dumps(spec.context, cls=_Encoder)
    return {"type": found.name, "context": context, "children_spec": [_written(c) for c in spec.children()]}


def _read(schema: dict) -> TreeSpec:
    if schema["type"] is None:
        return LEAF
    cls, found = next(((c, s) for c, s in _NAMED.items() if s.name == schema["type"]), (None, None))
    if found is None:
        raise NotImplementedError(f"Deserializing {schema['type']} in pytree is not registered.")
    context = found.load(schema["context"]) if found.load is not None else json.loads(schema["context"], object_hook=_enum)
    return TreeSpec(cls, context, [_read(c) for c in schema["children_spec"]])


def dumps(spec: TreeSpec, protocol: int | None) -> str:
    """Return a structure as JSON."""
    if protocol not in (None, PROTOCOL):
        raise ValueError(f"Unknown protocol {protocol}. Available protocols: {[PROTOCOL]}")
    return json.dumps((PROTOCOL, _written(spec)), cls=_Encoder)


def loads(serialized: str) -> TreeSpec:
    """Return the structure that JSON describes."""
    protocol, schema = json.loads(serialized)
    if protocol != PROTOCOL:
        raise ValueError(f"Unknown protocol {protocol}. Available protocols: {[PROTOCOL]}")
    return _read(schema)
