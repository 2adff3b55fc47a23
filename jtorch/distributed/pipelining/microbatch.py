"""torch.distributed.pipelining.microbatch: splitting batches into microbatches. See torch.distributed.pipelining."""
from __future__ import annotations

from jtorch.distributed.lazy_exports import lazy_getattr

__getattr__ = lazy_getattr(__name__, {
    "_parallel.pipelining.microbatch":
        "DEFAULT_CHUNK_DIM TensorChunkSpec _CustomReducer _LossReducer _Replicate _split_block_mask _split_tensor merge_chunks "
        "split_args_kwargs_into_chunks sum_reducer",
})
