"""Stores, against PyTorch's."""
from __future__ import annotations

import threading
from datetime import timedelta

import pytest
from libraries import HAS_TORCH, NO_TORCH, library


@pytest.fixture(params=["jtorch", pytest.param("torch", marks=pytest.mark.skipif(not HAS_TORCH, reason=NO_TORCH))])
def dist(request):
    import importlib
    library(request.param)
    return importlib.import_module(f"{request.param}.distributed")


@pytest.fixture(params=["HashStore", "TCPStore", "FileStore", "PrefixStore"])
def store(request, dist, tmp_path):
    made = {"HashStore": dist.HashStore, "TCPStore": lambda: dist.TCPStore("127.0.0.1", 0, 1, True),
            "FileStore": lambda: dist.FileStore(str(tmp_path / "store"), 1),
            "PrefixStore": lambda: dist.PrefixStore("p", dist.HashStore())}[request.param]()
    made.set_timeout(timedelta(seconds=20))
    return made


def test_keys_and_values(store):
    store.set("a", "one")
    assert store.get("a") == b"one"
    store.set("a", b"two")
    assert store.get("a") == b"two"
    assert (store.add("n", 2), store.add("n", -5), store.get("n")) == (2, -3, b"-3")
    assert store.check(["a", "n"]) and not store.check(["a", "missing"])


def test_compare_set(dist):
    store = dist.HashStore()
    assert store.compare_set("k", "", "first") == b"first"
    assert store.compare_set("k", "wrong", "second") == b"first"
    assert store.compare_set("k", "first", "second") == b"second"


def test_get_waits_for_another_client(dist):
    server = dist.TCPStore("127.0.0.1", 0, None, True)
    client = dist.TCPStore("127.0.0.1", server.port, None, False)
    other = threading.Timer(0.2, client.set, ("late", "here"))
    other.start()
    assert server.get("late") == b"here"
    other.join()


def test_waiting_ends(dist):
    store = dist.TCPStore("127.0.0.1", 0, 1, True)
    with pytest.raises(dist.DistStoreError, match="wait timeout after 100ms"):
        store.wait(["never"], timedelta(milliseconds=100))


def test_a_port_that_is_taken(dist):
    first = dist.TCPStore("127.0.0.1", 0, 1, True)
    with pytest.raises(dist.DistNetworkError, match="EADDRINUSE"):
        dist.TCPStore("127.0.0.1", first.port, 1, True)


def test_two_clients_of_one_server(dist):
    server = dist.TCPStore("127.0.0.1", 0, None, True)
    client = dist.TCPStore("127.0.0.1", server.port, None, False)
    client.set("k", "v")
    assert server.get("k") == b"v"
    assert client.delete_key("k") and not server.check(["k"])


def test_what_is_missing_is_named(dist, monkeypatch):
    for name in ("RANK", "WORLD_SIZE", "MASTER_ADDR", "MASTER_PORT"):
        monkeypatch.delenv(name, raising=False)
    with pytest.raises(ValueError, match="environment variable RANK expected, but not set"):
        dist.init_process_group("gloo")
    with pytest.raises(ValueError, match="Default process group has not been initialized"):
        dist.get_rank()
