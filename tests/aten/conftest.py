"""Tests of modes and classes with ``__torch_dispatch__``."""
from __future__ import annotations

import pytest


@pytest.fixture(autouse=True, scope="module")
def forgotten_nodes():
    """Let backwards of other tests be known again. Backwards of this module may have had wrappers among their nodes."""
    yield
    from jtorch._aten import history
    history.has_nodes = False
