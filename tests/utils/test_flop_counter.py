"""FlopCounterMode counts as PyTorch's does."""
from __future__ import annotations

import importlib

import pytest
from libraries import library

MODELS = {
    "linear": lambda n: (n.Sequential(n.Linear(4, 8), n.ReLU(), n.Linear(8, 1, bias=False)), (2, 4)),
    "three_dims": lambda n: (n.Linear(4, 8), (2, 3, 4)),
    "convolutions": lambda n: (n.Sequential(n.Conv2d(4, 6, 3, stride=2, padding=1, groups=2), n.Conv2d(6, 4, 3, padding="same")), (1, 4, 9, 9)),
    "transposed": lambda n: (n.ConvTranspose2d(3, 4, 3, stride=2), (2, 3, 5, 5)),
    "conv1d": lambda n: (n.Conv1d(3, 4, 3, dilation=2), (2, 3, 9)),
}


def counter(xp, **options):
    return importlib.import_module(f"{xp.__name__}.utils.flop_counter").FlopCounterMode(display=False, **options)


def counted(xp, body):
    with counter(xp) as found, xp.no_grad():
        body()
    return found.get_total_flops(), {name: {str(op): n for op, n in c.items()} for name, c in found.get_flop_counts().items()}


@pytest.mark.parametrize("name", MODELS)
def test_modules(torch, name):
    def work(xp):
        model, shape = MODELS[name](xp.nn)
        return counted(xp, lambda: model(xp.ones(shape)))

    assert work(library("jtorch")) == work(torch)


PRODUCTS = [((2, 3), (3, 4)), ((5, 2, 3), (5, 3, 4)), ((5, 2, 3), (3, 4)), ((2, 3), (3,))]


@pytest.mark.parametrize("shapes", PRODUCTS)
def test_products(torch, shapes):
    a, b = (counted(xp, lambda xp=xp: xp.ones(shapes[0]) @ xp.ones(shapes[1])) for xp in (library("jtorch"), torch))
    assert a == b


def test_backward_is_refused():
    xp = library("jtorch")
    with counter(xp), pytest.raises(NotImplementedError, match="forward only"):
        xp.nn.Linear(2, 2)(xp.ones(1, 2)).sum().backward()
    assert counted(xp, lambda: xp.ones(2))[0] == 0


def test_einsum_and_attention_are_counted():
    xp = library("jtorch")
    assert counted(xp, lambda: xp.einsum("bij,bjk->bik", xp.ones(2, 3, 4), xp.ones(2, 4, 5)))[0] == 2 * 2 * 3 * 4 * 5
    q = xp.ones(1, 2, 3, 4)
    assert counted(xp, lambda: xp.nn.functional.scaled_dot_product_attention(q, q, q))[0] == 2 * 2 * 2 * 3 * 3 * 4
