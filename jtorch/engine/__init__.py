"""The engine: values, recording, and the three ways to run work (host, kernel, program). See docs/engine.md."""
from __future__ import annotations

from jtorch._base import gpus  # noqa: F401  (declares how GPUs are counted before JAX starts)
from jtorch.engine.buffer_reuse import is_own
from jtorch.engine.cache import get_cache_dir, set_cache_dir
from jtorch.engine.forked import stay_on_host
from jtorch.engine.kernel import Call, Kernel, call_of, kernel_of
from jtorch.engine.report import report
from jtorch.engine.threads import use as use_threads
from jtorch.engine.timeline import Timeline, trace
from jtorch.engine.trace import (
           NUMBER_AVALS,
           bring,
           current,
           current_at,
           end,
           finish,
           forget,
           local,
           read,
           record,
           record_over,
           synchronize,
)
from jtorch.engine.values import (
           CPU,
           Aval,
           Value,
           aval_of,
           constant,
           device_array,
           host_array,
           moved,
           put,
           shared,
           traced_aval,
           zero_stride_array,
)

__all__ = [
           "CPU",
           "NUMBER_AVALS",
           "Aval",
           "Call",
           "Kernel",
           "Timeline",
           "Value",
           "aval_of",
           "bring",
           "call_of",
           "constant",
           "current",
           "current_at",
           "device_array",
           "end",
           "finish",
           "forget",
           "get_cache_dir",
           "host_array",
           "is_own",
           "kernel_of",
           "local",
           "moved",
           "put",
           "read",
           "record",
           "record_over",
           "report",
           "set_cache_dir",
           "shared",
           "stay_on_host",
           "synchronize",
           "trace",
           "traced_aval",
           "use_threads",
           "zero_stride_array",
]
