"""Names of torch._C that packages use."""
from __future__ import annotations

import pytest

pytestmark = pytest.mark.core


def test_backward_in_progress(xp):
    seen = []
    t = xp.ones(1, requires_grad=True).clone()
    t.register_hook(lambda g: seen.append(xp._C._current_graph_task_id()))
    for _ in range(2):
        t.sum().backward(retain_graph=True)
    assert seen[1] - seen[0] == 1 and xp._C._current_graph_task_id() == -1


def test_nodes_of_leaves(xp):
    x = xp.ones(1, requires_grad=True)
    assert isinstance((x * 2).grad_fn.next_functions[0][0], xp._C._functions.AccumulateGrad)


def test_weak_references(xp):
    t = xp.ones(1)
    ref = xp._C._WeakTensorRef(t)
    assert not ref.expired()
    del t
    assert ref.expired()


def test_callbacks_run_at_the_end_of_a_backward(xp):
    x, seen = xp.ones(1, requires_grad=True), []
    y = x * 2
    y.register_hook(lambda g: xp.autograd.Variable._execution_engine.queue_callback(lambda: seen.append(x.grad.item())))
    y.sum().backward()
    assert seen == [2]
    with pytest.raises(RuntimeError, match="Final callbacks can only be installed during backward pass"):
        xp.autograd.Variable._execution_engine.queue_callback(lambda: None)


def test_a_node_can_be_called(xp):
    x = xp.ones(1, requires_grad=True)
    y = x ** 2
    assert y.grad_fn(xp.ones(1)).item() == 2
    with pytest.raises(TypeError, match="expected 1 arguments, got 2 instead"):
        y.grad_fn(xp.ones(1), xp.ones(1))
