"""Losses with a margin between classes, pairs or triplets."""
from __future__ import annotations

from collections.abc import Callable
from typing import Any

from jtorch.nn.modules._losses import _Loss, _WeightedLoss
from jtorch.nn.modules.distance import PairwiseDistance
from jtorch.tensor import Tensor


class SoftMarginLoss(_Loss):
    """The mean of ``log(1 + exp(-target * input))`` for targets 1 and -1. See torch.nn.SoftMarginLoss.

    Input and target have the same shape. The result is a scalar, or has that shape with ``reduction="none"``.

    Shape: input and target of one shape (*), any; () with a reduction, (*) without. Both floating.

    Args:
        size_average (bool or None): deprecated, see ``reduction``.
        reduce (bool or None): deprecated, see ``reduction``.
        reduction (str): the reduction of the elements' losses: "none", "mean" or "sum".

    Example::

        >>> torch.nn.SoftMarginLoss()(torch.tensor([0.0, 0.0]), torch.tensor([1.0, -1.0]))
        tensor(0.6931)

    """

    function = "soft_margin_loss"


class HingeEmbeddingLoss(_Loss):
    """The input for targets of 1, ``max(0, margin - input)`` for targets of -1. See torch.nn.HingeEmbeddingLoss.

    Input and target have the same shape. The result is a scalar, or has that shape with ``reduction="none"``.

    Shape: input and target of one shape (*), any; () with a reduction, (*) without. The target holds 1 and -1.

    Args:
        margin (float): the margin in the formula.
        size_average (bool or None): deprecated, see ``reduction``.
        reduce (bool or None): deprecated, see ``reduction``.
        reduction (str): the reduction of the elements' losses: "none", "mean" or "sum".

    Example::

        >>> torch.nn.HingeEmbeddingLoss()(torch.tensor([0.5, 0.5]), torch.tensor([1.0, -1.0]))
        tensor(0.5000)

    """

    __constants__ = ["margin", "reduction"]
    function = "hinge_embedding_loss"
    options: tuple[str, ...] = ("margin",)

    def __init__(self, margin: float = 1.0, size_average: bool | None = None, reduce: bool | None = None,
                 reduction: str = "mean"):
        super().__init__(size_average, reduce, reduction)
        self.margin = margin


class _PairLoss(_Loss):
    __constants__ = ["margin", "reduction"]
    options = ("margin",)

    def __init__(self, margin: float = 0.0, size_average: bool | None = None, reduce: bool | None = None,
                 reduction: str = "mean"):
        super().__init__(size_average, reduce, reduction)
        self.margin = margin

    def forward(self, input1: Tensor, input2: Tensor, target: Tensor) -> Tensor:    # type: ignore[override]
        """Return the loss of the pair against ``target``."""
        return self._loss(input1, input2, target)


class MarginRankingLoss(_PairLoss):
    """``max(0, -target * (input1 - input2) + margin)``: the target says which input should be larger.

    See torch.nn.MarginRankingLoss.

    All three tensors have the same shape. The target is 1 if the first input should be larger, else -1.

    Shape: two inputs and the target of one shape (N,) or (), the target of 1 and -1; () with a reduction, (N,)
    without.

    Args:
        margin (float): the margin in the formula.
        size_average (bool or None): deprecated, see ``reduction``.
        reduce (bool or None): deprecated, see ``reduction``.
        reduction (str): the reduction of the elements' losses: "none", "mean" or "sum".

    Example::

        >>> torch.nn.MarginRankingLoss()(torch.tensor([1.0, 2.0]), torch.tensor([2.0, 1.0]), torch.tensor([1.0, 1.0]))
        tensor(0.5000)

    """

    function = "margin_ranking_loss"


class CosineEmbeddingLoss(_PairLoss):
    """``1 - cos`` of pairs with target 1, ``max(0, cos - margin)`` with target -1. See torch.nn.CosineEmbeddingLoss.

    Inputs are (N, D) with targets (N), or (D) with a 0-dim target.

    Shape: two inputs (N, D) or (D,), target (N,) or () of 1 and -1; () with a reduction, (N,) without.

    Args:
        margin (float): the margin in the formula.
        size_average (bool or None): deprecated, see ``reduction``.
        reduce (bool or None): deprecated, see ``reduction``.
        reduction (str): the reduction of the elements' losses: "none", "mean" or "sum".

    Example::

        >>> x = torch.tensor([[1.0, 0.0]])
        >>> torch.nn.CosineEmbeddingLoss()(x, torch.tensor([[0.0, 1.0]]), torch.tensor([1]))
        tensor(1.)

    """

    function = "cosine_embedding_loss"


class MultiLabelSoftMarginLoss(_WeightedLoss):
    """The mean over classes of their one-versus-all cross entropies. See torch.nn.MultiLabelSoftMarginLoss.

    Input and target are (N, C) or (C). Targets are 0 or 1, and ``weight`` has one number per class.

    Shape: input and target (N, C), floating; () with a reduction, (N,) without.

    Args:
        weight (Tensor or None): a factor for each class.
        size_average (bool or None): deprecated, see ``reduction``.
        reduce (bool or None): deprecated, see ``reduction``.
        reduction (str): the reduction of the elements' losses: "none", "mean" or "sum".

    Example::

        >>> torch.nn.MultiLabelSoftMarginLoss()(torch.zeros(1, 2), torch.tensor([[0.0, 1.0]]))
        tensor(0.6931)

    """

    function = "multilabel_soft_margin_loss"


class MultiLabelMarginLoss(_Loss):
    """The margin violations ``max(0, 1 - (x[target] - x[i]))`` over all pairs of target and other classes.

    See torch.nn.MultiLabelMarginLoss.

    The input is (N, C) or (C). The target has the same shape and lists class indices up to the first -1.

    Shape: input (N, C) or (C,), floating, target of its shape, int64; () with a reduction, (N,) without.

    Args:
        size_average (bool or None): deprecated, see ``reduction``.
        reduce (bool or None): deprecated, see ``reduction``.
        reduction (str): the reduction of the elements' losses: "none", "mean" or "sum".

    Example::

        >>> torch.nn.MultiLabelMarginLoss()(torch.tensor([[0.1, 0.2, 0.4, 0.8]]), torch.tensor([[3, 0, -1, 1]]))
        tensor(0.8500)

    """

    function = "multilabel_margin_loss"


class MultiMarginLoss(_WeightedLoss):
    """``max(0, margin - x[target] + x[i])^p`` over the other classes i. See torch.nn.MultiMarginLoss.

    The input is (N, C) or (C), with int64 targets (N) or (). ``p`` is 1 or 2, and ``weight`` has one number per target
    class.

    Shape: input (N, C) or (C,), floating, target (N,) or (), int64; () with a reduction, (N,) without.

    Args:
        p (int): the power, 1 or 2.
        margin (float): the margin in the formula.
        weight (Tensor or None): a factor for each class.
        size_average (bool or None): deprecated, see ``reduction``.
        reduce (bool or None): deprecated, see ``reduction``.
        reduction (str): the reduction of the elements' losses: "none", "mean" or "sum".

    Example::

        >>> torch.nn.MultiMarginLoss()(torch.tensor([[0.1, 0.2, 0.4, 0.8]]), torch.tensor([3]))
        tensor(0.3250)

    """

    __constants__ = ["p", "margin", "reduction"]
    function = "multi_margin_loss"
    options = ("p", "margin", "weight")

    def __init__(self, p: int = 1, margin: float = 1.0, weight: Tensor | None = None, size_average: bool | None = None,
                 reduce: bool | None = None, reduction: str = "mean"):
        super().__init__(weight, size_average, reduce, reduction)
        if p not in (1, 2):
            raise ValueError("only p == 1 and p == 2 supported")
        if weight is not None and weight.dim() != 1:
            raise ValueError(f"MultiMarginLoss: expected weight to be None or 1D tensor, got {weight.dim()}D instead")
        self.p, self.margin = p, margin


class _TripletLoss(_Loss):
    def _check_margin(self, margin: float) -> None:
        if margin <= 0:
            raise ValueError(f"{type(self).__name__}: expected margin to be greater than 0, got {margin} instead")

    def forward(self, anchor: Tensor, positive: Tensor, negative: Tensor) -> Tensor:    # type: ignore[override]
        """Return the loss of the triplets."""
        return self._loss(anchor, positive, negative)


class TripletMarginLoss(_TripletLoss):
    """``max(0, |anchor - positive| - |anchor - negative| + margin)`` in the p-norm. See torch.nn.TripletMarginLoss.

    Inputs are (N, D) or (D). ``swap`` uses the distance from the negative to the positive if that is smaller (Balntas
    et al., BMVC 2016).

    Shape: anchor, positive and negative (N, D) or (D,), floating; () with a reduction, (N,) or () without.

    Args:
        margin (float): the margin in the formula.
        p (float): the p of the p-norm.
        eps (float): added to each element of the differences.
        swap (bool): whether to take the smaller of the negative's distances to anchor and positive.
        size_average (bool or None): deprecated, see ``reduction``.
        reduce (bool or None): deprecated, see ``reduction``.
        reduction (str): the reduction of the elements' losses: "none", "mean" or "sum".

    Example::

        >>> a, p, n = torch.zeros(1, 2), torch.ones(1, 2), torch.tensor([[3.0, 4.0]])
        >>> torch.nn.TripletMarginLoss(margin=5.0)(a, p, n)
        tensor(1.4142)

    """

    __constants__ = ["margin", "p", "eps", "swap", "reduction"]
    function = "triplet_margin_loss"
    options = ("margin", "p", "eps", "swap")

    def __init__(self, margin: float = 1.0, p: float = 2.0, eps: float = 1e-6, swap: bool = False,
                 size_average: bool | None = None, reduce: bool | None = None, reduction: str = "mean"):
        super().__init__(size_average, reduce, reduction)
        self._check_margin(margin)
        self.margin, self.p, self.eps, self.swap = margin, p, eps, swap


class TripletMarginWithDistanceLoss(_TripletLoss):
    """TripletMarginLoss with the user's distance function. See torch.nn.TripletMarginWithDistanceLoss.

    ``distance_function(x1, x2)`` returns the distance of each pair. The default is PairwiseDistance().

    Shape: anchor, positive and negative (N, D) or (D,), floating; () with a reduction, (N,) or () without.

    Args:
        distance_function (function or None): a function of two Tensors; the Euclidean distance by default.
        margin (float): the margin in the formula.
        swap (bool): whether to take the smaller of the negative's distances to anchor and positive.
        reduction (str): the reduction of the elements' losses: "none", "mean" or "sum".

    Example::

        >>> far = torch.nn.TripletMarginWithDistanceLoss(distance_function=lambda x, y: (x - y).abs().amax(1))
        >>> far(torch.zeros(1, 2), torch.ones(1, 2), torch.tensor([[0.5, 0.0]]))
        tensor(1.5000)

    """

    __constants__ = ["margin", "swap", "reduction"]
    function = "triplet_margin_with_distance_loss"
    options = ("distance_function", "margin", "swap")

    def __init__(self, *, distance_function: Callable[[Tensor, Tensor], Tensor] | None = None, margin: float = 1.0,
                 swap: bool = False, reduction: str = "mean"):
        super().__init__(reduction=reduction)
        self._check_margin(margin)
        self.distance_function: Any = PairwiseDistance() if distance_function is None else distance_function
        self.margin, self.swap = margin, swap


__all__ = [
    "CosineEmbeddingLoss", "HingeEmbeddingLoss", "MarginRankingLoss", "MultiLabelMarginLoss", "MultiLabelSoftMarginLoss",
    "MultiMarginLoss", "SoftMarginLoss", "TripletMarginLoss", "TripletMarginWithDistanceLoss",
]
