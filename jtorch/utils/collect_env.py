"""python -m torch.utils.collect_env: print the installed versions for a bug report."""
from __future__ import annotations

import platform
import sys
from importlib import metadata

import jax

from jtorch import version


def get_pretty_env_info() -> str:
    """Return the report."""
    packages = ("jax", "jaxlib", "numpy", "scipy", "ml_dtypes", "optax", "safetensors")
    lines = [f"jtorch version (as torch): {version.__version__}", f"Python version: {platform.python_version()}",
             f"OS: {platform.platform()}", f"Processor: {platform.processor() or platform.machine()}",
             f"JAX devices: {', '.join(map(str, jax.devices()))}", "", "Versions of relevant libraries:"]
    return "\n".join(lines + [f"[pip3] {name}=={found}" for name in packages if (found := _version(name))])


def _version(name: str) -> str | None:
    try:
        return metadata.version(name)
    except metadata.PackageNotFoundError:
        return None


def main() -> None:
    """Print the report."""
    sys.stdout.write(get_pretty_env_info() + "\n")


if __name__ == "__main__":
    main()
