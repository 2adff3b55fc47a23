"""torch.utils._pytree: trees of containers, with classes that users register. ``jtorch._base.pytree`` is beneath it."""
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
    """A step of a path: hashable, printed as Python writes it, and followed by ``get``."""

    def get(self, parent: Any) -> Any:
        """What is there in a parent."""


def _list_unflatten(values: Iterable, context: Context) -> list:
    return list(values)


def _tuple_unflatten(values: Iterable, context: Context) -> tuple:
    return tuple(values)


# ---------------------------------------------------------------- classes as containers

def register_pytree_node(cls: type, flatten_fn: FlattenFn, unflatten_fn: UnflattenFn, *, serialized_type_name: str | None = None,
                         to_dumpable_context: ToDumpableContextFn | None = None,
                         from_dumpable_context: FromDumpableContextFn | None = None,
                         flatten_with_keys_fn: Callable | None = None) -> None:
    """Make a class a container of trees. See torch.utils._pytree.register_pytree_node.

    Args:
        cls: the class.
        flatten_fn: gives of an instance its children and a context, which holds all else of it.
        unflatten_fn: gives an instance of children and a context.
        serialized_type_name: what ``treespec_dumps`` calls the class.
        to_dumpable_context: makes of a context what JSON can write, where it can't itself.
        from_dumpable_context: the way back; one is not given without the other.
        flatten_with_keys_fn: as ``flatten_fn``, with (key, child) for each child.

    Raises:
        ValueError: the class is one already, or one of the two context functions is missing.

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
    """The older name, which a class may be given to twice."""
    if to_str_fn is not None or maybe_from_str_fn is not None:
        warned.warn("`to_str_fn` and `maybe_from_str_fn` is deprecated. Please use `to_dumpable_context` and "
                    "`from_dumpable_context` instead.", FutureWarning)
    _private_register_pytree_node(cls, flatten_fn, unflatten_fn, **options)


def _deregister_pytree_node(cls: type) -> None:
    del SUPPORTED_NODES[cls]


def register_dataclass(cls: type, *, field_names: list[str] | None = None, drop_field_names: list[str] | None = None,
                       serialized_type_name: str | None = None) -> None:
    """Make a dataclass a container, whose children are its fields that are not None.

    See torch.utils._pytree.register_dataclass.

    Raises:
        ValueError: ``field_names`` are not those of the fields, or missing for a class that is no dataclass.

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
    """Make instances of a class part of a tree's form, with no leaves. See torch.utils._pytree.register_constant."""
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
    """Return whether it is a named tuple, or the class of one."""
    return is_namedtuple_class(obj if isinstance(obj, type) else type(obj))


def is_namedtuple_instance(obj: object) -> bool:
    """Return whether it is a named tuple."""
    return is_namedtuple_class(type(obj))


def is_structseq(obj: object) -> bool:
    """Return whether it is a struct sequence, or the class of one."""
    return is_structseq_class(obj if isinstance(obj, type) else type(obj))


def is_structseq_instance(obj: object) -> bool:
    """Return whether it is a struct sequence."""
    return is_structseq_class(type(obj))


_is_namedtuple_instance = is_namedtuple_instance
_is_leaf = tree_is_leaf


# ---------------------------------------------------------------- trees

def tree_flatten(tree: PyTree, is_leaf: Callable[[Any], bool] | None = None) -> tuple[list, TreeSpec]:
    """Return the leaves of a tree in order, and its form.

    >>> torch.utils._pytree.tree_flatten({"a": [1, 2], "b": 3})[0]
    [1, 2, 3]
    """
    return pytree.flatten(tree, is_leaf)


def tree_unflatten(leaves: Iterable[Any], treespec: TreeSpec) -> PyTree:
    """Return the tree of a form with these leaves; ValueError where they are too many or too few."""
    if not isinstance(treespec, TreeSpec):
        raise TypeError(f"tree_unflatten(leaves, treespec): Expected `treespec` to be instance of TreeSpec but got item of type "
                        f"{type(treespec)}.")
    return treespec.unflatten(leaves)


def tree_iter(tree: PyTree, is_leaf: Callable[[Any], bool] | None = None) -> Iterable[Any]:
    """Return the leaves, one by one."""
    return iter(pytree.flatten(tree, is_leaf)[0])


def tree_leaves(tree: PyTree, is_leaf: Callable[[Any], bool] | None = None) -> list:
    """Return the leaves."""
    return pytree.flatten(tree, is_leaf)[0]


def tree_structure(tree: PyTree, is_leaf: Callable[[Any], bool] | None = None) -> TreeSpec:
    """Return the form."""
    return pytree.flatten(tree, is_leaf)[1]


def tree_map(func: Callable, tree: PyTree, *rests: PyTree, is_leaf: Callable[[Any], bool] | None = None) -> PyTree:
    """Return the tree with ``func`` of its leaves, and of what is in their places in other trees.

    Raises:
        ValueError: another tree begins otherwise.

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
    """Return a decorator: the function is called for instances of a class, or where a predicate says so; all else stays."""
    chosen = _chooser(type_or_types_or_pred)
    return lambda func: lambda x: func(x) if chosen(x) else x


def tree_map_only(type_or_types_or_pred: Any, /, func: Callable, tree: PyTree, is_leaf: Any = None) -> PyTree:
    """``tree_map`` for the leaves that are of a class, or that a predicate chooses; the others stay."""
    return _tree_map(map_only(type_or_types_or_pred)(func), tree, is_leaf=is_leaf)


def tree_map_only_(type_or_types_or_pred: Any, /, func: Callable, tree: PyTree, is_leaf: Any = None) -> PyTree:
    """``tree_map_`` for such leaves."""
    return tree_map_(map_only(type_or_types_or_pred)(func), tree, is_leaf=is_leaf)


def tree_all(pred: Callable, tree: PyTree, is_leaf: Any = None) -> bool:
    """Return whether ``pred`` is true of all leaves."""
    return all(map(pred, tree_leaves(tree, is_leaf)))


def tree_any(pred: Callable, tree: PyTree, is_leaf: Any = None) -> bool:
    """Return whether ``pred`` is true of a leaf."""
    return any(map(pred, tree_leaves(tree, is_leaf)))


def tree_all_only(type_or_types: Any, /, pred: Callable, tree: PyTree, is_leaf: Any = None) -> bool:
    """Return whether ``pred`` is true of all leaves of a class."""
    return all(pred(x) for x in tree_leaves(tree, is_leaf) if isinstance(x, type_or_types))


def tree_any_only(type_or_types: Any, /, pred: Callable, tree: PyTree, is_leaf: Any = None) -> bool:
    """Return whether ``pred`` is true of a leaf of a class."""
    return any(pred(x) for x in tree_leaves(tree, is_leaf) if isinstance(x, type_or_types))


def arg_tree_leaves(*args: PyTree, **kwargs: PyTree) -> list:
    """Return the leaves of arguments."""
    return tree_leaves((args, kwargs))


def _broadcast_to_and_flatten(tree: PyTree, treespec: TreeSpec, is_leaf: Any = None) -> list | None:
    return pytree.spread(tree, treespec, is_leaf)


# ---------------------------------------------------------------- forms

def treespec_leaf() -> LeafSpec:
    """Return the form of a leaf."""
    return LEAF


def treespec_tuple(iterable: Iterable[TreeSpec] = (), /) -> TreeSpec:
    """Return the form of a tuple of trees of these forms."""
    return TreeSpec(tuple, None, iterable)


def treespec_dict(mapping: Any = (), /, **kwargs: TreeSpec) -> TreeSpec:
    """Return the form of a dict of trees of these forms."""
    made = dict(mapping, **kwargs)
    return TreeSpec(dict, list(made), made.values())


class _Asterisk(str):
    __slots__ = ()

    def __repr__(self) -> str:
        return "*"


def treespec_pprint(treespec: TreeSpec) -> str:
    """Return the form as Python writes the tree, with ``*`` for leaves."""
    return repr(treespec.unflatten([_Asterisk("*")] * treespec.num_leaves))


def treespec_dumps(treespec: TreeSpec, protocol: int | None = None) -> str:
    """Return the form as JSON. NotImplementedError where a class has no ``serialized_type_name``."""
    from jtorch.utils import _pytree_json
    return _pytree_json.dumps(treespec, protocol)


def treespec_loads(serialized: str) -> TreeSpec:
    """Return the form that ``treespec_dumps`` has written."""
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
    """(path, leaf) of each leaf, and the form."""
    return list(_paths((), tree, is_leaf)), tree_structure(tree, is_leaf)


def tree_leaves_with_path(tree: PyTree, is_leaf: Any = None) -> list[tuple[KeyPath, Any]]:
    """(path, leaf) of each leaf."""
    return list(_paths((), tree, is_leaf))


def tree_map_with_path(func: Callable, tree: PyTree, *rests: PyTree, is_leaf: Any = None) -> PyTree:
    """``tree_map`` whose function gets the path of the leaf first."""
    found, spec = tree_flatten_with_path(tree, is_leaf)
    columns = [spec.flatten_up_to(rest) for rest in rests]
    return spec.unflatten([func(*each) for each in zip(*zip(*found, strict=True), *columns, strict=True)] if found else [])


def keystr(kp: KeyPath) -> str:
    """Return a path as Python writes it: ``['a'][0].b``."""
    return "".join(map(str, kp))


def key_get(obj: Any, kp: KeyPath) -> Any:
    """What is at the end of a path."""
    for key in kp:
        obj = key.get(obj)
    return obj


