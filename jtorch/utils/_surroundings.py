"""The state of the CPU's generator and of autocast, which is restored for the recomputation of a checkpointed function."""
from __future__ import annotations

import contextlib
from collections.abc import Iterator

from jtorch import random
from jtorch.amp import autocast_mode as amp


class Surroundings:
    """The state of the CPU's generator (with ``preserve_rng_state``) and of autocast at one time."""

    def __init__(self, preserve_rng_state: bool, devices: set[str]):
        self.generator = random.get_rng_state() if preserve_rng_state else None
        self.autocast = [(d, amp.is_autocast_enabled(d), amp.get_autocast_dtype(d)) for d in {"cpu", *devices}]
        self.cache = amp.is_autocast_cache_enabled()

    @contextlib.contextmanager
    def again(self) -> Iterator[None]:
        """Restore the state in this block."""
        with contextlib.ExitStack() as stack:
            stack.enter_context(random.fork_rng(enabled=self.generator is not None))
            if self.generator is not None:
                random.set_rng_state(self.generator)
            for device, enabled, dtype in self.autocast:
                stack.enter_context(amp.autocast(device, dtype=dtype, enabled=enabled, cache_enabled=self.cache))
            yield
