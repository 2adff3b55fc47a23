"""torch.nn.functional.scaled_mm: scaled products of matrices of 8-bit floats."""
from __future__ import annotations

import enum
from collections.abc import Sequence
from typing import Any

import jtorch.dtype as dtypes
from jtorch._api import nn_functions
from jtorch._api.names import put
from jtorch.dispatch import call
from jtorch.engine import call_of
from jtorch.ops.registry import OPS, T
from jtorch.tensor import Tensor


class ScalingType(enum.IntEnum):
    """The part of a matrix that one scale applies to. See torch.nn.functional.ScalingType."""

    TensorWise = 0
    RowWise = 1
    BlockWise1x16 = 2
    BlockWise1x32 = 3
    BlockWise1x128 = 4
    BlockWise128x128 = 5


class SwizzleType(enum.IntEnum):
    """The order of scales in memory. See torch.nn.functional.SwizzleType."""

    NO_SWIZZLE = 0
    SWIZZLE_32_4_4 = 1


def scaled_mm(mat_a: Tensor, mat_b: Tensor, scale_a: Tensor | list[Tensor], scale_recipe_a: ScalingType | list[ScalingType],
              scale_b: Tensor | list[Tensor], scale_recipe_b: ScalingType | list[ScalingType],
              swizzle_a: SwizzleType | list[SwizzleType] | None = None, swizzle_b: SwizzleType | list[SwizzleType] | None = None,
              bias: Tensor | None = None, output_dtype: dtypes.dtype | None = dtypes.bfloat16,
              contraction_dim: Sequence[int] = (), use_fast_accum: bool = False) -> Tensor:
    """Return the product of matrices of 8-bit floats, scaled per tensor or per row. See torch.nn.functional.scaled_mm.

    The product is computed in float32. Scales per block raise NotImplementedError.
    """
    recipes, scales = (*_listed(scale_recipe_a), *_listed(scale_recipe_b)), (*_listed(scale_a), *_listed(scale_b))
    swizzles = {*_listed(swizzle_a), *_listed(swizzle_b)} - {None, SwizzleType.NO_SWIZZLE}
    if swizzles or not {*recipes} <= {ScalingType.TensorWise, ScalingType.RowWise}:
        raise NotImplementedError("scaled_mm with scales per block is not built: scale_recipe_a and scale_recipe_b may be "
                                  "TensorWise or RowWise")
    if not len(scales) == len(recipes) == 2:
        raise ValueError("Invalid scaling configuration.")
    marks = (T, T, T, T, None if bias is None else T, output_dtype or mat_a.dtype)
    return call(call_of(OPS["_scaled_product"], marks), [mat_a, mat_b, *scales, *([] if bias is None else [bias])])


def scaled_grouped_mm(mat_a: Any, mat_b: Any, scale_a: Any, scale_recipe_a: Any, scale_b: Any, scale_recipe_b: Any,
                      swizzle_a: Any = None, swizzle_b: Any = None, bias: Any = None, offs: Any = None,
                      output_dtype: Any = dtypes.bfloat16, contraction_dim: Any = (), use_fast_accum: bool = False) -> Tensor:
    """Raise NotImplementedError. See torch.nn.functional.scaled_grouped_mm."""
    raise NotImplementedError("scaled_grouped_mm is not built: grouped_mm takes bfloat16, float16 and float32, and scaled_mm one "
                              "pair of matrices in 8-bit floats")


def _listed(x: Any) -> list:
    return list(x) if isinstance(x, (list, tuple)) else [x]


def bind() -> None:
    """Add the names of this module to torch.nn.functional."""
    put(nn_functions, {f.__name__: f for f in (scaled_mm, scaled_grouped_mm, ScalingType, SwizzleType)})
