"""torch._functorch: private names of torch.func."""
from __future__ import annotations

from jtorch._functorch import config as config
from jtorch._functorch import vmap as vmap
