"""What oneDNN, PyTorch's own library for it, computes on the CPU where it is installed (the extra ``onednn``).

Convolutions are an op of JAX (``convolution.py``, ``convolution.cc``), on the host and in programs. Products of matrices are
found when a program is lowered (``product.py``, ``product.cc``); on the host they are NumPy's. ``library.py`` loads it all. What
oneDNN is slow at, or has no kernel for, stays with XLA and the formulas in ``ops/nn/_convolve.py`` and its kin.
"""
from __future__ import annotations

from jtorch.ops._onednn.convolution import FILTERS, INPUT, RESULT, Geometry, computed, host_function, is_quick, takes
from jtorch.ops._onednn.library import CONVOLUTION, use_threads, version
from jtorch.ops._onednn.product import lowered, products_in

__all__ = ["CONVOLUTION", "FILTERS", "INPUT", "RESULT", "Geometry", "computed", "host_function", "is_quick",
           "lowered", "products_in", "takes", "use_threads", "version"]
