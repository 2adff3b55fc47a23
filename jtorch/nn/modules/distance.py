"""Distances as modules."""
from __future__ import annotations

from jtorch.nn import functional as F
from jtorch.nn.modules.module import Module
from jtorch.tensor import Tensor


class PairwiseDistance(Module):
    """The p-norm of ``x1 - x2 + eps`` along the last dimension. See torch.nn.PairwiseDistance.

    Inputs are (N, D) or (D) and broadcast. The result is (N) or (), with a last dimension of 1 if ``keepdim``.

    Shape: two inputs that broadcast to (N, D) or (D,); the result's is (N,) or (), with ``keepdim`` (N, 1) or (1,).

    Args:
        p (float): the p of the p-norm.
        eps (float): added to each element of the difference.
        keepdim (bool): whether to keep the dim, with size 1.

    Example::

        >>> torch.nn.PairwiseDistance()(torch.zeros(1, 2), torch.tensor([[3.0, 4.0]]))
        tensor([5.0000])

    """

    __constants__ = ["norm", "eps", "keepdim"]

    def __init__(self, p: float = 2.0, eps: float = 1e-6, keepdim: bool = False):
        super().__init__()
        self.norm, self.eps, self.keepdim = p, eps, keepdim

    def forward(self, x1: Tensor, x2: Tensor) -> Tensor:
        """Return the distances."""
        return F.pairwise_distance(x1, x2, self.norm, self.eps, self.keepdim)


class CosineSimilarity(Module):
    """The cosine of the angle between vectors along ``dim``. See torch.nn.CosineSimilarity.

    Inputs are broadcast, and the result lacks ``dim``. Norms below ``eps`` count as ``eps``.

    Shape: two inputs that broadcast to (*, D, *), D being ``dim``; the result's is (*, *).

    Args:
        dim (int): the dim of the vectors.
        eps (float): the smallest norm by which a vector is divided.

    Example::

        >>> torch.nn.CosineSimilarity()(torch.ones(1, 2), torch.tensor([[1.0, 0.0]]))
        tensor([0.7071])

    """

    __constants__ = ["dim", "eps"]

    def __init__(self, dim: int = 1, eps: float = 1e-8):
        super().__init__()
        self.dim, self.eps = dim, eps

    def forward(self, x1: Tensor, x2: Tensor) -> Tensor:
        """Return the cosines."""
        return F.cosine_similarity(x1, x2, self.dim, self.eps)


__all__ = ["CosineSimilarity", "PairwiseDistance"]
