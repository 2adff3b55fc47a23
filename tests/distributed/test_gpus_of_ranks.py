"""Jobs with one GPU a rank (``nccl``). A CPU of each process stands in for its GPU, so that all but NCCL itself runs."""
from __future__ import annotations

import contextlib
from multiprocessing import Pipe
from types import SimpleNamespace

import numpy as np
import pytest
from process_programs import launched

import jtorch as torch
from jtorch.distributed.device_messages import DeviceMessageWork, Messages
from jtorch.distributed.tcp_store import pack, unpack

ENV = {"JTORCH_CUDA": "cpu", "JAX_PLATFORMS": "cpu"}


PAIRS = [["reductions", "moves", "with_nccl_alone"], ["data_parallel", "zero"], ["sharded", "tensors"]]
ALL = ["messages", "reductions", "moves", "data_parallel", "zero", "sharded", "tensors", "with_nccl_alone"]


@pytest.mark.parametrize(("processes", "checks"), [(2, ["messages"]), *[pytest.param(2, checks, marks=pytest.mark.slow) for checks in PAIRS],
                                                   pytest.param(4, ALL, marks=pytest.mark.nightly)])
def test_gpus_give_what_cpus_give(processes, checks):
    ran = launched("jtorch", processes, "gpus.py", *checks, **ENV)
    assert (ran.returncode, ran.stdout) == (0, "held\n" * processes), (ran.stdout[-500:], ran.stderr[-3000:])


@pytest.mark.slow
@pytest.mark.parametrize(("case", "says"), [
    ("started", 'init_process_group("nccl") came too late: JAX has started'),
    ("shape", "Detected mismatch between collectives on ranks. Rank 1 is running collective: #1 all_reduce SUM float32 (4,), but rank 0"),
    ("message", "rank 0 sends float32 (3,), and the other rank expects float32 (4,)"),
    ("absent", "Timed out after 5 s in recv, waiting for rank 0"), ("dies", "rank 0 has ended")])
def test_a_mistake_is_named(case, says):
    ran = launched("jtorch", 2, "gpu_mistakes.py", case, **ENV)
    assert says in ran.stdout, (ran.stdout[-500:], ran.stderr[-2000:])


def test_a_rank_may_end_after_its_last_message():
    """Rank 1 waits for the first of two messages of rank 0, which ends as soon as both have moved."""
    here, there = Pipe()
    moved = []

    def move():
        moved.append(1)
        if len(moved) == 2:
            there.close()
        return np.ones(1, np.float32)
    connections = SimpleNamespace(rank=1, _arrived={(0, "messages of GPUs"): here}, to=lambda *_: here,
                                  naming_ranks=lambda *_: contextlib.nullcontext())
    transport = SimpleNamespace(ready=lambda *_: move)
    group = SimpleNamespace(backends={"cpu": "gloo"}, group_name="0")
    messages, taken = Messages(connections, transport), torch.zeros(2, 1)
    works = [DeviceMessageWork(messages, messages.post(group, t, 0, 0, False), t, 60) for t in taken]
    for _ in works:
        _, key, said = unpack(there.recv_bytes())
        there.send_bytes(pack(b"run", key, said))
    assert [work.wait() for work in works] == [True, True] and taken.tolist() == [[1.0], [1.0]]


@pytest.mark.parametrize(("gpus", "text", "count"), [(4, "gpu", 4), (4, "auto", 4), (4, "cpu", 7), (0, "auto", 7), (4, "3", 3)])
def test_processes_of_a_launcher(monkeypatch, gpus, text, count):
    from jtorch.distributed import _agent
    monkeypatch.setattr(_agent.gpus, "counted", lambda: gpus)
    monkeypatch.setattr(_agent.os, "cpu_count", lambda: 7)
    assert _agent._processes(text) == count


def test_a_launcher_without_gpus(monkeypatch):
    from jtorch.distributed import _agent
    monkeypatch.setattr(_agent.gpus, "counted", lambda: None)
    with pytest.raises(ValueError, match=r"Cuda is not available\."):
        _agent._processes("gpu")


IN_ONE_PROCESS = """
import jtorch as torch
import jtorch.distributed as dist
x = torch.ones(2, device="cuda")        # A job of one rank may begin after JAX has started.
dist.init_process_group("nccl", store=dist.HashStore(), rank=0, world_size=1, device_id=0)
dist.all_reduce(x, dist.ReduceOp.AVG)
print(x.tolist(), x.device, torch.ones(2).device)
for wrong in (torch.device("cuda"), torch.device("cuda", 5), torch.device("mps", 0)):
    dist.destroy_process_group() if dist.is_initialized() else None
    try:
        dist.init_process_group(store=dist.HashStore(), rank=0, world_size=1, device_id=wrong)
    except ValueError as error:
        print(str(error).split(". ")[0])
try:
    x + torch.ones(2)
except RuntimeError as error:
    print(str(error)[:60])
"""


def test_a_job_of_one_rank(run_forked):
    assert run_forked(IN_ONE_PROCESS, {**ENV, "JTORCH_CACHE": "0"}).splitlines() == [
        "[1.0, 1.0] cuda:0 cpu", "Please use a device_id with index.", "device_id cuda:5 is out of range",
        "device_id mps:0 does not match the current compilation's accelerator support: cuda",
        "Expected all tensors to be on the same device, but found at "]


def test_without_a_gpu():
    """The error is that of PyTorch's builds with CUDA. The installed reference has none."""
    with pytest.raises(ValueError, match=r"^ProcessGroupNCCL is only supported with GPUs, no GPUs found!(\n|$)"):
        torch.distributed.init_process_group("nccl", store=torch.distributed.HashStore(), rank=0, world_size=1)
    assert not torch.distributed.is_nccl_available() and not torch.distributed.is_backend_available("cpu:gloo,cuda:nccl")


@pytest.mark.parametrize("backend", [None, "gloo", "cpu:gloo"])
def test_names_of_backends(xp, backend):
    dist = xp.distributed
    dist.init_process_group(backend, store=dist.HashStore(), rank=0, world_size=1)
    found = dist.get_backend(), dist.get_backend_config(), dist.is_backend_available("cpu:gloo")
    dist.destroy_process_group()
    config = {None: "cpu:gloo", "gloo": "cpu:gloo,cuda:gloo", "cpu:gloo": "cpu:gloo"}[backend]
    assert found == (backend or "undefined", config, True)


@pytest.mark.parametrize("backend", ["cpu:gloo,cuda", "cpu:gloo,cpu:gloo"])
def test_pairs_in_another_form(xp, backend):
    dist = xp.distributed
    with pytest.raises(ValueError, match=r"^(Invalid device:backend pairing: +cuda|Duplicate device type cpu +in backend string: gloo)\. "):
        dist.init_process_group(backend, store=dist.HashStore(), rank=0, world_size=1)
