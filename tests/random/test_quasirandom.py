"""torch.quasirandom.SobolEngine: PyTorch's points."""
from __future__ import annotations

import pytest


@pytest.mark.conformance
@pytest.mark.parametrize("scramble", [False, True])
@pytest.mark.parametrize("dimension", [1, 3, 40])
def test_points(torch, dimension, scramble):
    import jtorch

    def drawn(xp):
        e = xp.quasirandom.SobolEngine(dimension, scramble, seed=5)
        found = [e.draw(), e.draw(5), e.fast_forward(3).draw(2, dtype=xp.float64), e.reset().draw_base2(4)]
        xp.manual_seed(3)
        again = xp.quasirandom.SobolEngine(dimension, scramble).fast_forward(2)
        return [repr(e), e.num_generated, *[(str(t.dtype), t.tolist()) for t in (*found, again.draw(3), again.quasi, e.sobolstate)]]
    assert drawn(jtorch) == drawn(torch)


def test_errors(xp):
    for d in (0, 21202):
        with pytest.raises(ValueError, match="Supported range of dimensionality"):
            xp.quasirandom.SobolEngine(d)
    e = xp.quasirandom.SobolEngine(2)
    e.draw(3)
    with pytest.raises(ValueError, match="The balance properties"):
        e.draw_base2(2)
