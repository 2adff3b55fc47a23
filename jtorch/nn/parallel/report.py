"""What a DistributedDataParallel says of itself: ``_get_ddp_logging_data``, without the times of PyTorch's reducer."""
from __future__ import annotations

import os
from typing import Any

_TYPES = {"float32": "float", "float64": "double", "float16": "c10::Half", "bfloat16": "c10::BFloat16"}
_SETTINGS = ("MASTER_PORT", "MASTER_ADDR", "TORCH_DISTRIBUTED_DEBUG", "CUDA_VISIBLE_DEVICES", "GLOO_SOCKET_IFNAME",
             "GLOO_DEVICE_TRANSPORT")

NOT_FINISHED = ("Expected to have finished reduction in the prior iteration before starting a new one. This error indicates "
                "that your module has parameters that were not used in producing loss. You can enable unused parameter "
                "detection by passing the keyword argument `find_unused_parameters=True` to "
                "`torch.nn.parallel.DistributedDataParallel`, and by \nmaking sure all `forward` function outputs participate "
                "in calculating loss. \nParameters that did not receive a gradient on rank {rank}: {names}")


class Report:
    """How often a model was run, and the last error."""

    def __init__(self) -> None:
        self.iterations, self.error = 0, ""

    def of(self, ddp: Any) -> dict[str, Any]:
        """The facts of a model, by PyTorch's names."""
        made = {name.lower(): os.environ.get(name, "N/A") for name in _SETTINGS}
        made |= _of_parameters(list(ddp._named.values()), ddp._buckets) | _of_arguments(ddp)
        made |= {"iteration": self.iterations - 1, "rank": ddp.process_group.rank(), "world_size": ddp.process_group.size(),
                 "backend_name": ddp.process_group.name(), "module_name": type(ddp.module).__name__}
        return made | ({"has_error": 1, "error": self.error} if self.error else {})


def _of_parameters(params: list, buckets: list) -> dict[str, Any]:
    sizes = [sum(p.nbytes for p in bucket.parameters()) for bucket in buckets]
    names = sorted({str(p.dtype).removeprefix("torch.") for p in params})
    return {"dtypes": ", ".join(_TYPES.get(name, name) for name in names), "num_parameter_tensors": len(params),
            "total_parameter_size_bytes": sum(sizes), "bucket_sizes": ", ".join(map(str, sizes))}


def _of_arguments(ddp: Any) -> dict[str, Any]:
    return {"device_ids": "", "output_device": -1, "broadcast_buffers": int(ddp.broadcast_buffers),
            "bucket_cap_bytes": int(ddp._bucket_mb * 2**20), "find_unused_parameters": int(ddp.find_unused_parameters),
            "gradient_as_bucket_view": int(ddp.gradient_as_bucket_view), "static_graph": int(ddp.static_graph)}
