"""Sequential as a list of modules: joined, repeated, and what it says of other things."""
from __future__ import annotations

import pytest

CALLS = ["s + t", "s + [xp.nn.Tanh()]", "s * 2", "2 * s", "s * 0", "s * 1.5", "s * True", "named + t", "named * 2", "own + t", "own * 2",
         "s.__iadd__(t)", "own.__imul__(3)", "own.__iadd__(t)", "s.__imul__(-1)", "[a is b for a, b in zip(s, s * 2)]"]


@pytest.mark.parametrize("call", CALLS)
def test_arithmetic(same, call):
    def run(xp):
        class Own(xp.nn.Sequential):
            pass
        named = xp.nn.modules.container.OrderedDict(a=xp.nn.ReLU(), b=xp.nn.Sigmoid())
        names = {"xp": xp, "s": xp.nn.Sequential(xp.nn.ReLU(), xp.nn.Linear(2, 2)), "t": xp.nn.Sequential(xp.nn.Tanh()),
                 "named": xp.nn.Sequential(named), "own": Own(xp.nn.ReLU())}
        try:
            return eval(call, names)
        except (TypeError, ValueError) as error:
            return type(error).__name__, str(error).replace("jtorch.", "torch.")
    same(run)


def test_joining_does_not_copy(xp):
    s = xp.nn.Sequential(xp.nn.Linear(2, 2))
    twice = s * 2
    assert twice[0] is twice[1] is s[0] and len(list(twice.parameters())) == 2
    s += s * 2
    assert len(s) == 3
