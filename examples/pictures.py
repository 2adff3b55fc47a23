"""Draw the pictures of the examples: curves of losses, and gradients of two libraries against each other."""
from __future__ import annotations

import sys

try:
    from matplotlib.figure import Figure
    from tqdm import tqdm
except ModuleNotFoundError as error:
    sys.exit(f"This example uses matplotlib and tqdm, and {error.name} is not installed. "
             "Install them with: pip install jtorch-jax[demo]")

__all__ = ["gradients", "losses", "tqdm"]
COLOURS = ("#2f6db3", "#d9822b", "#3a8f5c", "#8a5fb0", "#b3403a")
GREY = "#8a8f98"


def losses(curves, path, title="Cross-entropy per character"):
    """Write a PNG with the losses of each step. ``curves`` maps a name to a list."""
    figure, axes = _axes(title)
    for k, (name, curve) in enumerate(curves.items()):      # Later curves are thinner: equal curves all stay visible.
        width = 1.2 + 2 * (len(curves) - 1 - k)
        axes.plot(range(1, len(curve) + 1), curve, color=COLOURS[k % len(COLOURS)], linewidth=width, label=name)
    axes.set_xlabel("step")
    if len(curves) > 1:
        axes.legend(frameon=False)
    figure.savefig(path)


def gradients(pairs, path):
    """Write a PNG with the elements of gradients of two kinds. ``pairs`` maps a name to two lists."""
    figure, axes = _axes("Each element of each gradient")
    for k, (name, (across, up)) in enumerate(pairs.items()):
        axes.plot(across, up, "o", markersize=4, alpha=0.7, color=COLOURS[k % len(COLOURS)], label=name)
    axes.axline((0, 0), slope=1, color=GREY, linewidth=1, linestyle=(0, (4, 3)), zorder=0)
    axes.set_xlabel("jax.grad")
    axes.set_ylabel("backward()")
    axes.legend(frameon=False)
    figure.savefig(path)


def _axes(title):
    figure = Figure(figsize=(7, 3.6), dpi=150, layout="constrained")
    axes = figure.subplots()
    axes.set_title(title, loc="left", fontsize=11)
    axes.spines[["top", "right"]].set_visible(False)
    return figure, axes
