"""Process groups, and the job whose ranks they are made of. See torch.distributed.ProcessGroup."""
from __future__ import annotations

import os
import socket
from collections.abc import Iterable
from datetime import timedelta
from typing import Any

import numpy as np

from jtorch.device import device as _device
from jtorch.distributed.agreement import Agreement
from jtorch.distributed.backends import Backend
from jtorch.distributed.connections import Connections
from jtorch.distributed.device_messages import Messages
from jtorch.distributed.group_calls import Calls
from jtorch.distributed.rendezvous import rendezvous
from jtorch.distributed.runtime import Runtime, gpus_of_ranks
from jtorch.distributed.store import PrefixStore, Store
from jtorch.distributed.tcp_store import TCPStore
from jtorch.distributed.transport import Transport
from jtorch.distributed.work import Lane
from jtorch.tensor import Tensor

default_pg_timeout = timedelta(minutes=30)


class ProcessGroup(Calls):
    """A subset of the ranks of a job. ``backends`` maps types of devices to backends. See torch.distributed.ProcessGroup."""

    def __init__(self, world: World, ranks: list[int], name: str, timeout: timedelta, desc: str, backend: str,
                 backends: dict[str, str]):
        self.world, self.ranks, self.group_name, self.timeout, self.group_desc = world, ranks, name, timeout, desc
        self.backend, self.backends = backend, backends
        self._members = tuple(ranks)
        self._rank = ranks.index(world.rank)
        self.agree = Agreement(world.connections, ranks, name)
        # Collectives on GPUs may run at the same time as those on CPUs, which have a thread of their own.
        self._agree_on_gpus = Agreement(world.connections, ranks, f"{name} on GPUs") if self._has_host() else self.agree
        self.lane = Lane(f"collectives of group {name}")
        self.monitored = 0      # Counts the monitored barriers that this rank has entered.

    def rank(self) -> int:
        """Return this process's rank in the group."""
        return self._rank

    def size(self) -> int:
        """Return the number of ranks."""
        return len(self.ranks)

    def name(self) -> str:
        """Return the name of the backend; NCCL, if the group has several."""
        found = self.backends.values()
        return Backend.NCCL if Backend.NCCL in found else next(iter(found))

    _get_backend_name = name

    @property
    def _device_types(self) -> list[_device]:
        return [_device(kind) for kind in self.backends]

    @property
    def place(self) -> _device:
        """The device of small tensors that the ranks exchange about their work: the CPU if the group has a backend for it."""
        return _device("cpu" if "cpu" in self.backends else next(iter(self.backends)))

    def _has_host(self) -> bool:
        return set(self.backends.values()) != {Backend.NCCL}

    def backend_of(self, tensors: Iterable[Tensor]) -> str:
        """Return the backend of a call with these tensors; without tensors, the one that runs on the host if there is one."""
        found = next((self.backends.get(t.device.type) for t in tensors), None)
        return found or next((b for b in self.backends.values() if b != Backend.NCCL), Backend.NCCL)

    @property
    def store(self) -> Store:
        """The group's namespace in the job's store."""
        return PrefixStore(self.group_name, self.world.store)

    def run(self, call: str, body: Any, array: Any) -> Any:
        """Agree on ``call`` with the other ranks, then run a collective kernel on this rank's array.

        A JAX array stays on its GPU. A NumPy array goes by the host, or through the GPU if the group has NCCL alone.
        """
        on_host = isinstance(array, np.ndarray) and self._has_host()
        transport = self.world.on_host if on_host else self.world.on_gpus
        assert transport is not None
        ready = transport.ready(self._members, body, array)
        (self.agree if on_host else self._agree_on_gpus)(call, self.timeout.total_seconds())
        with self.world.connections.naming_ranks(self._members, call):
            return ready()

    def __repr__(self) -> str:
        return f"<torch.distributed.distributed_c10d.ProcessGroup {self.group_name} of ranks {self.ranks}>"


class NonGroupMember:
    """Stands for a group in processes that are not in it."""


class World:
    """A job: the store by which its processes found each other, their connections, and their groups.

    Args:
        backend: the name of the job's backend.
        backends: the backend of each type of device.
        store: the job's store.
        rank: this process's rank.
        world_size: the number of ranks.
        timeout: the time limit of joining and of collectives.
        gpu: the index of this rank's GPU; None to choose it by the local rank.

    """

    def __init__(self, backend: str, backends: dict[str, str], store: Store, rank: int, world_size: int, timeout: timedelta,
                 gpu: int | None = None):
        self.backend, self.backends, self.store, self.rank, self.size = backend, backends, store, rank, world_size
        self._seconds, self._host, self._gpu = timeout.total_seconds(), _host_of(store), gpu
        self.connections = Connections(PrefixStore("connections", store), rank, self._host, min(self._seconds, 300.0))
        self.count = 0
        self.runtime: Runtime | None = None
        self.on_host: Transport | None = None       # The transport of NumPy arrays.
        self.on_gpus: Transport | None = None       # The transport of JAX arrays on the ranks' GPUs.
        self.messages: Messages | None = None
        self.groups: list[ProcessGroup] = []
        self.default = self.group(list(range(world_size)), timeout, "default_pg")

    def _start(self, backend: str) -> None:
        """Start a backend, unless the job has it; all processes do it together."""
        store, host = PrefixStore("jax", self.store), self._host
        if backend == Backend.XLA and self.runtime is None:
            self.runtime = Runtime(self.connections, store, self.size, host, self._seconds)
            self.on_host = self.runtime.transport
        elif backend == Backend.NCCL and self.on_gpus is None:
            self.on_gpus = gpus_of_ranks(self.connections, PrefixStore("gpus", store), self.size, host, self._seconds, self._gpu)
            self.messages = Messages(self.connections, self.on_gpus)
        elif backend == Backend.GLOO and self.on_host is None:
            self.on_host = Transport(store, self.rank, self.size, host, min(self._seconds, 300.0), self.connections)

    def group(self, ranks: list[int], timeout: timedelta, desc: str = "undefined", name: str | None = None,
              backends: tuple[str, dict[str, str]] | None = None) -> Any:
        """Create a group, which all processes do in the same order; return NonGroupMember in processes outside the group.

        ``backends`` are its backend's name and the backend of each type of device; those of the job, if None.
        """
        name, self.count = str(self.count) if name is None else name, self.count + 1
        backend, by_device = backends or (self.backend, self.backends)
        for each in sorted(set(by_device.values()), reverse=True):       # NCCL first: it has to join before JAX starts.
            self._start(each)
        if self.rank not in ranks:
            return NonGroupMember
        made = ProcessGroup(self, ranks, name, timeout, desc, backend, by_device)
        self.groups.append(made)
        return made

    def finish_messages(self) -> None:
        """Move the messages on GPUs that this rank has posted."""
        if self.messages is not None:
            self.messages.finish(self._seconds)

    def close(self) -> None:
        """Close the connections to the other ranks."""
        self.finish_messages()
        if self.runtime is not None:
            self.runtime.leave()
        self.connections.close()


def _host_of(store: Store) -> str:
    """Return the address by which other processes reach this one: its local address towards the store."""
    while isinstance(store, PrefixStore):
        store = store.underlying_store
    if not isinstance(store, TCPStore):
        return os.environ.get("MASTER_ADDR", "127.0.0.1")
    address = socket.getaddrinfo(store.host, store.port, type=socket.SOCK_DGRAM)[0]
    with socket.socket(address[0], socket.SOCK_DGRAM) as probe:
        probe.connect(address[4])
        return probe.getsockname()[0]


def join(backends: tuple[str, dict[str, str]], init_method: str | None, timeout: timedelta, world_size: int, rank: int,
         store: Store | None, gpu: int | None = None) -> World:
    """Join a job by its store, or by the URL of the store. ``backends`` and ``gpu`` are as in ``World``."""
    if store is None:
        store, rank, world_size = next(iter(rendezvous(init_method or "env://", rank, world_size, timeout)))
        store.set_timeout(timeout)
    # Count how often this rank has joined: a store that outlives a job still has the job's keys, so each job gets a prefix.
    times = store.add(f"joined/{rank}", 1)
    return World(*backends, PrefixStore(f"default_pg/{times}", store), rank, world_size, timeout, gpu)
