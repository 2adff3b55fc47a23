"""Questions about packages and their dependencies."""
from __future__ import annotations

from jtorch.package.analyze.find_first_use_of_broken_modules import (
    find_first_use_of_broken_modules as find_first_use_of_broken_modules,
)
from jtorch.package.analyze.trace_dependencies import trace_dependencies as trace_dependencies
