"""torch.distributed.checkpoint.hf_storage: checkpoints as safetensors files."""
from __future__ import annotations

from jtorch.distributed.lazy_exports import lazy_getattr

__getattr__ = lazy_getattr(__name__, {"_parallel.checkpoint.hugging_face": "HuggingFaceStorageReader HuggingFaceStorageWriter"})
