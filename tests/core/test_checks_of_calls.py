"""Refused calls, and shorter forms of calls, as in PyTorch."""
from __future__ import annotations

import warnings

import pytest
from bodies import bodies

pytestmark = pytest.mark.core


def test_expressions(same):
    same(
        lambda xp: xp.arange(4.0).split(split_size=3),
        lambda xp: xp.ones(2, 1, 2).dim_order(ambiguity_check=True),
        lambda xp: xp.ones(2, 3).dim_order(ambiguity_check=True),
        lambda xp: xp.ones(2).dim_order(ambiguity_check=3),
        lambda xp: xp.tensor([1, 2]).map2_(xp.tensor([3, 4]), xp.tensor(5), lambda a, b, c: a + b * c),
        lambda xp: xp.tensor([1, 2]).map_(xp.ones(2), lambda a, b: a),
        lambda xp: xp.tensor([1, 2]).apply_(3),
        lambda xp: xp.tensor([1, 2]).apply_(lambda k: 's'),
        lambda xp: xp.tensor(1).cummax(7),
        lambda xp: xp.unravel_index(xp.tensor(3), (2.0, 2)),
        lambda xp: xp.ones(2).flip(),
        lambda xp: xp.tensor(),
        lambda xp: xp.tensor_split(xp.ones(3), xp.tensor(1.5)),
        lambda xp: xp.normal(xp.ones(6), xp.ones(2, 3)),
        lambda xp: xp.set_num_threads(2**65),
        lambda xp: xp.ones(()).resize_([2, 4, 2**29, 2**29]),
        lambda xp: xp.nn.functional.interpolate(xp.ones(1, 1, 4, dtype=xp.int32), 2),
        lambda xp: xp.nn.functional.threshold(xp.tensor([1, 250], dtype=xp.uint8), 4, -9),
        lambda xp: xp.randn(2, dtype=float).dtype,
        lambda xp: xp.zeros(2, out=xp.ones(1, dtype=xp.int32)),
        lambda xp: xp.full((2,), 3.5, out=xp.ones(2, dtype=xp.int64)),
        lambda xp: xp.gradient(xp.arange(4.0) ** 2, spacing=1 + 2j),
    )


def test_parts_of_complex_numbers_are_assigned(same):
    def assign(xp):
        x = xp.zeros(2, dtype=xp.complex64)
        x.real, x.imag = 1, xp.tensor([2.0, 3.0])
        return x
    same(assign)


def set_to_its_storage(xp, part):
    t = xp.ones(2)
    return t.set_(t.untyped_storage(), *part)


def test_set_stays_within_bounds(same):
    same(*bodies(set_to_its_storage, [(7, (2,)), (-1, (2,)), (0, (1,))]))


def random_numbers(xp, dtype):
    xp.manual_seed(0)
    return xp.zeros(3, dtype=getattr(xp, dtype)).random_(1, None)


def test_random_numbers_up_to_the_end(same):
    same(*bodies(random_numbers, ["int8", "int64", "float32", "bool"]))


def test_converting_what_needs_a_gradient_warns(xp):
    with pytest.warns(UserWarning, match="Converting a tensor with requires_grad=True to a scalar"):
        float(xp.ones(1, requires_grad=True))
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        xp.ones(1, requires_grad=True).item()


def test_some_warnings_are_given_once_in_a_process(xp):
    def warned() -> int:
        with warnings.catch_warnings(record=True) as seen:
            warnings.simplefilter("always")
            for n in (3, 4):
                xp.meshgrid(xp.ones(2), xp.ones(n))
        return len(seen)
    assert warned() == 2
    xp.set_warn_always(False)
    try:
        assert warned() < 2
    finally:
        xp.set_warn_always(True)


def test_a_backward_does_not_warn_again(xp):
    x = xp.ones(1, 1, 4, 4, requires_grad=True)
    with pytest.warns(UserWarning, match="upsample_nearest` is deprecated"):
        y = xp.nn.functional.upsample_nearest(x, scale_factor=2)
    y.sum().backward()      # A warning would be an error.
    assert x.grad.tolist() == [[[[4.0] * 4] * 4]]


def test_views_of_custom_functions(same):
    def views(xp, several, grad):
        class Views(xp.autograd.Function):
            @staticmethod
            def forward(ctx, x):
                return (x[:1], x + 1) if several else x[:1]

            @staticmethod
            def backward(ctx, *grads):
                return grads[0]
        x = xp.ones(2, requires_grad=True)
        with xp.set_grad_enabled(grad):
            made = Views.apply(x.clone() if grad else x)
        made = made[0] if several else made
        made.mul_(2)
        return made
    same(*[lambda xp, s=s, g=g: views(xp, s, g) for s in (False, True) for g in (False, True)])


def test_tensors_with_slots(xp):
    class Slotted(xp.Tensor):
        __slots__ = ("mark",)
    t = Slotted(xp.ones(2))
    t.mark = 3
    assert t.sum().item() == 2 and t.mark == 3


def test_numbers_where_tensors_are_wanted(same):
    same(
        lambda xp: xp.cat([3.5, 3.5]),
        lambda xp: xp.cat([xp.ones(1), 3.5]),
        lambda xp: xp.stack([1, 2]),
        lambda xp: xp.vstack([1, xp.ones(1)]),
        lambda xp: xp.ones(4).view(2.0),
        lambda xp: xp.ones(4).view(2., 2),
        lambda xp: xp.ones(4).view(xp.tensor(2), 2),
        lambda xp: xp.ones(4).view([2, True]),
    )
