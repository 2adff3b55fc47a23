"""Errors of methods of sparse and quantized tensors on dense tensors, and functions that PyTorch has removed."""
from __future__ import annotations

from collections.abc import Callable
from typing import Any

import jtorch.dtype as dtypes
from jtorch._api import functions
from jtorch._api.guards import _is_all_true, _is_any_true
from jtorch._api.names import put
from jtorch._base.not_built import NotBuiltError
from jtorch.tensor import Tensor

# Maps a method to the layout that it expects, in PyTorch's words.
EXPECTED = {
    "coalesce": "sparse coordinate tensor", "is_coalesced": "sparse coordinate tensor", "indices": "sparse coordinate tensor",
    "values": "sparse tensor", "crow_indices": "sparse row compressed tensor", "col_indices": "sparse row compressed tensor",
    "ccol_indices": "sparse column compressed tensor", "row_indices": "sparse column compressed tensor"}
_NOT_BUILT = {
    "mkldnn": "to_mkldnn",
    "complex32": "chalf", "ipu, mtia and xpu": "ipu mtia xpu"}
_OF_SPARSE = "to_sparse to_sparse_coo to_sparse_csr to_sparse_csc to_sparse_bsr to_sparse_bsc sparse_mask "\
             "sparse_resize_ sparse_resize_and_clear_ smm sspaddmm"
_OF_QUANTIZED = "int_repr q_scale q_zero_point q_per_channel_scales q_per_channel_zero_points q_per_channel_axis qscheme"
# Maps a removed function to its replacement.
_REMOVED = {"eig": "linalg.eig", "symeig": "linalg.eigh", "lstsq": "linalg.lstsq", "solve": "linalg.solve",
            "matrix_rank": "linalg.matrix_rank"}


def dequantize(tensors: Any) -> Any:
    """Return the tensor, or each tensor of a sequence, in float32. See torch.dequantize."""
    if not isinstance(tensors, Tensor):
        return tuple([dequantize(t) for t in tensors])
    own = tensors.__class__.dequantize      # type: ignore[attr-defined]
    return tensors.to(dtypes.float32) if own is dequantize else own(tensors)        # type: ignore[attr-defined]


def module_load(self: Tensor, other: Tensor, assign: bool = False) -> Tensor:
    """Return the new value of a parameter when ``other`` is loaded into it. See torch.Tensor.module_load."""
    return (other if assign else self.copy_(other)).detach()        # type: ignore[attr-defined]


def _of_other_class(name: str, error: Exception, reason: str) -> Callable:
    """Return a method that a class of other tensors has, and that raises ``error`` for dense ones."""
    def method(self: Tensor) -> Any:
        own = getattr(self.__class__, name)
        if own is not method:
            return own(self)
        raise type(error)(*error.args)
    return _named(method, name, f"{type(error).__name__}: {reason}. See torch.Tensor.{name}.")


def _wrong_layout(name: str) -> Callable:
    error = RuntimeError(f"{name} expected {EXPECTED[name]} layout but got Strided")
    return _of_other_class(name, error, "the tensor is dense")


def _removed(name: str) -> Callable:
    def function(*args: Any, **kwargs: Any) -> Any:
        raise RuntimeError("This function was deprecated since version 1.9 and is now removed. "
                           f"`torch.{name}` is deprecated in favor of `torch.{_REMOVED[name]}`.")
    return _named(function, name, f"RuntimeError: PyTorch has removed it for torch.{_REMOVED[name]}.")


def _named(function: Callable, name: str, doc: str) -> Callable:
    function.__name__ = function.__qualname__ = name
    function.__doc__ = doc
    return function


def _of_sparse(name: str) -> Callable:
    def method(self: Tensor, *args: Any, **kwargs: Any) -> Any:
        import jtorch.sparse  # noqa: F401  (declares the rules)
        from jtorch.sparse.rules import RULES
        return RULES[name](self, *args, **kwargs)
    return _named(method, name, f"The tensor in another layout, or with a sparse one. See torch.Tensor.{name}.")


def _of_quantized(name: str) -> Callable:
    error = NotImplementedError(f"Could not run 'aten::{name}' with arguments from the 'CPU' backend. Only quantized tensors "
                                "have it; see torch.quantize_per_tensor.")
    return _of_other_class(name, error, "the tensor is not quantized")


class _NotBuilt:
    """A descriptor for a method that is not built. Reading it raises an error with the reason."""

    def __init__(self, name: str, kind: str):
        self.name, self.kind = name, kind

    def __get__(self, obj: Any, owner: type) -> Any:
        raise NotBuiltError(f"Tensor.{self.name}: {self.kind} tensors are not built")


def bind() -> None:
    """Add the names of this module to the package and to Tensor."""
    put(Tensor, {name: _wrong_layout(name) for name in EXPECTED})
    put(Tensor, {name: _of_sparse(name) for name in _OF_SPARSE.split()})
    put(Tensor, {name: _of_quantized(name) for name in _OF_QUANTIZED.split()})
    put(Tensor, {name: _NotBuilt(name, kind) for kind, names in _NOT_BUILT.items() for name in names.split()})
    removed = {name: _removed(name) for name in _REMOVED}
    put(functions, {**removed, "dequantize": dequantize})
    put(Tensor, {**{n: f for n, f in removed.items() if n != "matrix_rank"}, "dequantize": dequantize,
                 "module_load": module_load, "_is_all_true": _is_all_true, "_is_any_true": _is_any_true})
