"""Tests of modes and classes with ``__torch_dispatch__``."""
from __future__ import annotations

import pytest


@pytest.fixture(autouse=True, scope="module")
def forgotten_nodes():
    """Reset ``history.has_nodes`` after a module. While it is True, no backward of a later test runs as a known walk."""
    yield
    from jtorch._aten import history
    history.has_nodes = False
