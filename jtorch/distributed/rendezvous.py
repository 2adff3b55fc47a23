"""Rendezvous: finding the job's store by ``env://``, ``tcp://host:port`` or ``file:///path``. See
torch.distributed.rendezvous.
"""
from __future__ import annotations

import os
from collections.abc import Callable, Iterator
from datetime import timedelta
from typing import Any
from urllib.parse import parse_qs, urlparse

from jtorch.distributed.store import DEFAULT_TIMEOUT, FileStore, PrefixStore, Store
from jtorch.distributed.tcp_store import TCPStore

_HANDLERS: dict[str, Callable] = {}


def register_rendezvous_handler(scheme: str, handler: Callable) -> None:
    """Register the function that finds the store of URLs with ``scheme``; RuntimeError if there is one already."""
    if scheme in _HANDLERS:
        raise RuntimeError(f"Rendezvous handler for {scheme}:// already registered")
    _HANDLERS[scheme] = handler


def rendezvous(url: str, rank: int = -1, world_size: int = -1, timeout: timedelta = DEFAULT_TIMEOUT) -> Iterator[tuple]:
    """Yield the store, the rank and the world size of a job. See torch.distributed.rendezvous.

    Args:
        url: ``env://``, ``tcp://host:port`` or ``file:///path``.
        rank: this process's rank; the URL or the environment says it, if -1.
        world_size: the number of processes; the URL or the environment says it, if -1.
        timeout: the store's time limit.

    Raises:
        ValueError: the URL and the environment do not suffice.
        RuntimeError: an unknown scheme.

    """
    if not isinstance(url, str):
        raise RuntimeError(f"`url` must be a string. {type(url)}: {url}")
    found = urlparse(url)
    given = {k: int(v[0]) for k, v in parse_qs(found.query).items() if k in ("rank", "world_size")}
    rank = given.get("rank", -1) if rank == -1 else rank
    world_size = given.get("world_size", -1) if world_size == -1 else world_size
    if found.scheme not in _HANDLERS:
        raise RuntimeError(f"No rendezvous handler for {found.scheme}://")
    return _HANDLERS[found.scheme](found, rank, world_size, timeout)


def _missing(scheme: str, what: str) -> ValueError:
    return ValueError(f"Error initializing torch.distributed using {scheme}:// rendezvous: {what}")


def _check_given(scheme: str, rank: int, world_size: int) -> None:
    if rank == -1:
        raise _missing(scheme, "rank parameter missing")
    if world_size == -1:
        raise _missing(scheme, "world size parameter missing")


def _environment(name: str) -> str:
    value = os.environ.get(name)
    if value is None:
        raise _missing("env", f"environment variable {name} expected, but not set")
    return value


def _by_environment(url: Any, rank: int, world_size: int, timeout: timedelta) -> Iterator[tuple]:
    rank = int(_environment("RANK")) if rank == -1 else rank
    world_size = int(_environment("WORLD_SIZE")) if world_size == -1 else world_size
    host, port = _environment("MASTER_ADDR"), int(_environment("MASTER_PORT"))
    yield _store_at(host, port, rank, world_size, timeout), rank, world_size


def _store_at(host: str, port: int, rank: int, world_size: int, timeout: timedelta) -> Store:
    """Return the job's store: rank 0 serves it, unless the launcher does."""
    if os.environ.get("TORCHELASTIC_USE_AGENT_STORE") == "True":
        attempt = os.environ.get("TORCHELASTIC_RESTART_COUNT", "0")
        return PrefixStore(f"/worker/attempt_{attempt}", TCPStore(host, port, world_size, False, timeout))
    return TCPStore(host, port, world_size, rank == 0, timeout)


def _by_address(url: Any, rank: int, world_size: int, timeout: timedelta) -> Iterator[tuple]:
    if not url.port:
        raise _missing("tcp", "port number missing")
    _check_given("tcp", rank, world_size)
    yield _store_at(url.hostname, url.port, rank, world_size, timeout), rank, world_size


def _by_file(url: Any, rank: int, world_size: int, timeout: timedelta) -> Iterator[tuple]:
    if not url.path:
        raise _missing("file", "path missing")
    _check_given("file", rank, world_size)
    yield FileStore(url.path, world_size), rank, world_size


register_rendezvous_handler("env", _by_environment)
register_rendezvous_handler("tcp", _by_address)
register_rendezvous_handler("file", _by_file)
