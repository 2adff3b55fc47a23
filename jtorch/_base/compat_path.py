"""Adds the folder compat to the package's path, so that ``compat/_C`` is the module ``jtorch._C``, when it is imported."""
from __future__ import annotations

import os
import sys

_FOLDERS = sys.modules["jtorch"].__path__
_FOLDERS.append(os.path.join(_FOLDERS[0], "compat"))
