"""The tensors of a running ``vmap``: from a tensor of all samples to one of a sample, and back.

A sample shows memory in one of two ways. Outside memory is shown through a ``SampleView``. Memory made inside is a storage
whose content is a sample's value.
"""
from __future__ import annotations

from jtorch import engine, storage
from jtorch.dispatch.views import view_of
from jtorch.engine import batched
from jtorch.storage import SampleView, Storage, geometry_of, value_of
from jtorch.tensor import Tensor, alias, wrap


def sample_of(t: Tensor, dim: int, level: batched.Level) -> Tensor:
    """Return a tensor that shows one sample of ``t`` along a dim, in the same memory."""
    if storage.aval_of(t).traced and not batched.is_batched(value_of(t)):     # a JAX tracer, which has no memory
        return wrap(batched.of_samples(value_of(t if dim == 0 else t.movedim(dim, 0)), level))   # type: ignore[attr-defined]
    made = alias(t)
    storage.show_sample(made, dim, level)
    level.wholes.setdefault(made._storage, t)
    return made


def whole_of(t: Tensor, level: batched.Level) -> Tensor | None:
    """Return a tensor of all samples in the same memory, with one more dim in front; None if ``t`` is the same for all."""
    view, s = t._view, t._storage
    if isinstance(view, SampleView):
        if view.level is not level:
            return None
        shown = view.whole
        return _shown(level.wholes[s], shown.aval, shown.stride, shown.offset)
    content = s.value
    if batched.level_of(content) is not level:
        return None
    whole = level.wholes.get(s)
    if whole is None:
        whole = level.wholes[s] = wrap(None, None, Storage(batched.samples_of(content, level)))     # type: ignore[arg-type]
    (size, stride, offset), aval = geometry_of(t), whole._storage.aval
    shape = (aval.shape[0], *size)
    apart = s.aval.numel * s.aval.np.itemsize // storage.aval_of(t).np.itemsize
    return _shown(whole, storage.reshaped(aval, shape, storage.aval_of(t).np), (apart, *stride), offset)


def _shown(whole: Tensor, aval: engine.Aval, stride: tuple[int, ...], offset: int) -> Tensor:
    """Return a tensor that shows a part of the memory of ``whole``; ``whole`` itself if it shows just this."""
    size, own, at = geometry_of(whole)
    if (size, own, at) == (aval.shape, stride, offset) and storage.aval_of(whole).np == aval.np:
        return whole
    return view_of(whole, aval, stride, offset, stride == storage.contiguous_strides(aval.shape), None)
