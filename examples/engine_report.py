"""Show the engine's work on a training loop: the compiled programs, with their lines, times and gains.

    python examples/engine_report.py --out engine_report.html

Calls run one by one. Once the same calls have repeated often enough, the engine compiles them as one program. The loops
below make the same step in four ways, and print the engine's work for each. Set JTORCH_ENGINE=eager in the environment to
compare with a run without programs.
"""
from __future__ import annotations

import argparse
import itertools
import time
from pathlib import Path
from statistics import median

import jtorch as torch
import jtorch.nn.functional as F

BATCH, FEATURES, CLASSES = 32, 64, 10


def main(out):
    """Run the four loops, and write a page with pictures of the programs."""
    torch.manual_seed(0)
    train = Trainer()
    print("1. A plain loop. Each step is forward, backward, optimizer.step() and loss.item().\n")
    loop([lambda: train.step(BATCH).item()] * 300)
    print("   The steps ran call by call, as in PyTorch, until they had cost enough to pay for compiling.")
    print("   A trace of calls ends at optimizer.step(), so reading the loss afterwards costs nothing more.\n")

    print("2. The loss is read before backward(), say to stop where it is nan.\n")
    loop([lambda: train.step(BATCH, look=read)] * 300)
    print("   Its value is wanted in the middle of the step, so the step becomes two programs instead of one.\n")

    print("3. Every 100th step prints something that the others do not compute.\n")
    loop([lambda i=i: train.step(BATCH, look=norm if i % 100 == 99 else None) for i in range(300)])
    print("   Such a step leaves the path that was compiled. What was held back runs call by call, with the same")
    print("   result, and the next step is a program again. Nothing is compiled for what is rare.\n")

    print("4. Epochs of 8 batches, the last of which is smaller.\n")
    loop([lambda n=n: train.step(n) for _ in range(60) for n in [BATCH] * 7 + [BATCH // 2]])
    print("   The smaller batch is another path beside the first. It comes back often enough to be compiled as well.\n")

    print("All that was compiled (jtorch.engine.report()):\n")
    print(table(torch.engine.report()))
    Path(out).write_text(torch.engine.report().html(), encoding="utf-8")
    print(f"\nThe same as a page: {out}")


class Trainer:
    """A network of three layers with its training step on random data."""

    def __init__(self):
        sizes = (FEATURES, 128, 128, CLASSES)
        self.weights = [(torch.randn(n, m) / m ** 0.5).requires_grad_() for m, n in itertools.pairwise(sizes)]
        self.optimizer = torch.optim.Adam(self.weights, lr=1e-3)
        self.X, self.y = torch.randn(BATCH, FEATURES), torch.randint(CLASSES, (BATCH,))

    def forward(self, X):
        """Return the scores of the classes."""
        for weight in self.weights[:-1]:
            X = F.relu(F.linear(X, weight))
        return F.linear(X, self.weights[-1])

    def step(self, batch, look=None):
        """Make one step with this many samples. Call ``look(loss)`` before ``backward()``."""
        loss = F.cross_entropy(self.forward(self.X[:batch]), self.y[:batch])
        if look is not None:
            look(loss)
        self.optimizer.zero_grad()
        loss.backward()
        self.optimizer.step()
        return loss


def read(loss):
    """Read the loss, so it must be computed now."""
    if loss.item() != loss.item():
        raise FloatingPointError("the loss is nan")


def norm(loss):
    """Print the logarithm of the loss, which other steps do not compute."""
    print(f"   (here a step prints log10 of the loss: {loss.log10().item():.2f})")


def loop(steps):
    """Run the steps, then print their times and the engine's counters."""
    start = torch.engine.report().counters
    seconds, compiled = [], []
    for step in steps:
        before = torch.engine.report().counters.programs
        begin = time.perf_counter()
        step()
        seconds.append(time.perf_counter() - begin)
        if torch.engine.report().counters.programs > before:
            compiled.append(len(seconds) - 1)
    print_times(seconds, compiled)
    print_counters(start, torch.engine.report().counters)


def print_times(seconds, compiled):
    """Print the first step, the typical step before and after compiling, and the steps with compilations."""
    print(f"   first step                {duration(seconds[0])}")
    if not compiled:
        print(f"   the others, typically     {duration(median(seconds[1:]))}")
        return
    first, last = compiled[0], compiled[-1]
    if first > 1:
        print(f"   before compiling          {duration(median(seconds[1:first]))}")
    for i in compiled:
        print(f"   step {i + 1:3}, which compiled  {duration(seconds[i])}")
    if seconds[last + 1:]:
        print(f"   after compiling           {duration(median(seconds[last + 1:]))}")


def print_counters(before, after):
    """Print the changes of the engine's counters in one loop."""
    traces = after.traces - before.traces
    print(f"   {traces} traces ended, {after.program_runs - before.program_runs} of them as programs; "
          f"{after.programs - before.programs} programs compiled; {after.departures - before.departures} departures")


def duration(seconds):
    """Return a duration in a suitable unit."""
    return f"{seconds * 1e3:8.2f} ms" if seconds >= 1e-3 else f"{seconds * 1e6:8.0f} µs"


def table(report):
    """Return the programs of a report as text, with the lines at which their traces end."""
    rows = []
    for e in report.events:
        if e.kind == "program":
            place, _, number = e.line.rpartition(":")
            took = duration(e.seconds).strip()
            rows.append(f"  {Path(place).name}:{number}, compiled in {took}, ran {e.runs} times\n"
                        f"      {e.what}\n      because it {e.why}")
    kernels = f"  and {report.counters.kernels} single calls that had become too slow without a compiler"
    return "\n".join([*rows, kernels])


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description="Shows the engine's work on four training loops.")
    parser.add_argument("--out", default="engine_report.html", help="the HTML file of the report")
    main(parser.parse_args().out)
