"""The strides of results under ``vmap``. PyTorch computes them from the arguments with the dim of the samples in front."""
from __future__ import annotations

from jtorch import storage
from jtorch.engine import Call, batched
from jtorch.ops.layout import LIKE_FIRST, Geometry
from jtorch.ops.strided import contiguous_strides
from jtorch.storage import SampleView, geometry_of
from jtorch.tensor import Tensor, wrap


def lay_out(c: Call, flat, made: list[Tensor]) -> None:
    """Give the results of a call of samples PyTorch's strides if the op is elementwise or like a copy (``LIKE_FIRST``)."""
    if not (c.op.layout.elementwise or c.op.layout is LIKE_FIRST):
        return
    level = batched.level_of(made[0]._storage.value)
    if level is None:
        return
    for t in made:
        content = t._storage.value
        if batched.level_of(content) is not level or content.array.value.aval.traced:
            continue
        shape = content.array.value.aval.shape
        tensors = [a for a in flat if isinstance(a, Tensor)]
        shown = [_geometry(a, level, len(shape) - 1) for a in tensors]
        if c.op.counts_numbers and c.op.has_number(c.template):
            shown.append(((), ()))
        stride = c.op.layout.strides(shape, shown, c.template, storage.aval_of(tensors[0]).dtype)
        if stride != contiguous_strides(shape):
            _show_laid_out(t, stride, level)


def _geometry(t: Tensor, level: batched.Level, rank: int) -> Geometry:
    """Return the size and stride of an argument for all samples, as PyTorch passes it to the op."""
    size, stride, _ = geometry_of(t)
    view, content = t._view, t._storage.value
    more = rank - len(size)
    if isinstance(view, SampleView) and view.level is level:
        count, apart = view.whole.aval.shape[0], view.apart
    elif not isinstance(view, SampleView) and batched.level_of(content) is level:
        count, apart = content.array.value.aval.shape[0], t._storage.aval.numel
    else:
        return size, stride
    return (count, *[1] * more, *size), (apart, *[apart] * more, *stride)


def _show_laid_out(t: Tensor, stride: tuple[int, ...], level: batched.Level) -> None:
    """Lay out the memory of all samples, and make ``t`` show one of them."""
    s = t._storage
    value = batched.samples_of(s.value, level)
    assert value is not None
    s.become(value, value.aval)
    whole = level.wholes[s] = wrap(None, None, s)
    storage.lay_out(whole, stride)
    storage.show(t, s, whole._view)
    storage.show_sample(t, 0, level)
