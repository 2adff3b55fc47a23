"""The backends of collectives, and the types of devices that each serves. See torch.distributed.Backend."""
from __future__ import annotations

from typing import Any

from jtorch._base.error_notes import with_note
from jtorch.device import cuda_count
from jtorch.device import device as _device

_WITHOUT_GPUS = 'Write init_process_group(backend="gloo"), or install JAX for the GPU: pip install "jax[cuda13]".'


class Backend(str):
    """The name of a backend, in lower case. See torch.distributed.Backend."""

    __slots__ = ()
    UNDEFINED, GLOO, NCCL, MPI, UCC, XCCL, FAKE = "undefined", "gloo", "nccl", "mpi", "ucc", "xccl", "fake"
    XLA = "xla"
    backend_list = [UNDEFINED, GLOO, NCCL, XCCL, UCC, MPI, FAKE]
    default_device_backend_map = {"cpu": GLOO, "cuda": NCCL, "xpu": XCCL, "mps": GLOO}
    backend_capability = {GLOO: ["cpu", "cuda"], NCCL: ["cuda"], XLA: ["cpu"]}

    def __new__(cls, name: str) -> Backend:
        """Return the name in lower case; ValueError if it is no string."""
        if not isinstance(name, str):
            raise ValueError("Backend constructor parameter must be string-ish")
        return str.__new__(cls, name.lower())


def backends_of(backend: str | None, device_id: Any = None) -> tuple[str, dict[str, str]]:
    """Return the name of a job's backend, and the backend of each type of device.

    Args:
        backend: a backend, or pairs such as ``"cpu:gloo,cuda:nccl"``; that of ``device_id`` or of the machine's accelerator, if
            None.
        device_id: the device of this process, or None.

    Raises:
        ValueError: pairs in another form, or NCCL without a GPU.
        NotImplementedError: a backend that is not built.

    """
    if backend is None and device_id is not None:
        backend = Backend.default_device_backend_map.get(device_id.type)
    name = Backend(backend or Backend.UNDEFINED)
    if name == Backend.UNDEFINED:
        made = {"cuda": Backend.NCCL} if cuda_count() else {"cpu": Backend.GLOO}
    else:
        made = _of_pairs(name) if ":" in name else dict.fromkeys(_checked(name), str(name))
    if Backend.NCCL in made.values() and not cuda_count():
        raise with_note(ValueError("ProcessGroupNCCL is only supported with GPUs, no GPUs found!"), _WITHOUT_GPUS)
    return name, made


def _checked(name: str) -> list[str]:
    """Return the types of devices that a backend serves; NotImplementedError if it is not built."""
    if name not in Backend.backend_capability:
        raise NotImplementedError(f"torch.distributed's backend {name!r} is not built; \"gloo\", \"nccl\" and \"xla\" are")
    return Backend.backend_capability[name]


def _of_pairs(text: str) -> dict[str, str]:
    form = (f"The custom backend string argument is invalid: {text}.\n"
            "                Custom backend string is an experimental feature where the backend string must be in the format:\n"
            '                "<device_type1>:<backend1>,<device_type2>:<backend2>...". e.g. \'cpu:gloo,cuda:nccl\'')
    made: dict[str, str] = {}
    for pair in text.split(","):
        kind, _, name = pair.partition(":")
        if pair.count(":") != 1:
            raise ValueError(f"Invalid device:backend pairing:                                      {pair}. {form}")
        if kind in made:
            raise ValueError(f"Duplicate device type {kind}                                      in backend string: {name}. "
                             f"{form}")
        if kind not in _checked(name):
            raise NotImplementedError(f"the backend {name!r} is not built for tensors on {kind!r}")
        made[kind] = name
    return made


def get_default_backend_for_device(device: Any) -> str:
    """Return the name of PyTorch's backend for a type of device. See torch.distributed.get_default_backend_for_device."""
    found = Backend.default_device_backend_map.get(_device(device).type)
    if found is None:
        raise ValueError(f"Default backend not registered for device : {device}")
    return found
