"""Constants that the Python and the C go by alike. They reach C through one call, ``set_constants``."""
from __future__ import annotations

# Modes of a trace.
EMPTY = "empty"             # no calls yet
DEFERRED = "deferred"       # none has run
EAGER = "eager"             # each ran when it was called

LEAF = -1           # the output number in an edge whose target is a leaf tensor itself

# Facts of a call that nodes go by, as one number: see ``jtorch.dispatch.calls.tape_flags``.
DIFFERENTIABLE = 1          # it has a node
SAVES = 2                   # whose vjp uses saved arguments
SAVES_BOTH = 4              # or these and the result
KEEPS_RESULT = 8            # its vjp uses the result
IDEMPOTENT = 16             # its vjp takes the result in place of the argument
LAID_OUT = 32               # a rule says how its results lie in memory
HAS_CHECKS = 64             # versions are checked of some of what is saved
CLASS_BY_SHAPES = 128       # the class of its nodes depends on the shapes of the arguments
INPLACE_IN_PYTHON = 256     # C leaves its in-place form alone
PLAIN_VIEW = 512            # one view of one tensor, with nothing to note of it
RENAMED = 1024              # whose node has another name where what it is taken of is not contiguous
FITS = 2048                 # it has numbers that must not overflow

FOR_C = {"DEFERRED": DEFERRED, "EAGER": EAGER, "LEAF": LEAF, "DIFFERENTIABLE": DIFFERENTIABLE, "SAVES": SAVES,
         "SAVES_BOTH": SAVES_BOTH, "KEEPS_RESULT": KEEPS_RESULT, "IDEMPOTENT": IDEMPOTENT, "LAID_OUT": LAID_OUT,
         "HAS_CHECKS": HAS_CHECKS, "CLASS_BY_SHAPES": CLASS_BY_SHAPES, "INPLACE_IN_PYTHON": INPLACE_IN_PYTHON,
         "PLAIN_VIEW": PLAIN_VIEW, "RENAMED": RENAMED, "FITS": FITS}
