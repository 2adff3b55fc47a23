"""The names of the backends of collectives. See torch.distributed.Backend."""
from __future__ import annotations

from typing import Any

from jtorch.device import device as _device


class Backend(str):
    """The name of a backend, in lower case. See torch.distributed.Backend."""

    __slots__ = ()
    UNDEFINED, GLOO, NCCL, MPI, UCC, XCCL, FAKE = "undefined", "gloo", "nccl", "mpi", "ucc", "xccl", "fake"
    XLA = "xla"
    backend_list = [UNDEFINED, GLOO, NCCL, XCCL, UCC, MPI, FAKE]
    default_device_backend_map = {"cpu": GLOO, "cuda": NCCL, "xpu": XCCL, "mps": GLOO}

    def __new__(cls, name: str) -> Backend:
        """Return the name in lower case; ValueError if it is no string."""
        if not isinstance(name, str):
            raise ValueError("Backend constructor parameter must be string-ish")
        return str.__new__(cls, name.lower())


def backend_name(backend: str | None) -> str:
    """Return the backend that ``backend`` names for the CPU; NotImplementedError if it is not built."""
    parts = [part.rpartition(":") for part in (backend or "gloo").lower().split(",")]
    name = next((backend for device, _, backend in parts if device in ("", "cpu")), parts[0][2])
    if name == Backend.XLA:
        return Backend.XLA
    if name == Backend.NCCL:
        raise NotImplementedError("ProcessGroupNCCL is not built: collectives run on CPUs, by backend=\"gloo\"")
    if name not in (Backend.GLOO, Backend.UNDEFINED):
        raise NotImplementedError(f"torch.distributed's backend {name!r} is not built; \"gloo\" and \"xla\" are")
    return Backend.GLOO


def get_default_backend_for_device(device: Any) -> str:
    """Return the name of PyTorch's backend for a type of device. See torch.distributed.get_default_backend_for_device."""
    found = Backend.default_device_backend_map.get(_device(device).type)
    if found is None:
        raise ValueError(f"Default backend not registered for device : {device}")
    return found
