"""Threads: each has its own traces and grad modes, and values pass between them."""
from __future__ import annotations

import threading
from concurrent.futures import ThreadPoolExecutor

import pytest

import jtorch

pytestmark = pytest.mark.core


def _train(seed: int, steps: int = 40) -> list[float]:
    """Train a small model by hand, and return its losses."""
    w = (jtorch.arange(12.0).reshape(3, 4) * 0.01 * seed).requires_grad_()
    b = jtorch.zeros(4, requires_grad=True)
    x = jtorch.arange(15.0).reshape(5, 3) * 0.1
    y = jtorch.ones(5, 4) * seed
    losses = []
    for _ in range(steps):
        loss = ((x @ w + b).tanh() * 2 - y).pow(2).mean()
        loss.backward()
        with jtorch.no_grad():
            for p in (w, b):
                p -= 0.1 * p.grad
                p.grad = None
        losses.append(loss.item())
    return losses


def test_two_threads_train_as_one_does():
    alone = [_train(1), _train(2)]
    with ThreadPoolExecutor(2) as pool:
        together = list(pool.map(_train, [1, 2]))
        again = list(pool.map(_train, [1, 2]))
    for got in (together, again):
        assert got[0] == pytest.approx(alone[0], rel=1e-5)
        assert got[1] == pytest.approx(alone[1], rel=1e-5)


def test_one_thread_reads_what_another_records():
    for _ in range(20):
        with ThreadPoolExecutor(1) as pool:
            made = [jtorch.ones(3) * k + 1 for k in range(5)]
            read = pool.submit(lambda made=made: [t.tolist() for t in made]).result()
            assert read == [[k + 1.0] * 3 for k in range(5)]
            theirs = pool.submit(lambda: jtorch.arange(3.0) * 2 + 1).result()
            assert (theirs + 1).tolist() == [2, 4, 6]


def test_reading_while_the_other_goes_on():
    tensors: list = []
    stop = threading.Event()
    seen: list = []

    def reader():
        while not stop.is_set() or len(seen) < len(tensors):
            if len(seen) < len(tensors):
                k, t = tensors[len(seen)]
                seen.append((k, t.tolist()))
    thread = threading.Thread(target=reader)
    thread.start()
    for k in range(100):
        tensors.append((k, (jtorch.ones(4) * k).add_(1)))
    stop.set()
    thread.join(30)
    assert seen == [(k, [k + 1.0] * 4) for k in range(100)]


def test_grad_mode_is_per_thread(xp):
    with xp.no_grad(), ThreadPoolExecutor(1) as pool:
        assert not xp.is_grad_enabled()
        assert pool.submit(xp.is_grad_enabled).result()
    with ThreadPoolExecutor(1) as pool:
        pool.submit(xp.set_grad_enabled, False).result()
        assert xp.is_grad_enabled()


def test_backward_in_another_thread(xp):
    x = xp.ones(3, requires_grad=True)
    y = (x * x).sum()
    with ThreadPoolExecutor(1) as pool:
        pool.submit(y.backward).result()
    assert x.grad.tolist() == [2, 2, 2]


def test_an_error_in_one_thread_is_its_own():
    def wrong():
        t = jtorch.ones(2) * 3
        with pytest.raises(RuntimeError):
            t + jtorch.ones(5)
        return t.tolist()
    t = jtorch.ones(2) + 1
    with ThreadPoolExecutor(1) as pool:
        assert pool.submit(wrong).result() == [3, 3]
    assert t.tolist() == [2, 2]
