"""Adaptive softmax: a softmax over many classes, with rare classes in clusters."""
from __future__ import annotations

from collections import namedtuple
from collections.abc import Sequence
from itertools import pairwise
from typing import Any

from jtorch.nn import functional as F
from jtorch.nn.modules.container import ModuleList, Sequential
from jtorch.nn.modules.linear import Linear
from jtorch.nn.modules.module import Module
from jtorch.tensor import Tensor

_ASMoutput = namedtuple("_ASMoutput", ["output", "loss"])   # noqa: PYI024
_BAD_CUTOFFS = ("cutoffs should be a sequence of unique, positive integers sorted in an increasing order, where each value is "
                "between 1 and n_classes-1")


def _checked_cutoffs(given: Sequence[int], n_classes: int) -> list[int]:
    cutoffs = list(given)
    if not cutoffs:
        raise ValueError("cutoffs should be a sequence of length larger than 0")
    if cutoffs != sorted(set(cutoffs)) or cutoffs[0] <= 0 or cutoffs[-1] > n_classes - 1 or any(int(c) != c for c in cutoffs):
        raise ValueError(_BAD_CUTOFFS)
    return cutoffs


class AdaptiveLogSoftmaxWithLoss(Module):
    """A softmax in which clusters of rare classes each use one output of the head.

    See torch.nn.AdaptiveLogSoftmaxWithLoss.

    Class indices begin with the most frequent class. Classes below ``cutoffs[0]`` have separate outputs in ``head``.
    The classes of each further interval form a cluster with a smaller layer in ``tail`` (``in_features // div_value **
    (i + 1)`` hidden features). The input is (N, in_features) with targets (N), or (in_features) with a 0-dim target.
    The result is a named tuple of the targets' log-probabilities ``output`` and their negative mean ``loss``. A target
    outside [0, n_classes) raises RuntimeError. Source: Grave et al., Efficient softmax approximation for GPUs,
    https://arxiv.org/abs/1609.04309.

    Shape: input (N, in_features) or (in_features,), target (N,) or (), int64; ``output`` has the target's shape,
    ``loss`` ().

    Args:
        in_features (int): the number of input features.
        n_classes (int): the number of classes.
        cutoffs (sequence of ints): the first class of each cluster after the head.
        div_value (float): the factor by which each cluster's projection is smaller than the previous one.
        head_bias (bool): whether the head has a bias.
        device (device or None): the device of parameters and buffers.
        dtype (dtype or None): their dtype, floating or complex.

    Example::

        >>> m = torch.nn.AdaptiveLogSoftmaxWithLoss(16, 10, cutoffs=[2, 5])
        >>> m.log_prob(torch.zeros(1, 16)).exp().sum()
        tensor(1., grad_fn=<SumBackward0>)

    """

    def __init__(self, in_features: int, n_classes: int, cutoffs: Sequence[int], div_value: float = 4.0,
                 head_bias: bool = False, device: Any = None, dtype: Any = None):
        super().__init__()
        self.cutoffs = [*_checked_cutoffs(cutoffs, n_classes), n_classes]
        self.in_features, self.n_classes = in_features, n_classes
        self.div_value, self.head_bias = div_value, head_bias
        self.shortlist_size, self.n_clusters = self.cutoffs[0], len(self.cutoffs) - 1
        self.head_size = self.shortlist_size + self.n_clusters
        self.head = Linear(in_features, self.head_size, head_bias, device, dtype)
        self.tail = ModuleList()
        for i, (low, high) in enumerate(pairwise(self.cutoffs)):
            hidden = int(in_features // div_value ** (i + 1))
            self.tail.append(Sequential(Linear(in_features, hidden, False, device, dtype),
                                        Linear(hidden, high - low, False, device, dtype)))

    def reset_parameters(self) -> None:
        """Reinitialize the parameters."""
        for layer in (self.head, *(part for cluster in self.tail for part in cluster)):
            layer.reset_parameters()

    def forward(self, input_: Any, target_: Any) -> _ASMoutput:
        """Return the log-probabilities of the targets, and the loss."""
        _check_target(input_, target_)
        batched = target_.dim() > 0
        input, target = (input_, target_) if batched else (input_.unsqueeze(0), target_.unsqueeze(0))
        own, in_head, found = input.new_zeros(target.size(0)), target.clone(), 0
        for i, (low, high) in enumerate(pairwise([0, *self.cutoffs])):
            rows = ((target >= low) & (target < high)).nonzero().squeeze(1)
            found += rows.numel()
            if i and rows.numel():
                in_head.index_fill_(0, rows, self.shortlist_size + i - 1)
                inside = F.log_softmax(self.tail[i - 1](input.index_select(0, rows)), dim=1)
                local = (target.index_select(0, rows) - low).unsqueeze(1)
                own.index_copy_(0, rows, inside.gather(1, local).squeeze(1))
        if found != target.size(0):
            raise RuntimeError(f"Target values should be in [0, {self.n_classes - 1}], but values in range "
                               f"[{target.min().item()}, {target.max().item()}] were found. ")
        head = F.log_softmax(self.head(input), dim=1)
        output = own + head.gather(1, in_head.unsqueeze(1)).squeeze(1)
        loss = (-output).mean()
        return _ASMoutput(output if batched else output.squeeze(0), loss)

    def _full_log_prob(self, input: Any, head_output: Any) -> Any:
        head = F.log_softmax(head_output, dim=1)
        out = input.new_empty((head_output.size(0), self.n_classes))
        out[:, :self.shortlist_size] = head[:, :self.shortlist_size]
        for i, (low, high) in enumerate(pairwise(self.cutoffs)):
            inside = F.log_softmax(self.tail[i](input), dim=1)
            out[:, low:high] = inside + head[:, self.shortlist_size + i].unsqueeze(1)
        return out

    def log_prob(self, input: Tensor) -> Tensor:
        """Return the log-probabilities of all classes, (N, n_classes)."""
        return self._full_log_prob(input, self.head(input))

    def predict(self, input: Any) -> Tensor:
        """Return the most probable classes, (N). Clusters are computed only for rows whose head prefers one."""
        head = self.head(input)
        output = head.argmax(dim=1)
        rare = output >= self.shortlist_size
        if not rare.any():
            return output
        output[rare] = self._full_log_prob(input[rare], head[rare]).argmax(dim=1)
        return output


def _check_target(input: Any, target: Any) -> None:
    if target.dim() > 1:
        raise RuntimeError("0D or 1D target tensor expected, multi-target not supported")
    if target.dim() == 1 and input.size(0) != target.size(0):
        raise RuntimeError("Input and target should have the same size in the batch dimension.")
    if input.dim() != target.dim() + 1:
        raise RuntimeError(f"{target.dim()}D target tensor expects {target.dim() + 1}D input tensors, but found inputs with size "
                           f"{input.size()}")


__all__ = ["AdaptiveLogSoftmaxWithLoss"]
