"""Tensors that processes share: ``share_memory_``, and how tensors go through ``multiprocessing``.

The content of a shared storage is host memory that is mapped from a file without a name. Who is sent the storage is given the
file's descriptor, maps the same pages, and so sees what others write. As in PyTorch a tensor that is put on a queue or passed
to a process becomes shared by that. Nothing is left behind: the memory is free when the last process has dropped it.
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

AVAILABLE = sys.platform != "win32"     # whether descriptors can be sent
_ONE_DESCRIPTOR: dict[str, Any] = {"trackfd": False} if sys.version_info >= (3, 13) else {}     # else mmap keeps one of its own


class Segment:
    """Memory that processes share: an open file, and where this process has mapped it."""

    def __init__(self, descriptor: int, nbytes: int):
        self.descriptor = descriptor
        weakref.finalize(self, os.close, descriptor)
        self.memory = mmap.mmap(descriptor, nbytes, **_ONE_DESCRIPTOR)

    @classmethod
    def new(cls, nbytes: int) -> Segment:
        """A segment of zeros."""
        try:
            descriptor = _nameless_file()
            os.ftruncate(descriptor, nbytes)
            return cls(descriptor, nbytes)
        except OSError as e:
            raise RuntimeError(f"unable to share {nbytes} bytes of memory with other processes: {e.strerror} ({e.errno})") from e

    @property
    def key(self) -> tuple[int, int]:
        """What is the same in all processes that have this segment."""
        found = os.fstat(self.descriptor)
        return found.st_dev, found.st_ino


def _nameless_file() -> int:
    if hasattr(os, "memfd_create"):
        return os.memfd_create("jtorch")
    with tempfile.TemporaryFile() as file:
        return os.dup(file.fileno())


_storages: weakref.WeakValueDictionary[tuple[int, int], Storage] = weakref.WeakValueDictionary()    # by the key of their segment


def share(s: Storage) -> None:
    """Moves the content of a storage into memory that can be sent to other processes."""
    if isinstance(s.shared, Segment) or s.aval.device.type == "cuda":
        return
    if s.aval.device.type != "cpu":
        raise RuntimeError("_share_fd_: only available on CPU")
    if s.aval.traced:
        raise RuntimeError("a value of a JAX transformation has no memory to share")
    if not AVAILABLE:
        raise NotImplementedError("memory is not shared between processes on Windows")
    if not s.aval.numel:
        s.shared = True     # there is nothing that could be sent
        return
    s.to_host()
    _place(s, Segment.new(s.aval.nbytes), s.host)


def _place(s: Storage, segment: Segment, content: np.ndarray | None) -> None:
    """Makes a segment the memory of a storage, after putting ``content`` there."""
    memory = np.frombuffer(segment.memory, s.aval.np)
    if content is not None:
        memory[...] = content
    s.move_into(memory)
    s.shared = segment
    _storages[segment.key] = s


def is_shared(s: Storage) -> bool:
    """Whether other processes may see what is written to a storage."""
    return bool(s.shared) or s.aval.device.type == "cuda"


# ---------------------------------------------------------------- sending


def _reduced_storage(s: Storage) -> Any:
    """A storage by its descriptor; by its elements where it has no memory that can be shared."""
    if s.aval.device.type != "cpu" or not s.aval.numel or not AVAILABLE:
        return sent(s)
    share(s)
    return _received, (reduction.DupFd(s.shared.descriptor), s.aval.shape, s.aval.np)       # type: ignore[attr-defined]


def _received(sent: Any, shape: tuple[int, ...], dtype: np.dtype) -> Storage:
    """The storage of a descriptor that was sent: the same one each time that it comes."""
    s = Storage(Value(engine.aval_of(shape, dtype, engine.CPU)))
    segment = Segment(sent.detach(), s.aval.nbytes)
    found = _storages.get(segment.key)
    if found is not None:
        return found
    _place(s, segment, None)
    return s


def reduced_tensor(t: Tensor) -> Any:
    """Return what pickles a tensor for another process; RuntimeError for a computed one."""
    if node_of(t) is not None:
        raise RuntimeError(NOT_A_LEAF)
    return reduced(t)


NOT_A_LEAF = ("Cowardly refusing to serialize non-leaf tensor which requires_grad, since autograd does not support crossing "
              "process boundaries.  If you just want to transfer the data, call detach() on the tensor before serializing (e.g., "
              "putting it on the queue).")


# ---------------------------------------------------------------- methods


def _share_memory_(self: Tensor) -> Tensor:
    """Moves the tensor's memory to where processes that it is sent to see it too. See torch.Tensor.share_memory_.

    An in-place call reads, computes and writes: what another process has written meanwhile is lost. Each read is a copy.
    """
    share(self._storage)
    return self


def _storage_share_memory_(self: UntypedStorage) -> UntypedStorage:
    """Moves the memory to where processes that it is sent to see it too."""
    share(self._storage)
    return self


def _share_fd_cpu_(self: UntypedStorage) -> tuple[int, int]:
    """The file that the memory is shared by, and its size."""
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
    """Puts the methods on the classes, and tells ``multiprocessing`` how tensors are sent."""
    put(Tensor, {"share_memory_": _share_memory_, "is_shared": _asking("is_shared")})
    put(UntypedStorage, {"share_memory_": _storage_share_memory_, "is_shared": _asking("is_shared"),
                         "_share_fd_cpu_": _share_fd_cpu_, "_share_filename_cpu_": _share_filename_cpu_})
    reduction.register(Storage, _reduced_storage)       # type: ignore[attr-defined]
    for kind in (Tensor, Parameter):
        reduction.register(kind, reduced_tensor)       # type: ignore[attr-defined]
