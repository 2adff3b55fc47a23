"""Dispatch keys, and the keys that a thread excludes."""
from __future__ import annotations

import contextlib
import enum
import threading
from collections.abc import Iterable, Iterator
from typing import Any

from jtorch.amp.autocast_mode import autocast
from jtorch.no_grad import no_grad

BACKENDS = {"cpu": "CPU", "cuda": "CUDA", "xla": "XLA", "meta": "Meta", "mps": "MPS", "xpu": "XPU", "hpu": "HPU", "mtia": "MTIA",
            "maia": "MAIA", "ipu": "IPU", "ve": "VE", "lazy": "Lazy", "privateuseone": "PrivateUse1"}
DEVICES = ("cpu, cuda, ipu, xpu, mkldnn, opengl, opencl, ideep, hip, ve, fpga, maia, xla, lazy, vulkan, mps, meta, hpu, mtia, "
           "privateuseone")
_OTHERS = ("Undefined Dense Sparse SparseCsr NestedTensor Quantized BackendSelect Python PythonTLSSnapshot PythonDispatcher "
           "Functionalize Conjugate Negative ZeroTensor ADInplaceOrView AutogradOther AutogradFunctionality AutogradNestedTensor "
           "Tracer FuncTorchBatched FuncTorchVmapMode FuncTorchGradWrapper FuncTorchDynamicLayerBackMode PreDispatch "
           "FuncTorchDynamicLayerFrontMode Batched VmapMode Autograd CompositeImplicitAutograd CompositeExplicitAutograd "
           "CompositeExplicitAutogradNonFunctional CompositeImplicitAutogradNestedTensor").split()
_NAMES = [*_OTHERS, *(f"{kind}{backend}" for kind in ("", "Autograd", "Autocast") for backend in BACKENDS.values())]
DispatchKey: Any = enum.Enum("DispatchKey", [(name, i) for i, name in enumerate(_NAMES)], module="torch._C")     # type: ignore[misc]
AUTOGRAD = frozenset(name for name in _NAMES if name.startswith("Autograd"))


class DispatchKeySet:
    """A set of dispatch keys. See torch._C.DispatchKeySet."""

    def __init__(self, keys: Any = ()):
        given = [keys] if isinstance(keys, (str, DispatchKey)) else keys
        self.names = frozenset(key if isinstance(key, str) else key.name for key in given)

    def __or__(self, other: DispatchKeySet) -> DispatchKeySet:
        return DispatchKeySet(self.names | other.names)

    def __and__(self, other: DispatchKeySet) -> DispatchKeySet:
        return DispatchKeySet(self.names & other.names)

    def __sub__(self, other: DispatchKeySet) -> DispatchKeySet:
        return DispatchKeySet(self.names - other.names)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, DispatchKeySet) and self.names == other.names

    def __hash__(self) -> int:
        return hash(self.names)

    def __iter__(self) -> Iterator[Any]:
        return (DispatchKey[name] for name in sorted(self.names))

    def __repr__(self) -> str:
        return f"DispatchKeySet({', '.join(sorted(self.names))})"

    def has(self, key: Any) -> bool:
        """Return whether the set contains a key."""
        return key.name in self.names

    def add(self, key: Any) -> DispatchKeySet:
        """Return the set with one more key."""
        return self | DispatchKeySet(key)

    def remove(self, key: Any) -> DispatchKeySet:
        """Return the set without one key."""
        return self - DispatchKeySet(key)


class _Excluded(threading.local):
    names: frozenset = frozenset()


excluded = _Excluded()


class ExcludeDispatchKeyGuard:
    """Exclude keys in the block: registered operators skip them, other functions skip only autocast of the CPU or of CUDA."""

    def __init__(self, keys: DispatchKeySet | Iterable[str]):
        self.names = keys.names if isinstance(keys, DispatchKeySet) else frozenset(keys)

    def __enter__(self) -> ExcludeDispatchKeyGuard:
        self.before = excluded.names
        excluded.names = self.before | self.names
        self.without_autocast = contextlib.ExitStack()
        for device in ("cpu", "cuda"):
            if f"Autocast{BACKENDS[device]}" in self.names:
                self.without_autocast.enter_context(autocast(device, enabled=False))
        return self

    def __exit__(self, *_: object) -> None:
        self.without_autocast.close()
        excluded.names = self.before


class AutoDispatchBelowAutograd(ExcludeDispatchKeyGuard):
    """Run operators below autograd in the block."""

    def __init__(self) -> None:
        super().__init__(AUTOGRAD)
        self.unrecorded = no_grad()

    def __enter__(self) -> AutoDispatchBelowAutograd:
        super().__enter__()
        self.unrecorded.__enter__()
        return self

    def __exit__(self, *error: Any) -> None:
        self.unrecorded.__exit__(*error)
        super().__exit__(*error)


def parse_key(name: Any) -> str:
    """Return the name of a dispatch key. Raise RuntimeError for an unknown key."""
    text = name.name if isinstance(name, DispatchKey) else name
    if text not in DispatchKey.__members__:
        raise RuntimeError(f"could not parse dispatch key: {text}")
    return text


def key_of_device(device_type: str) -> str:
    """Return a device type's key: "CUDA" for "cuda". Raise RuntimeError for an unknown type."""
    if device_type not in BACKENDS:
        raise RuntimeError(f"Expected one of {DEVICES} device type at start of device string: {device_type}")
    return BACKENDS[device_type]
