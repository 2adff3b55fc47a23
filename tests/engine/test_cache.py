"""A process reads programs compiled by an earlier process from disk."""
from __future__ import annotations

import errno
import os
import pickle
import re
import warnings
from pathlib import Path

import jax
import numpy as np
import pytest

from jtorch.engine import cache
from jtorch.engine.threads import ELSEWHERE

LOOP = """
import jtorch as torch
torch.manual_seed(0)
w = torch.randn(8, 8, requires_grad=True)
x = torch.randn(4, 8)
for _ in range(4):
    loss = ((x @ w).tanh() ** 2).mean()
    loss.backward()
    with torch.no_grad():
        w -= 0.1 * w.grad
        w.grad = None
    last = loss.item()
print(last)
print(torch.engine.report())
"""


@pytest.fixture
def run(run_forked, tmp_path):
    """Return a function that runs the loop in a process of its own.

    It returns the loop's last loss, and the numbers of compiled and of read programs.
    """
    def run_loop(directory: str | None = None):
        printed = run_forked(LOOP, {"JTORCH_CACHE": str(tmp_path / "cache") if directory is None else directory, "JTORCH_ENGINE": "hot"})
        programs, kernels, loaded = re.search(r"(\d+) programs and (\d+) kernels compiled in .*\((\d+) read from disk\)",
                                              printed).groups()
        return printed.splitlines()[0], int(programs) + int(kernels), int(loaded)
    return run_loop


def files(tmp_path: Path) -> list[Path]:
    return sorted((tmp_path / "cache").iterdir())


def test_a_second_process_reads_what_the_first_compiled(run, tmp_path):
    first, made, loaded = run()
    assert made > 0
    assert loaded == 0
    assert len(files(tmp_path)) == made
    second, made, loaded = run()
    assert loaded == made > 0
    assert second == first


@pytest.mark.slow
def test_a_program_of_known_calls_is_read_without_being_traced(run_forked, tmp_path):
    code = LOOP + "print(torch.engine.stats.counters.read_untraced, torch.engine.stats.counters.programs)"
    settings = {"JTORCH_CACHE": str(tmp_path), "JTORCH_ENGINE": "hot"}
    untraced, programs = run_forked(code, settings).split()[-2:]
    assert int(untraced) == 0 < int(programs)
    again, as_many = run_forked(code, settings).split()[-2:]
    assert again == as_many == programs
    twice_as_fine = "import jax\njax.config.update('jax_default_matmul_precision', 'highest')\n" + code
    assert run_forked(twice_as_fine, settings).split()[-2] == "0"


def test_a_damaged_file_is_made_anew(run, tmp_path):
    first, _, _ = run()
    for path in files(tmp_path):
        path.write_bytes(path.read_bytes()[:100])
    again, _, loaded = run()
    assert again == first
    assert loaded == 0
    assert min(path.stat().st_size for path in files(tmp_path)) > 100


def test_a_directory_that_others_may_write_to_is_not_used(run, tmp_path):
    (tmp_path / "cache").mkdir()
    (tmp_path / "cache").chmod(0o777)
    run()
    assert files(tmp_path) == []


@pytest.mark.parametrize("off", ["", "0"])
def test_off(run, tmp_path, off):
    _, _, loaded = run(off)
    assert loaded == 0
    assert not (tmp_path / "cache").exists()


@pytest.mark.parametrize(("flags", "levels"), [("", [1]), ("--xla_backend_optimization_level=2", [])])
def test_a_level_of_optimization_in_xlas_flags_is_used(monkeypatch, flags, levels):
    monkeypatch.setenv("XLA_FLAGS", flags)
    options = cache._options("", ELSEWHERE, "cpu", tries=True)
    assert [value for name, value in options.items() if "optimization_level" in name] == levels


def test_the_oldest_files_go(tmp_path, monkeypatch):
    monkeypatch.setattr(cache, "MAX_BYTES", 250)
    monkeypatch.setattr(cache, "_trimmed", 0.0)
    for age, name in enumerate("abcd"):
        (tmp_path / name).write_bytes(bytes(100))
        os.utime(tmp_path / name, (1000 - age, 1000 - age))
    cache._trim(tmp_path)
    assert sorted(p.name for p in tmp_path.iterdir()) == ["a", "b"]


def test_programs_that_leave_out_other_arguments_are_told_apart(tmp_path):
    """JAX drops unused arguments, so the two programs have one text: each doubles its remaining argument."""
    before = cache.get_cache_dir()
    cache.set_cache_dir(tmp_path)
    try:
        given = np.ones(3, np.float32), np.full(3, 5, np.float32)
        made = [cache.kernel(jax.jit(f).lower(*given)) for f in (lambda x, y: x * 2, lambda x, y: y * 2)]
        made.append(cache.kernel(jax.jit(lambda x: x * 2).lower(given[0])))
        assert [made[0](*given)[0], made[1](*given)[0], made[2](given[1])[0]] == [2, 10, 10]
        longer = np.ones(4, np.float32), given[1]       # JAX checks the shapes of unused arguments too.
        assert cache.kernel(jax.jit(lambda x, y: y * 2).lower(*longer))(*longer)[0] == 10
    finally:
        cache.set_cache_dir(before)


LINALG = """
import jtorch as torch
a = torch.eye(40) + torch.arange(1600.0).reshape(40, 40) / 4000
for _ in range(40):
    q, r = torch.linalg.qr(a)
    x = torch.linalg.solve(a, torch.ones(40, 1))
    total = (q @ r).sum() + torch.linalg.cholesky(a.mT @ a).diagonal().log().sum() + x.sum() + torch.linalg.svdvals(a)[0]
    last = total.item()
counters = torch.engine.stats.counters
print(round(last, 2), counters.programs > 0, counters.read_untraced)
"""


@pytest.mark.slow
def test_programs_that_call_lapack_are_read_by_a_process_that_has_not_traced_one(run_forked, tmp_path):
    """JAX looks LAPACK's functions up when it lowers their calls. Without this, the program would jump to an invalid
    address.
    """
    env = {"JTORCH_CACHE": str(tmp_path / "cache"), "JTORCH_ENGINE": "hot"}
    first, second = [run_forked(LINALG, env).split() for _ in range(2)]
    assert first[:2] == second[:2] and first[1] == "True"
    assert (int(first[2]), int(second[2]) > 0) == (0, True)


@pytest.fixture
def kept_in(tmp_path, monkeypatch):
    """Set an empty cache and forget the warning of an earlier one."""
    monkeypatch.setattr(cache, "_said", [False])
    monkeypatch.setattr(cache, "_failures", [])
    monkeypatch.setattr(cache, "_directory", [str(tmp_path / "cache")])
    return tmp_path / "cache"


def fails(number):
    def fail(*args, **kwargs):
        raise OSError(number, os.strerror(number), args[0] if args else None)
    return fail


def doubled(offset: float):
    """Return the result of a kernel that no earlier test has compiled."""
    given = np.ones(3, np.float32)
    made = cache.kernel(jax.jit(lambda x: x * 2 + offset).lower(given))
    return made(given)[0]


@pytest.mark.parametrize(("place", "name", "number"), [
    (os, "makedirs", errno.EROFS), (os, "replace", errno.ENOSPC), (os, "utime", errno.EROFS), (os, "stat", errno.EACCES),
    (os, "scandir", errno.EIO), (cache.tempfile, "mkstemp", errno.EROFS), (cache.Path, "read_bytes", errno.EIO)])
def test_a_file_system_that_fails_ends_nothing_and_is_warned_of_once(kept_in, monkeypatch, place, name, number):
    if name != "makedirs":
        doubled(3)
        cache._trimmed = 0.0
    monkeypatch.setattr(cache, "_checked", {})
    monkeypatch.setattr(place, name, fails(number))
    with warnings.catch_warnings(record=True) as given:
        warnings.simplefilter("always")
        assert [doubled(offset) for offset in (3, 4, 5)] == [5, 6, 7]
    monkeypatch.undo()
    assert len(given) == (name not in ("utime", "scandir"))
    assert all(["JTORCH_CACHE" in str(w.message) for w in given])


@pytest.mark.parametrize("content", [b"", b"garbage", pickle.dumps(3), pickle.dumps((b"x", None, None, False))])
def test_an_entry_that_is_garbage_and_cannot_be_removed_is_compiled_anew(kept_in, monkeypatch, content):
    doubled(6)
    for path in kept_in.iterdir():
        path.write_bytes(content)
    monkeypatch.setattr(os, "unlink", fails(errno.EROFS))
    monkeypatch.setattr(os, "replace", fails(errno.EROFS))
    with pytest.warns(UserWarning, match="Read-only file system") as given:
        assert doubled(6) == 8
    monkeypatch.undo()
    assert len(given) == 1


def test_an_entry_that_is_a_directory_is_passed_over(kept_in):
    doubled(7)
    for path in [*kept_in.iterdir()]:
        path.unlink()
        path.mkdir()
    with pytest.warns(UserWarning, match="Is a directory") as given:
        assert [doubled(7), doubled(7)] == [9, 9]
    assert len(given) == 1
    assert [path.is_dir() for path in kept_in.iterdir()] == [True]


def test_a_directory_that_vanishes_is_warned_of_once(kept_in):
    doubled(8)
    for path in kept_in.iterdir():
        path.unlink()
    kept_in.rmdir()
    with pytest.warns(UserWarning, match="No such file or directory") as given:
        assert [doubled(8), doubled(9)] == [10, 11]
    assert len(given) == 1


@pytest.mark.parametrize("name", ["a file/below", "a name\0 with NUL"])
def test_a_directory_that_cannot_be_made_is_warned_of_once(tmp_path, monkeypatch, kept_in, name):
    (tmp_path / "a file").write_text("")
    monkeypatch.setattr(cache, "_directory", [str(tmp_path / name)])
    with pytest.warns(UserWarning, match="programs are compiled without it") as given:
        assert [doubled(10), doubled(11)] == [12, 13]
    assert len(given) == 1


READ_ONLY = """
import errno, os, sys, tempfile, warnings
import jtorch as torch

def fail(*args, **kwargs):
    raise OSError(errno.EROFS, "Read-only file system")

if os.environ.get("FAILS"):
    for place, name in ((os, "replace"), (os, "unlink"), (os, "utime"), (tempfile, "mkstemp")):
        setattr(place, name, fail)
warnings.simplefilter("always")
torch.manual_seed(0)
model = torch.nn.Linear(4, 3)
optimizer = torch.optim.Adam(model.parameters())
x = torch.randn(8, 4)
with warnings.catch_warnings(record=True) as given:
    warnings.simplefilter("always")
    for _ in range(20):
        optimizer.zero_grad()
        loss = model(x).square().mean()
        loss.backward()
        optimizer.step()
        last = loss.item()
print(last)
print([str(w.message)[:34] for w in given])
"""


def test_training_goes_on_with_damaged_entries_on_a_read_only_file_system(run_forked, tmp_path):
    env = {"JTORCH_CACHE": str(tmp_path / "cache"), "JTORCH_ENGINE": "hot"}
    first = run_forked(READ_ONLY, env).splitlines()
    assert first[1] == "[]"
    for path in files(tmp_path):
        path.write_bytes(b"damaged")
    again = run_forked(READ_ONLY, env | {"FAILS": "1"}).splitlines()
    assert again == [first[0], "['The cache of compiled programs in ']"]


AFTER_THE_IMPORT = """
import os
import jtorch as torch
os.environ["JTORCH_CACHE"] = "/first"
print(torch.engine.get_cache_dir())
os.environ["JTORCH_CACHE"] = "0"
print(torch.engine.get_cache_dir())
"""


def test_the_environment_is_read_at_the_first_use(run_forked):
    assert run_forked(AFTER_THE_IMPORT).split() == ["/first", "/first"]
