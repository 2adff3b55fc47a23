"""Settings read from the environment once, at import."""
from __future__ import annotations

import os

ENGINE_MODE = os.environ.get("JTORCH_ENGINE", "auto")
if ENGINE_MODE not in ("auto", "eager", "hot"):
    raise ValueError(f"JTORCH_ENGINE must be auto, eager or hot, not {ENGINE_MODE!r}")
CUDA = os.environ.get("JTORCH_CUDA", "gpu")       # JAX's platform of the device type ``cuda``, see device.py
if CUDA not in ("gpu", "cpu"):
    raise ValueError(f"JTORCH_CUDA must be gpu or cpu, not {CUDA!r}")
KEEP_TEMPORARIES = os.environ.get("JTORCH_KEEP_TEMPORARIES", "1") != "0"    # keep temporaries, see engine/malloc.py
ONEDNN = os.environ.get("JTORCH_ONEDNN", "1") != "0"            # use oneDNN if it is installed
SPEEDUPS = os.environ.get("JTORCH_SPEEDUPS", "1") != "0"        # use the extension if it was built
