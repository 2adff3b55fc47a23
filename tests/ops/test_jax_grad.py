"""backward() against jax.grad of the same pure function, and against finite differences. Needs no PyTorch."""
from __future__ import annotations

import warnings
import zlib

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from ops.inputs import arguments_of, template_of

import jtorch
from jtorch import dispatch, engine
from jtorch.ops.registry import OPS, Op

# Several results are right, so a derivative of one is undefined.
NOT_A_FUNCTION = "the result is determined only up to a phase, which a derivative does not follow"
# Finite differences do not show these gradients. backward() is still compared with jax.grad.
BENT = {
    "linalg.eig": NOT_A_FUNCTION,
    "fake_quantize_per_tensor_affine": "as in PyTorch, the gradient is that of the number before it is rounded",
    "fake_quantize_per_channel_affine": "as in PyTorch, the gradient is that of the number before it is rounded",
    "nn.functional.ctc_loss": "as in PyTorch, the gradient is right for log_probs that are a log_softmax, and only then",
}
# These ops read only one triangle of the matrix, but both triangles get a gradient. So the step of finite differences keeps
# the matrix symmetric or triangular.
SYMMETRIC = {"linalg.cholesky", "cholesky", "linalg.cholesky_ex", "linalg.eigh", "linalg.eigvalsh"}
TRIANGULAR = {"cholesky_solve", "cholesky_inverse"}
LEFT_OUT: dict[str, str] = {"nn.functional.grouped_mm": "takes no float64, as in PyTorch"}
STEP = 1e-6


def differentiable(op: Op) -> bool:
    """Return whether results of the op have gradients."""
    return op.tested and op.differentiable and not op.dynamic and any(p.kind.startswith("tensor") for p in op.params)


NAMES = [name for name, op in OPS.items() if differentiable(op) and name not in LEFT_OUT]
MARKS = {0: [], 3: [pytest.mark.slow]}      # Marks by the number of the op modulo 6; the other ops are nightly.
EACH_SIXTH = [pytest.param(name, marks=MARKS.get(k % 6, [pytest.mark.nightly])) for k, name in enumerate(NAMES)]


def weighted_sum(outs, weights):
    """Return a real number that depends on all results: a weighted sum, with PyTorch's convention for complex
    gradients.
    """
    total = 0.0
    for out, w in zip(outs, weights, strict=True):
        total += jnp.sum(jnp.real(jnp.conj(w) * out)) if w is not None else 0.0
    return total


def is_inexact(x) -> bool:
    return np.issubdtype(np.asarray(x).dtype, np.inexact)


class Subject:
    """An op with its arguments, as a pure function of the differentiated arguments."""

    def __init__(self, op: Op):
        self.op, self.rng = op, np.random.default_rng(zlib.crc32(op.name.encode()))
        self.template, self.flat = template_of(op, arguments_of(op, self.rng))
        self.at = [i for i, x in enumerate(self.flat) if isinstance(x, np.ndarray) and is_inexact(x)]
        fn = op.function_of(self.template)
        self.outs = lambda *moving: engine.kernel.flatten(fn(*self.filled(moving)))
        with jax.enable_x64(True):
            shapes = jax.eval_shape(self.outs, *self.moving)
        self.weights = [self.weight(s) if np.issubdtype(s.dtype, np.inexact) else None for s in shapes]

    @property
    def moving(self) -> list[np.ndarray]:
        return [self.flat[i] for i in self.at]

    def filled(self, moving) -> list:
        """Return all arrays and numbers, with the differentiated ones replaced."""
        made = [np.asarray(x) for x in self.flat]
        for i, x in zip(self.at, moving, strict=True):
            made[i] = x
        return made

    def weight(self, shape) -> np.ndarray:
        made = self.rng.standard_normal(shape.shape)
        return made + 1j * self.rng.standard_normal(shape.shape) if np.issubdtype(shape.dtype, np.complexfloating) else made

    def step(self, x: np.ndarray) -> np.ndarray:
        made = self.weight(x)
        if x.shape == (4, 4) and self.op.name in SYMMETRIC:
            return (made + made.T) / 2
        return np.tril(made) if x.shape == (4, 4) and self.op.name in TRIANGULAR else made

    def with_backward(self) -> list[np.ndarray]:
        """Return the gradients by the tape."""
        call = engine.call_of(self.op, self.template)
        flat = [x if not isinstance(x, np.ndarray) else jtorch.tensor(x, requires_grad=i in self.at) for i, x in enumerate(self.flat)]
        made = dispatch.call(call, flat)
        made = made if isinstance(made, (list, tuple)) else [made]
        ends = [(t, jtorch.tensor(w)) for t, w in zip(made, self.weights, strict=True) if w is not None]
        jtorch.autograd.backward([t for t, _ in ends], [w for _, w in ends])
        return [np.zeros_like(self.flat[i]) if flat[i].grad is None else flat[i].grad.numpy() for i in self.at]

    def with_jax(self) -> tuple[list[np.ndarray], float, float]:
        """Return the gradients by JAX, the slope they predict in a random direction, and the measured slope."""
        direction = [self.step(x) for x in self.moving]

        def loss(*moving):
            return weighted_sum(self.outs(*moving), self.weights)

        def along(moving, direction):
            there, back = ([x + s * d for x, d in zip(moving, direction, strict=True)] for s in (STEP, -STEP))
            return jax.grad(loss, tuple(range(len(moving))))(*moving), (loss(*there) - loss(*back)) / (2 * STEP)

        with jax.enable_x64(True):
            found, measured = jax.jit(along, compiler_options={"xla_backend_optimization_level": 0})(self.moving, direction)
        # PyTorch's gradient of a complex number is the conjugate of JAX's.
        found = [np.conj(np.asarray(g)) for g in found]
        said = sum(np.sum(np.real(np.conj(g) * d)) for g, d in zip(found, direction, strict=True))
        return found, float(said), float(measured)


@pytest.mark.parametrize("name", EACH_SIXTH)
def test_backward_is_jax_grad(name):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        subject = Subject(OPS[name])
        assert subject.at, "no argument of the op can have a gradient"
        got = subject.with_backward()
        expected, said, measured = subject.with_jax()
    for a, b in zip(expected, got, strict=True):
        np.testing.assert_allclose(b, a, rtol=1e-9, atol=1e-10)
    if name not in BENT:
        assert said == pytest.approx(measured, rel=2e-5, abs=2e-6)


def test_no_exception_is_out_of_date():
    """Each exception is an op and has a reason."""
    assert all(name in OPS and reason for name, reason in (LEFT_OUT | BENT).items())
    assert set(NAMES) | set(LEFT_OUT) == {name for name, op in OPS.items() if differentiable(op)}
