"""PyTorch's pytrees: the registry of container classes, flattening and tree specs.

Unlike in JAX's pytrees, dicts keep their order and None is a leaf. ``torch.utils._pytree`` and ``torch.func`` use this module.
"""
from __future__ import annotations

import operator
import threading
import types
from collections import OrderedDict, defaultdict, deque, namedtuple
from collections.abc import Callable, Hashable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

from jtorch._base import warned

Context = Any


class NodeDef(NamedTuple):
    """The functions of a container class: flattening to (children, context), and unflattening."""

    type: type
    flatten_fn: Callable[[Any], tuple[list, Context]]
    unflatten_fn: Callable[[Iterable, Context], Any]
    flatten_with_keys_fn: Callable[[Any], tuple[list, Context]] | None


SUPPORTED_NODES: dict[Any, NodeDef] = {}
_lock = threading.RLock()


def register(cls: Any, flatten_fn: Callable, unflatten_fn: Callable, flatten_with_keys_fn: Callable | None = None) -> None:
    """Register a class as a container. Warn if it is registered already."""
    with _lock:
        if cls in SUPPORTED_NODES:
            warned.warn(f"{cls} is already registered as pytree node. Overwriting the previous registration.")
        SUPPORTED_NODES[cls] = NodeDef(cls, flatten_fn, unflatten_fn, flatten_with_keys_fn)


# ---------------------------------------------------------------- the keys of a path

@dataclass(frozen=True)
class SequenceKey:
    """An index of a sequence."""

    idx: int

    def __str__(self) -> str:
        return f"[{self.idx!r}]"

    def get(self, sequence: Sequence) -> Any:
        """Return the element."""
        return sequence[self.idx]


@dataclass(frozen=True)
class MappingKey:
    """A key of a mapping."""

    key: Hashable

    def __str__(self) -> str:
        return f"[{self.key!r}]"

    def get(self, mapping: Mapping) -> Any:
        """Return the value."""
        return mapping[self.key]


@dataclass(frozen=True)
class GetAttrKey:
    """An attribute."""

    name: str

    def __str__(self) -> str:
        return f".{self.name}"

    def get(self, obj: Any) -> Any:
        """Return the attribute's value."""
        return getattr(obj, self.name)


# ---------------------------------------------------------------- the containers of Python

def is_namedtuple_class(cls: Any) -> bool:
    """Return whether a class was made by ``namedtuple`` or derives from such a class."""
    fields = getattr(cls, "_fields", None)
    return isinstance(cls, type) and issubclass(cls, tuple) and type(fields) is tuple \
        and all(type(f) is str for f in fields) and callable(getattr(cls, "_make", None)) \
        and callable(getattr(cls, "_asdict", None))


def is_structseq_class(cls: Any) -> bool:
    """Return whether a class is a struct sequence, such as ``time.struct_time`` and the results of ``torch.max``."""
    counts = [getattr(cls, n, None) for n in ("n_fields", "n_sequence_fields", "n_unnamed_fields")]
    return isinstance(cls, type) and cls.__bases__ == (tuple,) and all(isinstance(n, int) for n in counts)


def list_flatten(d: Sequence) -> tuple[list, Context]:
    """Return (elements, None)."""
    return list(d), None


def list_flatten_with_keys(d: Sequence) -> tuple[list, Context]:
    """Return ([(key, element), ...], None)."""
    return [(SequenceKey(i), x) for i, x in enumerate(d)], None


def dict_flatten(d: dict) -> tuple[list, Context]:
    """Return (values, keys in their order)."""
    return list(d.values()), list(d)


def dict_flatten_with_keys(d: dict) -> tuple[list, Context]:
    """Return ([(key, value), ...], keys in their order)."""
    return [(MappingKey(k), v) for k, v in d.items()], list(d)


def dict_unflatten(values: Iterable, context: Context) -> dict:
    """Return the dict of the keys in ``context``."""
    return dict(zip(context, values, strict=True))


def _namedtuple_keys(d: Any) -> tuple[list, Context]:
    return [(GetAttrKey(name), getattr(d, name)) for name in type(d)._fields], type(d)


def _defaultdict_flatten(d: defaultdict) -> tuple[list, Context]:
    return list(d.values()), [d.default_factory, list(d)]


def _defaultdict_keys(d: defaultdict) -> tuple[list, Context]:
    return dict_flatten_with_keys(d)[0], [d.default_factory, list(d)]


register(tuple, list_flatten, lambda values, _: tuple(values), list_flatten_with_keys)
register(list, list_flatten, lambda values, _: list(values), list_flatten_with_keys)
register(dict, dict_flatten, dict_unflatten, dict_flatten_with_keys)
register(namedtuple, lambda d: (list(d), type(d)), lambda values, cls: cls(*values), _namedtuple_keys)
register(OrderedDict, dict_flatten, lambda values, keys: OrderedDict(zip(keys, values, strict=True)), dict_flatten_with_keys)
register(defaultdict, _defaultdict_flatten, lambda values, c: defaultdict(c[0], dict_unflatten(values, c[1])), _defaultdict_keys)
register(deque, lambda d: (list(d), d.maxlen), lambda values, n: deque(values, maxlen=n),
         lambda d: (list_flatten_with_keys(d)[0], d.maxlen))
STANDARD_DICT_TYPES = frozenset({dict, OrderedDict, defaultdict})
BUILTIN_TYPES = frozenset({*SUPPORTED_NODES, types.NoneType})


def node_type(tree: Any) -> Any:
    """Return the registry's key for a tree's root: its class, or ``namedtuple``."""
    cls = tree.__class__
    return namedtuple if is_namedtuple_class(cls) else cls


def tree_is_leaf(tree: Any, is_leaf: Callable[[Any], bool] | None = None) -> bool:
    """Return whether a tree's root is no container, or ``is_leaf`` returns True for the root."""
    return node_type(tree) not in SUPPORTED_NODES or (is_leaf is not None and is_leaf(tree))


# ---------------------------------------------------------------- tree specs

class TreeSpec:
    """The structure of a tree: the root's class, its context and the children's specs. See torch.utils._pytree."""

    __slots__ = ("_children", "_context", "num_children", "num_leaves", "num_nodes", "type")

    def __init__(self, type: Any, context: Context, children_specs: Iterable[TreeSpec] = ()):
        self.type, self._context = type, context
        self._children: list[TreeSpec] = list(children_specs)
        self.num_children = len(self._children)
        self.num_leaves: int = sum([c.num_leaves for c in self._children]) if type is not None else 1
        self.num_nodes: int = sum([c.num_nodes for c in self._children]) + 1

    context = property(operator.attrgetter("_context"))
    children_specs = property(operator.attrgetter("_children"))

    def is_leaf(self) -> bool:
        """Return whether the tree is a leaf."""
        return self.type is None

    def children(self) -> list[TreeSpec]:
        """Return the specs of the children."""
        return self._children.copy()

    def child(self, index: int) -> TreeSpec:
        """Return the spec of one child."""
        return self._children[index]

    def unflatten(self, leaves: Iterable[Any]) -> Any:
        """Return the tree with these leaves. Raise ValueError for a wrong number of leaves."""
        leaves = list(leaves)
        if len(leaves) != self.num_leaves:
            raise ValueError(f"treespec.unflatten(leaves): `leaves` has length {len(leaves)} but the spec refers to a pytree "
                             f"that holds {self.num_leaves} items ({self}).")
        return self._built(iter(leaves))

    def _built(self, leaves: Iterator) -> Any:
        if self.type is None:
            return next(leaves)
        return SUPPORTED_NODES[self.type].unflatten_fn([c._built(leaves) for c in self._children], self._context)

    def flatten_up_to(self, tree: Any) -> list[Any]:
        """Return the subtrees of ``tree`` at this spec's leaves. Raise ValueError if the structures differ above them."""
        if self.type is None:
            return [tree]
        return [x for child, part in zip(self._children, self._parts_of(tree), strict=True) for x in child.flatten_up_to(part)]

    def _parts_of(self, tree: Any) -> list:
        """Return the children of a tree whose root must match this spec. The standard dict classes match each other."""
        kind = node_type(tree)
        if self.type in STANDARD_DICT_TYPES and kind in STANDARD_DICT_TYPES:
            return self._values_of(tree)
        if kind != self.type:
            start = "Node type" if self.type in BUILTIN_TYPES else "Type"
            raise ValueError(f"{start} mismatch; expected {self.type!r}, but got {kind!r}.")
        children, context = SUPPORTED_NODES[kind].flatten_fn(tree)
        if len(children) != self.num_children:
            raise ValueError(f"Node arity mismatch; expected {self.num_children}, but got {len(children)}.")
        if context != self._context and kind is not deque:
            if self.type in BUILTIN_TYPES:
                raise ValueError(f"Node context mismatch for node type {self.type!r}; expected {self._context!r}, but got "
                                 f"{context!r}.")
            raise ValueError(f"Node context mismatch for custom node type {self.type!r}.")
        return children

    def _values_of(self, tree: dict) -> list:
        if len(tree) != self.num_children:
            raise ValueError(f"Node arity mismatch; expected {self.num_children}, but got {len(tree)}.")
        keys = self._context if self.type is not defaultdict else self._context[1]
        missing, extra = set(keys).difference(tree), set(tree).difference(keys)
        if missing or extra:
            says = (f"; missing key(s): {missing}" if missing else "") + (f"; extra key(s): {extra}" if extra else "")
            raise ValueError(f"Node keys mismatch{says}.")
        return [tree[k] for k in keys]

    def __eq__(self, other: object) -> bool:
        if self is other:
            return True
        if not isinstance(other, TreeSpec):
            return NotImplemented
        return self.type == other.type and self._context == other._context and self._children == other._children

    def __hash__(self) -> int:
        keys = self._context
        if self.type is defaultdict:
            keys = (keys[0], *keys[1])
        elif isinstance(keys, list):
            keys = tuple(keys)
        return hash((self.type, keys, tuple(self._children)))

    def __repr__(self, indent: int = 0) -> str:
        if self.type is None:
            return "*"
        inner = indent + 2
        children = (",\n" + " " * inner).join([c.__repr__(inner) for c in self._children])
        return f"TreeSpec({self.type.__name__}, {self._context}, [{children}])"

    def __reduce__(self) -> tuple:
        return TreeSpec, (self.type, self._context, self._children)


class LeafSpec(TreeSpec):
    """The spec of a leaf."""

    __slots__ = ()

    def __init__(self) -> None:
        super().__init__(None, None)

    def __reduce__(self) -> tuple:
        return LeafSpec, ()


LEAF = LeafSpec()


def flatten(tree: Any, is_leaf: Callable[[Any], bool] | None = None) -> tuple[list, TreeSpec]:
    """Return (the leaves of a tree in order, its spec)."""
    leaves: list = []
    return leaves, _form(tree, leaves, is_leaf)


def _form(tree: Any, leaves: list, is_leaf: Callable | None) -> TreeSpec:
    kind = node_type(tree)
    found = SUPPORTED_NODES.get(kind)
    if found is None or (is_leaf is not None and is_leaf(tree)):
        leaves.append(tree)
        return LEAF
    children, context = found.flatten_fn(tree)
    return TreeSpec(kind, context, [_form(c, leaves, is_leaf) for c in children])


def unflatten(leaves: Iterable[Any], spec: TreeSpec) -> Any:
    """Return the tree with a spec's structure and these leaves."""
    return spec.unflatten(leaves)


def tree_map(func: Callable, tree: Any, *rests: Any, is_leaf: Callable[[Any], bool] | None = None) -> Any:
    """Apply ``func`` to each leaf of ``tree`` and the corresponding subtrees of ``rests``. Return the tree of results."""
    leaves, spec = flatten(tree, is_leaf)
    columns = [spec.flatten_up_to(rest) for rest in rests]
    return spec.unflatten([func(*each) for each in zip(leaves, *columns, strict=True)])


def spread(prefix: Any, spec: TreeSpec, is_leaf: Callable[[Any], bool] | None = None) -> list | None:
    """Return a value for each leaf of ``spec`` from a prefix tree, whose leaves count for whole subtrees.

    Return None if the prefix does not match the spec.
    """
    if tree_is_leaf(prefix, is_leaf):
        return [prefix] * spec.num_leaves
    if spec.is_leaf() or node_type(prefix) != spec.type:
        return None
    children, context = SUPPORTED_NODES[spec.type].flatten_fn(prefix)
    if len(children) != spec.num_children or context != spec._context:
        return None
    found = [spread(c, s, is_leaf) for c, s in zip(children, spec._children, strict=True)]
    return None if any([p is None for p in found]) else [x for p in found for x in p]      # type: ignore[union-attr]
