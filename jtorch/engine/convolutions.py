"""Who computes a program's convolutions on the CPU: XLA has two ways, and takes the slower one for large ones of few channels.

XLA gives those of float32 and float64 to YNNPACK, which runs one of 64 channels in a single thread; its own (Eigen's), which an
option brings back for a whole program, runs it in all. Milliseconds of the convolution and its gradients of input and filters,
3x3, medians on 2 cores (a faster machine: 7.2 7.0 11.1 against 4.2 4.1 4.1 in the first row, 92 95 208 against 55 52 56 in the
second):

| channels, image, batch | YNNPACK | Eigen |
|---|---|---|
| 64 to 64, 32x32, 16 | 14.6 14.7 13.9 | 8.8 13.7 9.1 |
| 64 to 64, 32x32, 128 | 181 187 312 | 98 93 119 |
| 64 to 64, 56x56, 4 | 11.9 12.9 12.5 | 7.9 8.6 14.2 |
| 64 to 128 by 2, 32x32, 16 | 8.9 7.1 7.8 | 6.1 7.0 6.0 |
| 128 to 128, 16x16, 16 | 8.0 7.7 10.0 | 7.8 7.3 8.2 |
| 512 to 512, 4x4, 16 | 13.1 12.1 10.0 | 10.8 11.2 8.6 |
| 64 to 64, 32x32, 1 | 1.3 1.2 1.2 | 1.3 1.1 3.9 |
| 64 to 64, 8x8, 4 | 0.48 0.47 0.52 | 0.67 0.65 0.97 |

Eigen has none of float64, and its gradient of the filters of few images is slow: such programs stay as they are.
"""
from __future__ import annotations

import re
from math import prod

MUCH = 300e6        # floating-point operations of a convolution from which on the threads pay
MANY_IMAGES = 8
LARGE_FILTER = 16   # of so many places along a dimension: an image, in the gradient of the filters
EIGEN = {"xla_cpu_experimental_ynn_fusion_type": "LIBRARY_FUSION_TYPE_INDIVIDUAL_DOT,LIBRARY_FUSION_TYPE_REDUCE"}

_CONVOLUTION = re.compile(r"stablehlo\.convolution\(.*?dim_numbers = \[.*?\]x\[(.*?)\]->.*?"
                          r": \(.*?, tensor<([\dx]*)x(\w+)>\) -> tensor<([\dx]*)x\w+>")


def options(text: str) -> dict[str, str]:
    """XLA's options for a program of that text (StableHLO)."""
    found = [_measured(*m.groups()) for m in _CONVOLUTION.finditer(text)]
    return EIGEN if found and max(found) >= MUCH and min(found) > 0 else {}


def _measured(dims: str, filters: str, dtype: str, out: str) -> float:
    """The operations of a convolution; 0 of one that Eigen is bad at."""
    of = dict(zip(dims.split(", "), map(int, filters.split("x")), strict=True))
    spread = max([size for dim, size in of.items() if dim not in "io"], default=1)
    if dtype == "f64" or (spread >= LARGE_FILTER and of["i"] < MANY_IMAGES):
        return 0
    return 2 * prod(map(int, out.split("x"))) * prod(of.values()) / of["o"]
