"""Tracing of a function or module with proxies in place of its inputs. See torch.fx.Tracer."""
from __future__ import annotations

import collections
import copy
import functools
import inspect
import math
import types
from collections.abc import Callable, Iterable
from typing import Any

from jtorch._api.torch_function import interception
from jtorch.fx._codegen import _PyTreeCodeGen, _PyTreeInfo
from jtorch.fx._concrete import PH, PHBase, PHWithMeta, check_input, transfer_attrs
from jtorch.fx._patched import Patcher
from jtorch.fx._paths import module_name
from jtorch.fx._wrapped import autowrap_check, patch_wrapped_functions, wrap
from jtorch.fx.graph import Graph
from jtorch.fx.graph_module import GraphModule, _make_graph_module
from jtorch.fx.node import Argument, map_aggregate
from jtorch.fx.proxy import ParameterProxy, Proxy, Scope, ScopeContextManager, TracerBase
from jtorch.nn.modules.container import Sequential
from jtorch.nn.modules.module import Module
from jtorch.nn.parameter import Parameter
from jtorch.tensor import Tensor
from jtorch.utils import _pytree as pytree

__all__ = ["PH", "PHBase", "PHWithMeta", "ProxyableClassMeta", "Tracer", "is_fx_symbolic_tracing", "is_fx_tracing",
           "symbolic_trace", "wrap"]

_VARIABLE = inspect.CO_VARARGS | inspect.CO_VARKEYWORDS
_tracing = False
_proxyable_classes: dict[type, None] = {}


def is_fx_tracing() -> bool:
    """Return whether a trace is in progress."""
    return _tracing


is_fx_symbolic_tracing = is_fx_tracing


class ProxyableClassMeta(type):
    """The metaclass of classes whose construction becomes a node. See torch.fx.ProxyableClassMeta."""

    def __init__(cls, name: str, bases: Any, attrs: Any):
        _proxyable_classes.setdefault(cls)
        super().__init__(name, bases, attrs)

    def __call__(cls, *args: Any, **kwargs: Any) -> Any:
        made = cls.__new__(cls)     # type: ignore[call-overload]
        found: list[Proxy] = []
        map_aggregate((args, kwargs), lambda a: found.append(a) if isinstance(a, Proxy) else None)
        if found:
            return found[0].tracer.create_proxy("call_function", cls, args, kwargs)
        made.__init__(*args, **kwargs)
        return made


class Tracer(TracerBase):
    """Runs a function with proxies and records the graph of its operations. See torch.fx.Tracer.

    Calls of leaf modules (``is_leaf_module``) become one node; other modules are traced through.

    Args:
        autowrap_modules: modules whose functions become nodes.
        autowrap_functions: functions that become nodes.
        param_shapes_constant: whether shapes of parameters are constants of the graph.

    >>> class ThroughAll(torch.fx.Tracer):
    ...     def is_leaf_module(self, m, qualified_name):
    ...         return False
    >>> graph = ThroughAll().trace(torch.nn.Sequential(torch.nn.ReLU()))
    >>> [node.op for node in graph.nodes]
    ['placeholder', 'call_function', 'output']

    """

    def __init__(self, autowrap_modules: tuple[types.ModuleType, ...] = (math,), autowrap_functions: tuple[Callable, ...] = (),
                 param_shapes_constant: bool = False):
        super().__init__()
        of_modules = [f for m in autowrap_modules for n, f in vars(m).items() if not n.startswith("_") and callable(f)]
        self._autowrap_function_ids = {id(f) for f in (*of_modules, *autowrap_functions)}
        self._autowrap_search = list(autowrap_modules)
        self.param_shapes_constant = param_shapes_constant
        self.submodule_paths: dict[Any, str] | None = None
        self.root_module_name = ""
        self.scope = Scope("", None)
        self.module_stack = collections.OrderedDict()
        self.num_calls: dict[str, int] = {}
        self.node_name_to_scope = {}
        self.tensor_attrs: dict[Any, str] = {}

    # ------------------------------------------------------------ methods to override

    def is_leaf_module(self, m: Any, module_qualified_name: str) -> bool:
        """Return whether a module's call becomes one node: True for modules of torch.nn except Sequential. See
        torch.fx.Tracer.
        """
        return (module_name(type(m)) or "").startswith(("torch.nn", "torch.ao.nn")) and not isinstance(m, Sequential)

    def path_of_module(self, mod: Any) -> str:
        """Return the path of a module; NameError if the root does not contain it. See torch.fx.Tracer.path_of_module."""
        paths = self.submodule_paths or {m: n for n, m in self.root.named_modules()}
        if mod not in paths:
            raise NameError("module is not installed as a submodule")
        return paths[mod]

    def call_module(self, m: Any, forward: Callable, args: tuple, kwargs: dict[str, Any]) -> Any:
        """Return a module's call as a node, or the result of tracing through it. See torch.fx.Tracer.call_module."""
        path = self.path_of_module(m)
        with ScopeContextManager(self.scope, Scope(path, type(m))) as scope:
            calls = self.num_calls.get(path, 0)
            key = f"{scope.module_path}@{calls}" if calls else scope.module_path
            self.module_stack[key] = (path, scope.module_type)
            self.num_calls[path] = calls + 1
            if self.is_leaf_module(m, path):
                made = self.create_proxy("call_module", path, args, kwargs)
            else:
                made = forward(*args, **kwargs)
            self.module_stack.popitem(last=True)
        return made

    def getattr(self, attr: str, attr_val: Any, parameter_proxy_cache: dict[str, Proxy]) -> Any:
        """Return an attribute of a module; a proxy for a parameter. See torch.fx.Tracer.getattr."""
        if isinstance(attr_val, Parameter):
            return self._proxy_of(attr_val, self.root.named_parameters(), parameter_proxy_cache)
        if self.proxy_buffer_attributes and isinstance(attr_val, Tensor):
            return self._proxy_of(attr_val, self.root.named_buffers(), parameter_proxy_cache)
        return attr_val

    def _proxy_of(self, value: Any, named: Iterable[tuple[str, Any]], cache: dict[str, Proxy]) -> Any:
        name = next((n for n, p in named if p is value), None)
        if name is None:
            return value
        if name not in cache:
            made: dict[str, Any] = {}
            if self.param_shapes_constant and "proxy_factory_fn" in inspect.signature(self.create_proxy).parameters:
                made["proxy_factory_fn"] = lambda node: ParameterProxy(self, node, name, value)
            cache[name] = self.create_proxy("get_attr", name, (), {}, **made)
        return cache[name]

    def get_fresh_qualname(self, prefix: str) -> str:
        """Return an attribute name that the root does not have."""
        n = 0
        while hasattr(self.root, f"{prefix}{n}"):
            n += 1
        return f"{prefix}{n}"

    def create_arg(self, a: Any) -> Argument:
        """Return a value as a node's argument; parameters, buffers, modules and constant tensors become attributes."""
        if isinstance(a, (Tensor, Module)):
            return self.create_node("get_attr", self._attribute(a), (), {})
        if isinstance(a, tuple) and hasattr(a, "_fields"):
            return self.create_node("call_function", type(a), tuple([self.create_arg(x) for x in a]), {})
        if type(a) in _proxyable_classes:
            name = self.get_fresh_qualname(f"_{type(a).__name__}_constant_")
            setattr(self.root, name, a)
            return self.create_node("get_attr", name, (), {})
        return super().create_arg(a)

    def _attribute(self, a: Any) -> str:
        """Return the path of a tensor or module in the root; a constant tensor is added to the root."""
        kind = "parameters" if isinstance(a, Parameter) else "buffers" if isinstance(a, Tensor) else "modules"
        found = next((n for n, p in getattr(self.root, f"named_{kind}")() if p is a), None) or self.tensor_attrs.get(a)
        if found is not None:
            return found
        if not isinstance(a, Tensor):
            raise NotImplementedError(f"argument of type: {type(a)}")
        if isinstance(a, Parameter):
            raise NameError("parameter is not a member of this module")
        name = self.tensor_attrs[a] = self.get_fresh_qualname("_tensor_constant")
        setattr(self.root, name, a)
        return name

    # ------------------------------------------------------------ arguments of the root

    def create_args_for_root(self, root_fn: Callable, is_module: bool, concrete_args: Any = None) -> tuple[Callable, list]:
        """Return proxies for a function's parameters, and the function that takes them. See torch.fx.Tracer."""
        analysed: Any = inspect.unwrap(root_fn)
        code, signature = analysed.__code__, inspect.signature(analysed)
        total = code.co_argcount + code.co_kwonlyargcount
        names = list(code.co_varnames)
        if is_module and total == 0:
            raise RuntimeError("``self`` argument cannot be part of *args expansion!")
        skipped = int(is_module)
        args: list[Any] = [self.root] if is_module else []
        if isinstance(concrete_args, tuple) and concrete_args and code.co_flags & _VARIABLE and total == 1:
            return root_fn, args + [self._numbered_input(i, x) for i, x in enumerate(concrete_args)]
        if isinstance(concrete_args, tuple):
            if total - skipped != len(concrete_args):
                raise RuntimeError(f"Tracing expected {total - skipped} arguments but got {len(concrete_args)} concrete "
                                   "arguments")
            concrete_args = dict(zip(names[skipped:total], concrete_args, strict=True))

        def placeholder(name: str) -> Any:
            return self._proxy_placeholder(name, concrete_args, signature, analysed)
        args += [placeholder(n) for n in names[skipped:total]]
        if code.co_kwonlyargcount or code.co_flags & _VARIABLE:
            rest = iter(names[total:])
            args += [placeholder(f"*{next(rest)}")] if code.co_flags & inspect.CO_VARARGS else []
            args += [placeholder(f"**{next(rest)}")] if code.co_flags & inspect.CO_VARKEYWORDS else []
            root_fn = _all_positional(analysed, len(args))
        return self._flatten_arguments(root_fn, args, names[:total])

    def _flatten_arguments(self, root_fn: Callable, args: list, names: list[str]) -> tuple[Callable, list]:
        """Return the function of the arguments' leaves, if some arguments are nested."""
        flat, form = pytree.tree_flatten(tuple(args))
        if len(flat) == len(args) and all([a is b for a, b in zip(flat, args, strict=True)]):
            return root_fn, args
        codegen = self.graph._codegen = _PyTreeCodeGen(_PyTreeInfo(names, form, None))

        def of_leaves(*leaves: Any) -> Any:
            made, out_form = pytree.tree_flatten(root_fn(*pytree.tree_unflatten(list(leaves), form)))
            codegen.pytree_info = codegen.pytree_info._replace(out_spec=out_form)
            return made
        return of_leaves, flat

    def _numbered_input(self, i: int, given: Any) -> Proxy:
        made = self.create_proxy("placeholder", f"input_{i}", (), {})
        if isinstance(given, PHBase) and given is not PH:
            transfer_attrs(given, made.node)
        return made

    def _proxy_placeholder(self, name: str, concrete_args: dict[str, Any] | None, sig: inspect.Signature, fn: Any) -> Any:
        default = () if name.startswith("*") or sig.parameters[name].default is inspect.Parameter.empty \
            else (sig.parameters[name].default,)
        if concrete_args is None or name not in concrete_args:
            return self.create_proxy("placeholder", name, default, {}, type_expr=fn.__annotations__.get(name))
        count = 0

        def replaced(x: Any) -> Any:
            nonlocal count
            count += 1
            made = self.create_proxy("placeholder", f"{name}_{count}", default, {})
            if not isinstance(x, PHBase):
                return check_input(self, made, name, x)
            if x is not PH:
                transfer_attrs(x, made.node)
            return made
        return pytree.tree_map(replaced, concrete_args[name])

    # ------------------------------------------------------------ tracing

    def trace(self, root: Module | Callable, concrete_args: Any = None) -> Graph:
        """Return the graph of a module or function. See torch.fx.Tracer.trace.

        Args:
            root: the module or function.
            concrete_args: fixed values of arguments by name, which become constants of the graph; PH in them stands for an
                input.

        Returns:
            The graph.

        """
        global _tracing
        before, _tracing = _tracing, True
        try:
            fn = self._begin(root)
            globals_ = fn.__globals__
            run, args = self.create_args_for_root(fn, isinstance(root, Module), concrete_args)
            with Patcher() as patcher, interception():
                self._patch(patcher, globals_)
                returns = inspect.get_annotations(inspect.unwrap(fn)).get("return")
                self.create_node("output", "output", (self.create_arg(run(*args)),), {}, type_expr=returns)
            self.submodule_paths = None
        finally:
            _tracing = before
        return self.graph

    def _begin(self, root: Any) -> Any:
        """Create an empty graph, and return the function to trace."""
        fn: Any = root
        if isinstance(root, Module):
            if not hasattr(type(root), self.traced_func_name):
                raise AssertionError(f"traced_func_name={self.traced_func_name} doesn't exist in {type(root).__name__}")
            fn = getattr(type(root), self.traced_func_name)
            self.root_module_name = root._get_name()
            self.submodule_paths = {m: n for n, m in root.named_modules()}
        self.root: Any = root if isinstance(root, Module) else Module()
        self.graph = Graph(tracer_cls=type(self))
        if not isinstance(fn, types.FunctionType):
            raise AssertionError(f"Expected FunctionType, got {type(fn)}")
        self.graph._co_fields = {f"co_{n}": getattr(fn.__code__, f"co_{n}") for n in ("name", "filename", "firstlineno")}
        self.tensor_attrs = {}
        for prefix, module in self.root.named_modules():
            for name, value in vars(module).items():
                if isinstance(value, Tensor):
                    self.tensor_attrs[value] = f"{prefix}.{name}" if prefix else name
        return fn

    def _patch(self, patcher: Patcher, globals_: dict[str, Any]) -> None:
        """Patch modules so that the tracer sees their attributes and calls, and functions to wrap so that they become nodes."""
        get, call, cache = Module.__getattr__, Module.__call__, {}      # type: ignore[var-annotated]

        @functools.wraps(get)
        def module_getattr(mod: Any, attr: str) -> Any:
            return self.getattr(attr, get(mod, attr), cache)

        @functools.wraps(call)
        def module_call(mod: Any, *args: Any, **kwargs: Any) -> Any:
            autowrap_check(patcher, getattr(getattr(mod, "forward", mod), "__globals__", {}), self._autowrap_function_ids)
            return self.call_module(mod, lambda *args, **kwargs: call(mod, *args, **kwargs), args, kwargs)
        patcher.patch_method(Module, "__getattr__", module_getattr, deduplicate=False)
        patcher.patch_method(Module, "__call__", module_call, deduplicate=False)
        patch_wrapped_functions(patcher)
        autowrap_check(patcher, globals_, self._autowrap_function_ids)
        for module in self._autowrap_search:
            autowrap_check(patcher, vars(module), self._autowrap_function_ids)

    def __deepcopy__(self, memo: dict) -> Tracer:
        made = type(self).__new__(type(self))
        for name, value in vars(self).items():
            made.__dict__[name] = copy.copy(value) if name == "_autowrap_search" else copy.deepcopy(value, memo)
        return made


def _all_positional(fn: Any, nargs: int) -> Callable:
    """Return the function with all parameters positional; ``*args`` and ``**kwargs`` become two of them."""
    code = fn.__code__
    made = code.replace(co_argcount=nargs, co_posonlyargcount=0, co_kwonlyargcount=0, co_flags=code.co_flags & ~_VARIABLE)
    return types.FunctionType(made, fn.__globals__, fn.__name__, fn.__defaults__, fn.__closure__)


def symbolic_trace(root: Module | Callable, concrete_args: Any = None) -> GraphModule:
    """Return the module of the graph of a module or function. See torch.fx.symbolic_trace.

    Args:
        root: the module or function.
        concrete_args: fixed values of arguments by name, which become constants of the graph.

    Returns:
        A GraphModule that computes what ``root`` computes.

    Raises:
        TraceError: control flow depends on a value.

    >>> m = torch.fx.symbolic_trace(lambda x: torch.relu(x) + 1)
    >>> [node.op for node in m.graph.nodes]
    ['placeholder', 'call_function', 'call_function', 'output']
    >>> m(torch.tensor([-1.0, 2.0]))
    tensor([1., 3.])

    """
    tracer = Tracer()
    graph = tracer.trace(root, concrete_args)
    name = type(root).__name__ if isinstance(root, Module) else root.__name__
    return _make_graph_module(tracer.root, graph, name)


