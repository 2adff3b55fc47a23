"""torch.distributed.checkpoint.hf_storage: checkpoints as safetensors files."""
from __future__ import annotations

from jtorch.distributed.later import names

__getattr__ = names(__name__, {"_parallel.checkpoint.hugging_face": "HuggingFaceStorageReader HuggingFaceStorageWriter"})
