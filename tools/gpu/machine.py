"""The hardware and software of this machine: ``python -m tools.gpu.machine`` prints it as JSON."""
from __future__ import annotations

import json
import os
import platform
from importlib.util import find_spec
from typing import Any


def _of_jax() -> dict[str, Any]:
    import jax
    import jaxlib
    try:
        gpus = [d.device_kind for d in jax.local_devices(backend="gpu")]
    except RuntimeError:
        gpus = []
    return {"jax": jax.__version__, "jaxlib": jaxlib.__version__, "gpus": gpus}


def _of_pytorch() -> dict[str, Any]:
    if find_spec("torch") is None:
        return {"pytorch": None, "pytorch_has_cuda": False}
    import torch
    return {"pytorch": torch.__version__, "pytorch_has_cuda": torch.cuda.is_available()}


def describe() -> dict[str, Any]:
    """Return the processor, Python, JAX with its GPUs, and PyTorch."""
    return {"system": platform.platform(), "cores": os.cpu_count(), "python": platform.python_version(),
            **_of_jax(), **_of_pytorch()}


if __name__ == "__main__":
    print(json.dumps(describe()))
