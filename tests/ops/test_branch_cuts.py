"""Complex functions on both sides of their branch cuts are equal on the host, in XLA and in PyTorch."""
from __future__ import annotations

import itertools

import numpy as np
import pytest

import jtorch

PARTS = (-9.0, -1.0, -0.5, -0.0, 0.0, 0.5, 1.0, 9.0)
POINTS = np.array([complex(*parts) for parts in itertools.product(PARTS, PARTS)])
# These points are away from the branch points.
INSIDE = POINTS[(np.abs(POINTS.real) != 1.0) & (np.abs(POINTS.imag) != 1.0) & (POINTS != 0)]
SIDES = np.array([complex(-9, -0.0), complex(-9, 0.0)])
NAMES = ("sqrt", "log", "asin", "acos", "atan", "asinh", "acosh", "atanh")


def values(xp, name, points, grad=False):
    x = xp.tensor(points, requires_grad=grad)
    y = getattr(xp, name)(x) if name != "pow" else x ** 0.5
    if not grad:
        return np.array(y.tolist())
    xp.view_as_real(y).sum().backward()
    return np.array(x.grad.tolist())


@pytest.mark.core
@pytest.mark.parametrize("name", [*NAMES, "pow"])
@pytest.mark.parametrize("grad", [False, True])
def test_sides_of_branch_cuts(torch, name, grad):
    points = INSIDE if grad else POINTS[POINTS != 0]
    if name == "acosh" and grad:        # In PyTorch x - 1 loses the sign of a zero.
        points = points[points.imag != 0]
    points = points[~np.isin(points, [1, -1, 1j, -1j])]
    np.testing.assert_allclose(values(jtorch, name, points, grad), values(torch, name, points, grad), rtol=1e-9, atol=1e-12)


@pytest.mark.parametrize("mode", ["eager", "hot"])
def test_the_host_and_compiled_code_have_the_same_sides(torch, run_forked, mode):
    code = """
from tests.ops.test_branch_cuts import NAMES, SIDES, sides, values
import jtorch
print([sides(values(jtorch, name, SIDES)) for name in NAMES])
"""
    assert run_forked(code, {"JTORCH_ENGINE": mode}).strip() == str([sides(values(torch, name, SIDES)) for name in NAMES])


def sides(z):
    """Return which parts of complex numbers are above and below zero."""
    parts = np.array([z.real, z.imag])
    return ((parts > 1e-9) * 1 - (parts < -1e-9)).tolist()
