"""Equal parts of traces are compiled once, whatever came before them."""
import math

PROGRAM = """
import jtorch as torch
from jtorch.engine import policy
policy.MAX_CALLS = 50
def chain(x):
    for _ in range(120):
        x = x.sin()
    return x.tolist()[0]
x = torch.ones(4)
print(chain(x * 2), chain(x + 3), chain(torch.exp(x)), torch.engine.stats.counters.programs)
"""


def test_what_follows_different_starts(run_forked):
    *values, programs = run_forked(PROGRAM, {"JTORCH_ENGINE": "hot", "JTORCH_CACHE": "0"}).split()
    for value, expected in zip(values, (2., 4., math.e), strict=True):
        for _ in range(120):
            expected = math.sin(expected)
        assert abs(float(value) - expected) < 1e-5
    assert int(programs) == 3 + 1       # There is one program for the beginning of each chain, and one for the sines.
