"""Estimate the cost of a training step on meshes of many devices. The programs are compiled for virtual CPUs and not run.

``python -m tools.mesh_costs 8 64 512`` prints a row for each number of devices and each way to split a model: the compile time,
the size of the program, and the bytes a device sends in the collectives of XLA's text. docs/measurements/processes.md has its
figures.
"""
from __future__ import annotations

import math
import os
import re
import subprocess
import sys
import time
from typing import Any

WIDTH, HIDDEN, BLOCKS, ROWS, GROUP = 512, 4096, 2, 4096, 8
WAYS = ("fully_shard", "tensor parallel", "both")
KINDS = ("all-gather", "all-reduce", "reduce-scatter", "all-to-all", "collective-permute")
BYTES = {"f32": 4, "s32": 4, "u32": 4, "f64": 8, "s64": 8, "bf16": 2, "pred": 1}


class Enough(Exception):
    """Raised when the programs are compiled, to end the step."""


def model_on(way: str, n: int) -> tuple[Any, Any]:
    """Make a model of MLPs, split in one way over n devices, and a batch."""
    import jtorch as torch
    from jtorch.distributed.device_mesh import init_device_mesh
    from jtorch.distributed.fsdp import fully_shard
    from jtorch.distributed.tensor import Replicate, Shard, distribute_tensor
    from jtorch.distributed.tensor.parallel import ColwiseParallel, RowwiseParallel, parallelize_module

    linear = torch.nn.Linear
    net = torch.nn.Sequential(*[torch.nn.Sequential(linear(WIDTH, HIDDEN), torch.nn.ReLU(), linear(HIDDEN, WIDTH))
                                for _ in range(BLOCKS)])
    plan = {"0": ColwiseParallel(use_local_output=False), "2": RowwiseParallel(use_local_output=False)}
    tp = {"fully_shard": 1, "tensor parallel": n, "both": GROUP}[way]
    mesh = init_device_mesh("cpu", (n // tp, tp), mesh_dim_names=("dp", "tp"))
    for b in net:
        if tp > 1:
            parallelize_module(b, mesh["tp"], plan)
        if tp < n:
            fully_shard(b, mesh=mesh["dp"])
    return net, distribute_tensor(torch.ones(ROWS, WIDTH), mesh, [Shard(0), Replicate()])


def compiled_step(way: str, n: int) -> tuple[list, float, float]:
    """Compile the programs of one step. Return (programs, seconds of compiling, seconds until the step would run them)."""
    import jtorch as torch
    from jtorch.engine import launch, program

    net, x = model_on(way, n)
    optimizer = torch.optim.AdamW(net.parameters())
    torch.engine.synchronize()
    given, compile_it, start_it = launch.Executable.__init__, program.Program.compile, program.Program.start
    made: list[Any] = []
    seconds = [0.0]
    def keep(self: Any, compiled: Any, donated: int) -> None:
        made.append(compiled)
        given(self, compiled, donated)

    def timed(self: Any, *what: Any) -> Any:
        start = time.perf_counter()
        found = compile_it(self, *what)
        seconds[0] += time.perf_counter() - start
        return found

    def stop(*_: Any) -> None:
        raise Enough
    launch.Executable.__init__, program.Program.compile, program.Program.start = keep, timed, stop      # type: ignore[method-assign,assignment]
    start = time.perf_counter()
    try:
        (net(x) ** 2).mean().backward()
        optimizer.step()
    except Enough:
        launch.Executable.__init__, program.Program.compile, program.Program.start = given, compile_it, start_it   # type: ignore[method-assign,assignment]
        return made, seconds[0], time.perf_counter() - start
    raise AssertionError("the step was not one program")


def sent(line: str) -> tuple[str, float] | None:
    """Return the kind of a collective in a line of XLA's text, and the bytes a device sends in a ring. None for other
    lines.
    """
    found = re.search(rf"= (.*?) ({'|'.join(KINDS)})(?:-start)?\(", line)
    if found is None:
        return None
    size = sum(BYTES.get(kind, 4) * math.prod([int(d) for d in dims.split(",") if d])
               for kind, dims in re.findall(r"(\w+)\[([\d,]*)\]", found[1]))
    group = _group(line)
    share = {"all-reduce": 2 * (group - 1) / group, "reduce-scatter": group - 1, "collective-permute": 1}
    return found[2], size * share.get(found[2], (group - 1) / group)


def _group(line: str) -> int:
    """Return the number of devices in a collective's group."""
    named = re.search(r"replica_groups=mesh\[(.*?)\] \{(.*?)\}", line)
    if named is not None:
        sizes = dict(re.findall(r"'(\w+)'=(\d+)", named[1]))
        return math.prod([int(sizes[axis]) for axis in re.findall(r"'(\w+)'", named[2])])
    rows = re.search(r"replica_groups=(?:\[\d+,(\d+)\]|\{\{([\d,]+)\})", line)
    assert rows is not None, line
    return int(rows[1]) if rows[1] else rows[2].count(",") + 1


def report(n: int) -> None:
    """Print a row for each way to split."""
    for way in WAYS:
        # With n <= GROUP devices "both" does not split the batch. "tensor parallel" never does, so it ends at 512 devices.
        if (way == "both" and n <= GROUP) or (way == "tensor parallel" and n > 512):
            continue
        programs, seconds, whole = compiled_step(way, n)
        text = [line for p in programs for line in p.as_text().splitlines()]
        moves = [m for m in map(sent, text) if m is not None]
        kinds = ", ".join(f"{sum(k == kind for k, _ in moves)} {kind}" for kind in KINDS if any(k == kind for k, _ in moves))
        held = sum(p.memory_analysis().argument_size_in_bytes for p in programs)
        print(f"| {n} | {way} | {len(text)} | {seconds:.1f} s | {whole:.1f} s | {kinds} | "
              f"{sum(b for _, b in moves) / 1e6:.2f} MB | {held / 1e6:.2f} MB |", flush=True)


def main() -> None:
    """Run each number of devices in a process of its own."""
    print("| devices | split by | lines of the program | compiling it | the first step | collectives | a device sends | takes |")
    print("|---|---|---|---|---|---|---|---|", flush=True)
    for n in map(int, sys.argv[1:] or ["8", "64"]):
        flags = {"XLA_FLAGS": f"--xla_force_host_platform_device_count={n}", "JTORCH_ENGINE": "hot", "JTORCH_CACHE": "",
                 "MESH_COSTS": str(n)}
        subprocess.run([sys.executable, "-m", "tools.mesh_costs"], env={**os.environ, **flags}, check=False)


if __name__ == "__main__":
    report(int(os.environ["MESH_COSTS"])) if "MESH_COSTS" in os.environ else main()
