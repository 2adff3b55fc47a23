"""All losses, and their base classes."""
from __future__ import annotations

from jtorch.nn.modules._losses import *  # noqa: F403
from jtorch.nn.modules._losses import _Loss as _Loss
from jtorch.nn.modules._losses import _WeightedLoss as _WeightedLoss
from jtorch.nn.modules._margin_losses import *  # noqa: F403
from jtorch.nn.modules.linear_cross_entropy import LinearCrossEntropyLoss as LinearCrossEntropyLoss
