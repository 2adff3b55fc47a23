"""Running an op's jaxpr on the host with NumPy and SciPy: what a first call does instead of waiting for a compiler.

Compiling one op with XLA takes 25 to 80 ms; tracing it and resolving a NumPy function for each equation takes well
under one. ``compile_on_host`` gives None where there is no such function, or where compiling is the better choice.

================  ==================================================================
``program.py``    jaxpr -> flat list of calls: inlining, dead code, constants, slots
``rules.py``      the table of rules and what a rule is
the other files   the rules, by kind
================  ==================================================================
"""
from jtorch.engine.host import contract, control, elementwise, index, linalg, reduce, shape, windows  # noqa: F401
from jtorch.engine.host.program import HostProgram, compile_on_host

__all__ = ["HostProgram", "compile_on_host"]
