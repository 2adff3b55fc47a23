"""Checkpoints of several ranks: read by other numbers of ranks, by PyTorch, and after a kill."""
from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest
from libraries import HAS_TORCH, NO_TORCH
from process_programs import text_of, written

PROGRAM = "checkpoint.py"


def loaded(library: str, processes: int, folder: Path, to: Path) -> list[str]:
    """Return the state of the first rank after loading."""
    return [line for line in written(library, processes, PROGRAM, to, "load", str(folder)) if line.startswith("0:")]


@pytest.mark.nightly
@pytest.mark.conformance
@pytest.mark.skipif(not HAS_TORCH, reason=NO_TORCH)
def test_pytorch_reads_what_four_ranks_wrote(tmp_path):
    written("jtorch", 4, PROGRAM, tmp_path / "saved", "save", str(tmp_path / "checkpoint"))
    ours = loaded("jtorch", 2, tmp_path / "checkpoint", tmp_path / "ours")
    assert ours == loaded("torch", 1, tmp_path / "checkpoint", tmp_path / "theirs")
    assert ours == loaded("jtorch", 1, tmp_path / "checkpoint", tmp_path / "alone")


@pytest.mark.nightly
@pytest.mark.conformance
@pytest.mark.skipif(not HAS_TORCH, reason=NO_TORCH)
def test_what_pytorch_wrote_is_read(tmp_path):
    theirs = written("torch", 4, PROGRAM, tmp_path / "theirs", "save", str(tmp_path / "checkpoint"))
    assert theirs == written("jtorch", 4, PROGRAM, tmp_path / "ours", "async", str(tmp_path / "own"))
    assert loaded("jtorch", 2, tmp_path / "checkpoint", tmp_path / "a") == loaded("jtorch", 2, tmp_path / "own", tmp_path / "b")


@pytest.mark.parametrize("processes", [pytest.param(2, marks=pytest.mark.slow), pytest.param(4, marks=pytest.mark.nightly)])
def test_safetensors_files(processes, tmp_path, same, full):
    pytest.importorskip("safetensors")
    ours = written("jtorch", processes, "hugging_face.py", tmp_path / "ours", str(tmp_path / "a"))
    assert ours == same.lines(text_of("hugging_face.py", processes), lambda: written(
        "torch", processes, "hugging_face.py", tmp_path / "theirs", str(tmp_path / "b")), anew=full)
    assert len(ours) > 3 * processes


KILLED = """
import os, sys, warnings
import jtorch as torch
import jtorch.distributed.checkpoint as dcp
warnings.simplefilter("ignore")
dcp.save({"x": torch.ones(4)}, checkpoint_id=sys.argv[1])
os.fsync = lambda fd: os._exit(9)       # before anything of the second save is complete
dcp.save({"x": torch.zeros(4)}, checkpoint_id=sys.argv[1])
"""
READ = """
import sys, warnings
import jtorch as torch
import jtorch.distributed.checkpoint as dcp
warnings.simplefilter("ignore")
state = {"x": torch.full((4,), 7.)}
dcp.load(state, checkpoint_id=sys.argv[1])
print(state["x"].tolist())
"""


def test_a_kill_leaves_the_last_one_whole(tmp_path):
    killed = subprocess.run([sys.executable, "-c", KILLED, str(tmp_path)], capture_output=True, text=True, check=False)
    assert killed.returncode == 9, killed.stderr
    read = subprocess.run([sys.executable, "-c", READ, str(tmp_path)], capture_output=True, text=True, check=False)
    assert read.stdout == "[1.0, 1.0, 1.0, 1.0]\n", read.stderr


def test_metadata_make_nothing_else(tmp_path):
    import pickle

    import jtorch.distributed.checkpoint as dcp

    class Evil:
        def __reduce__(self):
            return print, ("run",)
    (tmp_path / ".metadata").write_bytes(pickle.dumps(Evil()))
    with pytest.raises(pickle.UnpicklingError, match="no business with builtins.print"):
        dcp.FileSystemReader(tmp_path).read_metadata()
