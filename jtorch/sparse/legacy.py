"""Legacy constructors such as ``torch.sparse.FloatTensor(indices, values, size)``."""
from __future__ import annotations

from typing import Any

from jtorch._api import sequences
from jtorch._base import warned
from jtorch._base.size import Size
from jtorch.device import as_device
from jtorch.device import device as Device
from jtorch.dtype import dtype as Dtype
from jtorch.sparse.creation import sparse_coo_tensor
from jtorch.sparse.rules import rule
from jtorch.sparse.tensor import SparseTensor
from jtorch.tensor import Tensor

_FORMS = (" * (*, torch.device device = None)\n * (Tensor indices, Tensor values, *, torch.device device = None)\n"
          " * (Tensor indices, Tensor values, tuple of ints size, *, torch.device device = None)\n"
          " * (tuple of ints size, *, torch.device device = None)\n")


def sparse_tensor_of(args: tuple, kw: dict[str, Any], dtype: Dtype, place: Device) -> Tensor:
    """Return a COO tensor of given indices and values, which keep their dtype; for a size, one of ``dtype`` without values."""
    given = dict(kw)
    where = given.pop("device", None)
    if where is not None and as_device(where).type != place.type:
        raise RuntimeError(f"legacy constructor expects device type: {place.type} but device type: "
                           f"{as_device(where).type} was passed")
    if (args and isinstance(args[0], Tensor)) or "indices" in given:
        return _of_values(args, given, place)
    size = Size(_size(args, given))
    _warn("shape, *, device=" if args or given else "")
    return sparse_coo_tensor(size, dtype=dtype, device=place)


@rule("new")
def new(t: SparseTensor, *args: Any, **kw: Any) -> Tensor:
    """Return a tensor on the device of ``t``, as ``torch.sparse.FloatTensor`` does; for a size, it has the dtype of ``t``."""
    return sparse_tensor_of(args, kw, t.dtype, t.device)


def _of_values(args: tuple, named: dict[str, Any], place: Device) -> Tensor:
    parts = dict(zip(("indices", "values", "size"), args, strict=False), **named)
    size = parts.get("size", ())
    tensors = isinstance(parts.get("indices"), Tensor) and isinstance(parts.get("values"), Tensor)
    if not tensors or not isinstance(size, (tuple, list)) or len(args) + len(named) != len(parts):
        raise _wrong(args)
    _warn("indices, values, shape, *, device=" if "size" in parts else "indices, values, *, device=")
    return sparse_coo_tensor(**parts, device=place)


def _warn(form: str) -> None:
    instead = form.replace("*, ", "dtype=, ") or "(0,), dtype="
    warned.warn_once(f"torch.sparse.SparseTensor({form}) is deprecated.  Please use torch.sparse_coo_tensor({instead}).")


def _size(args: tuple, named: dict[str, Any]) -> tuple:
    sizes = named.get("size", args)
    if len(args) == 1 and not isinstance(args[0], int):
        if isinstance(args[0], (tuple, list)) and not isinstance(args[0], Size):
            raise TypeError("torch.sparse.SparseTensor(sequence) only accepts sizes.  Please use torch.sparse_coo_tensor() or "
                            "construct a strided tensor and convert it to sparse via to_sparse.")
        sizes = args[0]
    if not isinstance(sizes, (tuple, list)) or not all(isinstance(n, int) for n in sizes):
        raise _wrong(args)
    return tuple(sizes) or ((0,) if not args and "size" not in named else ())


def _wrong(args: tuple) -> TypeError:
    got = ", ".join("Tensor" if isinstance(a, Tensor) else sequences.type_name(a) for a in args)
    return TypeError(f"new() received an invalid combination of arguments - got ({got}), but expected one of:\n{_FORMS}")
