"""torch.distributed.checkpoint: checkpoints that several ranks write and read."""
from __future__ import annotations

from jtorch.distributed.lazy_exports import lazy_getattr

__all__ = ["BytesStorageMetadata", "CheckpointException", "ChunkStorageMetadata", "DefaultLoadPlanner", "DefaultSavePlanner",
           "FileSystemReader", "FileSystemWriter", "HuggingFaceStorageReader", "HuggingFaceStorageWriter", "Metadata",
           "TensorStorageMetadata", "async_save", "load", "load_state_dict", "save", "save_state_dict"]

__getattr__ = lazy_getattr(__name__, {
    "_parallel.checkpoint.exchange": "CheckpointException",
    "_parallel.checkpoint.files": "FileSystemReader FileSystemWriter",
    "_parallel.checkpoint.hugging_face": "HuggingFaceStorageReader HuggingFaceStorageWriter",
    "_parallel.checkpoint.loading": "DefaultLoadPlanner load load_state_dict",
    "_parallel.checkpoint.saving": "DefaultSavePlanner async_save save save_state_dict",
    "_parallel.checkpoint.metadata": "BytesStorageMetadata ChunkStorageMetadata Metadata TensorStorageMetadata",
})
