"""Attention of a few queries, as in decoding token by token, where each call has one key more.

A trace with an open number of keys would be filled in for each number, which takes longer than making this single function.
A call of the function also takes less time than the steps of the trace.
"""
from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import Any

import jax
import numpy as np

from jtorch.engine import cost, policy
from jtorch.engine.host.blas import matmul_for
from jtorch.engine.host.program import HostProgram, of_function
from jtorch.ops.registry import Op, T, thaw


def attended(op: Op, template: tuple, avals: Sequence[Any]) -> HostProgram | None:
    """Return the host program of ``scaled_dot_product_attention`` of float32 or float64.

    Return None for its backward, a mask, dropout, a causal call, grouped queries, or arrays that do not fit.
    """
    if op.is_backward or template[:4] != (T, T, T, None):
        return None
    dropout, is_causal, scale, enable_gqa = map(thaw, template[4:])
    if dropout or is_causal or enable_gqa or not _fit(avals):
        return None
    query, key, value = [a.shape for a in avals]
    rows, (keys, width), dtype = math.prod(query[:-1]), key[-2:], avals[0].np
    attend = _attend(matmul_for(query[-2], keys, width, dtype), dtype.type(1 / math.sqrt(width) if scale is None else scale))
    out = jax.ShapeDtypeStruct((*query[:-1], value[-1]), dtype)
    return of_function(attend, (True,) * 3, [out], _work(rows, keys, width + value[-1]), is_tuple=False)


def _fit(avals: Sequence[Any]) -> bool:
    """Return whether the arrays are matrices of one dtype (float32 or float64) with matching sizes.

    None of them may be empty, and the queries must be few.
    """
    query, key, value = [a.shape for a in avals]
    kinds = {a.np for a in avals}
    if len(kinds) > 1 or not kinds <= {np.dtype(np.float32), np.dtype(np.float64)} or min(map(len, (query, key, value))) < 2:
        return False
    are_alike = query[:-2] == key[:-2] == value[:-2] and query[-1] == key[-1] and key[-2] == value[-2]
    return are_alike and 0 not in (*query, *key, *value) and math.prod(query[:-1]) < policy.MEDIUM


def _attend(matmul: Callable, factor: np.floating) -> Callable:
    least, tiny = np.finfo(factor).min, np.finfo(factor).tiny
    largest, add = np.maximum.reduce, np.add.reduce

    def attend(query, key, value):
        weights = matmul(_dense(query), _dense(key.swapaxes(-1, -2)))
        weights *= factor
        weights -= largest(weights, -1, None, None, True, least)
        np.exp(weights, weights)
        weights /= np.maximum(add(weights, -1, None, None, True), tiny)
        return matmul(weights, _dense(value))
    return attend


def _dense(x: np.ndarray) -> np.ndarray:
    """Return the array, copied if it is a broadcast view, because BLAS takes no such views."""
    return np.ascontiguousarray(x) if 0 in x.strides else x


def _work(rows: int, keys: int, width: int) -> cost.Work:
    products = cost.of_product(2.0 * rows * keys * width)
    softmax = rows * keys * (cost.COSTLY["exp"] + 4 * cost.CHEAP)
    return products + cost.Work(8 * cost.HOST_STEP + softmax, softmax * cost.FUSED, 12 * cost.COMPILING)
