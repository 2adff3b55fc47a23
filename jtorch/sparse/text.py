"""The text of sparse tensors, in PyTorch's format."""
from __future__ import annotations

from jtorch import _tensor_str as printing
from jtorch._base.layout import sparse_bsc, sparse_csc
from jtorch.dtype import bool_, complex64, complex128, float64, get_default_dtype, int64
from jtorch.sparse.tensor import CooTensor, SparseTensor
from jtorch.tensor import Tensor


def _part(name: str, t: Tensor, indent: int, with_size: bool) -> str:
    prefix = f"{name}=tensor("
    text = prefix + printing._contents(t.detach(), indent + len(prefix))
    return text + (f", size={tuple(t.shape)})" if with_size and not t.numel() else ")")


def text_of(t: SparseTensor) -> str:
    """Return the text of ``repr(t)``."""
    indent = len("tensor(")
    if isinstance(t, CooTensor):
        named = [("indices", t.stored_indices[0]), ("values", t.stored_values)]
    else:
        names = ("ccol_indices", "row_indices") if t.layout in (sparse_csc, sparse_bsc) else ("crow_indices", "col_indices")
        named = [*zip(names, t.stored_indices, strict=True), ("values", t.stored_values)]
    parts = [_part(name, part, indent, True) for name, part in named]
    text = "tensor(" + (",\n" + " " * indent).join(parts)
    return printing._with_suffixes(text, _suffixes(t), indent, t.is_sparse)


def _suffixes(t: SparseTensor) -> list[str]:
    default = get_default_dtype()
    known = (default, complex128 if default is float64 else complex64, int64, bool_)
    device = [] if t.device.type == "cpu" else [f"device='{t.device}'"]
    said = [*device, f"size={tuple(t.shape)}", f"nnz={t._nnz()}", *([] if t.dtype in known else [f"dtype={t.dtype}"])]
    node = t.grad_fn
    history = [f"grad_fn=<{node.name()}>"] if node is not None else ["requires_grad=True"] if t.requires_grad else []
    return [*said, f"layout={t.layout}", *history]
