"""Convolutions with formulas of their own on CPUs, with first and second derivatives, against PyTorch's and the plain
sum.
"""
from __future__ import annotations

import numpy as np
import pytest
from lanes import cases

CASES = {   # Maps names to function, input, filters and arguments.
    "groups": ("conv2d", (2, 8, 9, 8), (8, 2, 3, 3), {"groups": 4, "padding": 1}),
    "groups that stay apart": ("conv2d", (2, 66, 5, 4), (4, 33, 3, 3), {"groups": 2, "padding": 1}),
    "groups with steps": ("conv2d", (2, 8, 9, 8), (4, 4, 3, 2), {"groups": 2, "stride": 2, "padding": 1, "dilation": 2}),
    "groups in one dimension": ("conv1d", (2, 6, 9), (9, 2, 3), {"groups": 3, "padding": "same"}),
    "more outputs than channels": ("conv2d", (2, 4, 6, 6), (8, 1, 3, 3), {"groups": 4}),
    "three dimensions": ("conv3d", (2, 3, 6, 7, 5), (4, 3, 3, 2, 3), {"padding": (1, 0, 1), "stride": (2, 1, 2)}),
    "three dimensions and groups": ("conv3d", (2, 4, 8, 7, 6), (4, 2, 2, 2, 2), {"groups": 2, "dilation": (2, 1, 2)}),
    "transposed": ("conv_transpose2d", (2, 4, 5, 6), (4, 3, 4, 4), {"stride": 2, "padding": 1}),
    "transposed with all": ("conv_transpose2d", (2, 4, 5, 6), (4, 3, 4, 4),
                            {"stride": (3, 2), "padding": 3, "groups": 2, "output_padding": 1, "dilation": 2}),
    "transposed in one dimension": ("conv_transpose1d", (2, 4, 5), (4, 3, 4), {"stride": 3}),
    "transposed in three": ("conv_transpose3d", (2, 4, 3, 3, 3), (4, 3, 2, 2, 2), {"stride": 2}),
    "few outputs": ("conv2d", (2, 16, 9, 9), (2, 16, 5, 5), {"padding": 2}),
    "one output, wide": ("conv2d", (2, 16, 9, 9), (1, 16, 3, 3), {"padding": 2, "dilation": 3}),
    "depthwise of many taps": ("conv2d", (2, 3, 12, 11), (3, 1, 7, 7), {"padding": 3, "groups": 3}),
    "depthwise with steps": ("conv2d", (11, 3, 9, 8), (6, 1, 3, 2), {"padding": (0, 2), "stride": (2, 3), "dilation": 2, "groups": 3}),
    "depthwise, transposed": ("conv_transpose2d", (2, 3, 5, 6), (3, 1, 4, 4), {"stride": 2, "padding": 5, "groups": 3}),
    "groups of six channels": ("conv2d", (9, 12, 7, 6), (4, 6, 3, 3), {"groups": 2, "padding": 1, "stride": 2}),
}


def _results(xp, function, size, filters, arguments, dtype="float64"):
    rng = np.random.default_rng(0)
    made = [rng.standard_normal(s) + (1j * rng.standard_normal(s) if dtype == "complex128" else 0) for s in (size, filters)]
    x, w = (xp.tensor(a, dtype=getattr(xp, dtype), requires_grad=True) for a in made)
    y = getattr(xp.nn.functional, function)(x, w, **arguments)
    first = xp.autograd.grad((y * y * y).sum().abs(), (x, w), create_graph=True)
    second = xp.autograd.grad((first[0] * first[0]).sum().abs() + (first[1] * first[1]).sum().abs(), (x, w))
    return [a.detach().contiguous() for a in (y, *first, *second)]


@pytest.mark.parametrize("name", cases(CASES, list(CASES)[1::2]))
def test_with_two_derivatives(same, name):
    same(lambda xp: _results(xp, *CASES[name]))


@pytest.mark.one_mode
@pytest.mark.parametrize("name", ["groups", "three dimensions", "transposed", "few outputs"])
def test_of_complex_numbers(same, name):
    same(lambda xp: _results(xp, *CASES[name], dtype="complex128"))


@pytest.mark.one_mode
@pytest.mark.parametrize("name", ["groups", "three dimensions", "transposed", "few outputs", "depthwise of many taps"])
@pytest.mark.parametrize("dtype", ["bfloat16", "float16"])
def test_of_sixteen_bits(same, name, dtype):
    function, size, filters, arguments = CASES[name]

    def run(xp):
        rng = np.random.default_rng(0)
        x, w = (xp.tensor(rng.standard_normal(s)).to(getattr(xp, dtype)).requires_grad_() for s in (size, filters))
        y = getattr(xp.nn.functional, function)(x, w, **arguments)
        return y.dtype, [g.dtype for g in xp.autograd.grad(y.float().sum(), (x, w))], y.float().detach().round(decimals=0).mean().abs() < 10
    same(run)


@pytest.mark.parametrize("name", ["groups", "three dimensions", "transposed", "few outputs", "depthwise with steps"])
def test_of_no_samples(same, name):
    function, size, filters, arguments = CASES[name]

    def run(xp):
        x, w = xp.zeros(0, *size[1:], requires_grad=True), xp.ones(*filters, requires_grad=True)
        getattr(xp.nn.functional, function)(x, w, **arguments).sum().backward()
        return x.grad.shape, w.grad
    same(run)


@pytest.mark.one_mode
@pytest.mark.parametrize("name", ["groups", "three dimensions", "transposed", "few outputs", "depthwise of many taps",
                                  "depthwise, transposed", "groups of six channels"])
def test_under_vmap(xp, rng, name):
    function, size, filters, arguments = CASES[name]
    x, w = xp.tensor(rng.standard_normal((2, *size))), xp.tensor(rng.standard_normal(filters))
    run = lambda a: getattr(xp.nn.functional, function)(a, w, **arguments)
    assert xp.allclose(xp.vmap(run)(x), xp.stack([run(a) for a in x]))


SMALL = {
    "groups": ("conv2d", (1, 4, 3, 3), (4, 2, 2, 2), {"groups": 2}),
    "three dimensions": ("conv3d", (1, 2, 3, 2, 2), (1, 2, 2, 1, 2), {"padding": (1, 0, 0)}),
    "transposed": ("conv_transpose2d", (1, 2, 2, 2), (2, 1, 2, 2), {"stride": 2}),
    "few outputs": ("conv2d", (1, 8, 2, 2), (1, 8, 2, 2), {"padding": 1}),
}


@pytest.mark.one_mode
@pytest.mark.parametrize("name", cases(SMALL, ["three dimensions"]))
def test_gradcheck(xp, rng, name):
    function, size, filters, arguments = SMALL[name]
    x, w = (xp.tensor(rng.standard_normal(s), requires_grad=True) for s in (size, filters))
    run = lambda a, b: getattr(xp.nn.functional, function)(a, b, **arguments)
    assert xp.autograd.gradcheck(run, (x, w))
    assert xp.autograd.gradgradcheck(run, (x, w))
