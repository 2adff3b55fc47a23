"""Train a network on scikit-learn's handwritten digits. Only the import differs from a PyTorch script.

    python examples/train_digits.py --epochs 30 --out digits.png --checkpoint digits.pt

It has modules, a DataLoader and the usual loop: forward, backward, step, print. There are no decorators. ``--checkpoint`` saves
each epoch and resumes an interrupted run.
"""
from __future__ import annotations

import argparse
import sys
import time
from pathlib import Path

import jtorch as torch
from jtorch import nn
from jtorch.nn import functional as F
from jtorch.utils.data import DataLoader, TensorDataset

try:
    from matplotlib.figure import Figure
    from matplotlib.ticker import MaxNLocator, PercentFormatter
    from sklearn.datasets import load_digits
    from tqdm import tqdm
except ModuleNotFoundError as error:
    sys.exit(f"This example uses scikit-learn, matplotlib and tqdm, and {error.name} is not installed. "
             "Install them with: pip install jtorch-jax[demo]")

GOAL = 0.97         # Accuracy on unseen digits that the example has to reach.
BATCH = 64
HIDDEN = 256


def load_data(device):
    """Load the 1797 digits of 8x8 pixels in random order, as ``(X, y)`` to train on and ``(X, y)`` to test on."""
    images, labels = load_digits(return_X_y=True)
    X = torch.from_numpy(images).float() / 16
    y = torch.from_numpy(labels).long()
    order = torch.randperm(len(X))
    X, y = X[order].to(device), y[order].to(device)
    return (X[360:], y[360:]), (X[:360], y[:360])


def make_model(device):
    """Make a network of two hidden layers."""
    return nn.Sequential(nn.Linear(64, HIDDEN), nn.ReLU(), nn.Linear(HIDDEN, HIDDEN), nn.ReLU(), nn.Linear(HIDDEN, 10)).to(device)


@torch.no_grad()
def evaluate(model, X, y):
    """Return the mean loss and the accuracy."""
    scores = model(X)
    return F.cross_entropy(scores, y).item(), (scores.argmax(dim=1) == y).float().mean().item()


def train_epoch(model, optimizer, batches):
    """Make one pass over the data in random order, and return the mean loss."""
    total = 0.0
    for X, y in batches:
        loss = F.cross_entropy(model(X), y)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        total += loss.item() * len(X)
    return total / len(batches.dataset)


def save(path, model, optimizer, curve):
    """Write all data needed to resume. After a crash the file is either the old one or the new one."""
    torch.save({"model": model.state_dict(), "optimizer": optimizer.state_dict(), "curve": curve,
                "random": torch.get_rng_state()}, path)


def resume(path, model, optimizer):
    """Restore the state written by ``save``, if there is any. Return the curve so far."""
    if path is None or not Path(path).exists():
        return []
    saved = torch.load(path)
    model.load_state_dict(saved["model"])
    optimizer.load_state_dict(saved["optimizer"])
    torch.set_rng_state(saved["random"])
    print(f"going on after epoch {len(saved['curve'])} of {path}")
    return saved["curve"]


def train(model, training, test, epochs, checkpoint=None):
    """Train for this many epochs. Return each epoch's training loss, test loss and test accuracy."""
    optimizer = torch.optim.Adam(model.parameters(), lr=2e-3)
    curve = resume(checkpoint, model, optimizer)
    batches = DataLoader(TensorDataset(*training), batch_size=BATCH, shuffle=True)
    # disable=None shows the bar only on a terminal.
    with tqdm(total=epochs, initial=len(curve), unit="epoch", disable=None) as bar:
        for epoch in range(len(curve) + 1, epochs + 1):
            curve.append((train_epoch(model, optimizer, batches), *evaluate(model, *test)))
            if checkpoint is not None:
                save(checkpoint, model, optimizer, curve)
            loss, test_loss, accuracy = curve[-1]
            bar.set_postfix_str(f"test accuracy {accuracy:.1%}")
            bar.update()
            if epoch == 1 or epoch % 5 == 0 or epoch == epochs:
                bar.write(f"epoch {epoch:3}   loss {loss:.4f}   test loss {test_loss:.4f}   test accuracy {accuracy:.1%}")
    return curve


BLUE, ORANGE, GREY = "#2f6db3", "#d9822b", "#8a8f98"


def plot(curve, path):
    """Write the losses and the accuracy of each epoch to a PNG file."""
    epochs = range(1, len(curve) + 1)
    losses, test_losses, accuracies = zip(*curve, strict=True)
    figure = Figure(figsize=(9, 3.6), dpi=150, layout="constrained")
    left, right = figure.subplots(1, 2)
    draw(left, "Cross-entropy", [(epochs, losses, BLUE, "training"), (epochs, test_losses, ORANGE, "test")])
    left.set_yscale("log")
    left.legend(frameon=False)
    draw(right, "Accuracy on the test digits", [(epochs, accuracies, ORANGE, "test")])
    right.axhline(GOAL, color=GREY, linewidth=1, linestyle=(0, (4, 3)))
    right.annotate(f"goal {GOAL:.0%}", (1, GOAL), (-2, -4), ("axes fraction", "data"), "offset points", color=GREY,
                   ha="right", va="top", fontsize=9)
    right.annotate(f"{accuracies[-1]:.1%}", (epochs[-1], accuracies[-1]), (6, 0), color=ORANGE, va="center",
                   textcoords="offset points")
    right.set_ylim(min(0.9, *accuracies) - 0.005, 1)
    right.yaxis.set_major_formatter(PercentFormatter(1, decimals=0))
    figure.savefig(path)


def draw(axes, title, lines):
    """Draw lines over epochs, without the frame's upper and right side."""
    for x, y, color, label in lines:
        axes.plot(x, y, color=color, label=label, linewidth=1.8, marker="o", markersize=3)
    axes.set_title(title, loc="left", fontsize=11)
    axes.set_xlabel("epoch")
    axes.xaxis.set_major_locator(MaxNLocator(integer=True))
    axes.grid(axis="y", color="#e6e8eb", linewidth=0.8)
    axes.set_axisbelow(True)
    axes.spines[["top", "right"]].set_visible(False)


def arguments():
    """Parse the command line."""
    parser = argparse.ArgumentParser(description="Trains a network on handwritten digits.")
    parser.add_argument("--epochs", type=int, default=30)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--out", default="digits_learning_curve.png", help="the PNG file of the learning curve")
    parser.add_argument("--checkpoint", help="a file that each epoch is saved to, and that an interrupted run goes on from")
    parser.add_argument("--device", default="cuda" if torch.cuda.is_available() else "cpu")
    return parser.parse_args()


def main():
    """Train, draw, and report the accuracy. Exit with status 1 below the goal."""
    args = arguments()
    torch.manual_seed(args.seed)
    training, test = load_data(args.device)
    model = make_model(args.device)
    start = time.perf_counter()
    curve = train(model, training, test, args.epochs, args.checkpoint)
    seconds = time.perf_counter() - start
    plot(curve, args.out)
    accuracy = curve[-1][-1]
    print(f"test accuracy {accuracy:.2%} after {args.epochs} epochs in {seconds:.1f} s; learning curve in {args.out}")
    if accuracy < GOAL:
        sys.exit(f"That is below the goal of {GOAL:.0%}.")


if __name__ == "__main__":
    main()
