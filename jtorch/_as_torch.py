"""The name by which environments that an earlier version installed ``torch`` into import ``jtorch._import_hook``."""
from __future__ import annotations

from jtorch._import_hook import install as install
