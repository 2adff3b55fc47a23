"""Convolutions on the CPU by oneDNN, the library that PyTorch has them from. Used where it is installed (the extra ``onednn``).

``convolution.cc`` calls it, ``library.py`` loads both, ``primitive.py`` makes it an op of JAX. What XLA's own convolutions and the
formulas of ``ops/nn`` take is in ``_convolve.py`` beside this folder; what oneDNN is slow at stays with these.
"""
from __future__ import annotations

from jtorch.ops.nn._onednn.library import HANDLER, use_threads, version
from jtorch.ops.nn._onednn.primitive import FILTERS, INPUT, RESULT, Geometry, computed, host_function, is_quick, takes

__all__ = ["FILTERS", "HANDLER", "INPUT", "RESULT", "Geometry", "computed", "host_function", "is_quick", "takes", "use_threads",
           "version"]
