"""Sequential as a list of modules: joined, repeated, and compared."""
from __future__ import annotations

import pytest
from bodies import written

CALLS = [
    lambda xp, s, t, named, own: s + t,
    lambda xp, s, t, named, own: s + [xp.nn.Tanh()],
    lambda xp, s, t, named, own: s * 2,
    lambda xp, s, t, named, own: 2 * s,
    lambda xp, s, t, named, own: s * 0,
    lambda xp, s, t, named, own: s * 1.5,
    lambda xp, s, t, named, own: s * True,
    lambda xp, s, t, named, own: named + t,
    lambda xp, s, t, named, own: named * 2,
    lambda xp, s, t, named, own: own + t,
    lambda xp, s, t, named, own: own * 2,
    lambda xp, s, t, named, own: s.__iadd__(t),
    lambda xp, s, t, named, own: own.__imul__(3),
    lambda xp, s, t, named, own: own.__iadd__(t),
    lambda xp, s, t, named, own: s.__imul__(-1),
    lambda xp, s, t, named, own: [a is b for a, b in zip(s, s * 2)],
]


@pytest.mark.parametrize("call", CALLS, ids=written)
def test_arithmetic(same, call):
    def run(xp):
        class Own(xp.nn.Sequential):
            pass
        named = xp.nn.modules.container.OrderedDict(a=xp.nn.ReLU(), b=xp.nn.Sigmoid())
        s, t = xp.nn.Sequential(xp.nn.ReLU(), xp.nn.Linear(2, 2)), xp.nn.Sequential(xp.nn.Tanh())
        try:
            return call(xp, s, t, xp.nn.Sequential(named), Own(xp.nn.ReLU()))
        except (TypeError, ValueError) as error:
            return type(error).__name__, str(error).replace("jtorch.", "torch.")
    same(run)


def test_joining_does_not_copy(xp):
    s = xp.nn.Sequential(xp.nn.Linear(2, 2))
    twice = s * 2
    assert twice[0] is twice[1] is s[0] and len(list(twice.parameters())) == 2
    s += s * 2
    assert len(s) == 3
