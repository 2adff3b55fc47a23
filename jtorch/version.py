"""torch.version and torch.__version__: which PyTorch this implements, and by what."""
from __future__ import annotations

__all__ = ["__version__", "cuda", "debug", "git_version", "hip", "rocm", "xpu"]
__version__ = "2.13.0+jtorch"
jtorch_version = "0.1.0"        # this package's own: the one place, which pyproject.toml reads
debug = False
git_version = "unknown"  # not built from PyTorch's repository
cuda: str | None = None  # JAX brings its own; what it found is in jtorch.cuda
hip: str | None = None
rocm: str | None = None
xpu: str | None = None
