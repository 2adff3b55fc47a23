"""Printing, which all programs share: each rank says lines, and the ranks write them in turn. Unmodified PyTorch."""
import contextlib
import os

import torch.distributed as dist


@contextlib.contextmanager
def saying():
    """Open a Gloo job for a block, which gets (say, rank, number of ranks). After the block, write the said lines."""
    dist.init_process_group("gloo")
    rank, n = dist.get_rank(), dist.get_world_size()
    lines = []
    yield lambda *things: lines.append(f"{rank}: " + " ".join(map(str, things))), rank, n
    for turn in range(n):
        dist.barrier()
        if turn == rank:
            with open(os.environ["PRINTED"], "a") as file:
                print("\n".join(lines), file=file)
    dist.destroy_process_group()
