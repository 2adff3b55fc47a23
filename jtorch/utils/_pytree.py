"""torch.utils._pytree: trees of containers, and the registration of container classes. ``jtorch._base.pytree`` implements it."""
from __future__ import annotations

import dataclasses
import types
from collections import namedtuple
from collections.abc import Callable, Iterable
from typing import Any, Protocol

from jtorch._base import pytree, warned
from jtorch._base.pytree import (
    BUILTIN_TYPES,
    LEAF,
    STANDARD_DICT_TYPES,
    SUPPORTED_NODES,
    Context,
    GetAttrKey,
    LeafSpec,
    MappingKey,
    NodeDef,
    SequenceKey,
    TreeSpec,
    is_namedtuple_class,
    is_structseq_class,
    tree_is_leaf,
)
from jtorch._base.pytree import dict_flatten as _dict_flatten  # noqa: F401  (packages register classes with these)
from jtorch._base.pytree import dict_flatten_with_keys as _dict_flatten_with_keys  # noqa: F401
from jtorch._base.pytree import dict_unflatten as _dict_unflatten  # noqa: F401
from jtorch._base.pytree import list_flatten as _list_flatten
from jtorch._base.pytree import list_flatten_with_keys as _list_flatten_with_keys
from jtorch._base.pytree import node_type as _get_node_type
from jtorch._base.pytree import tree_map as _tree_map

__all__ = [
    "BUILTIN_TYPES",
    "STANDARD_DICT_TYPES",
    "SUPPORTED_NODES",
    "Context",
    "DumpableContext",
    "FlattenFn",
    "FromDumpableContextFn",
    "GetAttrKey",
    "KeyEntry",
    "KeyPath",
    "LeafSpec",
    "MappingKey",
    "NodeDef",
    "PyTree",
    "SequenceKey",
    "ToDumpableContextFn",
    "TreeSpec",
    "UnflattenFn",
    "is_namedtuple",
    "is_namedtuple_class",
    "is_namedtuple_instance",
    "is_structseq",
    "is_structseq_class",
    "is_structseq_instance",
    "key_get",
    "keystr",
    "map_only",
    "register_constant",
    "register_dataclass",
    "register_pytree_node",
    "tree_all",
    "tree_all_only",
    "tree_any",
    "tree_any_only",
    "tree_flatten",
    "tree_flatten_with_path",
    "tree_is_leaf",
    "tree_iter",
    "tree_leaves",
    "tree_leaves_with_path",
    "tree_map",
    "tree_map_",
    "tree_map_only",
    "tree_map_only_",
    "tree_map_with_path",
    "tree_structure",
    "tree_unflatten",
    "treespec_dict",
    "treespec_dumps",
    "treespec_leaf",
    "treespec_loads",
    "treespec_pprint",
    "treespec_tuple",
]

PyTree = Any
DumpableContext = Any
FlattenFn = Callable[[Any], tuple[list, Context]]
UnflattenFn = Callable[[Iterable, Context], Any]
FlattenFuncSpec = Callable[[Any, TreeSpec], list]
ToDumpableContextFn = Callable[[Any], Any]
FromDumpableContextFn = Callable[[Any], Any]
FnAny = Callable[[Any], Any]
KeyPath = tuple[Any, ...]
_LEAF_SPEC = LEAF
_tuple_flatten = _list_flatten
_tuple_flatten_with_keys = _list_flatten_with_keys


class KeyEntry(Protocol):
    """A step of a path from a container to a child. It is hashable, and its text is a Python expression such as ``[0]``."""

    def get(self, parent: Any) -> Any:
        """Return the child of a parent at this key."""


def _list_unflatten(values: Iterable, context: Context) -> list:
    return list(values)


def _tuple_unflatten(values: Iterable, context: Context) -> tuple:
    return tuple(values)


# ---------------------------------------------------------------- classes as containers

def register_pytree_node(cls: type, flatten_fn: FlattenFn, unflatten_fn: UnflattenFn, *, serialized_type_name: str | None = None,
                         to_dumpable_context: ToDumpableContextFn | None = None,
                         from_dumpable_context: FromDumpableContextFn | None = None,
                         flatten_with_keys_fn: Callable | None = None) -> None:
    """Register a class as a container of trees. See torch.utils._pytree.register_pytree_node.

    Args:
        cls: the class.
        flatten_fn: a function that returns an instance's children and a context with everything else about the instance.
        unflatten_fn: a function that makes an instance from children and a context.
        serialized_type_name: the class's name for ``treespec_dumps``.
        to_dumpable_context: a function that converts a context to something that JSON can write.
        from_dumpable_context: the inverse function; both are given, or none.
        flatten_with_keys_fn: a function like ``flatten_fn`` that returns (key, child) pairs.

    Raises:
        ValueError: the class is registered already, or one of the two context functions is missing.

    >>> class Pair:
    ...     def __init__(self, a, b):
    ...         self.a, self.b = a, b
    >>> pytree = torch.utils._pytree
    >>> pytree.register_pytree_node(Pair, lambda p: ([p.a, p.b], None), lambda children, _: Pair(*children))
    >>> pytree.tree_leaves([Pair(1, 2), 3])
    [1, 2, 3]

    """
    if cls in SUPPORTED_NODES:
        raise ValueError(f"{cls} is already registered as pytree node.")
    _private_register_pytree_node(cls, flatten_fn, unflatten_fn, serialized_type_name=serialized_type_name,
                                  to_dumpable_context=to_dumpable_context, from_dumpable_context=from_dumpable_context,
                                  flatten_with_keys_fn=flatten_with_keys_fn)


def _private_register_pytree_node(cls: type, flatten_fn: FlattenFn, unflatten_fn: UnflattenFn, *,
                                  serialized_type_name: str | None = None, to_dumpable_context: Any = None,
                                  from_dumpable_context: Any = None, flatten_with_keys_fn: Any = None) -> None:
    if (to_dumpable_context is None) != (from_dumpable_context is None):
        raise ValueError(f"Both to_dumpable_context and from_dumpable_context for {cls} must be None or registered.")
    pytree.register(cls, flatten_fn, unflatten_fn, flatten_with_keys_fn)
    if serialized_type_name is not None:
        from jtorch.utils import _pytree_json
        _pytree_json.name(cls, serialized_type_name, to_dumpable_context, from_dumpable_context)


def _register_pytree_node(cls: type, flatten_fn: FlattenFn, unflatten_fn: UnflattenFn, to_str_fn: Any = None,
                          maybe_from_str_fn: Any = None, **options: Any) -> None:
    """Register a class by the deprecated function, which accepts a registered class again."""
    if to_str_fn is not None or maybe_from_str_fn is not None:
        warned.warn("`to_str_fn` and `maybe_from_str_fn` is deprecated. Please use `to_dumpable_context` and "
                    "`from_dumpable_context` instead.", FutureWarning)
    _private_register_pytree_node(cls, flatten_fn, unflatten_fn, **options)


def _deregister_pytree_node(cls: type) -> None:
    del SUPPORTED_NODES[cls]


def register_dataclass(cls: type, *, field_names: list[str] | None = None, drop_field_names: list[str] | None = None,
                       serialized_type_name: str | None = None) -> None:
    """Register a dataclass as a container, whose children are its fields that are not None.

    See torch.utils._pytree.register_dataclass.

    Args:
        cls: the dataclass.
        field_names: the names of the fields that are children; needed for a class that is no dataclass.
        drop_field_names: the names of fields that are ignored.
        serialized_type_name: the class's name for ``treespec_dumps``.

    Raises:
        ValueError: ``field_names`` differ from the dataclass's fields, or are missing for a class that is no dataclass.

    """
    names = _field_names(cls, field_names, set(drop_field_names or ()))

    def flatten(obj: Any) -> tuple[list, Context]:
        given = [n for n in names if getattr(obj, n) is not None]
        return [getattr(obj, n) for n in given], [given, [n for n in names if n not in given]]

    def flatten_with_keys(obj: Any) -> tuple[list, Context]:
        values, context = flatten(obj)
        return [(GetAttrKey(n), v) for n, v in zip(context[0], values, strict=True)], context

    def unflatten(values: Iterable, context: Context) -> Any:
        return cls(**dict(zip(context[0], values, strict=True)), **dict.fromkeys(context[1]))

    _private_register_pytree_node(cls, flatten, unflatten, serialized_type_name=serialized_type_name,
                                  flatten_with_keys_fn=flatten_with_keys)


def _field_names(cls: type, given: list[str] | None, dropped: set[str]) -> list[str]:
    if not dataclasses.is_dataclass(cls):
        if given is None:
            raise ValueError(f"field_names must be specified with a list of all fields used to initialize {cls}, as it is not a "
                             "dataclass.")
        return given
    fields = [f.name for f in dataclasses.fields(cls) if f.init and f.name not in dropped]
    if given is not None and set(given) != set(fields):
        raise ValueError(f"field_names does not include all dataclass fields.\nMissing fields in `field_names`: "
                         f"{set(fields) - set(given)}. Unexpected fields in `field_names`: {set(given) - set(fields)}.")
    return given or fields


def register_constant(cls: type) -> None:
    """Register a class whose instances are part of a tree's structure and have no leaves."""
    if cls.__eq__ is object.__eq__:     # type: ignore[comparison-overlap]
        raise TypeError(f"register_constant(cls) expects `cls` to have a non-default `__eq__` implementation. Got: {cls}")
    _private_register_pytree_node(cls, lambda x: ([], x), lambda _, context: context, flatten_with_keys_fn=lambda x: ([], x))


def _register_namedtuple(cls: type, *, serialized_type_name: str) -> None:
    from jtorch.utils import _pytree_json
    found = SUPPORTED_NODES[namedtuple]
    _private_register_pytree_node(cls, found.flatten_fn, found.unflatten_fn, serialized_type_name=serialized_type_name,
                                  to_dumpable_context=_pytree_json.name_of, from_dumpable_context=_pytree_json.named,
                                  flatten_with_keys_fn=found.flatten_with_keys_fn)


def is_namedtuple(obj: object) -> bool:
    """Return whether ``obj`` is a named tuple or a class of named tuples."""
    return is_namedtuple_class(obj if isinstance(obj, type) else type(obj))


def is_namedtuple_instance(obj: object) -> bool:
    """Return whether ``obj`` is a named tuple."""
    return is_namedtuple_class(type(obj))


def is_structseq(obj: object) -> bool:
    """Return whether ``obj`` is a struct sequence or a class of them."""
    return is_structseq_class(obj if isinstance(obj, type) else type(obj))


def is_structseq_instance(obj: object) -> bool:
    """Return whether ``obj`` is a struct sequence."""
    return is_structseq_class(type(obj))


_is_namedtuple_instance = is_namedtuple_instance
_is_leaf = tree_is_leaf


# ---------------------------------------------------------------- trees

def tree_flatten(tree: PyTree, is_leaf: Callable[[Any], bool] | None = None) -> tuple[list, TreeSpec]:
    """Return the leaves of a tree in order, and its structure.

    Args:
        tree: the tree of containers.
        is_leaf: a function that says whether a container is treated as a leaf.

    Returns:
        The list of leaves, and the structure.

    >>> torch.utils._pytree.tree_flatten({"a": [1, 2], "b": 3})[0]
    [1, 2, 3]

    """
    return pytree.flatten(tree, is_leaf)


def tree_unflatten(leaves: Iterable[Any], treespec: TreeSpec) -> PyTree:
    """Return the tree with this structure and these leaves; ValueError if their number is wrong."""
    if not isinstance(treespec, TreeSpec):
        raise TypeError(f"tree_unflatten(leaves, treespec): Expected `treespec` to be instance of TreeSpec but got item of type "
                        f"{type(treespec)}.")
    return treespec.unflatten(leaves)


def tree_iter(tree: PyTree, is_leaf: Callable[[Any], bool] | None = None) -> Iterable[Any]:
    """Return an iterator over the leaves."""
    return iter(pytree.flatten(tree, is_leaf)[0])


def tree_leaves(tree: PyTree, is_leaf: Callable[[Any], bool] | None = None) -> list:
    """Return the leaves."""
    return pytree.flatten(tree, is_leaf)[0]


def tree_structure(tree: PyTree, is_leaf: Callable[[Any], bool] | None = None) -> TreeSpec:
    """Return the structure."""
    return pytree.flatten(tree, is_leaf)[1]


def tree_map(func: Callable, tree: PyTree, *rests: PyTree, is_leaf: Callable[[Any], bool] | None = None) -> PyTree:
    """Apply ``func`` to the leaves of a tree, and to the corresponding subtrees of other trees.

    Args:
        func: a function of one leaf, and of one subtree of each of ``rests``.
        tree: the tree.
        rests: trees that begin with the structure of ``tree``.
        is_leaf: a function that says whether a container is treated as a leaf.

    Returns:
        A tree with the structure of ``tree``.

    Raises:
        ValueError: another tree has another structure.

    >>> torch.utils._pytree.tree_map(lambda x: 2 * x, {"a": 1, "b": (2, 3)})
    {'a': 2, 'b': (4, 6)}

    """
    return _tree_map(func, tree, *rests, is_leaf=is_leaf)


def tree_map_(func: Callable, tree: PyTree, *rests: PyTree, is_leaf: Callable[[Any], bool] | None = None) -> PyTree:
    """Call ``func`` for each leaf and return the tree."""
    _tree_map(func, tree, *rests, is_leaf=is_leaf)
    return tree


def _chooser(type_or_types_or_pred: Any) -> Callable[[Any], bool]:
    wanted = type_or_types_or_pred
    if isinstance(wanted, (type, tuple, types.UnionType)):
        return lambda x: isinstance(x, wanted)
    if callable(wanted):
        return wanted
    raise TypeError("Argument must be a type, a tuple of types, or a callable.")


def map_only(type_or_types_or_pred: Any, /) -> Callable[[Callable], Callable]:
    """Return a decorator whose function is called only for instances of a class, or for objects that satisfy a predicate."""
    chosen = _chooser(type_or_types_or_pred)
    return lambda func: lambda x: func(x) if chosen(x) else x


def tree_map_only(type_or_types_or_pred: Any, /, func: Callable, tree: PyTree, is_leaf: Any = None) -> PyTree:
    """Apply ``func`` to the leaves of a class, or to those that satisfy a predicate; keep the others."""
    return _tree_map(map_only(type_or_types_or_pred)(func), tree, is_leaf=is_leaf)


def tree_map_only_(type_or_types_or_pred: Any, /, func: Callable, tree: PyTree, is_leaf: Any = None) -> PyTree:
    """Call ``func`` for the leaves of a class, or for those that satisfy a predicate; return the tree."""
    return tree_map_(map_only(type_or_types_or_pred)(func), tree, is_leaf=is_leaf)


def tree_all(pred: Callable, tree: PyTree, is_leaf: Any = None) -> bool:
    """Return whether ``pred`` is true for all leaves."""
    return all(map(pred, tree_leaves(tree, is_leaf)))


def tree_any(pred: Callable, tree: PyTree, is_leaf: Any = None) -> bool:
    """Return whether ``pred`` is true for any leaf."""
    return any(map(pred, tree_leaves(tree, is_leaf)))


def tree_all_only(type_or_types: Any, /, pred: Callable, tree: PyTree, is_leaf: Any = None) -> bool:
    """Return whether ``pred`` is true for all leaves of a class."""
    return all(pred(x) for x in tree_leaves(tree, is_leaf) if isinstance(x, type_or_types))


def tree_any_only(type_or_types: Any, /, pred: Callable, tree: PyTree, is_leaf: Any = None) -> bool:
    """Return whether ``pred`` is true for any leaf of a class."""
    return any(pred(x) for x in tree_leaves(tree, is_leaf) if isinstance(x, type_or_types))


def arg_tree_leaves(*args: PyTree, **kwargs: PyTree) -> list:
    """Return the leaves of all arguments."""
    return tree_leaves((args, kwargs))


def _broadcast_to_and_flatten(tree: PyTree, treespec: TreeSpec, is_leaf: Any = None) -> list | None:
    return pytree.spread(tree, treespec, is_leaf)


# ---------------------------------------------------------------- tree specs

def treespec_leaf() -> LeafSpec:
    """Return the structure of a leaf."""
    return LEAF


def treespec_tuple(iterable: Iterable[TreeSpec] = (), /) -> TreeSpec:
    """Return the structure of a tuple of subtrees with these structures."""
    return TreeSpec(tuple, None, iterable)


def treespec_dict(mapping: Any = (), /, **kwargs: TreeSpec) -> TreeSpec:
    """Return the structure of a dict of subtrees with these structures."""
    made = dict(mapping, **kwargs)
    return TreeSpec(dict, list(made), made.values())


class _Asterisk(str):
    __slots__ = ()

    def __repr__(self) -> str:
        return "*"


def treespec_pprint(treespec: TreeSpec) -> str:
    """Return a structure as a Python expression, with ``*`` for leaves."""
    return repr(treespec.unflatten([_Asterisk("*")] * treespec.num_leaves))


def treespec_dumps(treespec: TreeSpec, protocol: int | None = None) -> str:
    """Return a structure as JSON; NotImplementedError if a class has no ``serialized_type_name``."""
    from jtorch.utils import _pytree_json
    return _pytree_json.dumps(treespec, protocol)


def treespec_loads(serialized: str) -> TreeSpec:
    """Return the structure that ``treespec_dumps`` wrote."""
    from jtorch.utils import _pytree_json
    return _pytree_json.loads(serialized)


# ---------------------------------------------------------------- paths

def _paths(path: KeyPath, tree: PyTree, is_leaf: Any) -> Iterable[tuple[KeyPath, Any]]:
    if tree_is_leaf(tree, is_leaf):
        yield path, tree
        return
    found = SUPPORTED_NODES[_get_node_type(tree)]
    if found.flatten_with_keys_fn is None:
        raise ValueError(f"Did not find a flatten_with_keys_fn for type: {found.type}. Please pass a flatten_with_keys_fn "
                         "argument to register_pytree_node.")
    for key, child in found.flatten_with_keys_fn(tree)[0]:
        yield from _paths((*path, key), child, is_leaf)


def tree_flatten_with_path(tree: PyTree, is_leaf: Any = None) -> tuple[list[tuple[KeyPath, Any]], TreeSpec]:
    """Return the (path, leaf) pairs of a tree, and its structure."""
    return list(_paths((), tree, is_leaf)), tree_structure(tree, is_leaf)


def tree_leaves_with_path(tree: PyTree, is_leaf: Any = None) -> list[tuple[KeyPath, Any]]:
    """Return the (path, leaf) pairs of a tree."""
    return list(_paths((), tree, is_leaf))


def tree_map_with_path(func: Callable, tree: PyTree, *rests: PyTree, is_leaf: Any = None) -> PyTree:
    """Apply ``func(path, leaf, ...)`` to the leaves of a tree. See ``tree_map``."""
    found, spec = tree_flatten_with_path(tree, is_leaf)
    columns = [spec.flatten_up_to(rest) for rest in rests]
    return spec.unflatten([func(*each) for each in zip(*zip(*found, strict=True), *columns, strict=True)] if found else [])


def keystr(kp: KeyPath) -> str:
    """Return a path as a Python expression such as ``['a'][0].b``."""
    return "".join(map(str, kp))


def key_get(obj: Any, kp: KeyPath) -> Any:
    """Return the subtree at the end of a path."""
    for key in kp:
        obj = key.get(obj)
    return obj


