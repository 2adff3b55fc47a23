"""The states of generators and of autocast, which are restored for the recomputation of a checkpointed function."""
from __future__ import annotations

import contextlib
from collections.abc import Iterator

from jtorch import random
from jtorch.amp import autocast_mode as amp
from jtorch.device import device


class Surroundings:
    """The states of generators (with ``preserve_rng_state``) and of autocast at one time, for the CPU and other devices."""

    def __init__(self, preserve_rng_state: bool, devices: set[device]):
        self.generators = random.states_of(devices) if preserve_rng_state else []
        self.autocast = [(d, amp.is_autocast_enabled(d), amp.get_autocast_dtype(d)) for d in {"cpu", *[d.type for d in devices]}]
        self.cache = amp.is_autocast_cache_enabled()

    @contextlib.contextmanager
    def again(self) -> Iterator[None]:
        """Restore the state in this block."""
        with contextlib.ExitStack() as stack:
            stack.enter_context(random.fork_rng(enabled=bool(self.generators)))
            for generator, state in self.generators:
                generator.set_state(state)
            for kind, enabled, dtype in self.autocast:
                stack.enter_context(amp.autocast(kind, dtype=dtype, enabled=enabled, cache_enabled=self.cache))
            yield
