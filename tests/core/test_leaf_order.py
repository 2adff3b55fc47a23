"""The order of gradients at leaves, as seen by hooks and by optimizers that step in backward."""
from __future__ import annotations

import warnings

import numpy as np
import pytest

from jtorch._backward.ready_queue import ReadyQueue, pop, push

MODULES = {     # Maps modules of torch.nn to arguments, keywords and input sizes.
    "Linear": ("Linear", (2, 2), {}, [(3, 2)]),
    "Linear of a vector": ("Linear", (2, 2), {}, [(2,)]),
    "Linear of batches": ("Linear", (2, 2), {}, [(4, 3, 2)]),
    "Bilinear": ("Bilinear", (2, 2, 1), {}, [(3, 2), (3, 2)]),
    "Conv1d": ("Conv1d", (1, 2, 2), {}, [(1, 1, 5)]),
    "InstanceNorm1d": ("InstanceNorm1d", (2,), {"affine": True}, [(3, 2, 4)]),
    "LayerNorm": ("LayerNorm", (4,), {}, [(3, 4)]),
    "attention": ("MultiheadAttention", (4, 2), {}, [(3, 2, 4)] * 3),
    "attention with further keys": ("MultiheadAttention", (4, 2), {"add_bias_kv": True}, [(3, 2, 4)] * 3),
    "attention of other sizes": ("MultiheadAttention", (4, 2), {"kdim": 3, "vdim": 3}, [(3, 2, 4), (3, 2, 3), (3, 2, 3)]),
    "TransformerEncoderLayer": ("TransformerEncoderLayer", (4, 2, 8), {}, [(3, 2, 4)]),
    "LSTMCell": ("LSTMCell", (2, 3), {}, [(2, 2)]),
    "GRUCell": ("GRUCell", (2, 3), {}, [(2, 2)]),
    "RNNCell": ("RNNCell", (2, 3), {}, [(2, 2)]),
    **{f"{name} {text}": (name, (2, 3), keywords, [(3, 2, 2)]) for name in ("LSTM", "GRU", "RNN") for text, keywords in {
        "of two layers": {"num_layers": 2}, "both ways": {"bidirectional": True}, "without biases": {"bias": False},
        "of all": {"num_layers": 2, "bidirectional": True}}.items()},
    "LSTM with projection": ("LSTM", (2, 3), {"proj_size": 2}, [(3, 2, 2)]),
}


def _order(leaves, result):
    found = []
    for name, leaf in leaves:
        leaf.register_post_accumulate_grad_hook(lambda leaf, name=name: found.append(name))
    result.sum().backward()
    return found


def _order_of_module(xp, name, arguments, keywords, sizes):
    module = getattr(xp.nn, name)(*arguments, **keywords)
    with warnings.catch_warnings(action="ignore"):      # PyTorch warns of features that oneDNN lacks.
        result = module(*[xp.ones(*size) for size in sizes])
    return _order(module.named_parameters(), result[0] if isinstance(result, tuple) else result)


@pytest.mark.parametrize("case", MODULES)
def test_parameters(same, case):
    same(lambda xp: _order_of_module(xp, *MODULES[case]))


FUNCTIONS = {
    "einsum": lambda xp, a, b, c: xp.einsum("ij,jk,k->i", a, c, b),
    "tensordot": lambda xp, a, b, c: xp.tensordot(a, c, 1) * b,
    "kron": lambda xp, a, b, c: xp.kron(a, c).sum() * b,
    "cosine_similarity": lambda xp, a, b, c: xp.nn.functional.cosine_similarity(a, c) * b,
    "a vector times a matrix": lambda xp, a, b, c: xp.matmul(b, a) + c.sum(),
    "addmm": lambda xp, a, b, c: xp.addmm(b, a.t(), c),
    "lerp": lambda xp, a, b, c: xp.lerp(a, b, c),
}


@pytest.mark.parametrize("name", FUNCTIONS)
def test_functions(same, name):
    def order(xp):
        leaves = [xp.ones(*size, requires_grad=True) for size in ((3, 3), (3,), (3, 3))]
        return _order(zip("abc", leaves, strict=True), FUNCTIONS[name](xp, *leaves))
    same(order)


def test_with_a_graph_of_its_own(same):
    def order(xp):
        module = xp.nn.Linear(2, 1)
        found = []
        for name, p in module.named_parameters():
            p.register_post_accumulate_grad_hook(lambda p, name=name: found.append(name))
        (module(xp.ones(3, 2)) ** 2).sum().backward(create_graph=True)
        return found
    same(order)


def test_an_optimizer_in_backward(xp):
    """Each parameter steps once its gradient is complete, without an effect on other gradients."""
    model = xp.nn.Sequential(xp.nn.Linear(3, 4), xp.nn.Tanh(), xp.nn.Linear(4, 1))
    expected = [p.detach() - 0.1 * g for p, g in zip(
        model.parameters(), xp.autograd.grad(model(xp.ones(2, 3)).sum(), list(model.parameters())), strict=True)]
    for p in model.parameters():
        optimizer = xp.optim.SGD([p], 0.1)
        p.register_post_accumulate_grad_hook(lambda p, optimizer=optimizer: (optimizer.step(), optimizer.zero_grad())[:0] or None)
    model(xp.ones(2, 3)).sum().backward()
    assert all(xp.allclose(p, e) and p.grad is None for p, e in zip(model.parameters(), expected, strict=True))


def test_the_queue_is_a_heap():
    queue, rng = ReadyQueue(), np.random.default_rng(0)
    keys = rng.integers(0, 10, 200).tolist()
    for number, key in enumerate(keys):
        push(queue, (key, number))
    found = [pop(queue) for _ in keys]
    assert [key for key, _ in found] == sorted(keys) and not queue
    assert sorted(number for _, number in found) == list(range(200))
