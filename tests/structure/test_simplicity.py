"""Limits for the length and the branches of a call's path."""
from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]

PRODUCT = """
import sys
import jtorch as torch
from jtorch import engine
for _ in range(3):          # the last time each call is known
    x = torch.ones(4, 4, requires_grad={requires_grad}) * 1.0
    row, factor = x[1], torch.full((4,), 2.0)
    frames = []
    sys.setprofile(lambda frame, event, arg: frames.append(frame.f_code.co_qualname) if event == "call" else None)
    row.mul_(factor)
    sys.setprofile(None)
    engine.end()
print(*frames)
"""


@pytest.mark.parametrize(("requires_grad", "mode"), [(True, "hot"), (False, "hot"), (False, "eager")])
def test_a_product_in_place_through_a_view_passes_few_frames(run_python, requires_grad, mode):
    """Count the frames without the extension: with and without a graph, and for calls that run at once."""
    frames = run_python(PRODUCT.format(requires_grad=requires_grad), {"JTORCH_SPEEDUPS": "0", "JTORCH_ENGINE": mode}).split()
    assert "call_inplace" in frames
    assert len(frames) < 60, frames


def test_functions_of_dispatch_have_few_branches():
    """The limit of cyclomatic complexity is 14, as in pyproject.toml."""
    done = subprocess.run([sys.executable, "-m", "ruff", "check", "--select", "C901", "--no-cache", "jtorch/dispatch"], cwd=ROOT,
                          capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout + done.stderr
