"""torch._foreach_add and its like."""
from __future__ import annotations

import pytest

pytestmark = pytest.mark.core

X, Y = "[xp.tensor([1.0, 2.0]), xp.tensor([[3.0]])]", "[xp.tensor([0.5, 4.0]), xp.tensor([[7.0]])]"


def test_values(same):
    same(*[f"xp._foreach_{f}({X}{args})" for f, args in (
        ("neg", ""), ("exp", ""), ("sqrt", ""), ("zero_", ""), ("norm", ""), ("norm", ", 1"), ("norm", ", ord=float('inf')"),
        ("max", ""), ("add", ", 2"), ("add", ", [1, 2.5]"), ("add", f", {Y}"), ("add", f", {Y}, alpha=2"), ("sub", f", {Y}"),
        ("mul", ", xp.tensor(3.0)"), ("div", f", {Y}"), ("pow", ", 2"), ("pow", f", {Y}"), ("maximum", ", 2"),
        ("minimum", f", {Y}"), ("clamp_max", ", [1.5, 2.0]"), ("lerp", f", {Y}, 0.5"), ("lerp", f", {Y}, {Y}"),
        ("addcmul", f", {Y}, {Y}"), ("addcmul", f", {Y}, {Y}, value=2"), ("addcdiv", f", {Y}, {Y}, [2, 3]"),
        ("addcdiv", f", {Y}, {Y}, xp.tensor([2.0, 3.0])"), ("clone", ""), ("mul", ", scalar=2"), ("add", f", other={Y}"))],
        f"xp._foreach_pow(2.0, {X})")


def test_in_place(same):
    def steps(xp):
        params, grads = ([xp.tensor([1.0, 2.0]), xp.tensor([3.0])] for _ in range(2))
        made = [xp._foreach_add_(params, grads, alpha=-0.1), xp._foreach_mul_(params, 2), xp._foreach_sqrt_(grads),
                xp._foreach_addcdiv_(params, grads, grads, [1, 2]), xp._foreach_copy_(grads, params), xp._foreach_maximum_(params, grads), xp._foreach_minimum_(params, [1.0, 2.0])]
        return made, params, grads
    same(steps)


def test_errors(same):
    same("xp._foreach_add([], 1)", f"xp._foreach_add({X}, [1])", f"xp._foreach_add({X}, {X}[:1])")
