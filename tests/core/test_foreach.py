"""torch._foreach_add and the other functions of lists."""
from __future__ import annotations

import pytest
from bodies import bodies

pytestmark = pytest.mark.core

CALLS = [
    lambda xp, x, y: xp._foreach_neg(x()),
    lambda xp, x, y: xp._foreach_exp(x()),
    lambda xp, x, y: xp._foreach_sqrt(x()),
    lambda xp, x, y: xp._foreach_zero_(x()),
    lambda xp, x, y: xp._foreach_norm(x()),
    lambda xp, x, y: xp._foreach_norm(x(), 1),
    lambda xp, x, y: xp._foreach_norm(x(), ord=float('inf')),
    lambda xp, x, y: xp._foreach_max(x()),
    lambda xp, x, y: xp._foreach_add(x(), 2),
    lambda xp, x, y: xp._foreach_add(x(), [1, 2.5]),
    lambda xp, x, y: xp._foreach_add(x(), y()),
    lambda xp, x, y: xp._foreach_add(x(), y(), alpha=2),
    lambda xp, x, y: xp._foreach_sub(x(), y()),
    lambda xp, x, y: xp._foreach_mul(x(), xp.tensor(3.0)),
    lambda xp, x, y: xp._foreach_div(x(), y()),
    lambda xp, x, y: xp._foreach_pow(x(), 2),
    lambda xp, x, y: xp._foreach_pow(x(), y()),
    lambda xp, x, y: xp._foreach_maximum(x(), 2),
    lambda xp, x, y: xp._foreach_minimum(x(), y()),
    lambda xp, x, y: xp._foreach_clamp_max(x(), [1.5, 2.0]),
    lambda xp, x, y: xp._foreach_lerp(x(), y(), 0.5),
    lambda xp, x, y: xp._foreach_lerp(x(), y(), y()),
    lambda xp, x, y: xp._foreach_addcmul(x(), y(), y()),
    lambda xp, x, y: xp._foreach_addcmul(x(), y(), y(), value=2),
    lambda xp, x, y: xp._foreach_addcdiv(x(), y(), y(), [2, 3]),
    lambda xp, x, y: xp._foreach_addcdiv(x(), y(), y(), xp.tensor([2.0, 3.0])),
    lambda xp, x, y: xp._foreach_clone(x()),
    lambda xp, x, y: xp._foreach_mul(x(), scalar=2),
    lambda xp, x, y: xp._foreach_add(x(), other=y()),
    lambda xp, x, y: xp._foreach_pow(2.0, x()),
]
WRONG = [
    lambda xp, x, y: xp._foreach_add([], 1),
    lambda xp, x, y: xp._foreach_add(x(), [1]),
    lambda xp, x, y: xp._foreach_add(x(), x()[:1]),
]


def of_lists(xp, call):
    """Call with functions that make lists of tensors."""
    return call(xp, lambda: [xp.tensor([1.0, 2.0]), xp.tensor([[3.0]])],
                lambda: [xp.tensor([0.5, 4.0]), xp.tensor([[7.0]])])


def test_values(same):
    same(*bodies(of_lists, CALLS))


def test_in_place(same):
    def steps(xp):
        params, grads = ([xp.tensor([1.0, 2.0]), xp.tensor([3.0])] for _ in range(2))
        made = [xp._foreach_add_(params, grads, alpha=-0.1), xp._foreach_mul_(params, 2), xp._foreach_sqrt_(grads),
                xp._foreach_addcdiv_(params, grads, grads, [1, 2]), xp._foreach_copy_(grads, params), xp._foreach_maximum_(params, grads), xp._foreach_minimum_(params, [1.0, 2.0])]
        return made, params, grads
    same(steps)


def test_errors(same):
    same(*bodies(of_lists, WRONG))
