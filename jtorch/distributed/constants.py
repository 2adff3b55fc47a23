"""torch.distributed.constants: the default timeouts of collectives."""
from __future__ import annotations

from jtorch.distributed.groups import default_pg_timeout

__all__ = ["default_pg_nccl_timeout", "default_pg_timeout"]

default_pg_nccl_timeout = None      # All backends have the same default timeout, default_pg_timeout.
