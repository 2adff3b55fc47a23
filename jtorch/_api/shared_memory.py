"""Memory shared between processes: ``share_memory_``, and the transfer of tensors by ``multiprocessing``.

The content of a shared storage is host memory, mapped from an anonymous file. A process that receives the storage gets the
file's descriptor, maps the same pages and sees the others' writes. As in PyTorch, putting a tensor on a queue or passing it
to a process shares it. The system frees the memory once all processes have dropped it.
"""
from __future__ import annotations

import mmap
import os
import sys
import tempfile
import weakref
from collections.abc import Callable
from multiprocessing import reduction
from typing import Any

import numpy as np

from jtorch import engine
from jtorch._api.creation import reduced
from jtorch._api.names import put
from jtorch._backward.view_history import node_of
from jtorch._storage.untyped import UntypedStorage
from jtorch.engine import Value
from jtorch.storage import Storage, sent
from jtorch.tensor import Parameter, Tensor

AVAILABLE = sys.platform != "win32"     # the platform can send file descriptors
# From Python 3.13 on, mmap duplicates the file descriptor unless trackfd is False.
_ONE_DESCRIPTOR: dict[str, Any] = {"trackfd": False} if sys.version_info >= (3, 13) else {}


class Segment:
    """Shared memory: an open file and this process's mapping of it."""

    def __init__(self, descriptor: int, nbytes: int):
        self.descriptor = descriptor
        weakref.finalize(self, os.close, descriptor)
        self.memory = mmap.mmap(descriptor, nbytes, **_ONE_DESCRIPTOR)

    @classmethod
    def new(cls, nbytes: int) -> Segment:
        """Return a segment of zeros."""
        try:
            descriptor = _nameless_file()
            os.ftruncate(descriptor, nbytes)
            return cls(descriptor, nbytes)
        except OSError as e:
            raise RuntimeError(f"unable to share {nbytes} bytes of memory with other processes: {e.strerror} ({e.errno})") from e

    @property
    def key(self) -> tuple[int, int]:
        """A key of the segment that is the same in all processes."""
        found = os.fstat(self.descriptor)
        return found.st_dev, found.st_ino


def _nameless_file() -> int:
    if hasattr(os, "memfd_create"):
        return os.memfd_create("jtorch")
    with tempfile.TemporaryFile() as file:
        return os.dup(file.fileno())


_storages: weakref.WeakValueDictionary[tuple[int, int], Storage] = weakref.WeakValueDictionary()    # keys: Segment.key


def share(s: Storage) -> None:
    """Move a storage's content to shared memory."""
    if isinstance(s.shared, Segment) or s.aval.device.type == "cuda":
        return
    if s.aval.device.type != "cpu":
        raise RuntimeError("_share_fd_: only available on CPU")
    if s.aval.traced:
        raise RuntimeError("a value of a JAX transformation has no memory to share")
    if not AVAILABLE:
        raise NotImplementedError("memory is not shared between processes on Windows")
    if not s.aval.numel:
        s.shared = True     # an empty storage needs no memory
        return
    s.to_host()
    _place(s, Segment.new(s.aval.nbytes), s.host)


def _place(s: Storage, segment: Segment, content: np.ndarray | None) -> None:
    """Copy ``content`` into a segment and make the segment the storage's memory."""
    memory = np.frombuffer(segment.memory, s.aval.np)
    if content is not None:
        memory[...] = content
    s.move_into(memory)
    s.shared = segment
    _storages[segment.key] = s


def is_shared(s: Storage) -> bool:
    """Return whether a storage's memory is shared with other processes. As in PyTorch this is always True for CUDA."""
    return bool(s.shared) or s.aval.device.type == "cuda"


# ---------------------------------------------------------------- sending


def _reduced_storage(s: Storage) -> Any:
    """Pickle a storage as a file descriptor, or as its elements if it cannot be shared."""
    if s.aval.device.type != "cpu" or not s.aval.numel or not AVAILABLE:
        return sent(s)
    share(s)
    return _received, (reduction.DupFd(s.shared.descriptor), s.aval.shape, s.aval.np)       # type: ignore[attr-defined]


def _received(sent: Any, shape: tuple[int, ...], dtype: np.dtype) -> Storage:
    """Return the storage of a received descriptor. The same segment always gives the same storage."""
    s = Storage(Value(engine.aval_of(shape, dtype, engine.CPU)))
    segment = Segment(sent.detach(), s.aval.nbytes)
    found = _storages.get(segment.key)
    if found is not None:
        return found
    _place(s, segment, None)
    return s


def reduced_tensor(t: Tensor) -> Any:
    """Pickle a tensor for another process. Raise RuntimeError for a tensor with history."""
    if node_of(t) is not None:
        raise RuntimeError(NOT_A_LEAF)
    return reduced(t)


NOT_A_LEAF = ("Cowardly refusing to serialize non-leaf tensor which requires_grad, since autograd does not support crossing "
              "process boundaries.  If you just want to transfer the data, call detach() on the tensor before serializing (e.g., "
              "putting it on the queue).")


# ---------------------------------------------------------------- methods


def _share_memory_(self: Tensor) -> Tensor:
    """Move the tensor's memory to a segment that other processes can map. See torch.Tensor.share_memory_.

    Each read copies the memory. An in-place call overwrites what another process wrote during the call.
    """
    share(self._storage)
    return self


def _storage_share_memory_(self: UntypedStorage) -> UntypedStorage:
    """Move the memory to a segment that other processes can map."""
    share(self._storage)
    return self


def _share_fd_cpu_(self: UntypedStorage) -> tuple[int, int]:
    """Return (file descriptor of the shared memory, its size)."""
    share(self._storage)
    return os.dup(self._storage.shared.descriptor), self.nbytes()


def _share_filename_cpu_(self: UntypedStorage) -> Any:
    if self.device.type != "cpu":
        raise RuntimeError("_share_filename_: only available on CPU")
    raise NotImplementedError("memory is shared by descriptors here, not by files with names")


def _asking(name: str) -> Callable[[Any], bool]:
    def is_shared_(self: Any) -> bool:
        return is_shared(self._storage)
    is_shared_.__name__, is_shared_.__doc__ = name, "Whether other processes may see what is written to the memory."
    return is_shared_


def bind() -> None:
    """Add the methods to the classes and register the picklers with ``multiprocessing``."""
    put(Tensor, {"share_memory_": _share_memory_, "is_shared": _asking("is_shared")})
    put(UntypedStorage, {"share_memory_": _storage_share_memory_, "is_shared": _asking("is_shared"),
                         "_share_fd_cpu_": _share_fd_cpu_, "_share_filename_cpu_": _share_filename_cpu_})
    reduction.register(Storage, _reduced_storage)       # type: ignore[attr-defined]
    for kind in (Tensor, Parameter):
        reduction.register(kind, reduced_tensor)       # type: ignore[attr-defined]
