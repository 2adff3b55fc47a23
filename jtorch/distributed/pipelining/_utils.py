"""torch.distributed.pipelining._utils: see torch.distributed.pipelining."""
from __future__ import annotations

from jtorch.distributed.lazy_exports import lazy_getattr

__getattr__ = lazy_getattr(__name__, {
    "_parallel.pipelining.metadata":
        "InferenceMode PipeInfo PipeliningMetadataError _StageForwardMeta _StageMeta _TensorMeta extract_tensor_metas "
        "flatten_args generate_rank_to_stage_mapping generate_stage_to_rank_mapping validate_and_normalize_to_tuple "
        "validate_tensors_metadata",
})
