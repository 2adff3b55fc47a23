"""torch.Generator: the stream of PyTorch's CPU numbers or, on an accelerator, a JAX key and an offset."""
from __future__ import annotations

from typing import Any

import numpy as np

from jtorch._base import late_bindings
from jtorch._base.mt19937 import DEFAULT_SEED, Stream, seed_of
from jtorch.device import as_device, canonical
from jtorch.device import device as Device

_STATE_OF_KEY = np.dtype([("seed", "<u8"), ("offset", "<i8")])      # the bytes of a CUDA generator's state
_STEP = 4                                                           # PyTorch's offsets are multiples of four


class Generator:
    """A source of random numbers with its own state. See torch.Generator."""

    __slots__ = ("_device", "_key", "_offset", "_seed", "stream")

    def __init__(self, device: Any = None):
        self._device = _place(device)
        self.stream = Stream() if self._device.type == "cpu" else None
        self._seed, self._offset = DEFAULT_SEED, 0
        self._key: Any = None

    @property
    def device(self) -> Device:
        """The device that the numbers are drawn for."""
        return self._device

    def manual_seed(self, seed: int, /) -> Generator:
        """Start again from ``seed`` and return the generator."""
        if isinstance(seed, bool) or not isinstance(seed, (int, np.integer)):
            raise RuntimeError(f"manual_seed expected a long, but got {type(seed).__name__}")  # noqa: TRY004
        if self.stream is not None:
            self.stream.manual_seed(int(seed))
        self._seed, self._offset, self._key = seed_of(int(seed)), 0, None
        return self

    def seed(self) -> int:
        """Start again from a seed of the system's entropy and return the seed."""
        self.manual_seed(Stream().seed())
        return self._seed

    def initial_seed(self) -> int:
        """Return the seed this generator was started with."""
        return self.stream.initial_seed() if self.stream is not None else self._seed

    def get_state(self) -> Any:
        """Return the state as a tensor of bytes in PyTorch's format."""
        if self.stream is not None:
            return late_bindings.state_to_tensor(self.stream.get_state())
        return late_bindings.state_to_tensor(np.array([(self._seed, self._offset)], _STATE_OF_KEY).view(np.uint8))

    def set_state(self, new_state: Any, /) -> Generator:
        """Set the state to one that ``get_state`` returned."""
        raw = late_bindings.state_from_tensor(new_state)
        if raw.dtype != np.uint8:
            raise TypeError("RNG state must be a torch.ByteTensor")
        if self.stream is not None:
            self.stream.set_state(raw)
        else:
            if raw.size != _STATE_OF_KEY.itemsize:
                raise RuntimeError("RNG state is wrong size")
            seed, offset = np.ascontiguousarray(raw).reshape(-1).view(_STATE_OF_KEY)[0]
            self._seed, self._offset, self._key = int(seed), int(offset), None
        return self

    def clone_state(self) -> Generator:
        """Return another generator in the same state."""
        other = Generator(self.device)
        other.set_state(self.get_state())
        return other

    def graphsafe_get_state(self) -> Generator:
        """Raise NotImplementedError, as PyTorch does on the CPU, since there are no CUDA graphs."""
        raise NotImplementedError("graphsafe_get_state is not supported in this Generator")

    def graphsafe_set_state(self, state: Generator, /) -> Generator:
        """Raise NotImplementedError, as PyTorch does on the CPU, since there are no CUDA graphs."""
        if not isinstance(state, Generator):
            raise TypeError(f"expected a Generator, but got {type(state).__name__}")
        raise NotImplementedError("graphsafe_set_state is not supported in this Generator")

    def get_offset(self) -> int:
        """Return the offset of an accelerator's generator."""
        self._require_key()
        return self._offset

    def set_offset(self, offset: int, /) -> Generator:
        """Move an accelerator's generator to ``offset``."""
        self._require_key()
        if offset % _STEP:
            raise RuntimeError("offset must be a multiple of 4")
        self._offset = offset
        return self

    def _require_key(self) -> None:
        if self.stream is not None:
            raise RuntimeError("CPU Generator does not use offset")

    def next_key(self) -> Any:
        """Return a new JAX key. A CPU generator draws the key from its stream."""
        import jax

        if self.stream is not None:
            return _key(int(self.stream.long_words(1)[0]))
        if self._key is None:
            self._key = _key(self._seed)
        self._offset += _STEP
        return jax.random.fold_in(self._key, self._offset // _STEP & 0xFFFFFFFF)

    def __reduce__(self):
        offset = None if self.stream is not None else self._offset
        return Generator, (self._device,), (self.initial_seed(), offset, self.get_state())

    def __setstate__(self, state: tuple) -> None:
        seed, _, raw = state        # the offset is not needed, since an accelerator's state includes it
        self.manual_seed(seed)
        self.set_state(raw)


def _place(given: Any) -> Device:
    """Return the generator's device. Raise PyTorch's errors for a device without generators."""
    place = as_device("cpu" if given is None else given, "Generator")
    if place.type == "meta":
        raise RuntimeError("META device type not an accelerator.")
    try:
        return canonical(place)
    except AssertionError:
        raise RuntimeError("Cannot get CUDA generator without ATen_cuda library.") from None


def _key(seed: int) -> Any:
    import jax

    with jax.enable_x64(True):          # without 64 bits JAX would take only 32 bits of the seed
        return jax.random.key(seed - (1 << 64) if seed >> 63 else seed)


default_generator = Generator()
default_generator.seed()
