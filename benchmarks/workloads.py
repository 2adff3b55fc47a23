"""The timed workloads. Each makes a step function per library, with the same computation of the same numbers."""
from __future__ import annotations

import numpy as np

from benchmarks.larger import LARGER
from benchmarks.models import MODELS
from benchmarks.workload import Step, Workload, adam, cross_entropy


class MLP:
    """A training step of a classifier with Adam, which reads the loss."""

    def __init__(self, batch: int, sizes: tuple[int, ...]):
        rng = np.random.default_rng(0)
        self.flat = [a for i, o in zip(sizes, sizes[1:], strict=False)
                     for a in ((rng.standard_normal((o, i)) / np.sqrt(i)).astype("f"), np.zeros(o, "f"))]
        self.x, self.y = rng.standard_normal((batch, sizes[0])).astype("f"), rng.integers(0, sizes[-1], batch)

    def eager(self, torch) -> Step:
        """Return the step for PyTorch or jtorch."""
        fn = torch.nn.functional
        params = [torch.tensor(a, requires_grad=True) for a in self.flat]
        optimizer = torch.optim.Adam(params, lr=1e-3)
        x, y = torch.tensor(self.x), torch.tensor(self.y)

        def step():
            optimizer.zero_grad()
            h = x
            for i in range(0, len(params), 2):
                h = fn.linear(h, params[i], params[i + 1])
                if i + 2 < len(params):
                    h = fn.relu(h)
            loss = fn.cross_entropy(h, y)
            loss.backward()
            optimizer.step()
            return loss.item()
        return step

    def jitted(self) -> Step:
        """Return the step for ``jax.jit``, with donated buffers. The batch is an argument, so XLA cannot fold constants."""
        import jax
        import jax.numpy as jnp
        x, y = jnp.array(self.x), jnp.array(self.y)

        def loss_of(params, x, y):
            h = x
            for i in range(0, len(params), 2):
                h = h @ params[i].T + params[i + 1]
                h = jnp.maximum(h, 0) if i + 2 < len(params) else h
            return cross_entropy(h, y)

        def step(params, m, v, t, x, y):
            loss, grads = jax.value_and_grad(loss_of)(params, x, y)
            new = [adam(*a, t + 1) for a in zip(params, grads, m, v, strict=True)]
            return *([n[k] for n in new] for k in range(3)), t + 1, loss

        jitted = jax.jit(step, donate_argnums=(0, 1, 2, 3))
        params = [jnp.array(a) for a in self.flat]
        state = [params, [jnp.zeros_like(p) for p in params], [jnp.zeros_like(p) for p in params], jnp.float32(0)]

        def run():
            *state[:], loss = jitted(*state, x, y)
            return loss.item()
        return run


def _mlp(name: str, batch: int, sizes: tuple[int, ...], steps: int = 600, bars=(None, None)) -> Workload:
    made = MLP(batch, sizes)
    return Workload(name, made.eager, made.jitted, steps, bars)


def _by_hand(torch) -> Step:
    rng = np.random.default_rng(0)
    x, y = (torch.tensor(rng.standard_normal(s).astype("f")) for s in ((100, 10), (100, 1)))
    w = torch.tensor(rng.standard_normal((10, 1)).astype("f"), requires_grad=True)
    b = torch.zeros(1, requires_grad=True)

    def step():
        loss = ((x @ w + b - y) ** 2).mean()
        loss.backward()
        with torch.no_grad():
            for p in (w, b):
                p.sub_(0.01 * p.grad)
                p.grad.zero_()
        return loss.item()
    return step


def _by_hand_jitted() -> Step:
    import jax
    import jax.numpy as jnp
    rng = np.random.default_rng(0)
    x, y = (jnp.array(rng.standard_normal(s).astype("f")) for s in ((100, 10), (100, 1)))
    state = [(jnp.array(rng.standard_normal((10, 1)).astype("f")), jnp.zeros(1))]

    def step(params):
        loss, grads = jax.value_and_grad(lambda p: ((x @ p[0] + p[1] - y) ** 2).mean())(params)
        return tuple(p - 0.01 * g for p, g in zip(params, grads, strict=True)), loss
    jitted = jax.jit(step, donate_argnums=0)

    def run():
        state[0], loss = jitted(state[0])
        return loss.item()
    return run


def _chain(torch) -> Step:
    x = torch.tensor(np.linspace(-1, 1, 256, dtype="f"))

    def step():
        y = x
        for _ in range(50):
            y = torch.tanh(y * 1.01 + 0.1).abs()
        return y.sum().item()
    return step


def _chain_jitted() -> Step:
    import jax
    import jax.numpy as jnp
    x = jnp.linspace(-1, 1, 256)

    @jax.jit
    def body(y):
        for _ in range(50):
            y = jnp.abs(jnp.tanh(y * 1.01 + 0.1))
        return y.sum()
    return lambda: body(x).item()


def _products(read: bool):
    def make(torch) -> Step:
        a = torch.tensor(np.random.default_rng(0).standard_normal((256, 256)).astype("f"))

        def step():
            for _ in range(20):
                c = a @ a
                if read:
                    c[0, 0].item()
            return c[0, 0].item()
        return step
    return make


WORKLOADS = (
    _mlp("MLP 64-64-10, batch 32, Adam", 32, (64, 64, 10), bars=(0.45, 1.6)),
    _mlp("MLP 64-128x3-10, batch 32, Adam", 32, (64, 128, 128, 128, 10), bars=(0.7, 1.7)),
    _mlp("MLP 64-128x8-10, batch 32, Adam", 32, (64, *[128] * 8, 10), 300, bars=(0.45, 1.3)),
    _mlp("MLP 784-512x3-10, batch 256, Adam", 256, (784, 512, 512, 512, 10), 15, bars=(1.0, 1.1)),
    Workload("gradient descent by hand", _by_hand, _by_hand_jitted, bars=(0.8, 3.0)),
    Workload("200 small chained ops, read once", _chain, _chain_jitted, 100, bars=(2.5, None)),
    Workload("20 products a @ a, each read", _products(True), None, 10),
    Workload("20 products a @ a, the last read", _products(False), None, 10),
    *MODELS,
    *LARGER,
)
