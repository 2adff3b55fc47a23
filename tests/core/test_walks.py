"""A backward that repeats a known walk gives right results, whatever changes between two similar backwards."""
from __future__ import annotations

import numpy as np
import pytest
from libraries import library

pytestmark = pytest.mark.core
STEPS = 40      # The loop is long enough to be compiled, and for its backward to be known.


@pytest.fixture
def jt():
    return library("jtorch")


def model(torch):
    torch.manual_seed(0)
    w1, w2 = (torch.randn(4, 4, requires_grad=True) for _ in range(2))
    return w1, w2, torch.randn(3, 4)


def loss_of(torch, w1, w2, x):
    return ((torch.tanh(x @ w1) @ w2) ** 2).mean()


def trained(torch, change=None, steps=STEPS):
    """Return the losses of a loop. ``change(i, w1, w2, loss)`` is called in each step. If it returns True, the step calls no
    other backward.
    """
    w1, w2, x = model(torch)
    losses = []
    for i in range(steps):
        loss = loss_of(torch, w1, w2, x)
        if change is None or not change(i, w1, w2, loss):
            loss.backward()
        with torch.no_grad():
            for w in (w1, w2):
                w -= 0.1 * w.grad
                w.grad = None
        losses.append(loss.item())
    return losses


def same(found, expected):
    assert np.allclose(found, expected, rtol=1e-3, atol=1e-4)


def test_plain(torch, jt):
    same(trained(jt), trained(torch))


def hook_from(seen, at):
    def change(i, w1, w2, loss):
        if i == at:
            w1.register_hook(lambda g: seen.append(float(g.sum())) or g * 2)
    return change


def test_a_hook_set_later_is_called(torch, jt):
    seen, expected = [], []
    same(trained(jt, hook_from(seen, 30)), trained(torch, hook_from(expected, 30)))
    assert len(seen) == STEPS - 30
    same(seen, expected)


def post_hook_from(seen, at):
    def change(i, w1, w2, loss):
        if i == at:
            w2.register_post_accumulate_grad_hook(lambda w: seen.append(float(w.grad.sum())))
    return change


def test_a_post_accumulate_hook_set_later_is_called(torch, jt):
    seen, expected = [], []
    trained(jt, post_hook_from(seen, 30)), trained(torch, post_hook_from(expected, 30))
    assert len(seen) == STEPS - 30
    same(seen, expected)


def inner_hook_at(seen, at):
    def change(i, w1, w2, loss):
        if i >= at:
            loss.grad_fn.register_hook(lambda ins, outs: seen.append(float(outs[0])))
    return change


def test_a_node_hook_set_later_is_called(torch, jt):
    seen, expected = [], []
    same(trained(jt, inner_hook_at(seen, 35)), trained(torch, inner_hook_at(expected, 35)))
    assert seen == expected == [1.0] * 5


def twice_from(at):
    def change(i, w1, w2, loss):
        if i >= at:
            loss.backward(retain_graph=True)
    return change


def test_a_second_backward_accumulates(torch, jt):
    same(trained(jt, twice_from(30)), trained(torch, twice_from(30)))


def weighted_from(torch, at):
    def change(i, w1, w2, loss):
        if i >= at:
            loss.backward(torch.tensor(2.0 + 0.01 * i))
            return True
        return False
    return change


def test_a_gradient_given_later(torch, jt):
    same(trained(jt, weighted_from(jt, 30)), trained(torch, weighted_from(torch, 30)))


def frozen_from(at):
    def change(i, w1, w2, loss):
        if i == at:
            w1.requires_grad_(False)
            w1.grad = w1 * 0
            loss.backward()
            return True
        if i > at:
            w1.requires_grad_(True)
        return False
    return change


def test_requires_grad_changed_between_forward_and_backward(torch, jt):
    same(trained(jt, frozen_from(35), 36), trained(torch, frozen_from(35), 36))


def test_a_write_to_what_is_saved_is_noticed(jt):
    def change(i, w1, w2, loss):
        if i == STEPS - 1:
            with jt.no_grad():
                w2 += 1
    with pytest.raises(RuntimeError, match="modified by an inplace operation"):
        trained(jt, change)


def test_a_freed_graph_is_noticed(jt):
    def change(i, w1, w2, loss):
        if i == STEPS - 1:
            loss.backward()
    with pytest.raises(RuntimeError, match="backward through the graph a second time"):
        trained(jt, change)


def swapped(torch, steps=STEPS):
    """Train while two parameters of one shape sometimes swap: the calls stay equal, but their leaves differ."""
    w1, w2, x = model(torch)
    for i in range(steps):
        a, b = (w1, w2) if i % 5 else (w2, w1)
        loss_of(torch, a, b, x).backward()
        if i % 2:
            with torch.no_grad():
                for w in (w1, w2):
                    w -= 0.05 * w.grad
                    w.grad.zero_()
    return [*w1.flatten().tolist(), *w2.flatten().tolist()]


def test_leaves_that_change_places_and_accumulate(torch, jt):
    same(swapped(jt), swapped(torch))


def detached(torch, steps=STEPS):
    """Make the same calls, with one argument detached in every third step."""
    w1, w2, x = model(torch)
    for i in range(steps):
        h = torch.tanh(x @ w1)
        (((h.detach() if i % 3 == 0 else h) @ w2) ** 2).mean().backward()
        with torch.no_grad():
            for w in (w1, w2):
                if w.grad is not None:
                    w -= 0.05 * w.grad
                    w.grad = None
    return [*w1.flatten().tolist(), *w2.flatten().tolist()]


def test_a_branch_detached_now_and_then(torch, jt):
    same(detached(jt), detached(torch))


def shared(torch, steps=STEPS):
    w, _, x = model(torch)
    for i in range(steps):
        h = torch.tanh(x @ w)
        y = torch.tanh(x @ w) if i % 4 else h
        (h * y + (h @ w) * y).sum().backward()
        with torch.no_grad():
            w -= 0.01 * w.grad
            w.grad = None
    return w.flatten().tolist()


def test_a_leaf_used_several_times(torch, jt):
    same(shared(jt), shared(torch))


def read_between(torch, steps=STEPS):
    """Read the loss before backward, so that the tape is older than the trace of backward."""
    w1, w2, x = model(torch)
    out = []
    for _ in range(steps):
        loss = loss_of(torch, w1, w2, x)
        out.append(loss.item())
        loss.backward()
        with torch.no_grad():
            for w in (w1, w2):
                w -= 0.1 * w.grad
                w.grad = None
    return out


def test_a_loss_read_before_backward(torch, jt):
    same(read_between(jt), read_between(torch))


def packed_late(torch, seen, at):
    """Return gradients of steps. From step ``at`` on, hooks change the saved values."""
    w1, w2, x = model(torch)
    gradients = []
    for i in range(at + 3):
        with torch.autograd.graph.saved_tensors_hooks(lambda t: seen.append(i) or t, lambda t: t * 2 if i >= at else t) \
                if i >= at else torch.enable_grad():
            h = w1.neg()        # neg saves nothing, and the product saves a value other than a leaf.
            loss = (x @ (h @ h)).sum() + w2.sum()
        loss.backward()
        gradients.append([w.grad.sum().item() for w in (w1, w2)])
        w1.grad = w2.grad = None
    return gradients


def test_what_a_hook_packs_is_unpacked(torch, jt):
    seen = []
    found, expected = packed_late(jt, seen, STEPS), packed_late(torch, [], STEPS)
    assert set(seen) == {STEPS, STEPS + 1, STEPS + 2}
    same(found, expected)


def from_views(torch):
    """Return sums of gradients of steps. Each backward begins with a view, read by a call of its own."""
    w1, w2, x = model(torch)
    sums = []
    for i in range(STEPS):
        out = torch.tanh(x @ w1) @ w2
        given = torch.zeros(12)
        given.copy_(torch.arange(12.) + i % 3)
        out.detach().numpy(), given.numpy()     # Nothing is deferred at the beginning of backward.
        out.backward(given.view(4, 3).t())
        sums.append([w.grad.numpy().sum() for w in (w1, w2)])
        w1.grad = w2.grad = None
    return sums


def test_a_gradient_given_as_a_view(torch, jt, monkeypatch):
    monkeypatch.setattr("jtorch.engine.trie.ENGINE_MODE", "hot")  # In hot mode calls are deferred from the first time on.
    same(from_views(jt), from_views(torch))


def cut_off(torch):
    """Make a node whose result ``detach_`` has cut off."""
    made = torch.ones(3, requires_grad=True) * 2
    node = made.grad_fn
    made.detach_()
    return node


def written_by_numpy(torch):
    """Make a tensor whose node has saved memory that NumPy has written to since."""
    w = torch.ones(3, requires_grad=True)
    made = w * w
    w.detach().numpy()[0] = 5
    return made


@pytest.mark.parametrize("made_by", [cut_off, written_by_numpy])
def test_what_was_done_to_another_graph_keeps_no_walk_from_being_known(jt, monkeypatch, made_by):
    monkeypatch.setattr("jtorch.engine.trie.ENGINE_MODE", "hot")
    jt.engine.forget()      # The states of earlier tests may defer nothing.
    kept = made_by(jt)
    before = jt.engine.stats.counters.walks
    trained(jt)
    assert jt.engine.stats.counters.walks > before
    assert kept is not None
