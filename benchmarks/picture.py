"""Draw a bar chart of the ratios into a file."""
from __future__ import annotations

from benchmarks.measure import Result


def draw(results: list[Result], file: str) -> None:
    """Draw jtorch's time relative to PyTorch's, and to that of ``jax.jit`` if measured. Shorter bars are faster."""
    import matplotlib
    matplotlib.use("Agg")
    import matplotlib.pyplot as plt
    figure, axes = plt.subplots(figsize=(9, 0.42 * len(results) + 1.2), layout="constrained")
    rows = range(len(results))
    axes.barh([y - 0.2 for y in rows], [r.of_torch for r in results], 0.38, label="of PyTorch eager", color="#4c78a8")
    axes.barh([y + 0.2 for y in rows], [r.of_jax or 0 for r in results], 0.38, label="of jax.jit by hand", color="#f58518")
    axes.axvline(1, color="black", linewidth=0.8)
    axes.set_yticks(list(rows), [r.name for r in results])
    axes.invert_yaxis()
    axes.set_xlabel("jtorch's time per step, as a ratio (shorter is faster)")
    axes.legend(frameon=False)
    figure.savefig(file)
    plt.close(figure)
