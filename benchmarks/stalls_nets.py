"""Small nets in loops of many kinds, and large parameters, for ``stalls``."""
from __future__ import annotations

from collections.abc import Iterator
from functools import partial
from typing import Any

from benchmarks.models import _labels, _numbers, training
from benchmarks.programs import _fit, cached_generation


def graph_attention(torch: Any, count: int = 80, nodes: int = 300, edges: int = 1500) -> Iterator[float]:
    """Train two layers of attention over the edges of a graph."""
    torch.manual_seed(0)
    nn, fn = torch.nn, torch.nn.functional

    class Layer(nn.Module):     # type: ignore[name-defined]
        def __init__(self, i, o, heads):
            super().__init__()
            self.heads, self.o = heads, o
            self.project = nn.Linear(i, heads * o, bias=False)
            self.left, self.right = nn.Parameter(0.1 * torch.randn(heads, o)), nn.Parameter(0.1 * torch.randn(heads, o))

        def forward(self, x, source, target):
            h = self.project(x).view(-1, self.heads, self.o)
            e = fn.leaky_relu((h * self.left).sum(-1)[source] + (h * self.right).sum(-1)[target], 0.2)
            e = (e - e.max()).exp()
            whole = torch.zeros(h.shape[0], self.heads).index_add(0, target, e)
            weights = e / (whole[target] + 1e-9)
            out = torch.zeros_like(h).index_add(0, target, h[source] * weights.unsqueeze(-1))
            return out.flatten(1)
    first, second = Layer(32, 8, 4), Layer(32, 7, 1)
    x, y = torch.tensor(_numbers(nodes, 32)), torch.tensor(_labels(nodes, 7))
    source, target = torch.tensor(_labels(2 * edges, nodes)).view(2, edges)
    yield from _fit(torch.optim.Adam([*first.parameters(), *second.parameters()], lr=1e-2),
                    lambda: fn.cross_entropy(second(fn.elu(first(x, source, target)), source, target), y), count)


def proximal_policy(torch: Any, rounds: int = 8, steps: int = 128, copies: int = 4) -> Iterator[float]:
    """Train a policy by PPO: turns of play at batch 4, then epochs over minibatches."""
    torch.manual_seed(0)
    nn = torch.nn

    def net(out):
        return nn.Sequential(nn.Linear(4, 64), nn.Tanh(), nn.Linear(64, 64), nn.Tanh(), nn.Linear(64, out))
    actor, critic = net(2), net(1)
    optimizer = torch.optim.Adam([*actor.parameters(), *critic.parameters()], lr=1e-3, eps=1e-5)
    state = torch.tensor(_numbers(copies, 4)) * 0.1
    for _ in range(rounds):
        states, actions = torch.zeros(steps, copies, 4), torch.zeros(steps, copies, dtype=torch.long)
        logs, rewards, values = torch.zeros(steps, copies), torch.zeros(steps, copies), torch.zeros(steps, copies)
        for t in range(steps):
            states[t] = state
            with torch.no_grad():
                choice = torch.distributions.Categorical(logits=actor(state))
                actions[t] = action = (choice.probs[:, 1] > 0.5).long()
                logs[t], values[t] = choice.log_prob(action), critic(state).flatten()
            state = 0.95 * state + 0.1 * (action.unsqueeze(1) * 2 - 1) * torch.tensor([0.0, 1.0, 0.0, 1.0])
            rewards[t] = 1 - state.abs().sum(1)
        gains, last = torch.zeros_like(rewards), torch.zeros(copies)
        for t in reversed(range(steps - 1)):
            last = rewards[t] + 0.99 * values[t + 1] - values[t] + 0.99 * 0.95 * last
            gains[t] = last
        returns = gains + values
        flat = [a.reshape(-1, *a.shape[2:]) for a in (states, actions, logs, gains, returns)]
        for _ in range(4):
            order = torch.randperm(steps * copies)
            for start in range(0, steps * copies, 128):
                s, a, log, gain, wanted = (x[order[start:start + 128]] for x in flat)
                choice = torch.distributions.Categorical(logits=actor(s))
                ratio = (choice.log_prob(a) - log).exp()
                gain = (gain - gain.mean()) / (gain.std() + 1e-8)
                loss = -torch.min(ratio * gain, ratio.clamp(0.8, 1.2) * gain).mean() - 0.01 * choice.entropy().mean() \
                    + 0.5 * ((critic(s).flatten() - wanted) ** 2).mean()
                optimizer.zero_grad()
                loss.backward()
                nn.utils.clip_grad_norm_([*actor.parameters(), *critic.parameters()], 0.5)
                optimizer.step()
        yield rewards.mean().item()


def replayed_games(torch: Any, count: int = 400) -> Iterator[float]:
    """Train a net of values from replayed turns, with a target net that follows it."""
    torch.manual_seed(0)
    nn, fn = torch.nn, torch.nn.functional
    made = [nn.Sequential(nn.Linear(4, 64), nn.ReLU(), nn.Linear(64, 3)) for _ in range(2)]
    net, target = made
    target.load_state_dict(net.state_dict())
    optimizer = torch.optim.Adam(net.parameters(), lr=1e-3)
    memory = torch.zeros(500, 10)
    state = torch.tensor(_numbers(4))
    for t in range(count):
        with torch.no_grad():
            action = net(state).argmax().item()
        after = 0.9 * state + 0.1 * (action - 1)
        memory[t, :4], memory[t, 4], memory[t, 5], memory[t, 6:] = state, action, -after.abs().sum(), after
        state = after
        if t >= 32:
            some = memory[torch.randint(0, t, (32,))]
            now = net(some[:, :4]).gather(1, some[:, 4:5].long()).squeeze(1)
            with torch.no_grad():
                wanted = some[:, 5] + 0.99 * target(some[:, 6:]).max(1).values
            loss = fn.smooth_l1_loss(now, wanted)
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
            with torch.no_grad():
                for p, q in zip(target.parameters(), net.parameters(), strict=True):
                    p.mul_(0.995).add_(q, alpha=0.005)
        yield state.sum().item()


def large_parameter(torch: Any, count: int = 20) -> Iterator[float]:
    """Update one parameter of 42 million numbers by SGD with momentum."""
    p = torch.nn.Parameter(torch.zeros(42_000_000))
    optimizer = torch.optim.SGD([p], lr=0.1, momentum=0.9)
    for _ in range(count):
        p.grad = torch.ones_like(p)
        optimizer.step()
        yield p[0].item()


def dilated_sounds(torch: Any, count: int = 40) -> Iterator[float]:
    """Train ten gated layers of dilated convolutions, as in WaveNet."""
    torch.manual_seed(0)
    nn, fn = torch.nn, torch.nn.functional

    class Layer(nn.Module):     # type: ignore[name-defined]
        def __init__(self, width, dilation):
            super().__init__()
            self.gap = dilation
            self.both, self.skip = nn.Conv1d(width, 2 * width, 2, dilation=dilation), nn.Conv1d(width, width, 1)
            self.rest = nn.Conv1d(width, width, 1)

        def forward(self, x):
            a, b = self.both(fn.pad(x, (self.gap, 0))).chunk(2, 1)
            y = a.tanh() * b.sigmoid()
            return x + self.rest(y), self.skip(y)
    first, layers = nn.Conv1d(1, 16, 1), nn.ModuleList([Layer(16, 2 ** (k % 5)) for k in range(10)])
    head = nn.Conv1d(16, 32, 1)
    x, y = torch.tensor(_numbers(4, 1, 128)), torch.tensor(_labels(4 * 128, 32).reshape(4, 128))

    def loss_of():
        h, whole = first(x), 0
        for layer in layers:
            h, skip = layer(h)
            whole = whole + skip
        return fn.cross_entropy(head(whole.relu()), y)
    yield from _fit(torch.optim.Adam([*first.parameters(), *layers.parameters(), *head.parameters()], lr=1e-3), loss_of, count)


def spectral_loss(torch: Any, count: int = 60) -> Iterator[float]:
    """Fit a signal by its spectrograms of three sizes."""
    x = torch.tensor(_numbers(2, 2048), requires_grad=True)
    target = torch.tensor(_numbers(4, 2048)[2:])
    windows = {n: torch.hann_window(n) for n in (64, 128, 256)}

    def spectrum(signal, n):
        return torch.stft(signal, n, n // 4, window=windows[n], return_complex=True).abs() + 1e-5

    def loss_of():
        return sum((spectrum(x, n).log() - spectrum(target, n).log()).abs().mean() for n in windows)
    yield from _fit(torch.optim.Adam([x], lr=1e-2), loss_of, count)


def sentences(torch: Any, count: int = 60) -> Iterator[float]:
    """Train a GRU cell, word by word, on sentences of several lengths."""
    torch.manual_seed(0)
    nn, fn = torch.nn, torch.nn.functional
    words, cell, head = nn.Embedding(200, 32), nn.GRUCell(32, 64), nn.Linear(64, 200)
    modules = nn.ModuleList([words, cell, head])
    text = torch.tensor(_labels(4000, 200))
    step = [0]

    def loss_of():
        step[0] += 1
        length = 5 + 7 * step[0] % 16
        some = text[step[0] * 17:][:8 * (length + 1)].view(8, length + 1)
        h, loss = torch.zeros(8, 64), 0
        for t in range(length):
            h = cell(words(some[:, t]), h)
            loss = loss + fn.cross_entropy(head(h), some[:, t + 1])
        return loss / length
    return _fit(torch.optim.Adam(modules.parameters(), lr=1e-3), loss_of, count)


def several_losses(torch: Any, count: int = 60) -> Iterator[float]:
    """Train a generator and a discriminator in turn, with a gradient penalty."""
    torch.manual_seed(0)
    nn = torch.nn
    generator = nn.Sequential(nn.Linear(8, 64), nn.LeakyReLU(0.2), nn.Linear(64, 64), nn.LeakyReLU(0.2), nn.Linear(64, 2))
    critic = nn.Sequential(nn.Linear(2, 64), nn.LeakyReLU(0.2), nn.Linear(64, 64), nn.LeakyReLU(0.2), nn.Linear(64, 1))
    of_critic = torch.optim.Adam(critic.parameters(), lr=1e-3, betas=(0.5, 0.9))
    real = torch.tensor(_numbers(64, 2))

    def critic_loss():
        fake = generator(torch.randn(64, 8)).detach()
        part = torch.rand(64, 1)
        between = (part * real + (1 - part) * fake).requires_grad_()
        slope = torch.autograd.grad(critic(between).sum(), between, create_graph=True)[0]
        return critic(fake).mean() - critic(real).mean() + 10 * ((slope.norm(2, 1) - 1) ** 2).mean()
    critic_step = training(of_critic, critic_loss)
    step = training(torch.optim.Adam(generator.parameters(), lr=1e-3, betas=(0.5, 0.9)),
                    lambda: -critic(generator(torch.randn(64, 8))).mean())
    for _ in range(count):
        for _ in range(3):
            critic_step()
        yield step()


NETS = {
    "graph attention, 80 steps": graph_attention,
    "PPO, 8 rounds": proximal_policy,
    "replayed turns, 400 steps": replayed_games,
    "SGD of 42 million numbers, 20 steps": large_parameter,
    "decoding with growing keys, 100 tokens": partial(cached_generation, count=100, layers=2),
    "dilated convolutions, 40 steps": dilated_sounds,
    "spectral loss, 60 steps": spectral_loss,
    "GRU cell over sentences, 60 steps": sentences,
    "critic with gradient penalty, 60 steps": several_losses,
}
