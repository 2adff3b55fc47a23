"""Mistakes in a job of one JAX runtime. Each case (the argument) ends in an error on every waiting rank.

Each rank writes its error to a file of its number in the folder ``SAID``.
"""
import os
import sys
import threading
from pathlib import Path

import jtorch as torch
import jtorch.distributed as dist
from jtorch.distributed import membership
from jtorch.distributed.device_mesh import init_device_mesh
from jtorch.distributed.tensor import DTensor, Replicate, Shard, distribute_tensor


def run(case, rank):
    if case == "started":
        torch.ones(2) + 1
        import jax
        jax.devices()
    dist.init_process_group("xla")
    runtime = membership._world().runtime
    if case == "a part of the mesh":
        init_device_mesh("cpu", (2,))
    mesh = init_device_mesh("cpu", (4,))
    x = distribute_tensor(torch.arange(8.), mesh, [Shard(0)])
    if case == "programs":
        y = x * 2 if rank == 0 else x + 1
        y.sum().item()
    elif case == "data":
        distribute_tensor(torch.full((4,), float(rank)), mesh, [Replicate()]).sum().item()
    elif case == "numbers":
        (x * (rank + 2.)).sum().item()
    elif case == "uneven":
        DTensor.from_local(torch.ones(8 - 4 * rank), mesh, [Shard(0)]).sum().item()
    elif case == "another thread":
        in_thread = []

        def other():
            try:
                x + 1
            except RuntimeError as error:
                in_thread.append(error)
        thread = threading.Thread(target=other)
        thread.start()
        thread.join()
        raise in_thread[0]
    elif case == "reads alone":
        if rank == 0:
            runtime.meeting._host.seconds = 2.
            x.full_tensor()
        while runtime.meeting.failure is None:      # Wait until rank 0's read has timed out.
            threading.Event().wait(.05)
        x.sum().item()
    elif case == "leaves" and rank == 1:
        dist.destroy_process_group()
        sys.exit()
    elif case == "dies before" and rank == 1:
        os._exit(0)         # At another status the launcher would end rank 0 at once.
    elif case == "dies during" and rank == 1:
        runtime.job.running = lambda: os._exit(0)
    x.full_tensor()


if __name__ == "__main__":
    case, rank = sys.argv[1], os.environ["RANK"]
    try:
        run(case, int(rank))
    except (RuntimeError, NotImplementedError) as error:
        (Path(os.environ["SAID"]) / rank).write_text(f"{type(error).__name__}: {error}")
        os._exit(0)         # The launcher would end the other rank at an error.
