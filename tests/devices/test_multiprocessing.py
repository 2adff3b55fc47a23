"""Processes: shared tensors, failures, and jtorch as ``torch`` in children. Scripts run with both libraries."""
from __future__ import annotations

import importlib
import os
import pickle
import subprocess
import sys
from pathlib import Path

import pytest
from libraries import HAS_TORCH, NO_TORCH, library

ROOT = Path(__file__).resolve().parents[2]
NEEDS_TORCH = pytest.mark.skipif(not HAS_TORCH, reason=NO_TORCH)
pytestmark = pytest.mark.skipif(sys.platform == "win32", reason="descriptors are not sent on Windows")


@pytest.fixture(params=[pytest.param("torch", marks=[NEEDS_TORCH, pytest.mark.nightly]), "jtorch"])
def run(request, tmp_path):
    """Return ``run(text, *arguments)``, which runs a PyTorch script with PyTorch or ``python -m jtorch`` and returns
    its output.
    """
    def run(text: str, *arguments: str) -> str:
        return run_script(tmp_path / "script.py", text, *arguments, by=["-m", "jtorch"] if request.param == "jtorch" else [])
    return run


def run_script(path: Path, text: str, *arguments: str, by: list[str], env: dict[str, str] | None = None) -> str:
    """Run a script, which must end without an error, and return its output."""
    path.write_text(text)
    env = {**os.environ, "PYTHONPATH": str(ROOT), "PYTHONWARNINGS": "ignore", **(env or {})}
    done = subprocess.run([sys.executable, *by, str(path), *arguments], env=env, capture_output=True, text=True, timeout=300,
                          check=False)
    assert done.returncode == 0, f"{done.stdout}\n{done.stderr}"
    return done.stdout


# ---------------------------------------------------------------- sharing

HOGWILD = """
import sys
import torch
import torch.multiprocessing as mp
from torch import nn

def train(rank, model, steps):
    torch.manual_seed(rank)
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
    for _ in range(40):
        x = torch.randn(16, 3)
        optimizer.zero_grad()
        nn.functional.mse_loss(model(x), x.sum(1, keepdim=True)).backward()
        optimizer.step()
        steps[rank] += 1

if __name__ == "__main__":
    mp.set_start_method(sys.argv[1])
    model, steps = nn.Linear(3, 1), torch.zeros(2)
    if sys.argv[1] == "fork":       # what has been compiled when a process is forked must not be run in it
        for _ in range(40):
            train(0, model, steps)
        steps.zero_()
    nn.init.zeros_(model.weight)        # a loss of about 3; which writes are lost depends on who is quicker
    model.share_memory()
    steps.share_memory_()
    print(all(p.is_shared() for p in model.parameters()), model.weight.detach()[0].is_shared(), torch.ones(2).is_shared())
    processes = [mp.Process(target=train, args=(rank, model, steps)) for rank in range(2)]
    for p in processes:
        p.start()
    for p in processes:
        p.join()
    x = torch.randn(64, 3)
    print([p.exitcode for p in processes], steps.tolist(), nn.functional.mse_loss(model(x), x.sum(1, keepdim=True)).item() < 1)
    print(type(model.weight).__name__, model.weight.requires_grad, model.weight.grad is None)
"""


@pytest.mark.slow
@pytest.mark.parametrize("method", ["spawn", pytest.param("fork", marks=pytest.mark.nightly)])
def test_processes_train_one_model(run, method):
    grad = method == "spawn"        # With fork the parent itself has trained, so its weight has a gradient.
    assert run(HOGWILD, method) == f"True True False\n[0, 0] [40.0, 40.0] True\nParameter True {grad}\n"


QUEUES = """
from multiprocessing.reduction import ForkingPickler
import torch
import torch.multiprocessing as mp

def serve(asked, answers, kept):
    while (message := asked.get()) is not None:
        name, t = message
        kept.add_(1)
        if name == "write":
            t[0] = 7
        elif name == "make":
            t = {"view": torch.arange(6.).reshape(2, 3).t()[1:], "half": torch.ones(2, dtype=torch.bfloat16),
                 "empty": torch.zeros(0, 3), "scalar": torch.tensor(5), "leaf": torch.ones(2, requires_grad=True),
                 "parameter": torch.nn.Parameter(torch.ones(2), requires_grad=False), "flag": torch.tensor([True])}
        elif name == "see":
            name = t.tolist()
        answers.put((name, t))

def described(t):
    return type(t).__name__, str(t.dtype), tuple(t.shape), t.stride(), t.storage_offset(), t.requires_grad, t.is_leaf, t.tolist()

if __name__ == "__main__":
    context = mp.get_context("spawn")
    asked, answers = context.Queue(), context.Queue()
    kept = torch.zeros(2)
    process = context.Process(target=serve, args=(asked, answers, kept), daemon=True)
    process.start()

    def ask(name, t=None):
        asked.put((name, t))
        return answers.get()

    x = torch.zeros(3)
    part = x[1:]
    _, same = ask("write", part)
    print(x.tolist(), x.is_shared(), same.is_shared(), same.untyped_storage().data_ptr() == x.untyped_storage().data_ptr())
    x.add_(1)
    print(ask("see", x)[0], same.tolist())
    w = torch.nn.Parameter(torch.ones(2))
    a, b = ask("tied", [w, w.detach()])[1]
    a.data.fill_(3)
    print(b.tolist(), w.tolist(), type(a).__name__, a.requires_grad)
    for name, t in ask("make")[1].items():
        print(name, described(t))
    try:
        ForkingPickler.dumps(w * 2)
    except RuntimeError as error:
        print(str(error)[:75])
    kept_before = kept.tolist()
    ask("bye")
    asked.put(None)
    process.join()
    print(kept_before, kept.tolist(), process.exitcode)
"""


def test_what_goes_through_a_queue_is_shared(run):
    assert run(QUEUES).splitlines() == [
        "[0.0, 7.0, 0.0] True True True", "[1.0, 8.0, 1.0] [8.0, 1.0]", "[3.0, 3.0] [3.0, 3.0] Parameter True",
        "view ('Tensor', 'torch.float32', (2, 2), (1, 3), 1, False, True, [[1.0, 4.0], [2.0, 5.0]])",
        "half ('Tensor', 'torch.bfloat16', (2,), (1,), 0, False, True, [1.0, 1.0])",
        "empty ('Tensor', 'torch.float32', (0, 3), (3, 1), 0, False, True, [])",
        "scalar ('Tensor', 'torch.int64', (), (), 0, False, True, 5)",
        "leaf ('Tensor', 'torch.float32', (2,), (1,), 0, True, True, [1.0, 1.0])",
        "parameter ('Parameter', 'torch.float32', (2,), (1,), 0, False, True, [1.0, 1.0])",
        "flag ('Tensor', 'torch.bool', (1,), (1,), 0, False, True, [True])",
        "Cowardly refusing to serialize non-leaf tensor which requires_grad, since a", "[4.0, 4.0] [5.0, 5.0] 0"]


def test_share_memory(xp):
    t = xp.arange(6.0).reshape(2, 3)
    part = t[1]
    assert t.share_memory_() is t
    assert t.is_shared() and part.is_shared() and t.untyped_storage().is_shared() and not t.clone().is_shared()
    part.add_(1)
    assert t.tolist() == [[0, 1, 2], [4, 5, 6]]
    assert xp.empty(0).share_memory_().is_shared()
    assert xp.zeros(2).untyped_storage().share_memory_().is_shared()
    x = xp.ones(2, requires_grad=True)
    y = x * x
    x.share_memory_()
    y.sum().backward()
    assert x.grad.tolist() == [2, 2] and x._version == 0
    with pytest.raises(RuntimeError, match="_share_fd_: only available on CPU"):
        xp.empty(3, device="meta").share_memory_()


def test_shared_memory_is_given_back():
    torch = library("jtorch")
    shared = importlib.import_module("jtorch._api.shared_memory")
    before = len(shared._storages), len(os.listdir("/proc/self/fd")) if os.path.isdir("/proc/self/fd") else 0
    tensors = [torch.ones(100).share_memory_() for _ in range(20)]
    assert len(shared._storages) == before[0] + 20
    array = tensors[0].numpy()
    tensors.clear()
    torch.engine.end()      # The last calls hold their arguments until the end.
    assert len(shared._storages) == before[0]
    assert array.sum() == 100       # The memory lives as long as an array shows it.
    del array
    assert not before[1] or len(os.listdir("/proc/self/fd")) == before[1]


def test_no_room_to_share(monkeypatch):
    torch = library("jtorch")
    shared = importlib.import_module("jtorch._api.shared_memory")

    def fail() -> int:
        raise OSError(24, "Too many open files")
    monkeypatch.setattr(shared, "_nameless_file", fail)
    t = torch.ones(2)
    with pytest.raises(RuntimeError, match=r"unable to share 8 bytes of memory with other processes: Too many open files \(24\)"):
        t.share_memory_()
    assert (t + 1).tolist() == [2, 2] and not t.is_shared()


# ---------------------------------------------------------------- failing

FAILURES = """
import os
import signal
import sys
import threading
import torch
import torch.multiprocessing as mp

def work(i, kind):
    if i != 1:
        threading.Event().wait()        # for ever: it is ended when the other fails
    if kind == "raises":
        raise ValueError("what went wrong")
    if kind == "exits":
        sys.exit(7)
    os.kill(os.getpid(), signal.SIGKILL)

def fine(i, numbers):
    numbers[i] = i + 1

if __name__ == "__main__":
    context = mp.spawn(work, ("raises",), nprocs=2, join=False)
    print(type(context).__name__, len(context.pids()))
    try:
        while not context.join(timeout=60, grace_period=0):
            pass
    except mp.ProcessRaisedException as error:
        print(type(error).__name__, error.error_index, error.error_pid == context.pids()[1], [p.is_alive() for p in context.processes])
        print(str(error).startswith("\\n\\n-- Process 1 terminated with the following error:\\nTraceback"), "ValueError: what" in error.msg)
    for kind in ("exits", "is killed"):
        try:
            mp.spawn(work, (kind,), nprocs=2)
        except mp.ProcessExitedException as error:
            print(type(error).__name__, error.error_index, error.exit_code, error.signal_name, error)
    numbers = torch.zeros(2)
    print(mp.spawn(fine, (numbers,)), numbers.tolist(), mp.start_processes(fine, (numbers,), 2, start_method="forkserver"))
    print(numbers.tolist())
"""


@pytest.mark.slow
def test_failing_processes(run):
    assert run(FAILURES).splitlines() == [
        "ProcessContext 2", "ProcessRaisedException 1 True [False, False]", "True True",
        "ProcessExitedException 1 7 None process 1 terminated with exit code 7",
        "ProcessExitedException 1 -9 SIGKILL process 1 terminated with signal SIGKILL",
        "None [1.0, 0.0] None", "[1.0, 2.0]"]


def test_errors_of_processes_are_pickled(xp):
    mp = importlib.import_module(f"{xp.__name__}.multiprocessing")
    error = pickle.loads(pickle.dumps(mp.ProcessExitedException("it ended", 1, 2, -9, "SIGKILL")))
    assert (str(error), error.error_index, error.error_pid, error.exit_code, error.signal_name) == ("it ended", 1, 2, -9, "SIGKILL")
    error = pickle.loads(pickle.dumps(mp.ProcessRaisedException("it raised", 1, 2)))
    assert (error.msg, error.error_index, error.error_pid) == ("it raised", 1, 2)
    with pytest.raises(AssertionError):
        mp.set_sharing_strategy("nope")
    mp.set_sharing_strategy(mp.get_sharing_strategy())
    assert mp.get_sharing_strategy() in mp.get_all_sharing_strategies()


WORKERS = """
import sys
import torch
from torch.utils.data import DataLoader, Dataset, get_worker_info

class Failing(Dataset):
    def __init__(self, error):
        self.error = error

    def __len__(self):
        return 6

    def __getitem__(self, i):
        if i == 3:
            raise self.error("sample 3 is broken")
        return torch.full((2,), i)

def fail(worker_id):
    raise KeyError("no start")

if __name__ == "__main__":
    for way in ("spawn", "forkserver", None):
        found = []
        try:
            for batch in DataLoader(Failing(ValueError), batch_size=2, num_workers=2, multiprocessing_context=way):
                found.append(batch.tolist())
        except ValueError as error:
            print(way, found, str(error).splitlines()[0], str(error).splitlines()[-1])
    try:
        list(DataLoader(Failing(ValueError), num_workers=1, worker_init_fn=fail, multiprocessing_context="spawn"))
    except KeyError as error:
        print(str(error.args[0]).splitlines()[0])
"""


@pytest.mark.slow
def test_workers_that_raise(run):
    first = "[[[0, 0], [1, 1]]] Caught ValueError in DataLoader worker process 1. ValueError: sample 3 is broken"
    assert run(WORKERS).splitlines() == [f"spawn {first}", f"forkserver {first}", f"None {first}",
                                         "Caught KeyError in DataLoader worker process 0."]


# ---------------------------------------------------------------- torch is jtorch in child processes too

CHILDREN = """
import multiprocessing
import os
import subprocess
import sys
import torch

def work(queue):
    import torch.nn.functional as F
    import helper
    queue.put((torch.__version__.partition('+')[2], F.__name__, helper.name))

if __name__ == "__main__":
    for way in ("spawn", "forkserver"):
        context = multiprocessing.get_context(way)
        queue = context.SimpleQueue()
        process = context.Process(target=work, args=(queue,))
        process.start()
        print(way, *queue.get())
        process.join()
    child = os.path.join(os.path.dirname(os.path.abspath(__file__)), "child.py")
    for how in (["-c", "import torch.nn as nn, sys; print(nn.__file__.split('/')[-3])"], [child], ["-m", "child"]):
        print(how[0][-8:], subprocess.run([sys.executable, *how], cwd=os.path.dirname(child), capture_output=True, text=True).stdout)
"""
CHILD = """
import torch
import helper
from torch.optim import SGD
print(torch.__version__.partition('+')[2], SGD.__name__, helper.name, helper.customized)
"""


@pytest.mark.parametrize("as_module", [pytest.param(False, marks=pytest.mark.slow), pytest.param(True, marks=pytest.mark.nightly)])
def test_children_get_jtorch_as_torch(tmp_path, as_module):
    """The user's own PYTHONPATH and sitecustomize stay as they were."""
    users = tmp_path / "users"
    users.mkdir()
    (users / "helper.py").write_text("import sys\nname = 'help'\ncustomized = hasattr(sys, 'customized')\n")
    (users / "sitecustomize.py").write_text("import sys\nsys.customized = True\n")
    (tmp_path / "child.py").write_text(CHILD)
    env = {"PYTHONPATH": os.pathsep.join([str(users), str(ROOT), str(tmp_path)])}
    if as_module:
        (tmp_path / "script.py").write_text(CHILDREN)
        out = run_script(tmp_path / "other.py", "import runpy, sys; sys.argv = ['jtorch', '-m', 'script']\n"
                                                "runpy.run_module('jtorch', run_name='__main__', alter_sys=True)\n", by=[], env=env)
    else:
        out = run_script(tmp_path / "script.py", CHILDREN, by=["-m", "jtorch"], env=env)
    assert out.split("\n")[:2] == ["spawn jtorch torch.nn.functional help", "forkserver jtorch torch.nn.functional help"]
    assert out.split()[8:] == ["-c", "jtorch", "child.py", "jtorch", "SGD", "help", "True", "-m", "jtorch", "SGD", "help", "True"]


def test_children_of_a_script_run_in_a_checkout(tmp_path):
    """``python -m jtorch`` may have found jtorch in the working directory, where its children do not look."""
    path = tmp_path / "script.py"
    path.write_text("import os, subprocess, sys\n"
                    "print(subprocess.run([sys.executable, '-c', 'import torch; print(torch.__file__)'], cwd=os.path.dirname(__file__),"
                    " capture_output=True, text=True).stdout)\n")
    env = {k: v for k, v in os.environ.items() if k != "PYTHONPATH"}
    done = subprocess.run([sys.executable, "-m", "jtorch", str(path)], cwd=ROOT, env=env, capture_output=True, text=True, check=True,
                          timeout=300)
    assert Path(done.stdout.strip()) == ROOT / "jtorch" / "__init__.py"


# ---------------------------------------------------------------- forks

FORKED = """
import os
import jtorch as torch
from jtorch.engine import families

def status_of_child(child):
    pid = os.fork()
    if not pid:
        try:
            child()
        except BaseException as error:
            print(type(error).__name__, error, flush=True)
            os._exit(1)
        os._exit(0)
    return os.waitpid(pid, 0)[1]

torch.ones(3).jax()        # starts XLA
w = torch.ones(4, requires_grad=True)
for _ in range(300):       # enough for a program
    ((w * 2).sin().sum() + w.exp().sum()).backward()
    w.grad = None
pending = (w * 2).sin()

def trains():
    assert pending.sum().isfinite()
    for _ in range(300):
        ((w * 2).sin().sum() + w.exp().sum()).backward()
    assert w.grad.isfinite().all()
    assert torch.ones(1000, 1000).sin().exp().sum().isfinite()      # would be compiled some day elsewhere

def takes_xla():
    families.host_program = lambda *args, **options: None      # as if there were an op without a host rule
    torch.ones(5, 7).cosh().tolist()

print(status_of_child(trains), status_of_child(takes_xla) != 0, pending.sum().isfinite().item())
"""


@pytest.mark.skipif(not hasattr(os, "fork"), reason="processes are not forked here")
def test_a_forked_process_computes_without_xla(run_python):
    out = run_python(FORKED, {"PYTHONWARNINGS": "ignore"}).splitlines()
    assert out[0].startswith("RuntimeError Cannot run ones in a forked process, since it takes XLA")
    assert out[1] == "0 True True"
