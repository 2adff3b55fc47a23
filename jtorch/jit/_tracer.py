"""Records the operators that a module calls as a graph, for ``torch.jit._get_trace_graph``.

The tracer is a mode with ``__torch_function__``: it sees calls of functions by their names in PyTorch. The hooks of ``_aten``
show the ops inside functions written in Python. Each call is recorded once: while its own function runs, nothing is recorded.
"""
from __future__ import annotations

import contextlib
import inspect
import threading
from collections.abc import Callable, Iterable, Iterator
from typing import Any

from jtorch._api.argument_errors import MISSING
from jtorch._api.indexing import getitem
from jtorch._aten import hooks as hooks
from jtorch._aten import stack
from jtorch._aten.composites import COMPOSITES
from jtorch._aten.fitting import Named, arguments, generic, overloads, plain_name
from jtorch._aten.operators import NAMES, REDUCTIONS, of_call, padding_of, sizes
from jtorch._base.pytree import flatten
from jtorch._library.arguments import default
from jtorch._library.schema import Argument, FunctionSchema, Type
from jtorch.dispatch import calls, views, writes
from jtorch.engine import Call
from jtorch.jit._graph import Graph, PlainType, TensorType, Value
from jtorch.overrides import TorchFunctionMode
from jtorch.tensor import Tensor

_RUN: dict[str, Callable] = {"call": calls.call, "call_view": views.call_view, "call_inplace": writes.call_inplace,
        "call_writing": writes.call_writing}
# Functions that PyTorch composes of other functions in Python, although an operator has the same name.
_IN_PYTHON = {"norm", "cdist", "stft", "istft", "unique", "unique_consecutive", "tensordot", "block_diag", "meshgrid", "copy"}
_WHOLE = {"_attention_with_dropout_mask"}
_OPERATORS = {"cross_entropy": "cross_entropy_loss", "nll_loss": "nll_loss_nd", "__matmul__": "matmul", "__neg__": "neg",
              "__truediv__": "div", "__rtruediv__": "div", "__invert__": "bitwise_not", "__rsub__": "rsub",
              "__mod__": "remainder",
              **dict.fromkeys("float double half bfloat16 long int bool cpu".split(), "to")}
_CALLED = {"input": "self"}
_SPELT = {"x": "input", "a": "input", "x1": "input", "axis": "dim", "keepdims": "keepdim"}    # NumPy's names
_UNSAID = {"_stacklevel", "inplace", "out", "recompute_scale_factor", "size_average", "reduce", "return_indices"}


class _Active(threading.local):
    tracer: Tracer | None = None


active = _Active()


class Tracer(TorchFunctionMode):
    """The state of a recording. ``torch._C._get_tracing_state`` returns it while the module runs."""

    def __init__(self, given: Iterable[Tensor]):
        self.graph, self._scopes, self._values = Graph(), list[str](), dict[int, tuple[Any, Value]]()
        self._resting = False
        for t in given:
            self._note(t, self.graph.add_input(t))

    # ---------------------------------------------------------------- scopes

    def push_scope(self, name: str) -> None:
        """Enter a scope: nodes that are recorded from now on name it."""
        self._scopes.append(name)

    def pop_scope(self) -> None:
        """Leave the innermost scope."""
        self._scopes.pop()

    def current_scope(self) -> str:
        """Return the scopes, with ``/`` between them."""
        return "/".join(self._scopes)

    # ---------------------------------------------------------------- recording calls

    def __torch_function__(self, func: Callable, types: Iterable[type], args: tuple = (), kwargs: dict | None = None) -> Any:
        """Run a function, and record it as an operator if PyTorch's traces do."""
        kwargs = kwargs or {}
        name = _operator_of(func) if func is not getitem or not isinstance(args[1], Tensor) else "index"
        if name is None or self._resting:
            return func(*args, **kwargs)
        with self._at_rest():
            made = func(*args, **kwargs)
        if name == "to" and isinstance(made, Tensor) and made.device == args[0].device:
            self._record("aten::to", [args[0], made.dtype, False, False, None], made)
        elif name == "index":
            self._record("aten::index", [args[0], [args[1]]], made)
        elif _has_tensor(made):
            kind, inputs, several = _described(name, _by_name(func, args, kwargs), args, kwargs.get("inplace") is True)
            self._record(kind, inputs, list(made) if several else made)
        return made

    def op(self, way: str, c: Call, flat: Any, rest: tuple) -> Any:
        """Run a call of an op and record it. Of a composite op, record the calls of its rule if no operator has its name.

        Return None, and record nothing, while a recorded call runs.
        """
        if self._resting:
            return None
        if c.op.name in COMPOSITES and c.op.name not in _WHOLE and _named(c, flat, way) is None:
            made = COMPOSITES[c.op.name](**arguments(c, flat))
            if made is not NotImplemented:
                return list(made) if isinstance(made, tuple) else made
        with self._at_rest():
            made = rest[0]() if way == "dynamic" else _RUN[way](c, flat, *rest)
        if c.op.name == "_attention_with_dropout_mask":
            given = {k: v for k, v in arguments(c, flat).items() if k != "kept"}
            self._record("aten::scaled_dot_product_attention", list(given.values()), made)
            return made
        named = _named(c, flat, way)
        if c.op.name == "nn.functional.interpolate" and named is not None:
            self._record(f"aten::{named.func._schema.name.partition('::')[2]}", _resized(**arguments(c, flat)), made)
        elif named is None:
            self._record(f"jtorch::{c.op.name}", list(arguments(c, flat).values()), made)
        else:
            self._record(f"aten::{named.func._schema.name.partition('::')[2]}", _all_of(named), made)
        return made

    def recurrent(self, kind: str, run: Callable[[], Any], inputs: list) -> Any:
        """Run a recurrent network and record it as one operator."""
        if self._resting:
            return None
        with self._at_rest():
            made = run()
        self._record(f"aten::{kind}", inputs, tuple(made))
        return made

    def function(self, name: str, args: tuple, apply: Callable[[], Any]) -> Any:
        """Run the forward of a ``torch.autograd.Function`` and record it as one node."""
        with self._at_rest():
            made = apply()
        self._record("prim::PythonOp", [t for t in args if isinstance(t, Tensor)], made, name=name)
        return made

    @contextlib.contextmanager
    def _at_rest(self) -> Iterator[None]:
        before, self._resting = self._resting, True
        try:
            yield
        finally:
            self._resting = before

    # ---------------------------------------------------------------- the graph

    def _note(self, t: Tensor, value: Value) -> None:
        self._values[id(t)] = t, value

    def value(self, x: Any) -> Value:
        """Return the value of a tensor, a number, a text or a list of these."""
        if isinstance(x, Tensor):
            if id(x) not in self._values:
                self._note(x, self.graph.add_constant(x, self.current_scope()))
            return self._values[id(x)][1]
        if isinstance(x, (list, tuple)):
            parts = [self.value(v) for v in x]
            kind = str(parts[0].type()) if parts and not parts[0].isCompleteTensor() else "Tensor" if parts else "int"
            return self.graph.add("prim::ListConstruct", parts, [PlainType(f"{kind}[]")], self.current_scope()).output()
        return self.graph.add_constant(x, self.current_scope())

    def _record(self, kind: str, inputs: list, made: Any, name: str = "") -> None:
        scope, values = self.current_scope(), [self.value(x) for x in inputs]
        if made.__class__ is list:
            whole = self.graph.add(kind, values, [PlainType("Tensor[]")], scope).output()
            kind, values = "prim::ListUnpack", [whole]
        tensors = [t for t in (made if isinstance(made, (list, tuple)) else [made]) if isinstance(t, Tensor)]
        node = self.graph.add(kind, values, map(TensorType, tensors), scope, name=name)
        for t, value in zip(tensors, node.outputs(), strict=True):
            self._note(t, value)

    def finish(self, out: Any) -> Graph:
        """Return the graph, with the module's results as its outputs."""
        tensors = [t for t in flatten(out)[0] if isinstance(t, Tensor)]
        self.graph.finish([self.value(t) for t in tensors])
        return self.graph


def _has_tensor(made: Any) -> bool:
    return any([isinstance(t, Tensor) for t in (made if isinstance(made, (list, tuple)) else [made])])


# ---------------------------------------------------------------- functions as operators

def _operator_of(func: Callable) -> str | None:
    """Return the name of the operator that PyTorch's traces show for a function; None if they show the calls inside it."""
    name = getattr(func, "__name__", "")
    if name in _IN_PYTHON or name in ("detach_", "requires_grad_", "backward", "getitem"):
        return None
    if name.startswith("conv") and name.endswith("d"):
        return "_convolution"
    name = _OPERATORS.get(name, name)
    for spelt in (name, name.strip("_"), name.strip("_").removeprefix("r"), name.strip("_").removeprefix("i") + "_"):
        if spelt and overloads(spelt):
            return spelt
    return None


def _by_name(func: Callable, args: tuple, kwargs: dict) -> dict[str, Any] | None:
    """Return the arguments by parameter name, with defaults; None if the signature does not name all parameters.

    Arguments that PyTorch's operators do not have are left out.
    """
    try:
        bound = inspect.signature(func).bind(*args, **kwargs)
    except (TypeError, ValueError):
        return None
    if any([p.kind in (p.VAR_POSITIONAL, p.VAR_KEYWORD) for p in bound.signature.parameters.values()]):
        return None
    bound.apply_defaults()
    defaults = {k: p.default for k, p in bound.signature.parameters.items()}
    said = {_SPELT.get(k, k): v for k, v in bound.arguments.items() if k not in _SPELT or v is not defaults[k]}
    return {k: v for k, v in said.items() if k not in _UNSAID and k[0] != "_" and v is not MISSING}


def _described(name: str, given: dict[str, Any] | None, args: tuple, inplace: bool) -> tuple[str, list, bool]:
    """Return (kind of the node, its inputs, whether its output is a list)."""
    if name == "_convolution" and given is not None:
        return "aten::_convolution", _convolution(**given), False
    full = f"{name}_" if inplace and overloads(f"{name}_") else name
    fits = [(found, func) for func in overloads(name) if (found := _inputs(func._schema, given, args)) is not None]
    if fits:
        found, func = min(fits, key=lambda fit: len(fit[0]))
        return f"aten::{full}", found, func._schema.returns[0].type.is_list
    return f"aten::{full}", [*(args if given is None else given.values())], False


def _inputs(schema: FunctionSchema, given: dict[str, Any] | None, args: tuple) -> list | None:
    """Return the inputs in the order of a schema; None if the schema does not accept the arguments."""
    if given is None:
        args = _gathered(schema, args)
        if len(args) > len(schema.arguments):
            return None
        given = dict(zip([a.name for a in schema.arguments], args, strict=False))
    left = {_CALLED.get(k, k): v for k, v in given.items()}
    found = []
    for a in schema.arguments:
        key = next((k for k in (a.name, "self" if a.name == "input" else "") if k in left), None)
        if a.is_out or (key is None and not a.given_default and not a.name.startswith("cudnn_enable")):
            return None
        value = left.pop(key) if key is not None else default(a) if a.given_default else True
        if value is None and not a.type.is_optional and a.given_default:
            value = default(a)
        value = _as_listed(REDUCTIONS[value] if a.name == "reduction" and value in REDUCTIONS else value, a)
        if not _suits(value, a):
            return None
        found.append(value)
    return None if any([v is not None and v is not False for v in left.values()]) else found


def _kind_of(a: Argument) -> Type:
    return a.type.element if a.type.is_optional and a.type.element is not None else a.type


def _gathered(schema: FunctionSchema, args: tuple) -> tuple:
    """Return positional arguments with sizes or dims that were given one by one joined to a list."""
    at = next((i for i, a in enumerate(schema.arguments) if _kind_of(a).is_list), None)
    if at is None or at > 1 or at >= len(args) or not isinstance(args[at], (int, Tensor)):
        return args
    return (*args[:at], list(args[at:]))


def _as_listed(value: Any, a: Argument) -> Any:
    kind = _kind_of(a)
    return [value] * (kind.size or 1) if kind.is_list and value is not None and not isinstance(value, (list, tuple)) else value


def _suits(value: Any, a: Argument) -> bool:
    """Return whether a value fits an argument of a schema. Only the checks that distinguish overloads are made."""
    kind = _kind_of(a)
    if value is None:
        return a.type.is_optional
    if kind.is_list != isinstance(value, (list, tuple)):
        return False
    return not (kind.name == "bool" and type(value) is not bool) and kind.name != "Dimname"


def _convolution(input: Tensor, weight: Tensor, bias: Any = None, stride: Any = 1, padding: Any = 0, output_padding: Any = None,
                 groups: int = 1, dilation: Any = 1) -> list:
    n = weight.dim() - 2
    return [input, weight, bias, sizes(stride, n), padding_of(padding, weight, dilation, n), sizes(dilation, n),
            output_padding is not None, sizes(output_padding or 0, n), groups, False, False, True, True]


def _resized(input: Tensor, size: Any = None, scale_factor: Any = None, mode: str = "nearest", align_corners: Any = None,
             recompute_scale_factor: Any = None, antialias: bool = False) -> list:
    n = input.dim() - 2
    if recompute_scale_factor:
        size, scale_factor = [int(d * f) for d, f in zip(input.shape[2:], sizes(scale_factor, n), strict=True)], None
    corners = [] if mode.startswith("nearest") else [bool(align_corners)]
    return [input, None if size is None else sizes(size, n), *corners,
            None if scale_factor is None else [float(f) for f in sizes(scale_factor, n)]]


# ---------------------------------------------------------------- ops as operators

def _named(c: Call, flat: Any, way: str) -> Named | None:
    """Return the operator that PyTorch's tracer records for an op's call. A composite operator is recorded as one operator."""
    suffix = "_" if way == "call_inplace" else ""
    if plain_name(c.op.name) in _IN_PYTHON and c.op.name in NAMES:
        return of_call(c, flat, suffix)
    return generic(c, flat, suffix) or of_call(c, flat, suffix)


def _all_of(named: Named) -> list:
    """Return the arguments of an operator with the schema's defaults."""
    there = named.func._schema.arguments
    given = {**dict(zip([a.name for a in there], named.args, strict=False)), **named.kwargs}
    return [given[a.name] if a.name in given else default(a) if a.given_default else None for a in there]


# ---------------------------------------------------------------- tracing

def traced(f: Callable, args: tuple, kwargs: dict, state: Iterable[Tensor]) -> tuple[Graph, Any]:
    """Return the graph of a call, and the call's result."""
    tensors = [t for t in flatten((args, kwargs))[0] if isinstance(t, Tensor)]
    tracer = Tracer([*tensors, *state])
    before, active.tracer = active.tracer, tracer
    try:
        with stack.traced_by(tracer), tracer:
            out = f(*args, **kwargs)
    finally:
        active.tracer = before
    return tracer.finish(out), out
