"""Measure start-up and first use: ``python -m benchmarks.first_use [--programs DIR]``.

Each figure comes from fresh processes: the import, the first results of many different calls, the first training step, the
time until steps run at full speed, generation and training with a new length in each step, and the wall time of whole programs
written for PyTorch.
"""
from __future__ import annotations

import argparse
import os
import statistics
import subprocess
import sys
import time
from pathlib import Path

CALLS = """
x + y; x - y; x * y; x / (y + 9); x ** 2; x @ y; -x; abs(x); x > y; x == y; x.exp(); x.abs().log(); x.sin(); x.cos(); x.tanh()
x.sigmoid(); x.relu(); x.sqrt(); x.floor(); x.ceil(); x.round(); x.sign(); x.clamp(-1, 1); x.erf(); x.atan(); x.square()
x.sum(); x.sum(0); x.mean(); x.mean(1, keepdim=True); x.max(); x.max(0); x.min(); x.argmax(1); x.std(); x.var(0); x.prod()
x.cumsum(0); x.sort(1); x.topk(2); x.norm(); x.any(); x.all(); x.median(); x.logsumexp(1); x.softmax(1); x.log_softmax(1)
x.t(); x.reshape(-1); x.view(4, 2, 2); x.unsqueeze(0); x.flatten(); x.transpose(0, 1); x[0]; x[:, 1]; x[x > 0]; x[[0, 2]]
torch.cat([x, y]); torch.stack([x, y]); x.chunk(2); x.split(2); x.expand(2, 4, 4); x.repeat(2, 1); x.flip(0); x.roll(1); x.tril()
x.triu(); x.diag(); torch.where(x > 0, x, y); x.gather(1, i); x.scatter(1, i, y); x.index_select(0, i[0]); x.masked_fill(x > 0, 0)
torch.einsum('ij,jk->ik', x, y); torch.outer(x[0], y[0]); x[0].dot(y[0]); torch.linalg.inv(x + 9 * torch.eye(4))
torch.linalg.det(x); torch.linalg.qr(x); torch.linalg.svd(x); torch.arange(5); torch.linspace(0, 1, 5); torch.zeros(3)
torch.ones(3); torch.full((2,), 3.0); torch.eye(3); torch.rand(3); torch.randn(3); torch.randint(0, 9, (3,)); torch.randperm(5)
F.linear(x, y); F.gelu(x); F.softplus(x); F.mse_loss(x, y); F.cross_entropy(x, i[0]); F.layer_norm(x, (4,)); F.dropout(x, 0.5)
F.conv2d(x[None, None], y[None, None]); F.max_pool2d(x[None], 2); F.embedding(i, x); F.one_hot(i, 4); x.to(torch.float64); x.int()
"""
PROBE = """
import time, sys
start = time.perf_counter()
import {library} as torch
print(time.perf_counter() - start)
F = torch.nn.functional
torch.manual_seed(0)
x, y, i = torch.randn(4, 4), torch.randn(4, 4), torch.tensor([[0, 1, 2, 3]] * 4)
start = time.perf_counter()
for code in {calls!r}:
    str(eval(code))
print(time.perf_counter() - start)
model = torch.nn.Sequential(torch.nn.Linear(64, 128), torch.nn.ReLU(), torch.nn.Linear(128, 10))
optimizer = torch.optim.Adam(model.parameters())
x, y = torch.randn(32, 64), torch.randint(0, 10, (32,))
times = []
for _ in range(400):
    start = time.perf_counter()
    optimizer.zero_grad()
    loss = F.cross_entropy(model(x), y)
    loss.backward()
    optimizer.step()
    loss.item()
    times.append(time.perf_counter() - start)
print(times[0])
steady = sorted(times[-100:])[50]
last = max([k for k, t in enumerate(times[:300]) if t > 3 * steady], default=0)
print(last + 1)
print(sum(times[:last + 1]))
"""
VARYING = """
import time
import {library} as torch
from benchmarks.models import generation, language_model_step
for step, turns in ((generation(torch), 1), (language_model_step(torch, 2, tuple(range(8, 48))), 40)):
    start = time.perf_counter()
    for _ in range(turns):
        step()
    print(time.perf_counter() - start)
"""
ROWS = ("import", "first results of {n} calls", "first training step", "steps until full speed", "seconds until full speed",
        "first 64 tokens, each a new length", "40 training steps, each a new length")


def calls() -> list[str]:
    """Return the expressions, each with one or two calls."""
    return [c.strip() for line in CALLS.strip().splitlines() for c in line.split("; ")]


def environment() -> dict[str, str]:
    """Return the environment of the processes. They keep bytecode, as installed packages do."""
    return {k: v for k, v in os.environ.items() if k != "PYTHONDONTWRITEBYTECODE"} | {"MPLBACKEND": "agg"}


def probe(library: str) -> list[float]:
    """Return the figures of two fresh processes, in the order of ``ROWS``."""
    figures = []
    for code in (PROBE.format(library=library, calls=calls()), VARYING.format(library=library)):
        done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True, env=environment())
        figures += [float(line) for line in done.stdout.split()]
    return figures


def _wall(command: list[str], folder: Path) -> float:
    start = time.perf_counter()
    subprocess.run(command, cwd=folder, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, check=False,
                   env=environment())
    return time.perf_counter() - start


def programs(folder: Path) -> tuple[float, float]:
    """Return the seconds of all programs in a folder, run with PyTorch and with jtorch."""
    scripts = sorted(folder.glob("*.py"))
    return (sum(_wall([sys.executable, str(s)], folder) for s in scripts),
            sum(_wall([sys.executable, "-m", "jtorch", str(s)], folder) for s in scripts))


def main() -> None:
    """Print the table."""
    parser = argparse.ArgumentParser("python -m benchmarks.first_use", description=__doc__)
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--programs", type=Path, help="a folder of programs written for PyTorch")
    given = parser.parse_args()
    found: dict[str, list] = {"torch": [], "jtorch": []}
    # The import writes the bytecode, so that no measured process compiles Python.
    subprocess.run([sys.executable, "-c", "import jtorch"], check=True, env=environment())
    for _ in range(given.rounds):
        for library, rows in found.items():
            rows.append(probe(library))
    columns = [[statistics.median(column) for column in zip(*rows, strict=True)] for rows in found.values()]
    print(f"{'':40} {'PyTorch':>9} {'jtorch':>9} {'ratio':>6}")
    for name, a, b in zip(ROWS, *columns, strict=True):
        print(f"{name.format(n=len(calls())):40} {a:9.3f} {b:9.3f} {b / a:6.2f}")
    if given.programs:
        a, b = programs(given.programs.resolve())
        print(f"{'all programs of ' + given.programs.name:40} {a:9.3f} {b:9.3f} {b / a:6.2f}")


if __name__ == "__main__":
    main()
