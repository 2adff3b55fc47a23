"""torch._C._distributed_rpc: remote procedure calls, which are not built."""
from __future__ import annotations

from jtorch._base.not_built import placeholder as _placeholder

PyRRef, RpcAgent, TensorPipeAgent, WorkerInfo = (
    _placeholder("_C._distributed_rpc", name) for name in ("PyRRef", "RpcAgent", "TensorPipeAgent", "WorkerInfo"))


def _is_current_rpc_agent_set() -> bool:
    """Return False: no process waits for calls."""
    return False
