"""Run an op's jaxpr on the host with NumPy and SciPy, so that a first call does not wait for the compiler.

Resolving a NumPy function for each equation takes a small part of the time that XLA needs to compile the op. Unsupported is
raised for an equation without such a function, and for work that is better compiled.

================  ==================================================================
``flat.py``       jaxpr -> one list of equations: inlining, dead code
``program.py``    the equations -> a list of calls: constants, slots
``sizes.py``      sizes that a JAX trace leaves open
``rules.py``      the table of rules, and the classes that rules use
``untraced.py``   ops whose host programs need no jaxpr: lists of tensors (``lists.py``), parts of
                  a tensor (``parts.py``), elements of its memory (``places.py``), ``attention.py``
``fused.py``      runs of elementwise steps and row reductions as one step of C++ (``fused_code.py``)
``blocks.py``     runs of elementwise steps on large arrays, block by block in the cache
``blas.py``       matrix products by oneDNN or BLAS, and their threads
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
