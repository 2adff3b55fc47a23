"""Process groups, and the job whose ranks they are made of. See torch.distributed.ProcessGroup."""
from __future__ import annotations

import os
import socket
from datetime import timedelta
from typing import Any

from jtorch.distributed.agreement import Agreement
from jtorch.distributed.backends import Backend
from jtorch.distributed.connections import Connections
from jtorch.distributed.group_calls import Calls
from jtorch.distributed.rendezvous import rendezvous
from jtorch.distributed.runtime import Runtime
from jtorch.distributed.store import PrefixStore, Store
from jtorch.distributed.tcp_store import TCPStore
from jtorch.distributed.transport import Transport
from jtorch.distributed.work import Lane

default_pg_timeout = timedelta(minutes=30)


class ProcessGroup(Calls):
    """A subset of the ranks of a job. See torch.distributed.ProcessGroup."""

    def __init__(self, world: World, ranks: list[int], name: str, timeout: timedelta, desc: str = "undefined"):
        self.world, self.ranks, self.group_name, self.timeout, self.group_desc = world, ranks, name, timeout, desc
        self._members = tuple(ranks)
        self._rank = ranks.index(world.rank)
        self.agree = Agreement(world.connections, ranks, name)
        self.lane = Lane(f"collectives of group {name}")
        self.monitored = 0      # Counts the monitored barriers that this rank has entered.

    def rank(self) -> int:
        """Return this process's rank in the group."""
        return self._rank

    def size(self) -> int:
        """Return the number of ranks."""
        return len(self.ranks)

    def name(self) -> str:
        """Return the name of the backend."""
        return self.world.backend

    def _get_backend_name(self) -> str:
        return self.world.backend

    @property
    def store(self) -> Store:
        """The group's namespace in the job's store."""
        return PrefixStore(self.group_name, self.world.store)

    def run(self, call: str, body: Any, array: Any) -> Any:
        """Agree on ``call`` with the other ranks, then run a collective kernel on this rank's array."""
        ready = self.world.transport.ready(self._members, body, array)
        self.agree(call, self.timeout.total_seconds())
        return ready()

    def __repr__(self) -> str:
        return f"<torch.distributed.distributed_c10d.ProcessGroup {self.group_name} of ranks {self.ranks}>"


class NonGroupMember:
    """Stands for a group in processes that are not in it."""


class World:
    """A job: the store by which its processes found each other, their connections, and their groups."""

    def __init__(self, backend: str, store: Store, rank: int, world_size: int, timeout: timedelta):
        self.backend, self.store, self.rank, self.size = backend, store, rank, world_size
        seconds, host = min(timeout.total_seconds(), 300.0), _host_of(store)
        self.connections = Connections(PrefixStore("connections", store), rank, host, seconds)
        self.count = 0
        self.runtime: Runtime | None = None
        if backend == Backend.GLOO:
            self.transport = Transport(PrefixStore("jax", store), rank, world_size, host, seconds, self.connections)
        else:
            self.runtime = Runtime(self.connections, PrefixStore("jax", store), world_size, host, timeout.total_seconds())
            self.transport = self.runtime.transport
        self.groups: list[ProcessGroup] = []
        self.default = self.group(list(range(world_size)), timeout, "default_pg")

    def group(self, ranks: list[int], timeout: timedelta, desc: str = "undefined", name: str | None = None) -> Any:
        """Create a group, which all processes do in the same order; return NonGroupMember in processes outside the group."""
        name, self.count = str(self.count) if name is None else name, self.count + 1
        if self.rank not in ranks:
            return NonGroupMember
        made = ProcessGroup(self, ranks, name, timeout, desc)
        self.groups.append(made)
        return made

    def close(self) -> None:
        """Close the connections to the other ranks."""
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


def join(backend: str, init_method: str | None, timeout: timedelta, world_size: int, rank: int, store: Store | None) -> World:
    """Join a job by its store, or by the URL of the store."""
    if store is None:
        store, rank, world_size = next(iter(rendezvous(init_method or "env://", rank, world_size, timeout)))
        store.set_timeout(timeout)
    # Count how often this rank has joined: a store that outlives a job still has the job's keys, so each job gets a prefix.
    times = store.add(f"joined/{rank}", 1)
    return World(backend, PrefixStore(f"default_pg/{times}", store), rank, world_size, timeout)
