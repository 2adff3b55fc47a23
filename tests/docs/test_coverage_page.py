"""docs/coverage.md is right."""
from __future__ import annotations

import random
import re
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
PAGE = ROOT / "docs" / "coverage.md"
TRIED = 30     # Number of functions that are called with every dtype. --matrix-seed chooses the functions.


def test_what_it_says_is_here_is_here():
    import jtorch
    spaces = {"torch": jtorch, "torch.Tensor": jtorch.Tensor, "torch.nn.functional": jtorch.nn.functional}
    for title, body in re.findall(r"^## ([\w.]+)\n(.*?)(?=^## |\Z)", PAGE.read_text(), re.MULTILINE | re.DOTALL):
        space = spaces.get(title)
        if space is not None:
            missing = [n for n in re.findall(r"^\| `(\w+)` \| ✓", body, re.MULTILINE) if not hasattr(space, n)]
            assert not missing, title


@pytest.mark.conformance
def test_it_is_not_stale(torch, full, request):
    """The test compares every name and column. It tries the dtypes of some functions, or of all with ``--lane
    nightly``.
    """
    from tools import coverage
    known = {} if full else coverage.written()
    for name in random.Random(request.config.option.matrix_seed).sample(sorted(known), min(TRIED, len(known))):
        del known[name]
    assert PAGE.read_text() == coverage.page(known), "run `python -m tools.coverage`"
