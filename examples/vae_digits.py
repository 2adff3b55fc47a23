"""Train a variational autoencoder on scikit-learn's digits, and draw new digits.

    python examples/vae_digits.py --epochs 40 --out made_up_digits.png

Kingma and Welling, Auto-Encoding Variational Bayes (2013). Only the import differs from a PyTorch
script.
"""
from __future__ import annotations

import argparse
import sys
import time

import jtorch as torch
from jtorch import nn
from jtorch.nn import functional as F
from jtorch.utils.data import DataLoader, TensorDataset

try:
    from matplotlib.figure import Figure
    from sklearn.datasets import load_digits
    from tqdm import tqdm
except ModuleNotFoundError as error:
    sys.exit(f"This example uses scikit-learn, matplotlib and tqdm, and {error.name} is not installed. "
             "Install them with: pip install jtorch-jax[demo]")

PIXELS, HIDDEN, LATENT = 64, 128, 8


class VAE(nn.Module):
    """Encodes a digit as a normal distribution over a small space, and decodes points of that space."""

    def __init__(self):
        super().__init__()
        self.encoder = nn.Sequential(nn.Linear(PIXELS, HIDDEN), nn.ReLU(), nn.Linear(HIDDEN, 2 * LATENT))
        self.decoder = nn.Sequential(nn.Linear(LATENT, HIDDEN), nn.ReLU(), nn.Linear(HIDDEN, PIXELS))

    def forward(self, x):
        """Return the reconstruction's logits, and the mean and log variance of the code."""
        mean, log_variance = self.encoder(x).chunk(2, dim=1)
        code = mean + torch.randn_like(mean) * (0.5 * log_variance).exp()
        return self.decoder(code), mean, log_variance


def loss_of(model, x):
    """Return the negative evidence lower bound per digit."""
    logits, mean, log_variance = model(x)
    reconstruction = F.binary_cross_entropy_with_logits(logits, x, reduction="sum")
    divergence = -0.5 * (1 + log_variance - mean ** 2 - log_variance.exp()).sum()
    return (reconstruction + divergence) / len(x)


def train(model, data, epochs):
    """Train for this many epochs, and return each epoch's mean loss."""
    optimizer = torch.optim.Adam(model.parameters(), lr=3e-3)
    curve = []
    for epoch in tqdm(range(1, epochs + 1), unit="epoch", disable=None):
        total = 0.0
        for (x,) in data:
            loss = loss_of(model, x)
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
            total += loss.item() * len(x)
        curve.append(total / len(data.dataset))
        if epoch == 1 or epoch % 10 == 0 or epoch == epochs:
            tqdm.write(f"epoch {epoch:3}   loss {curve[-1]:.3f}")
    return curve


@torch.no_grad()
def picture(model, x, path):
    """Write a PNG with digits and reconstructions above, and new digits below."""
    same = model(x[:10])[0].sigmoid()
    new = model.decoder(torch.randn(40, LATENT)).sigmoid()
    rows = torch.cat([x[:10], same, new]).reshape(6, 10, 8, 8)
    figure = Figure(figsize=(7, 4.6), dpi=150, layout="constrained")
    names = ["digits", "reconstructed", "made up", "", "", ""]
    for axes, images, name in zip(figure.subplots(6, 1), rows, names, strict=True):
        axes.imshow(images.permute(1, 0, 2).reshape(8, 80).numpy(), cmap="gray_r", vmin=0, vmax=1)
        axes.set_ylabel(name, rotation=0, ha="right", va="center")
        axes.set_xticks([])
        axes.set_yticks([])
        axes.spines[:].set_visible(False)
    figure.savefig(path)


def arguments():
    """Parse the command line."""
    parser = argparse.ArgumentParser(description="Trains a variational autoencoder on handwritten digits.")
    parser.add_argument("--epochs", type=int, default=40)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--out", default="made_up_digits.png")
    return parser.parse_args()


def main():
    """Train and draw."""
    args = arguments()
    torch.manual_seed(args.seed)
    x = torch.from_numpy(load_digits().data).float() / 16
    data = DataLoader(TensorDataset(x), batch_size=64, shuffle=True, drop_last=False)
    model = VAE()
    start = time.perf_counter()
    curve = train(model, data, args.epochs)
    picture(model, x, args.out)
    print(f"loss {curve[0]:.2f} -> {curve[-1]:.2f} after {args.epochs} epochs in {time.perf_counter() - start:.1f} s; "
          f"picture in {args.out}")


if __name__ == "__main__":
    main()
