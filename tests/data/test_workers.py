"""Workers: their arguments, results, failures and ends."""
from __future__ import annotations

import gc
import glob
import multiprocessing
import os
import sys
import tempfile
import threading

import numpy as np
import pytest
import samples

import jtorch
from jtorch._base.config import ENGINE_MODE
from jtorch.utils.data import DataLoader

pytestmark = [pytest.mark.skipif(sys.platform == "win32", reason="Windows starts processes otherwise"),
              # PyTorch warns on a machine with one core.
              pytest.mark.filterwarnings("ignore:This DataLoader will create")]
KINDS = [None, "thread"]


@pytest.fixture(autouse=True)
def nothing_is_left():
    """Check that a test leaves no process, thread, file or open file behind."""
    list(DataLoader(range(1), num_workers=1))       # The server of worker processes stays alive.
    before = threading.active_count(), len(os.listdir("/proc/self/fd")) if os.path.exists("/proc/self/fd") else 0
    yield
    gc.collect()
    for member in multiprocessing.active_children():
        member.join(2)
    assert not multiprocessing.active_children()
    assert threading.active_count() <= before[0]
    assert not glob.glob(os.path.join(tempfile.gettempdir(), f"jtorch-{os.getpid()}-*", "*"))
    assert not glob.glob(f"/dev/shm/jtorch-{os.getpid()}-*/*")
    if before[1]:
        assert len(os.listdir("/proc/self/fd")) <= before[1] + 1


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("persistent", [False, True])
def test_epochs(kind, persistent):
    loader = DataLoader(samples.Squares(7), batch_size=2, num_workers=2, multiprocessing_context=kind, persistent_workers=persistent)
    for _ in range(3):
        assert [b[0].tolist() for b in loader] == [[0, 1], [2, 3], [4, 5], [6]]


@pytest.mark.parametrize("kind", [None, "spawn"])
def test_ways_of_starting(kind):
    pids = {int(p) for _, p in DataLoader(samples.Large(4, 3), num_workers=1, multiprocessing_context=kind)}
    assert len(pids) == 1
    assert os.getpid() not in pids


@pytest.mark.parametrize("kind", KINDS)
def test_worker_info_and_init(kind):
    dataset = samples.WorkerOf(4)
    found = list(DataLoader(dataset, num_workers=2, worker_init_fn=samples.leave_note, multiprocessing_context=kind, batch_size=None))
    assert [f[:3] for f in found] == [[0, 2, 0], [1, 2, 10], [0, 2, 0], [1, 2, 10]]
    assert {f[3] == os.getpid() for f in found} == {kind == "thread"}
    assert (dataset.note, jtorch.utils.data.get_worker_info()) == (-1, None)


@pytest.mark.filterwarnings("ignore:This DataLoader will create")
@pytest.mark.parametrize("kind", KINDS)
def test_iterable_is_shared(kind):
    loader = DataLoader(samples.Stream(7), batch_size=2, num_workers=3, multiprocessing_context=kind)
    assert [b.tolist() for b in loader] == [[0, 3], [1, 4], [2, 5], [6]]
    assert [int(b) for b in DataLoader(samples.Stream(5), batch_size=None, num_workers=2, multiprocessing_context=kind,
                                       persistent_workers=True)] == [0, 1, 2, 3, 4]


def test_persistent_stream_starts_again():
    loader = DataLoader(samples.Stream(5), num_workers=2, persistent_workers=True)
    assert [[int(b) for b in loader] for _ in range(3)] == [[0, 1, 2, 3, 4]] * 3
    assert len(loader._iterator._workers) == 2


def test_persistent_workers_after_a_break():
    loader = DataLoader(samples.WorkerOf(12), num_workers=2, persistent_workers=True, batch_size=None)
    pids = set()
    for _ in range(3):
        for sample in loader:
            pids.add(sample[3])
            break
    assert len(pids) == 1
    assert [s[0] for s in loader] == [0, 1] * 6


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("error", [ValueError, KeyError, ZeroDivisionError])
def test_an_error_in_a_worker(kind, error):
    batches = iter(DataLoader(samples.Failing(6, error), num_workers=2, multiprocessing_context=kind))
    assert [int(next(batches)), int(next(batches))] == [0, 1]
    where = "thread" if kind == "thread" else "process"
    with pytest.raises(error) as raised:
        next(batches)
    text = str(raised.value)
    assert text.startswith(f"Caught {error.__name__} in DataLoader worker {where} 0.\nOriginal Traceback (most recent call last):\n")
    assert "in __getitem__" in text
    assert text.rstrip().endswith("wrong sample'" if error is KeyError else "wrong sample")
    assert int(next(batches)) == 3      # PyTorch continues too.


def test_an_error_of_several_arguments():
    with pytest.raises(RuntimeError, match="Caught TwoArguments in DataLoader worker process 0"):
        list(DataLoader(samples.RaisesTwo(2), num_workers=1))


def test_an_error_of_the_init_function():
    with pytest.raises(ValueError, match=r"(?s)Caught ValueError in DataLoader worker process 0\..*no start"):
        list(DataLoader(samples.Squares(4), num_workers=1, worker_init_fn=samples.fail_at_start))


@pytest.mark.parametrize(("how", "cause"), [("exit", "exited unexpectedly with exit code 7. Details are lost due to "
                                                     "multiprocessing. Rerunning with num_workers=0 may give better error trace."),
                                            ("kill", "is killed by signal: Killed")])
def test_a_worker_that_dies(how, cause):
    with pytest.raises(RuntimeError, match=r"DataLoader worker \(pid\(s\) \d+\) exited unexpectedly") as raised:
        list(DataLoader(samples.Dying(8, how), num_workers=2))
    assert cause in str(raised.value.__cause__)


@pytest.mark.parametrize("kind", KINDS)
def test_timeout(kind):
    with pytest.raises(RuntimeError, match="^DataLoader timed out after 0.2 seconds$"):
        list(DataLoader(samples.Slow(2, 0.6), num_workers=1, timeout=0.2, multiprocessing_context=kind))


@pytest.mark.parametrize("kind", KINDS)
def test_out_of_order(kind):
    options = {"num_workers": 2, "multiprocessing_context": kind, "prefetch_factor": 1}
    assert [int(x) for x in DataLoader(samples.Slow(6, 0.4), **options)] == [0, 1, 2, 3, 4, 5]
    found = [int(x) for x in DataLoader(samples.Slow(6, 0.4), in_order=False, **options)]
    assert sorted(found) == [0, 1, 2, 3, 4, 5]
    assert found[0] != 0


def test_large_batches_come_in_shared_memory():
    dataset = samples.Large(8, 100_000)
    kept = []
    for values, _ in DataLoader(dataset, batch_size=2, num_workers=2):
        assert values.shape == (2, 100_000)
        values += 1         # The caller may write to a batch.
        kept.append(values)
    assert np.array_equal(np.concatenate([b.numpy() for b in kept]), dataset.table + 1)


def test_many_large_batches_do_not_use_up_files(monkeypatch):
    from jtorch.utils.data._utils import share
    monkeypatch.setattr(share, "MAX_MAPS", 2)
    before = len(os.listdir("/proc/self/fd")) if os.path.exists("/proc/self/fd") else 0
    kept = [b for b, _ in DataLoader(samples.Large(6, 50_000), num_workers=1)]
    if before:
        assert len(os.listdir("/proc/self/fd")) <= before + 3
    assert [int(b[0, 0]) for b in kept] == [50_000 * i for i in range(6)]


def test_what_has_no_room_in_memory_goes_to_the_disk(monkeypatch, tmp_path):
    from jtorch.utils.data._utils import share
    names = share.Names(["/proc/no-such-folder", str(tmp_path)], "x")
    sent, _ = share.dumps(np.ones(100_000), names)
    assert os.path.dirname(sent[1]) == str(tmp_path)
    assert share.loads(sent).sum() == 100_000
    assert not os.listdir(tmp_path)


def test_a_large_dataset_is_written_once():
    from jtorch.utils.data._utils import share
    x = jtorch.arange(600_000.0).reshape(600, 1000)
    loader = DataLoader(jtorch.utils.data.TensorDataset(x), batch_size=300, num_workers=2)
    files = []
    for _ in range(2):
        assert jtorch.equal(jtorch.cat([b for (b,) in loader]), x)
        files.append(sorted(share._kept.values()))
    assert files[0] == files[1]
    x[0, 0] = 7                 # A changed array is written again.
    assert [float(b[0, 0]) for (b,) in loader] == [7.0, 300_000.0]
    del x, loader
    jtorch.engine.end()         # The last calls hold their arguments until the end.
    gc.collect()
    assert not share._kept


@pytest.mark.skipif(ENGINE_MODE == "hot", reason="what a program has computed is XLA's memory, and no file's")
def test_a_large_array_in_another_order_is_sent():
    from jtorch.utils.data._utils import share
    x = jtorch.tensor(np.arange(1 << 18, dtype=np.float64).reshape(1 << 9, 1 << 9).T)
    held = []
    sent, _ = share.dumps(x, None, held=held)
    assert len(held) == 1
    assert jtorch.equal(share.loads(sent), x)


def test_a_view_is_sent_without_what_it_does_not_show():
    from jtorch.utils.data._utils import share
    x = jtorch.arange(100_000)
    text, path, parts = share.dumps(x[3:5], None)[0]
    assert len(text) + sum(map(len, parts)) < 2000
    assert share.loads((text, path, parts)).tolist() == [3, 4]
    a, b = share.loads(share.dumps([x, x.reshape(10, -1)], None)[0])
    a[0] = 7
    assert int(b[0, 0]) == 7        # Tensors that shared memory before they were sent still share it.


def test_history_is_not_sent():
    from jtorch.utils.data._utils import share
    with pytest.raises(RuntimeError, match="Cowardly refusing to serialize non-leaf tensor which requires_grad"):
        share.dumps(jtorch.ones(2, requires_grad=True) * 2, None)


def test_a_memory_map_is_opened_by_the_worker(tmp_path):
    from jtorch.utils.data._utils import share
    table = np.memmap(tmp_path / "table", np.float32, "w+", shape=(1000, 50))
    table[:] = 3
    table.flush()
    text, _, parts = share.dumps(table, None)[0]
    assert len(text) + sum(map(len, parts)) < 2000
    opened = share.loads((text, None, parts))
    assert (opened.shape, float(opened.sum())) == ((1000, 50), 150_000)


def test_workers_do_not_start_xla():
    assert {int(started) for _, started in DataLoader(samples.XlaStarted(4), num_workers=2)} == {0}


def test_what_cannot_be_sent_is_loaded_by_threads(monkeypatch):
    from jtorch.utils.data._utils import share
    monkeypatch.setattr(share, "has_cloudpickle", lambda: False)
    with pytest.warns(UserWarning, match="DataLoader uses threads as workers"):
        found = list(DataLoader(range(4), num_workers=2, collate_fn=lambda batch: batch))
    assert found == [[0], [1], [2], [3]]


def test_a_lambda_is_sent_with_its_code():
    pytest.importorskip("cloudpickle")
    found = list(DataLoader(range(4), num_workers=2, collate_fn=lambda batch: (batch[0] * 2, os.getpid())))
    assert [f[0] for f in found] == [0, 2, 4, 6]
    assert os.getpid() not in {f[1] for f in found}


def test_what_cannot_be_sent_by_a_given_way():
    with pytest.warns(UserWarning, match="Got pickle error when attempting to start a worker Process"), \
            pytest.raises((AttributeError, TypeError)):
        iter(DataLoader(range(4), num_workers=1, collate_fn=lambda batch: batch, multiprocessing_context="spawn"))


def test_threads_have_generators_of_their_own():
    jtorch.manual_seed(0)
    loader = DataLoader(samples.Drawn(6, "jtorch"), num_workers=2, multiprocessing_context="thread", batch_size=None)
    first = [(f[3], f[4]) for f in loader]
    after = float(jtorch.rand(1))
    jtorch.manual_seed(0)
    assert [(f[3], f[4]) for f in loader] == first
    assert float(jtorch.rand(1)) == after
    assert len({seed for _, seed in first}) == 2


@pytest.mark.parametrize("kind", KINDS)
def test_an_iterator_that_is_dropped_takes_its_workers_along(kind):
    batches = iter(DataLoader(samples.Squares(100), num_workers=2, multiprocessing_context=kind))
    next(batches)
    workers = batches._workers
    assert all(w.is_alive() for w in workers)
    del batches
    gc.collect()
    assert not any(w.is_alive() for w in workers)


SCRIPT = """
import os, sys
import jtorch as torch
class Mine(torch.utils.data.Dataset):
    def __len__(self): return 4
    def __getitem__(self, i): return i * 10, os.getpid()
def run():
    found = list(torch.utils.data.DataLoader(Mine(), num_workers=1))
    print([int(x) for x, _ in found], int(found[0][1]) == os.getpid())
"""


def run_script(path, text: str, run_python, *options: str) -> str:
    """Run a script in a process of its own without cloudpickle, and return its output."""
    path.write_text("import sys\nsys.modules['cloudpickle'] = None\n" + text)
    command = f"[sys.executable, '-W', 'ignore', {', '.join(repr(o) for o in (*options, str(path)))}]"
    return run_python(f"import subprocess, sys; done = subprocess.run({command}, capture_output=True, text=True); "
                      "print(done.stdout, done.stderr)")


def test_a_script_without_a_guard_is_not_run_again(tmp_path, run_python):
    out = run_script(tmp_path / "script.py", SCRIPT + "run()\n", run_python)
    assert "[0, 10, 20, 30] True" in out
    assert out.count("[0, 10") == 1


def test_a_guarded_script_run_as_torch(tmp_path, run_python):
    """Worker processes import the script's class, and get jtorch as ``torch`` too."""
    guarded = SCRIPT.replace("import jtorch as torch", "import torch") + "if __name__ == '__main__':\n    run()\n"
    assert "[0, 10, 20, 30] False" in run_script(tmp_path / "script.py", guarded, run_python, "-m", "jtorch")
