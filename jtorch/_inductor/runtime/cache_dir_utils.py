"""torch._inductor.runtime.cache_dir_utils: where PyTorch keeps generated code. Nothing is written there."""
from __future__ import annotations

import getpass
import os
import re
import tempfile


def default_cache_dir() -> str:
    """Return a folder of the user's among temporary files."""
    return os.path.join(tempfile.gettempdir(), "torchinductor_" + re.sub(r'[\\/:*?"<>|]', "_", getpass.getuser()))


def cache_dir() -> str:
    """What ``TORCHINDUCTOR_CACHE_DIR`` says, or ``default_cache_dir()``, which is made."""
    found = os.environ.get("TORCHINDUCTOR_CACHE_DIR") or default_cache_dir()
    os.makedirs(found, exist_ok=True)
    return found
