"""ParameterList and ParameterDict: conversions to parameters, order, text, errors."""
from __future__ import annotations

from collections import OrderedDict

import pytest


def test_list(xp):
    p = xp.nn.Parameter(xp.ones(2))
    params = xp.nn.ParameterList([p, xp.zeros(1, 3), "text"])
    assert params[0] is p
    assert isinstance(params[1], xp.nn.Parameter)
    assert params[-1] == "text"
    assert [n for n, _ in params.named_parameters()] == ["0", "1"]
    assert list(params.state_dict()) == ["0", "1"]
    params += [xp.ones(1)]
    params.append(xp.ones(4)).extend([xp.ones(5)])
    assert [n for n, _ in params.named_parameters()] == ["0", "1", "3", "4", "5"]
    assert len(params) == len(list(params)) == 6
    part = params[1:4]
    assert type(part) is xp.nn.ParameterList
    assert part[0] is params[1]
    params[0] = xp.full((3,), 7.0)
    assert params[0].tolist() == [7, 7, 7]
    assert repr(params) == ("ParameterList(\n    (0): Parameter containing: [torch.float32 of size 3]\n    (1): Parameter containing: "
                            "[torch.float32 of size 1x3]\n    (2): Object of type: str\n    (3): Parameter containing: [torch.float32 "
                            "of size 1]\n    (4): Parameter containing: [torch.float32 of size 4]\n    (5): Parameter containing: "
                            "[torch.float32 of size 5]\n)")
    assert repr(xp.nn.ParameterList()) == "ParameterList()"
    with pytest.raises(IndexError, match="index 6 is out of range"):
        params[6]


def test_list_in_a_module(xp):
    class Model(xp.nn.Module):
        def __init__(self):
            super().__init__()
            self.weights = xp.nn.ParameterList([xp.ones(2) for _ in range(2)])

        def forward(self, x):
            for w in self.weights:
                x = x * w
            return x

    model = Model()
    model(xp.ones(2)).sum().backward()
    assert [p.grad.tolist() for p in model.parameters()] == [[1, 1], [1, 1]]
    assert list(model.state_dict()) == ["weights.0", "weights.1"]
    assert model.double().weights[1].dtype is xp.float64


def test_dict(xp):
    params = xp.nn.ParameterDict({"b": xp.ones(2), "a": xp.zeros(1)})
    assert list(params) == ["a", "b"]
    assert list(xp.nn.ParameterDict(OrderedDict(b=1, a=2))) == ["b", "a"]
    assert isinstance(params["b"], xp.nn.Parameter)
    params.update([("d", xp.ones(3)), ("c", 5)])
    assert [n for n, _ in params.named_parameters()] == ["a", "b", "d"]
    assert list(reversed(params)) == ["c", "d", "b", "a"]
    assert "c" in params
    assert params.get("x") is None
    assert params.setdefault("e", xp.ones(1)) is params["e"]
    assert params.popitem()[0] == "e"
    assert params.pop("c") == 5
    assert dict(params.items()).keys() == params.keys()
    assert [tuple(v.shape) for v in params.values()] == [(1,), (2,), (3,)]
    assert repr(xp.nn.ParameterDict({"a": xp.ones(2, 3), "x": 1})) == (
        "ParameterDict(\n    (a): Parameter containing: [torch.FloatTensor of size 2x3]\n    (x): Object of type: int\n)")
    del params["a"]
    assert list(params.state_dict()) == ["b", "d"]
    with pytest.raises(KeyError):
        del params["a"]
    params.clear()
    assert len(params) == 0


def test_dicts_joined(xp):
    a, b = xp.nn.ParameterDict({"x": xp.ones(1)}), xp.nn.ParameterDict({"y": xp.ones(2), "x": xp.ones(3)})
    assert [tuple(v.shape) for v in (a | b).values()] == [(3,), (2,)]
    assert tuple(a["x"].shape) == (1,)
    a |= b
    assert list(a.copy()) == ["x", "y"]
    assert list(a.fromkeys(["p", "q"], 3).values()) == [3, 3]
