"""torch.distributed.algorithms._checkpoint.checkpoint_wrapper: modules that recompute their activations in backward."""
from __future__ import annotations

from jtorch.distributed.lazy_exports import lazy_getattr

__getattr__ = lazy_getattr(__name__, {
    "_parallel.checkpoint_wrapper": "ActivationWrapper CheckpointImpl CheckpointWrapper OffloadWrapper _CHECKPOINT_PREFIX "
                                    "_CHECKPOINT_WRAPPED_MODULE apply_activation_checkpointing checkpoint_wrapper "
                                    "offload_wrapper",
})
