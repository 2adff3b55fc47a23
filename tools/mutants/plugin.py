"""Plug into pytest: tell the recorder which test runs, and keep only the tests of a list.

The file that ``MUTANT_ONLY`` names lists the tests to keep. ``MUTANT_WITHOUT_TORCH`` hides PyTorch from the tests.
"""
from __future__ import annotations

import os
import sys
from pathlib import Path

import pytest

if "MUTANT_WITHOUT_TORCH" in os.environ:
    sys.modules["torch"] = None     # type: ignore[assignment]


@pytest.hookimpl(hookwrapper=True, tryfirst=True)
def pytest_runtest_protocol(item):
    """Tell the recorders of this process and of its child processes which test runs."""
    os.environ["MUTANT_TEST"] = item.nodeid
    yield
    os.environ["MUTANT_TEST"] = ""


def pytest_collection_modifyitems(config, items):
    """Keep the tests that are named in the file ``MUTANT_ONLY``."""
    if "MUTANT_ONLY" in os.environ:
        wanted = set(Path(os.environ["MUTANT_ONLY"]).read_text().splitlines())
        left = [item for item in items if item.nodeid not in wanted]
        items[:] = [item for item in items if item.nodeid in wanted]
        config.hook.pytest_deselected(items=left)
