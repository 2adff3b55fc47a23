"""Calls with ``out=``, which write their results into given tensors."""
from __future__ import annotations

from collections.abc import Sequence

from jtorch import engine, storage
from jtorch._base import late_bindings, warned
from jtorch._base.layout import strided
from jtorch._nodes import tangents
from jtorch.dispatch.calls import NUMBER_TYPES, any_requires_grad, computing_in, layout_of, record, value_aval
from jtorch.dispatch.numbers import check_numbers, has_large_integer, in_int64, may_overflow
from jtorch.dispatch.returns import return_type
from jtorch.dispatch.writes import cast_value, check_inplace, expected_dtype, require_cast
from jtorch.engine import Call, Value, batched
from jtorch.no_grad import mode
from jtorch.ops import check
from jtorch.ops.registry import Op
from jtorch.storage import check_writable, value_of
from jtorch.tensor import Tensor


def call_out(c: Call, flat, out):
    """Call ``c`` and write its results into ``out``."""
    if late_bindings.aten is not None:
        seen = late_bindings.aten.call_out(c, flat, out)
        if seen is not None:
            return seen
    if int in map(type, flat) and has_large_integer(flat):
        c, flat = in_int64(c, flat)
    outs = list(out) if isinstance(out, (tuple, list)) else [out]
    name = c.op.name.split(".")[-1]
    _check_given(c.op, name, flat, outs)
    if any([storage.aval_of(t).traced and batched.is_batched(value_of(t)) for t in [*flat, *outs] if isinstance(t, Tensor)]):
        raise RuntimeError(f"Batching rule not implemented for aten::{name}.out; the fallback path doesn't work on out= or view "
                           "ops.")
    _check_outs(c.op, flat, outs)
    if c.op.out.takes_dtype:
        c = computing_in(c, outs[0].dtype)
    _check_cast(c, flat, outs)
    if c.op.fits and may_overflow(flat):
        check_numbers(c, flat)
    made = record(c, [t if t.__class__ in NUMBER_TYPES else value_of(t) for t in flat])
    made = made if made.__class__ is list else [made]
    fitted = [cast_value(v, storage.aval_of(t)) if v.aval.np != storage.aval_of(t).np else v
              for v, t in zip(made, outs, strict=True)]
    viewed = c.op.layout is not None and any([t._view is not None for t in flat if t.__class__ not in NUMBER_TYPES])
    viewed = viewed and not (c.op.layout.out_in_order and flat[0].dtype.is_complex)
    if c.op.elementwise:
        _check_shapes(flat, fitted, outs)
    for v, t in zip(fitted, outs, strict=True):
        stride = layout_of(c, flat, v.aval.shape)[0] if viewed and not c.op.layout.kept and not v.aval.traced else None
        write_resized(t, v, warn=not c.op.creates, stride=stride)
    return return_type(f"{name}_out", c.op.returns)(outs) if c.op.returns and len(outs) == len(c.op.returns) else out


def _check_given(op: Op, name: str, flat, outs: list) -> None:
    """Raise the errors of ``out=`` that precede all others: ``out`` is no tensor, or the call would be differentiable."""
    for t in outs:
        if not isinstance(t, Tensor):
            raise TypeError(f"{name}(): argument 'out' must be Tensor, not {type(t).__name__}")
        if t.layout is not strided:
            raise NotImplementedError(f"{name}(): out= with a tensor of the layout {t.layout} is not built; use the result")
    if tangents.opened and tangents.highest([*flat, *outs]) is not None:
        raise NotImplementedError(f"Trying to use forward AD with {name}_out that does not support it because it is an "
                                  "out= function")
    if (op.differentiable or op.not_derived) and mode.grad and any_requires_grad([*flat, *outs]):
        raise RuntimeError(f"{name}(): functions with out=... arguments don't support automatic differentiation, but one of "
                           "the arguments requires grad.")


def _check_shapes(flat, made: list[Value], outs: list) -> None:
    """Raise RuntimeError if ``out`` is also an argument and would change its shape."""
    for v, t in zip(made, outs, strict=True):
        if v.aval.shape != storage.aval_of(t).shape and any([x is t for x in flat]):
            raise RuntimeError(f"output with shape {list(t.shape)} doesn't match the broadcast shape {list(v.aval.shape)}")


def _check_outs(op: Op, flat, outs: list) -> None:
    """Raise RuntimeError if the op refuses the dtype of ``out``, an expanded ``out``, or memory shared with an argument."""
    if op.out.refuses_first is not None and flat[0].dtype is not outs[0].dtype:
        op.out.refuses_first(storage.aval_of(flat[0]).sds, storage.aval_of(outs[0]).sds)
    for t in outs if op.elementwise or op.out.not_expanded else ():
        check_writable(t)
    if not op.elementwise and not op.memory.apart:
        return
    for t in flat:
        if t.__class__ not in NUMBER_TYPES:
            for target in outs:
                storage.check_overlap(target, t, entirely=not op.memory.apart)


def _check_cast(c: Call, flat, outs: list) -> None:
    """Raise if PyTorch does not cast a result to the dtype of ``out``. Errors of shapes come before, errors of values after."""
    avals = tuple([value_aval(t) for t in flat])
    if any([a.traced for a in avals]):      # a call on JAX tracers has no kernel
        return
    made: Sequence
    try:
        made = engine.kernel_of(c, avals).outs
    except (NotImplementedError, RuntimeError) as error:
        if not check.names_a_kernel(error) or not avals or c.op.out.takes_dtype:
            raise
        made = [engine.aval_of((), expected_dtype(c, avals), avals[0].device)]
    for aval, t in zip(made, outs, strict=False):
        if aval.np != storage.aval_of(t).np:
            if c.op.out.refuses is not None:
                c.op.out.refuses(aval.sds, storage.aval_of(t).sds, c.template, avals[0].sds if avals else aval.sds)
            require_cast(aval.dtype, t.dtype)


def write_resized(t: Tensor, value: Value, warn: bool = True, stride: tuple[int, ...] | None = None) -> None:
    """Give ``t`` the shape of ``value``, and write ``value``. Warn as PyTorch does if ``t`` had elements and another shape."""
    shape = value.aval.shape
    check_inplace(t, False, once=storage.aval_of(t).shape == shape)
    if storage.aval_of(t).shape != shape:
        if warn:
            warn_of_resizing(t, shape)
        storage.resize(t, shape, stride)
    storage.write(t, value)


def warn_of_resizing(t: Tensor, shape: tuple[int, ...]) -> None:
    """Warn as PyTorch does if ``out`` has elements and gets another shape."""
    if storage.aval_of(t).numel and storage.aval_of(t).shape != shape:
        warned.warn("An output with one or more elements was resized since it had shape "
                    f"{list(t.shape)}, which does not match the required output shape {list(shape)}. This "
                    "behavior is deprecated, and in a future PyTorch release outputs will not be resized unless they have "
                    "zero elements. You can explicitly reuse an out tensor t by resizing it, inplace, to zero elements "
                    "with t.resize_(0).")
