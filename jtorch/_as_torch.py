"""The earlier name of ``jtorch._import_hook``. Environments into which an earlier version installed ``torch`` import it."""
from __future__ import annotations

from jtorch._import_hook import install as install
