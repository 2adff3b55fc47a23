"""The contents of new memory under deterministic algorithms."""
from __future__ import annotations

import pytest

pytestmark = pytest.mark.core


@pytest.fixture
def deterministic(xp):
    xp.use_deterministic_algorithms(True)
    yield
    xp.use_deterministic_algorithms(False)
    xp.utils.deterministic.fill_uninitialized_memory = True


def test_it_shows(xp, deterministic):
    for t in (xp.empty(3), xp.empty_like(xp.zeros(3)), xp.empty_strided((3,), (2,)), xp.zeros(2).new_empty(3), xp.empty(3, out=xp.ones(3))):
        assert t.isnan().all()
    assert xp.empty(1, dtype=xp.int8).item() == 127 and xp.empty(1, dtype=xp.bool).item() is True
    assert xp.ones(2).resize_(3).isnan().tolist() == [False, False, True]


def test_it_is_left_alone(xp, deterministic):
    xp.utils.deterministic.fill_uninitialized_memory = False
    assert xp.ones(2).resize_(3).shape == (3,)
    with pytest.raises(RuntimeError, match="expected a bool, but got int"):
        xp.utils.deterministic.fill_uninitialized_memory = 1
    with pytest.raises(TypeError, match="must be bool, not int"):
        xp.use_deterministic_algorithms(1)
