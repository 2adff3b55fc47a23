"""Fixtures of the tests of the core."""
from __future__ import annotations

import os

import pytest


@pytest.fixture
def errors_at_the_call():
    """Skip the test in the mode of the engine that raises errors about values at a program's end, not at the call."""
    if os.environ.get("JTORCH_ENGINE") == "hot":
        pytest.skip("errors of values come at the end of a compiled record")
