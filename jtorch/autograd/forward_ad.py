"""torch.autograd.forward_ad: forward-mode differentiation with dual tensors.

>>> import torch.autograd.forward_ad as fwAD
>>> with fwAD.dual_level():
...     x = fwAD.make_dual(torch.tensor(2.0), torch.tensor(1.0))
...     fwAD.unpack_dual(x ** 3)
UnpackedDualTensor(primal=tensor(8.), tangent=tensor(12.))
"""
from __future__ import annotations

from typing import Any, NamedTuple

from jtorch._nodes import tangents
from jtorch.dispatch import call_view
from jtorch.dispatch.forward import cut_off
from jtorch.engine import call_of
from jtorch.no_grad import _Context
from jtorch.ops.registry import OPS, T
from jtorch.storage import aval_of
from jtorch.tensor import Tensor

_current_level = -1     # PyTorch's numbering: 0 within a level, -1 outside.
_numbers: list[int] = []        # Contains the number that ``tangents.open_level`` gave the open level; empty outside.


def enter_dual_level() -> int:
    """Open a level, in which tensors can be dual. See torch.autograd.forward_ad.enter_dual_level."""
    global _current_level
    if _numbers:
        raise RuntimeError("Nested forward mode AD is not supported at the moment")
    _numbers.append(tangents.open_level())
    _current_level = 0
    return _current_level


def exit_dual_level(*, level: int | None = None) -> None:
    """Close the level, after which no tensor is dual. See torch.autograd.forward_ad.exit_dual_level."""
    global _current_level
    level = _current_level if level is None else level
    if level != _current_level:
        raise RuntimeError("Trying to exit a forward AD level that was not the last one that was created. This is not supported.")
    if not _numbers:
        raise RuntimeError("Dual level must be a positive number.")
    tangents.close_level(_numbers.pop())
    _current_level = -1


def make_dual(tensor: Tensor, tangent: Tensor, *, level: int | None = None) -> Tensor:
    """Return a view of ``tensor`` that carries ``tangent`` as its forward gradient.

    See torch.autograd.forward_ad.make_dual.

    A tangent with the same memory layout as the tensor is kept without a copy. Any other tangent is copied.
    """
    if (_current_level if level is None else level) < 0 or not _numbers:
        raise RuntimeError("Trying to create a dual Tensor for forward AD but no level exists, make sure to enter_dual_level() "
                           "first.")
    for name, t in (("primal", tensor), ("tangent", tangent)):
        if not (t.is_floating_point() or t.is_complex()):
            raise ValueError(f"Expected {name} to be floating point or complex, but got: {t.dtype}")
    return dual(tensor, tangent, _numbers[-1])


def dual(tensor: Tensor, tangent: Tensor, level: int) -> Tensor:
    """Make a dual tensor at any open level."""
    if tangents.of(tensor, level) is not None:
        raise RuntimeError("Making a dual Tensor based on a Tensor that already has a forward gradient at the same level "
                           "0 is not "
                           "supported.")
    if tangents.of(tangent, level) is not None:
        raise RuntimeError("Setting a forward grad that itself has a forward gradient at the same level0 is not supported.")
    check_size(tensor, tangent)
    made = primal_of(tensor, level)
    if not _alike(tangent, tensor):
        with tangents.only_below(level):
            tangent = tangents.alike(_as_large(tangent, tensor), tensor)
    tangents.hold(made, level, tangent)
    return made


def check_size(tensor: Tensor, tangent: Tensor) -> None:
    """Raise RuntimeError if a forward gradient and its tensor have different sizes."""
    if aval_of(tangent).shape != aval_of(tensor).shape:
        raise RuntimeError("Trying to set a forward gradient that has a different size than that of the original Tensor, this is "
                           f"not supported. Tensor is of size {list(tensor.shape)} while the given forward gradient is of size "
                           f"{list(tangent.shape)}.")


def _fills_its_storage(t: Tensor) -> bool:
    return t._storage.aval.nbytes == aval_of(t).nbytes


def _alike(tangent: Tensor, tensor: Tensor) -> bool:
    """Return whether each view of the tensor can be taken of the tangent as well (same strides and storage size)."""
    if not aval_of(tensor).numel or aval_of(tensor).traced or aval_of(tangent).traced:
        return True
    same_size = _fills_its_storage(tensor) or tensor._storage.aval.nbytes == tangent._storage.aval.nbytes
    return tangents.alike(tangent, tensor) is tangent and same_size


def _as_large(tangent: Tensor, tensor: Tensor) -> Tensor:
    """Copy a tangent into a storage as large as the tensor's."""
    numel = tensor._storage.aval.nbytes // aval_of(tensor).np.itemsize
    room = tangent.new_zeros(numel)     # type: ignore[attr-defined]
    return room.as_strided(tensor.size(), tensor.stride(), tensor.storage_offset()).copy_(tangent)


def primal_of(tensor: Tensor, level: int) -> Tensor:
    """Return a view of a tensor that is not dual at ``level`` and stays so if the tensor is written to."""
    with tangents.only_below(level):
        made = call_view(call_of(OPS["view"], (T, tuple(tensor.shape))), (tensor,)) if tensor.is_contiguous() else \
            call_view(call_of(OPS["alias"], (T,)), (tensor,))
    return cut_off(made)


class UnpackedDualTensor(NamedTuple):
    """The result of ``unpack_dual``: a tensor, and its forward gradient or None."""

    primal: Tensor
    tangent: Tensor | None


def unpack_dual(tensor: Tensor, *, level: int | None = None) -> UnpackedDualTensor:
    """Split a tensor into a view that is not dual and its forward gradient.

    See torch.autograd.forward_ad.unpack_dual.
    """
    if (_current_level if level is None else level) < 0 or not _numbers:
        return UnpackedDualTensor(tensor, None)
    if not isinstance(tensor, Tensor):
        raise TypeError(f"_unpack_dual(): argument 'dual' (position 1) must be Tensor, not {type(tensor).__name__}")
    return unpacked(tensor, _numbers[-1])


def unpacked(tensor: Tensor, level: int) -> UnpackedDualTensor:
    """Unpack a dual tensor at any open level."""
    tangent = tangents.of(tensor, level) if tangents.state.enabled else None
    return UnpackedDualTensor(primal_of(tensor, level), tangent)


class dual_level(_Context):
    """A level of forward mode, as a context manager or a decorator. See torch.autograd.forward_ad.dual_level."""

    def __enter__(self) -> int:
        return enter_dual_level()

    def __exit__(self, *exc: object) -> None:
        exit_dual_level()


def _is_fwd_grad_enabled() -> bool:
    return tangents.state.enabled


class _set_fwd_grad_enabled(_Context):
    """Turn forward gradients on or off in this thread: at once, and until the block's end if used as a context
    manager.
    """

    def __init__(self, mode: bool) -> None:
        self.prev, self.mode = tangents.state.enabled, mode
        tangents.state.enabled = mode

    def __enter__(self) -> None:
        pass

    def __exit__(self, *exc: object) -> None:
        tangents.state.enabled = self.prev

    def clone(self) -> Any:
        """Return a fresh context of the same kind."""
        return type(self)(self.mode)


__all__ = ["UnpackedDualTensor", "dual_level", "enter_dual_level", "exit_dual_level", "make_dual", "unpack_dual"]

del _Context      # PyTorch's module does not have this name.
