"""Embeddings."""
from __future__ import annotations

from typing import Any

from jtorch.nn import functional as F
from jtorch.nn import init
from jtorch.nn.modules._make import parameter
from jtorch.nn.modules.module import Module
from jtorch.no_grad import no_grad
from jtorch.tensor import Parameter, Tensor


def _check_table(weight: Tensor, rows: int, columns: int) -> None:
    if list(weight.shape) != [rows, columns]:
        raise AssertionError("Shape of weight does not match num_embeddings and embedding_dim")


def _draw_table(weight: Any, padding_idx: int | None) -> None:
    init.normal_(weight)
    if padding_idx is not None:
        with no_grad():
            weight[padding_idx].fill_(0)


class Embedding(Module):
    """Looks up rows of a table by index. See torch.nn.Embedding.

    The input has indices of any shape. The result has that shape with ``embedding_dim`` added. An index out of range
    raises IndexError. The row ``padding_idx`` starts at 0 and gets no gradient. With ``max_norm`` a call scales the
    rows that it uses down to this norm, in the table.

    Shape: (*) of integers to (*, embedding_dim); ``weight`` is (num_embeddings, embedding_dim).

    Args:
        num_embeddings (int): the number of rows of the table.
        embedding_dim (int): the number of features of a row.
        padding_idx (int or None): a row that is 0 and is not learned.
        max_norm (float or None): rows with a larger norm are scaled down to it, in place.
        norm_type (float): the p of the p-norm.
        scale_grad_by_freq (bool): whether to divide a row's gradient by the number of its uses.
        sparse (bool): whether the table's gradient is a sparse tensor, which has only the rows that were used.
        _weight (Tensor or None): the table itself.
        _freeze (bool): whether the table is constant.
        device (device or None): the device of parameters and buffers.
        dtype (dtype or None): their dtype, floating or complex.

    Example::

        >>> torch.nn.Embedding(10, 3)(torch.tensor([[1, 2, 4, 5], [4, 3, 2, 9]])).shape
        torch.Size([2, 4, 3])

    """

    __constants__ = ["num_embeddings", "embedding_dim", "padding_idx", "max_norm", "norm_type", "scale_grad_by_freq", "sparse"]

    def __init__(self, num_embeddings: int, embedding_dim: int, padding_idx: int | None = None, max_norm: float | None = None,
                 norm_type: float = 2.0, scale_grad_by_freq: bool = False, sparse: bool = False, _weight: Tensor | None = None,
                 _freeze: bool = False, device: Any = None, dtype: Any = None):
        super().__init__()
        self.num_embeddings, self.embedding_dim = num_embeddings, embedding_dim
        if padding_idx is not None and not -num_embeddings <= padding_idx < num_embeddings:
            raise AssertionError("Padding_idx must be within num_embeddings")
        self.padding_idx = padding_idx if padding_idx is None else padding_idx % num_embeddings
        self.max_norm, self.norm_type, self.scale_grad_by_freq, self.sparse = max_norm, norm_type, scale_grad_by_freq, sparse
        if _weight is None:
            self.weight = parameter(num_embeddings, embedding_dim, device=device, dtype=dtype).requires_grad_(not _freeze)
            self.reset_parameters()
        else:
            _check_table(_weight, num_embeddings, embedding_dim)
            self.weight = Parameter(_weight, requires_grad=not _freeze)

    def reset_parameters(self) -> None:
        """Reinitialize the table."""
        _draw_table(self.weight, self.padding_idx)

    def forward(self, input):
        """Return the rows."""
        if self.sparse:
            from jtorch.sparse.gradients import embedding
            return embedding(input, self.weight, self.padding_idx, self.max_norm, self.norm_type, self.scale_grad_by_freq)
        return F.embedding(input, self.weight, self.padding_idx, self.max_norm, self.norm_type, self.scale_grad_by_freq,
                           self.sparse)

    def extra_repr(self) -> str:
        """Return the sizes."""
        text = f"{self.num_embeddings}, {self.embedding_dim}"
        for name, default in (("padding_idx", None), ("max_norm", None), ("norm_type", 2), ("scale_grad_by_freq", False)):
            value = getattr(self, name)
            text += "" if value == default else f", {name}={value}"
        return text + (", sparse=True" if self.sparse else "")

    @classmethod
    def from_pretrained(cls, embeddings: Tensor, freeze: bool = True, padding_idx: int | None = None,
                        max_norm: float | None = None, norm_type: float = 2.0, scale_grad_by_freq: bool = False,
                        sparse: bool = False):
        """Return an embedding with a given table."""
        if embeddings.dim() != 2:
            raise AssertionError("Embeddings parameter is expected to be 2-dimensional")
        rows, dim = embeddings.shape
        return cls(rows, dim, padding_idx, max_norm, norm_type, scale_grad_by_freq, sparse, _weight=embeddings,
                   _freeze=freeze)


class EmbeddingBag(Module):
    """Reduces bags of rows of a table by sum, mean or maximum. See torch.nn.EmbeddingBag.

    The input has bags of one length (batch, length), or is one vector with the ``offsets`` where the bags begin.
    ``mode="sum"`` also takes a weight per index. The result is (bags, embedding_dim); an empty bag gives 0. With
    ``max_norm`` a call scales the rows that it uses down to this norm, in the table.

    Shape: input (B, N), or (N,) with offsets (B,), integers; the result's is (B, embedding_dim).

    Args:
        num_embeddings (int): the number of rows of the table.
        embedding_dim (int): the number of features of a row.
        max_norm (float or None): rows with a larger norm are scaled down to it, in place.
        norm_type (float): the p of the p-norm.
        scale_grad_by_freq (bool): whether to divide a row's gradient by the number of its uses.
        mode (str): the reduction of a bag's rows: "sum", "mean" or "max".
        sparse (bool): accepted; gradients are dense.
        _weight (Tensor or None): the table itself.
        include_last_offset (bool): whether ``offsets`` ends with the number of indices.
        padding_idx (int or None): a row that does not count.
        device (device or None): the device of parameters and buffers.
        dtype (dtype or None): their dtype, floating or complex.

    Example::

        >>> torch.nn.EmbeddingBag(10, 3, mode="sum")(torch.tensor([[1, 2, 4, 5], [4, 3, 2, 9]])).shape
        torch.Size([2, 3])

    """

    __constants__ = ["num_embeddings", "embedding_dim", "max_norm", "norm_type", "scale_grad_by_freq", "mode", "sparse",
                     "include_last_offset", "padding_idx"]

    def __init__(self, num_embeddings: int, embedding_dim: int, max_norm: float | None = None, norm_type: float = 2.0,
                 scale_grad_by_freq: bool = False, mode: str = "mean", sparse: bool = False, _weight: Tensor | None = None,
                 include_last_offset: bool = False, padding_idx: int | None = None, device: Any = None, dtype: Any = None):
        super().__init__()
        self.num_embeddings, self.embedding_dim = num_embeddings, embedding_dim
        self.max_norm, self.norm_type, self.scale_grad_by_freq = max_norm, norm_type, scale_grad_by_freq
        if padding_idx is not None and not -num_embeddings <= padding_idx < num_embeddings:
            raise AssertionError("padding_idx must be within num_embeddings")
        self.padding_idx = padding_idx if padding_idx is None else padding_idx % num_embeddings
        if _weight is None:
            self.weight = parameter(num_embeddings, embedding_dim, device=device, dtype=dtype)
            self.reset_parameters()
        else:
            _check_table(_weight, num_embeddings, embedding_dim)
            self.weight = Parameter(_weight)
        self.mode, self.sparse, self.include_last_offset = mode, sparse, include_last_offset

    def reset_parameters(self) -> None:
        """Reinitialize the table."""
        _draw_table(self.weight, self.padding_idx)

    def forward(self, input, offsets=None, per_sample_weights=None):
        """Return one row per bag."""
        return F.embedding_bag(input, self.weight, offsets, self.max_norm, self.norm_type, self.scale_grad_by_freq, self.mode,
                               self.sparse, per_sample_weights, self.include_last_offset, self.padding_idx)

    def extra_repr(self) -> str:
        """Return the sizes, and the options that differ from the defaults."""
        text = f"{self.num_embeddings}, {self.embedding_dim}"
        for name, default in (("max_norm", None), ("norm_type", 2), ("scale_grad_by_freq", False), ("mode", ""),
                              ("padding_idx", None)):
            value = getattr(self, name)
            text += "" if value == default else f", {name}={value!r}"
        return text

    @classmethod
    def from_pretrained(cls, embeddings: Tensor, freeze: bool = True, max_norm: float | None = None, norm_type: float = 2.0,
                        scale_grad_by_freq: bool = False, mode: str = "mean", sparse: bool = False,
                        include_last_offset: bool = False, padding_idx: int | None = None):
        """Return an EmbeddingBag with a given table."""
        if embeddings.dim() != 2:
            raise AssertionError("Embeddings parameter is expected to be 2-dimensional")
        rows, dim = embeddings.shape
        made = cls(rows, dim, max_norm, norm_type, scale_grad_by_freq, mode, sparse, embeddings, include_last_offset,
                   padding_idx)
        made.weight.requires_grad = not freeze
        return made
