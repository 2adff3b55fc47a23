"""Node: a call, input, attribute or result of a graph. See torch.fx.Node."""
from __future__ import annotations

import operator
import sys
import types
from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Any

from jtorch._api.settings import typename
from jtorch._api.typed_tensors import MemoryFormat
from jtorch._base.layout import layout
from jtorch.device import device
from jtorch.dtype import dtype
from jtorch.fx._paths import module_name, path_of, qualified_name
from jtorch.fx.immutable_collections import immutable_dict, immutable_list
from jtorch.tensor import Tensor

if TYPE_CHECKING:
    from jtorch.fx.graph import Graph

__all__ = ["Node", "has_side_effect", "map_aggregate", "map_arg"]

base_types = (str, int, float, bool, complex, dtype, Tensor, device, MemoryFormat, layout)
Target = Callable[..., Any] | str
Argument = Any
OPS = ("placeholder", "call_method", "call_module", "call_function", "get_attr", "output", "root")
_get_qualified_name = qualified_name
_side_effectful_functions: set[Callable] = {operator.setitem}


def has_side_effect(fn: Callable) -> Callable:
    """Register a function whose calls are kept even without users. See torch.fx.node.has_side_effect."""
    _side_effectful_functions.add(fn)
    return fn


def map_arg(a: Argument, fn: Callable[[Node], Argument]) -> Argument:
    """Apply ``fn`` to each node in an argument. See torch.fx.node.map_arg."""
    if not callable(fn):
        raise AssertionError("torch.fx.map_arg(a, fn): fn must be a callable")
    return map_aggregate(a, lambda x: fn(x) if isinstance(x, Node) else x)


def map_aggregate(a: Argument, fn: Callable[[Argument], Argument]) -> Argument:
    """Apply ``fn`` to each value in an argument's tuples, lists, dicts and slices. See torch.fx.node.map_aggregate."""
    if isinstance(a, tuple):
        mapped = [map_aggregate(x, fn) for x in a]
        return type(a)(*mapped) if hasattr(a, "_fields") else tuple(mapped)
    if isinstance(a, list):
        return immutable_list([map_aggregate(x, fn) for x in a])
    if isinstance(a, dict):
        return immutable_dict({k: map_aggregate(v, fn) for k, v in a.items()})
    if isinstance(a, slice):
        return slice(*[map_aggregate(x, fn) for x in (a.start, a.stop, a.step)])
    return fn(a)


def type_repr(obj: Any) -> str:
    """Return the text of a type in generated code and printed graphs."""
    if isinstance(obj, type) and not isinstance(obj, types.GenericAlias):
        if obj.__module__ == "builtins":
            return obj.__qualname__
        return qualified_name(obj) if getattr(sys.modules["jtorch"], obj.__name__, None) is obj \
            else f"{module_name(obj)}.{obj.__qualname__}"
    if obj is ...:
        return "..."
    if isinstance(obj, types.FunctionType):
        return obj.__name__
    return repr(obj).replace("jtorch.tensor.Tensor", "torch.Tensor").replace("jtorch.", "torch.")


_type_repr = type_repr


def _format_arg(arg: Any, limit: float = float("inf")) -> str:
    if hasattr(arg, "_custom_fx_repr_fn"):
        return arg._custom_fx_repr_fn()
    if isinstance(arg, (list, tuple)):
        opened, closed = "[]" if isinstance(arg, list) else "()"
        shown = ", ".join([_format_arg(a) for i, a in enumerate(arg) if i < limit])
        more = ", ...<truncated>" if len(arg) > limit else ""
        return f"{opened}{shown}{more}{',' if isinstance(arg, tuple) and len(arg) == 1 else ''}{closed}"
    if isinstance(arg, dict):
        return "{" + ", ".join([f"{k}: {_format_arg(v)}" for k, v in arg.items()]) + "}"
    return f"%{arg}" if isinstance(arg, Node) else str(arg)


def target_text(target: Any) -> str:
    """Return the text of a node's target in printed graphs."""
    if isinstance(target, str):
        return target
    name = getattr(target, "__name__", None)
    if name is not None and getattr(target, "__module__", None) == "builtins":
        return f"builtins.{name}"
    if name is not None and getattr(target, "__module__", None) == "_operator":
        return f"operator.{name}"
    return qualified_name(target)


class Node:
    """One operation of a graph: an opcode, a target, and arguments that may contain other nodes. See torch.fx.Node.

    ``Graph.create_node`` creates nodes. ``args`` and ``kwargs`` can be assigned; ``users`` are the nodes that use this one;
    ``meta`` is a dict for passes.
    """

    graph: Graph
    name: str
    op: str
    target: Any
    type: Any
    users: dict[Node, None]
    meta: dict[str, Any]
    _input_nodes: dict[Node, None]
    _erased: bool
    _repr_fn: Callable[[Node], str] | None
    _sort_key: tuple
    _args: tuple
    _kwargs: dict[str, Any]

    def __init__(self, graph: Graph, name: str, op: str, target: Target, args: tuple, kwargs: dict[str, Any],
                 return_type: Any = None):
        if op not in OPS:
            raise AssertionError(f"op '{op}' is not in _legal_ops")
        wanted = "Callable" if op == "call_function" else "str"
        if not (callable(target) if op == "call_function" else isinstance(target, str)):
            raise ValueError(f"Node [graph = {graph}, name = '{name}'] target {target} has type {typename(target)} but a "
                             f"{wanted} is expected")
        self.__dict__.update(graph=graph, name=name, op=op, target=target, type=return_type, users={}, meta={}, _input_nodes={},
                             _erased=False, _repr_fn=None, _sort_key=(), _args=(), _kwargs=immutable_dict())
        self._prev = self._next = self
        self._update_args_kwargs(args, kwargs)

    # ------------------------------------------------------------ position in the graph

    @property
    def next(self) -> Node:
        """The next node."""
        return self._next

    @property
    def prev(self) -> Node:
        """The previous node."""
        return self._prev

    def prepend(self, x: Node) -> None:
        """Insert ``x`` before this node."""
        if self.graph is not x.graph:
            raise AssertionError("Attempting to move a Node into a different Graph")
        if self is x:
            return
        x._remove_from_list()
        before = self._prev
        before._next, x._prev, x._next, self._prev = x, before, self, x
        x._sort_key = _between(before._sort_key, self._sort_key)

    def append(self, x: Node) -> None:
        """Insert ``x`` after this node."""
        if self._next is not x:
            self._next.prepend(x)

    def _remove_from_list(self) -> None:
        self._prev._next, self._next._prev = self._next, self._prev
        self._prev = self._next = self

    def __lt__(self, other: Node) -> bool:
        return self._sort_key < other._sort_key

    def __gt__(self, other: Node) -> bool:
        return self._sort_key > other._sort_key

    def __le__(self, other: Node) -> bool:
        return self._sort_key <= other._sort_key

    def __ge__(self, other: Node) -> bool:
        return self._sort_key >= other._sort_key

    # ------------------------------------------------------------ arguments

    @property
    def args(self) -> tuple:
        """The positional arguments; an assignment updates the users of their nodes."""
        return self._args

    @args.setter
    def args(self, a: tuple) -> None:
        self._update_args_kwargs(a, self._kwargs)

    @property
    def kwargs(self) -> dict[str, Any]:
        """The arguments by name; an assignment updates the users of their nodes."""
        return self._kwargs

    @kwargs.setter
    def kwargs(self, k: dict[str, Any]) -> None:
        self._update_args_kwargs(self._args, k)

    @property
    def all_input_nodes(self) -> list[Node]:
        """The nodes among the arguments, each once."""
        return list(self._input_nodes)

    def _update_args_kwargs(self, args: tuple, kwargs: Mapping[str, Any]) -> None:
        for node in self._input_nodes:
            node.users.pop(self, None)
        inputs: dict[Node, None] = {}

        def noted(node: Node) -> Node:
            inputs.setdefault(node)
            return node
        self.__dict__["_args"], self.__dict__["_kwargs"] = map_arg(tuple(args), noted), map_arg(dict(kwargs), noted)
        self._input_nodes = inputs
        for node in inputs:
            node.users.setdefault(self)

    def update_arg(self, idx: int, arg: Argument) -> None:
        """Replace a positional argument."""
        self.args = (*self.args[:idx], arg, *self.args[idx:][1:])

    def insert_arg(self, idx: int, arg: Argument) -> None:
        """Insert a positional argument before another."""
        if not 0 <= idx <= len(self.args):
            raise AssertionError(f"insert_args index must be between 0 and len(self.args), got {idx}")
        self.args = (*self.args[:idx], arg, *self.args[idx:])

    def update_kwarg(self, key: str, arg: Argument) -> None:
        """Replace an argument that is given by name."""
        self.kwargs = {**self.kwargs, key: arg}

    def replace_all_uses_with(self, replace_with: Node, delete_user_cb: Callable[[Node], bool] | None = None, *,
                              propagate_meta: bool = False) -> list[Node]:
        """Replace this node in its users, or in those that ``delete_user_cb`` accepts, and return these. See torch.fx.Node."""
        if propagate_meta:
            if replace_with.meta:
                raise AssertionError("Called node.replace_all_uses_with(replace_with, propagate_meta=True), but replace_with "
                                     "already has .meta keys")
            replace_with.meta.update(self.meta)
        users = [u for u in self.users if delete_user_cb is None or delete_user_cb(u)]
        for user in users:
            user.replace_input_with(self, replace_with)
        return users

    def replace_input_with(self, old_input: Node, new_input: Node) -> None:
        """Replace a node by another one among the arguments."""
        for hook in getattr(self.graph.owning_module, "_replace_hooks", ()):
            hook(old=old_input, new=new_input.name, user=self)

        def other(n: Node) -> Node:
            return new_input if n is old_input else n
        self._update_args_kwargs(map_arg(self.args, other), map_arg(self.kwargs, other))

    _replace_input_with = replace_input_with

    # ------------------------------------------------------------ properties

    @property
    def stack_trace(self) -> str | None:
        """The lines of the program that created the node, if they were recorded."""
        return self.meta.get("stack_trace")

    @stack_trace.setter
    def stack_trace(self, trace: str | None) -> None:
        self.meta["stack_trace"] = trace

    def is_impure(self, impure_random: bool = True) -> bool:
        """Return whether the node is kept even without users. See torch.fx.Node.is_impure."""
        if self.op in ("placeholder", "output"):
            return True
        if self.op == "call_function":
            return self.target in _side_effectful_functions or _draws(self.target) or \
                getattr(self.target, "__name__", "") == "_assert"
        if self.op == "call_module":
            if self.graph.owning_module is None:
                raise AssertionError("self.graph.owning_module not set for purity check")
            return getattr(self.graph.owning_module.get_submodule(self.target), "_is_impure", False)
        return False

    def normalized_arguments(self, root: Any, arg_types: Any = None, kwarg_types: Any = None,
                             normalize_to_only_use_kwargs: bool = False) -> Any:
        """Return the arguments normalized to the callee's signature; None if it is unknown. See torch.fx.Node."""
        from jtorch.fx.operator_schemas import normalize_function, normalize_module
        if self.op == "call_function":
            return normalize_function(self.target, self.args, self.kwargs, arg_types, kwarg_types,     # type: ignore[arg-type]
                                      normalize_to_only_use_kwargs)
        if self.op == "call_module":
            return normalize_module(root, self.target, self.args, self.kwargs, normalize_to_only_use_kwargs)    # type: ignore[arg-type]
        return None

    def _rename(self, candidate: str) -> None:
        if candidate != self.name:
            self.name = self.graph._graph_namespace.create_name(candidate, None)
            self.graph._graph_namespace._rename_object(self, self.name)

    def __setattr__(self, name: str, value: Any) -> None:
        if name == "name":
            for hook in getattr(self.graph.owning_module, "_replace_hooks", ()):
                for user in self.users:
                    hook(old=self, new=value, user=user)
        lookup = self.graph._find_nodes_lookup_table if name in ("op", "target") else None
        if lookup is None or self not in lookup:
            object.__setattr__(self, name, value)
            return
        lookup.remove(self)
        object.__setattr__(self, name, value)
        lookup.insert(self)

    # ------------------------------------------------------------ text

    def __repr__(self) -> str:
        return self._repr_fn(self) if self._repr_fn else self.name

    _pretty_print_target = staticmethod(target_text)

    def format_node(self, placeholder_names: list[str] | None = None, maybe_return_typename: list[str] | None = None, *,
                    include_tensor_metadata: bool = False) -> str | None:
        """Return the node as a line of text. See torch.fx.Node.format_node."""
        kind = f"{type_repr(self.type)} " if self.type is not None else ""
        start = f"%{self.name} : {kind}[num_users={len(self.users)}] = {self.op}"
        if self.op == "placeholder":
            default = f"(default={self.args[0]})" if self.args else ""
            return f"{start}[target={self.target}]{default}"
        if self.op == "get_attr":
            return f"{start}[target={target_text(self.target)}]"
        if self.op == "output":
            if self.type and maybe_return_typename:
                maybe_return_typename[0] = f" -> {type_repr(self.type)}"
            return f"return {self.args[0]}"
        return f"{start}[target={target_text(self.target)}](args = {_format_arg(self.args)}, kwargs = {_format_arg(self.kwargs)})"


_RANDOM = frozenset(("rand", "randn", "randint", "randperm", "rand_like", "randn_like", "randint_like", "normal", "poisson",
                     "bernoulli", "multinomial"))


def _draws(target: Any) -> bool:
    """Return whether a function draws random numbers, so that later functions depend on its call."""
    path = path_of(target) or ""
    return path.startswith("torch.") and path[len("torch."):] in _RANDOM


def _between(before: tuple, after: tuple) -> tuple:
    """Return a key that sorts between two keys."""
    if len(before) > len(after):
        return (*before[:len(after)], before[len(after)] + 1)
    if len(before) < len(after):
        return (*after[:len(before)], after[len(before)] - 1)
    return (*before, 0)


def is_argument(a: Any) -> bool:
    """Return whether an object can be a node's argument without conversion."""
    return a is None or a is ... or isinstance(a, base_types)

del MemoryFormat      # PyTorch's module does not have this name.
