"""One rank makes a mistake, and the ranks print their errors: ``gpu_mistakes.py started|shape|message|absent|dies``."""
import datetime
import os
import sys
import time

import jax

import jtorch as torch
import jtorch.distributed as dist

case = sys.argv[1]
if case == "started":
    jax.devices()
try:
    dist.init_process_group("nccl", timeout=datetime.timedelta(seconds=5 if case == "absent" else 100))
    rank = dist.get_rank()
    if case == "shape":
        dist.all_reduce(torch.ones(3 + rank, device="cuda"))
    elif case == "message":
        (dist.recv if rank else dist.send)(torch.ones(3 + rank, device="cuda"), 1 - rank)
    elif rank == 1:
        dist.recv(torch.ones(3, device="cuda"), 0)
    elif case == "absent":
        dist.group.WORLD.store.wait(["said"], datetime.timedelta(seconds=100))
    else:
        time.sleep(2)
        os._exit(0)
    print("no error", flush=True)
except RuntimeError as error:
    print(f"rank {os.environ['RANK']}:", error, flush=True)
    if dist.is_initialized():
        dist.group.WORLD.store.set("said", "")
