"""Tracing of a model as far as splitting needs it.

Only modules that contain split points are traced through. All others stay calls of modules with their Python code. A forward
with the example inputs shows which modules contain split points.
"""
from __future__ import annotations

import inspect
from collections.abc import Callable, Iterable
from typing import Any

from jtorch._api.creation import empty_strided
from jtorch._base.pytree import flatten, unflatten
from jtorch._parallel.pipelining.manual import buffers_kept
from jtorch._parallel.pipelining.splitting import SplitPoint, listening, pipe_split
from jtorch.fx._symbolic_trace import Tracer
from jtorch.fx.graph_module import GraphModule
from jtorch.fx.interpreter import Interpreter
from jtorch.fx.node import Node
from jtorch.nn.modules.module import Module, register_module_forward_hook, register_module_forward_pre_hook
from jtorch.no_grad import no_grad
from jtorch.random import fork_rng
from jtorch.tensor import Tensor


class Inputs:
    """A model's inputs: the tensors are the graph's inputs, and other values stay those of the example."""

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
        """Return the graph's inputs from a call's arguments, which have the example's structure."""
        leaves, _ = flatten(self._bound(args, kwargs))
        return [leaves[i] for i in self.at]

    def arguments(self, tensors: Iterable[Any]) -> inspect.BoundArguments:
        """Return the model's arguments with these tensors."""
        leaves = list(self.leaves)
        for i, t in zip(self.at, tensors, strict=True):
            leaves[i] = t
        return inspect.BoundArguments(self.signature, unflatten(leaves, self.form))     # type: ignore[arg-type]


class _Tracer(Tracer):
    """Traces through some modules only, and records split points."""

    proxy_buffer_attributes = True

    def __init__(self, inputs: Inputs, through: set[Module] | None):
        super().__init__()
        self.inputs, self.through = inputs, through

    def is_leaf_module(self, m: Any, module_qualified_name: str) -> bool:
        """Return whether a module contains no split points. With a split policy, decide as ``Tracer`` does."""
        return super().is_leaf_module(m, module_qualified_name) if self.through is None else m not in self.through

    def create_args_for_root(self, root_fn: Callable, is_module: bool, concrete_args: Any = None) -> tuple[Callable, list]:
        """Return proxies for the tensors among the inputs, and the function that takes them."""
        def run(root: Any, *proxies: Any) -> Any:
            given = self.inputs.arguments(proxies)
            return root.forward(*given.args, **given.kwargs)
        return run, [self.root, *[self.create_proxy("placeholder", name, (), {}) for name in self.inputs.names]]

    def cut(self, module: Any = None) -> None:
        """Record a split point of ``pipe_split``. Ignore one of a module, which ``call_module`` records."""
        if module is None:
            self.create_node("call_function", pipe_split, (), {})

    def call_module(self, m: Any, forward: Callable, args: tuple, kwargs: dict[str, Any]) -> Any:
        """Call a module, and record its split point, if it has one at its beginning or end."""
        point = m.__dict__.get("_split_point")
        if point is SplitPoint.BEGINNING:
            self.cut()
        made = super().call_module(m, forward, args, kwargs)
        if point is SplitPoint.END:
            self.cut()
        return made


def _cut_within(mod: Module, args: tuple, kwargs: dict[str, Any]) -> set[Module]:
    """Run a forward, and return the model and those of its modules that contain a split point."""
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


class _RecordingInterpreter(Interpreter):
    """Runs a graph and records each node's result: tensors as meta tensors, other values unchanged."""

    def run_node(self, n: Node) -> Any:
        """Run a node and record its result."""
        made = super().run_node(n)
        is_tensor = isinstance(made, Tensor)
        n.meta["val"] = empty_strided(made.shape, made.stride(), dtype=made.dtype, device="meta") if is_tensor else made
        return made


def traced(mod: Module, inputs: Inputs, args: tuple, kwargs: dict[str, Any],
            policy: Callable[[GraphModule], GraphModule] | None) -> GraphModule:
    """Return the model's graph, whose nodes have their results as metadata."""
    tracer = _Tracer(inputs, None if policy is not None else _cut_within(mod, args, kwargs))
    with listening(tracer.cut):
        made = GraphModule(mod, tracer.trace(mod))
    made = made if policy is None else policy(made)
    with no_grad(), fork_rng(devices=[]), buffers_kept(mod):
        _RecordingInterpreter(made).run(*inputs.tensors(args, kwargs))
    return made
