"""The record of an op and the ``@op`` decorator: one declaration from which everything about an op is derived.

An op's body is a pure function of ``jax.Array``s. The annotations of its parameters say what the caller may pass:

=====================  =====================================================================================
``Tensor``             a tensor; the body gets an array
``Tensor | Number``    a tensor or a Python number; the body gets an array (0-dim for a number)
``Tensor | <other>``   a tensor (array) or, if something else is passed, a static value (``Tensor | None``, ``Tensor | int``)
``Tensors``            a sequence of tensors, also accepted spelled out as ``f(a, b, c)``; the body gets a list
``list[Tensor]``       a sequence of tensors; the body gets a list
``Number``             a Python number that is an input of the compiled program, not part of it: a new value compiles
                       nothing. The body gets a 0-dim array, or the default itself where the caller left it out
``Size``               ints, as one sequence or spelled out: ``f(2, 3)``; the body gets a tuple
``Scalar``             a Python number that is static: a new value is a new kernel
``dtype | None``       a torch dtype; the body gets the NumPy dtype
anything else          static: a new value is a new kernel
=====================  =====================================================================================
"""
from __future__ import annotations

import functools
import inspect
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from math import copysign
from typing import Any, ClassVar

import jax
import jax.numpy as jnp
import numpy as np

import jtorch.dtype as dtypes
from jtorch.ops import check, promotion
from jtorch.ops.autocast import POLICIES, Autocast
from jtorch.ops.facts import (
    ANY_MEMORY,
    GROUPS,
    INPUTS,
    NO_INPLACE,
    WITH_OUT,
    InPlace,
    Memory,
    Out,
    Saves,
    grouped,
)
from jtorch.ops.layout import ITERATED

# The types of annotations for type checkers. ``@op`` reads only their text.
Tensor = jax.Array
Tensors = list[jax.Array]
Number = Any            # a 0-dim array, or the default
Scalar = float
Size = tuple[int, ...]
dtype = np.dtype


class Marker:
    """A marker for an array in a template: a tensor (``T``) or a Python number of one type."""

    __slots__ = ("name", "number_type")

    def __init__(self, name: str, number_type: Any):
        self.name, self.number_type = name, number_type

    def __repr__(self):
        return self.name


T = Marker("T", None)
NUMBERS = {int: Marker("I", int), float: Marker("F", float), bool: Marker("B", bool), complex: Marker("C", complex)}


class Frozen(tuple):
    """A static number with its type, since 2, 2.0 and True are equal but must be different statics."""

    __slots__ = ()


def freeze(value):
    """Return a hashable static that distinguishes 1, 1.0 and True. Lists and tuples become tuples."""
    if isinstance(value, (list, tuple)):
        return tuple([freeze(v) for v in value])
    if value is True or value is False:
        return Frozen((bool, int(value)))
    if isinstance(value, np.generic):       # np.float64 is a float too
        return freeze(value.item())
    if value.__class__ is float:
        return frozen_float(value)
    if isinstance(value, (float, complex)):
        return Frozen((type(value), repr(value)))
    if isinstance(value, slice):
        return ("slice", freeze(value.start), freeze(value.stop), freeze(value.step))
    return value


_floats: dict[float, Frozen] = {}
_zeros = {1.0: Frozen((float, "0.0")), -1.0: Frozen((float, "-0.0"))}       # keyed by sign, since 0.0 == -0.0


def frozen_float(value: float) -> Frozen:
    """Return ``freeze`` of a float, with a cache, since formatting a float takes as long as a small op."""
    if not value:
        return _zeros[copysign(1.0, value)]
    found = _floats.get(value)
    if found is None:
        if len(_floats) > 1000:         # many NaNs, which never equal a cached key, fill the cache
            _floats.clear()
        found = _floats[value] = Frozen((float, repr(value)))
    return found


def thaw(value):
    """Return the value that the body gets for a static: the number itself, or NumPy's dtype for a torch dtype."""
    if value.__class__ is Frozen:
        return value[0](value[1])
    if value.__class__ is tuple:
        return tuple([thaw(v) for v in value])
    return value.np if isinstance(value, dtypes.dtype) else value


@dataclass(frozen=True)
class Param:
    """One parameter of an op: its name, its default, and the kinds of arguments that it accepts."""

    name: str
    kind: str               # tensor, tensor_or_number, tensor_or_static, tensors, number, size, static
    default: Any
    keyword_only: bool
    annotation: str
    varargs: bool = False

    @property
    def is_dims(self) -> bool:
        """Whether the parameter is a list of ints, perhaps with an int, a str or None in its place."""
        parts = {part.strip() for part in self.annotation.split("|")}
        return parts == {"Dims"} or ("tuple[int, ...]" in parts and parts <= {"tuple[int, ...]", "int", "str", "None"})

    @property
    def is_dtype(self) -> bool:
        """Whether the parameter is a dtype or None."""
        return self.annotation in ("dtype", "dtype | None", "dtypes.dtype | None")


def _kind(annotation: str) -> tuple[str, bool]:
    parts = {p.strip() for p in annotation.split("|")}
    if "Tensors" in parts or any(p.startswith(("list[Tensor", "Sequence[Tensor")) for p in parts):
        return "tensors", "Tensors" in parts
    if "Tensor" in parts:
        if len(parts) == 1:
            return "tensor", False
        return ("tensor_or_number" if "Number" in parts else "tensor_or_static"), False
    if "Number" in parts:
        return "number", False
    return ("size", True) if "Size" in parts else ("static", False)


COMPUTE = "compute"     # the keyword by which a body gets the common dtype of its promoted arguments


def _params(fn: Callable) -> tuple[Param, ...]:
    out = []
    given = [p for p in inspect.signature(fn).parameters.values() if p.name != COMPUTE]
    for i, p in enumerate(given):
        text = p.annotation if isinstance(p.annotation, str) else "Any"
        kind, spelled = _kind("Any" if p.annotation is p.empty else text)
        last = all(q.kind is q.KEYWORD_ONLY for q in given[i + 1:])
        out.append(Param(p.name, kind, p.default, p.kind is p.KEYWORD_ONLY, text, spelled and last))
    return tuple(out)


@dataclass(eq=False, slots=True, weakref_slot=True)
class Op:
    """The record of an op, made by ``@op``. See the arguments of ``op``."""

    name: str
    body: Callable
    params: tuple[Param, ...]
    doc: str
    aliases: tuple[str, ...] = ()
    operators: tuple[str, ...] = ()
    method: bool = True
    function: bool = True
    inplace: InPlace = NO_INPLACE
    out: Out = WITH_OUT
    promote: Any = None         # a key of promotion.RULES
    promotes: tuple[str, ...] = ()
    opmath: bool = False
    exact: tuple[str, ...] = ()
    fits: tuple[tuple[str, str], ...] = ()
    broadcast: bool = True
    takes_dtype: bool = False
    view: Any = None            # a ViewRule
    through_storage: bool = False
    creates: bool = False
    dynamic: bool = False
    static_form: Callable | None = None
    saves: Saves = INPUTS
    backward_name: str | Callable | None = None
    backward_name_by_shapes: Callable | None = None
    differentiable: bool = True
    not_derived: bool | Callable = False
    composite: bool = False
    looks_at_history: bool = False
    returns: tuple[str, ...] = ()
    writes: tuple[str, ...] = ()
    update_op: str = ""
    memory: Memory = ANY_MEMORY
    value_check: tuple[Callable, Callable] | None = None
    checked_where: Callable | None = None
    warns: Callable | None = None
    refuses: Callable | None = None
    numbers_only: bool = False
    result_dtype: Any = None
    autocast: Autocast | None = None
    loops: bool = False
    layout: Any = None          # a Layout, which gives the strides of results
    in_parts: Callable | None = None
    sharding_rule: Callable | None = None   # template -> for each result an argument's number or a sharding
    arrival: Callable | None = None     # the order in which gradients arrive at the arguments: see arrival.py
    tested: bool = True
    _functions: dict = field(default_factory=dict)
    # Facts that ``__post_init__`` derives from the fields above. Calls read them.
    asks_history_first: bool = field(init=False)
    has_history_in_place: bool = field(init=False)
    notes_origin: bool = field(init=False)
    is_plain_view: bool = field(init=False)
    elementwise: bool = field(init=False)
    shapes_first: bool = field(init=False)
    counts_numbers: bool = field(init=False)
    is_backward: ClassVar[bool] = False     # True for the backward of another op

    def __post_init__(self):
        has_derivative = bool(self.differentiable or self.not_derived)
        self.asks_history_first = (has_derivative or self.looks_at_history) and not self.composite
        self.has_history_in_place = has_derivative or self.inplace.name is not None
        self.notes_origin = self.view is not None and (self.view.remade or self.view.replayed)
        self.is_plain_view = (self.view is not None and self.differentiable and not self.notes_origin and not self.through_storage
                              and self.view.node_each is None)
        self.elementwise = self.layout is not None and self.layout.elementwise
        self.shapes_first = self.memory.dtypes_first or (self.promote is None and not self.elementwise)
        self.counts_numbers = self.promote is not None and self.layout is not None and self.layout.counts_numbers

    def __repr__(self):
        return f"<op {self.name}>"

    def read_from(self, template: tuple, count: int) -> int:
        """Return the number of the first argument whose value is used. Only the shapes of earlier arguments are used."""
        return 0

    def function_of(self, template: tuple) -> Callable:
        """Return a pure function of the arrays that ``template`` marks. It binds the other arguments and promotes."""
        found = self._functions.get(template)
        if found is None:
            if len(self._functions) > 1024:
                self._functions.clear()
            found = self._functions[template] = self.bound(template, self.body)
        return found

    def bound(self, template: tuple, body: Callable) -> Callable:
        """Return another body with the same parameters as a pure function of the arrays that ``template`` marks."""
        return _bound(self, template, body)

    def geometry(self, template: tuple, key: tuple, avals: Sequence) -> Any:
        """Return a view rule's result for the base's (size, stride, offset) and tensors of these avals; the first is the base."""
        assert self.view is not None
        left = iter(avals[1:])
        args = [_fill(t, left) for t in template[1:]]
        named = [(p, a) for p, a in zip(self.params[1:], args, strict=True) if p.keyword_only]
        plain = [a for p, a in zip(self.params[1:], args, strict=True) if not p.keyword_only]
        accepts = _parameters(self.view.geometry)
        keywords = {p.name: a for p, a in named if p.name in accepts}
        if "source" in accepts and accepts["source"].kind is inspect.Parameter.KEYWORD_ONLY:
            keywords["source"] = avals[0].np
        return self.view.geometry(*key, *plain, **keywords)

    def uncast(self, template: tuple, avals: Sequence) -> list[bool]:
        """Return which arrays of ``template`` are not cast to the common dtype first."""
        if self.promote is None:
            return [True] * len(avals)
        common, taking, given = self._promoted(template, avals)
        return [a.np == common or not any([a is x for x in taking]) for a in given]

    def common_dtype(self, template: tuple, avals: Sequence) -> np.dtype:
        """Return the dtype in which the op computes if it promotes its arguments, else the first argument's dtype."""
        return avals[0].np if self.promote is None else self._promoted(template, avals)[0]

    def _promoted(self, template: tuple, avals: Sequence) -> tuple[np.dtype, list, list]:
        """Return (the common dtype, the avals that promote to it, all avals)."""
        left = iter(avals)
        given = [(p, t, next(left)) for p, t in zip(self.params, template, strict=True) if t.__class__ is Marker]
        taking = [(t, a) for p, t, a in given if (p.name in self.promotes if self.promotes else p.kind.startswith("tensor"))]
        common = promotion.RULES[self.promote](promotion.result_type(_operand(t, a.sds) for t, a in taking))    # type: ignore[index]
        return common, [a for _, a in taking], [a for _, _, a in given]

    def has_number(self, template: tuple) -> bool:
        """Return whether an operand is a number. ``alpha`` and ``value`` are no operands."""
        return any([t.number_type is not None for p, t in zip(self.params, template, strict=True)
                    if t.__class__ is Marker and p.name not in ("alpha", "value")])

    def underived_name(self, template: tuple) -> str:
        """Return the op's name in the error for its missing derivative."""
        return self.not_derived(template) if callable(self.not_derived) else self.name

    def check_of(self, template: tuple) -> Callable | None:
        """Return a pure function of the arrays that checks their values, (is something wrong, int64 detail), or None."""
        if self.value_check is None or not (self.checked_where is None or self.checked_where(template)):
            return None
        return self.bound(template, self.value_check[0])

    def flag_of(self, template: tuple) -> Callable:
        """Return ``check_of`` without the detail, which is only needed for errors."""
        check = self.check_of(template)
        assert check is not None
        return lambda *arrays: check(*arrays)[0]


@functools.cache        # cached, since a loop over a tensor's elements reads the signature for each view
def _parameters(fn: Callable) -> Mapping[str, inspect.Parameter]:
    return inspect.signature(fn).parameters


def _bound(op: Op, template: tuple, body: Callable) -> Callable:
    kw = [p.keyword_only for p in op.params]
    number_types = [t.number_type for t in template if t.__class__ is Marker]
    for p, t in zip(op.params, template, strict=True):
        if p.is_dtype:      # NumPy's dtypes and their names are not accepted
            given = list(t) if t.__class__ is tuple else thaw(t) if t.__class__ is Frozen else getattr(t, "given", t)
            dtypes.as_dtype(given, op.name.removeprefix("nn.functional.").replace(".", "_"))

    def run(*arrays):
        left = iter(arrays)
        args = [_fill(t, left) if p.annotation not in ("float", "Scalar") else _as_float(_fill(t, left))
                for p, t in zip(op.params, template, strict=True)]
        if complex in number_types or complex in [a.__class__ for a in args]:
            _check_complex(op, template, args)
        compute = None if op.promote is None else _promote(op, template, args)
        positional = [a for a, k in zip(args, kw, strict=True) if not k]
        keywords = {p.name: a for p, a, k in zip(op.params, args, kw, strict=True) if k}
        made = body(*positional, **keywords, **({COMPUTE: compute} if op.takes_dtype and body is op.body else {}))
        return made.astype(compute) if op.opmath and compute in promotion.OPMATH and body is op.body else made

    run.__name__ = op.name.replace(".", "_")
    return run


def _as_float(number: Any) -> Any:
    """Return a bool as an int, and a complex number with a zero imaginary part as a real number."""
    if number.__class__ is bool:
        return int(number)
    return number.real if number.__class__ is complex and not number.imag else number


def _check_complex(op: Op, template: tuple, args: list) -> None:
    """Raise RuntimeError if a number that is no operand is complex and the tensors are real."""
    given = [a for p, t, a in zip(op.params, template, args, strict=True)
             if (p.kind == "number" and t is NUMBERS[complex] and (p.name != "alpha" or op.promote is None))
             or (p.kind == "static" and p.name != "ord" and a.__class__ is complex and a.imag)]
    tensors = [np.dtype(a.dtype) for a, t in zip(args, template, strict=True) if t is T]
    if given and tensors and not any(map(promotion.is_complex, tensors)):
        raise check.does_not_fit(tensors[0])


def _fill(t, left):
    if t.__class__ is Marker:
        return next(left)
    if t.__class__ is tuple:
        filled = [_fill(x, left) for x in t]
        return filled if _marks(t) else tuple(filled)
    return thaw(t)


def argument_of(op: Op, template: tuple, arrays: Iterable, name: str) -> Any:
    """Return an argument by name, for a template and its arrays or placeholders."""
    left = iter(arrays)
    return [_fill(t, left) for t in template][[p.name for p in op.params].index(name)]


def _marks(t: tuple) -> bool:
    return any(x.__class__ is Marker or (x.__class__ is tuple and _marks(x)) for x in t)


def _promote(op: Op, template: tuple, args: list) -> np.dtype:
    """Cast the promoted arguments to the op's dtype and broadcast them, in ``args``. Return the dtype."""
    taking = [i for i, p in enumerate(op.params) if template[i].__class__ is Marker
              and (p.name in op.promotes if op.promotes else p.kind.startswith("tensor"))]
    if op.refuses is not None:
        op.refuses([np.dtype(args[i].dtype) for i in taking])
    compute = promotion.RULES[op.promote](promotion.result_type(_operand(template[i], args[i]) for i in taking))
    wide = promotion.opmath(compute)
    for i, (p, mark) in enumerate(zip(op.params, template, strict=True)):
        if i in taking or (mark.__class__ is Marker and p.kind == "number"):
            to = wide if _is_exact(op, p, mark, args[i]) else compute
            args[i] = _cast(args[i], to, mark, p.name, in_result=i in taking)
            if op.opmath and wide != compute:
                args[i] = args[i].astype(wide)
    if op.broadcast and len(taking) > 1:
        shape = check.broadcast_shapes(*[args[i].shape for i in taking])
        for i in taking:
            if args[i].ndim and args[i].shape != shape:
                args[i] = args[i].reshape(()) if op.takes_dtype and args[i].size == 1 else jnp.broadcast_to(args[i], shape)
    return compute


def _is_exact(op: Op, p: Param, mark: Marker, array) -> bool:
    """Return whether a number is not rounded to the tensors' 16-bit dtype. A 0-dim tensor must be named by ``exact``."""
    return bool(op.exact) and not array.ndim and (p.name in op.exact or (mark is not T and p.kind != "number"))


def _operand(mark: Marker, array) -> tuple[np.dtype, int]:
    if mark is not T:
        return dtypes.default_of_number(mark.number_type), promotion.NUMBER
    return np.dtype(array.dtype), promotion.DIM if array.ndim else promotion.ZERO_DIM


def _cast(array, compute: np.dtype, mark: Marker, name: str, *, in_result: bool):
    if name in ("alpha", "beta") and mark.number_type is bool and compute != np.bool_:
        raise RuntimeError(f"Boolean {name} only supported for Boolean results.")
    refused = (complex,) if name == "value" else (float, complex)       # PyTorch's ``addcmul`` truncates a float ``value``
    if mark.number_type in refused and not in_result and not promotion.is_inexact(compute):
        raise RuntimeError(f"For integral input tensors, argument {name} must not be a floating point number.")
    if name == "alpha" and mark.number_type is complex and not promotion.is_complex(compute):
        raise RuntimeError("For non-complex input tensors, argument alpha must not be a complex number.")
    return array if array.dtype == compute else promotion.cast(array, compute)


OPS: dict[str, Op] = {}


def op(fn: Callable | None = None, /, *, name: str | None = None, method: bool | None = None, promotes: str = "",
       aliases: Sequence[str] = (), operators: Sequence[str] = (), returns: str = "", writes: str = "", exact: str = "",
       fits: str = "", **facts) -> Any:
    """Declare an op. All arguments are optional; they list what differs from the defaults.

    name:       PyTorch's dotted name (``linalg.inv``), if it is not the body's name.
    aliases:    further dotted names of the op; names without a dot are methods too.
    operators:  the Python operators: ``__add__ __radd__ __iadd__`` …
    method, function:  the forms that exist. By default names without a dot are methods too.
    inplace, out, view, saves, memory:  groups of facts: see ``facts.py``. ``inplace=True``, ``view=_geometry`` and
                ``saves="none"`` give the first fact of a group.
    promote:    ``numeric`` (compute and return the common dtype), ``int_to_float`` (integers become the default dtype),
                ``bool`` (compute in the common dtype, the body returns bool). The promoted arguments are cast and
                broadcast before the body gets them. ``promotes``: their names, if not all tensors are promoted.
    opmath:     16-bit floats are computed in float32, PyTorch's ``opmath_type``: the body gets and returns float32, and its
                result is rounded once. ``exact``: arguments whose numbers are not rounded to 16 bits first. A body with a
                keyword ``compute`` gets the common dtype, and gets operands of one element as 0-dim arrays.
    fits:       numbers that must not overflow in the result's dtype: names (``alpha``), each possibly with a rule after a
                colon (``weight:opmath``); see ``dispatch/numbers.py``. Bodies check static numbers.
    through_storage: the result may show elements of the storage that the argument does not show (as_strided).
    creates:    the op makes a tensor from static arguments; it gets ``device=``, ``requires_grad=`` and similar parameters.
    dynamic:    the result's shape depends on values: the body gets and returns NumPy arrays and runs at once.
    static_form: a function of the template that returns the op to call if static arguments give the result's shape, else None.
    backward_name:  PyTorch's ``grad_fn`` name, or a function of the template that returns it. The default is the op's name in
                camel case + ``Backward0``. ``backward_name_by_shapes``: a function of the template and the arguments' shapes.
    differentiable: False if PyTorch gives the result no ``grad_fn``.
    not_derived: PyTorch gives the result a ``grad_fn`` whose backward raises. True, or a function of the template that returns
                the op's name in the error.
    composite:  PyTorch composes the op of other calls, so errors of invalidated views come after the op's own errors.
    looks_at_history: errors of invalidated views are raised even though the op is not differentiable.
    returns:    field names of the named tuple returned (``values indices``).
    writes:     names of arguments that the last outputs are written into (``running_mean running_var``).
    update_op:  an op that computes the written values in a call of its own. Its arguments are the old values, the outputs, and
                the argument (a number) with the name of its last parameter.
    value_check: (flag, error): ``flag(*args) -> (bad, detail)`` of arrays, ``error(detail, *args) -> Exception``.
    checked_where: a function of the template that returns whether values are checked; by default always.
    warns:      a function that gives PyTorch's warnings at each call, since a body is traced only once. Its arguments are the
                op's arguments in order, with avals in place of tensors.
    refuses:    a function of the promoted arguments' dtypes before promotion that raises for unsupported dtypes.
    numbers_only: PyTorch accepts plain numbers for all tensor arguments at once.
    result_dtype: the dtype of results, for errors of calls without a kernel, if it is not the common dtype.
    layout:     the strides of results for non-contiguous arguments: one of ``layout.py``, or None for contiguous results. By
                default ``ITERATED`` for ops that promote, and None for others.
    autocast:   the policy under autocast; by default PyTorch's lists (``autocast.py``) decide.
    loops:      the body or its derivative may contain a loop, perhaps inside JAX's functions. Then jits inside are not inlined;
                inlining is faster but would unroll loops.
    in_parts:   splits the op's backward in two calls, if backward belongs to another program than the forward: an op for the
                values that backward would recompute, and an op for the gradients. A function of the template, of the vjp's
                (needs, given) and of its avals. It returns for both calls the op's name, its template and the numbers of the
                vjp's arguments that it takes, the first call's result being the last; or None.
    sharding_rule: the shardings of results on a mesh, if XLA should not choose. A function of the template that returns for each
                result the number of an argument with the same sharding, a sharding, or None.
    arrival:    the order in which gradients arrive at leaves, for ops that PyTorch composes of several nodes. A function of the
                template, avals and edges that returns the order by argument number (``arrival.py``).
    tested:     False excludes the op from the generated tests.
    """
    if fn is None:
        return lambda f: op(f, name=name, method=method, promotes=promotes, aliases=aliases, operators=operators,
                            returns=returns, writes=writes, exact=exact, fits=fits, **facts)
    full = name or fn.__name__
    assert full not in OPS, f"op {full} is declared twice"
    OPS[full] = Op(full, fn, _params(fn), inspect.getdoc(fn) or "", tuple(aliases), tuple(operators),
                   method=("." not in full and not facts.get("creates")) if method is None else method,
                   promotes=tuple(promotes.split()), returns=tuple(returns.split()), writes=tuple(writes.split()),
                   exact=tuple(exact.split()), fits=tuple((n, how) for n, _, how in (f.partition(":") for f in fits.split())),
                   takes_dtype=COMPUTE in inspect.signature(fn).parameters,
                   **_completed(full, facts))
    return fn


def _completed(name: str, facts: dict) -> dict:
    """Return the facts in their groups, completed by facts that follow from others."""
    facts = {k: grouped(k, v) if k in GROUPS else v for k, v in facts.items()}
    promotes, is_view = facts.get("promote") is not None, facts.get("view") is not None
    facts["inplace"] = _with_form(facts.get("inplace"), InPlace, promotes)
    facts["out"] = _with_form(facts.get("out"), Out, not is_view)
    facts.setdefault("layout", ITERATED if promotes and not is_view else None)
    facts.setdefault("autocast", POLICIES.take(name))
    return facts


def _with_form(group: Any, cls: type, default: bool) -> Any:
    """Return a group with its ``form`` set, by default to ``default``."""
    return cls(form=default) if group is None else replace(group, form=default) if group.form is None else group
