"""Graph: a list of nodes in execution order. See torch.fx.Graph."""
from __future__ import annotations

import contextlib
import copy
import inspect
import sys
from collections.abc import Callable, Iterator
from typing import TYPE_CHECKING, Any

from jtorch._api.settings import typename
from jtorch._base import warned
from jtorch.fx import _pytree as fx_pytree
from jtorch.fx._codegen import CodeGen, PythonCode, _BoxedCodeGen, _PyTreeCodeGen, _PyTreeInfo
from jtorch.fx._magic import inplace_methods, magic_methods, reflectable_magic_methods
from jtorch.fx._namespace import (
    _custom_builtins,
    _Namespace,
    _register_custom_builtin,
    graph_target_name,
    snake_case,
)
from jtorch.fx._paths import is_from_torch
from jtorch.fx.node import OPS, Argument, Node, Target, map_arg, type_repr
from jtorch.nn.modules.module import Module
from jtorch.nn.parameter import Parameter

if TYPE_CHECKING:
    from jtorch.fx.graph_module import GraphModule

__all__ = ["CodeGen", "Graph", "PythonCode"]

_snake_case, _is_from_torch, _type_repr = snake_case, is_from_torch, type_repr


class _node_list:
    """A graph's nodes, in order or reversed; nodes can be erased during the iteration."""

    def __init__(self, graph: Graph, direction: str = "_next"):
        self.graph, self.direction = graph, direction

    def __len__(self) -> int:
        return self.graph._len

    def __iter__(self) -> Iterator[Node]:
        root, at = self.graph._root, getattr(self.graph._root, self.direction)
        while at is not root:
            after = getattr(at, self.direction)
            if not at._erased:
                yield at
                if not at._erased:
                    after = getattr(at, self.direction)
            at = after

    def __reversed__(self) -> _node_list:
        return _node_list(self.graph, "_prev" if self.direction == "_next" else "_next")


class _FindNodesLookupTable:
    """The nodes by opcode, and by function for call_function."""

    def __init__(self) -> None:
        self.table: dict[tuple[str, Any], dict[Node, None]] = {}

    def _key(self, node: Node) -> tuple[str, Any]:
        return node.op, node.target if node.op == "call_function" else None

    def __contains__(self, node: Node) -> bool:
        return node in self.table.get(self._key(node), ())

    def insert(self, node: Node) -> None:
        """Add a node."""
        self.table.setdefault(self._key(node), {})[node] = None

    def remove(self, node: Node) -> None:
        """Remove a node."""
        self.table[self._key(node)].pop(node)

    def find_nodes(self, *, op: str, target: Target | None = None) -> list[Node]:
        """Return all nodes of an opcode, or those that call ``target``."""
        if op == "call_function":
            if target is None:
                raise AssertionError("target must not be None for call_function op")
            return list(self.table.get((op, target), ()))
        return [n for n in self.table.get((op, None), ()) if target is None or n.target == target]


class _InsertPoint:
    """The place where nodes are inserted; the end of its block restores the previous one."""

    def __init__(self, graph: Graph, before: Callable[[Node], None]):
        self.graph, self.before = graph, before

    def __enter__(self) -> None:
        pass

    def __exit__(self, *exc: Any) -> None:
        self.graph._insert = self.before


class Graph:
    """A list of nodes, from placeholders to the output. See torch.fx.Graph.

    Args:
        owning_module: the module whose attributes the nodes use.
        tracer_cls: the class of the tracer that made the graph.
        tracer_extras: arguments of the tracer's ``trace`` by name, for unpickling a module of the graph.

    >>> g = torch.fx.Graph()
    >>> x = g.placeholder("x")
    >>> g.output(g.call_function(torch.relu, (x,)))
    output
    >>> print(torch.fx.GraphModule({}, g)(torch.tensor([-1.0, 2.0])))
    tensor([0., 2.])

    """

    def __init__(self, owning_module: GraphModule | None = None, tracer_cls: type | None = None,
                 tracer_extras: dict[str, Any] | None = None):
        self._find_nodes_lookup_table = _FindNodesLookupTable()
        self.owning_module = owning_module
        self._root = Node(self, "", "root", "", (), {})
        self._insert: Callable[[Node], None] = self._root.prepend
        self._len = 0
        self._graph_namespace = _Namespace()
        self._tracer_cls, self._tracer_extras = tracer_cls, tracer_extras
        self._codegen: CodeGen = CodeGen()
        self._co_fields: dict[str, Any] = {}

    # ------------------------------------------------------------ reading

    @property
    def nodes(self) -> _node_list:
        """The nodes in order."""
        return _node_list(self)

    def output_node(self) -> Node:
        """Return the output, which must be the last node."""
        found = next(iter(reversed(self.nodes)))
        if found.op != "output":
            raise AssertionError(f"Expected output node, got op={found.op}")
        return found

    def find_nodes(self, *, op: str, target: Target | None = None, sort: bool = True) -> list[Node]:
        """Return the nodes of an opcode and target, in order if ``sort``."""
        found = self._find_nodes_lookup_table.find_nodes(op=op, target=target)
        return sorted(found) if sort else found

    def process_inputs(self, *args: Any) -> Any:
        """Return the values of the placeholders for a call's arguments."""
        return self._codegen.process_inputs(*args)

    def process_outputs(self, out: Any) -> Any:
        """Return a call's result for the output's values."""
        return self._codegen.process_outputs(out)

    # ------------------------------------------------------------ making nodes

    def create_node(self, op: str, target: Target, args: tuple | None = None, kwargs: dict[str, Any] | None = None,
                    name: str | None = None, type_expr: Any = None) -> Node:
        """Create a node at the insertion point. See torch.fx.Graph.create_node.

        Args:
            op: the opcode: placeholder, get_attr, call_function, call_method, call_module or output.
            target: the function, or the name of a method, module, attribute or input.
            args: the positional arguments, which may contain nodes.
            kwargs: the arguments by name.
            name: the base of the node's name; derived from ``target``, if None.
            type_expr: the type of the result.

        Returns:
            The node.

        """
        if args and not isinstance(args, tuple):
            raise AssertionError(f"args must be a tuple, got {type(args)}")
        if kwargs and not isinstance(kwargs, dict):
            raise AssertionError(f"kwargs must be a dict, got {type(kwargs)}")
        name = self._graph_namespace.create_name(name if name is not None else self._target_to_str(target), None)
        node = Node(self, name, op, target, args or (), kwargs or {}, type_expr)
        for hook in getattr(self.owning_module, "_create_node_hooks", ()):
            hook(node)
        self._graph_namespace.associate_name_with_obj(name, node)
        self._insert(node)
        self._find_nodes_lookup_table.insert(node)
        self._len += 1
        return node

    def _target_to_str(self, target: Target) -> str:
        return graph_target_name(target)

    def placeholder(self, name: str, type_expr: Any = None, default_value: Any = inspect.Signature.empty) -> Node:
        """Create an input."""
        args = () if default_value is inspect.Signature.empty else (default_value,)
        return self.create_node("placeholder", name, args=args, type_expr=type_expr)

    def get_attr(self, qualified_name: str, type_expr: Any = None) -> Node:
        """Create a node for an attribute of the owning module."""
        if self.owning_module is not None and not _is_registered(self.owning_module, qualified_name):
            warned.warn("Attempted to insert a get_attr Node with no underlying reference in the owning GraphModule! Call "
                        "GraphModule.add_submodule to add the necessary submodule, GraphModule.add_parameter to add the "
                        "necessary Parameter, or nn.Module.register_buffer to add the necessary buffer")
        return self.create_node("get_attr", qualified_name, type_expr=type_expr)

    def call_module(self, module_name: str, args: tuple | None = None, kwargs: dict[str, Any] | None = None,
                    type_expr: Any = None) -> Node:
        """Create a call of a submodule."""
        if self.owning_module is not None and self.owning_module.get_submodule(module_name) is None:
            warned.warn("Attempted to insert a call_module Node with no underlying reference in the owning GraphModule! Call "
                        "GraphModule.add_submodule to add the necessary submodule")
        return self.create_node("call_module", module_name, args, kwargs, type_expr=type_expr)

    def call_method(self, method_name: str, args: tuple | None = None, kwargs: dict[str, Any] | None = None,
                    type_expr: Any = None) -> Node:
        """Create a call of a method of the first argument."""
        return self.create_node("call_method", method_name, args, kwargs, type_expr=type_expr)

    def call_function(self, the_function: Callable, args: tuple | None = None, kwargs: dict[str, Any] | None = None,
                      type_expr: Any = None, name: str | None = None) -> Node:
        """Create a call of a function."""
        return self.create_node("call_function", the_function, args, kwargs, name=name, type_expr=type_expr)

    def output(self, result: Argument, type_expr: Any = None) -> Node:
        """Create the end of the graph, which returns ``result``."""
        return self.create_node("output", "output", (result,), type_expr=type_expr)

    def node_copy(self, node: Node, arg_transform: Callable[[Node], Argument] = lambda x: x) -> Node:
        """Copy a node of another graph, with its arguments mapped by ``arg_transform``."""
        made = self.create_node(node.op, node.target, map_arg(node.args, arg_transform), map_arg(node.kwargs, arg_transform),
                                node.name, node.type)
        made.meta = copy.copy(node.meta)
        return made

    def graph_copy(self, g: Graph, val_map: dict[Node, Node], return_output_node: bool = False) -> Any:
        """Copy the nodes of another graph, and return its output's argument. See torch.fx.Graph.graph_copy."""
        for node in g.nodes:
            if node in val_map:
                continue
            if node.op == "output":
                value = map_arg(node.args[0], lambda n: val_map[n])
                return (value, node) if return_output_node else value
            val_map[node] = self.node_copy(node, lambda n: val_map[n])
        return None

    def __deepcopy__(self, memo: dict | None = None) -> Graph:
        made = Graph(tracer_cls=self._tracer_cls)
        found = made.graph_copy(self, memo or {}, return_output_node=True)      # type: ignore[arg-type]
        made._codegen = copy.deepcopy(self._codegen)
        made._co_fields = dict(self._co_fields)
        if found is not None:
            made.output(found[0], type_expr=found[1].type).meta = copy.copy(found[1].meta)
        return made

    # ------------------------------------------------------------ changing

    def inserting_before(self, n: Node | None = None) -> Any:
        """Insert new nodes before ``n``, from now on or within a ``with`` block. See torch.fx.Graph.inserting_before."""
        return self.inserting_after(self._root) if n is None else self._insert_at(n, n.prepend, "before")

    def inserting_after(self, n: Node | None = None) -> Any:
        """Insert new nodes after ``n``, from now on or within a ``with`` block. See torch.fx.Graph.inserting_after."""
        return self.inserting_before(self._root) if n is None else self._insert_at(n, n.append, "after")

    def _insert_at(self, n: Node, insert: Callable[[Node], None], where: str) -> Any:
        if n.graph is not self:
            raise AssertionError(f"Node to insert {where} is not in graph.")
        before, self._insert = self._insert, insert
        return _InsertPoint(self, before)

    def erase_node(self, to_erase: Node) -> None:
        """Remove a node without users; RuntimeError for others. See torch.fx.Graph.erase_node."""
        if to_erase.users:
            raise RuntimeError(f"Tried to erase Node {to_erase} but it still had {len(to_erase.users)} users in the graph: "
                               f"{to_erase.users}!")
        if to_erase.graph is not self:
            raise RuntimeError(f"Attempting to remove {to_erase} from wrong graph!")
        if to_erase._erased:
            warned.warn(f"erase_node({to_erase}) on an already erased node")
            return
        for hook in getattr(self.owning_module, "_erase_node_hooks", ()):
            hook(to_erase)
        self._find_nodes_lookup_table.remove(to_erase)
        before, after = to_erase._prev, to_erase._next
        to_erase._remove_from_list()
        # Keep the links of the erased node, so that an iteration over the nodes can continue.
        to_erase._prev, to_erase._next = before, after
        to_erase._erased = True
        self._len -= 1
        to_erase._update_args_kwargs(map_arg(to_erase._args, lambda n: None), map_arg(to_erase._kwargs, lambda n: None))

    def eliminate_dead_code(self, is_impure_node: Callable[[Node], bool] | None = None) -> bool:
        """Remove the nodes without users and side effects; return whether there were any. See torch.fx.Graph."""
        self.lint()
        impure = is_impure_node or Node.is_impure
        dead = False
        for node in reversed(self.nodes):
            if not node.users and not impure(node):
                self.erase_node(node)
                dead = True
        named = {n.target for n in self.find_nodes(op="get_attr")} if self.owning_module is not None else set()
        for name, child in self.owning_module.named_children() if self.owning_module is not None else ():
            if name in named and isinstance(getattr(child, "graph", None), Graph):
                dead = child.graph.eliminate_dead_code() or dead
                child.recompile()
        return dead

    def set_codegen(self, codegen: CodeGen) -> None:
        """Set the object that writes the source."""
        self._codegen = codegen

    def on_generate_code(self, make_transformer: Callable[[Any], Any]) -> Any:
        """Pass the lines of generated code through a function; a ``with`` block ends this. See torch.fx.Graph."""
        before = self._codegen._body_transformer
        self._codegen._body_transformer = make_transformer(before)

        @contextlib.contextmanager
        def until_the_end() -> Iterator[None]:
            try:
                yield
            finally:
                self._codegen._body_transformer = before
        return until_the_end()

    def _clear_nodes(self) -> None:
        for node in reversed(self.nodes):
            node.meta.clear()
            self.erase_node(node)

    # ------------------------------------------------------------ text

    def python_code(self, root_module: str, *, verbose: bool = False, include_stride: bool = False, include_device: bool = False,
                    colored: bool = False, expanded_def: bool = False, record_func: bool = False,
                    additional_meta: list[str] | None = None) -> PythonCode:
        """Return the graph as a Python function. See torch.fx.Graph.python_code."""
        namespace = _Namespace()
        nodes = list(self.nodes)
        for node in nodes:
            node._repr_fn = lambda n: namespace.create_name(n.name, n)
        try:
            return self._codegen._gen_python_code(self.nodes, root_module, namespace, verbose=verbose,
                                                  expanded_def=expanded_def)
        finally:
            for node in nodes:
                node._repr_fn = None

    def __str__(self) -> str:
        names: list[str] = []
        returns = [""]
        lines = [n.format_node(names, returns) for n in self.nodes]
        return "\n    ".join([f"graph({', '.join(names)}){returns[0]}:", *[line for line in lines if line]])

    def print_tabular(self) -> None:
        """Print a table of the nodes by the package tabulate. See torch.fx.Graph.print_tabular."""
        try:
            from tabulate import tabulate
        except ImportError:
            sys.stdout.write("`print_tabular` relies on the library `tabulate`, which could not be found on this machine. Run "
                             "`pip install tabulate` to install the library.\n")
            raise
        rows = [[n.op, n.name, n.target, n.args, n.kwargs] for n in self.nodes]
        sys.stdout.write(tabulate(rows, headers=["opcode", "name", "target", "args", "kwargs"]) + "\n")

    # ------------------------------------------------------------ checking

    def lint(self) -> None:
        """Check that the graph is well formed; RuntimeError if it is not. See torch.fx.Graph.lint."""
        seen: set[Node] = set()
        names: set[str] = set()
        for node in self.nodes:
            self._check_node(node, seen, names)
            seen.add(node)
            names.add(node.name)
        if self.owning_module is not None:
            for node in self.nodes:
                _check_target(node, self.owning_module)

    def _check_node(self, node: Node, seen: set[Node], names: set[str]) -> None:
        if node.op not in OPS:
            raise RuntimeError(f"Node {node} had unknown opcode {node.op}!")
        if node.graph is not self:
            raise RuntimeError(f"Node '{node}' does not belong to this Graph!")
        if node not in self._find_nodes_lookup_table:
            raise RuntimeError(f"Node '{node}' is not added to the side table")
        for arg in node.all_input_nodes:
            if arg.graph is not self:
                raise RuntimeError(f"Argument '{arg}' of Node '{node}' does not belong to this Graph, but was used as an "
                                   "argument! If you are copying nodes from another graph, make sure to use ``arg_transform`` "
                                   f"on node_copy() to remap values\n{self}")
            if arg not in seen:
                raise RuntimeError(f"Argument '{arg}' of Node '{node}' was used before it has been defined! Please check that "
                                   f"Nodes in the graph are topologically ordered\n{self}")
        if node.name in names:
            raise RuntimeError(f"Node redefined name {node.name}!")


def _check_target(node: Node, module: Any) -> None:
    wanted = "Callable" if node.op == "call_function" else "str"
    if not (callable(node.target) if node.op == "call_function" else isinstance(node.target, str)):
        raise ValueError(f"Node {node} target {node.target} has type {typename(node.target)} but a {wanted} is expected")
    if node.op not in ("get_attr", "call_module"):
        return
    atoms = str(node.target).split(".")
    for i, atom in enumerate(atoms):
        module, seen = getattr(module, atom, None), ".".join(atoms[:i])
        if module is None:
            raise RuntimeError(f"Node {node} target {node.target} references nonexistent attribute {atom} of {seen}")
        if node.op == "call_module" and not isinstance(module, Module):
            raise RuntimeError(f"Node {node} target {node.target} {atom} of {seen} does not reference an nn.Module")


def _is_registered(module: Any, qualified_name: str) -> bool:
    """Return whether a module has a submodule, parameter or buffer at a path."""
    path, _, name = qualified_name.rpartition(".")
    try:
        owner = module.get_submodule(path)
    except AttributeError:
        warned.warn(f"Failed to fetch module {path}!")
        return False
    return isinstance(getattr(owner, name, None), (Module, Parameter)) or name in owner._buffers


__all__ += ["_BoxedCodeGen", "_PyTreeCodeGen", "_PyTreeInfo", "_custom_builtins", "_register_custom_builtin", "fx_pytree",
            "inplace_methods", "magic_methods", "reflectable_magic_methods"]
