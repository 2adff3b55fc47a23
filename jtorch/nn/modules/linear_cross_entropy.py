"""A linear layer with the cross entropy of its result."""
from __future__ import annotations

import dataclasses
import math
from typing import Any

import jtorch.dtype as dtypes
from jtorch.nn import functional as F
from jtorch.nn.modules._losses import _WeightedLoss
from jtorch.nn.modules.linear import Linear
from jtorch.tensor import Tensor


@dataclasses.dataclass(slots=True, frozen=True)
class LinearCrossEntropyOptions:
    """Options for the chunks in which PyTorch processes a batch to save memory. See torch.nn.LinearCrossEntropyOptions.

    Values are checked as in PyTorch and have no other effect, since XLA decides which values to keep in memory.

    Shape: it holds options.

    Args:
        allow_retain_graph (bool): accepted, see above.
        batch_chunk_size (int or None): accepted, see above.
        chunking_method (str or None): accepted, see above.
        acc_policy (str or None): accepted, see above.
        acc_dtype (dtype or None): accepted, see above.

    Example::

        >>> nn.LinearCrossEntropyOptions().batch_chunk_size is None
        True

    """

    allow_retain_graph: bool = False
    batch_chunk_size: int | None = None
    chunking_method: str | None = "auto"
    acc_policy: str = "auto"
    acc_dtype: Any = None

    def __post_init__(self):
        if self.acc_policy not in ("auto", "accurate", "balanced", "compact"):
            raise ValueError(f"invalid acc_policy: {self.acc_policy!r}")
        name, colon, factor = (self.chunking_method or "aspect_ratio").partition(":")
        known = name == "aspect_ratio" and (not colon or (factor.isdigit() and int(factor) > 0))
        if self.chunking_method != "auto" and not known:
            raise ValueError(f"invalid chunking_method: {self.chunking_method!r}")
        size = self.batch_chunk_size
        if size is not None and not (isinstance(size, int) and size > 0):
            raise ValueError(f"batch_chunk_size must be positive int or None, got {size!r}")
        if self.acc_dtype not in (None, dtypes.float16, dtypes.bfloat16, dtypes.float32, dtypes.float64):
            raise ValueError("acc_dtype must be one of {None, torch.float16, torch.bfloat16, torch.float32, torch.float64}, got "
                             f"{self.acc_dtype!r}. Pass acc_dtype=None to let the op pick automatically.")


class LinearCrossEntropyLoss(_WeightedLoss):
    r"""The cross entropy of a linear layer, which is part of the module. See torch.nn.LinearCrossEntropyLoss.

    Input (N, in_features) or (in_features); logits (N, num_classes, \*out_features) against targets as CrossEntropyLoss takes
    them. The layer is ``linear``; ``weight`` is the weight per class.

    Shape: input (N, in_features), target (N,) of classes; () with a reduction, (N,) without.

    Args:
        in_features (int): the number of input features.
        num_classes (int): the number of classes.
        out_features (tuple of ints): further dims of the logits.
        bias (bool): whether to add a learned bias.
        device (device or None): the device of parameters and buffers.
        dtype (dtype or None): their dtype, floating or complex.
        reduction (str): the reduction of the elements' losses: "none", "mean" or "sum".
        weight (Tensor or None): a factor for each class.
        ignore_index (int or None): the class whose targets do not count.
        label_smoothing (float): the fraction of the target that is spread over all classes.
        options (LinearCrossEntropyOptions or None): they are only checked.

    Example::

        >>> loss = torch.nn.LinearCrossEntropyLoss(4, 3)
        >>> loss(torch.zeros(2, 4), torch.tensor([0, 2]))
        tensor(1.0986, grad_fn=<NllLossBackward0>)

    """

    __constants__ = ["num_classes", "out_features", "reduction", "ignore_index", "label_smoothing"]

    def __init__(self, in_features: int, num_classes: int, *, out_features: tuple[int, ...] = (), bias: bool = False,
                 device: Any = None, dtype: Any = None, reduction: str = "mean", weight: Tensor | None = None,
                 ignore_index: int | None = None, label_smoothing: float = 0.0,
                 options: LinearCrossEntropyOptions | None = None):
        if weight is not None and tuple(weight.shape) != (num_classes,):
            raise RuntimeError(f"expected weight shape to be {(num_classes,)}, got {tuple(weight.shape)}")
        if not 0 <= label_smoothing <= 1:
            raise RuntimeError(f"expected label_smoothing to be in range [0, 1], got {label_smoothing}")
        super().__init__(weight, reduction=reduction)
        self.num_classes, self.out_features = num_classes, out_features
        self.options: Any = options
        self.ignore_index, self.label_smoothing = ignore_index, label_smoothing
        self.linear = Linear(in_features, math.prod(out_features, start=num_classes), bias, device, dtype)

    def forward(self, input: Tensor, target: Tensor) -> Tensor:
        """Return the loss of the layer's logits."""
        layer: Any = self.linear
        shape = (self.num_classes, *self.out_features)
        return F.linear_cross_entropy(
            input, layer.weight.reshape((*shape, layer.in_features)), target, weight=self.weight, reduction=self.reduction,
            linear_bias=None if layer.bias is None else layer.bias.reshape(shape), ignore_index=self.ignore_index,
            label_smoothing=self.label_smoothing, options=self.options)

    def extra_repr(self) -> str:
        """Return all arguments."""
        names = ("num_classes", "out_features", "bias", "reduction", "ignore_index", "label_smoothing", "options")
        shown = {**{n: getattr(self, n) for n in names if n != "bias"}, "bias": self.linear.bias is not None}
        return ", ".join([f"in_features={self.linear.in_features}", *(f"{n}={shown[n]}" for n in names)])


__all__ = ["LinearCrossEntropyLoss", "LinearCrossEntropyOptions"]
