"""Execution of a graph node by node. See torch.fx.Interpreter."""
from __future__ import annotations

import contextlib
import inspect
from collections.abc import Iterator
from typing import Any

from jtorch._api.torch_function import interception
from jtorch.fx import traceback
from jtorch.fx._codegen import _last_uses
from jtorch.fx._symbolic_trace import Tracer
from jtorch.fx.graph import Graph
from jtorch.fx.graph_module import GraphModule, _make_graph_module
from jtorch.fx.node import Argument, Node, Target, map_aggregate, map_arg
from jtorch.fx.proxy import Proxy

__all__ = ["Interpreter", "Transformer"]


class Interpreter:
    """Runs a graph; subclasses override what each kind of node does. See torch.fx.Interpreter.

    Args:
        module: the module with the graph.
        garbage_collect_values: whether values are dropped after their last use.
        graph: the graph; the module's, if None.

    >>> class Doubling(torch.fx.Interpreter):
    ...     def call_function(self, target, args, kwargs):
    ...         return 2 * super().call_function(target, args, kwargs)
    >>> m = torch.fx.symbolic_trace(lambda x: torch.relu(x))
    >>> Doubling(m).run(torch.tensor([-1.0, 2.0]))
    tensor([0., 4.])

    """

    def __init__(self, module: Any, garbage_collect_values: bool = True, graph: Graph | None = None):
        self.module = module
        self.submodules = dict(module.named_modules())
        self.graph = module.graph if graph is None else graph
        self.env: dict[Node, Any] = {}
        self.name = "Interpreter"
        self.garbage_collect_values = garbage_collect_values
        self.extra_traceback = True
        self.user_to_last_uses = _last_uses(list(self.graph.nodes)) if garbage_collect_values else {}

    def run(self, *args: Any, initial_env: dict[Node, Any] | None = None, enable_io_processing: bool = True) -> Any:
        """Return the output of the graph for these inputs. See torch.fx.Interpreter.run.

        Args:
            args: the inputs.
            initial_env: values of nodes that are not run.
            enable_io_processing: whether the graph's code generator converts inputs and output.

        """
        self.env = {} if initial_env is None else initial_env
        self.args_iter: Iterator[Any] = iter(self.graph.process_inputs(*args) if enable_io_processing else args)
        for node in self.graph.nodes:
            if node in self.env:
                continue
            self.env[node] = self._run_noting(node)
            for unused in self.user_to_last_uses.get(node, ()):
                del self.env[unused]
            if node.op == "output":
                value = self.env[node]
                return self.graph.process_outputs(value) if enable_io_processing else value
        return None

    def _run_noting(self, node: Node) -> Any:
        """Run a node, and add the node to the message of an error."""
        try:
            return self.run_node(node)
        except Exception as error:
            if not self.extra_traceback:
                raise
            text = f"While executing {node.format_node()}\nOriginal traceback:\n{node.stack_trace}"
            error.args = (f"{error.args[0]}\n\n{text}" if error.args else text, *error.args[1:])
            if isinstance(error, KeyError):
                raise RuntimeError(*error.args) from error
            raise

    def boxed_run(self, args_list: list[Any]) -> Any:
        """Run the graph on a list of inputs, which is emptied. See torch.fx.Interpreter.boxed_run."""
        inputs = [n for n in self.graph.nodes if n.op == "placeholder"]
        if len(args_list) != len(inputs):
            what = "extra arguments" if len(args_list) > len(inputs) else "missing arguments"
            raise RuntimeError(f"Interpreter.boxed_run expected {len(inputs)} arguments for placeholders but received "
                               f"{len(args_list)} ({what})")
        env = dict(zip(inputs, args_list, strict=True))
        args_list.clear()
        return self.run(initial_env=env)

    @contextlib.contextmanager
    def _set_current_node(self, node: Node) -> Iterator[None]:
        with traceback.set_current_meta(node, f"Interpreter_{type(self).__name__}"):
            yield

    def run_node(self, n: Node) -> Any:
        """Run one node. See torch.fx.Interpreter.run_node."""
        with self._set_current_node(n):
            args, kwargs = self.fetch_args_kwargs_from_env(n)
            return getattr(self, n.op)(n.target, args, kwargs)

    def placeholder(self, target: Target, args: tuple, kwargs: dict[str, Any]) -> Any:
        """Return the next input. See torch.fx.Interpreter.placeholder."""
        if str(target).startswith("*"):
            return list(self.args_iter)
        try:
            return next(self.args_iter)
        except StopIteration as end:
            if args:
                return args[0]
            raise RuntimeError(f"Expected positional argument for parameter {target}, but one was not passed in!") from end

    def get_attr(self, target: Target, args: tuple, kwargs: dict[str, Any]) -> Any:
        """Return an attribute of the module. See torch.fx.Interpreter.get_attr."""
        return self.fetch_attr(str(target))

    def call_function(self, target: Any, args: tuple, kwargs: dict[str, Any]) -> Any:
        """Call a function. See torch.fx.Interpreter.call_function."""
        return target(*args, **kwargs)

    def call_method(self, target: Any, args: tuple, kwargs: dict[str, Any]) -> Any:
        """Call a method. See torch.fx.Interpreter.call_method."""
        return getattr(args[0], target)(*args[1:], **kwargs)

    def call_module(self, target: Any, args: tuple, kwargs: dict[str, Any]) -> Any:
        """Call a submodule. See torch.fx.Interpreter.call_module."""
        return self.fetch_attr(target)(*args, **kwargs)

    def output(self, target: Target, args: tuple, kwargs: dict[str, Any]) -> Any:
        """Return the result. See torch.fx.Interpreter.output."""
        return args[0]

    def fetch_attr(self, target: str) -> Any:
        """Return the module's attribute at a path; RuntimeError if there is none."""
        found, atoms = self.module, target.split(".")
        for i, atom in enumerate(atoms):
            if not hasattr(found, atom):
                raise RuntimeError(f"Node referenced nonexistent target {'.'.join(atoms[:i + 1])}")
            found = getattr(found, atom)
        return found

    def fetch_args_kwargs_from_env(self, n: Node) -> tuple[tuple, dict[str, Any]]:
        """Return the values of a node's arguments."""
        return self.map_nodes_to_values(n.args, n), self.map_nodes_to_values(n.kwargs, n)

    def map_nodes_to_values(self, args: Argument, n: Node) -> Argument:
        """Return arguments with nodes replaced by their values."""
        def value(node: Node) -> Any:
            if node not in self.env:
                raise RuntimeError(f"Node {n} referenced nonexistent value {node}! Run Graph.lint() to diagnose such issues")
            return self.env[node]
        return map_arg(args, value)


class Transformer(Interpreter):
    """An interpreter that builds a new graph of the operations that it runs. See torch.fx.Transformer.

    Args:
        module: the module with the graph.

    >>> class Tanhs(torch.fx.Transformer):
    ...     def call_function(self, target, args, kwargs):
    ...         return super().call_function(torch.tanh, args, kwargs)
    >>> m = torch.fx.symbolic_trace(lambda x: torch.relu(x))
    >>> Tanhs(m).transform()(torch.tensor([0.0]))
    tensor([0.])

    """

    def __init__(self, module: GraphModule):
        super().__init__(module)
        self.new_graph = Graph()
        self.new_graph.set_codegen(module.graph._codegen)

        class TransformerTracer(Tracer):
            def __init__(self, graph: Graph):
                super().__init__()
                self.graph, self.tensor_attrs = graph, {}

            def is_leaf_module(self, m: Any, module_qualified_name: str) -> bool:
                return True

        self.tracer = TransformerTracer(self.new_graph)
        self.tracer.root = module

    def placeholder(self, target: Any, args: tuple, kwargs: dict[str, Any]) -> Proxy:
        """Create an input of the new graph. See torch.fx.Transformer.placeholder."""
        default = args[0] if args else inspect.Signature.empty
        return Proxy(self.new_graph.placeholder(target, default_value=default), self.tracer)

    def get_attr(self, target: Target, args: tuple, kwargs: dict[str, Any]) -> Proxy:
        """Create an attribute in the new graph. See torch.fx.Transformer.get_attr."""
        return self.tracer.create_proxy("get_attr", target, args, kwargs)

    def call_module(self, target: Any, args: tuple, kwargs: dict[str, Any]) -> Any:
        """Create a submodule's call in the new graph. See torch.fx.Transformer.call_module."""
        found = self.fetch_attr(target)
        return self.tracer.call_module(found, found.forward, args, kwargs)

    def call_function(self, target: Any, args: tuple, kwargs: dict[str, Any]) -> Any:
        """Create a function's call in the new graph. See torch.fx.Transformer.call_function."""
        return self.tracer.create_proxy("call_function", target, args, kwargs)

    def transform(self) -> GraphModule:
        """Return the module of the new graph. See torch.fx.Transformer.transform."""
        with traceback.preserve_node_meta(), interception():
            result = super().run(enable_io_processing=False)
        if result is not None:
            made = self.new_graph.output(map_aggregate(result, lambda a: a.node if isinstance(a, Proxy) else a))
            made.meta.update(list(self.graph.nodes)[-1].meta)
        return _make_graph_module(self.module, self.new_graph)
