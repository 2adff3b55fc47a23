"""torch.utils._device: the default device of a block, and the functions that use it."""
from __future__ import annotations

import functools
import sys
from collections.abc import Callable
from typing import Any

from jtorch._api import functions, lazy_modules
from jtorch._api.creation import as_tensor, asarray, empty_strided, tensor
from jtorch.device import chosen_devices
from jtorch.device import device as Device
from jtorch.utils._contextlib import context_decorator

_NAMES = ("empty", "empty_permuted", "ones", "arange", "bartlett_window", "blackman_window", "eye", "full", "hamming_window",
          "hann_window", "kaiser_window", "linspace", "logspace", "rand", "randn", "randint", "randperm", "range", "tril_indices",
          "triu_indices", "zeros", "scalar_tensor")
_SPARSE = ("coo", "compressed", "csr", "csc", "bsr", "bsc")


@functools.lru_cache(1)
def _device_constructors() -> set[Callable]:
    """Return the functions that create tensors on the default device."""
    found = {getattr(functions, name) for name in _NAMES}
    found |= {getattr(sys.modules["jtorch.fft"], name) for name in ("fftfreq", "rfftfreq")}
    sparse = {lazy_modules.load(f"sparse_{kind}_tensor") for kind in _SPARSE}
    return {*found, *sparse, tensor, as_tensor, asarray, empty_strided}


class DeviceContext:
    """A context manager that sets the default device."""

    def __init__(self, device: Any):
        self.device = Device(device)

    def __enter__(self) -> None:
        self.device.__enter__()

    def __exit__(self, *exc_info: object) -> None:
        self.device.__exit__(*exc_info)


def device_decorator(device: Any, func: Callable) -> Callable:
    """Return a function that runs with ``device`` as the default device."""
    return context_decorator(lambda: device, func)


def set_device(device: Any) -> Callable[[Callable], Callable]:
    """Return a decorator that makes a function run with ``device`` as the default device."""
    return lambda func: device_decorator(Device(device), func)


def __getattr__(name: str) -> Any:
    if name == "CURRENT_DEVICE":
        blocks, base = chosen_devices()
        return blocks[-1] if blocks else base
    raise AttributeError(f"module 'torch.utils._device' has no attribute {name!r}")
