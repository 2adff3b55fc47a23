"""gradcheck and gradgradcheck."""
from __future__ import annotations

import pytest

pytestmark = pytest.mark.core


def double(xp, *values):
    return xp.tensor(list(values), dtype=xp.float64, requires_grad=True)


def wrong(xp):
    class Wrong(xp.autograd.Function):
        @staticmethod
        def forward(ctx, x):
            return x * 2

        @staticmethod
        def backward(ctx, g):
            return g * 3
    return Wrong.apply


@pytest.mark.parametrize("fast_mode", [False, True])
def test_right_gradients(xp, fast_mode):
    a, b = double(xp, 0.5, 1.5), double(xp, 2.0, 0.25)
    functions = [(lambda a, b: (a * b).sin(), (a, b)), (lambda a, b: (a.exp(), a * b), (a, b)), (lambda a: a ** 3, a)]
    for f, args in functions:
        assert xp.autograd.gradcheck(f, args, fast_mode=fast_mode)
        assert xp.autograd.gradgradcheck(f, args, fast_mode=fast_mode)
    assert a.tolist() == [0.5, 1.5]


@pytest.mark.parametrize("fast_mode", [False, True])
def test_complex(xp, fast_mode):
    z = xp.tensor([0.5 + 1j, -1.0 + 0.25j], dtype=xp.complex128, requires_grad=True)
    for f in (lambda z: z * z, lambda z: z * z.conj(), lambda z: z.real * 3, lambda z: z.abs()):
        assert xp.autograd.gradcheck(f, z, fast_mode=fast_mode)
    assert xp.autograd.gradgradcheck(lambda z: z * z * z, z)


@pytest.mark.parametrize("fast_mode", [False, True])
def test_wrong_gradients(xp, fast_mode):
    a = double(xp, 0.5, 1.5)
    with pytest.raises(RuntimeError,
                       match="Jacobian mismatch for output 0 with respect to input 0,\nnumerical:"):
        xp.autograd.gradcheck(wrong(xp), a, fast_mode=fast_mode)
    assert not xp.autograd.gradcheck(wrong(xp), a, fast_mode=fast_mode, raise_exception=False)


def test_inputs_are_checked(xp):
    with pytest.raises(ValueError, match="gradcheck expects at least one input tensor to require gradient"):
        xp.autograd.gradcheck(lambda a: a, xp.ones(2, dtype=xp.float64))
    with pytest.warns(UserWarning, match="Input #0 requires gradient and is not a double precision floating point or complex"):
        xp.autograd.gradcheck(lambda a: a * 2, xp.ones(2, requires_grad=True), eps=1e-2, atol=1e-2)
    with pytest.raises(RuntimeError, match="The 0th input has a dimension with stride 0"):
        xp.autograd.gradcheck(lambda a: a * 2, double(xp, 1.0).expand(3))
    with pytest.raises(AssertionError, match="Expected at least one of check_forward_ad or check_backward_ad to be True"):
        xp.autograd.gradcheck(lambda a: a, double(xp, 1.0), check_backward_ad=False)


def test_other_ways_to_be_wrong(xp):
    class Ignores(xp.autograd.Function):
        @staticmethod
        def forward(ctx, x):
            return x + 2

        @staticmethod
        def backward(ctx, g):
            return xp.ones_like(g)

    class Undefined(xp.autograd.Function):
        @staticmethod
        def forward(ctx, x):
            ctx.set_materialize_grads(False)
            return x * 2, x * 3

        @staticmethod
        def backward(ctx, a, b):
            if a is None or b is None:
                raise RuntimeError("both are needed")
            return a * 2 + b * 3

    class Random(xp.autograd.Function):
        calls = 0

        @staticmethod
        def forward(ctx, x):
            return x * 1

        @staticmethod
        def backward(ctx, g):
            Random.calls += 1
            return g * (1 + 1e-7 * Random.calls)
    for f, text in ((Ignores.apply, "Jacobian mismatch"), (Random.apply, "Backward is not reentrant")):
        with pytest.raises(RuntimeError, match=text):
            xp.autograd.gradcheck(f, double(xp, 1.0, 2.0))
    with pytest.raises(RuntimeError):
        xp.autograd.gradcheck(Undefined.apply, double(xp, 1.0, 2.0))
    with pytest.raises(RuntimeError, match="Numerical gradient for function expected to be zero"):
        xp.autograd.gradcheck(lambda a: a.detach() * 2, double(xp, 1.0))
