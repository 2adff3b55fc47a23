"""torch.distributed.fsdp._common_utils: parameter names without the prefixes of wrappers."""
from __future__ import annotations

from jtorch.distributed.lazy_exports import lazy_getattr

__getattr__ = lazy_getattr(__name__, {}, not_built="HandleTrainingState TrainingState _FSDPDeviceHandle _FSDPState "
                                                    "_named_parameters_with_duplicates")


def clean_tensor_name(tensor_name: str) -> str:
    """Return a parameter's name without the prefixes that wrappers add."""
    return tensor_name.replace("_fsdp_wrapped_module.", "").replace("_checkpoint_wrapped_module.", "")
