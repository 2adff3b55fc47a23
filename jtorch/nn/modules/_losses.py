"""Losses: modules that call torch.nn.functional's loss functions with options from attributes of the same names."""
from __future__ import annotations

from typing import Any

from jtorch._base import warned
from jtorch.nn import functional as F
from jtorch.nn.modules.module import Module
from jtorch.ops.nn._common import warn_of_legacy
from jtorch.tensor import Tensor


class _Loss(Module):
    """The base class of losses: it calls ``function`` with the inputs, the reduction and the attributes in
    ``options``.
    """

    __constants__ = ["reduction"]
    function = ""
    options: tuple[str, ...] = ()
    reduction: str

    def __init__(self, size_average: bool | None = None, reduce: bool | None = None, reduction: str = "mean"):
        super().__init__()
        legacy = size_average is not None or reduce is not None
        self.reduction = warn_of_legacy(size_average, reduce) if legacy else reduction

    def _loss(self, *inputs: Any) -> Tensor:
        return getattr(F, self.function)(*inputs, **{n: getattr(self, n) for n in self.options}, reduction=self.reduction)

    def forward(self, input: Tensor, target: Tensor) -> Tensor:
        """Return the loss of ``input`` against ``target``."""
        return self._loss(input, target)


class _WeightedLoss(_Loss):
    """A loss with a weight per class (or element), which is a buffer."""

    options: tuple[str, ...] = ("weight",)
    weight: Tensor | None

    def __init__(self, weight: Tensor | None = None, size_average: bool | None = None, reduce: bool | None = None,
                 reduction: str = "mean"):
        super().__init__(size_average, reduce, reduction)
        self.register_buffer("weight", weight)


# ---------------------------------------------------------------- regression losses

class L1Loss(_Loss):
    """The mean absolute difference. See torch.nn.L1Loss.

    Input and target have the same shape. The result is a scalar, or has that shape with ``reduction="none"``.

    Shape: input and target of one shape (*), any; () with a reduction, (*) without. Both floating, in one dtype or
    promoted.

    Args:
        size_average (bool or None): deprecated, see ``reduction``.
        reduce (bool or None): deprecated, see ``reduction``.
        reduction (str): the reduction of the elements' losses: "none", "mean" or "sum".

    Example::

        >>> torch.nn.L1Loss()(torch.tensor([1.0, 5.0]), torch.tensor([2.0, 2.0]))
        tensor(2.)

    """

    function = "l1_loss"


class MSELoss(_Loss):
    """The mean squared difference. See torch.nn.MSELoss.

    Input and target have the same shape; other shapes are broadcast, with a warning. The result is a scalar, or has
    that shape with ``reduction="none"``.

    Shape: input and target of one shape (*), any; () with a reduction, (*) without. Both floating, in one dtype or
    promoted.

    Args:
        size_average (bool or None): deprecated, see ``reduction``.
        reduce (bool or None): deprecated, see ``reduction``.
        reduction (str): the reduction of the elements' losses: "none", "mean" or "sum".

    Example::

        >>> torch.nn.MSELoss()(torch.tensor([1.0, 5.0]), torch.tensor([2.0, 2.0]))
        tensor(5.)

    """

    function = "mse_loss"


class SmoothL1Loss(_Loss):
    """``0.5 d² / beta`` for differences d below ``beta``, ``d - 0.5 beta`` above. See torch.nn.SmoothL1Loss.

    This is the loss of Fast R-CNN (https://arxiv.org/abs/1504.08083). With ``beta=0`` it equals L1Loss.

    Shape: input and target of one shape (*), any; () with a reduction, (*) without. Both floating, in one dtype or
    promoted.

    Args:
        size_average (bool or None): deprecated, see ``reduction``.
        reduce (bool or None): deprecated, see ``reduction``.
        reduction (str): the reduction of the elements' losses: "none", "mean" or "sum".
        beta (float): the difference at which the loss changes from quadratic to linear.

    Example::

        >>> torch.nn.SmoothL1Loss()(torch.tensor([0.0, 3.0]), torch.tensor([1.0, 0.0]))
        tensor(1.5000)

    """

    function = "smooth_l1_loss"
    options = ("beta",)

    def __init__(self, size_average: bool | None = None, reduce: bool | None = None, reduction: str = "mean", beta: float = 1.0):
        super().__init__(size_average, reduce, reduction)
        self.beta = beta


class HuberLoss(_Loss):
    """``0.5 d²`` for differences d below ``delta``, ``delta (d - 0.5 delta)`` above. See torch.nn.HuberLoss.

    Input and target have the same shape. ``delta`` is positive.

    Shape: input and target of one shape (*), any; () with a reduction, (*) without. Both floating, in one dtype or
    promoted.

    Args:
        reduction (str): the reduction of the elements' losses: "none", "mean" or "sum".
        delta (float): the difference at which the loss changes from quadratic to linear.

    Example::

        >>> torch.nn.HuberLoss(delta=2.0)(torch.tensor([1.0, 4.0]), torch.tensor([0.0, 0.0]))
        tensor(3.2500)

    """

    __constants__ = ["reduction", "delta"]
    function = "huber_loss"
    options = ("delta",)

    def __init__(self, reduction: str = "mean", delta: float = 1.0):
        if not isinstance(delta, (float, int)):
            raise TypeError(f"delta must be a float or int, got: {type(delta)}")
        super().__init__(reduction=reduction)
        self.delta = delta


# ---------------------------------------------------------------- likelihoods

class BCELoss(_WeightedLoss):
    """The cross entropy of probabilities against targets between 0 and 1. See torch.nn.BCELoss.

    Input, target and ``weight`` have the same dtype, and ``weight`` is broadcast. Logarithms are at least -100. An
    input outside [0, 1] raises RuntimeError. BCEWithLogitsLoss takes logits instead, and is exact for large logits.

    Shape: input and target of one shape (*), any; () with a reduction, (*) without. Both floating.

    Args:
        weight (Tensor or None): a factor for each element of a batch.
        size_average (bool or None): deprecated, see ``reduction``.
        reduce (bool or None): deprecated, see ``reduction``.
        reduction (str): the reduction of the elements' losses: "none", "mean" or "sum".

    Example::

        >>> torch.nn.BCELoss()(torch.tensor([0.5, 0.5]), torch.tensor([0.0, 1.0]))
        tensor(0.6931)

    """

    function = "binary_cross_entropy"


class BCEWithLogitsLoss(_Loss):
    """The cross entropy of the input's sigmoid against targets between 0 and 1. See torch.nn.BCEWithLogitsLoss.

    ``weight`` scales elements, and ``pos_weight`` scales the term of the positive class. Both are broadcast.

    Shape: input and target of one shape (*), any; () with a reduction, (*) without. Both floating.

    Args:
        weight (Tensor or None): a factor for each element of a batch.
        size_average (bool or None): deprecated, see ``reduction``.
        reduce (bool or None): deprecated, see ``reduction``.
        reduction (str): the reduction of the elements' losses: "none", "mean" or "sum".
        pos_weight (Tensor or None): a factor of the positive targets for each class.

    Example::

        >>> torch.nn.BCEWithLogitsLoss(pos_weight=torch.tensor([3.0]))(torch.zeros(2), torch.tensor([0.0, 1.0]))
        tensor(1.3863)

    """

    function = "binary_cross_entropy_with_logits"
    options = ("weight", "pos_weight")
    weight: Tensor | None
    pos_weight: Tensor | None

    def __init__(self, weight: Tensor | None = None, size_average: bool | None = None, reduce: bool | None = None,
                 reduction: str = "mean", pos_weight: Tensor | None = None):
        super().__init__(size_average, reduce, reduction)
        self.register_buffer("weight", weight)
        self.register_buffer("pos_weight", pos_weight)


class NLLLoss(_WeightedLoss):
    """Minus the log-probability of the target class. See torch.nn.NLLLoss.

    The input (N, C, …) has log-probabilities, and the target (N, …) has int64 class indices. The mean divides by the
    sum of the targets' weights. Targets equal to ``ignore_index`` have weight 0. An index outside [0, C) raises
    IndexError.

    Shape: input (C,), (N, C) or (N, C, d1, ...), floating; target (), (N,) or (N, d1, ...), int64 or uint8; () with a
    reduction, the target's shape without.

    Args:
        weight (Tensor or None): a factor for each class.
        size_average (bool or None): deprecated, see ``reduction``.
        ignore_index (int): the class whose targets do not count.
        reduce (bool or None): deprecated, see ``reduction``.
        reduction (str): the reduction of the elements' losses: "none", "mean" or "sum".

    Example::

        >>> torch.nn.NLLLoss()(torch.tensor([[-1.0, -2.0], [-3.0, -4.0]]), torch.tensor([1, 0]))
        tensor(2.5000)

    """

    __constants__ = ["ignore_index", "reduction"]
    function = "nll_loss"
    options = ("weight", "ignore_index")

    def __init__(self, weight: Tensor | None = None, size_average: bool | None = None, ignore_index: int = -100,
                 reduce: bool | None = None, reduction: str = "mean"):
        super().__init__(weight, size_average, reduce, reduction)
        self.ignore_index = ignore_index


class NLLLoss2d(NLLLoss):
    """NLLLoss under its old name for images. PyTorch deprecates the name.

    Shape: input (C,), (N, C) or (N, C, d1, ...), floating; target (), (N,) or (N, d1, ...), int64 or uint8; () with a
    reduction, the target's shape without.

    Args:
        weight (Tensor or None): a factor for each class.
        size_average (bool or None): deprecated, see ``reduction``.
        ignore_index (int): the class whose targets do not count.
        reduce (bool or None): deprecated, see ``reduction``.
        reduction (str): the reduction of the elements' losses: "none", "mean" or "sum".

    Example::

        >>> with warnings.catch_warnings(action="ignore"):
        ...     loss = nn.NLLLoss2d()
        >>> loss(torch.zeros(1, 2, 2, 2), torch.zeros(1, 2, 2, dtype=torch.int64))
        tensor(0.)

    """

    def __init__(self, weight: Tensor | None = None, size_average: bool | None = None, ignore_index: int = -100,
                 reduce: bool | None = None, reduction: str = "mean"):
        warned.warn("`NLLLoss2d` has been deprecated. Please use `NLLLoss` instead as a drop-in replacement and see "
                    "https://pytorch.org/docs/main/nn.html#torch.nn.NLLLoss for more details.", FutureWarning)
        super().__init__(weight, size_average, ignore_index, reduce, reduction)


class CrossEntropyLoss(_WeightedLoss):
    """The cross entropy of logits against classes or class probabilities. See torch.nn.CrossEntropyLoss.

    The input (N, C, …) has logits. The target (N, …) has int64 class indices, or has the input's shape and holds
    probabilities. ``weight`` has one number per class. Targets equal to ``ignore_index`` have weight 0.
    ``label_smoothing`` mixes the target with the uniform distribution (https://arxiv.org/abs/1512.00567).

    Shape: input (C,), (N, C) or (N, C, d1, ...), floating; target (), (N,) or (N, d1, ...) of classes, int64 or
    uint8, or of the input's shape, probabilities; () with a reduction, else that of classes.

    Args:
        weight (Tensor or None): a factor for each class.
        size_average (bool or None): deprecated, see ``reduction``.
        ignore_index (int): the class whose targets do not count.
        reduce (bool or None): deprecated, see ``reduction``.
        reduction (str): the reduction of the elements' losses: "none", "mean" or "sum".
        label_smoothing (float): the fraction of the target that is spread over all classes.

    Example::

        >>> torch.nn.CrossEntropyLoss()(torch.tensor([[2.0, 0.0], [0.0, 0.0]]), torch.tensor([0, 1]))
        tensor(0.4100)

    """

    __constants__ = ["ignore_index", "reduction", "label_smoothing"]
    function = "cross_entropy"
    options = ("weight", "ignore_index", "label_smoothing")

    def __init__(self, weight: Tensor | None = None, size_average: bool | None = None, ignore_index: int = -100,
                 reduce: bool | None = None, reduction: str = "mean", label_smoothing: float = 0.0):
        super().__init__(weight, size_average, reduce, reduction)
        self.ignore_index, self.label_smoothing = ignore_index, label_smoothing

    def forward(self, input: Tensor, target: Tensor) -> Tensor:
        """Return the loss of ``input`` against ``target``."""
        return F.cross_entropy(input, target, self.weight, None, self.ignore_index, None, self.reduction, self.label_smoothing)


class KLDivLoss(_Loss):
    """The Kullback-Leibler divergence of target probabilities from input log-probabilities. See torch.nn.KLDivLoss.

    With ``log_target`` the target holds log-probabilities too. ``reduction="batchmean"`` is the divergence itself.

    Shape: input and target of one shape (*), any; () with a reduction, (*) without. Both floating.

    Args:
        size_average (bool or None): deprecated, see ``reduction``.
        reduce (bool or None): deprecated, see ``reduction``.
        reduction (str): "none", "mean", "sum" or "batchmean" (the sum divided by the batch size).
        log_target (bool): whether the target holds logarithms.

    Example::

        >>> torch.nn.KLDivLoss(reduction="batchmean")(torch.tensor([[0.5, 0.5]]).log(), torch.tensor([[1.0, 0.0]]))
        tensor(0.6931)

    """

    function = "kl_div"
    options = ("log_target",)

    def __init__(self, size_average: bool | None = None, reduce: bool | None = None, reduction: str = "mean",
                 log_target: bool = False):
        super().__init__(size_average, reduce, reduction)
        self.log_target = log_target


class PoissonNLLLoss(_Loss):
    """Minus the log-likelihood of counts whose rate (or its logarithm, ``log_input``) is the input.

    See torch.nn.PoissonNLLLoss.

    ``full`` adds Stirling's approximation of the constant term for targets above 1. ``eps`` avoids ``log(0)``.

    Shape: input and target of one shape (*), any; () with a reduction, (*) without.

    Args:
        log_input (bool): whether the input holds logarithms.
        full (bool): whether to add the part of the likelihood that does not depend on the input.
        size_average (bool or None): deprecated, see ``reduction``.
        eps (float): added inside the logarithm.
        reduce (bool or None): deprecated, see ``reduction``.
        reduction (str): the reduction of the elements' losses: "none", "mean" or "sum".

    Example::

        >>> torch.nn.PoissonNLLLoss()(torch.tensor([0.0, 1.0]), torch.tensor([1.0, 2.0]))
        tensor(0.8591)

    """

    __constants__ = ["log_input", "full", "eps", "reduction"]
    function = "poisson_nll_loss"
    options = ("log_input", "full", "eps")

    def __init__(self, log_input: bool = True, full: bool = False, size_average: bool | None = None, eps: float = 1e-8,
                 reduce: bool | None = None, reduction: str = "mean"):
        super().__init__(size_average, reduce, reduction)
        self.log_input, self.full, self.eps = log_input, full, eps

    def forward(self, log_input: Tensor, target: Tensor) -> Tensor:
        """Return the loss of ``log_input`` against ``target``."""
        return self._loss(log_input, target)


class GaussianNLLLoss(_Loss):
    """Minus the log-likelihood of targets with mean ``input`` and variance ``var``. See torch.nn.GaussianNLLLoss.

    ``var`` is a number or has the input's shape, where the last dimension may be missing or 1. It is clamped to at
    least ``eps``.

    Shape: input and target (N, *), variance (N, *), (N, 1) or (N,); () with a reduction, (N, *) without.

    Args:
        full (bool): whether to add the part of the likelihood that does not depend on the input.
        eps (float): the smallest variance.
        reduction (str): the reduction of the elements' losses: "none", "mean" or "sum".

    Example::

        >>> torch.nn.GaussianNLLLoss()(torch.zeros(2), torch.ones(2), torch.ones(2))
        tensor(0.5000)

    """

    __constants__ = ["full", "eps", "reduction"]
    function = "gaussian_nll_loss"
    options = ("full", "eps")

    def __init__(self, *, full: bool = False, eps: float = 1e-6, reduction: str = "mean"):
        super().__init__(None, None, reduction)
        self.full, self.eps = full, eps

    def forward(self, input: Tensor, target: Tensor, var: Tensor | float) -> Tensor:    # type: ignore[override]
        """Return the loss of ``input`` with variance ``var`` against ``target``."""
        return self._loss(input, target, var)


class CTCLoss(_Loss):
    """Minus the log-probability of label sequences with unknown alignment. See torch.nn.CTCLoss.

    ``log_probs`` is (T, N, C) or (T, C). ``targets`` is (N, S) with padding, or 1-dim with all targets concatenated.
    Lengths are tensors or tuples. The mean first divides each loss by the target's length. ``zero_infinity`` sets the
    loss and gradient of impossible sequences to 0. The gradient is PyTorch's, with respect to the logits of the
    log_softmax that gives ``log_probs``. Source: Graves et al., Connectionist Temporal Classification, ICML 2006.

    Shape: log_probs (T, N, C) or (T, C), floating; targets (N, S) or (sum of lengths,), integers; both lengths (N,)
    or (); () with a reduction, (N,) without.

    Args:
        blank (int): the class of a blank.
        reduction (str): "none", "mean" (each loss divided by its target's length) or "sum".
        zero_infinity (bool): whether infinite losses and their gradients become 0.

    Example::

        >>> x = torch.zeros(4, 1, 3).log_softmax(2)
        >>> torch.nn.CTCLoss()(x, torch.tensor([[1, 2]]), (4,), (2,))
        tensor(0.8432)

    """

    __constants__ = ["blank", "reduction"]
    function = "ctc_loss"
    options = ("blank", "zero_infinity")

    def __init__(self, blank: int = 0, reduction: str = "mean", zero_infinity: bool = False):
        super().__init__(reduction=reduction)
        self.blank, self.zero_infinity = blank, zero_infinity

    def forward(self, log_probs: Tensor, targets: Tensor, input_lengths: Tensor,     # type: ignore[override]
                target_lengths: Tensor) -> Tensor:
        """Return the loss of ``log_probs`` against ``targets``."""
        return self._loss(log_probs, targets, input_lengths, target_lengths)


__all__ = [
    "BCELoss", "BCEWithLogitsLoss", "CTCLoss", "CrossEntropyLoss", "GaussianNLLLoss", "HuberLoss", "KLDivLoss", "L1Loss",
    "MSELoss", "NLLLoss", "NLLLoss2d", "PoissonNLLLoss", "SmoothL1Loss",
]
