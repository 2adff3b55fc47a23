"""Short programs as users start them. Each is a generator, which reads a number in each step and then yields it.

A program builds its model, makes its data and trains (or generates) inside the generator. So the time of its process includes
all this work.
"""
from __future__ import annotations

from collections.abc import Callable, Iterator
from functools import partial
from typing import Any

from benchmarks.larger import gpt, transformer_layers
from benchmarks.models import _block, _labels, _numbers, language_model_step, training

Program = Callable[[Any], Iterator[float]]


def _steps(make: Callable[[Any], Callable[[], float]], count: int, torch: Any) -> Iterator[float]:
    """Yield the results of ``count`` steps."""
    step = make(torch)
    for _ in range(count):
        yield step()


def _fit(optimizer: Any, loss_of: Callable[[], Any], count: int) -> Iterator[float]:
    return _steps(lambda _: training(optimizer, loss_of), count, None)


# ---------------------------------------------------------------- images

def _bottleneck(nn: Any, i: int, width: int, stride: int) -> Any:
    """Return a bottleneck block: 1x1, 3x3 and 1x1 convolutions, the last with four times the width."""
    class Bottleneck(nn.Module):
        def __init__(self):
            super().__init__()
            self.body = nn.Sequential(nn.Conv2d(i, width, 1, bias=False), nn.BatchNorm2d(width), nn.ReLU(),
                                      nn.Conv2d(width, width, 3, stride, 1, bias=False), nn.BatchNorm2d(width), nn.ReLU(),
                                      nn.Conv2d(width, 4 * width, 1, bias=False), nn.BatchNorm2d(4 * width))
            same = stride == 1 and i == 4 * width
            self.shortcut = nn.Identity() if same else nn.Sequential(nn.Conv2d(i, 4 * width, 1, stride, bias=False),
                                                                     nn.BatchNorm2d(4 * width))

        def forward(self, x):
            return nn.functional.relu(self.body(x) + self.shortcut(x))
    return Bottleneck()


def _resnet(torch: Any, blocks: Any, features: int, first: Any, size: int, batch: int, count: int) -> Iterator[float]:
    nn = torch.nn
    model = nn.Sequential(*first, *blocks, nn.AdaptiveAvgPool2d(1), nn.Flatten(), nn.Linear(features, 10))
    x, y = torch.tensor(_numbers(batch, 3, size, size)), torch.tensor(_labels(batch, 10))
    optimizer = torch.optim.SGD(model.parameters(), lr=0.01, momentum=0.9)
    yield from _fit(optimizer, lambda: nn.functional.cross_entropy(model(x), y), count)


def _small_resnet(torch: Any, count: int = 30) -> Iterator[float]:
    """Train a ResNet of three stages for small images."""
    nn = torch.nn
    torch.manual_seed(0)
    sizes = ((16, 16, 1), (16, 16, 1), (16, 32, 2), (32, 32, 1), (32, 64, 2), (64, 64, 1))
    first = [nn.Conv2d(3, 16, 3, 1, 1, bias=False), nn.BatchNorm2d(16), nn.ReLU()]
    yield from _resnet(torch, [_block(nn, *s) for s in sizes], 64, first, 32, 32, count)


def _resnet50(torch: Any, count: int = 40) -> Iterator[float]:
    nn = torch.nn
    torch.manual_seed(0)
    blocks, channels = [], 64
    for width, depth, stride in ((64, 3, 1), (128, 4, 2), (256, 6, 2), (512, 3, 2)):
        for k in range(depth):
            blocks.append(_bottleneck(nn, channels, width, stride if k == 0 else 1))
            channels = 4 * width
    first = [nn.Conv2d(3, 64, 7, 2, 3, bias=False), nn.BatchNorm2d(64), nn.ReLU(), nn.MaxPool2d(3, 2, 1)]
    yield from _resnet(torch, blocks, channels, first, 64, 4, count)


def _unet(torch: Any, count: int = 30, width: int = 16, batch: int = 4, size: int = 64) -> Iterator[float]:
    nn = torch.nn
    torch.manual_seed(0)

    def double(i: int, o: int) -> Any:
        return nn.Sequential(nn.Conv2d(i, o, 3, padding=1), nn.BatchNorm2d(o), nn.ReLU(),
                             nn.Conv2d(o, o, 3, padding=1), nn.BatchNorm2d(o), nn.ReLU())

    class UNet(nn.Module):      # type: ignore[name-defined]
        def __init__(self):
            super().__init__()
            widths = [width, 2 * width, 4 * width]
            self.down = nn.ModuleList([double(i, o) for i, o in zip([1, *widths], widths, strict=False)])
            self.middle = double(widths[-1], 2 * widths[-1])
            self.up = nn.ModuleList([nn.ConvTranspose2d(2 * w, w, 2, 2) for w in reversed(widths)])
            self.merge = nn.ModuleList([double(2 * w, w) for w in reversed(widths)])
            self.head = nn.Conv2d(width, 1, 1)

        def forward(self, x):
            kept = []
            for block in self.down:
                kept.append(block(x))
                x = nn.functional.max_pool2d(kept[-1], 2)
            x = self.middle(x)
            for up, merge in zip(self.up, self.merge, strict=True):
                x = merge(torch.cat([up(x), kept.pop()], 1))
            return self.head(x)
    model = UNet()
    x = torch.tensor(_numbers(batch, 1, size, size))
    y = (x > 0).float()
    yield from _fit(torch.optim.Adam(model.parameters(), lr=1e-3),
                    lambda: nn.functional.binary_cross_entropy_with_logits(model(x), y), count)


def _vae(torch: Any, count: int = 300) -> Iterator[float]:
    nn, fn = torch.nn, torch.nn.functional
    torch.manual_seed(0)
    encoder = nn.Sequential(nn.Linear(784, 256), nn.ReLU(), nn.Linear(256, 40))
    decoder = nn.Sequential(nn.Linear(20, 256), nn.ReLU(), nn.Linear(256, 784))
    x = torch.tensor(_numbers(64, 784)).sigmoid()

    def loss_of():
        mean, log_variance = encoder(x).chunk(2, 1)
        z = mean + torch.randn_like(mean) * (0.5 * log_variance).exp()
        apart = -0.5 * (1 + log_variance - mean ** 2 - log_variance.exp()).sum()
        return fn.binary_cross_entropy_with_logits(decoder(z), x, reduction="sum") + apart
    yield from _fit(torch.optim.Adam([*encoder.parameters(), *decoder.parameters()], lr=1e-3), loss_of, count)


# ---------------------------------------------------------------- sequences

def cached_generation(torch: Any, count: int = 200, layers: int = 4, width: int = 128, heads: int = 4) -> Iterator[float]:
    """Generate a token in each turn, with cached keys and values of the earlier tokens."""
    nn = torch.nn
    torch.manual_seed(0)

    class Block(transformer_layers(nn, width)):      # type: ignore[misc]
        def forward(self, x, before):
            q, k, v = (a.view(*x.shape[:2], heads, -1).transpose(1, 2) for a in self.qkv(self.norm1(x)).chunk(3, -1))
            if before is not None:
                k, v = torch.cat([before[0], k], 2), torch.cat([before[1], v], 2)
            mixed = nn.functional.scaled_dot_product_attention(q, k, v)
            x = x + self.out(mixed.transpose(1, 2).reshape(x.shape))
            return x + self.mlp(self.norm2(x)), (k, v)
    embedding, position, head = nn.Embedding(100, width), nn.Embedding(count, width), nn.Linear(width, 100)
    blocks = nn.ModuleList([Block() for _ in range(layers)])
    cache: list = [None] * layers
    token = torch.zeros(1, 1, dtype=torch.long)
    with torch.no_grad():
        for i in range(count):
            x = embedding(token) + position(torch.tensor([[i]]))
            for k, block in enumerate(blocks):
                x, cache[k] = block(x, cache[k])
            token = head(x[:, -1]).argmax(-1, keepdim=True)
            yield token.item()


def _lstm(torch: Any, count: int = 200) -> Iterator[float]:
    nn = torch.nn
    torch.manual_seed(0)
    lstm, head = nn.LSTM(32, 64, batch_first=True), nn.Linear(64, 10)
    x, y = torch.tensor(_numbers(32, 20, 32)), torch.tensor(_labels(32, 10))
    yield from _fit(torch.optim.Adam([*lstm.parameters(), *head.parameters()], lr=1e-3),
                    lambda: nn.functional.cross_entropy(head(lstm(x)[0][:, -1]), y), count)


# ---------------------------------------------------------------- custom loops

def _reinforce(torch: Any, episodes: int = 30) -> Iterator[float]:
    """Train a policy at batch 1 in a simulated world. A step is an episode, and the lengths of episodes differ."""
    nn = torch.nn
    torch.manual_seed(0)
    policy = nn.Sequential(nn.Linear(4, 64), nn.ReLU(), nn.Linear(64, 2))
    optimizer = torch.optim.Adam(policy.parameters(), lr=1e-2)
    for episode in range(episodes):
        state, logs, rewards = [0.1, 0.0, 0.05, 0.0], [], []
        for _ in range(20 + 7 * episode % 31):
            choice = torch.distributions.Categorical(logits=policy(torch.tensor(state)))
            action = choice.sample()
            logs.append(choice.log_prob(action))
            push = 0.1 if action.item() else -0.1
            state = [state[0] + 0.1 * state[1], 0.9 * state[1] + push, state[2] + 0.1 * state[3], 0.9 * state[3] - push]
            rewards.append(1.0 - abs(state[0]))
        returns, total = [], 0.0
        for r in reversed(rewards):
            total = r + 0.99 * total
            returns.insert(0, total)
        weights = torch.tensor(returns)
        weights = (weights - weights.mean()) / (weights.std() + 1e-6)
        loss = -(torch.stack(logs) * weights).sum()
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        yield loss.item()


def _ode(torch: Any, count: int = 60) -> Iterator[float]:
    """Train a neural ordinary differential equation by 20 Runge-Kutta steps."""
    nn = torch.nn
    torch.manual_seed(0)
    field = nn.Sequential(nn.Linear(2, 50), nn.Tanh(), nn.Linear(50, 2))
    start, target = torch.tensor(_numbers(64, 2)), torch.tensor(_numbers(64, 2)).flip(1)

    def loss_of(h: float = 0.05):
        y = start
        for _ in range(20):
            a = field(y)
            b = field(y + h / 2 * a)
            c = field(y + h / 2 * b)
            y = y + h / 6 * (a + 2 * b + 2 * c + field(y + h * c))
        return ((y - target) ** 2).mean()
    yield from _fit(torch.optim.Adam(field.parameters(), lr=1e-2), loss_of, count)


PROGRAMS: dict[str, Program] = {
    "GPT, 100 steps": partial(_steps, gpt, 100),
    "language model, 60 steps of varying lengths": partial(
        _steps, partial(language_model_step, layers=2, lengths=tuple(8 + 3 * i % 41 for i in range(60))), 60),
    "generation of 200 tokens with a cache": cached_generation,
    "ResNet, 30 steps": _small_resnet,
    "U-Net, 30 steps": _unet,
    "REINFORCE, 30 episodes": _reinforce,
    "neural ODE, 60 steps": _ode,
    "LSTM, 200 steps": _lstm,
    "VAE, 300 steps": _vae,
    "GPT of 24 layers, 40 steps": partial(_steps, partial(gpt, layers=24), 40),
    "ResNet-50, 40 steps": _resnet50,
}
