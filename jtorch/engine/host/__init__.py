"""Running an op's jaxpr on the host with NumPy and SciPy: what a first call does instead of waiting for a compiler.

Compiling one op with XLA takes 25 to 80 ms; tracing it and resolving a NumPy function for each equation takes well
under one. Unsupported is raised where there is no such function, or where compiling is the better choice.

================  ==================================================================
``flat.py``       jaxpr -> one list of equations: inlining, dead code
``program.py``    the equations -> a list of calls: constants, slots
``sizes.py``      sizes that a trace leaves open
``rules.py``      the table of rules and what a rule is
``untraced.py``   ops whose programs are made without a jaxpr: lists of tensors (``lists.py``),
                  parts of one (``parts.py``), places of its memory (``places.py``)
the other files   the rules, by kind
================  ==================================================================
"""
from jtorch.engine.host import contract, control, elementwise, index, linalg, reduce, shape, untraced, windows  # noqa: F401
from jtorch.engine.host.program import (
    HostProgram,
    Plan,
    has_any,
    has_loop,
    new_quiet_context,
    quiet_contexts,
    trace,
    work_of,
)
from jtorch.engine.host.rules import Unsupported

__all__ = ["HostProgram", "Plan", "Unsupported", "has_any", "has_loop", "new_quiet_context", "quiet_contexts", "trace", "work_of"]
