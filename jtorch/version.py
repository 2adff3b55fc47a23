"""torch.version and torch.__version__: the PyTorch version that jtorch implements, and jtorch's own version."""
from __future__ import annotations

__all__ = ["__version__", "cuda", "debug", "git_version", "hip", "rocm", "xpu"]
__version__ = "2.13.0+jtorch"
jtorch_version = "0.2.0"        # This is the only place of jtorch's own version; pyproject.toml reads it.
debug = False
git_version = "unknown"  # This is not built from PyTorch's repository.
cuda: str | None = None  # JAX brings its own CUDA; jtorch.cuda describes it.
hip: str | None = None
rocm: str | None = None
xpu: str | None = None
