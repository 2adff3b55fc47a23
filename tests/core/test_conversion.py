"""Tensors as Python objects: numbers, lists, truth, iteration, formatting, copies, pickles, attributes."""
from __future__ import annotations

import pytest

pytestmark = pytest.mark.core

PYTHON = [
    'len(xp.ones(3)), len(xp.ones(3, 2))',
    'len(xp.tensor(1))',
    'list(xp.arange(3))',
    'list(xp.tensor(1))',
    '[x for x in xp.ones(2, 2)]',
    '1 in xp.arange(3)',
    '5 in xp.arange(3)',
    'xp.tensor(1) in xp.arange(3)',
    '"a" in xp.arange(3)',
    'None in xp.arange(3)',
    '[1] in xp.arange(3)',
    'bool(xp.tensor(1)), bool(xp.tensor([0.])), bool(xp.tensor([[True]]))',
    'bool(xp.tensor([]))',
    'bool(xp.ones(2))',
    'bool(xp.tensor(1j))',
    'int(xp.tensor(1.7)), float(xp.tensor(2)), complex(xp.tensor(1.))',
    'int(xp.ones(2))',
    'float(xp.ones(2))',
    'complex(xp.ones(2))',
    'int(xp.tensor(1j))',
    'float(xp.tensor(1j))',
    'int(xp.tensor(float("nan")))',
    'int(xp.tensor(float("inf")))',
    'int(xp.tensor([[3]]))',
    'range(xp.tensor(3))',
    'range(xp.tensor(3.))',
    'range(xp.ones(2, dtype=xp.int64))',
    '[1, 2, 3][xp.tensor(1)]',
    '[1, 2, 3][xp.tensor([1])]',
    '[1, 2, 3][xp.tensor(True)]',
    '[1, 2, 3][xp.tensor(1.)]',
    'hex(xp.tensor(10))',
    'xp.tensor(3).item()',
    'xp.tensor(3.5).item()',
    'xp.tensor(0.1).item()',
    'xp.tensor(0.1, dtype=xp.float16).item()',
    'xp.tensor(0.1, dtype=xp.bfloat16).item()',
    'xp.tensor(True).item()',
    'xp.tensor([[1j]]).item()',
    'xp.ones(2).item()',
    'xp.tensor([]).item()',
    'xp.ones(2).tolist()',
    'xp.ones(2, 2, dtype=xp.int64).tolist()',
    'xp.ones(0, 3).tolist()',
    'xp.tensor(3).tolist()',
    'xp.tensor([0.1], dtype=xp.bfloat16).tolist()',
    'xp.ones(2, 3)[:, ::2].t().tolist()',
    'f"{xp.tensor(1.5):.3f}"',
    'f"{xp.tensor(3):5d}"',
    'f"{xp.ones(2)}"',
    'f"{xp.ones(2):.2f}"',
    '"{}".format(xp.tensor(1.5))',
    '"%.2f" % xp.tensor(1.5)',
    '"%d" % xp.tensor(3)',
    'str(xp.tensor(1.5))',
    'round(xp.tensor(1.567), 2)',
    'round(xp.tensor(1.567))',
    'abs(xp.tensor(-1))',
    'divmod(xp.tensor(7), 2)',
    '+xp.tensor([1.])',
    'reversed(xp.arange(3))',
    'sum(xp.arange(4))',
    'max(xp.tensor([1, 3, 2]))',
    'sorted(xp.tensor([3, 1, 2]))',
    'xp.ones(2) is not None',
    'import math; r = math.sqrt(xp.tensor(4.))',
    'import math; r = math.floor(xp.tensor(1.5))',
    'import math; r = math.trunc(xp.tensor(1.5))',
    'import math; r = math.ceil(xp.tensor(1.5))',
    'import copy; t = xp.ones(2); u = copy.copy(t); u[0] = 5; r = (t, u)',
    'import copy; t = xp.ones(2); a = [t, t, t[0:1]]; b = copy.deepcopy(a); b[0][0] = 7; r = (b, t, b[0] is b[1])',
    'import copy; t = xp.ones(2, 3).t(); r = copy.deepcopy(t)',
    'import copy; p = xp.nn.Parameter(xp.ones(2)); q = copy.deepcopy(p); r = (q, type(q).__name__)',
    'import pickle; r = pickle.loads(pickle.dumps(xp.arange(6).reshape(2, 3)))',
    'import pickle; r = pickle.loads(pickle.dumps(xp.arange(6).reshape(2, 3).t()))',
    'import pickle; r = pickle.loads(pickle.dumps(xp.arange(6)[2:4]))',
    'import pickle; t = xp.arange(3); a, b = pickle.loads(pickle.dumps((t, t))); r = a is b',
    'import pickle; r = pickle.loads(pickle.dumps(xp.nn.Parameter(xp.ones(2))))',
    'import pickle; r = pickle.loads(pickle.dumps(xp.ones(2, dtype=xp.bfloat16)))',
    'import pickle; r = pickle.loads(pickle.dumps(xp.float32)) is xp.float32',
    'import pickle; r = pickle.loads(pickle.dumps(xp.Size([1, 2])))',
    'import pickle; r = pickle.loads(pickle.dumps(xp.device("cpu")))',
    'import pickle; t = xp.ones(2); t.foo = 5; r = pickle.loads(pickle.dumps(t)).foo',
    'import copy; t = xp.ones(2); t.foo = [5]; r = copy.deepcopy(t).foo',
    't = xp.ones(2); t.foo = 1; r = t.foo',
    'xp.ones(2).bar',
]


def test_python(same):
    same(*PYTHON)


STATE = [
    'repr(xp.ones(2, requires_grad=True))',
    'import copy; t = xp.ones(2, requires_grad=True); u = copy.deepcopy(t); r = (u, u.requires_grad, u is t, u.data_ptr() == t.data_ptr())',
    'import copy; t = xp.ones(2, requires_grad=True) * 2; r = copy.deepcopy(t)',
    'import copy; t = xp.ones(2, requires_grad=True); t.grad = xp.ones(2); u = copy.deepcopy(t); r = (u.grad, u.grad is t.grad)',
    'import pickle; r = pickle.loads(pickle.dumps(xp.ones(2, requires_grad=True)))',
    'import pickle; t = xp.ones(2, requires_grad=True); t.grad = xp.ones(2); r = pickle.loads(pickle.dumps(t)).grad',
    'import pickle; r = pickle.dumps(xp.ones(2, requires_grad=True) * 2) and None',
    'import copy; r = copy.copy(xp.ones(2, requires_grad=True))',
    't = xp.ones(2); del t.grad; r = t.grad',
    't = xp.ones(2); t.requires_grad = True; r = t',
    't = xp.arange(2); t.requires_grad = True; r = t',
    'xp.arange(2).requires_grad_()',
    't = xp.ones(2, requires_grad=True) * 2; t.requires_grad = False; r = t',
    't = xp.ones(2); t.grad = 1; r = t',
    't = xp.ones(2); t.grad = xp.ones(3); r = t',
    't = xp.ones(2); t.grad = xp.ones(2, dtype=xp.float64); r = t',
    't = xp.ones(2); t.data = xp.zeros(3); r = t',
    't = xp.ones(2); t.data = 5; r = t',
    't = xp.ones(2, requires_grad=True); t.data = xp.arange(2); r = t',
    't = xp.ones(2, requires_grad=True); t.data.mul_(3); r = t',
    't = xp.ones(2, requires_grad=True); t.detach().mul_(3); r = t',
    't = xp.ones(2, requires_grad=True); d = t.detach(); d.zero_(); r = (t, t._version, d._version)',
    't = xp.ones(2); d = t.data; d.zero_(); r = (t, t._version, d._version)',
    'xp.ones(2).backward()',
    'xp.ones(2, requires_grad=True).backward()',
    '(xp.ones(2, requires_grad=True) * 2).backward()',
    'xp.tensor(1., requires_grad=True).backward()',
    'xp.tensor(1).backward()',
    '(xp.ones(2, requires_grad=True) * 2).sum().backward(xp.ones(2))',
    '(xp.ones(2, requires_grad=True) * 2).backward(xp.ones(3))',
    '(xp.ones(2, requires_grad=True) * 2).backward(1.0)',
    'x = xp.ones(2, requires_grad=True); y = (x * x).sum(); y.backward(); y.backward(); r = x',
    'x = xp.ones(2, requires_grad=True); y = (x * x).sum(); y.backward(); r = x.grad',
    'x = xp.ones(2, requires_grad=True); y = x.exp(); y.add_(1); y.sum().backward(); r = x.grad',
    'x = xp.ones(2, requires_grad=True); y = x * x; x.detach().add_(1); y.sum().backward(); r = x.grad',
    'xp.ones(2, requires_grad=True).tolist()',
]


def test_state(same):
    same(*STATE)




def test_pickle_keeps_aliases():
    import pickle

    import jtorch
    t = jtorch.arange(3)
    a, b = pickle.loads(pickle.dumps((t, t[1:])))
    a[1] = 9
    assert b.tolist() == [9, 2]


def test_capsules(xp):
    dlpack = xp.utils.dlpack
    a = xp.arange(4.0)
    capsule = dlpack.to_dlpack(a)
    b = dlpack.from_dlpack(capsule)
    b[0] = 9
    assert a.tolist() == b.tolist() == [9.0, 1.0, 2.0, 3.0]
    for wrong in (capsule, [1]):
        with pytest.raises(RuntimeError, match="from_dlpack received an invalid capsule"):
            dlpack.from_dlpack(wrong)
    assert xp.asarray(dlpack.to_dlpack(xp.ones(2)), dtype=xp.int32).tolist() == [1, 1]
    assert dlpack.from_dlpack(dlpack.to_dlpack(xp.ones(2, 3).t())).stride() == (1, 3)
