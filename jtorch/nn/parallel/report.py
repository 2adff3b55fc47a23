"""The logging data of DistributedDataParallel: ``_get_ddp_logging_data``, without PyTorch's reducer times."""
from __future__ import annotations

import os
from typing import Any

from jtorch.distributed.debug import DebugLevel, get_debug_level

_TYPES = {"float32": "float", "float64": "double", "float16": "c10::Half", "bfloat16": "c10::BFloat16"}
_SETTINGS = ("MASTER_PORT", "MASTER_ADDR", "TORCH_DISTRIBUTED_DEBUG", "CUDA_VISIBLE_DEVICES", "GLOO_SOCKET_IFNAME",
             "GLOO_DEVICE_TRANSPORT")

_NOT_FINISHED = ("Expected to have finished reduction in the prior iteration before starting a new one. This error indicates "
                 "that your ")
_NOT_USED = ("module has parameters that were not used in producing loss. You can enable unused parameter detection by passing "
             "the keyword argument `find_unused_parameters=True` to `torch.nn.parallel.DistributedDataParallel`, and by \nmaking "
             "sure all `forward` function outputs participate in calculating loss. ")
GRAPH_HAS_CHANGED = ("Your training graph has changed in this iteration, e.g., one parameter is unused in first iteration, but "
                     "then got used in the second iteration. this is not compatible with static_graph set to True.")
_USED_AT_FIRST = ("training graph has changed in this iteration, e.g., one parameter is used in first iteration, but then got "
                  "unused in the second iteration. this is not compatible with static_graph set to True.")
_MORE = (" In addition, you can set the environment variable TORCH_DISTRIBUTED_DEBUG to either INFO or DETAIL to print out "
         "information about which particular parameters did not receive gradient on this rank as part of this error")


def not_finished(ddp: Any, ready: set) -> str:
    """Return the error message of a forward if the previous backward has not reached all parameters."""
    absent = [(i, name) for i, (name, p) in enumerate(ddp._named.items()) if p not in ready]
    rank, names = ddp.process_group.rank(), ", ".join([name for _, name in absent])
    indices = " ".join([str(i) for i, _ in absent])
    told = "" if get_debug_level() is DebugLevel.OFF else f"\nParameters which did not receive grad for rank {rank}: {names}"
    return (f"{_NOT_FINISHED}{_USED_AT_FIRST if ddp.static_graph else _NOT_USED}{told}\nParameter indices which did not receive "
            f"grad for rank {rank}: {indices}{'' if told else _MORE}")


class Report:
    """The number of a model's iterations, and its last error."""

    def __init__(self) -> None:
        self.iterations, self.error = 0, ""

    def of(self, ddp: Any) -> dict[str, Any]:
        """Return a model's logging data, by PyTorch's names."""
        made: dict[str, Any] = {name.lower(): os.environ.get(name, "N/A") for name in _SETTINGS}
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
