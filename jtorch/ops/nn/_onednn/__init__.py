"""Convolutions on the CPU by oneDNN, the library that PyTorch has them from. Used where it is installed (the extra ``onednn``).

``convolution.cc`` calls it, ``library.py`` loads both, ``primitive.py`` makes it an op of JAX. What oneDNN is slow at, or has no
kernel for, stays with XLA and the formulas in ``_convolve.py`` and its kin beside this folder. Milliseconds of a convolution
and its gradients of input and filters, 3x3, on 2 cores of an Intel machine with AVX-512, each called alone:

| channels, image, batch | without oneDNN | with it | PyTorch |
|---|---|---|---|
| 64 to 64, 32x32, 8 | 2.8 5.3 6.6 | 2.2 4.3 4.3 | 2.2 4.5 4.4 |
| 16 to 16, 64x64, 4 | 0.8 1.4 2.0 | 0.5 0.9 1.0 | 0.4 0.9 0.9 |
| 256 to 256, 8x8, 8 | 3.2 6.1 6.0 | 2.1 4.0 4.3 | 1.9 3.9 4.4 |
| 16 to 16, 14x14, 4 | 0.10 0.22 0.26 | 0.05 0.15 0.15 | 0.07 0.20 0.20 |

A convolution takes the same time on the host, where it needs no compiler, as in a program, whose compiling takes less without it.
"""
from __future__ import annotations

from jtorch.ops.nn._onednn.library import HANDLER, use_threads, version
from jtorch.ops.nn._onednn.primitive import FILTERS, INPUT, RESULT, Geometry, computed, host_function, is_quick, takes

__all__ = ["FILTERS", "HANDLER", "INPUT", "RESULT", "Geometry", "computed", "host_function", "is_quick", "takes", "use_threads",
           "version"]
