"""Pipelines of traced models: the graph is split at ``pipe_split``, and each part becomes a module."""
from __future__ import annotations

import copy
import operator
from collections import Counter
from collections.abc import Callable
from typing import Any

from jtorch._base.pytree import flatten
from jtorch._parallel.pipelining.metadata import PipeInfo
from jtorch._parallel.pipelining.splitting import SplitPoint, annotate_split_points, pipe_split
from jtorch.fx._pipeline_stage import _PipelineStage
from jtorch.fx._pipeline_trace import Inputs, traced
from jtorch.fx.graph import Graph
from jtorch.fx.graph_module import GraphModule
from jtorch.fx.interpreter import Interpreter
from jtorch.fx.node import Node, map_arg
from jtorch.nn.modules.module import Module
from jtorch.tensor import Tensor

_NOT_CAPTURED = ("It seems that we cannot capture your model as a full graph. Typical reasons include graph breaks, "
                 "data/shape-dependent control flow, or missing meta kernels for custom operators. You can use our manual "
                 "pipeline interfaces, or try to fix the graph breaks, see https://pytorch.org/docs/stable/export.html")


# ---------------------------------------------------------------- cutting

def _is_cut(node: Node) -> bool:
    return node.op == "call_function" and node.target is pipe_split


class _Cut:
    """A graph in parts: the nodes of each part, and the values that pass between parts."""

    def __init__(self, graph: Graph):
        self.parts: list[list[Node]] = []
        self.of: dict[Node, int] = {}
        begins = True
        for node in graph.nodes:
            if _is_cut(node):
                begins = True
            elif node.op not in ("placeholder", "output", "get_attr"):
                source = self._taken_from(node)
                if source is None and begins:
                    self.parts.append([])
                    begins = False
                self.of[node] = len(self.parts) - 1 if source is None else source
                self.parts[self.of[node]].append(node)
        self.inputs: list[dict[Node, None]] = [{} for _ in self.parts]
        self.outputs: list[dict[Node, None]] = [{} for _ in self.parts]
        for node in graph.nodes:
            for value in node.all_input_nodes:
                self._pass(value, node)

    def _taken_from(self, node: Node) -> int | None:
        """Return the part with the tuple that a node takes an item of, since only tensors pass between parts; else None."""
        whole = node.args[0] if node.target is operator.getitem else None
        return None if not isinstance(whole, Node) or isinstance(whole.meta["val"], Tensor) else self.of.get(whole)

    def _pass(self, value: Node, user: Node) -> None:
        source, to = self.of.get(value), self.of.get(user)
        if source == to or value.op == "get_attr" or (_is_constant(value) and to is not None):
            return
        if source is not None:
            self.outputs[source][value] = None
        if to is not None:
            self.inputs[to][value] = None

    def taken(self, i: int) -> list[Node]:
        """Return the inputs of a part: the results of other parts, then the model's inputs."""
        return sorted(self.inputs[i], key=lambda n: n.op == "placeholder")


def _is_constant(node: Node) -> bool:
    """Return whether a value contains no tensors, so that it is a constant of the graph."""
    return not any(isinstance(x, Tensor) for x in flatten(node.meta.get("val"))[0])


def _part(mod: Module, cut: _Cut, i: int) -> GraphModule:
    """Return the module of one part, whose metadata describes its inputs and outputs."""
    graph = Graph()
    env: dict[Node, Any] = {}
    for value in cut.taken(i):
        env[value] = graph.placeholder(value.name)

    def here(value: Node) -> Any:
        if value not in env:
            env[value] = graph.get_attr(value.target) if value.op == "get_attr" else value.meta["val"]      # type: ignore[arg-type]
        return env[value]
    for node in cut.parts[i]:
        env[node] = graph.node_copy(node, here)
    outputs = [env[value] for value in cut.outputs[i]]
    graph.output(outputs[0] if len(outputs) == 1 else tuple(outputs))
    made = GraphModule(mod, graph, f"submod_pp_{i}")
    made.meta["inputs"] = [value.meta["val"] for value in cut.taken(i)]
    made.meta["outputs"] = [value.meta["val"] for value in cut.outputs[i]]
    return made


def _joined(graph: Graph, cut: _Cut, modules: dict[str, Module]) -> GraphModule:
    """Return the graph that calls the parts."""
    made, env = Graph(), {}
    for node in graph.nodes:
        if node.op == "placeholder":
            env[node] = made.placeholder(node.name)
    for i, name in enumerate(modules):
        call = made.call_module(name, tuple([env[value] for value in cut.taken(i)]))
        outputs = list(cut.outputs[i])
        env.update({outputs[0]: call} if len(outputs) == 1 else
                   {value: made.call_function(operator.getitem, (call, k)) for k, value in enumerate(outputs)})
    given = next(node for node in graph.nodes if node.op == "output").args[0]
    made.output(tuple(flatten(map_arg(given, lambda n: env[n]))[0]))
    return GraphModule(modules, made, "Pipe")


def _without_sharing(modules: list[GraphModule]) -> list[GraphModule]:
    """Return the modules, with copies in place of those that share a parameter."""
    users = Counter(id(p) for m in modules for p in {id(p): p for p in m.parameters()}.values())
    return [copy.deepcopy(m) if any(users[id(p)] > 1 for p in m.parameters()) else m for m in modules]


# ---------------------------------------------------------------- public class

class Pipe(Module):
    """A model that runs in stages, with the same results. See torch.distributed.pipelining.Pipe.

    Args:
        split_gm: the graph that calls the stages.
        num_stages: the number of stages.
        inputs: the model's inputs.

    """

    def __init__(self, split_gm: GraphModule, num_stages: int, inputs: Inputs):
        super().__init__()
        self.split_gm, self.num_stages, self.has_loss_and_backward, self.loss_spec = split_gm, num_stages, False, None
        self._inputs = inputs

        def throw(*args: Any, **kwargs: Any) -> None:
            raise RuntimeError("To run pipeline locally, invoke the Pipe object directly, not `split_gm`")
        split_gm.forward = throw        # type: ignore[method-assign]

    def forward(self, *args: Any, **kwargs: Any) -> tuple:
        """Return the model's results, computed stage by stage."""
        return Interpreter(self.split_gm).run(*self._inputs.tensors(args, kwargs))

    def get_stage_module(self, stage_idx: int) -> Module:
        """Return a stage's module; ValueError if there is no such stage."""
        if not 0 <= stage_idx < self.num_stages:
            raise ValueError(f"Invalid stage index {stage_idx}!")
        return getattr(self.split_gm, f"submod_pp_{stage_idx}")

    @staticmethod
    def from_tracing(mod: Module, example_args: tuple[Any, ...], example_kwargs: dict[str, Any] | None = None,
                     split_policy: Callable[[GraphModule], GraphModule] | None = None) -> Pipe:
        """Trace and split a model for inputs like the example. See ``pipeline``."""
        inputs = Inputs(mod, example_args, example_kwargs)
        try:
            graph = traced(mod, inputs, example_args, example_kwargs or {}, split_policy)
        except Exception as error:
            raise RuntimeError(_NOT_CAPTURED) from error
        cut = _Cut(graph.graph)
        parts = _without_sharing([_part(graph, cut, i) for i in range(len(cut.parts))])
        modules = {f"submod_pp_{i}": part for i, part in enumerate(parts)}
        return Pipe(_joined(graph.graph, cut, modules), len(parts), inputs)     # type: ignore[arg-type]

    def info(self) -> PipeInfo:
        """Return the facts about all stages that each stage needs."""
        return PipeInfo(self.split_gm.graph, self.num_stages, self.has_loss_and_backward)

    def build_stage(self, stage_index: int, device: Any, group: Any = None) -> _PipelineStage:
        """Return a stage for a schedule to run. See ``build_stage``."""
        return _PipelineStage(self.get_stage_module(stage_index), stage_index, self.info(), device, group)

    def print_readable(self) -> None:
        """Print the graph and the code of the stages."""
        self.split_gm.print_readable()

    def __str__(self) -> str:
        return str(self.split_gm)

    def __repr__(self) -> str:
        return repr(self.split_gm)


def pipeline(module: Module, mb_args: tuple[Any, ...], mb_kwargs: dict[str, Any] | None = None,
             split_spec: dict[str, SplitPoint] | None = None,
             split_policy: Callable[[GraphModule], GraphModule] | None = None) -> Pipe:
    """Split a model into stages at its split points. See torch.distributed.pipelining.pipeline.

    Args:
        module: the model.
        mb_args: example inputs of a microbatch. Values that are no tensors become constants of the stages.
        mb_kwargs: example inputs by name.
        split_spec: maps names of modules to SplitPoint.BEGINNING or END. If None, split where the model calls ``pipe_split``.
        split_policy: a function that inserts ``pipe_split`` into the traced graph, in place of ``split_spec``.

    Returns:
        The model in stages.

    Raises:
        ValueError: both ``split_spec`` and ``split_policy`` are given.
        RuntimeError: the modules that contain split points cannot be traced.

    >>> from jtorch.distributed.pipelining import SplitPoint, pipeline
    >>> net = torch.nn.Sequential(torch.nn.Linear(2, 2), torch.nn.Linear(2, 1))
    >>> pipeline(net, (torch.ones(1, 2),), split_spec={"1": SplitPoint.BEGINNING}).num_stages
    2

    """
    if split_spec is not None and split_policy is not None:
        raise ValueError("Cannot specify both `split_spec` and `split_policy`. Please use only one of them.")
    if split_spec is not None:
        annotate_split_points(module, split_spec)
    return Pipe.from_tracing(module, mb_args, mb_kwargs, split_policy)
