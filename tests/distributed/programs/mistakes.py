"""One rank makes a mistake, and all ranks print their errors: ``mistakes.py shape|other|absent|dies|monitored``."""
import datetime
import os
import sys
import time

import torch
import torch.distributed as dist

dist.init_process_group("gloo", timeout=datetime.timedelta(seconds=5))
rank, case = dist.get_rank(), sys.argv[1]
dist.barrier()
if case == "absent" and rank == 0:
    time.sleep(8)
    sys.exit()
if case == "dies" and rank == 0:
    os._exit(0)
store = dist.group.WORLD.store
if case == "monitored" and rank == 1:
    store.wait(["said"], datetime.timedelta(seconds=100))
    sys.exit()
try:
    if case == "monitored":
        dist.monitored_barrier(timeout=datetime.timedelta(seconds=.5))
    elif case == "other" and rank == 0:
        dist.barrier()
    else:
        dist.all_reduce(torch.ones(3 + rank if case == "shape" else 3))
    print("no error", flush=True)
except RuntimeError as error:
    print(f"rank {rank}:", error, flush=True)
    store.set("said", "")
