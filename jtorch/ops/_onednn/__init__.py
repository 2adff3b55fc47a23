"""What oneDNN, PyTorch's own library for it, computes on the CPU where it is installed (the extra ``onednn``).

Convolutions are an op of JAX (``convolution.py``, ``convolution.cc``), on the host and in programs. Products of matrices are
found when a program is lowered (``product.py``, ``product.cc``); on the host they are NumPy's. Batch norm's sums, which go with
convolutions, are loops of our own (``batch_norm.py``, ``batch_norm.cc``). ``library.py`` loads it all. What
oneDNN is slow at, or has no kernel for, stays with XLA and the formulas in ``ops/nn/_convolve.py`` and its kin.
"""
from __future__ import annotations

from jtorch.ops._onednn import batch_norm
from jtorch.ops._onednn.convolution import FILTERS, INPUT, RESULT, Geometry, computed, host_function, is_quick, takes
from jtorch.ops._onednn.library import CONVOLUTION, HANDLERS, use_threads, version
from jtorch.ops._onednn.product import lowered, products_in

__all__ = ["CONVOLUTION", "FILTERS", "HANDLERS", "INPUT", "RESULT", "Geometry", "batch_norm", "computed", "host_function",
           "is_quick", "lowered", "products_in", "takes", "use_threads", "version"]
