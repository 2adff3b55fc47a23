"""torch._inductor.runtime.cache_dir_utils: the folder of PyTorch's generated code, to which nothing is written in jtorch."""
from __future__ import annotations

import getpass
import os
import re
import tempfile


def default_cache_dir() -> str:
    """Return a folder for the user among the temporary files."""
    return os.path.join(tempfile.gettempdir(), "torchinductor_" + re.sub(r'[\\/:*?"<>|]', "_", getpass.getuser()))


def cache_dir() -> str:
    """Return ``TORCHINDUCTOR_CACHE_DIR`` or ``default_cache_dir()``, and create the folder."""
    found = os.environ.get("TORCHINDUCTOR_CACHE_DIR") or default_cache_dir()
    os.makedirs(found, exist_ok=True)
    return found
