"""JAX's runtime of a whole job: each process has several devices, and XLA's programs run on the devices of all processes."""
from __future__ import annotations

import atexit
import contextlib
import os
import sys
from typing import Any

import jax
from jax.sharding import Mesh

from jtorch import engine
from jtorch._base import jax_private
from jtorch._base.config import ENGINE_MODE
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
        _join_jax(store, connections, size, host, min(seconds, 300.0))
        self.meeting = Meeting(connections, size, seconds)
        self.meeting.same("join", (len(jax.local_devices()), jax.default_backend(), ENGINE_MODE, __version__, jax.__version__),
                          f"joining with {len(jax.local_devices())} {jax.default_backend()} devices, "
                          f"JTORCH_ENGINE={ENGINE_MODE}, jtorch {__version__} and jax {jax.__version__}")
        self.job = job.Job(self.meeting, self.meeting.running, cpp_output_off)
        job.join(engine.local.recorder, self.job)
        self.transport = FirstDevices()
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


class FirstDevices(Transport):
    """Collectives of a job of one JAX runtime: over the first device of each process."""

    def __init__(self) -> None:
        first: dict[int, Any] = {}
        for d in sorted(jax.devices(), key=lambda d: d.id):
            first.setdefault(d.process_index, d)
        self._set_devices(list(first.values()), first[jax.process_index()])


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


def _join_jax(store: Store, connections: Connections, size: int, host: str, seconds: float) -> None:
    """Make this process a part of a job for JAX, before JAX asks for its devices."""
    rank = connections.rank
    if _joined.process is not None:
        if _joined.process != (rank, size):
            raise RuntimeError(f"This process was rank {_joined.process[0]} of {_joined.process[1]} of a job before, and JAX "
                               f"cannot join another as rank {rank} of {size}. Start a new process.")
        return
    if jax_private.backends_are_initialized():
        raise RuntimeError('init_process_group("xla") came too late: JAX has started, so its devices belong to this process '
                           "alone. Move it to the beginning of the program, before the first tensor and before all questions "
                           "about devices, such as torch.cuda.is_available() or jax.devices().")
    _choose_gpu()
    client, address = connected(store, rank, size, host, seconds, connections)
    jax_private.join_job(client, rank, size, address, gloo(client, host))
    jax.devices()
    _joined.process = rank, size


def _choose_gpu() -> None:
    """Give this process the GPU of its local rank, if several processes of the job run on this machine."""
    if int(os.environ.get("LOCAL_WORLD_SIZE", "1")) > 1 and "LOCAL_RANK" in os.environ:
        jax.config.update("jax_cuda_visible_devices", os.environ["LOCAL_RANK"])
