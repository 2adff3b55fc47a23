"""A checkpoint of several ranks as safetensors files, written and read. Unmodified PyTorch."""

import json
import os
import sys
import warnings

import torch
import torch.distributed.checkpoint as dcp
from ranks import saying
from safetensors import safe_open
from torch.distributed.checkpoint import HuggingFaceStorageReader, HuggingFaceStorageWriter
from torch.distributed.device_mesh import init_device_mesh
from torch.distributed.tensor import Shard, distribute_tensor


def tensors(mesh, fill=None):
    whole = {"a": torch.arange(21.).view(7, 3), "b": torch.arange(4).to(torch.bfloat16), "c": torch.arange(16.).view(2, 8)}      # PyTorch joins floats only
    if fill is not None:
        whole = {k: torch.full_like(v, fill) for k, v in whole.items()}
    return {"a": distribute_tensor(whole["a"], mesh, [Shard(0)]), "b": distribute_tensor(whole["b"], mesh, [Shard(0)]),
            "c": distribute_tensor(whole["c"], mesh, [Shard(1)])}


def seen(folder):
    for name in sorted(os.listdir(folder)):
        if name.endswith(".safetensors"):
            with safe_open(os.path.join(folder, name), framework="np") as file:
                shapes = sorted((k, file.get_slice(k).get_shape()) for k in file.keys())      # noqa: SIM118  (it is no dict)
                yield name, shapes, sorted(file.metadata() or {})


def main(say, rank, n):
    warnings.simplefilter("ignore")
    to, mesh = sys.argv[-1], init_device_mesh("cpu", (n,))
    for how, options in {"parts": {}, "whole": {"enable_consolidation": True},
                         "files": {"enable_consolidation": True, "fqn_to_index_mapping": {"a": 1, "b": 2, "c": 2}}}.items():
        folder = os.path.join(to, how)
        dcp.save(tensors(mesh), storage_writer=HuggingFaceStorageWriter(folder, save_distributed=True, **options))
        torch.distributed.barrier()
        if rank == 0:
            for file in seen(folder):
                say(how, file[0], file[1])
            if how != "parts":
                with open(os.path.join(folder, "model.safetensors.index.json"), encoding="utf-8") as file:
                    say(json.load(file)["weight_map"])
        state = tensors(mesh, 7)
        dcp.load(state, storage_reader=HuggingFaceStorageReader(folder))
        say({k: v.full_tensor().tolist() for k, v in state.items()}, state["b"].dtype)


if __name__ == "__main__":
    with saying() as (say, rank, n):
        main(say, rank, n)
