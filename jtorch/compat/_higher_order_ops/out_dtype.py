"""torch._higher_order_ops.out_dtype: an operator computed in the dtype of its result."""
from __future__ import annotations

import functools
from typing import Any

from jtorch._api.functional import promote_types
from jtorch._base.pytree import flatten, tree_map
from jtorch._library.namespaces import OpOverload, ops
from jtorch.dtype import dtype
from jtorch.tensor import Tensor

_aten = ops.aten
ALLOWABLE_OPS = [_aten.linear.default, _aten.mm.default, _aten.conv2d.default, _aten.convolution.default, _aten.mul.Tensor,
                 _aten.mul.Scalar, _aten.div.Tensor, _aten.div.Scalar]


def _check(op: Any) -> None:
    if not isinstance(op, OpOverload):
        raise ValueError("out_dtype's first argument must be an OpOverload")
    if op._schema.is_mutable:
        raise ValueError("out_dtype's first argument needs to be a functional operator")
    if op not in ALLOWABLE_OPS:
        raise ValueError(f"out_dtype only allows the following operators: {ALLOWABLE_OPS}.")


def out_dtype(op: Any, output_dtype: dtype, *args: Any) -> Tensor:
    """Compute an operator such as ``aten.mm`` in a wider dtype. See torch._higher_order_ops.out_dtype.

    Args:
        op: one of ``ALLOWABLE_OPS``.
        output_dtype: the dtype of the result. Tensors are first cast to the dtype that it and their dtypes promote to.
        *args: the operator's arguments.

    Raises:
        ValueError: ``op`` is not one of ``ALLOWABLE_OPS``.

        >>> from torch._higher_order_ops.out_dtype import out_dtype
        >>> a = torch.full((2, 2), 100, dtype=torch.int8)
        >>> out_dtype(torch.ops.aten.mm.default, torch.int32, a, a)
        tensor([[20000, 20000],
                [20000, 20000]], dtype=torch.int32)

    """
    _check(op)
    kinds = [t.dtype for t in flatten(args)[0] if isinstance(t, Tensor)]
    wide = functools.reduce(promote_types, kinds, output_dtype)
    cast = tree_map(lambda x: x.to(wide) if isinstance(x, Tensor) else x, args)
    return op(*cast).to(output_dtype)
