"""Ops that oneDNN, the library that PyTorch uses too, computes on the CPU if it is installed (the extra ``onednn``).

Convolutions are an op of JAX (``convolution.py``, ``convolution.cc``), on the host and in programs. Matrix products are found
when a program is lowered (``product.py``, ``product.cc``); the host calls oneDNN itself (``host_product.cc``). Batch norm's
sums are hand-written loops (``batch_norm.py``, ``batch_norm.cc``), and so are fused steps of the host (``fused.cc``).
``library.py`` loads the library. XLA and the formulas in ``ops/nn/_convolve.py`` compute cases for which oneDNN is slow or has
no kernel. See docs/measurements/formulas.md for times.
"""
from __future__ import annotations

from jtorch.ops._onednn import batch_norm
from jtorch.ops._onednn.convolution import FILTERS, INPUT, RESULT, Geometry, computed, host_function, is_quick, takes
from jtorch.ops._onednn.library import CONVOLUTION, HANDLERS, fuse, multiply, operations, use_threads, version
from jtorch.ops._onednn.product import lowered, products_in

__all__ = ["CONVOLUTION", "FILTERS", "HANDLERS", "INPUT", "RESULT", "Geometry", "batch_norm", "computed", "fuse", "host_function",
           "is_quick", "lowered", "multiply", "operations", "products_in", "takes", "use_threads", "version"]
