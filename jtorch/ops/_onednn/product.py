"""Products of float32 matrices in XLA's programs for the CPU, computed by oneDNN in XLA's threads (see ``product.cc``).

XLA computes a batch of matrices, and single products up to a certain size, in one thread. See docs/measurements/formulas.md for
times.
"""
from __future__ import annotations

from collections.abc import Iterator, Sequence
from math import inf, prod
from typing import Any, NamedTuple

import numpy as np
from jax.extend.mlir import ir
from jax.extend.mlir.dialects import stablehlo

from jtorch.ops._onednn import library

LEAST_SIZE = 4          # Rows and columns. XLA is as fast for matrix-vector products.
# Multiplications and additions of all products of a batch, or of each product if one thread computes them. Below this number
# XLA is as fast.
LEAST = 1_000_000
LEAST_OF_ONE = 100_000  # Multiplications and additions of each product of a batch. Below this number XLA is as fast.
# Upper limit for the multiplications and additions of each product of a program that runs while its caller continues. Above the
# limit XLA's own product uses the cores that the caller leaves free.
MOST_BESIDE = 1e8
LEAST_LENGTH, LEAST_LENGTH_ALONE = 8, 64        # Terms of each sum, if several threads or one thread compute it.


class Product(NamedTuple):
    """A batch of ``matrices`` products of (rows, length) by (length, columns); each side may be stored transposed."""

    matrices: int
    rows: int
    columns: int
    length: int
    left_transposed: bool
    right_transposed: bool

    def is_for_onednn(self, spreads: bool, beside: bool) -> bool:
        """Return whether oneDNN is faster than XLA, which computes a batch in one thread. For the arguments see ``lowered``."""
        each = 2 * self.rows * self.columns * self.length
        if min(self.rows, self.columns) < LEAST_SIZE:
            return False
        if not spreads:
            return each >= LEAST and self.length >= LEAST_LENGTH_ALONE
        least, most = max(LEAST / self.matrices, LEAST_OF_ONE), MOST_BESIDE if beside else inf
        return least <= each <= most and self.length >= LEAST_LENGTH

    def transposed(self) -> Product:
        """Return the transposed product: both sides transposed, in the other order."""
        return Product(self.matrices, self.columns, self.rows, self.length, not self.right_transposed, not self.left_transposed)


class Side(NamedTuple):
    """One side of a product, an MLIR value. Its first ``batch`` dimensions are batch dimensions."""

    array: Any
    shape: tuple[int, ...]
    summed: tuple[int, ...]     # the contracted dimensions
    batch: int

    def as_it_lies(self) -> Side | None:
        """Return the operand of the transposition that makes this side, or the side itself if it is not transposed.

        Return None if the operand's kept dimensions are in another order than the side's.

        XLA fuses a transposition into its own products, but a separate transposition before oneDNN's product is slow.
        """
        order = _order(self.array.owner)
        if order is None or order[:self.batch] != list(range(self.batch)):
            return self
        kept = [d for k, d in enumerate(order) if k not in self.summed]
        shape = tuple([size for _, size in sorted(zip(order, self.shape, strict=True))])
        side = Side(self.array.owner.operation.operands[0], shape, tuple([order[d] for d in self.summed]), self.batch)
        return side if kept == sorted(kept) else None

    @property
    def sizes(self) -> tuple[int, int, int]:
        """The numbers of matrices, of kept elements and of contracted elements of each matrix."""
        length = prod([self.shape[d] for d in self.summed])
        return prod(self.shape[:self.batch]), prod(self.shape[self.batch:]) // max(length, 1), length

    @property
    def is_summed_first(self) -> bool | None:
        """Whether the contracted dimensions precede the kept ones, or None if they are interleaved."""
        n, ndim = len(self.summed), len(self.shape)
        if self.summed == tuple(range(ndim - n, ndim)):
            return False
        return True if self.summed == tuple(range(self.batch, self.batch + n)) else None


def product_of(left: Side, right: Side) -> Product | None:
    """Return the product of two sides in their memory order, or None if a side would have to be copied."""
    (matrices, rows, length), (_, columns, _) = left.sizes, right.sizes
    if left.is_summed_first is None or right.is_summed_first is None:
        return None
    return Product(matrices, rows, columns, length, left.is_summed_first, not right.is_summed_first)


def lowered(traced: Any, spreads: bool, beside: bool) -> Any:
    """Return ``traced.lower()`` for a CPU, with products replaced by calls of oneDNN.

    JAX caches the changed module. ``spreads``: products run on several of XLA's threads. ``beside``: the program runs while its
    calling thread continues.
    """
    made = traced.lower()
    module = made.compiler_ir()
    products = list(_products(module.operation))
    if products and library.version() is not None:
        with module.context, ir.Location.unknown():
            for operation in products:
                _give_one(operation, spreads, beside)
    return made


def _products(operation: Any) -> Iterator[Any]:
    """Yield all matrix products inside a StableHLO operation, such as a module, a function or a loop.

    ``walk`` cannot be interrupted, since it turns an exception of its callback into a RuntimeError.
    """
    for region in operation.regions:
        for block in region.blocks:
            for inner in [each.operation for each in block.operations]:
                if inner.name == "stablehlo.dot_general":
                    yield inner
                yield from _products(inner)


def _give_one(operation: Any, spreads: bool, beside: bool) -> None:
    sides = _sides(operation)
    found = product_of(*sides) if sides else None
    result, transposition = operation.results[0], None
    if found is not None and (uses := _transpositions(result, sides[0].batch)):
        transposition = uses[0] if len(uses) == len(list(result.uses)) == 1 else None
        if transposition is None or {len(side.shape) - side.batch for side in sides} != {2}:
            return
        found, sides, result = found.transposed(), sides[::-1], transposition.results[0]
    if found is None or not found.is_for_onednn(spreads, beside):
        return
    with ir.InsertionPoint(operation):
        call = _call(library.SHARED_PRODUCT if spreads else library.PRODUCT, found, [side.array for side in sides], result.type)
    result.replace_all_uses_with(call)
    for replaced in (transposition, operation):
        if replaced is not None:
            replaced.erase()


def _sides(operation: Any) -> list[Side]:
    """Return the two sides of a float32 product; an empty list for other products, or if a side would have to be copied."""
    types = [ir.RankedTensorType(value.type) for value in (*operation.operands, *operation.results)]
    numbers = stablehlo.DotDimensionNumbers(operation.attributes["dot_dimension_numbers"])
    several = [list(numbers.lhs_batching_dimensions), list(numbers.rhs_batching_dimensions)]
    if {str(each.element_type) for each in types} != {"f32"} or any(dims != list(range(len(dims))) for dims in several):
        return []
    summed = [tuple(numbers.lhs_contracting_dimensions), tuple(numbers.rhs_contracting_dimensions)]
    given = zip(operation.operands, types[:2], summed, strict=True)
    found = [Side(array, tuple(each.shape), dims, len(several[0])).as_it_lies() for array, each, dims in given]
    return [side for side in found if side is not None] if None not in found else []


def _order(owner: Any) -> list[int] | None:
    """Return the permutation of a transposition, or None for other operations."""
    operation = getattr(owner, "operation", None)       # the owner of a function's argument is a block
    if operation is None or operation.name != "stablehlo.transpose":
        return None
    return list(ir.DenseI64ArrayAttr(operation.attributes["permutation"]))


def _transpositions(result: Any, batch: int) -> list[Any]:
    """Return the transpositions of a product's result that keep the batch dimensions. XLA fuses these into its own products."""
    users = [use.owner.operation for use in result.uses]
    return [user for user in users if (order := _order(user)) is not None and order[:batch] == list(range(batch))]


def _call(handler: str, product: Product, arrays: Sequence[Any], made: Any) -> Any:
    """Return the call of a handler, in the form that ``jax.ffi.ffi_call`` emits."""
    types = [ir.RankedTensorType(each) for each in (*[array.type for array in arrays], made)]
    layouts = [_attribute(range(each.rank)[::-1], ir.IndexType.get()) for each in types]
    numbers = _attribute(product, None)
    call = stablehlo.CustomCallOp(
        [made], arrays, call_target_name=ir.StringAttr.get(handler), has_side_effect=ir.BoolAttr.get(False),
        backend_config=ir.DictAttr.get({"numbers": numbers}), api_version=ir.IntegerAttr.get(ir.IntegerType.get_signless(32), 4),
        called_computations=ir.ArrayAttr.get([]), operand_layouts=ir.ArrayAttr.get(layouts[:-1]),
        result_layouts=ir.ArrayAttr.get(layouts[-1:]))
    return call.results[0]


def _attribute(numbers: Sequence[int], kind: Any) -> Any:
    array: Any = np.array(numbers, np.int64)
    return ir.DenseElementsAttr.get(array, type=kind)


def products_in(text: str) -> int:
    """Return how many products oneDNN computes in a program's text (StableHLO)."""
    return text.count(f"@{library.PRODUCT}(") + text.count(f"@{library.SHARED_PRODUCT}(")
