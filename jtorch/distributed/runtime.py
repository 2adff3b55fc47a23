"""JAX's runtime of a whole job, which its processes join before JAX starts.

With the backend "xla" each process has several devices, and XLA's programs run on the devices of all processes. With "nccl" each
rank has one GPU. Its programs run on this GPU, and those of collectives on the GPUs of all ranks of a group.
"""
from __future__ import annotations

import atexit
import contextlib
import os
import sys

import jax
from jax.sharding import Mesh

from jtorch import engine
from jtorch._base import jax_private
from jtorch._base.config import ENGINE_MODE
from jtorch.device import chosen_cuda_index, cuda_count, jax_devices, set_own_gpu
from jtorch.distributed.connections import Connections
from jtorch.distributed.errors import DistBackendError
from jtorch.distributed.meeting import Meeting
from jtorch.distributed.silence import cpp_output_off
from jtorch.distributed.store import Store
from jtorch.distributed.transport import Transport, connected, gloo
from jtorch.engine import job
from jtorch.version import __version__


class _Joined:
    """The job that this process's JAX belongs to. JAX cannot leave it."""

    process: tuple[int, int] | None = None      # The rank and the number of ranks.


_joined = _Joined()


class Runtime:
    """This process's part of a job whose ranks share JAX's runtime.

    Args:
        connections: the connections between the ranks.
        store: the job's store, in which rank 0 publishes the address of JAX's coordinator.
        size: the number of ranks.
        host: this process's address.
        seconds: the time limit of joining and of meetings.

    Raises:
        RuntimeError: JAX has started a backend already.
        DistBackendError: the ranks have different numbers of devices, or other versions.

    """

    def __init__(self, connections: Connections, store: Store, size: int, host: str, seconds: float):
        rank = connections.rank
        _check_sizes(store, rank, size, seconds)
        gpu = os.environ.get("LOCAL_RANK") if int(os.environ.get("LOCAL_WORLD_SIZE", "1")) > 1 else None
        _join_jax(store, connections, size, host, min(seconds, 300.0), "xla", gpu)
        self.meeting = Meeting(connections, size, seconds)
        self.meeting.same("join", (len(jax.local_devices()), jax.default_backend(), ENGINE_MODE, __version__, jax.__version__),
                          f"joining with {len(jax.local_devices())} {jax.default_backend()} devices, "
                          f"JTORCH_ENGINE={ENGINE_MODE}, jtorch {__version__} and jax {jax.__version__}")
        self.job = job.Job(self.meeting, self.meeting.running, cpp_output_off)
        job.join(engine.local.recorder, self.job)
        self.transport = OneDeviceEach(min(jax.local_devices(), key=lambda d: d.id))
        atexit.register(self._at_exit)

    def agree_on(self, mesh: Mesh, where: str) -> None:
        """Agree on a mesh with the other ranks."""
        shape = tuple(mesh.shape.values())
        self.meeting.same("mesh", (shape, [d.id for d in mesh.devices.flat]), f"{where} of shape {shape}")

    def leave(self) -> None:
        """Run the deferred calls, and tell the other ranks that this one has left."""
        atexit.unregister(self._at_exit)
        try:
            if self.meeting.failure is None:
                engine.end()
        finally:
            job.leave(engine.local.recorder)
            self.meeting.leave()

    def _at_exit(self) -> None:
        """Leave the job at the end of the program. After an error no call runs, so that others hear of it at once."""
        if getattr(sys, "last_value", None) is None:
            with contextlib.suppress(DistBackendError):
                self.leave()


class OneDeviceEach(Transport):
    """The collectives of a job that shares one JAX runtime, over one device of each process: the one at ``own``'s index."""

    def __init__(self, own: jax.Device):
        there: dict[int, list[jax.Device]] = {}
        for d in sorted(own.client.devices(), key=lambda d: d.id):
            there.setdefault(d.process_index, []).append(d)
        place = there[own.process_index].index(own)
        self._set_devices([of_process[place] for of_process in there.values()], own)


def gpus_of_ranks(connections: Connections, store: Store, size: int, host: str, seconds: float, gpu: int | None) -> Transport:
    """Join the job with one GPU of this rank, and return the collectives over the ranks' GPUs.

    Args:
        connections: the connections between the ranks.
        store: the job's store.
        size: the number of ranks. A job of one rank needs nothing to be joined.
        host: this process's address.
        seconds: the time limit of joining.
        gpu: the index of the rank's GPU. If None, it is the current GPU if the program has set it, or that of the local rank.

    Raises:
        RuntimeError: JAX has started already.

    """
    count = cuda_count()
    index = _own_gpu(connections.rank, count) if gpu is None else gpu
    if size == 1:
        return OneDeviceEach(jax_devices("cuda")[index])
    _check_sizes(store, connections.rank, size, seconds)
    _join_jax(store, connections, size, host, min(seconds, 300.0), "nccl", str(index) if count > 1 else None)
    set_own_gpu(jax_devices("cuda")[0], index, count)
    return OneDeviceEach(jax_devices("cuda")[0])


def _own_gpu(rank: int, count: int) -> int:
    chosen = chosen_cuda_index()
    return int(os.environ.get("LOCAL_RANK", rank)) % count if chosen is None else chosen


def _check_sizes(store: Store, rank: int, size: int, seconds: float) -> None:
    """Raise DistBackendError if the ranks have been told different numbers of ranks, or if one does not come."""
    store.set(f"size/{rank}", str(size))
    for other in range(size):
        if store.wait_until([f"size/{other}"], seconds):
            raise DistBackendError(f"[Rank {rank}] Timed out after {seconds:g} s: rank {other} of {size} has not joined the job")
        theirs = int(store.get(f"size/{other}"))
        if theirs != size:
            raise DistBackendError(f"[Rank {rank}] has a job of {size} ranks, but rank {other} has one of {theirs}: "
                                   "WORLD_SIZE differs")


def _join_jax(store: Store, connections: Connections, size: int, host: str, seconds: float, backend: str,
              gpu: str | None) -> None:
    """Join the job's JAX runtime before JAX asks for its devices. If ``gpu`` is given, JAX sees only this GPU."""
    rank = connections.rank
    if _joined.process is not None:
        if _joined.process != (rank, size):
            raise RuntimeError(f"This process was rank {_joined.process[0]} of {_joined.process[1]} of a job before, and JAX "
                               f"cannot join another as rank {rank} of {size}. Start a new process.")
        return
    if jax_private.backends_are_initialized():
        raise RuntimeError(f'init_process_group("{backend}") came too late: JAX has started, so its devices belong to this '
                           "process alone. Move it to the beginning of the program, before the first tensor and before all "
                           "questions about devices, such as torch.cuda.get_device_name() or jax.devices().")
    if gpu is not None:
        jax.config.update("jax_cuda_visible_devices", gpu)
    client, address = connected(store, rank, size, host, seconds, connections)
    jax_private.join_job(client, rank, size, address, gloo(client, host))
    jax.devices()
    _joined.process = rank, size
