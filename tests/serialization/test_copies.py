"""Plain pickles and copy.deepcopy of tensors, parameters and modules keep shared objects shared."""
from __future__ import annotations

import copy
import pickle

import pytest
from checkpoints import CASES, described
from libraries import library


def pickled(x):
    return pickle.loads(pickle.dumps(x))


WAYS = {"pickle": pickled, "deepcopy": copy.deepcopy}


@pytest.mark.parametrize("way", WAYS)
@pytest.mark.parametrize("case", ["classic_dtypes", "views", "of_arrays"])
def test_values_and_geometry(xp, way, case):
    assert described(WAYS[way](CASES[case](xp))) == described(CASES[case](xp))


@pytest.mark.parametrize("way", WAYS)
def test_leaves(xp, way):
    made = WAYS[way]({k: v for k, v in CASES["requiring_grad"](xp).items() if k != "result"})
    assert made["w"] is made["again"] and type(made["w"]) is xp.nn.Parameter
    assert made["x"].requires_grad and not made["frozen"].requires_grad
    assert made["w"].grad is None
    assert made["view of w"].tolist() == [0, 1]
    (made["x"] * made["w"]).sum().backward()


def test_aliases_of_tensors_stay_aliases(xp):
    made = copy.deepcopy(CASES["views"](xp))
    made["base"].fill_(5)
    assert made["part"].eq(5).all() and made["transposed"].eq(5).all()
    if xp.__name__ == "jtorch":     # A pickle of PyTorch does not keep tensors of one storage together.
        made = pickled(CASES["views"](xp))
        made["base"].fill_(5)
        assert made["part"].eq(5).all() and made["transposed"].eq(5).all()


def test_gradients_of_tensors_are_copied(xp):
    x = xp.ones(2, requires_grad=True)
    x.grad, x.note = xp.ones(2), "mine"
    made = copy.deepcopy(x)
    assert made.grad.tolist() == [1, 1] and made.grad is not x.grad and made.note == "mine"


def test_results_of_computation(xp):
    x = xp.ones(2, requires_grad=True)
    assert pickled(x * 2).is_leaf and pickled(x * 2).requires_grad
    with pytest.raises(RuntimeError, match="Only Tensors created explicitly by the user"):
        copy.deepcopy(x * 2)


@pytest.mark.parametrize("way", WAYS)
def test_modules(xp, way):
    model = xp.nn.Sequential(xp.nn.Linear(2, 2), xp.nn.Linear(2, 2))
    model[1].weight = model[0].weight
    model.register_forward_hook(_hook)
    model.extra = xp.zeros(1)
    made = WAYS[way](model)
    assert made[1].weight is made[0].weight and made[0].weight is not model[0].weight
    assert made(xp.ones(1, 2)).tolist() == model(xp.ones(1, 2)).tolist()
    assert list(made._forward_hooks.values()) == [_hook] and made.extra is not model.extra
    assert list(made.state_dict()) == list(model.state_dict())


def _hook(module, args, output):
    pass


@pytest.mark.parametrize("way", WAYS)
def test_optimizers(xp, way):
    p = xp.nn.Parameter(xp.ones(2))
    optimizer = xp.optim.Adam([p], lr=0.1)
    p.grad = xp.ones(2)
    optimizer.step()
    q, again = WAYS[way]((p, optimizer))
    assert again.param_groups[0]["params"][0] is q
    for x, o in ((p, optimizer), (q, again)):
        x.grad = xp.full((2,), 2.0)
        o.step()
    assert q.tolist() == p.tolist() != [1, 1]


@pytest.mark.parametrize("way", WAYS)
def test_small_things(xp, way):
    made = WAYS[way]({"d": xp.float16, "s": xp.Size([1, 2]), "dev": xp.device("cpu")})
    assert made == {"d": xp.float16, "s": xp.Size([1, 2]), "dev": xp.device("cpu")} and made["d"] is xp.float16
    assert type(made["s"]) is xp.Size


def test_generators(xp):
    g = xp.Generator().manual_seed(3)
    xp.rand(2, generator=g)
    made = pickled(g)
    assert made.initial_seed() == 3
    assert xp.rand(3, generator=made).tolist() == xp.rand(3, generator=g).tolist()


def test_copy_shares_memory(xp):
    x = xp.ones(2)
    y = copy.copy(x)
    y[0] = 5
    assert x[0] == 5 and y is not x


def test_storages_of_tensors_are_copied_once():
    xp = library("jtorch")
    x = xp.arange(4.0)
    for given in ([x[1:], x.view(2, 2), x], [x.view(2, 2), x], [x.view(xp.int32), x[1:]]):
        made = pickled(given)
        assert [t.tolist() for t in made] == [t.tolist() for t in given]
        assert [t.stride() for t in made] == [t.stride() for t in given]
        assert len({t.untyped_storage().data_ptr() for t in made}) == 1
