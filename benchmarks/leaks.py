"""Loops whose memory must not grow: after many turns a process must hold no more than after the warm-up."""
from __future__ import annotations

import gc
import os
from collections.abc import Callable
from pathlib import Path
from typing import Any

import jtorch as torch
from jtorch import engine
from jtorch.engine import Value, malloc
from jtorch.storage import Storage
from jtorch.tape import Node

KEPT = (Value, Storage, Node, torch.Tensor)


def _net() -> Any:
    torch.manual_seed(0)
    return torch.nn.Sequential(torch.nn.Linear(8, 16), torch.nn.ReLU(), torch.nn.Linear(16, 4))


def training() -> Callable[[int], None]:
    """Return a training step with Adam, which reads the loss in every hundredth turn."""
    net, x, y = _net(), torch.rand(4, 8), torch.rand(4, 4)
    optimizer = torch.optim.Adam(net.parameters())

    def step(i: int) -> None:
        optimizer.zero_grad()
        loss = (net(x) - y).pow(2).mean()
        loss.backward()
        optimizer.step()
        if i % 100 == 0:
            loss.item()
    return step


def dropped_graphs() -> Callable[[int], None]:
    """Return a step that makes a graph without a backward."""
    net, x = _net(), torch.rand(4, 8)

    def step(i: int) -> None:
        (net(x).sum() + i).abs()
    return step


def inference_without_a_read() -> Callable[[int], None]:
    """Return a step of inference whose result is not read."""
    net, x = _net(), torch.rand(4, 8)

    def step(i: int) -> None:
        with torch.no_grad():
            net(x)
    return step


def exceptions() -> Callable[[int], None]:
    """Return a step with an error within a forward, or in the backward of an overwritten tensor."""
    net, x, wrong = _net(), torch.rand(4, 8), torch.rand(3, 3)

    def step(i: int) -> None:
        h = net(x)
        try:
            if i % 2:
                (h @ wrong).sum().backward()
            else:
                g = h.exp()
                g.add_(1)
                g.sum().backward()
        except RuntimeError:
            return
        raise AssertionError("no error")
    return step


def views_and_writes() -> Callable[[int], None]:
    """Return a step that writes through views of a tensor with a graph, and through a NumPy view."""
    w, room = torch.rand(4, 4, requires_grad=True), torch.zeros(4, 4)

    def step(i: int) -> None:
        t = w * 2
        t[i % 4].mul_(3)
        t.t()[1].add_(1)
        t.sum().backward()
        room[1:3] += w.grad[1:3]
        room.numpy()[0] = i % 7
        w.grad = None
    return step


def lengths_that_vary() -> Callable[[int], None]:
    """Return a step whose shapes are more than the kernel caches keep."""
    w = torch.ones((), requires_grad=True)

    def step(i: int) -> None:
        (w * torch.ones(1 + i % 10_000)).sum()
    return step


LOOPS: dict[str, Callable[[], Callable[[int], None]]] = {
    f.__name__.replace("_", " "): f
    for f in (training, dropped_graphs, inference_without_a_read, exceptions, views_and_writes, lengths_that_vary)}


def resident() -> int:
    """Return the resident memory of the process in bytes."""
    return int(Path("/proc/self/statm").read_text().split()[1]) * os.sysconf("SC_PAGE_SIZE")


def _settled() -> int:
    """Return the resident memory in bytes, after a garbage collection and after glibc has returned free memory."""
    engine.end()
    gc.collect()
    malloc.trim()
    return resident()


def alive() -> dict[str, int]:
    """Return the number of live objects of each class in ``KEPT``."""
    engine.end()
    gc.collect()
    counts = dict.fromkeys([kind.__name__ for kind in KEPT], 0)
    for o in gc.get_objects():
        for kind in KEPT:
            if issubclass(type(o), kind):       # isinstance would read __class__, and a proxy of another library may warn then.
                counts[kind.__name__] += 1
    return counts


def grown(loop: Callable[[], Callable[[int], None]], warm_up: int, steps: int) -> tuple[int, dict[str, int]]:
    """Return a loop's growth in bytes after its warm-up, and the numbers of objects that it leaves alive."""
    before = alive()
    step = loop()
    for i in range(warm_up):
        step(i)
    start = _settled()
    for i in range(warm_up, warm_up + steps):
        step(i)
    more = _settled() - start
    del step
    after = alive()
    return more, {kind: after[kind] - before[kind] for kind in after}


def chain(length: int) -> float:
    """Run a chain of ``length`` calls forward and backward, and return its gradient."""
    x = torch.ones((), requires_grad=True)
    y = x
    for _ in range(length):
        y = y + 1
    y.backward()
    return x.grad.item()
