"""Groups of facts in an op's record: what its node saves, its view rule, its in-place form, ``out=`` and memory.

Each group has defaults, so a declaration lists only what differs: ``@op(saves=Saves("all", frees=beyond_first))``.
A group's first fact alone may stand for the group: ``saves="none"``, ``inplace=True``, ``view=_geometry``.
"""
from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any


@dataclass(frozen=True, slots=True, eq=False)
class Saves:
    """The values that a node saves for its backward. As in PyTorch, writes must not change them.

    what:       ``inputs`` (the default: the inputs that the vjp uses), ``all`` (all inputs, even if the vjp does not use their
                values), ``result``, ``both`` (all inputs and the result) or ``none``.
    checks:     returns the positions of the arrays (and "result") whose versions are checked, if these are fewer than ``what``
                implies, or None. Its arguments are the template and the node's edges, which it may only compare with None.
    copies:     returns which arguments PyTorch copies when it saves them, so that writes to them are allowed. Its arguments are
                each argument's (size, stride) and whether each argument needs a gradient.
    jointly:    PyTorch computes all gradients in one function, so its node holds what any gradient uses, even one not needed.
    frees:      returns whether a backward frees saved values, so that a second backward raises. Its arguments are the template
                and the node's edges. None: ``what`` decides.
    idempotent: f(f(x)) = f(x), and the derivative at f(x) is the derivative at x. The node saves the result instead of the
                argument, whose memory can be freed.
    change:     the derivative in terms of the result, for results with untracked writes: see
                ``derivatives_from_result.py``. ``takes``: the numbers of tensor arguments that it supports.
    """

    what: str = "inputs"
    checks: Callable | None = None
    copies: Callable | None = None
    jointly: bool = False
    frees: Callable | None = None
    idempotent: bool = False
    change: Callable | None = None
    takes: tuple[int, ...] = (1,)
    anything: bool = field(init=False)
    everything: bool = field(init=False)
    result: bool = field(init=False)        # the node saves the result, alone or with the inputs
    result_only: bool = field(init=False)
    both: bool = field(init=False)

    def __post_init__(self):
        assert self.what in ("inputs", "all", "result", "both", "none"), self.what
        for name, is_so in (("anything", self.what != "none"), ("everything", self.what in ("all", "both")),
                            ("result", self.what in ("result", "both")), ("result_only", self.what == "result"),
                            ("both", self.what == "both")):
            object.__setattr__(self, name, is_so)


JOINTLY = Saves(jointly=True)


@dataclass(frozen=True, slots=True, eq=False)
class ViewRule:
    """The rule for a view op: how its result shows the memory of the first argument.

    geometry:   maps (size, stride, offset, *other arguments) to the result's (size, stride, offset).
    alias_name, copy_name:  the node's name if the base is not contiguous, and if the result must be a copy.
    replayed:   after a write to the base PyTorch replays the calls of views. Their new nodes have the geometry of those calls,
                even if a tensor shows other memory by then.
    remade:     after a write to the base, the view is made again by the same call.
    node_each:  each result is a slice with its own node, so it may be written to. A function of the template and the base's
                size that returns the dim and each result's (start, length).
    inplace:    the in-place form, or None.
    """

    geometry: Callable
    alias_name: str | None = None
    copy_name: str | None = None
    replayed: bool = False
    remade: bool = False
    node_each: Callable | None = None
    inplace: InPlaceView | None = None


@dataclass(frozen=True, slots=True, eq=False)
class InPlaceView:
    """The in-place form of a view op, which changes the geometry of a tensor.

    further:    the offset of its node's number from the view's (``TBackward1`` after ``TBackward0``: 1).
    check:      a function of the tensor's number of dims that raises errors which the view op does not have.
    """

    further: int = 1
    check: Callable | None = None


@dataclass(frozen=True, slots=True, eq=False)
class InPlace:
    """The in-place form of an op and the tensors that it may write to.

    form:       the op has an in-place form; by default if ``promote`` is set.
    name:       its ``grad_fn`` name if it differs, or a function of the template that returns the name. If an op has no
                derivative but has this name, its node gives the target's old value a gradient of 0.
    fills:      it may write to expanded tensors. True, or a function of the template and the tensor's size and stride.
    deprecated: writes to expanded tensors are deprecated: the op's part of the warning.
    reads:      the position of an argument that is read before the write, so that it may share the target's memory.
    uniform:    all elements become equal, so none has to be merged, and the number may come from the target's memory.
    adds:       a function of the template: several writes to one place in memory are added.
    writes_leaves: the op may write to a leaf that requires grad, although it has no derivative.
    """

    form: bool | None = None
    name: str | Callable | None = None
    fills: bool | Callable = False
    deprecated: str = ""
    reads: int | None = None
    uniform: bool = False
    adds: Callable | None = None
    writes_leaves: bool = False

    def fills_expanded(self, template: tuple, size: tuple[int, ...], stride: tuple[int, ...]) -> bool:
        """Return whether the op may write to a tensor of this geometry even if elements share memory."""
        return self.fills if self.fills.__class__ is bool else self.fills(template, size, stride)       # type: ignore[operator,return-value]


@dataclass(frozen=True, slots=True, eq=False)
class Out:
    """The ``out=`` form of an op.

    form:       the op has ``out=``; by default if it returns new tensors.
    refuses:    a function of the result, ``out``, the template and the first argument that raises if PyTorch does not cast the
                result to the dtype of ``out``. ``out_dtypes.py`` has the common ones. None: ``can_cast`` decides.
    refuses_first: a function of the first argument and ``out`` that is called before all other checks.
    takes_dtype: the op computes in the dtype of ``out`` or of the in-place target, unless ``dtype=`` is given.
    not_expanded: an expanded ``out`` is refused even if it will be resized, as in elementwise ops.
    """

    form: bool | None = None
    refuses: Callable | None = None
    refuses_first: Callable | None = None
    takes_dtype: bool = False
    not_expanded: bool = False


@dataclass(frozen=True, slots=True, eq=False)
class Memory:
    """The op's requirements on the memory that it writes, in place or by ``out=``, and the order of its errors.

    apart:      the memory must not be shared with any argument.
    dtypes_first: errors of dtypes precede errors about shared memory.
    checks_first: a function of the template and the first argument's number of dims that raises the errors which precede
                errors about shared memory. None: all errors of dtypes and shapes precede.
    """

    apart: bool = False
    dtypes_first: bool = False
    checks_first: Callable | None = None


INPUTS, NO_INPLACE, WITH_OUT, ANY_MEMORY = Saves(), InPlace(form=False), Out(form=True), Memory()      # the groups of most ops
GROUPS: dict[str, Any] = {"saves": Saves, "view": ViewRule, "inplace": InPlace, "out": Out, "memory": Memory}


def grouped(name: str, given: Any) -> Any:
    """Return a group of facts: the given group, or a new one with the given first fact."""
    return given if given is None or isinstance(given, GROUPS[name]) else GROUPS[name](given)
