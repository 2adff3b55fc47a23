"""``same``: one body run by both libraries, whose outcomes have to be the same."""
from __future__ import annotations

import os

import pytest
from outcomes import compare, expression


@pytest.fixture
def errors_at_the_call():
    """For errors that depend on values, which compiled records raise at their end."""
    if os.environ.get("JTORCH_ENGINE") == "hot":
        pytest.skip("errors of values come at the end of a compiled record")


@pytest.fixture
def same(torch):
    """``same(*bodies, rtol=…)``: bodies (functions of ``xp``, or sources) whose outcomes must agree."""
    import jtorch
    torch.set_warn_always(True)     # not once in a process, or the order of the tests would decide

    def check(*bodies, rtol: float = 1e-5):
        compare([expression(b) if isinstance(b, str) else b for b in bodies], torch, jtorch, rtol)
    return check
