"""torch.autograd.functional."""
from __future__ import annotations

import numpy as np
import pytest

pytestmark = pytest.mark.core


def close(found, expected):
    if isinstance(expected, (tuple, list)) and isinstance(found, tuple):
        assert len(found) == len(expected)
        for f, e in zip(found, expected, strict=True):
            close(f, e)
    else:
        assert np.allclose(found.tolist(), expected)


def inputs(xp):
    return xp.tensor([1.0, 2.0], dtype=xp.float64), xp.tensor([3.0], dtype=xp.float64)


def scalar(a, b):
    return (a ** 3).sum() * b.sum() ** 2


def test_jacobian(xp):
    a, b = inputs(xp)
    F = xp.autograd.functional
    close(F.jacobian(lambda a: a ** 2, a), [[2.0, 0.0], [0.0, 4.0]])
    close(F.jacobian(lambda a, b: (a * b, b), (a, b)),
          (([[3.0, 0.0], [0.0, 3.0]], [[1.0], [2.0]]), ([[0.0, 0.0]], [[1.0]])))
    close(F.jacobian(lambda a: a ** 2, a, vectorize=True), [[2.0, 0.0], [0.0, 4.0]])
    close(F.jacobian(lambda a: a ** 2, a, vectorize=True, strategy="forward-mode"), [[2.0, 0.0], [0.0, 4.0]])
    assert F.jacobian(lambda a: a.exp(), a.requires_grad_(), create_graph=True).requires_grad
    assert not F.jacobian(lambda a: a.exp(), a).requires_grad


def test_hessian(xp):
    a, b = inputs(xp)
    F = xp.autograd.functional
    close(F.hessian(scalar, (a, b)), (([[54.0, 0.0], [0.0, 108.0]], [[18.0], [72.0]]), ([[18.0, 72.0]], [[18.0]])))
    close(F.hessian(lambda a: (a ** 3).sum(), a, vectorize=True), [[6.0, 0.0], [0.0, 12.0]])


def test_products(xp):
    a, b = inputs(xp)
    v = (xp.tensor([1.0, -1.0], dtype=xp.float64), xp.tensor([2.0], dtype=xp.float64))
    F = xp.autograd.functional
    close(F.vjp(lambda a: a ** 2, a, v[0]), ([1.0, 4.0], [2.0, -4.0]))
    close(F.jvp(lambda a: a ** 2, a, v[0]), ([1.0, 4.0], [2.0, -4.0]))
    close(F.jvp(lambda a, b: a * b, (a, b), v), ([3.0, 6.0], [5.0, 1.0]))
    for product in (F.vhp, F.hvp):
        close(product(scalar, (a, b), v), (81.0, ([90.0, 36.0], [-18.0])))
    close(F.vjp(scalar, (a, b)), (81.0, ([27.0, 108.0], [54.0])))
    out, product = F.jvp(lambda a: a.exp(), a.requires_grad_(), v[0], create_graph=True)
    assert out.requires_grad
    assert product.requires_grad


@pytest.mark.parametrize(("call", "error", "text"), [
    (lambda F, a: F.vjp(lambda a: a, 3), TypeError, "The inputs given to vjp must be either a Tensor or a tuple of "
                                                    "Tensors but the "
                                                    "given inputs has type"),
    (lambda F, a: F.jacobian(lambda a: 3, a), TypeError, "The outputs of the user-provided function given to jacobian must be"),
    (lambda F, a: F.jvp(lambda a: a, (a, 3)), TypeError, "the value at index 1 has type"),
    (lambda F, a: F.vjp(lambda a: a, a), RuntimeError, "The vector v can only be None if the user-provided function returns"),
    (lambda F, a: F.jvp(lambda a: a, a), RuntimeError, "The vector v can only be None if the input to the "
                                                       "user-provided function"),
    (lambda F, a: F.vjp(lambda a: a, a, a[:1]), RuntimeError, "v has invalid size: should be"),
    (lambda F, a: F.vjp(lambda a: (a, a), a, a), RuntimeError, "v is a tuple of invalid length: should be 2 but got 1"),
    (lambda F, a: F.hessian(lambda a: a, a), RuntimeError, "The Tensor returned by the function given to hessian "
                                                           "should contain a "
                                                           "single element"),
    (lambda F, a: F.hvp(lambda a: (a.sum(), a), a, a), RuntimeError, "The function given to hvp should return a single Tensor"),
    (lambda F, a: F.jacobian(lambda a: a, a, strategy="some"), AssertionError, "Expected strategy to be either"),
    (lambda F, a: F.jacobian(lambda a: a, a, strategy="forward-mode"), NotImplementedError, "Computing Jacobian using "
                                                                                            "forward-AD"),
    (lambda F, a: F.jacobian(lambda a: a, a, strict=True, vectorize=True), RuntimeError, "`strict=True` and `vectorized=True`"),
    (lambda F, a: F.jacobian(lambda a: a.detach(), a, strict=True), RuntimeError, "Output 0 of the user-provided "
                                                                                  "function does not "
                                                                                  "require gradients"),
    (lambda F, a: F.vjp(lambda a, b: a.sum(), (a, a), strict=True), RuntimeError, "The output of the user-provided function is "
                                                                                  "independent of input 1"),
    (lambda F, a: F.hessian(lambda a: a.sum(), a, strict=True), RuntimeError, "found that the jacobian of the user-provided "
                                                                              "function with respect to input 0 is independent"),
    (lambda F, a: F.jvp(lambda a: a * 2, a, a, strict=True), RuntimeError, None),
])
def test_errors(xp, call, error, text):
    if text is None:
        # The function is linear, but its gradient depends on grad_outputs, so nothing raises.
        call(xp.autograd.functional, inputs(xp)[0])
        return
    with pytest.raises(error, match=text):
        call(xp.autograd.functional, inputs(xp)[0])


def test_independent_inputs_give_zeros(xp):
    a, b = inputs(xp)
    F = xp.autograd.functional
    close(F.vjp(lambda a, b: a.sum(), (a, b)), (3.0, ([1.0, 1.0], [0.0])))
    close(F.vhp(lambda a: a.sum(), a, a), (3.0, [0.0, 0.0]))
