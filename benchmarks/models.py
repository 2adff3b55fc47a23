"""Workloads made of modules: models and training steps as users write them."""
from __future__ import annotations

from typing import Any

import numpy as np

from benchmarks.workload import Step, Workload, adam, cross_entropy


def training(optimizer: Any, loss_of: Any) -> Step:
    """Return a training step, which returns its loss."""
    def step():
        optimizer.zero_grad()
        loss = loss_of()
        loss.backward()
        optimizer.step()
        return loss.item()
    return step


def _numbers(*shape: int) -> np.ndarray:
    return np.random.default_rng(0).standard_normal(shape).astype("f")


def _labels(n: int, classes: int) -> np.ndarray:
    return np.random.default_rng(0).integers(0, classes, n)


# ---------------------------------------------------------------- images

def _cnn(torch: Any) -> Step:
    nn = torch.nn
    torch.manual_seed(0)
    model = nn.Sequential(nn.Conv2d(1, 16, 3, padding=1), nn.BatchNorm2d(16), nn.ReLU(), nn.MaxPool2d(2),
                          nn.Conv2d(16, 32, 3, padding=1), nn.BatchNorm2d(32), nn.ReLU(), nn.MaxPool2d(2),
                          nn.Flatten(), nn.Linear(32 * 49, 10))
    x, y = torch.tensor(_numbers(32, 1, 28, 28)), torch.tensor(_labels(32, 10))
    return training(torch.optim.SGD(model.parameters(), lr=0.01, momentum=0.9),
                     lambda: nn.functional.cross_entropy(model(x), y))


def _block(nn: Any, i: int, o: int, stride: int) -> Any:
    class Block(nn.Module):
        def __init__(self):
            super().__init__()
            self.conv1, self.bn1 = nn.Conv2d(i, o, 3, stride, 1, bias=False), nn.BatchNorm2d(o)
            self.conv2, self.bn2 = nn.Conv2d(o, o, 3, 1, 1, bias=False), nn.BatchNorm2d(o)
            same = stride == 1 and i == o
            self.shortcut = nn.Identity() if same else nn.Sequential(nn.Conv2d(i, o, 1, stride, bias=False), nn.BatchNorm2d(o))

        def forward(self, x):
            out = nn.functional.relu(self.bn1(self.conv1(x)))
            return nn.functional.relu(self.bn2(self.conv2(out)) + self.shortcut(x))
    return Block()


def resnet18(torch: Any, batch: int = 16, size: int = 32, classes: int = 10) -> Step:
    """Return a training step of ResNet-18 (He and others). Images below 128 pixels get a 3x3 first layer without pooling."""
    nn = torch.nn
    torch.manual_seed(0)
    blocks = [_block(nn, i, o, s) for i, o, s in ((64, 64, 1), (64, 64, 1), (64, 128, 2), (128, 128, 1), (128, 256, 2),
                                                  (256, 256, 1), (256, 512, 2), (512, 512, 1))]
    first = [nn.Conv2d(3, 64, 3, 1, 1, bias=False), nn.BatchNorm2d(64), nn.ReLU()]
    if size >= 128:
        first = [nn.Conv2d(3, 64, 7, 2, 3, bias=False), *first[1:], nn.MaxPool2d(3, 2, 1)]
    model = nn.Sequential(*first, *blocks, nn.AdaptiveAvgPool2d(1), nn.Flatten(), nn.Linear(512, classes))
    x, y = torch.tensor(_numbers(batch, 3, size, size)), torch.tensor(_labels(batch, classes))
    return training(torch.optim.SGD(model.parameters(), lr=0.01, momentum=0.9),
                     lambda: nn.functional.cross_entropy(model(x), y))


# ---------------------------------------------------------------- sequences

def _rnn(torch: Any) -> Step:
    nn = torch.nn
    torch.manual_seed(0)
    cell, head = nn.RNNCell(32, 64), nn.Linear(64, 10)
    params = [*cell.parameters(), *head.parameters()]
    with torch.no_grad():
        for p, start in zip(params, _rnn_start(), strict=True):
            p.copy_(torch.tensor(start))
    xs, y = torch.tensor(_numbers(20, 32, 32)), torch.tensor(_labels(32, 10))

    def loss_of():
        h = torch.zeros(32, 64)
        for x in xs:
            h = cell(x, h)
        return nn.functional.cross_entropy(head(h), y)
    return training(torch.optim.Adam(params, lr=1e-3), loss_of)


def _rnn_start() -> list:
    return [0.1 * _numbers(*s) for s in ((64, 32), (64, 64), (64,), (64,), (10, 64), (10,))]


def _rnn_jitted() -> Step:
    import jax.numpy as jnp
    xs, y = jnp.array(_numbers(20, 32, 32)), jnp.array(_labels(32, 10))
    params = [jnp.array(a) for a in _rnn_start()]

    def loss_of(p):
        h = jnp.zeros((32, 64))
        for x in xs:
            h = jnp.tanh(x @ p[0].T + p[2] + h @ p[1].T + p[3])
        return cross_entropy(h @ p[4].T + p[5], y)
    return _jitted_adam(loss_of, params)


def _jitted_adam(loss_of: Any, params: list) -> Step:
    import jax
    import jax.numpy as jnp
    def step(params, m, v, t):
        loss, grads = jax.value_and_grad(loss_of)(params)
        new = [adam(*a, t + 1) for a in zip(params, grads, m, v, strict=True)]
        return *([n[k] for n in new] for k in range(3)), t + 1, loss
    jitted = jax.jit(step, donate_argnums=(0, 1, 2, 3))
    state = [params, [jnp.zeros_like(p) for p in params], [jnp.zeros_like(p) for p in params], jnp.float32(0)]

    def run():
        *state[:], loss = jitted(*state)
        return loss.item()
    return run


def _lstm(torch: Any) -> Step:
    nn = torch.nn
    torch.manual_seed(0)
    lstm, head = nn.LSTM(32, 64, batch_first=True), nn.Linear(64, 10)
    x, y = torch.tensor(_numbers(32, 20, 32)), torch.tensor(_labels(32, 10))
    return training(torch.optim.Adam([*lstm.parameters(), *head.parameters()], lr=1e-3),
                     lambda: nn.functional.cross_entropy(head(lstm(x)[0][:, -1]), y))


def _language_model(torch: Any, layers: int, width: int = 64, vocabulary: int = 100, longest: int = 64) -> Any:
    nn = torch.nn

    class LanguageModel(nn.Module):      # type: ignore[name-defined]
        def __init__(self):
            super().__init__()
            self.embedding, self.position = nn.Embedding(vocabulary, width), nn.Embedding(longest, width)
            layer = nn.TransformerEncoderLayer(width, 4, 4 * width, dropout=0.0, batch_first=True, norm_first=True)
            self.encoder = nn.TransformerEncoder(layer, layers, enable_nested_tensor=False)
            self.head = nn.Linear(width, vocabulary)

        def forward(self, tokens):
            n = tokens.shape[1]
            h = self.embedding(tokens) + self.position(torch.arange(n, device=tokens.device))
            mask = nn.Transformer.generate_square_subsequent_mask(n, device=tokens.device)
            return self.head(self.encoder(h, mask=mask, is_causal=True))
    torch.manual_seed(0)
    return LanguageModel()


def language_model_step(torch: Any, layers: int, lengths: tuple[int, ...] = (32,)) -> Step:
    """Return a training step of a language model. Each step has a batch of the next of ``lengths``."""
    fn = torch.nn.functional
    model = _language_model(torch, layers)
    optimizer = torch.optim.AdamW(model.parameters(), lr=1e-3)
    batches = [torch.tensor(_labels(16 * n, 100).reshape(16, n)) for n in lengths]
    turn = [0]

    def step():
        tokens = batches[turn[0] % len(batches)]
        turn[0] += 1
        optimizer.zero_grad()
        logits = model(tokens)[:, :-1]
        loss = fn.cross_entropy(logits.reshape(-1, 100), tokens[:, 1:].reshape(-1))
        loss.backward()
        torch.nn.utils.clip_grad_norm_(model.parameters(), 1.0)
        optimizer.step()
        return loss.item()
    return step


def generation(torch: Any, count: int = 64, layers: int = 2, width: int = 64) -> Step:
    """Return a step that generates ``count`` tokens without a cache, so that each sequence is one token longer."""
    model = _language_model(torch, layers, width, longest=count + 16)
    model.eval()
    start = torch.zeros(1, 1, dtype=torch.long)

    def step():
        tokens = start
        with torch.no_grad():
            for _ in range(count):
                following = model(tokens)[:, -1].argmax(-1, keepdim=True)
                tokens = torch.cat([tokens, following], 1)
        return tokens[0, -1].item()
    return step


# ---------------------------------------------------------------- other loops

def _mlp(torch: Any) -> Any:
    nn = torch.nn
    torch.manual_seed(0)
    return nn.Sequential(nn.Linear(64, 128), nn.ReLU(), nn.Linear(128, 128), nn.ReLU(), nn.Linear(128, 10))


def _inference(torch: Any) -> Step:
    model, x = _mlp(torch).eval(), torch.tensor(_numbers(1, 64))

    def step():
        with torch.no_grad():
            return model(x).argmax(1).item()
    return step


def _control_flow(torch: Any) -> Step:
    """Return a step that applies a layer a number of times that depends on the data, as in adaptive computation."""
    nn = torch.nn
    model, head, optimizer = _mlp(torch), nn.Linear(10, 64), None
    optimizer = torch.optim.SGD([*model.parameters(), *head.parameters()], lr=0.01)
    xs, y, turn = torch.tensor(_numbers(8, 32, 64)), torch.tensor(_labels(32, 10)), [0]

    def step():
        x = xs[turn[0] % 8]
        turn[0] += 1
        optimizer.zero_grad()
        out, n = model(x), 0
        while out.abs().mean() > 0.05 * (n + 1) and n < 3:
            out = model(torch.tanh(head(out)))
            n += 1
        loss = nn.functional.cross_entropy(out, y)
        loss.backward()
        optimizer.step()
        return loss.item()
    return step


def _accumulation(torch: Any) -> Step:
    fn, model = torch.nn.functional, _mlp(torch)
    optimizer = torch.optim.Adam(model.parameters(), lr=1e-3)
    xs, ys = torch.tensor(_numbers(4, 32, 64)), torch.tensor(_labels(128, 10).reshape(4, 32))

    def step():
        optimizer.zero_grad()
        for x, y in zip(xs, ys, strict=True):
            loss = fn.cross_entropy(model(x), y) / 4
            loss.backward()
        optimizer.step()
        return loss.item()
    return step


def _scheduled(torch: Any) -> Step:
    fn, model = torch.nn.functional, _mlp(torch)
    optimizer = torch.optim.AdamW(model.parameters(), lr=1e-3)
    schedule = torch.optim.lr_scheduler.CosineAnnealingLR(optimizer, 1_000_000)
    x, y = torch.tensor(_numbers(32, 64)), torch.tensor(_labels(32, 10))
    step = training(optimizer, lambda: fn.cross_entropy(model(x), y))

    def scheduled():
        loss = step()
        schedule.step()
        return loss
    return scheduled


LENGTHS = tuple(8 + 3 * i % 40 for i in range(32))

MODELS = (
    Workload("CNN 28x28, batch 32, SGD momentum", _cnn, None, 15, (1.2, None)),
    Workload("ResNet-18 32x32, batch 16", resnet18, None, 1),
    Workload("RNN cell unrolled, 20 steps", _rnn, _rnn_jitted, 50, (0.7, None)),
    Workload("LSTM module, 20 steps", _lstm, None, 50),
    Workload("transformer LM, 2 layers, AdamW", lambda torch: language_model_step(torch, 2), None, 20, (0.8, None)),
    Workload("transformer LM, 6 layers, AdamW", lambda torch: language_model_step(torch, 6), None, 8),
    Workload("transformer LM, varying lengths", lambda torch: language_model_step(torch, 2, LENGTHS), None, 32, (1.5, None)),
    Workload("inference at batch 1", _inference, None, 500, (2.0, None)),
    Workload("data-dependent control flow", _control_flow, None, 50),
    Workload("gradients of 4 micro-batches", _accumulation, None, 50),
    Workload("MLP with a learning-rate schedule", _scheduled, None, 100),
    Workload("generation of 64 tokens", generation, None, 1, (3.0, None)),
)
