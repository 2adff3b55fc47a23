"""The same training steps, written by hand for ``jax.jit``. They show XLA's speed without jtorch."""
from __future__ import annotations

from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
from jax import lax

from benchmarks.workload import Step, adam, cross_entropy


def _drawn(*shape: int, scale: float = 0.02) -> jax.Array:
    return jnp.asarray(np.random.default_rng(len(shape)).standard_normal(shape).astype("f") * scale)


def _labels(*shape: int, classes: int) -> jax.Array:
    return jnp.asarray(np.random.default_rng(0).integers(0, classes, shape))


# ---------------------------------------------------------------- GPT

def _normed(x: jax.Array, p: dict) -> jax.Array:
    mean = x.mean(-1, keepdims=True)
    variance = jnp.square(x - mean).mean(-1, keepdims=True)
    return (x - mean) * lax.rsqrt(variance + 1e-5) * p["scale"] + p["shift"]


def _linear(x: jax.Array, p: dict) -> jax.Array:
    return x @ p["weight"] + p["bias"]


def _attention(x: jax.Array, p: dict, heads: int) -> jax.Array:
    q, k, v = (a.reshape(*x.shape[:2], heads, -1) for a in jnp.split(_linear(x, p["qkv"]), 3, -1))
    return _linear(jax.nn.dot_product_attention(q, k, v, is_causal=True).reshape(x.shape), p["out"])


def _logits(p: dict, tokens: jax.Array, heads: int) -> jax.Array:
    x = p["embedding"][tokens] + p["position"]
    for block in p["blocks"]:
        x = x + _attention(_normed(x, block["norm1"]), block, heads)
        x = x + _linear(jax.nn.gelu(_linear(_normed(x, block["norm2"]), block["up"]), approximate=False), block["down"])
    return _normed(x, p["norm"]) @ p["head"]


def _made_linear(i: int, o: int) -> dict:
    return {"weight": _drawn(i, o), "bias": jnp.zeros(o)}


def _made_norm(width: int) -> dict:
    return {"scale": jnp.ones(width), "shift": jnp.zeros(width)}


def _gpt_parameters(layers: int, width: int, length: int, vocabulary: int) -> dict:
    def block() -> dict:
        return {"norm1": _made_norm(width), "qkv": _made_linear(width, 3 * width), "out": _made_linear(width, width),
                "norm2": _made_norm(width), "up": _made_linear(width, 4 * width), "down": _made_linear(4 * width, width)}
    return {"embedding": _drawn(vocabulary, width), "position": _drawn(length, width), "blocks": [block() for _ in range(layers)],
            "norm": _made_norm(width), "head": _drawn(width, vocabulary)}


def gpt(layers: int, width: int, batch: int, length: int, heads: int = 4, vocabulary: int = 100) -> Step:
    """Return the step of ``benchmarks.larger.gpt`` for jax.jit."""
    tokens, following = (_labels(batch, length, classes=vocabulary) for _ in range(2))

    def loss_of(p: dict) -> jax.Array:
        return cross_entropy(_logits(p, tokens, heads).reshape(-1, vocabulary), following.reshape(-1))

    def adamw(p: jax.Array, g: jax.Array, m: jax.Array, v: jax.Array, t: jax.Array) -> tuple:
        return adam(p * (1 - 1e-3 * 0.01), g, m, v, t)
    return _training(loss_of, _gpt_parameters(layers, width, length, vocabulary), adamw)


def _training(loss_of: Any, parameters: Any, update: Any) -> Step:
    """Return a step with parameters and moments on the device, and with donated buffers."""
    leaves, tree = jax.tree.flatten(parameters)

    def step(p: list, m: list, v: list, t: jax.Array) -> tuple:
        loss, grads = jax.value_and_grad(lambda p: loss_of(jax.tree.unflatten(tree, p)))(p)
        new = [update(*a, t + 1) for a in zip(p, grads, m, v, strict=True)]
        return *([n[k] for n in new] for k in range(3)), t + 1, loss
    jitted = jax.jit(step, donate_argnums=(0, 1, 2, 3))
    state = [leaves, [jnp.zeros_like(p) for p in leaves], [jnp.zeros_like(p) for p in leaves], jnp.float32(0)]

    def run() -> float:
        *state[:], loss = jitted(*state)
        return loss.item()
    return run


# ---------------------------------------------------------------- ResNet-18, with channels last, as XLA likes it

_BLOCKS = ((64, 64, 1), (64, 64, 1), (64, 128, 2), (128, 128, 1), (128, 256, 2), (256, 256, 1), (256, 512, 2), (512, 512, 1))


def _convolved(x: jax.Array, w: jax.Array, stride: int) -> jax.Array:
    k = w.shape[0] // 2
    return lax.conv_general_dilated(x, w, (stride, stride), [(k, k), (k, k)], dimension_numbers=("NHWC", "HWIO", "NHWC"))


def _batch_normed(x: jax.Array, p: dict) -> jax.Array:
    """Normalize a batch without running means, because these cost little."""
    mean = x.mean((0, 1, 2))
    variance = jnp.square(x).mean((0, 1, 2)) - jnp.square(mean)
    return (x - mean) * (lax.rsqrt(variance + 1e-5) * p["scale"]) + p["shift"]


def _made_conv(i: int, o: int, k: int) -> dict:
    return {"weight": _drawn(k, k, i, o, scale=(2 / (i * k * k)) ** 0.5), **_made_norm(o)}


def _layer(x: jax.Array, p: dict, stride: int) -> jax.Array:
    return _batch_normed(_convolved(x, p["weight"], stride), p)


def _scores(p: dict, x: jax.Array) -> jax.Array:
    x = jax.nn.relu(_layer(x, p["first"], 2))
    x = lax.reduce_window(x, -jnp.inf, lax.max, (1, 3, 3, 1), (1, 2, 2, 1), [(0, 0), (1, 1), (1, 1), (0, 0)])
    for block, (_, _, stride) in zip(p["blocks"], _BLOCKS, strict=True):
        inner = _layer(jax.nn.relu(_layer(x, block["conv1"], stride)), block["conv2"], 1)
        x = jax.nn.relu(inner + (_layer(x, block["shortcut"], stride) if "shortcut" in block else x))
    return _linear(x.mean((1, 2)), p["head"])


def resnet18(batch: int, size: int, classes: int) -> Step:
    """Return the step of ``benchmarks.models.resnet18`` for jax.jit, for images of at least 128x128."""
    def block(i: int, o: int, stride: int) -> dict:
        own = {"conv1": _made_conv(i, o, 3), "conv2": _made_conv(o, o, 3)}
        return own if i == o and stride == 1 else {**own, "shortcut": _made_conv(i, o, 1)}
    p = {"first": _made_conv(3, 64, 7), "blocks": [block(*b) for b in _BLOCKS], "head": _made_linear(512, classes)}
    x, y = _drawn(batch, size, size, 3, scale=1.0), _labels(batch, classes=classes)

    def momentum(p: jax.Array, g: jax.Array, m: jax.Array, v: jax.Array, t: jax.Array) -> tuple:
        m = 0.9 * m + g
        return p - 0.01 * m, m, v
    return _training(lambda p: cross_entropy(_scores(p, x), y), p, momentum)
