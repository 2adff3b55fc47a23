"""All losses, and the classes that they derive from."""
from __future__ import annotations

from jtorch.nn.linear_cross_entropy import LinearCrossEntropyLoss as LinearCrossEntropyLoss
from jtorch.nn.loss import *  # noqa: F403
from jtorch.nn.loss import _Loss as _Loss
from jtorch.nn.loss import _WeightedLoss as _WeightedLoss
from jtorch.nn.loss_margin import *  # noqa: F403
