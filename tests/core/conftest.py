"""Fixtures of the tests of the core."""
from __future__ import annotations

import os

import pytest


@pytest.fixture
def errors_at_the_call():
    """For errors that depend on values, which compiled records raise at their end."""
    if os.environ.get("JTORCH_ENGINE") == "hot":
        pytest.skip("errors of values come at the end of a compiled record")
