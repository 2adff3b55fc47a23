"""Key-value stores by which processes find each other. See torch.distributed.Store."""
from __future__ import annotations

import contextlib
import os
import struct
import threading
import time
from collections.abc import Callable, Iterator
from datetime import timedelta
from typing import Any

from jtorch.distributed.errors import DistStoreError

DEFAULT_TIMEOUT = timedelta(seconds=300)


def as_bytes(value: str | bytes) -> bytes:
    """Return a value as bytes, with strings encoded."""
    return value.encode() if isinstance(value, str) else bytes(value)


class Store:
    """The base class of stores; subclasses define ``read``, ``update`` and ``wait_until``. See torch.distributed.Store.

    Keys are strings; values are bytes, or strings, which are encoded. ``get`` and ``wait`` wait for a key, and raise
    DistStoreError after ``timeout``.
    """

    def __init__(self) -> None:
        self._timeout = DEFAULT_TIMEOUT

    @property
    def timeout(self) -> timedelta:
        """The time limit of ``get`` and ``wait``."""
        return self._timeout

    def set_timeout(self, timeout: timedelta) -> None:
        """Set the time limit of ``get`` and ``wait``."""
        self._timeout = timeout

    def read(self, key: str) -> bytes | None:
        """Return the value of a key; None if there is no such key."""
        raise NotImplementedError

    def update(self, key: str, change: tuple) -> bytes | None:
        """Apply a change, as ``changed`` describes it, to a key atomically; return what ``changed`` returns for the caller."""
        raise NotImplementedError

    def wait_until(self, keys: list[str], seconds: float) -> list[str]:
        """Wait at most ``seconds`` until all keys exist; return those that still do not."""
        raise NotImplementedError

    def num_keys(self) -> int:
        """Return the number of keys."""
        raise NotImplementedError

    def set(self, key: str, value: str | bytes) -> None:
        """Set the value of a key."""
        self.update(key, ("set", as_bytes(value)))

    def get(self, key: str) -> bytes:
        """Wait for a key, and return its value."""
        self.wait([key])
        found = self.read(key)
        return b"" if found is None else found

    def add(self, key: str, amount: int) -> int:
        """Add to the number that a key holds, 0 if there is no such key; return the sum."""
        return int(self.update(key, ("add", str(amount).encode())) or b"0")

    def append(self, key: str, value: str | bytes) -> None:
        """Append bytes to a key's value."""
        self.update(key, ("append", as_bytes(value)))

    def compare_set(self, key: str, expected_value: str | bytes, desired_value: str | bytes) -> bytes:
        """Set a key if it has the expected value, or if it does not exist and the expected value is empty; return its value."""
        found = self.update(key, ("compare_set", as_bytes(expected_value), as_bytes(desired_value)))
        return as_bytes(expected_value) if found is None else found

    def delete_key(self, key: str) -> bool:
        """Remove a key; return whether it existed."""
        return self.update(key, ("delete",)) is not None

    def check(self, keys: list[str]) -> bool:
        """Return whether all keys exist."""
        return not self.wait_until(list(keys), 0)

    def wait(self, keys: list[str], timeout: timedelta | None = None) -> None:
        """Wait until all keys exist; DistStoreError after the timeout."""
        limit = self._timeout if timeout is None else timeout
        missing = self.wait_until(list(keys), limit.total_seconds())
        if missing:
            raise DistStoreError(f"wait timeout after {int(limit.total_seconds() * 1000)}ms, keys: {', '.join(missing)}")

    def multi_get(self, keys: list[str]) -> list[bytes]:
        """Wait for keys, and return their values."""
        return [self.get(key) for key in keys]

    def multi_set(self, keys: list[str], values: list) -> None:
        """Set the values of keys."""
        for key, value in zip(keys, values, strict=True):
            self.set(key, value)

    def has_extended_api(self) -> bool:
        """Return True: ``append``, ``multi_get`` and ``multi_set`` exist."""
        return True


def arrive(store: Store, key: str, world_size: int) -> str:
    """Count this process at a key; return the key that is set once ``world_size`` processes have arrived."""
    all_there = f"{key}/all"
    if store.add(key, 1) == world_size:
        store.set(all_there, b"1")
    return all_there


def changed(old: bytes | None, change: tuple) -> tuple[bytes | None, bytes | None]:
    """Return a key's value after a change, and the result for the caller of ``update``."""
    kind, *args = change
    if kind == "set":
        return args[0], args[0]
    if kind == "add":
        total = str(int(old or b"0") + int(args[0])).encode()
        return total, total
    if kind == "append":
        return (old or b"") + args[0], b""
    if kind == "delete":
        return None, old
    expected, desired = args
    new = desired if old == expected or (old is None and not expected) else old
    return new, new


class HashStore(Store):
    """A store within one process. See torch.distributed.HashStore.

    >>> store = torch.distributed.HashStore()
    >>> store.add("n", 2), store.add("n", 3), store.get("n")
    (2, 5, b'5')

    """

    def __init__(self) -> None:
        super().__init__()
        self._held: dict[str, bytes] = {}
        self._news = threading.Condition()

    def read(self, key: str) -> bytes | None:
        with self._news:
            return self._held.get(key)

    def update(self, key: str, change: tuple) -> bytes | None:
        with self._news:
            new, told = changed(self._held.get(key), change)
            if new is None:
                self._held.pop(key, None)
            else:
                self._held[key] = new
            self._news.notify_all()
            return told

    def wait_until(self, keys: list[str], seconds: float) -> list[str]:
        with self._news:
            self._news.wait_for(lambda: all(k in self._held for k in keys), seconds)
            return [k for k in keys if k not in self._held]

    def num_keys(self) -> int:
        with self._news:
            return len(self._held)


class PrefixStore(Store):
    """A namespace of another store: all keys get the prefix ``prefix/``. See torch.distributed.PrefixStore.

    Args:
        prefix: the namespace.
        store: the store.

    >>> store = torch.distributed.HashStore()
    >>> torch.distributed.PrefixStore("a", store).set("k", "v")
    >>> store.get("a/k")
    b'v'

    """

    def __init__(self, prefix: str, store: Store) -> None:
        self.prefix, self._store = prefix, store

    @property
    def underlying_store(self) -> Store:
        """The store that holds the namespace."""
        return self._store

    def set_timeout(self, timeout: timedelta) -> None:
        self._store.set_timeout(timeout)

    @property
    def _timeout(self) -> timedelta:        # type: ignore[override]
        return self._store.timeout

    def read(self, key: str) -> bytes | None:
        return self._store.read(f"{self.prefix}/{key}")

    def update(self, key: str, change: tuple) -> bytes | None:
        return self._store.update(f"{self.prefix}/{key}", change)

    def wait_until(self, keys: list[str], seconds: float) -> list[str]:
        start = len(self.prefix) + 1
        return [k[start:] for k in self._store.wait_until([f"{self.prefix}/{k}" for k in keys], seconds)]

    def num_keys(self) -> int:
        return self._store.num_keys()


class FileStore(Store):
    """A store in a file that all processes can access. See torch.distributed.FileStore.

    The file is a log of (key, value) entries; the last entry of a key is its value. The last of ``world_size`` stores to be
    closed removes the file.

    Args:
        file_name: the path of the file.
        world_size: the number of stores.

    """

    _GONE = b"\0gone"

    def __init__(self, file_name: str, world_size: int = -1) -> None:
        super().__init__()
        self.path = file_name
        self._world_size = world_size
        os.makedirs(os.path.dirname(os.path.abspath(file_name)), exist_ok=True)
        self.add("cleanup/", 1)

    @contextlib.contextmanager
    def _locked(self) -> Iterator[Any]:
        import fcntl
        with open(self.path, "a+b") as file:
            fcntl.flock(file, fcntl.LOCK_EX)
            yield file

    def _entries(self, file: Any) -> dict[str, bytes]:
        file.seek(0)
        data, at, held = file.read(), 0, {}
        while at < len(data):
            n, m = struct.unpack_from("<II", data, at)
            key, value = data[at + 8:at + 8 + n].decode(), data[at + 8 + n:at + 8 + n + m]
            at += 8 + n + m
            held[key] = value
        return {k: v for k, v in held.items() if v != self._GONE}

    def read(self, key: str) -> bytes | None:
        with self._locked() as file:
            return self._entries(file).get(key)

    def update(self, key: str, change: tuple) -> bytes | None:
        with self._locked() as file:
            new, told = changed(self._entries(file).get(key), change)
            name, value = key.encode(), self._GONE if new is None else new
            file.write(struct.pack("<II", len(name), len(value)) + name + value)
            return told

    def wait_until(self, keys: list[str], seconds: float) -> list[str]:
        return _poll(lambda: self._missing(keys), seconds)

    def _missing(self, keys: list[str]) -> list[str]:
        with self._locked() as file:
            held = self._entries(file)
        return [k for k in keys if k not in held]

    def num_keys(self) -> int:
        with self._locked() as file:
            return len(self._entries(file))

    def __del__(self) -> None:
        with contextlib.suppress(Exception):
            if 0 < self._world_size <= self.add("closed/", 1):
                os.unlink(self.path)


def _poll(missing: Callable[[], list[str]], seconds: float) -> list[str]:
    until = time.monotonic() + seconds
    while True:
        found = missing()
        if not found or time.monotonic() >= until:
            return found
        time.sleep(0.01)
