"""torch.nested._internal.nested_tensor: tensors of the jagged layout, and how they are made."""
from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

from jtorch._api import functions as torch
from jtorch._api import nn_functions as functional
from jtorch._api.creation import tensor as make_tensor
from jtorch._base.layout import jagged
from jtorch._base.size import Size
from jtorch.dtype import named
from jtorch.nested._internal import nested_int
from jtorch.tensor import Tensor

_INT64 = named("int64")


class NestedTensor(Tensor):
    """A batch of tensors that differ in the size of one dim. See torch.nested.nested_tensor.

    The components lie one after another along one dim of ``_values``. A function of nested tensors is computed on ``_values``, a
    tensor with an autograd history of its own.

    Args:
        values (Tensor): the components, joined along the ragged dim.
        offsets (Tensor): int64, of shape (batch + 1): where each component begins and the last one ends.
        lengths (Tensor, optional): int64, of shape (batch): the components' sizes, if there are holes between them.
        requires_grad (bool): whether gradients are recorded for a leaf.

    """

    _values: Tensor
    _offsets: Tensor
    _lengths: Tensor | None
    _ragged_idx: int
    _metadata_cache: dict[str, Any]

    @staticmethod
    def __new__(cls, values: Tensor, offsets: Tensor, *, lengths: Tensor | None = None, requires_grad: bool = False,
                _ragged_idx: int = 1, _metadata_cache: dict[str, Any] | None = None) -> Any:
        """Return a tensor without memory of its own."""
        _check(values, offsets, lengths)
        make: Any = Tensor._make_wrapper_subclass
        return make(cls, (offsets.shape[0] - 1, *values.shape), dtype=values.dtype, device=values.device)

    def __init__(self, values: Tensor, offsets: Tensor, *, lengths: Tensor | None = None, requires_grad: bool = False,
                 _ragged_idx: int = 1, _metadata_cache: dict[str, Any] | None = None):
        self._values = values.detach().requires_grad_() if requires_grad else values
        self._offsets, self._lengths, self._ragged_idx = offsets, lengths, _ragged_idx
        self._metadata_cache = {} if _metadata_cache is None else _metadata_cache

    def _like(self, values: Tensor, ragged_idx: int | None = None) -> NestedTensor:
        """Return a nested tensor of the same structure with other values."""
        return NestedTensor(values, self._offsets, lengths=self._lengths, _metadata_cache=self._metadata_cache,
                            _ragged_idx=self._ragged_idx if ragged_idx is None else ragged_idx)

    # ------------------------------------------------------------ parts

    def values(self) -> Tensor:
        """Return the components, joined along the ragged dim."""
        return self._values

    def offsets(self) -> Tensor:
        """Return where each component begins and the last one ends."""
        return self._offsets

    def lengths(self) -> Tensor | None:
        """Return the components' sizes in the ragged dim, if there are holes between them; otherwise None."""
        return self._lengths

    def _component_lengths(self) -> Tensor:
        return torch.diff(self._offsets) if self._lengths is None else self._lengths

    def _extreme(self, name: str, of: Any) -> int:
        if name not in self._metadata_cache:
            self._metadata_cache[name] = of(self._component_lengths().tolist(), default=0)
        return self._known(name)

    def _known(self, name: str) -> Any:
        """Return a cached size, or None. A checkpoint stores the size as dim 0 of a tensor without elements."""
        found = self._metadata_cache.get(name)
        return found.shape[0] if isinstance(found, Tensor) else found

    def _get_max_seqlen(self) -> int:
        return self._extreme("max_seqlen", max)

    def _get_min_seqlen(self) -> int:
        return self._extreme("min_seqlen", min)

    _max_seqlen = property(_get_max_seqlen)
    _min_seqlen = property(_get_min_seqlen)
    _maybe_max_seqlen = property(lambda self: self._known("max_seqlen"))
    _maybe_min_seqlen = property(lambda self: self._known("min_seqlen"))

    # ------------------------------------------------------------ sizes

    @property
    def _size(self) -> tuple:
        size, r = tuple(self._values.shape), self._ragged_idx - 1
        ragged = nested_int.of(self._offsets if self._lengths is None else self._lengths)
        return (self._offsets.shape[0] - 1, *size[:r], ragged, *size[r + 1:])

    @property
    def _strides(self) -> tuple:
        strides = self._values.stride()
        return (self._size[self._ragged_idx] * strides[self._ragged_idx - 1], *strides)

    mT = property(lambda self: torch.transpose(self, -2, -1))      # type: ignore[assignment]
    shape = property(lambda self: Size(self._size))      # type: ignore[assignment]
    ndim = property(lambda self: self._values.dim() + 1)        # type: ignore[assignment]
    layout = property(lambda self: jagged)       # type: ignore[assignment]
    is_nested = property(lambda self: True)     # type: ignore[assignment]

    def size(self, dim: int | None = None) -> Any:
        """Return the shape, whose ragged size is a nested int, or the size of a dim."""
        return self.shape if dim is None else self._size[dim]

    def stride(self, dim: int | None = None) -> Any:
        """Return the strides, or that of a dim."""
        return self._strides if dim is None else self._strides[dim]

    def dim(self) -> int:
        """Return the number of dims, of which the first is the batch."""
        return self._values.dim() + 1

    def numel(self) -> int:
        """Return the number of elements of all components."""
        if self._lengths is None:
            return self._values.numel()
        r = self._ragged_idx
        return int(self._lengths.sum().item()) * math.prod((*self._size[1:r], *self._size[r + 1:]))

    nelement = numel

    def to_padded_tensor(self, padding: Any, output_size: Any = None) -> Tensor:
        """Return a dense copy with ``padding`` after each component. See torch.nested.to_padded_tensor."""
        from jtorch.nested._internal.padding import to_padded_tensor
        return to_padded_tensor(self, padding, output_size)

    def is_contiguous(self, memory_format: Any = None) -> bool:
        """Return whether the values are contiguous and without holes."""
        return self._lengths is None and self._values.is_contiguous()

    def __len__(self) -> int:
        return self._offsets.shape[0] - 1

    def __iter__(self) -> Any:
        return iter(self.unbind())

    # ------------------------------------------------------------ gradients

    requires_grad = property(lambda self: self._values.requires_grad,        # type: ignore[assignment]
                             lambda self, flag: self.requires_grad_(flag) and None)
    is_leaf = property(lambda self: self._values.is_leaf)       # type: ignore[assignment]
    grad_fn = property(lambda self: self._values.grad_fn)       # type: ignore[assignment]
    retains_grad = property(lambda self: self._values.retains_grad)     # type: ignore[assignment]

    @property
    def grad(self) -> Any:      # type: ignore[override]
        """The gradient, a nested tensor of the same structure; None before a backward."""
        grad = self._values.grad
        return None if grad is None else self._like(grad)

    @grad.setter
    def grad(self, grad: Any) -> None:
        self._values.grad = values_of(grad)

    def requires_grad_(self, requires_grad: bool = True) -> NestedTensor:
        """Set whether gradients are recorded for a leaf, and return the tensor."""
        self._values.requires_grad_(requires_grad)
        return self

    def backward(self, gradient: Any = None, *args: Any, **kwargs: Any) -> None:
        """Compute gradients of the graph's leaves. See torch.Tensor.backward."""
        self._values.backward(values_of(gradient), *args, **kwargs)

    def retain_grad(self) -> None:
        """Keep the gradient of a tensor that is no leaf."""
        self._values.retain_grad()

    def register_hook(self, hook: Any) -> Any:
        """Call ``hook`` with the gradient, a nested tensor, when it is computed."""
        return self._values.register_hook(lambda grad: values_of(hook(self._like(grad))))

    def detach(self) -> NestedTensor:
        """Return the tensor without its autograd history; it shares the memory."""
        return self._like(self._values.detach())

    data = property(detach)     # type: ignore[assignment]
    entries = property(lambda self: self._values)       # autograd.grad differentiates with respect to the values
    rebuilt = _like     # autograd.grad makes a nested tensor from the values' gradient

    def _backward_from(self, gradient: Any) -> tuple[Tensor, Any]:
        """Return the values and their gradient, from which a backward starts."""
        return self._values, values_of(gradient)

    # ------------------------------------------------------------ text, copies, pickles

    def __repr__(self, **options: Any) -> str:      # type: ignore[override]
        history = f", requires_grad={self.requires_grad}" if self.requires_grad else ""
        history = f", grad_fn={self.grad_fn}" if self.grad_fn else history
        return f"NestedTensor(size={self._size}, offsets={self._offsets}{history}, contiguous={self.is_contiguous()})"

    __str__ = __repr__

    def __format__(self, spec: str) -> str:
        return object.__format__(self, spec)

    def __deepcopy__(self, memo: Any) -> NestedTensor:
        lengths = None if self._lengths is None else self._lengths.__deepcopy__(memo)
        made = NestedTensor(self._values.__deepcopy__(memo), self._offsets.__deepcopy__(memo), lengths=lengths,
                            _ragged_idx=self._ragged_idx, _metadata_cache=dict(self._metadata_cache))
        memo[id(self)] = made
        return made

    def __reduce_ex__(self, proto: Any) -> Any:
        cache = {name: torch.zeros(size, 0) for name in ("min_seqlen", "max_seqlen") if (size := self._known(name)) is not None}
        return _rebuild_njt, (dict(values=self._values.detach(), offsets=self._offsets, lengths=self._lengths,
                                   requires_grad=self.requires_grad, _ragged_idx=self._ragged_idx, _metadata_cache=cache),)

    # ------------------------------------------------------------ calls

    @classmethod
    def __torch_function__(cls, func: Any, types: Any, args: tuple = (), kwargs: Any = None) -> Any:
        """Use the class's rule of a function, if there is one."""
        from jtorch.nested._internal.ops import rule_of
        rule = rule_of(func)
        if rule is not None:
            return rule(func, *args, **(kwargs or {}))
        return super().__torch_function__(func, types, args, kwargs)      # type: ignore[misc]

    @classmethod
    def __torch_dispatch__(cls, func: Any, types: Any, args: tuple = (), kwargs: Any = None) -> Any:
        """Raise NotImplementedError: ``__torch_function__`` has handled all functions with rules."""
        raise NotImplementedError(func)


def _check(values: Any, offsets: Any, lengths: Any) -> None:
    """Raise PyTorch's errors for parts that do not fit."""
    if offsets is None:
        raise AssertionError("offsets must not be None")
    if offsets.ndim != 1:
        raise AssertionError(f"offsets must be 1D, but got {offsets.ndim}D")
    if isinstance(values, NestedTensor):
        raise AssertionError("values must not be a NestedTensor")
    if values.device != offsets.device:
        raise AssertionError("values and offsets must be on the same device, but got "
                             f"values.device={values.device} and offsets.device={offsets.device}")
    if lengths is not None and lengths.shape[0] != offsets.shape[0] - 1:
        raise AssertionError("offsets and lengths batch sizes must match: "
                             f"offsets.shape[0] - 1 = {offsets.shape[0] - 1}, lengths.shape[0] = {lengths.shape[0]}")


def _rebuild_njt(constructor_kwargs: dict[str, Any]) -> NestedTensor:
    return NestedTensor(**constructor_kwargs)


_rebuild_njt.rebuilds = _rebuild_njt        # type: ignore[attr-defined]    # Checkpoints may call it.


def values_of(x: Any) -> Any:
    """Return the values of a nested tensor; anything else unchanged."""
    return x._values if isinstance(x, NestedTensor) else x


def buffer_from_jagged(jagged: NestedTensor) -> Tensor:
    """Return the values of a nested tensor."""
    return jagged._values


# ---------------------------------------------------------------- making nested tensors

def offsets_of(lengths: Tensor) -> Tensor:
    """Return where components of these lengths begin and the last one ends."""
    return functional.pad(torch.cumsum(lengths, 0), (1, 0))


def nested_view_from_values_offsets(values: Tensor, offsets: Tensor, ragged_idx: int = 1, min_seqlen: int | None = None,
                                    max_seqlen: int | None = None) -> NestedTensor:
    """Return a nested tensor that shows ``values``."""
    return nested_view_from_values_offsets_lengths(values, offsets, None, ragged_idx, min_seqlen, max_seqlen)


def nested_view_from_values_offsets_lengths(values: Tensor, offsets: Tensor, lengths: Tensor | None, ragged_idx: int = 1,
                                            min_seqlen: int | None = None, max_seqlen: int | None = None) -> NestedTensor:
    """Return a nested tensor that shows the parts of ``values`` that begin at ``offsets`` and have these lengths."""
    known = {"min_seqlen": min_seqlen, "max_seqlen": max_seqlen}
    return NestedTensor(values.view_as(values), offsets, lengths=lengths, _ragged_idx=ragged_idx,
                        _metadata_cache={name: int(n) for name, n in known.items() if n is not None})


def jagged_from_list(tensors: Sequence[Tensor], offsets: Tensor | None, dtype: Any = None,
                     device: Any = None) -> tuple[NestedTensor, Tensor]:
    """Return a nested tensor of copies of tensors, and its offsets."""
    ragged_idx = _ragged_dim_of(tensors)
    sizes = [t.shape[ragged_idx - 1] for t in tensors]
    values = torch.cat(list(tensors), ragged_idx - 1).to(device=device, dtype=dtype)
    if offsets is None:
        offsets = offsets_of(make_tensor(sizes, device=values.device, dtype=_INT64))
    return NestedTensor(values, offsets, _ragged_idx=ragged_idx,
                        _metadata_cache={"min_seqlen": min(sizes), "max_seqlen": max(sizes)}), offsets


def _ragged_dim_of(tensors: Sequence[Tensor]) -> int:
    """Return the dim, counted with the batch, in which tensors differ; 1 if there is none."""
    if not tensors:
        raise RuntimeError("Cannot construct a nested tensor from an empty tensor list")
    for what, of in (("dtype", lambda t: t.dtype), ("device", lambda t: t.device), ("dim", lambda t: t.dim())):
        if len({of(t) for t in tensors}) > 1:
            on = "be on the same" if what == "device" else "have the same"
            raise RuntimeError(f"When constructing a nested tensor, all tensors in list must {on} {what}")
    if tensors[0].dim() == 0:
        raise RuntimeError("Cannot construct a nested tensor from a list of zero-dim tensors")
    differ = [d + 1 for d in range(tensors[0].dim()) if len({t.shape[d] for t in tensors}) > 1]
    if len(differ) > 1:
        raise RuntimeError("Cannot represent given tensor list as a nested tensor with the jagged layout. Note that the jagged "
                           "layout only allows for a single ragged dimension. For example: (B, *, D_0, D_1, ..., D_N), with "
                           "ragged * dim.")
    return differ[0] if differ else 1


def jagged_from_tensor_and_lengths(tensor: Tensor, starts: Tensor,
                                   lengths: Tensor) -> tuple[NestedTensor, Tensor, Tensor | None]:
    """Return (nested tensor, offsets, lengths) for the ``lengths`` elements of each row from ``starts`` on.

    The lengths are None if there are no holes between the parts.
    """
    batch = tensor.shape[0]
    if any(t.dim() > 1 or t.numel() not in (1, batch) for t in (starts, lengths)):
        raise RuntimeError("When constructing a jagged nested tensor using narrow(), your start and length must be Tensors that "
                           "broadcast to input.shape[0]")
    if tensor.dim() < 2:
        raise AssertionError("tensor must at least be 2D for the nested narrow op to work")
    starts, lengths = starts.expand(batch), lengths.expand(batch)
    begins = starts + tensor.shape[1] * torch.arange(batch, dtype=_INT64, device=tensor.device)
    offsets = torch.cat([begins, (begins[-1] + lengths[-1]).reshape(1)])
    values = tensor.view(-1, *tensor.shape[2:])
    shortest, longest = int(lengths.min().item()), int(lengths.max().item())
    if _has_no_holes(offsets.tolist(), lengths.tolist(), tensor.shape[1]):
        first, last = int(offsets[0].item()), int(offsets[-1].item())
        return nested_view_from_values_offsets(values[first:last], offsets - first, 1, shortest, longest), offsets, None
    return nested_view_from_values_offsets_lengths(values, offsets, lengths, 1, shortest, longest), offsets, lengths


def _has_no_holes(offsets: list[int], lengths: list[int], size: int) -> bool:
    """Return whether the parts of rows of this size follow on each other, by PyTorch's criterion."""
    steps = [b - a for a, b in zip(offsets[1:-2], offsets[2:-1], strict=True)]
    return all(n == size for n in (*lengths[1:-1], *steps, offsets[0] + lengths[0]))
