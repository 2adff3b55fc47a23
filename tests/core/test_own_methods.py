"""Functions that PyTorch implements in C++ call no methods or properties that a user's Tensor subclass overrides."""
from __future__ import annotations

import pytest

pytestmark = pytest.mark.core

FUNCTIONS = {
    "numel": lambda xp, x, y: xp.numel(x),
    "equal": lambda xp, x, y: xp.equal(x, y),
    "allclose": lambda xp, x, y: xp.allclose(x, y),
    "is_floating_point": lambda xp, x, y: xp.is_floating_point(x),
    "is_complex": lambda xp, x, y: xp.is_complex(x),
    "is_nonzero": lambda xp, x, y: xp.is_nonzero(x[0, 0]),
    "is_same_size": lambda xp, x, y: xp.is_same_size(x, y),
    "detach": lambda xp, x, y: xp.detach(x),
    "exp": lambda xp, x, y: xp.exp(x),
    "add": lambda xp, x, y: xp.add(x, y, alpha=2),
    "operators": lambda xp, x, y: 2 - x * y / 3,
    "matmul": lambda xp, x, y: xp.matmul(x, y),
    "sum": lambda xp, x, y: xp.sum(x, 0, keepdim=True),
    "nonzero": lambda xp, x, y: xp.nonzero(x),
    "bincount": lambda xp, x, y: xp.bincount(xp.zeros(2, dtype=xp.int64).as_subclass(type(x))),
    "masked_select": lambda xp, x, y: xp.masked_select(x, x > 1),
    "indexing": lambda xp, x, y: x[0] + x[:, 1:] + x[xp.tensor([0, 1])],
    "index_put": lambda xp, x, y: xp.index_put(x, (xp.tensor([0, 1]).as_subclass(type(x)),), y),
    "zeros_like": lambda xp, x, y: xp.zeros_like(x),
    "rand_like": lambda xp, x, y: xp.rand_like(x),
    "bernoulli": lambda xp, x, y: xp.bernoulli(x * 0),
    "dropout": lambda xp, x, y: xp.dropout(x, 0.5, True),
    "broadcast_tensors": lambda xp, x, y: xp.broadcast_tensors(x, y[:1]),
    "atleast_3d": lambda xp, x, y: xp.atleast_3d(x),
    "diag": lambda xp, x, y: xp.diag(x),
    "ravel": lambda xp, x, y: xp.ravel(xp.t(x)),
    "real": lambda xp, x, y: xp.real(x),
    "resolve_conj": lambda xp, x, y: xp.resolve_conj(x),
    "repeat_interleave": lambda xp, x, y: xp.repeat_interleave(x, 2),
    "gradient": lambda xp, x, y: xp.gradient(x),
    "silu": lambda xp, x, y: xp.nn.functional.silu(x),
    "cat": lambda xp, x, y: xp.cat([x, y], 1),
}


def strict(xp):
    """Make a subclass whose public methods and properties all raise."""
    def refused(name):
        def method(self, *args, **kwargs):
            raise AssertionError(f"the library has called {name}")
        return method
    kept = ("as_subclass", "jax", "grad_fn", "volatile", "T", "H", "mT", "mH")
    names = [n for n in dir(xp.Tensor) if not n.startswith("_") and n not in kept and hasattr(xp.Tensor, n)]
    members = {n: refused(n) if callable(getattr(xp.Tensor, n)) else property(refused(n)) for n in names}
    return type("Strict", (xp.Tensor,), members)


@pytest.mark.parametrize("name", FUNCTIONS)
def test_functions_call_no_methods_of_users(xp, name):
    kind = strict(xp)
    x, y = xp.tensor([[1.0, 2.0], [3.0, 4.0]]).as_subclass(kind), xp.ones(2, 2).as_subclass(kind)
    FUNCTIONS[name](xp, x, y)
