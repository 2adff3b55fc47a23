"""The JAX client with one device per process of a job, and the compiled collectives over these devices.

The client is separate from the one that holds the process's tensors, because a job can begin at any time. On CPUs JAX's
collectives use Gloo.
"""
from __future__ import annotations

import contextlib
import functools
import os
import socket
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from typing import Any

import jax
import numpy as np
from jax.sharding import Mesh, NamedSharding, PartitionSpec

from jtorch._base import jax_private
from jtorch.distributed import coordinator
from jtorch.distributed.connections import Connections, pauses
from jtorch.distributed.errors import DistBackendError
from jtorch.distributed.silence import cpp_output_off
from jtorch.distributed.store import Store, arrive
from jtorch.engine.spmd import by_parts, joined_shape
from jtorch.engine.values import put_in_parts

_NEVER = 10**6      # Seconds: ended processes are detected by their connections, so the heartbeat timeout is never reached.


class Transport:
    """The devices of all ranks, and the collective programs over a group's devices.

    Args:
        store: the job's store, in which rank 0 publishes the address of JAX's coordinator.
        rank: this process's rank.
        world_size: the number of ranks.
        host: this process's address.
        seconds: the time limit for the other ranks to join.
        connections: the connections to the other ranks, which tell if one has ended.

    """

    def __init__(self, store: Store, rank: int, world_size: int, host: str, seconds: float, connections: Connections):
        self._coordinator, _ = connected(store, rank, world_size, host, seconds, connections)
        collectives = gloo(self._coordinator, host)
        client: Any = jax_private.make_cpu_client(asynchronous=False, distributed_client=self._coordinator, node_id=rank,
                                                 num_nodes=world_size, collectives=collectives)
        self._set_devices(client.devices(), client.local_devices()[0])

    def _set_devices(self, devices: list, own: Any) -> None:
        """Set the device of each rank, and this rank's."""
        self._devices = sorted(devices, key=lambda d: d.process_index)
        self.device = own
        self._connected: set[tuple[int, ...]] = set()       # Gloo has connected the ranks of these groups.

    @functools.lru_cache(maxsize=64)        # noqa: B019  (a job has one transport)
    def sharding(self, ranks: tuple[int, ...]) -> NamedSharding:
        """Return the sharding that places one part of an array on each rank of a group."""
        return NamedSharding(Mesh(np.array([self._devices[r] for r in ranks]), ("rank",)), PartitionSpec("rank"))

    def ready(self, ranks: tuple[int, ...], body: Callable, array: Any) -> Callable[[], Any]:
        """Return a function that runs ``body(array, "rank")`` on all ranks of a group at once and returns this rank's result.

        The result is an array of the kind of ``array``: a NumPy array, or a JAX array on this rank's device.

        All preparation happens before the function is returned, so that the ranks start together. A rank that starts late is
        slowed down by Gloo: its thread polls for the message of the other rank and occupies the core that this rank needs.
        """
        sharding, on_host = self.sharding(ranks), isinstance(array, np.ndarray)
        with _convert_errors(), jax.enable_x64(True):
            whole = self._joined(array if array.shape else array.reshape(1), sharding, on_host)
            program, is_number = by_parts(body, sharding, array.shape, array.dtype)

        def run() -> Any:
            is_new = ranks not in self._connected
            with _convert_errors(), cpp_output_off() if is_new else contextlib.nullcontext():
                part = program(whole).addressable_data(0)
                made = np.asarray(part) if on_host else part
                if is_new:      # Gloo prints when it connects the ranks.
                    jax.block_until_ready(made)
            self._connected.add(ranks)
            with jax.enable_x64(True):
                return made.reshape(()) if is_number else made
        return run

    def _joined(self, part: Any, sharding: NamedSharding, on_host: bool) -> jax.Array:
        """Return the array over all ranks of a group that has ``part`` on this rank's device."""
        shape = joined_shape(sharding.mesh.size, part.shape)
        if on_host:
            made = put_in_parts([part], shape, sharding, [self.device], shared=True)
            if made is not None:
                return made
            part = jax.device_put(part, self.device)
        return jax.make_array_from_single_device_arrays(shape, sharding, [part])


def gloo(coordinator: Any, host: str) -> Any:
    """Return Gloo's collectives for a CPU client, whose threads have a lower priority."""
    before = _threads()
    made = jax_private.make_gloo_collectives(coordinator, host)
    _lower_priority(_threads() - before)
    return made


def _threads() -> set[int]:
    """Return the ids of this process's threads; an empty set outside Linux."""
    return {int(name) for name in os.listdir("/proc/self/task")} if sys.platform == "linux" else set()


def _lower_priority(threads: set[int]) -> None:
    """Lower the scheduling class of Gloo's threads, so that they do not preempt other threads."""
    for thread in threads:
        with contextlib.suppress(OSError):
            os.sched_setscheduler(thread, os.SCHED_BATCH, os.sched_param(0))


@contextlib.contextmanager
def _convert_errors() -> Iterator[None]:
    """Convert XLA's errors to DistBackendError in this block."""
    try:
        yield
    except jax.errors.JaxRuntimeError as error:
        raise DistBackendError(f"{error}") from None


def _wait_for_ranks(store: Store, world_size: int, seconds: float, connections: Connections) -> None:
    """Wait for all ranks: JAX's client reconnects when it waits long for another rank, and its coordinator refuses that."""
    key, until = arrive(store, "connecting", world_size), time.monotonic() + seconds
    for pause in pauses():
        if not store.wait_until([key], min(pause, max(0.0, until - time.monotonic()))):
            return
        connections.check_alive(range(world_size))
        if time.monotonic() >= until:
            raise DistBackendError(f"not all of {world_size} ranks came within {seconds:g} seconds: "
                                   f"{connections.missing(world_size)} are missing")


def connected(store: Store, rank: int, world_size: int, host: str, seconds: float,
              connections: Connections) -> tuple[Any, str]:
    """Return JAX's client of the job's coordinator, and the coordinator's address. Rank 0 starts the coordinator."""
    if rank == 0:
        _start_coordinator(store, world_size, host, seconds)
    address, alive, token = store.get("coordinator").decode().split()
    _alive.append(_connect(alive, bytes.fromhex(token)))
    made = jax_private.coordinator_client(
        address, rank, init_timeout=max(1, int(seconds)), shutdown_on_destruction=False,
        heartbeat_timeout=_NEVER, use_compression=False)
    _wait_for_ranks(store, world_size, seconds, connections)
    made.connect()
    return made, address


def _start_coordinator(store: Store, world_size: int, host: str, seconds: float) -> None:
    """Start JAX's coordinator in a process of its own, and publish its address in the store."""
    token = os.urandom(32)
    command = [sys.executable, coordinator.__file__, host, str(world_size), str(seconds)]
    made = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE)
    assert made.stdin is not None
    assert made.stdout is not None
    made.stdin.write(token)
    made.stdin.close()
    said = made.stdout.readline().decode().split()
    made.stdout.close()
    if len(said) != 2:
        raise DistBackendError(f"JAX's coordinator could not be started on {host} (status {made.wait()})")
    store.set("coordinator", f"{said[0]} {said[1]} {token.hex()}")
    _started.append(made)


def _connect(address: str, token: bytes) -> socket.socket:
    """Connect to the coordinator; the open connection tells it that this process lives."""
    host, _, port = address.rpartition(":")
    made = socket.create_connection((host, int(port)))
    made.sendall(token)
    return made


# The coordinator's process ends once all ranks have closed these connections. JAX's client needs the
# coordinator as long as this process lives, so nothing closes the connections earlier.
_alive: list[socket.socket] = []
# Keeps the ``Popen`` objects, since Python warns when the object of a running process is collected.
_started: list[subprocess.Popen] = []


