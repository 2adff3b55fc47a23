"""XLA's options for programs with convolutions on the CPU: they choose the library of convolutions, and how loops are compiled.

XLA has two libraries for convolutions of float32 and float64. By default it takes YNNPACK, which runs a convolution of 64
channels in a single thread. An option chooses Eigen for a whole program. Eigen uses all threads. The table has the milliseconds
of a convolution, of its gradient of the input, and of its gradient of the filters. Filters are 3x3 except in the last row. The
figures are medians on 2 cores of an AMD machine with AVX-512:

| channels, image, batch | YNNPACK | Eigen | PyTorch |
|---|---|---|---|
| 64 to 64, 32x32, 16 | 16.9 16.4 29.9 | 8.2 8.2 8.9 | 6.5 6.5 8.7 |
| 64 to 64, 32x32, 64 | 67 67 594 | 35 35 41 | 28 27 33 |
| 128 to 128, 16x16, 16 | 8.0 7.9 14.4 | 7.0 7.0 7.4 | 6.5 6.3 7.1 |
| 16 to 32, 28x28, 32 | 3.8 3.7 6.8 | 2.1 2.3 2.6 | 1.4 1.5 1.8 |
| 128 to 64, 16x16, 4 | 2.1 2.1 2.9 | 1.1 1.0 1.9 | 0.9 0.9 1.0 |
| 16 to 32, 14x14, 8 | 0.2 0.2 0.3 | 0.2 0.3 0.3 | |
| 3 to 64, 7x7 by 2, 64x64, 8 | 2.3 3.7 4.2 | 1.7 3.3 1.7 | 0.9 3.7 1.2 |

Without the thread pool the libraries compare in the same way. Eigen has no convolutions of float64, so a program with a float64
convolution keeps the default.
Eigen is slow at the gradient of the filters for few images. Formulas of our own replace it (``ops/nn/_small_images.py``).

XLA has two ways to compile loops. The newer one (fusion emitters, by MLIR) compiles equal loops once, but takes longer for each
different loop. The loops around convolutions are all different, so programs with convolutions are compiled in the older way.
Their steps are as fast or little slower. An optimizer's step has many equal loops, for which the newer way is several times
faster.
"""
from __future__ import annotations

import re

from jtorch.ops import _onednn

EIGEN = {"xla_cpu_experimental_ynn_fusion_type": "LIBRARY_FUSION_TYPE_INDIVIDUAL_DOT,LIBRARY_FUSION_TYPE_REDUCE"}
OLDER_LOOPS = {"xla_cpu_use_fusion_emitters": False}

_CONVOLUTION = re.compile(r"stablehlo\.convolution\(.*-> tensor<[\dx]*x(\w+)>")


def options(text: str) -> dict[str, str | bool]:
    """Return XLA's options for a program with this text (StableHLO)."""
    dtypes = set(_CONVOLUTION.findall(text))
    return (OLDER_LOOPS if dtypes or by_onednn(text) else {}) | (EIGEN if dtypes == {"f32"} else {})


def by_onednn(text: str) -> int:
    """Return how many convolutions oneDNN computes in a program with this text. XLA sees them as custom calls."""
    return text.count(f"@{_onednn.CONVOLUTION}")


def are_in(text: str) -> bool:
    """Return whether XLA computes a convolution in a program with this text."""
    return "stablehlo.convolution" in text
