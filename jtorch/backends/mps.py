"""torch.backends.mps: Apple's GPU, which needs JAX's Metal plugin."""
from __future__ import annotations

import platform

import jtorch.device as devices


def is_built() -> bool:
    """Return whether JAX has a Metal backend. See torch.backends.mps.is_built."""
    return is_available()


def is_available() -> bool:
    """Return whether there is a Metal device. See torch.backends.mps.is_available."""
    return platform.system() == "Darwin" and bool(devices.jax_devices("mps"))


def is_macos_or_newer(major: int, minor: int) -> bool:
    """Return whether the system is macOS of this version or later. See torch.backends.mps."""
    if platform.system() != "Darwin":
        raise RuntimeError("Cannot execute isOnMacOSorNewer() without MPS backend.")
    version = tuple(int(part) for part in platform.mac_ver()[0].split(".")[:2])
    return version >= (major, minor)


def is_macos13_or_newer(minor: int = 0) -> bool:
    """Return whether the system is macOS 13 or later. See torch.backends.mps."""
    return is_macos_or_newer(13, minor)
