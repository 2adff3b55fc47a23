"""The saved values of nodes, under PyTorch's names."""
from __future__ import annotations

import pytest

pytestmark = pytest.mark.core


def leaf(xp, *values):
    return xp.tensor(list(values), requires_grad=True)


def kept(node):
    return sorted([name for name in dir(node) if name.startswith("_saved_")])


def test_leaves_are_saved_as_they_are(xp):
    x, y = leaf(xp, 1.0, 2.0), leaf(xp, 3.0, 4.0)
    node = (x * y).grad_fn
    assert kept(node) == ["_saved_other", "_saved_self"]
    assert node._saved_self is x
    assert node._saved_other is y
    node = x.log().grad_fn
    assert node._saved_self is x
    assert node.next_functions[0][0].variable is x      # This read makes the leaf's node, to which the edge then leads.
    assert node._saved_self is x
    assert (x * y.detach()).grad_fn._saved_self is None
    assert (x * y.detach()).grad_fn._saved_other.tolist() == [3.0, 4.0]
    assert (x ** y).grad_fn._saved_exponent is y


def test_what_has_a_history_is_saved_with_it(xp):
    x = leaf(xp, 1.0, 2.0)
    h = x * 2
    saved = h.sin().grad_fn._saved_self
    assert saved.grad_fn is h.grad_fn
    assert saved.tolist() == h.tolist()
    y = x.exp()
    assert kept(y.grad_fn) == ["_saved_result"]
    assert y.grad_fn._saved_result.grad_fn is y.grad_fn
    assert y.grad_fn._saved_result.tolist() == y.tolist()


# Calls of a 2 × 3 leaf, with the saved attributes that both libraries have. As in PyTorch, a dim of -1 is saved as 2 ** 64 - 1.
WHAT = {
    "pow": (lambda xp, x: x ** 2, {"exponent": 2}),
    "mul": (lambda xp, x: x * 3, {"self": None}),
    "add": (lambda xp, x: xp.add(x, x, alpha=2), {"alpha": 2}),
    "sum": (lambda xp, x: x.sum(), {"self_sym_sizes": (2, 3)}),
    "sum of rows": (lambda xp, x: x.sum(-1), {"dim": (2 ** 64 - 1,), "keepdim": False, "self_sym_sizes": (2, 3)}),
    "mean": (lambda xp, x: x.mean((0, 1), keepdim=True),
             {"dim": (0, 1), "keepdim": True, "self_sym_numel": 6, "self_sym_sizes": (2, 3)}),
    "softmax": (lambda xp, x: x.softmax(-1), {"dim": 2 ** 64 - 1}),
    "cat": (lambda xp, x: xp.cat([x, x], 1), {"dim": 1}),
    "view": (lambda xp, x: x.view(6), {"self_sym_sizes": (2, 3)}),
    "transpose": (lambda xp, x: x.transpose(0, -1), {"dim0": 0, "dim1": 2 ** 64 - 1}),
    "permute": (lambda xp, x: x.permute(1, 0), {"dims": (1, 0)}),
    "select": (lambda xp, x: x[1], {"dim": 0, "index": 1, "self_sym_sizes": (2, 3)}),
    "slice": (lambda xp, x: x[:, 1:2], {"dim": 1, "start": 1, "end": 2, "step": 1, "self_sym_sizes": (2, 3)}),
    "clamp": (lambda xp, x: x.clamp(0, 2.5), {"min": 0, "max": 2.5}),
    "roll": (lambda xp, x: x.roll(1), {"dims": (), "shifts": (1,)}),
    "unsqueeze": (lambda xp, x: x.unsqueeze(0), {"dim": 0}),
    "leaky_relu": (lambda xp, x: xp.nn.functional.leaky_relu(x, 0.5), {"negative_slope": 0.5}),
    "split": (lambda xp, x: x.split(2, 1)[0], {"dim": 1, "split_size": 2, "self_sym_sizes": (2, 3)}),
}


@pytest.mark.parametrize("name", WHAT)
def test_other_arguments(xp, name):
    call, wanted = WHAT[name]
    node = call(xp, xp.ones(2, 3, requires_grad=True)).grad_fn
    assert {k: getattr(node, f"_saved_{k}") for k in wanted} == wanted
    assert {f"_saved_{k}" for k in wanted} <= set(kept(node))


def test_indices(xp):
    x = leaf(xp, 3.0, 1.0, 2.0)
    for call in (lambda: x.max(0), lambda: x.sort(), lambda: x.topk(2)):
        values, indices = call()
        saved = values.grad_fn._saved_indices
        assert saved.tolist() == indices.tolist()
        assert not saved.requires_grad


def test_what_a_node_has_not(xp):
    x = leaf(xp, 1.0)
    for node in ((x + 1).grad_fn, (-x).grad_fn, x.exp().grad_fn, x.view_as(x).grad_fn):
        assert not hasattr(node, "_saved_self")
        assert not hasattr(node, "_saved_tensor1")
    assert kept((-x).grad_fn) == []


def test_saved_and_written_to_or_freed(xp):
    x = leaf(xp, 1.0, 2.0)
    y, node = x.exp(), x.log().grad_fn
    y.mul_(2)
    with pytest.raises(RuntimeError, match="modified by an inplace operation.*output 0 of Exp, is at version 1"):
        _ = y.grad_fn.next_functions[0][0]._saved_result
    with xp.no_grad():
        x.mul_(2)
    with pytest.raises(RuntimeError, match="modified by an inplace operation.* is at version 1; expected version 0"):
        _ = node._saved_self
    z = x.sin()
    z.sum().backward()
    with pytest.raises(RuntimeError, match="Trying to backward through the graph a second time"):
        _ = z.grad_fn._saved_self
    assert x.sum().grad_fn._saved_self_sym_sizes == (2,)


def test_saved_through_hooks(xp):
    x = leaf(xp, 1.0, 2.0)
    with xp.autograd.graph.saved_tensors_hooks(lambda t: t.tolist(), lambda values: xp.tensor(values) * 10):
        y = x.sin()
    assert y.grad_fn._saved_self.tolist() == [10.0, 20.0]
    assert y.grad_fn._saved_self.requires_grad
