"""Proxy: stands for a value while a function is traced, and records the operations on it. See torch.fx.Proxy."""
from __future__ import annotations

import collections
import copy
import dis
import enum
import inspect
import operator
import traceback as stacks
from collections.abc import Callable, Iterator
from dataclasses import fields, is_dataclass
from typing import Any

from jtorch.fx import traceback
from jtorch.fx._diverted import diverted_while, node_of
from jtorch.fx._magic import magic_methods, reflectable_magic_methods
from jtorch.fx.graph import Graph
from jtorch.fx.immutable_collections import immutable_dict
from jtorch.fx.node import Argument, Node, Target, base_types, is_argument, map_aggregate, map_arg
from jtorch.nn.parameter import Parameter

__all__ = ["Attribute", "GraphAppendingTracer", "ParameterProxy", "Proxy", "Scope", "ScopeContextManager", "TraceError",
           "TracerBase"]


class Scope:
    """The path and class of the module that is being traced. See torch.fx.proxy.Scope."""

    def __init__(self, module_path: str, module_type: Any):
        self.module_path, self.module_type = module_path, module_type


class ScopeContextManager:
    """Sets a scope to another one within its block. See torch.fx.proxy.ScopeContextManager."""

    def __init__(self, scope: Scope, current_scope: Scope):
        self._scope, self._before = scope, copy.copy(scope)
        vars(scope).update(vars(current_scope))

    def __enter__(self) -> Scope:
        return self._scope

    def __exit__(self, *exc: Any) -> None:
        vars(self._scope).update(vars(self._before))


class TraceError(ValueError):
    """Raised if an operation on a proxy needs its value. See torch.fx.proxy.TraceError."""


class TracerBase:
    """The base class of tracers, which turn operations on proxies into nodes. See torch.fx.proxy.TracerBase."""

    graph: Graph
    record_stack_traces = False
    _record_forward_stack_traces_only = False
    check_mutable_operations = False
    trace_asserts = False
    proxy_buffer_attributes = False
    traced_func_name = "forward"
    scope: Scope
    module_stack: collections.OrderedDict[str, tuple[str, Any]]
    node_name_to_scope: dict[str, tuple[str, Any]]

    def create_node(self, kind: str, target: Target, args: tuple, kwargs: dict[str, Any], name: str | None = None,
                    type_expr: Any = None) -> Node:
        """Create a node at the end of the graph. See torch.fx.proxy.TracerBase.create_node."""
        node = self.graph.create_node(kind, target, args, kwargs, name, type_expr)
        self.node_name_to_scope[node.name] = (self.scope.module_path, self.scope.module_type)
        if not traceback.note_on(node) and self.module_stack:
            node.meta["nn_module_stack"] = copy.copy(self.module_stack)
        if self.record_stack_traces and not node.stack_trace:
            node.stack_trace = self._user_stack()
        return node

    def _user_stack(self) -> str | None:
        """Return the user's stack from the first ``forward`` on, or only its ``forward`` frames if the tracer is set so."""
        frames = [f for f in stacks.extract_stack() if "/jtorch/fx/" not in f.filename]
        first = next((i for i, f in enumerate(frames) if f.name == "forward"), len(frames))
        chosen = [f for f in frames if f.name == "forward"] if self._record_forward_stack_traces_only else frames[first:]
        return "".join(stacks.format_list(chosen)).strip() or None

    def proxy(self, node: Node) -> Proxy:
        """Return the proxy of a node."""
        return Proxy(node, self)

    def create_proxy(self, kind: str, target: Target, args: tuple, kwargs: dict[str, Any], name: str | None = None,
                     type_expr: Any = None, proxy_factory_fn: Callable[[Node], Proxy] | None = None) -> Proxy:
        """Create a node from arguments that may contain proxies, and return its proxy. See
        torch.fx.proxy.TracerBase.create_proxy.
        """
        node = self.create_node(kind, target, self.create_arg(args), self.create_arg(kwargs), name, type_expr)
        return (proxy_factory_fn or self.proxy)(node)

    def create_arg(self, a: Any) -> Argument:
        """Return a value as a node's argument; NotImplementedError if it cannot be one. See
        torch.fx.proxy.TracerBase.create_arg.
        """
        if isinstance(a, Proxy):
            return a.node
        if hasattr(a, "__fx_create_arg__"):
            return a.__fx_create_arg__(self)
        if isinstance(a, tuple):
            made = [self.create_arg(x) for x in a]
            return type(a)(*made) if hasattr(a, "_fields") else type(a)(made)
        if isinstance(a, list):
            return [self.create_arg(x) for x in a]
        if isinstance(a, dict):
            return {_key(self, k): self.create_arg(v) for k, v in a.items()}
        if isinstance(a, (slice, range)):
            return type(a)(*[self.create_arg(x) for x in (a.start, a.stop, a.step)])
        if is_dataclass(a) and not isinstance(a, type):
            given = {f.name: self.create_arg(getattr(a, f.name)) for f in fields(a)}
            return self.create_node("call_function", type(a), (), given)
        if is_argument(a) or isinstance(a, (*base_types, enum.Enum)):
            return a
        raise NotImplementedError(f"argument of type: {type(a)}")

    def to_bool(self, obj: Proxy) -> bool:
        """Raise TraceError: a branch depends on a value. See torch.fx.proxy.TracerBase.to_bool."""
        raise TraceError("symbolically traced variables cannot be used as inputs to control flow")

    def iter(self, obj: Proxy) -> Iterator:
        """Raise TraceError: the number of a loop's iterations depends on a value. See torch.fx.proxy.TracerBase.iter."""
        raise TraceError("Proxy object cannot be iterated. This can be attempted when the Proxy is used in a loop or as a *args "
                         "or **kwargs function argument. See the torch.fx docs on pytorch.org for a more detailed explanation "
                         "of what types of control flow can be traced, and check out the Proxy docstring for help "
                         "troubleshooting Proxy iteration errors")

    def keys(self, obj: Proxy) -> Any:
        """Return a call of the method ``keys``. See torch.fx.proxy.TracerBase.keys."""
        return Attribute(obj, "keys")()


def _key(tracer: TracerBase, key: Any) -> Any:
    if isinstance(key, str):
        return key

    made = tracer.create_arg(key)

    def refuse(node: Node) -> Any:
        raise RuntimeError(f"Keys for dictionaries used as an argument cannot contain a Node. Got key: {made}")
    map_arg(made, refuse)
    return made


class GraphAppendingTracer(TracerBase):
    """Appends the operations on a proxy to its graph. See torch.fx.proxy.GraphAppendingTracer."""

    def __init__(self, graph: Graph):
        super().__init__()
        diverted_while(self)
        self.graph, self.scope = graph, Scope("", None)
        self.module_stack, self.node_name_to_scope = collections.OrderedDict(), {}


def assert_fn(x: Any) -> None:
    """Raise AssertionError unless ``x`` is true; a traced ``assert`` becomes a call of this function."""
    if not x:
        raise AssertionError("Assertion failed")


class Proxy:
    """Stands for the value of a node: calls, operators and attributes become nodes. See torch.fx.Proxy.

    Args:
        node: the node.
        tracer: the tracer that records; one that appends to the node's graph, if None.

    """

    node: Any
    tracer: Any

    def __init__(self, node: Node, tracer: TracerBase | None = None):
        self.tracer = GraphAppendingTracer(node.graph) if tracer is None else tracer
        self.node = node

    def __repr__(self) -> str:
        return f"Proxy({self.node.name})"

    def __getattr__(self, k: str) -> Attribute:
        return Attribute(self, k)

    def __getstate__(self) -> dict:
        return self.__dict__

    def __setstate__(self, d: dict) -> None:
        self.__dict__ = d

    def __deepcopy__(self, memo: dict) -> Proxy:
        made = Proxy(copy.deepcopy(self.node, memo), copy.deepcopy(self.tracer, memo))
        for name, value in self.__dict__.items():
            if name not in ("node", "tracer"):
                made.__dict__[name] = copy.deepcopy(value, memo)
        return made

    def __call__(self, *args: Any, **kwargs: Any) -> Proxy:
        return self.tracer.create_proxy("call_method", "__call__", (self, *args), kwargs)

    def __iter__(self) -> Iterator[Proxy]:
        at = _instructions_from(inspect.currentframe().f_back)[0]      # type: ignore[union-attr]
        if at.opname == "UNPACK_SEQUENCE":
            return (self[i] for i in range(at.argval))      # type: ignore[index]
        return self.tracer.iter(self)

    def __abs__(self) -> Proxy:
        return self.tracer.create_proxy("call_function", operator.abs, (self,), {})

    def __bool__(self) -> bool:
        if self.tracer.trace_asserts and _is_assert(inspect.currentframe().f_back):     # type: ignore[union-attr]
            self.tracer.create_proxy("call_function", assert_fn, (self,), {})
            return True
        return self.tracer.to_bool(self)

    def keys(self) -> Any:
        """Return a call of the method ``keys``, which Python calls first for ``**proxy``."""
        return self.tracer.keys(self)

    def __len__(self) -> int:
        raise RuntimeError("'len' is not supported in symbolic tracing by default. If you want this call to be recorded, please "
                           "call torch.fx.wrap('len') at module scope")

    @classmethod
    def __torch_function__(cls, orig_method: Callable, types: Any, args: tuple = (), kwargs: dict[str, Any] | None = None) -> Any:
        kwargs = kwargs or {}
        found: dict[TracerBase, None] = {}
        map_aggregate((*args, immutable_dict(kwargs)), lambda a: found.setdefault(a.tracer) if isinstance(a, Proxy) else None)
        if len(found) > 1:
            raise RuntimeError(f"Found multiple different tracers {list(found)} while trying to trace operations {orig_method}")
        tracer = next(iter(found))
        op, target, args, kwargs = node_of(orig_method, args, kwargs)
        name = tracer.graph._target_to_str(target) if op == "call_function" else None
        return tracer.create_proxy(op, target, args, kwargs, name=name)


def _instructions_from(frame: Any) -> list[dis.Instruction]:
    """Return the instructions of a frame, beginning with the current one."""
    return [i for i in dis.get_instructions(frame.f_code) if i.offset >= frame.f_lasti]


def _is_assert(frame: Any) -> bool:
    """Return whether the program asks for a truth value because of an ``assert``."""
    here = [i for i in _instructions_from(frame) if i.opname not in ("CACHE", "NOT_TAKEN", "TO_BOOL")]
    if "JUMP" not in here[0].opname and len(here) > 1:
        here = here[1:]
    after = here[1:4]
    return here[0].opname.endswith("IF_TRUE") and any([i.opname == "LOAD_ASSERTION_ERROR" or i.argval is AssertionError or
                                                       i.argval == "AssertionError" for i in after])


class Attribute(Proxy):
    """An attribute of a proxy, which becomes a node when it is used, unless it is called at once. See
    torch.fx.proxy.Attribute.
    """

    def __init__(self, root: Proxy, attr: str):
        self.root, self.attr, self.tracer = root, attr, root.tracer
        self._made: Node | None = None

    @property
    def node(self) -> Node:     # type: ignore[override]
        """The call of getattr."""
        if self._made is None:
            self._made = self.tracer.create_proxy("call_function", getattr, (self.root, self.attr), {}).node
        return self._made

    def __call__(self, *args: Any, **kwargs: Any) -> Proxy:
        return self.tracer.create_proxy("call_method", self.attr, (self.root, *args), kwargs)


class ParameterProxy(Proxy):
    """A parameter, whose shape is known. See torch.fx.proxy.ParameterProxy."""

    def __init__(self, tracer: TracerBase, node: Node, name: str, param: Parameter):
        super().__init__(node, tracer)
        self.param, self.name = param, name

    def __repr__(self) -> str:
        return f"ParameterProxy({self.name})"

    shape = property(lambda self: self.param.shape)
    ndim = property(lambda self: self.param.ndim)

    def size(self) -> Any:
        """Return the parameter's size."""
        return self.param.size()

    def dim(self) -> int:
        """Return the parameter's number of dims."""
        return self.param.dim()

    def numel(self) -> int:
        """Return the parameter's number of elements."""
        return self.param.numel()

    nelement = numel


def _operator(name: str) -> Callable:
    def impl(*args: Any, **kwargs: Any) -> Any:
        return args[0].tracer.create_proxy("call_function", getattr(operator, name), args, kwargs)
    impl.__name__ = name
    return impl


def _reflected(name: str) -> Callable:
    def impl(self: Proxy, rhs: Any) -> Any:
        return self.tracer.create_proxy("call_function", getattr(operator, name), (rhs, self), {})
    impl.__name__ = impl.__qualname__ = f"__r{name.strip('_')}__"
    return impl


for _name in magic_methods:
    if hasattr(operator, _name):
        setattr(Proxy, f"__{_name.strip('_')}__", _operator(_name))
for _name in reflectable_magic_methods:
    if hasattr(operator, _name):
        setattr(Proxy, f"__r{_name.strip('_')}__", _reflected(_name))
