"""A traced model in stages: where it says ``pipe_split`` its graph is cut, and each part becomes a module.

Only modules within which the model is cut are traced through; all others stay modules that are called, with the Python they have.
Which these are is seen in a forward with the example inputs.
"""
from __future__ import annotations

import copy
import inspect
import operator
from collections import Counter
from collections.abc import Callable, Iterable
from typing import Any

from jtorch._api.creation import empty_strided
from jtorch._base.pytree import flatten, unflatten
from jtorch._parallel.pipelining.manual import buffers_kept
from jtorch._parallel.pipelining.metadata import PipeInfo
from jtorch._parallel.pipelining.splitting import SplitPoint, annotate_split_points, listening, pipe_split
from jtorch.fx._pipeline_stage import _PipelineStage
from jtorch.fx._symbolic_trace import Tracer
from jtorch.fx.graph import Graph
from jtorch.fx.graph_module import GraphModule
from jtorch.fx.interpreter import Interpreter
from jtorch.fx.node import Node, map_arg
from jtorch.nn.modules.module import Module, register_module_forward_hook, register_module_forward_pre_hook
from jtorch.no_grad import no_grad
from jtorch.random import fork_rng
from jtorch.tensor import Tensor

_NOT_CAPTURED = ("It seems that we cannot capture your model as a full graph. Typical reasons include graph breaks, data/shape-dependent "
                 "control flow, or missing meta kernels for custom operators. You can use our manual pipeline interfaces, or try to "
                 "fix the graph breaks, see https://pytorch.org/docs/stable/export.html")


class _Inputs:
    """A model's inputs: the tensors among them are those of the graph, all else is as in the example."""

    def __init__(self, mod: Module, args: tuple, kwargs: dict[str, Any] | None):
        self.signature = inspect.signature(mod.forward)
        self.leaves, self.form = flatten(self._bound(args, kwargs or {}))
        self.at = [i for i, x in enumerate(self.leaves) if isinstance(x, Tensor)]
        self.names = self._names(self._bound(args, kwargs or {}))

    def _bound(self, args: tuple, kwargs: dict[str, Any]) -> dict[str, Any]:
        return dict(self.signature.bind(*args, **kwargs).arguments)

    def _names(self, bound: dict[str, Any]) -> list[str]:
        found = []
        for name, value in bound.items():
            n = sum(isinstance(x, Tensor) for x in flatten(value)[0])
            found += [name] if isinstance(value, Tensor) else [f"{name}_{i}" for i in range(n)]
        return found

    def tensors(self, args: tuple, kwargs: dict[str, Any]) -> list[Any]:
        """The graph's inputs among others of this form."""
        leaves, _ = flatten(self._bound(args, kwargs))
        return [leaves[i] for i in self.at]

    def arguments(self, tensors: Iterable[Any]) -> inspect.BoundArguments:
        """The model's arguments, with these in the tensors' place."""
        leaves = list(self.leaves)
        for i, t in zip(self.at, tensors, strict=True):
            leaves[i] = t
        made = inspect.BoundArguments(self.signature, unflatten(leaves, self.form))     # type: ignore[arg-type]
        return made


class _Tracer(Tracer):
    """Traces through some modules only, and notes where they are cut."""

    proxy_buffer_attributes = True

    def __init__(self, inputs: _Inputs, through: set[Module] | None):
        super().__init__()
        self.inputs, self.through = inputs, through

    def is_leaf_module(self, m: Any, module_qualified_name: str) -> bool:
        """Modules within which nothing is cut."""
        return super().is_leaf_module(m, module_qualified_name) if self.through is None else m not in self.through

    def create_args_for_root(self, root_fn: Callable, is_module: bool, concrete_args: Any = None) -> tuple[Callable, list]:
        """Proxies for the tensors only."""
        def run(root: Any, *proxies: Any) -> Any:
            given = self.inputs.arguments(proxies)
            return root.forward(*given.args, **given.kwargs)
        return run, [self.root, *[self.create_proxy("placeholder", name, (), {}) for name in self.inputs.names]]

    def cut(self, module: Any = None) -> None:
        """Notes a cut in a forward; those around modules are noted where these are called."""
        if module is None:
            self.create_node("call_function", pipe_split, (), {})

    def call_module(self, m: Any, forward: Callable, args: tuple, kwargs: dict[str, Any]) -> Any:
        """As in all tracers, with the cuts around the module."""
        point = m.__dict__.get("_split_point")
        if point is SplitPoint.BEGINNING:
            self.cut()
        made = super().call_module(m, forward, args, kwargs)
        if point is SplitPoint.END:
            self.cut()
        return made


def _cut_within(mod: Module, args: tuple, kwargs: dict[str, Any]) -> set[Module]:
    """The modules within which a forward is cut."""
    running: list[Any] = []
    found: set[Module] = {mod}

    def note(module: Any) -> None:
        found.update([m for m in running if m is not module])
    hooks = [register_module_forward_pre_hook(lambda m, _: running.append(m)),
             register_module_forward_hook(lambda m, *_: running.pop() and None, always_call=True)]
    try:
        with listening(note), no_grad(), fork_rng(devices=[]), buffers_kept(mod):
            mod(*args, **kwargs)
    finally:
        for hook in hooks:
            hook.remove()
    return found


class _Noting(Interpreter):
    """Runs a graph, and notes what each node gives: tensors without elements, all else as it is."""

    def run_node(self, n: Node) -> Any:
        """Runs a node and notes what it gives."""
        made = super().run_node(n)
        n.meta["val"] = empty_strided(made.shape, made.stride(), dtype=made.dtype, device="meta") if isinstance(made, Tensor) else made
        return made


# ---------------------------------------------------------------- cutting

def _is_cut(node: Node) -> bool:
    return node.op == "call_function" and node.target is pipe_split


class _Cut:
    """A graph in parts: which nodes are in which, and which values pass from one to others."""

    def __init__(self, graph: Graph):
        self.parts: list[list[Node]] = [[]]
        for node in graph.nodes:
            if _is_cut(node) and self.parts[-1]:
                self.parts.append([])
            elif node.op not in ("placeholder", "output", "get_attr") and not _is_cut(node):
                self.parts[-1].append(node)
        self.parts = [part for part in self.parts if part]
        self.of = {node: i for i, part in enumerate(self.parts) for node in part}
        self.inputs: list[dict[Node, None]] = [{} for _ in self.parts]
        self.outputs: list[dict[Node, None]] = [{} for _ in self.parts]
        for node in graph.nodes:
            for value in node.all_input_nodes:
                self._pass(value, node)

    def _pass(self, value: Node, user: Node) -> None:
        source, to = self.of.get(value), self.of.get(user)
        if source == to or value.op == "get_attr" or (_is_constant(value) and to is not None):
            return
        if source is not None:
            self.outputs[source][value] = None
        if to is not None:
            self.inputs[to][value] = None

    def taken(self, i: int) -> list[Node]:
        """What a part takes: what other parts give, then the model's inputs."""
        return sorted(self.inputs[i], key=lambda n: n.op == "placeholder")


def _is_constant(node: Node) -> bool:
    """Whether a value is a number, a size or the like, which is part of the graph for inputs like the example's."""
    return not any(isinstance(x, Tensor) for x in flatten(node.meta.get("val"))[0])


def _part(mod: Module, cut: _Cut, i: int) -> GraphModule:
    """The module of one part. Its inputs and outputs say what they are like."""
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
    """The graph of calls of the parts."""
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
    """The modules, of which those that share a parameter get copies."""
    users = Counter(id(p) for m in modules for p in {id(p): p for p in m.parameters()}.values())
    return [copy.deepcopy(m) if any(users[id(p)] > 1 for p in m.parameters()) else m for m in modules]


# ---------------------------------------------------------------- what users see

class Pipe(Module):
    """A model in stages, which runs like the model itself. See torch.distributed.pipelining.Pipe.

    Args:
        split_gm: the graph of calls of the stages.
        num_stages: how many there are.
        inputs: what the model takes.

    """

    def __init__(self, split_gm: GraphModule, num_stages: int, inputs: _Inputs):
        super().__init__()
        self.split_gm, self.num_stages, self.has_loss_and_backward, self.loss_spec = split_gm, num_stages, False, None
        self._inputs = inputs

        def throw(*args: Any, **kwargs: Any) -> None:
            raise RuntimeError("To run pipeline locally, invoke the Pipe object directly, not `split_gm`")
        split_gm.forward = throw        # type: ignore[method-assign]

    def forward(self, *args: Any, **kwargs: Any) -> tuple:
        """The model's results, one after another."""
        return Interpreter(self.split_gm).run(*self._inputs.tensors(args, kwargs))

    def get_stage_module(self, stage_idx: int) -> Module:
        """A stage's module; ValueError if there is none."""
        if not 0 <= stage_idx < self.num_stages:
            raise ValueError(f"Invalid stage index {stage_idx}!")
        return getattr(self.split_gm, f"submod_pp_{stage_idx}")

    @staticmethod
    def from_tracing(mod: Module, example_args: tuple[Any, ...], example_kwargs: dict[str, Any] | None = None,
                     split_policy: Callable[[GraphModule], GraphModule] | None = None) -> Pipe:
        """A model in stages, for inputs like these. See ``pipeline``."""
        inputs = _Inputs(mod, example_args, example_kwargs)
        try:
            traced = _traced(mod, inputs, example_args, example_kwargs or {}, split_policy)
        except Exception as error:
            raise RuntimeError(_NOT_CAPTURED) from error
        cut = _Cut(traced.graph)
        parts = _without_sharing([_part(traced, cut, i) for i in range(len(cut.parts))])
        modules = {f"submod_pp_{i}": part for i, part in enumerate(parts)}
        return Pipe(_joined(traced.graph, cut, modules), len(parts), inputs)     # type: ignore[arg-type]

    def info(self) -> PipeInfo:
        """What stages know of one another."""
        return PipeInfo(self.split_gm.graph, self.num_stages, self.has_loss_and_backward)

    def build_stage(self, stage_index: int, device: Any, group: Any = None) -> _PipelineStage:
        """A stage, for a schedule to run. See ``build_stage``."""
        return _PipelineStage(self.get_stage_module(stage_index), stage_index, self.info(), device, group)

    def print_readable(self) -> None:
        """Prints the graph and the stages' code."""
        self.split_gm.print_readable()

    def __str__(self) -> str:
        return str(self.split_gm)

    def __repr__(self) -> str:
        return repr(self.split_gm)


def _traced(mod: Module, inputs: _Inputs, args: tuple, kwargs: dict[str, Any],
            policy: Callable[[GraphModule], GraphModule] | None) -> GraphModule:
    """The model's graph, whose nodes say what they give."""
    tracer = _Tracer(inputs, None if policy is not None else _cut_within(mod, args, kwargs))
    with listening(tracer.cut):
        traced = GraphModule(mod, tracer.trace(mod))
    traced = traced if policy is None else policy(traced)
    with no_grad(), fork_rng(devices=[]), buffers_kept(mod):
        _Noting(traced).run(*inputs.tensors(args, kwargs))
    return traced


def pipeline(module: Module, mb_args: tuple[Any, ...], mb_kwargs: dict[str, Any] | None = None,
             split_spec: dict[str, SplitPoint] | None = None,
             split_policy: Callable[[GraphModule], GraphModule] | None = None) -> Pipe:
    """Cuts a model into stages, where it says ``pipe_split`` or ``split_spec`` says so. See torch.distributed.pipelining.pipeline.

    Args:
        module: the model.
        mb_args, mb_kwargs: inputs like those of a microbatch. What is no tensor in them is part of the stages.
        split_spec: before or behind which modules, by their names.
        split_policy: puts ``pipe_split`` into the traced graph, in place of ``split_spec``.

    Raises:
        ValueError: both are given.
        RuntimeError: the forwards of modules within which the model is cut can't be traced.

    """
    if split_spec is not None and split_policy is not None:
        raise ValueError("Cannot specify both `split_spec` and `split_policy`. Please use only one of them.")
    if split_spec is not None:
        annotate_split_points(module, split_spec)
    return Pipe.from_tracing(module, mb_args, mb_kwargs, split_policy)
