"""torch.nn.utils.prune against PyTorch."""
from __future__ import annotations

import importlib

import numpy as np
import pytest
from bodies import written


def prune_of(xp):
    return importlib.import_module(f"{xp.__name__}.nn.utils.prune")     # PyTorch does not import this module by itself.


STEPS = [
    lambda p, m, scores: p.identity(m, 'weight'),
    lambda p, m, scores: p.l1_unstructured(m, 'weight', 0.3),
    lambda p, m, scores: p.l1_unstructured(m, 'weight', 4, importance_scores=scores),
    lambda p, m, scores: p.random_unstructured(m, 'weight', 5),
    lambda p, m, scores: p.random_structured(m, 'weight', 0.5, 0),
    lambda p, m, scores: p.ln_structured(m, 'weight', 1, 2, 1),
    lambda p, m, scores: p.ln_structured(m, 'weight', 1, float('inf'), -1, importance_scores=scores),
    lambda p, m, scores: p.custom_from_mask(m, 'weight', (scores > 0)),
    lambda p, m, scores: p.l1_unstructured(p.l1_unstructured(m, 'weight', 0.3), 'weight', 0.5),
    lambda p, m, scores: p.ln_structured(p.l1_unstructured(m, 'weight', 0.3), 'weight', 2, 1, 0),
    lambda p, m, scores: p.l1_unstructured(p.ln_structured(p.random_unstructured(m, 'weight', 2), 'weight', 1, 2, 1),
        'weight', 3),
    lambda p, m, scores: p.global_unstructured([(m, 'weight'), (m, 'bias')], p.L1Unstructured, amount=7),
    lambda p, m, scores: p.l1_unstructured(m, 'weight', 0),
]


def pruned(xp, step):
    xp.manual_seed(0)
    m, scores = xp.nn.Linear(3, 4), xp.tensor(np.random.RandomState(0).randn(4, 3).astype("float32"))
    p = prune_of(xp)
    step(p, m, scores)
    (m(xp.ones(2, 3)) ** 2).sum().backward()
    keys, grad, state = list(m.state_dict()), m.weight_orig.grad.numpy(), [v.numpy().copy() for v in m.state_dict().values()]
    is_pruned, kinds = p.is_pruned(m), [type(h).__name__ for h in m._forward_pre_hooks.values()]
    p.remove(m, "weight")
    return [keys, is_pruned, kinds, list(m.state_dict()), len(m._forward_pre_hooks)], [grad, *state, m.weight.detach().numpy()]


@pytest.mark.conformance
@pytest.mark.parametrize("step", STEPS, ids=written)
def test_pruning(torch, step):
    import jtorch
    wanted, found = pruned(torch, step), pruned(jtorch, step)
    assert found[0] == wanted[0]
    for a, b in zip(found[1], wanted[1], strict=True):
        np.testing.assert_allclose(a, b, rtol=1e-5, atol=1e-6)


WRONG = [
    lambda xp, p, m: p.l1_unstructured(m, 'weight', 1.5),
    lambda xp, p, m: p.l1_unstructured(m, 'weight', -1),
    lambda xp, p, m: p.l1_unstructured(m, 'weight', 'a'),
    lambda xp, p, m: p.l1_unstructured(m, 'weight', 100),
    lambda xp, p, m: p.ln_structured(m, 'bias', 1, 2, 0),
    lambda xp, p, m: p.ln_structured(m, 'weight', 1, 2, 2),
    lambda xp, p, m: p.remove(m, 'weight'),
    lambda xp, p, m: p.l1_unstructured(m, 'weight', 1, importance_scores=xp.ones(1)),
    lambda xp, p, m: p.global_unstructured([(m, 'weight')], p.LnStructured, amount=1, n=2),
    lambda xp, p, m: p.global_unstructured(3, p.L1Unstructured),
    lambda xp, p, m: p.custom_from_mask(m, 'weight', xp.ones(1)),
]


@pytest.mark.conformance
@pytest.mark.parametrize("step", WRONG, ids=written)
def test_errors_change_nothing(torch, step):
    import jtorch

    def message(xp):
        m = xp.nn.Linear(3, 4)
        with pytest.raises(Exception) as e:
            step(xp, prune_of(xp), m)
        return type(e.value).__name__, str(e.value).replace("jtorch", "torch"), sorted(m.state_dict())
    assert message(jtorch) == message(torch)


def test_a_pruned_module_prunes_what_is_trained(xp):
    m = prune_of(xp).l1_unstructured(xp.nn.Linear(3, 4), "weight", 6)
    m.weight_orig.data.fill_(1)
    m(xp.ones(3))
    assert m.weight.sum().item() == 6.0
    assert m.weight is not m.weight_orig
