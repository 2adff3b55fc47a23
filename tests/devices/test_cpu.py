"""torch.cpu: the features of the CPU."""
from __future__ import annotations

import platform

import pytest


def test_capabilities_are_those_that_pytorch_finds(torch):
    import jtorch
    expected, got = torch.cpu.get_capabilities(), jtorch.cpu.get_capabilities()
    assert got["architecture"] == expected["architecture"] == platform.machine()
    # Compare only instruction sets that Linux lists in /proc/cpuinfo, which jtorch reads. PyTorch asks the CPU itself.
    common = {"sse2", "sse4_2", "avx", "avx2", "fma3", "f16c", "popcnt", "neon"} & set(expected)
    assert {k: got[k] for k in common} == {k: expected[k] for k in common}


def test_they_cannot_be_changed(xp):
    with pytest.raises(TypeError):
        xp.cpu.get_capabilities()["avx2"] = False
