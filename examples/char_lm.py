"""Train a small transformer on the text of Python's manual, character by character, and sample from it.

    python examples/char_lm.py --steps 600 --out char_lm.png

The text comes with Python (``pydoc_data.topics``), so nothing is downloaded. Only the import differs from a PyTorch script.
"""
from __future__ import annotations

import argparse
import math
import sys
import time

import jtorch as torch
from jtorch import nn
from jtorch.nn import functional as F
from jtorch.utils.data import DataLoader, Dataset

try:
    from matplotlib.figure import Figure
    from tqdm import tqdm
except ModuleNotFoundError as error:
    sys.exit(f"This example uses matplotlib and tqdm, and {error.name} is not installed. "
             "Install them with: pip install jtorch-jax[demo]")

CONTEXT = 64        # The model sees this many characters.
WIDTH, HEADS, LAYERS = 96, 4, 2


def load_text():
    """Return the help topics of Python's manual, in plain characters."""
    from pydoc_data.topics import topics
    text = "\n\n".join(topics[name] for name in sorted(topics))
    return text.encode("ascii", "ignore").decode()


class Windows(Dataset):
    """All windows of ``CONTEXT + 1`` characters of a text, as numbers."""

    def __init__(self, tokens):
        self.tokens = tokens

    def __len__(self):
        return len(self.tokens) - CONTEXT

    def __getitem__(self, i):
        return self.tokens[i:i + CONTEXT + 1]


class CharLM(nn.Module):
    """A decoder-only transformer: it predicts each character from the characters before it."""

    def __init__(self, characters):
        super().__init__()
        self.embedding = nn.Embedding(characters, WIDTH)
        self.position = nn.Embedding(CONTEXT, WIDTH)
        layer = nn.TransformerEncoderLayer(WIDTH, HEADS, 4 * WIDTH, dropout=0.0, activation="gelu", batch_first=True,
                                           norm_first=True)
        self.blocks = nn.TransformerEncoder(layer, LAYERS, norm=nn.LayerNorm(WIDTH), enable_nested_tensor=False)
        self.head = nn.Linear(WIDTH, characters)

    def forward(self, tokens):
        """Return scores for the next character of each of ``tokens``: (batch, length) -> (batch, length, characters)."""
        n = tokens.shape[1]
        x = self.embedding(tokens) + self.position(torch.arange(n, device=tokens.device))
        mask = nn.Transformer.generate_square_subsequent_mask(n, device=tokens.device)
        return self.head(self.blocks(x, mask=mask, is_causal=True))


def train(model, data, steps):
    """Train for this many steps, and return the losses."""
    optimizer = torch.optim.AdamW(model.parameters(), lr=3e-3)
    schedule = torch.optim.lr_scheduler.OneCycleLR(optimizer, 3e-3, total_steps=steps)
    losses = []
    with tqdm(total=steps, unit="step", disable=None) as bar:
        for batch in data:
            scores = model(batch[:, :-1])
            loss = F.cross_entropy(scores.flatten(0, 1), batch[:, 1:].flatten())
            optimizer.zero_grad()
            loss.backward()
            nn.utils.clip_grad_norm_(model.parameters(), 1.0)
            optimizer.step()
            schedule.step()
            losses.append(loss.item())
            bar.set_postfix_str(f"loss {losses[-1]:.3f}")
            bar.update()
            if len(losses) % 100 == 0 or len(losses) == steps:
                recent = losses[-50:]
                bar.write(f"step {len(losses):5}   loss {sum(recent) / len(recent):.3f}")
            if len(losses) == steps:
                return losses
    return losses


@torch.no_grad()
def write(model, start, length, temperature=0.7):
    """Continue ``start`` for this many characters. The window slides, so the shapes stay the same."""
    tokens = start
    window = F.pad(start, (CONTEXT - start.shape[0], 0))[None]
    for _ in range(length):
        scores = model(window)[0, -1] / temperature
        following = torch.multinomial(scores.softmax(0), 1)
        tokens = torch.cat([tokens, following])
        window = torch.cat([window[:, 1:], following[None]], 1)
    return tokens


def plot(losses, characters, path):
    """Write a PNG with the loss of each step, beside the loss of a random guess."""
    figure = Figure(figsize=(7, 3.6), dpi=150, layout="constrained")
    axes = figure.subplots()
    axes.plot(range(1, len(losses) + 1), losses, color="#2f6db3", linewidth=1.2)
    axes.axhline(math.log(characters), color="#8a8f98", linewidth=1, linestyle=(0, (4, 3)))
    axes.annotate("a guess", (1, math.log(characters)), (-2, -4), ("axes fraction", "data"), "offset points", color="#8a8f98",
                  ha="right", va="top", fontsize=9)
    axes.set_title("Cross-entropy per character", loc="left", fontsize=11)
    axes.set_xlabel("step")
    axes.spines[["top", "right"]].set_visible(False)
    figure.savefig(path)


def arguments():
    """Parse the command line."""
    parser = argparse.ArgumentParser(description="Trains a small transformer on text.")
    parser.add_argument("--steps", type=int, default=600)
    parser.add_argument("--batch", type=int, default=32)
    parser.add_argument("--write", type=int, default=300, help="how many characters it writes at the end")
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--out", default="char_lm_loss.png", help="the PNG file of the loss")
    return parser.parse_args()


def main():
    """Train the model, and print a sample."""
    args = arguments()
    torch.manual_seed(args.seed)
    text = load_text()
    characters = sorted(set(text))
    number = {c: i for i, c in enumerate(characters)}
    tokens = torch.tensor([number[c] for c in text])
    data = DataLoader(Windows(tokens), batch_size=args.batch, shuffle=True, drop_last=True)
    model = CharLM(len(characters))
    parameters = sum(p.numel() for p in model.parameters())
    print(f"{len(text)} characters, {len(characters)} different ones; {parameters} parameters")
    start = time.perf_counter()
    losses = train(model, data, args.steps)
    print(f"loss {losses[0]:.3f} -> {sum(losses[-50:]) / len(losses[-50:]):.3f} in {time.perf_counter() - start:.1f} s")
    plot(losses, len(characters), args.out)
    written = write(model.eval(), torch.tensor([number[c] for c in "The "]), args.write)
    print("".join(characters[i] for i in written.tolist()))
    print(f"loss curve in {args.out}")


if __name__ == "__main__":
    main()
