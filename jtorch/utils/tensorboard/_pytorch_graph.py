"""The graph of a module for TensorBoard: the nodes that torch.fx traces, with the modules as scopes.

PyTorch's module of this name draws the graph that TorchScript traces. tensorboardX's ``add_graph`` calls this module too.
"""
from __future__ import annotations

import contextlib
import inspect
from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

from jtorch.nn.modules.module import Module
from jtorch.no_grad import no_grad

if TYPE_CHECKING:
    from jtorch import fx

_PRODUCER = 22      # The version of the graph format that PyTorch writes.


def graph(model: Any, args: Any = None, verbose: bool = False, use_strict_trace: bool = True) -> tuple[Any, Any]:
    """Return the graph of a module as a ``GraphDef``, and run metadata without measurements.

    Args:
        model: The module, or a function of tensors.
        args: The arguments of the traced call: a tensor, or a tuple. Without arguments the graph has no shapes.
        verbose: Whether to print the graph.
        use_strict_trace: Ignored; it concerns TorchScript's tracing.

    """
    from tensorboardX.proto.graph_pb2 import GraphDef  # type: ignore[import-not-found,import-untyped,unused-ignore]
    from tensorboardX.proto.versions_pb2 import VersionDef  # type: ignore[import-not-found,import-untyped,unused-ignore]

    from jtorch.fx import symbolic_trace
    from jtorch.fx.passes.shape_prop import ShapeProp
    given = args if isinstance(args, (tuple, list)) else () if args is None else (args,)
    with _in_eval_mode(model):
        traced = symbolic_trace(model, concrete_args=_left_out(model, given) if args is not None else None)
        if args is not None:
            with no_grad():
                ShapeProp(traced).propagate(*given)
    if verbose:
        print(traced.graph)     # noqa: T201  (it is asked for)
    unseen = _checks_of(traced.graph, len(given)) if args is not None else set()
    nodes = list(_Drawing(traced, model, unseen).nodes())
    return GraphDef(node=nodes, versions=VersionDef(producer=_PRODUCER)), _NothingMeasured()


class _NothingMeasured:
    """Run metadata of one device in the wire format of protocol buffers, for which tensorboardX has no class."""

    def SerializeToString(self) -> bytes:
        message = b"/device:CPU:0"
        # The fields DeviceStepStats.device, StepStats.dev_stats and RunMetadata.step_stats all have the number 1.
        for _ in range(3):
            message = b"\x0a" + bytes([len(message)]) + message
        return message


@contextlib.contextmanager
def _in_eval_mode(model: Any) -> Iterator[None]:
    """Set all modules to eval mode in this block, and restore each module's mode afterwards."""
    modes = [(m, m.training) for m in model.modules()] if isinstance(model, Module) else []
    try:
        for m, _ in modes:
            m.training = False
        yield
    finally:
        for m, mode in modes:
            m.training = mode


def _left_out(model: Any, given: tuple | list) -> dict[str, Any]:
    """Return the defaults of the parameters without an argument, with which the graph is traced."""
    forward = model.forward if isinstance(model, Module) else model
    kinds = (inspect.Parameter.POSITIONAL_OR_KEYWORD, inspect.Parameter.POSITIONAL_ONLY)
    named = [p for p in inspect.signature(forward).parameters.values() if p.kind in kinds]
    return {p.name: p.default for p in named[len(given):] if p.default is not p.empty}


def _checks_of(graph: fx.Graph, count: int) -> set[fx.Node]:
    """Return the placeholders after the first ``count``, which got no argument, and the nodes that check them."""
    found = set([n for n in graph.nodes if n.op == "placeholder"][count:])
    for node in graph.nodes:
        if any([n in found for n in node.all_input_nodes]) and node.op != "output":
            found.add(node)
    return found


class _Drawing:
    """Builds the nodes of a ``GraphDef`` from those of a traced module, except for the ``unseen`` ones."""

    def __init__(self, traced: Any, model: Any, unseen: set[fx.Node]):
        self.unseen = unseen
        self.traced, self.modules = traced, dict((model if isinstance(model, Module) else traced).named_modules())
        self.title = type(model).__name__ if isinstance(model, Module) else getattr(model, "__name__", "Module")
        self.names: dict[Any, str] = {}     # Maps the nodes to their names in the drawing.
        self.parameters: dict[str, Any] = {}

    def nodes(self) -> Iterator[Any]:
        """Yield all nodes, each after its inputs."""
        for node in self.traced.graph.nodes:
            if node.op == "output":
                yield from self._outputs(node)
            elif node not in self.unseen and (node.users or node.op not in ("placeholder", "get_attr")):
                self.names[node] = self._name(node)
                parameters = self._parameters(node)
                yield from [p for name, p in parameters.items() if self.parameters.setdefault(name, p) is p]
                inputs = [*[self.names[n] for n in node.all_input_nodes], *parameters]
                yield _proto(self.names[node], _kind(node, self.modules), inputs, _shape(node), _words(node))

    def _name(self, node: Any) -> str:
        if node.op == "placeholder":
            return f"input/{node.target}"
        path = node.target if node.op == "call_module" else next(reversed(node.meta.get("nn_module_stack") or {"": None}))
        return f"{self._scope(path)}/{node.name}"

    def _scope(self, path: str) -> str:
        """Return the scope of a path: ``Net/Sequential[layers]/Linear[0]`` for ``layers.0``."""
        parts = path.split(".") if path else []
        paths = [".".join(parts[:k + 1]) for k in range(len(parts))]
        kinds = [type(self.modules[p]).__name__ if p in self.modules else "Module" for p in paths]
        return "/".join([self.title, *[f"{kind}[{name}]" for kind, name in zip(kinds, parts, strict=True)]])

    def _parameters(self, node: Any) -> dict[str, Any]:
        """Return the parameters of a module that is one node, in its scope."""
        if node.op != "call_module":
            return {}
        found = {f"{self._scope(node.target)}/{n}": p for n, p in self.modules[node.target].named_parameters()}
        return {name: _proto(name, "Parameter", [], [tuple(p.shape)], "") for name, p in found.items()}

    def _outputs(self, node: Any) -> Iterator[Any]:
        for k, n in enumerate(node.all_input_nodes):
            yield _proto(f"output/output.{k + 1}", "IO Node", [self.names[n]], _shape(n), "")


def _kind(node: Any, modules: dict[str, Any]) -> str:
    """Return the operation of a node: the class of its module, or the name of its function."""
    if node.op in ("placeholder", "get_attr"):
        return "IO Node" if node.op == "placeholder" else "Parameter"
    if node.op == "call_module":
        return type(modules[node.target]).__name__
    return node.target if isinstance(node.target, str) else getattr(node.target, "__name__", str(node.target))


def _shape(node: Any) -> list[tuple[int, ...]]:
    """Return the shapes of a node's results, if they are known."""
    found = node.meta.get("tensor_meta")
    several = found if isinstance(found, (tuple, list)) and not hasattr(found, "shape") else (found,)
    return [tuple(meta.shape) for meta in several if hasattr(meta, "shape")]


def _words(node: Any) -> str:
    """Return a node's arguments that are no tensors, without single quotes, which TensorBoard does not accept."""
    tensors = {id(n) for n in node.all_input_nodes}
    plain = {str(k): v for k, v in (*enumerate(node.args), *node.kwargs.items()) if id(v) not in tensors}
    return str(plain).replace("'", " ") if plain else ""


def _proto(name: str, kind: str, inputs: list[str], shapes: list[tuple[int, ...]], attributes: str) -> Any:
    from tensorboardX.proto.attr_value_pb2 import AttrValue  # type: ignore[import-not-found,import-untyped,unused-ignore]
    from tensorboardX.proto.node_def_pb2 import NodeDef  # type: ignore[import-not-found,import-untyped,unused-ignore]
    from tensorboardX.proto.tensor_shape_pb2 import TensorShapeProto  # type: ignore[import-not-found,import-untyped,unused-ignore]
    sizes = [TensorShapeProto(dim=[TensorShapeProto.Dim(size=n) for n in shape]) for shape in shapes]
    attr = {"attr": AttrValue(s=attributes.encode())}
    if sizes:
        attr["_output_shapes"] = AttrValue(list=AttrValue.ListValue(shape=sizes))
    return NodeDef(name=name, op=kind, input=inputs, attr=attr)
