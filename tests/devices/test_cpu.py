"""torch.cpu: what the CPU can do."""
from __future__ import annotations

import platform

import pytest


def test_capabilities_are_those_that_pytorch_finds(torch):
    import jtorch
    expected, got = torch.cpu.get_capabilities(), jtorch.cpu.get_capabilities()
    assert got["architecture"] == expected["architecture"] == platform.machine()
    assert {k: v for k, v in got.items() if k in expected} == {k: expected[k] for k in got if k in expected}


def test_they_cannot_be_changed(xp):
    with pytest.raises(TypeError):
        xp.cpu.get_capabilities()["avx2"] = False
