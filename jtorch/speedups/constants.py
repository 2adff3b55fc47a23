"""Constants that Python and C share. The extension gets them from ``set_constants``."""
from __future__ import annotations

# Modes of a trace.
EMPTY = "empty"             # the trace has no calls
DEFERRED = "deferred"       # calls are held back until the trace ends
EAGER = "eager"             # a call runs when it is recorded

LEAF = -1           # the output number in an edge whose target is a leaf tensor itself

# Facts of a call as flags of one number: see ``jtorch.dispatch.calls.tape_flags``.
DIFFERENTIABLE = 1          # the call has a node
SAVES = 2                   # its vjp uses saved values
SAVES_BOTH = 4              # its vjp uses saved arguments and the result
KEEPS_RESULT = 8            # its vjp uses the result
IDEMPOTENT = 16             # its vjp takes the result in place of the argument
LAID_OUT = 32               # a layout rule gives the strides of its results
HAS_CHECKS = 64             # only some saved values have their versions checked
CLASS_BY_SHAPES = 128       # the class of its nodes depends on the shapes of the arguments
INPLACE_IN_PYTHON = 256     # C leaves its in-place form to Python
PLAIN_VIEW = 512            # it returns one differentiable view, and the view's origin is not recorded: see Op.is_plain_view
RENAMED = 1024              # its node has another name if the base is not contiguous
FITS = 2048                 # it has numbers that must not overflow

FOR_C = {"DEFERRED": DEFERRED, "EAGER": EAGER, "LEAF": LEAF, "DIFFERENTIABLE": DIFFERENTIABLE, "SAVES": SAVES,
         "SAVES_BOTH": SAVES_BOTH, "KEEPS_RESULT": KEEPS_RESULT, "IDEMPOTENT": IDEMPOTENT, "LAID_OUT": LAID_OUT,
         "HAS_CHECKS": HAS_CHECKS, "CLASS_BY_SHAPES": CLASS_BY_SHAPES, "INPLACE_IN_PYTHON": INPLACE_IN_PYTHON,
         "PLAIN_VIEW": PLAIN_VIEW, "RENAMED": RENAMED, "FITS": FITS}
