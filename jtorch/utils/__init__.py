"""torch.utils: data loading, checkpointing, pytrees, hooks and other tools."""
from __future__ import annotations

from jtorch.utils import checkpoint as checkpoint
from jtorch.utils import data as data
from jtorch.utils import deterministic as deterministic
from jtorch.utils import dlpack as dlpack
from jtorch.utils import hooks as hooks
from jtorch.utils import viz as viz
from jtorch.utils._swap import swap_tensors as swap_tensors
