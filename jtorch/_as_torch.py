"""The earlier name of ``jtorch._import_hook``, which environments import that an earlier version installed ``torch`` into."""
from __future__ import annotations

from jtorch._import_hook import install as install
