"""Programs of several processes print the same with jtorch and with PyTorch."""
from __future__ import annotations

import signal
import subprocess
import sys

import pytest
from process_programs import launched, text_of, written

import jtorch.distributed as dist
from jtorch.distributed.connections import Connections

FAST = [("collectives.py", 2)]
SLOW = [(f"{name}.py", 2) for name in ("ddp", "dtensor", "gradients", "tensor_parallel", "fsdp", "starts", "pipelining")]
NIGHTLY = [*[(f"{name}.py", 2) for name in ("comm_hooks", "device_mesh", "data_parallel", "fsdp_wrapper")],
           *[(f"{name}.py", 4) for name in ("collectives", "comm_hooks", "device_mesh", "dtensor", "tensor_parallel", "fsdp", "pipelining",
                                            "pipelining_traced")]]


@pytest.mark.parametrize(("program", "processes"), [*FAST, *[pytest.param(*case, marks=pytest.mark.slow) for case in SLOW],
                                                     *[pytest.param(*case, marks=pytest.mark.nightly) for case in NIGHTLY]])
def test_a_program_prints_what_it_prints_with_pytorch(program, processes, tmp_path, same, full):
    ours = written("jtorch", processes, program, tmp_path / "ours")
    assert ours == same.lines(text_of(program, processes), lambda: written("torch", processes, program, tmp_path / "theirs"), anew=full)
    assert len(ours) > 3 * processes


@pytest.mark.slow
@pytest.mark.parametrize(("case", "says"), [
    ("shape", "Detected mismatch between collectives on ranks. Rank 1 is running collective: #2 all_reduce SUM float32 (4,), but rank 0"),
    ("other", "but rank 0 is running collective: #2 barrier"), ("absent", "Timed out after 5 s in all_reduce SUM float32 (3,): rank 0 has not called it"),
    ("dies", "rank 0 has ended"), ("monitored", "[Rank 0]: Rank 1 failed to pass monitoredBarrier in 500 ms")])
def test_a_rank_that_does_otherwise_is_named(case, says):
    ran = launched("jtorch", 2, "mistakes.py", case)
    assert says in ran.stdout, (ran.stdout[-500:], ran.stderr[-2000:])


def launched_text(tmp_path, text, **options):
    """Run a program on two ranks, from its text."""
    program = tmp_path / "program.py"
    program.write_text(text)
    return launched("jtorch", 2, str(program), **options)


def test_a_rank_that_fails_ends_the_others(tmp_path):
    ran = launched_text(
        tmp_path, "import os, time\nfrom torch.distributed.elastic.multiprocessing.errors import record\n"
                  "@record\ndef main():\n    if os.environ['RANK'] == '1':\n        raise ValueError('rank one says no')\n"
                  "    time.sleep(500)\nmain()\n", fork=False)
    assert ran.returncode == 1
    assert "ValueError: rank one says no" in ran.stderr and "rank      : 1 (local_rank: 1)" in ran.stderr


def assert_ends_well(tmp_path, text):
    """Check on two ranks that all checks of a program hold."""
    ran = launched_text(tmp_path, f"import os, torch, torch.distributed as dist\ndist.init_process_group('gloo')\n{text}dist.destroy_process_group()\n")
    assert (ran.returncode, ran.stdout) == (0, ""), (ran.stdout[-500:], ran.stderr[-2000:])


@pytest.mark.slow
def test_ranks_with_different_numbers_of_batches_without_synchronization(tmp_path):
    """Buffers are broadcast before a forward only if the forward before it was synchronized, as in PyTorch."""
    assert_ends_well(tmp_path, """
net, x = torch.nn.parallel.DistributedDataParallel(torch.nn.BatchNorm1d(1)), torch.ones(2, 1)
def mean(n):
    for _ in range(n):
        net(x * (1 + dist.get_rank())).sum().backward()
    return round(net.module.running_mean.item(), 6)
assert mean(1) == (0.1, 0.2)[dist.get_rank()]
with net.no_sync():
    assert mean(1 + 2 * dist.get_rank()) == (0.19, 0.6149)[dist.get_rank()]
assert mean(1) == (0.271, 0.75341)[dist.get_rank()]
assert mean(1) == (0.3439, 0.4439)[dist.get_rank()]
""")


@pytest.mark.slow
def test_an_overflow_on_one_rank_skips_the_step_on_all(tmp_path):
    assert_ends_well(tmp_path, "from torch.distributed.fsdp.sharded_grad_scaler import ShardedGradScaler\n"
                               "x = torch.ones(2, requires_grad=True)\nscaler = ShardedGradScaler('cpu')\n"
                               "optimizer = torch.optim.SGD([x], lr=1.0)\nscaler.scale(x.sum()).backward()\n"
                               "if dist.get_rank() == 1:\n    x.grad[0] = float('nan')\n"
                               "scaler.step(optimizer)\nscaler.update()\n"
                               "assert (x.tolist(), scaler.get_scale()) == ([1.0, 1.0], 2.0**15)\n")


@pytest.mark.slow
def test_what_is_sent_behind_a_programs_back_is_computed_by_a_program(tmp_path):
    assert_ends_well(tmp_path, "x = torch.ones(64, 64)\nfor _ in range(150):\n    y = (x @ x) / 64\n"
                               "    for _ in range(9):\n        y = y.relu().tanh() + x\n"
                               "    dist.all_reduce(y, async_op=True).wait()\n"
                               "assert torch.engine.report().counters.program_runs > 8\n")


@pytest.mark.slow
def test_a_callback_of_a_collective_begins_another_one(tmp_path):
    """Other collectives wait at the time. On one rank the callback comes before the end of the first collective, on
    the other after it.
    """
    assert_ends_well(tmp_path, """
import time
x, y = torch.ones(4), torch.ones(3)
for i in range(8):
    if dist.get_rank() == i % 2:
        time.sleep(0.01)
    first = dist.all_reduce(x, async_op=True).get_future()
    second = first.then(lambda done: dist.all_reduce(done.value()[0], async_op=True).get_future().wait()[0])
    third = second.then(lambda done: dist.all_reduce(done.value()))
    behind = dist.all_reduce(y, async_op=True)
    third.wait()
    behind.wait()
assert x.tolist() == [2. ** 24] * 4 and y.tolist() == [2. ** 8] * 3
""")


@pytest.mark.slow
def test_power_of_whole_buckets(tmp_path):
    """PyTorch 2.13 raises an AssertionError: it orthogonalizes a matrix instead of a batch of matrices."""
    assert_ends_well(tmp_path, """
from torch.distributed.algorithms.ddp_comm_hooks.powerSGD_hook import PowerSGDState, batched_powerSGD_hook
torch.manual_seed(0)
target, losses = torch.randn(8, 1) @ torch.randn(1, 30), {}
for rank in (1, 12):
    net = torch.nn.parallel.DistributedDataParallel(torch.nn.Linear(8, 30, bias=False))
    state = PowerSGDState(None, rank, start_powerSGD_iter=2)
    net.register_comm_hook(state, batched_powerSGD_hook)
    optimizer, losses[rank] = torch.optim.SGD(net.parameters(), .5), []
    for step in range(60):
        x = torch.randn(16, 8) + dist.get_rank()
        optimizer.zero_grad()
        loss = (net(x) - x @ target).square().mean()
        loss.backward()
        optimizer.step()
        losses[rank].append(loss.item())
    assert state.compression_stats()[1:] == (58 * 240, 58 * 2 * 16 * rank)
assert losses[1][-1] < losses[1][0] / 4 and losses[12][-1] < losses[12][0] / 50, losses
""")


@pytest.mark.slow
@pytest.mark.skipif(sys.platform != "linux", reason="classes of threads are Linux's")
def test_threads_that_wait_for_messages_interrupt_nobody(tmp_path):
    assert_ends_well(tmp_path, "found = [os.sched_getscheduler(int(t)) for t in os.listdir('/proc/self/task')]\n"
                               "assert os.SCHED_BATCH in found and os.sched_getscheduler(0) == os.SCHED_OTHER\n")


def test_a_rank_that_has_ended_before_it_sent_anything_is_named():
    store = dist.HashStore()
    first, second = (Connections(store, rank, "127.0.0.1", 300) for rank in range(2))
    second.close()
    with pytest.raises(dist.DistBackendError, match="rank 1 has ended"):
        first.of(1, "agree", 300)
    with pytest.raises(dist.DistNetworkError, match="Connection refused"):
        first.to(1, "agree")
    assert first.missing(3) == [2]
    with pytest.raises(dist.DistBackendError, match=r"^\[Rank 0\] barrier: rank 1 has ended: reset by peer$"), \
            first.naming_ranks([0, 1], "barrier"):
        raise dist.DistBackendError("reset by peer")
    first.close()


@pytest.mark.skipif(sys.platform != "linux", reason="POSIX signals")
def test_a_launcher_that_ignores_sigint_from_its_start_ends_by_it(tmp_path):
    program = tmp_path / "waits.py"
    program.write_text("import time\nprint('started', flush=True)\ntime.sleep(1000)\n")
    with subprocess.Popen([sys.executable, "-m", "jtorch", "-m", "torch.distributed.run", str(program)], stdout=subprocess.PIPE,
                          preexec_fn=lambda: signal.signal(signal.SIGINT, signal.SIG_IGN)) as ran:
        assert ran.stdout.readline() == b"started\n"
        ran.send_signal(signal.SIGINT)
        assert ran.wait(300) == 130


def test_restarts(tmp_path):
    program = tmp_path / "restarts.py"
    program.write_text("import os, sys\ncount = int(os.environ['TORCHELASTIC_RESTART_COUNT'])\nprint('attempt', count, flush=True)\n"
                       "sys.exit(3 if count < 1 else 0)\n")
    ran = subprocess.run([sys.executable, "-m", "jtorch", "-m", "torch.distributed.run", "--max-restarts=2", str(program)],
                         capture_output=True, text=True, timeout=300, check=False)
    assert ran.returncode == 0 and ran.stdout.split("\n")[:2] == ["attempt 0", "attempt 1"]


@pytest.mark.slow
def test_batch_normalization_over_ranks(tmp_path):
    assert written("jtorch", 2, "batch_norm.py", tmp_path / "ours") == ["True", "True"]


@pytest.mark.slow
def test_a_job_may_be_joined_again(tmp_path):
    ran = launched_text(
        tmp_path, "import torch, torch.distributed as dist\nfor turn in range(3):\n    dist.init_process_group('gloo')\n"
                  "    t = torch.ones(2) * (dist.get_rank() + turn)\n    dist.all_reduce(t)\n    assert t.tolist() == [1 + 2 * turn] * 2\n"
                  "    dist.destroy_process_group()\nprint('done', flush=True)\n")
    assert (ran.returncode, ran.stdout.count("done")) == (0, 2), ran.stderr[-2000:]
