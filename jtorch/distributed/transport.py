"""The JAX client whose devices are the processes of a job, and compiled collectives over them.

It is a client of its own beside the one that tensors live on: a job can begin at any time, and nothing of what a process
computes by itself knows of it. On CPUs JAX's collectives are Gloo's.
"""
from __future__ import annotations

import contextlib
import functools
import os
import socket
import subprocess
import sys
from collections.abc import Callable, Iterator
from typing import Any

import jax
import numpy as np
from jax.sharding import Mesh, NamedSharding, PartitionSpec

from jtorch.distributed import coordinator
from jtorch.distributed.errors import DistBackendError
from jtorch.distributed.store import Store, arrive
from jtorch.engine.spmd import by_rows
from jtorch.engine.values import put_in_parts

_NEVER = 10**6      # seconds: that a process has ended is heard from its connections, not from heartbeats


class Transport:
    """The devices of all ranks, and programs over those of a group.

    Args:
        store: where rank 0 says where JAX's coordinator is.
        rank: this process's.
        world_size: how many there are.
        host: this process's address.
        seconds: how long to wait for the others.

    """

    def __init__(self, store: Store, rank: int, world_size: int, host: str, seconds: float):
        from jaxlib import _jax, xla_client
        if rank == 0:
            _start_coordinator(store, world_size, host, seconds)
        address, alive, token = store.get("coordinator").decode().split()
        _alive.append(_connected(alive, bytes.fromhex(token)))
        self._coordinator = _jax.get_distributed_runtime_client(
            address, rank, init_timeout=max(1, int(seconds)), shutdown_on_destruction=False,
            heartbeat_timeout=_NEVER, use_compression=False)
        _meet(store, world_size, seconds)
        self._coordinator.connect()
        before = _threads()
        collectives = _jax.make_gloo_tcp_collectives(distributed_client=self._coordinator, hostname=host, interface=None)
        _give_way(_threads() - before)
        client: Any = xla_client.make_cpu_client(asynchronous=False, distributed_client=self._coordinator, node_id=rank,
                                                 num_nodes=world_size, collectives=collectives)
        self._devices = sorted(client.devices(), key=lambda d: d.process_index)
        self.device = client.local_devices()[0]

    @functools.lru_cache(maxsize=64)        # noqa: B019  (there is one transport a job)
    def sharding(self, ranks: tuple[int, ...]) -> NamedSharding:
        """One row of an array for each rank of a group."""
        return NamedSharding(Mesh(np.array([self._devices[r] for r in ranks]), ("rank",)), PartitionSpec("rank"))

    def ready(self, ranks: tuple[int, ...], body: Callable, array: np.ndarray) -> Callable[[], np.ndarray]:
        """What runs ``body(array, "rank")`` on all ranks of a group at once, compiled, and gives this rank's result.

        All that can be done before is done, so that the ranks begin together: Gloo, where another rank's message comes before
        this one asks for it, looks for it over and over and takes the processor from the thread that would ask (a rank with
        one core waited 4 ms, the kernel's tick).
        """
        sharding, shape = self.sharding(ranks), (len(ranks), *array.shape)
        with _told():
            whole = put_in_parts([array[None]], shape, sharding, [self.device], shared=True)
            if whole is None:
                with jax.enable_x64(True):
                    mine = jax.device_put(array[None], self.device)
                whole = jax.make_array_from_single_device_arrays(shape, sharding, [mine])
            program = by_rows(body, sharding, shape, array.dtype)

        def run() -> np.ndarray:
            with _told():
                return np.asarray(program(whole).addressable_data(0))[0]
        return run


def _threads() -> set[int]:
    """This process's, by the system's numbers; none where it does not say."""
    return {int(name) for name in os.listdir("/proc/self/task")} if sys.platform == "linux" else set()


def _give_way(threads: set[int]) -> None:
    """Tells Linux that these, Gloo's, do not interrupt others when a message comes."""
    for thread in threads:
        with contextlib.suppress(OSError):
            os.sched_setscheduler(thread, os.SCHED_BATCH, os.sched_param(0))


@contextlib.contextmanager
def _told() -> Iterator[None]:
    """XLA's errors as PyTorch's."""
    try:
        yield
    except jax.errors.JaxRuntimeError as error:
        raise DistBackendError(f"{error}") from None


def _meet(store: Store, world_size: int, seconds: float) -> None:
    """Waits for all ranks: JAX's client, where it waits long for another rank, connects anew, which its coordinator refuses."""
    if store.wait_until([arrive(store, "connecting", world_size)], seconds):
        raise DistBackendError(f"not all of {world_size} ranks came within {seconds:g} seconds")


def _start_coordinator(store: Store, world_size: int, host: str, seconds: float) -> None:
    """Starts JAX's coordinator beside this process, and says in the store where it is."""
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


def _connected(address: str, token: bytes) -> socket.socket:
    """The connection by which the coordinator knows that this process lives."""
    host, _, port = address.rpartition(":")
    made = socket.create_connection((host, int(port)))
    made.sendall(token)
    return made


_alive: list[socket.socket] = []            # open until the process ends: JAX's client goes on asking its coordinator
_started: list[subprocess.Popen] = []       # kept, or Python warns of processes that nobody waits for


