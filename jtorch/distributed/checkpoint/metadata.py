"""torch.distributed.checkpoint.metadata: see torch.distributed.checkpoint."""
from __future__ import annotations

from jtorch.distributed.lazy_exports import lazy_getattr

__getattr__ = lazy_getattr(__name__, {
    "_parallel.checkpoint.metadata":
        "BytesStorageMetadata ChunkStorageMetadata Metadata MetadataIndex StorageMeta "
        "TensorProperties TensorStorageMetadata",
})
