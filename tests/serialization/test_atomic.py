"""A file that is saved again is replaced at once: a kill leaves the old checkpoint or the new one."""
from __future__ import annotations

import os
import random
import stat
import subprocess
import sys
from pathlib import Path

import pytest
from libraries import library

ROOT = Path(__file__).resolve().parents[2]

# For each line that it reads, this script forks a child that saves in a loop, and kills it some seconds after as many saves as the
# line says. So jtorch is imported only once.
SAVER = """
import os, signal, sys, time
import numpy as np
import jtorch as torch
from jtorch.serialization import atomic
path, unnamed = sys.argv[1], atomic._UNNAMED
states = [{"n": n, "w": torch.from_numpy(np.full(50_000, n)), "v": torch.from_numpy(np.full(7, n))} for n in (1, 2)]
torch.save(states[0], path)
print("ready", flush=True)
for line in sys.stdin:
    saves, seconds, named = line.split()
    atomic._UNNAMED = 0 if named == "True" else unnamed
    saved, told = os.pipe()
    child = os.fork()
    if not child:
        for i in range(10 ** 9):
            torch.save(states[i % 2], path)
            os.write(told, b"1")
    for _ in range(int(saves)):
        os.read(saved, 1)
    time.sleep(float(seconds))
    os.kill(child, signal.SIGKILL)
    os.waitpid(child, 0)
    os.close(saved)
    os.close(told)
    print("killed", flush=True)
"""


@pytest.mark.skipif(not hasattr(os, "fork"), reason="needs fork")
def test_a_killed_save_leaves_the_old_file_or_the_new_one(tmp_path, full):
    """Half of the saves write files with a name from the start, as on systems without unnamed files."""
    xp = library("jtorch")
    path = tmp_path / "x.pt"
    seen = set()
    with subprocess.Popen([sys.executable, "-c", SAVER, str(path)], stdin=subprocess.PIPE, stdout=subprocess.PIPE,
                          text=True, cwd=ROOT, env={**os.environ, "PYTHONPATH": str(ROOT)}) as saver:
        assert saver.stdout.readline() == "ready\n"
        for i in range(200 if full else 20):
            saver.stdin.write(f"{random.randrange(4)} {random.uniform(0, 0.01)} {i % 2 == 0}\n")
            saver.stdin.flush()
            assert saver.stdout.readline() == "killed\n"
            made = xp.load(path)
            n = made["n"]
            assert made["w"].eq(n).all() and made["v"].eq(n).all() and made["w"].shape == (50_000,)
            seen.add(n)
    assert seen == {1, 2}
    left = [name for name in os.listdir(tmp_path) if name != "x.pt"]
    assert all(name.startswith(".x.pt.") and name.endswith(".tmp") for name in left)
    assert len(left) <= 14 if not full else 110


def test_permissions_and_links_stay(tmp_path):
    xp = library("jtorch")
    xp.save(1, tmp_path / "new.pt")
    mask = os.umask(0)
    os.umask(mask)
    assert stat.S_IMODE(os.stat(tmp_path / "new.pt").st_mode) == 0o666 & ~mask
    os.chmod(tmp_path / "new.pt", 0o604)
    os.symlink("new.pt", tmp_path / "link.pt")
    xp.save(2, tmp_path / "link.pt")
    assert xp.load(tmp_path / "new.pt") == 2
    assert os.path.islink(tmp_path / "link.pt")
    assert stat.S_IMODE(os.stat(tmp_path / "new.pt").st_mode) == 0o604
    assert sorted(os.listdir(tmp_path)) == ["link.pt", "new.pt"]


def test_relative_paths(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    library("jtorch").save(1, "x.pt")
    assert library("jtorch").load("x.pt") == 1


def test_what_is_no_regular_file_is_written_to():
    library("jtorch").save(1, os.devnull)
    assert stat.S_ISCHR(os.stat(os.devnull).st_mode)


@pytest.mark.parametrize("unnamed", [True, False])
def test_an_error_while_writing_leaves_the_old_file(tmp_path, monkeypatch, unnamed):
    from jtorch.serialization import atomic, saving
    xp = library("jtorch")
    if not unnamed:
        monkeypatch.setattr(atomic, "_UNNAMED", 0)
    xp.save(1, tmp_path / "x.pt")

    def full_disk(storage):
        raise OSError(28, "No space left on device")
    monkeypatch.setattr(saving, "bytes_of", full_disk)
    with pytest.raises(OSError, match="No space left"):
        xp.save(xp.ones(3), tmp_path / "x.pt")
    assert xp.load(tmp_path / "x.pt") == 1
    assert os.listdir(tmp_path) == ["x.pt"]
