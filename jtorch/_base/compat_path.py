"""Importing this module adds the folder compat to the package's path. Then ``compat/_C`` is the module ``jtorch._C``."""
from __future__ import annotations

import os
import sys

_FOLDERS = sys.modules["jtorch"].__path__
_FOLDERS.append(os.path.join(_FOLDERS[0], "compat"))
