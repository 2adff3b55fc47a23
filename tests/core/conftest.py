"""Fixtures of the tests of the core."""
from __future__ import annotations

import os

import pytest


@pytest.fixture
def errors_at_the_call():
    """Let calls raise errors about values at once; programs raise them at their end."""
    if os.environ.get("JTORCH_ENGINE") == "hot":
        pytest.skip("errors of values come at the end of a compiled record")
