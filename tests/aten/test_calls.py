"""The operators seen by a TorchDispatchMode in forward and backward are PyTorch's."""
from __future__ import annotations

import importlib
import json
from pathlib import Path

import pytest

# Maps expressions to the operators of their forward and backward in PyTorch 2.13, without ".default".
CALLS = json.loads(Path(__file__).with_name("calls.json").read_text())


def seen_by_a_mode(xp, body):
    """Return a body's result and the names of the operators that a mode saw."""
    dispatch = importlib.import_module(f"{xp.__name__}.utils._python_dispatch")
    seen = []

    class Names(dispatch.TorchDispatchMode):
        def __torch_dispatch__(self, func, types, args=(), kwargs=None):
            seen.append(str(func).removeprefix("aten.").removesuffix(".default"))
            return func(*args, **(kwargs or {}))

    with Names():
        made = body()
    return made, " ".join(seen)


def place(xp):
    """Return the names that expressions use."""
    def leaf(*size):
        return xp.randn(*size).requires_grad_()

    def iadd(t):
        t += 1
        return t

    modules = {}

    def module(name, make):
        return modules.setdefault(name, None) or modules.update({name: make()}) or modules[name]

    sizes = {"x": (3, 4), "w": (5, 4), "b": (5,), "im": (2, 3, 8, 8), "cw": (4, 3, 3, 3), "cb": (4,), "q": (2, 4, 6, 8), "seq": (5, 2, 4)}
    xp.manual_seed(0)
    return {**{name: leaf(*size) for name, size in sizes.items()}, "torch": xp, "F": xp.nn.functional, "nn": xp.nn, "G": leaf,
            "iadd": iadd, "M": module}


@pytest.mark.parametrize("call", CALLS)
def test_operators_are_pytorchs(xp, call):
    names = place(xp)
    eval(call, names)       # This call makes the modules.
    made, forward = seen_by_a_mode(xp, lambda: eval(call, names))
    first = made if isinstance(made, xp.Tensor) else made[0]
    backward = ""
    if first.requires_grad:
        total = first.sum() if first.dim() else first
        for t in names.values():
            if isinstance(t, xp.Tensor):
                t.grad = None
        _, backward = seen_by_a_mode(xp, total.backward)
    assert [forward, backward] == CALLS[call]


def test_arguments_are_pytorchs(xp):
    dispatch = importlib.import_module(f"{xp.__name__}.utils._python_dispatch")
    calls = []

    class Arguments(dispatch.TorchDispatchMode):
        def __torch_dispatch__(self, func, types, args=(), kwargs=None):
            shown = [tuple(a.shape) if isinstance(a, xp.Tensor) else a for a in args]
            calls.append((str(func), shown, {k: v for k, v in (kwargs or {}).items() if k not in ("device", "pin_memory")}, types))
            return func(*args, **(kwargs or {}))

    x, image, kernel = xp.ones(3, 4), xp.ones(1, 2, 6, 6), xp.ones(4, 2, 3, 3)
    with Arguments():
        xp.sub(x, x, alpha=2)
        1 - x
        x.sum(0, keepdim=True)
        x.var(1)
        x.softmax(-1)
        xp.nn.functional.conv2d(image, kernel, padding="same")
        xp.nn.functional.max_pool2d(image, 2)
        xp.full((2,), 3.0)
        x.to(xp.float64)
    assert calls == [
        ("aten.sub.Tensor", [(3, 4), (3, 4)], {"alpha": 2}, ()),
        ("aten.rsub.Scalar", [(3, 4), 1], {}, ()),
        ("aten.sum.dim_IntList", [(3, 4), [0], True], {}, ()),
        ("aten.var.correction", [(3, 4), [1]], {"correction": 1}, ()),
        ("aten._softmax.default", [(3, 4), -1, False], {}, ()),
        ("aten.convolution.default", [(1, 2, 6, 6), (4, 2, 3, 3), None, [1, 1], [1, 1], [1, 1], False, [0, 0], 1], {}, ()),
        ("aten.max_pool2d_with_indices.default", [(1, 2, 6, 6), [2, 2]], {}, ()),
        ("aten.full.default", [[2], 3.0], {}, ()),
        ("aten._to_copy.default", [(3, 4)], {"dtype": xp.float64}, ()),
    ]


@pytest.mark.parametrize("call", ["F.linear(seq, w, b).relu().sum()", "F.cross_entropy(F.linear(x, w), torch.tensor([0, 1, 2]))",
                                  "F.batch_norm(F.conv2d(im, cw, cb), None, None, training=True).tanh().sum()",
                                  "F.scaled_dot_product_attention(q, q, q, is_causal=True).pow(2).sum()",
                                  "F.layer_norm(x * w[:3], (4,), x[0], x[1]).std()", "F.max_pool2d(im, 2).mean()",
                                  "torch.einsum('bij,bkj->bik', seq, seq).sum()", "(x / (x * x + 1)).amax(1).logsumexp(0)"])
def test_values_and_gradients_are_those_without_a_mode(call):
    from libraries import library
    xp = library("jtorch")
    names = place(xp)

    def work():
        made = eval(call, names)
        leaves = [t for t in names.values() if isinstance(t, xp.Tensor)]
        return [made.detach(), *xp.autograd.grad(made, leaves, allow_unused=True)]

    plain, (seen, _) = work(), seen_by_a_mode(xp, work)
    for a, b in zip(plain, seen, strict=True):
        assert (a is None and b is None) or xp.allclose(a, b, rtol=1e-4, atol=1e-6)
