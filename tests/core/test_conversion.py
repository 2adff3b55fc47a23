"""Tensors as Python objects: numbers, lists, truth, iteration, formatting, copies, pickles, attributes."""
from __future__ import annotations

import copy
import math
import pickle

import pytest
from bodies import Programs, words

pytestmark = pytest.mark.core

PYTHON = [
    lambda xp: (len(xp.ones(3)), len(xp.ones(3, 2))),
    lambda xp: len(xp.tensor(1)),
    lambda xp: list(xp.arange(3)),
    lambda xp: list(xp.tensor(1)),
    lambda xp: [x for x in xp.ones(2, 2)],      # noqa: C416
    lambda xp: 1 in xp.arange(3),
    lambda xp: 5 in xp.arange(3),
    lambda xp: xp.tensor(1) in xp.arange(3),
    lambda xp: "a" in xp.arange(3),
    lambda xp: None in xp.arange(3),
    lambda xp: [1] in xp.arange(3),
    lambda xp: (bool(xp.tensor(1)), bool(xp.tensor([0.])), bool(xp.tensor([[True]]))),
    lambda xp: bool(xp.tensor([])),
    lambda xp: bool(xp.ones(2)),
    lambda xp: bool(xp.tensor(1j)),
    lambda xp: (int(xp.tensor(1.7)), float(xp.tensor(2)), complex(xp.tensor(1.))),
    lambda xp: int(xp.ones(2)),
    lambda xp: float(xp.ones(2)),
    lambda xp: complex(xp.ones(2)),
    lambda xp: int(xp.tensor(1j)),
    lambda xp: float(xp.tensor(1j)),
    lambda xp: int(xp.tensor(float("nan"))),
    lambda xp: int(xp.tensor(float("inf"))),
    lambda xp: int(xp.tensor([[3]])),
    lambda xp: range(xp.tensor(3)),
    lambda xp: range(xp.tensor(3.)),
    lambda xp: range(xp.ones(2, dtype=xp.int64)),
    lambda xp: [1, 2, 3][xp.tensor(1)],
    lambda xp: [1, 2, 3][xp.tensor([1])],
    lambda xp: [1, 2, 3][xp.tensor(True)],
    lambda xp: [1, 2, 3][xp.tensor(1.)],
    lambda xp: hex(xp.tensor(10)),
    lambda xp: xp.tensor(3).item(),
    lambda xp: xp.tensor(3.5).item(),
    lambda xp: xp.tensor(0.1).item(),
    lambda xp: xp.tensor(0.1, dtype=xp.float16).item(),
    lambda xp: xp.tensor(0.1, dtype=xp.bfloat16).item(),
    lambda xp: xp.tensor(True).item(),
    lambda xp: xp.tensor([[1j]]).item(),
    lambda xp: xp.ones(2).item(),
    lambda xp: xp.tensor([]).item(),
    lambda xp: xp.ones(2).tolist(),
    lambda xp: xp.ones(2, 2, dtype=xp.int64).tolist(),
    lambda xp: xp.ones(0, 3).tolist(),
    lambda xp: xp.tensor(3).tolist(),
    lambda xp: xp.tensor([0.1], dtype=xp.bfloat16).tolist(),
    lambda xp: xp.ones(2, 3)[:, ::2].t().tolist(),
    lambda xp: f"{xp.tensor(1.5):.3f}",
    lambda xp: f"{xp.tensor(3):5d}",
    lambda xp: f"{xp.ones(2)}",
    lambda xp: f"{xp.ones(2):.2f}",
    lambda xp: "{}".format(xp.tensor(1.5)),      # noqa: UP032
    lambda xp: "%.2f" % xp.tensor(1.5),      # noqa: UP031
    lambda xp: "%d" % xp.tensor(3),      # noqa: UP031
    lambda xp: str(xp.tensor(1.5)),
    lambda xp: round(xp.tensor(1.567), 2),
    lambda xp: round(xp.tensor(1.567)),
    lambda xp: abs(xp.tensor(-1)),
    lambda xp: divmod(xp.tensor(7), 2),
    lambda xp: +xp.tensor([1.]),
    lambda xp: reversed(xp.arange(3)),
    lambda xp: sum(xp.arange(4)),
    lambda xp: max(xp.tensor([1, 3, 2])),
    lambda xp: sorted(xp.tensor([3, 1, 2])),
    lambda xp: xp.ones(2) is not None,
    lambda xp: math.sqrt(xp.tensor(4.)),
    lambda xp: math.floor(xp.tensor(1.5)),
    lambda xp: math.trunc(xp.tensor(1.5)),
    lambda xp: math.ceil(xp.tensor(1.5)),
    lambda xp: pickle.loads(pickle.dumps(xp.arange(6).reshape(2, 3))),
    lambda xp: pickle.loads(pickle.dumps(xp.arange(6).reshape(2, 3).t())),
    lambda xp: pickle.loads(pickle.dumps(xp.arange(6)[2:4])),
    lambda xp: pickle.loads(pickle.dumps(xp.nn.Parameter(xp.ones(2)))),
    lambda xp: pickle.loads(pickle.dumps(xp.ones(2, dtype=xp.bfloat16))),
    lambda xp: pickle.loads(pickle.dumps(xp.float32)) is xp.float32,
    lambda xp: pickle.loads(pickle.dumps(xp.Size([1, 2]))),
    lambda xp: pickle.loads(pickle.dumps(xp.device("cpu"))),
    lambda xp: xp.ones(2).bar,
]


def test_python(same):
    same(*PYTHON)


copies = Programs()


@copies
def copy_shares_memory(xp):
    t = xp.ones(2)
    u = copy.copy(t)
    u[0] = 5
    return t, u


@copies
def deepcopy_keeps_aliases(xp):
    t = xp.ones(2)
    a = [t, t, t[0:1]]
    b = copy.deepcopy(a)
    b[0][0] = 7
    return b, t, b[0] is b[1]


@copies
def deepcopy_of_a_transpose(xp):
    t = xp.ones(2, 3).t()
    return copy.deepcopy(t)


@copies
def deepcopy_of_a_parameter(xp):
    p = xp.nn.Parameter(xp.ones(2))
    q = copy.deepcopy(p)
    return q, type(q).__name__


@copies
def pickle_keeps_identity(xp):
    t = xp.arange(3)
    a, b = pickle.loads(pickle.dumps((t, t)))
    return a is b


@copies
def pickle_keeps_attributes(xp):
    t = xp.ones(2)
    t.foo = 5
    return pickle.loads(pickle.dumps(t)).foo


@copies
def deepcopy_keeps_attributes(xp):
    t = xp.ones(2)
    t.foo = [5]
    return copy.deepcopy(t).foo


@copies
def attribute_of_a_users_own(xp):
    t = xp.ones(2)
    t.foo = 1
    return t.foo


@pytest.mark.parametrize("program", copies, ids=words)
def test_copies_and_attributes(same, program):
    same(program)


STATE = [
    lambda xp: repr(xp.ones(2, requires_grad=True)),
    lambda xp: pickle.loads(pickle.dumps(xp.ones(2, requires_grad=True))),
    lambda xp: pickle.dumps(xp.ones(2, requires_grad=True) * 2) and None,
    lambda xp: copy.copy(xp.ones(2, requires_grad=True)),
    lambda xp: xp.arange(2).requires_grad_(),
    lambda xp: xp.ones(2).backward(),
    lambda xp: xp.ones(2, requires_grad=True).backward(),
    lambda xp: (xp.ones(2, requires_grad=True) * 2).backward(),
    lambda xp: xp.tensor(1., requires_grad=True).backward(),
    lambda xp: xp.tensor(1).backward(),
    lambda xp: (xp.ones(2, requires_grad=True) * 2).sum().backward(xp.ones(2)),
    lambda xp: (xp.ones(2, requires_grad=True) * 2).backward(xp.ones(3)),
    lambda xp: (xp.ones(2, requires_grad=True) * 2).backward(1.0),
    lambda xp: xp.ones(2, requires_grad=True).tolist(),
]


def test_state(same):
    same(*STATE)


states = Programs()


@states
def deepcopy_of_a_leaf(xp):
    t = xp.ones(2, requires_grad=True)
    u = copy.deepcopy(t)
    return u, u.requires_grad, u is t, u.data_ptr() == t.data_ptr()


@states
def deepcopy_of_a_result(xp):
    t = xp.ones(2, requires_grad=True) * 2
    return copy.deepcopy(t)


@states
def deepcopy_of_a_leaf_with_a_gradient(xp):
    t = xp.ones(2, requires_grad=True)
    t.grad = xp.ones(2)
    u = copy.deepcopy(t)
    return u.grad, u.grad is t.grad


@states
def pickle_leaves_the_gradient_out(xp):
    t = xp.ones(2, requires_grad=True)
    t.grad = xp.ones(2)
    return pickle.loads(pickle.dumps(t)).grad


@states
def gradient_deleted(xp):
    t = xp.ones(2)
    del t.grad
    return t.grad


@states
def gradient_wanted_later(xp):
    t = xp.ones(2)
    t.requires_grad = True
    return t


@states
def gradient_wanted_of_integers(xp):
    t = xp.arange(2)
    t.requires_grad = True
    return t


@states
def gradient_of_a_result_not_wanted(xp):
    t = xp.ones(2, requires_grad=True) * 2
    t.requires_grad = False
    return t


@states
def gradient_set_to_a_number(xp):
    t = xp.ones(2)
    t.grad = 1
    return t


@states
def gradient_of_another_size(xp):
    t = xp.ones(2)
    t.grad = xp.ones(3)
    return t


@states
def gradient_of_another_dtype(xp):
    t = xp.ones(2)
    t.grad = xp.ones(2, dtype=xp.float64)
    return t


@states
def data_of_another_size(xp):
    t = xp.ones(2)
    t.data = xp.zeros(3)
    return t


@states
def data_set_to_a_number(xp):
    t = xp.ones(2)
    t.data = 5
    return t


@states
def data_set_to_integers(xp):
    t = xp.ones(2, requires_grad=True)
    t.data = xp.arange(2)
    return t


@states
def write_to_data(xp):
    t = xp.ones(2, requires_grad=True)
    t.data.mul_(3)
    return t


@states
def write_to_detach(xp):
    t = xp.ones(2, requires_grad=True)
    t.detach().mul_(3)
    return t


@states
def versions_of_detach(xp):
    t = xp.ones(2, requires_grad=True)
    d = t.detach()
    d.zero_()
    return t, t._version, d._version


@states
def versions_of_data(xp):
    t = xp.ones(2)
    d = t.data
    d.zero_()
    return t, t._version, d._version


@states
def second_backward(xp):
    x = xp.ones(2, requires_grad=True)
    y = (x * x).sum()
    y.backward()
    y.backward()
    return x


@states
def one_backward(xp):
    x = xp.ones(2, requires_grad=True)
    y = (x * x).sum()
    y.backward()
    return x.grad


@states
def write_to_a_saved_result(xp):
    x = xp.ones(2, requires_grad=True)
    y = x.exp()
    y.add_(1)
    y.sum().backward()
    return x.grad


@states
def write_to_a_saved_argument(xp):
    x = xp.ones(2, requires_grad=True)
    y = x * x
    x.detach().add_(1)
    y.sum().backward()
    return x.grad


@pytest.mark.parametrize("program", states, ids=words)
def test_changes_of_state(same, program):
    same(program)



def test_pickle_keeps_aliases():
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


def test_to_with_copy_as_the_last_argument(xp):
    for arguments in ((xp.float32, False, True), ("cpu", xp.float32, False, True), (xp.ones(1), True, True)):
        x = xp.ones(2)
        x.to(*arguments).add_(1)
        assert x.tolist() == [1.0, 1.0]
    assert x.to(xp.float32, True) is x


def test_a_deep_copy_has_the_slots_of_a_subclass(xp):
    class Slotted(xp.Tensor):
        __slots__ = ("notes", "unset")

        def new_empty(self, *args, **options):
            return super().new_empty(*args, **options).as_subclass(Slotted)

    x = xp.ones(2).as_subclass(Slotted)
    x.notes = [1]
    y = copy.deepcopy(x)
    assert type(y) is Slotted and y.notes == [1] and y.notes is not x.notes and not hasattr(y, "unset")
