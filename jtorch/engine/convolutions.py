"""Who computes a program's convolutions on the CPU: XLA has two libraries, and takes the slower one.

XLA gives those of float32 and float64 to YNNPACK, which runs one of 64 channels in a single thread; its own (Eigen's), which an
option brings back for a whole program, runs it in all. Milliseconds of the convolution and its gradients of input and filters,
3x3, medians on 2 cores of an AMD machine with AVX-512:

| channels, image, batch | YNNPACK | Eigen | PyTorch |
|---|---|---|---|
| 64 to 64, 32x32, 16 | 16.9 16.4 29.9 | 8.2 8.2 8.9 | 6.5 6.5 8.7 |
| 64 to 64, 32x32, 64 | 67 67 594 | 35 35 41 | 28 27 33 |
| 128 to 128, 16x16, 16 | 8.0 7.9 14.4 | 7.0 7.0 7.4 | 6.5 6.3 7.1 |
| 16 to 32, 28x28, 32 | 3.8 3.7 6.8 | 2.1 2.3 2.6 | 1.4 1.5 1.8 |
| 128 to 64, 16x16, 4 | 2.1 2.1 2.9 | 1.1 1.0 1.9 | 0.9 0.9 1.0 |
| 16 to 32, 14x14, 8 | 0.2 0.2 0.3 | 0.2 0.3 0.3 | |
| 3 to 64, 7x7 by 2, 64x64, 8 | 2.3 3.7 4.2 | 1.7 3.3 1.7 | 0.9 3.7 1.2 |

Without the pool of threads it is the same. Eigen has none of float64: a program that has one stays as it is. What Eigen is slow
at, the gradient of the filters of few images, has formulas of its own (``ops/nn/_few_places.py``).

The loops around convolutions are all different, and XLA's newer way of compiling loops (by MLIR), which compiles equal ones
once, takes longer for them: a U-Net's step 6.3 s of processor time for 3.6, one of 16 to 64 channels in six residual blocks 4.0
for 2.8; the older one's steps take 3 % longer (86 for 89 ms, 155 for 160), ResNet-50's no longer. Without convolutions the newer
one wins: AdamW over a GPT's 293 parameters takes 2.2 s with it and 7.5 without.
"""
from __future__ import annotations

import re

from jtorch.ops import _onednn

EIGEN = {"xla_cpu_experimental_ynn_fusion_type": "LIBRARY_FUSION_TYPE_INDIVIDUAL_DOT,LIBRARY_FUSION_TYPE_REDUCE"}
OLDER_LOOPS = {"xla_cpu_use_fusion_emitters": False}

_CONVOLUTION = re.compile(r"stablehlo\.convolution\(.*-> tensor<[\dx]*x(\w+)>")


def options(text: str) -> dict[str, str | bool]:
    """XLA's options for a program of that text (StableHLO)."""
    dtypes = set(_CONVOLUTION.findall(text))
    return (OLDER_LOOPS if dtypes or by_onednn(text) else {}) | (EIGEN if dtypes == {"f32"} else {})


def by_onednn(text: str) -> int:
    """How many of the convolutions in a program of that text oneDNN computes, which XLA knows nothing of."""
    return text.count(f"@{_onednn.CONVOLUTION}")


def are_in(text: str) -> bool:
    """Whether there is one in a program of that text."""
    return "stablehlo.convolution" in text
