"""The functions of torch.nested."""
from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from jtorch._api import functions
from jtorch._api.creation import as_tensor
from jtorch._api.creation import tensor as make_tensor
from jtorch._base.layout import jagged, strided
from jtorch._base.layout import layout as layout_class
from jtorch._base.not_built import NotBuiltError
from jtorch.dtype import named
from jtorch.nested._internal import nested_tensor as made_of
from jtorch.no_grad import no_grad
from jtorch.tensor import Tensor


def _expect_jagged(layout: layout_class | None, what: str = "tensors") -> None:
    if layout is None or layout is strided:
        raise NotBuiltError("torch.nested: nested tensors of the strided layout are not built; pass layout=torch.jagged")
    if layout is not jagged:
        raise RuntimeError(f"Specified layout is unsupported for nested {what}: {layout}")


def nested_tensor(tensor_list: Sequence[Any], *, dtype: Any = None, layout: layout_class | None = None, device: Any = None,
                  requires_grad: bool = False, pin_memory: bool = False) -> Tensor:
    """Return a nested tensor, a leaf, with copies of tensors. See torch.nested.nested_tensor.

    Args:
        tensor_list: tensors, or lists of numbers, that have the same number of dims and differ in the size of at most one.
        dtype (torch.dtype, optional): the dtype of the result; default: the tensors'.
        layout (torch.layout): ``torch.jagged``. PyTorch's default, ``torch.strided``, is not built.
        device (torch.device, optional): the device of the result; default: the tensors'.
        requires_grad (bool): whether gradients are recorded.
        pin_memory (bool): whether to use pinned memory.

    Raises:
        RuntimeError: the tensors do not fit together.
        NotImplementedError: the layout is strided.

    Example:
        >>> import jtorch as torch
        >>> nt = torch.nested.nested_tensor([torch.ones(2, 3), torch.ones(4, 3)], layout=torch.jagged)
        >>> nt.dim(), nt.size(0), nt.size(2), nt.offsets()
        (3, 2, 3, tensor([0, 2, 6]))

    """
    _expect_jagged(layout)
    with no_grad():
        tensors = [t if isinstance(t, Tensor) else as_tensor(t) for t in tensor_list]
        made = made_of.jagged_from_list(tensors, None, dtype, device)[0]
    made.requires_grad_(requires_grad)
    return made.pin_memory() if pin_memory else made


def as_nested_tensor(ts: Any, dtype: Any = None, device: Any = None, layout: layout_class | None = None) -> Tensor:
    """Return a nested tensor through which gradients reach the given tensors. See torch.nested.as_nested_tensor.

    Args:
        ts (Tensor or list of Tensors): tensors that differ in the size of at most one dim; or a tensor of at least two dims,
            whose rows become the components.
        dtype (torch.dtype, optional): the dtype of the result; default: the tensors'.
        device (torch.device, optional): the device of the result; default: the tensors'.
        layout (torch.layout): ``torch.jagged``. PyTorch's default, ``torch.strided``, is not built.

    Raises:
        TypeError: ``ts`` is neither a tensor nor a list of tensors.
        RuntimeError: the tensors do not fit together.
        NotImplementedError: the layout is strided.

    Example:
        >>> import jtorch as torch
        >>> a, b = torch.ones(2, 3, requires_grad=True), torch.ones(1, 3)
        >>> torch.nested.as_nested_tensor([a, b], layout=torch.jagged).sum().backward()
        >>> a.grad.sum()
        tensor(6.)

    """
    is_tensor = isinstance(ts, Tensor)
    if not is_tensor and not (isinstance(ts, (list, tuple)) and all(isinstance(t, Tensor) for t in ts)):
        raise TypeError("as_nested_tensor(): Expected first argument to be a tensor or a list / tuple of tensors ")
    if is_tensor and ts.dim() < 2:
        raise RuntimeError("as_nested_tensor(): Expected tensor argument to have dim() > 1")
    if is_tensor and ts.is_nested:
        if layout is not ts.layout:
            raise RuntimeError("as_nested_tensor(): Converting between nested tensor layouts is not supported")
        return ts.to(device=device, dtype=dtype)
    _expect_jagged(layout)
    if not is_tensor:
        return made_of.jagged_from_list(list(ts), None, dtype, device)[0]
    batch, size = ts.shape[:2]
    values = ts.contiguous().flatten(0, 1).to(device=device, dtype=dtype)
    offsets = size * functions.arange(batch + 1, device=values.device, dtype=named("int64"))
    return made_of.nested_view_from_values_offsets(values, offsets, min_seqlen=size, max_seqlen=size)


def nested_tensor_from_jagged(values: Tensor, offsets: Tensor | None = None, lengths: Tensor | None = None,
                              jagged_dim: int | None = None, min_seqlen: int | None = None,
                              max_seqlen: int | None = None) -> Tensor:
    """Return a nested tensor that shows parts of ``values``. See torch.nested.nested_tensor_from_jagged.

    Args:
        values (Tensor): the components, joined along one dim.
        offsets (Tensor, optional): int64, of shape (batch + 1): where each component begins and the last one ends.
        lengths (Tensor, optional): int64, of shape (batch): the components' sizes. With offsets there may be holes between them.
        jagged_dim (int, optional): the ragged dim, counted with the batch; default: 1.
        min_seqlen (int, optional): the smallest size, if known.
        max_seqlen (int, optional): the largest size, if known. Padded tensors get this size.

    Raises:
        RuntimeError: neither offsets nor lengths are given.
        ValueError: ``jagged_dim`` is less than 1.

    Example:
        >>> import jtorch as torch
        >>> nt = torch.nested.nested_tensor_from_jagged(torch.arange(5.0), lengths=torch.tensor([2, 3]))
        >>> nt.unbind()
        (tensor([0., 1.]), tensor([2., 3., 4.]))

    """
    if offsets is None:
        if lengths is None:
            raise RuntimeError("nested_tensor_from_jagged(): At least one of offsets or lengths is required.")
        offsets, lengths = made_of.offsets_of(lengths), None
    if jagged_dim is not None and jagged_dim < 1:
        raise ValueError(f"Expected jagged_dim >=1, but got {jagged_dim}.")
    return made_of.nested_view_from_values_offsets_lengths(values, offsets, lengths, jagged_dim or 1, min_seqlen, max_seqlen)


def narrow(tensor: Tensor, dim: int, start: Any, length: Any, layout: layout_class = strided) -> Tensor:
    """Return a nested tensor that shows a part of each row of a tensor. See torch.nested.narrow.

    Args:
        tensor (Tensor): a tensor of at least two dims; its rows are along dim 0.
        dim (int): 1.
        start (int or Tensor): where the part begins, in all rows or in each.
        length (int or Tensor): the size of the part, in all rows or in each.
        layout (torch.layout): ``torch.jagged``. PyTorch's default, ``torch.strided``, is not built.

    Raises:
        RuntimeError: the arguments do not fit.
        NotImplementedError: the layout is strided.

    Example:
        >>> import jtorch as torch
        >>> nt = torch.nested.narrow(torch.arange(6.0).reshape(2, 3), 1, 0, torch.tensor([1, 3]), layout=torch.jagged)
        >>> nt.unbind()
        (tensor([0.]), tensor([3., 4., 5.]))

    """
    for name, given in (("start", start), ("length", length)):
        if not isinstance(given, (int, Tensor)):
            raise RuntimeError(f"{name} must be an integer or a tensor")
    _expect_jagged(layout, "narrow")
    if dim != 1:
        raise RuntimeError("jagged layout only supports dim=1")
    parts = [make_tensor([n], device=tensor.device, dtype=named("int64")) if isinstance(n, int) else n for n in (start, length)]
    return made_of.jagged_from_tensor_and_lengths(tensor, *parts)[0]


def masked_select(tensor: Tensor, mask: Tensor) -> Tensor:
    """Return a nested tensor of the elements where the mask is True, a component for each row. See torch.nested.masked_select.

    Args:
        tensor (Tensor): a tensor.
        mask (Tensor): a bool tensor that can be broadcast to the tensor.

    Raises:
        RuntimeError: an argument is sparse or nested.

    Example:
        >>> import jtorch as torch
        >>> t = torch.arange(4.0).reshape(2, 2)
        >>> torch.nested.masked_select(t, t > 0).unbind()
        (tensor([1.]), tensor([2., 3.]))

    """
    if tensor.layout is not strided:
        raise RuntimeError(f"torch.nested.masked_select requires a strided tensor, given {tensor.layout}")
    if mask.layout is not strided:
        raise RuntimeError(f"torch.nested.masked_select requires a strided mask, given: {mask.layout}")
    lengths = mask.expand(tensor.shape).sum(tensor.dim() - 1).reshape(-1)
    return made_of.nested_view_from_values_offsets(functions.masked_select(tensor, mask), made_of.offsets_of(lengths))


def to_padded_tensor(input: Tensor, padding: float, output_size: Sequence[int] | None = None, out: Any = None) -> Tensor:
    """Return a dense copy of a nested tensor with ``padding`` after each component. See torch.nested.to_padded_tensor.

    Args:
        input (Tensor): a nested tensor.
        padding (float): the number after the components.
        output_size (sequence of int, optional): only its ragged size is used. Default: the largest component's.
        out: not built.

    Raises:
        RuntimeError: the tensor is not nested, or has holes.

    Example:
        >>> import jtorch as torch
        >>> nt = torch.nested.nested_tensor([[1.0], [2.0, 3.0]], layout=torch.jagged)
        >>> torch.nested.to_padded_tensor(nt, 0.0)
        tensor([[1., 0.],
                [2., 3.]])

    """
    if out is not None:
        raise NotBuiltError("torch.nested.to_padded_tensor: `out` is not built")
    if not isinstance(input, made_of.NestedTensor):
        raise RuntimeError("to_padded_tensor: expected a nested tensor")
    return input.to_padded_tensor(padding, output_size)
