"""Products of float32 matrices in XLA's programs for the CPU, computed by oneDNN in XLA's threads (see ``product.cc``).

XLA computes one of several matrices in one thread, and one of up to some 1e8 operations too. Microseconds of a product, one of 20
that need each other, 2 cores of an Intel machine with AVX-512:

| matrices, rows, length, columns | XLA | oneDNN | NumPy |
|---|---|---|---|
| 1, 128, 128, 128 | 32 | 23 | 31 |
| 1, 768, 96, 96 | 83 | 51 | 53 |
| 1, 768, 96, 288 | 204 | 124 | 144 |
| 1, 768, 96, 384 | 243 | 168 | 201 |
| 1, 256, 784, 512 | 731 | 607 | 754 |
| 1, 1024, 512, 512 | 1699 | 1442 | 1719 |
| 48, 64, 24, 64 | 85 | 52 | 81 |
| 96, 128, 64, 128 | 1508 | 734 | 1884 |
"""
from __future__ import annotations

from collections.abc import Iterator, Sequence
from math import inf, prod
from typing import Any, NamedTuple

import numpy as np
from jax.extend.mlir import ir
from jax.extend.mlir.dialects import stablehlo

from jtorch.ops._onednn import library

LEAST_SIZE = 4          # rows and columns; with fewer it is the product of a matrix and a vector, or nearly
LEAST = 1_000_000       # operations
LEAST_OF_ONE = 100_000  # and of each of several products
MOST_BESIDE = 1e8       # of more, XLA uses the cores that the calling thread leaves: a step of an MLP 7.7 ms, in shares 8.9
LEAST_LENGTH, LEAST_LENGTH_ALONE = 8, 64        # of a sum, where other threads help, and where not


class Product(NamedTuple):
    """Of so many matrices: of rows x length, or what is transposed to that, by length x columns."""

    matrices: int
    rows: int
    columns: int
    length: int
    left_transposed: bool
    right_transposed: bool

    def is_for_onednn(self, spreads: bool, beside: bool) -> bool:
        """Whether oneDNN is quicker than XLA, which computes several products in one thread. See ``lowered``."""
        each = 2 * self.rows * self.columns * self.length
        if min(self.rows, self.columns) < LEAST_SIZE:
            return False
        if not spreads:
            return each >= LEAST and self.length >= LEAST_LENGTH_ALONE
        least, most = max(LEAST / self.matrices, LEAST_OF_ONE), MOST_BESIDE if beside else inf
        return least <= each <= most and self.length >= LEAST_LENGTH

    def transposed(self) -> Product:
        """The product of the same matrices in the other order, each transposed, which is its result transposed."""
        return Product(self.matrices, self.columns, self.rows, self.length, not self.right_transposed, not self.left_transposed)


class Side(NamedTuple):
    """One of the two arrays of a product, a value of MLIR. The first ``batch`` dimensions are those of several matrices."""

    array: Any
    shape: tuple[int, ...]
    summed: tuple[int, ...]     # dimensions that are summed over
    batch: int

    def as_it_lies(self) -> Side | None:
        """The same; of one that is transposed what it was transposed from. None if that is not rows and columns.

        XLA does without a transposition within each of several matrices, but one on its own is slow: a ResNet-50's step spent
        77 ms on those around products that were given to oneDNN.
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
        """How many matrices, and of each what is kept and what is summed over."""
        length = prod([self.shape[d] for d in self.summed])
        return prod(self.shape[:self.batch]), prod(self.shape[self.batch:]) // max(length, 1), length

    @property
    def is_summed_first(self) -> bool | None:
        """Whether what is summed over comes before what is kept; None if it lies in between."""
        n, ndim = len(self.summed), len(self.shape)
        if self.summed == tuple(range(ndim - n, ndim)):
            return False
        return True if self.summed == tuple(range(self.batch, self.batch + n)) else None


def product_of(left: Side, right: Side) -> Product | None:
    """The product of two arrays as they lie; None if one would have to be moved."""
    (matrices, rows, length), (_, columns, _) = left.sizes, right.sizes
    if left.is_summed_first is None or right.is_summed_first is None:
        return None
    return Product(matrices, rows, columns, length, left.is_summed_first, not right.is_summed_first)


def lowered(traced: Any, spreads: bool, beside: bool) -> Any:
    """``traced.lower()`` for a CPU, with the products that are oneDNN's. JAX keeps it: the same lowered again has them too.

    ``spreads``: over XLA's threads. ``beside``: while the thread that has called the program goes on.
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
    """All products of matrices in an operation of StableHLO, as a module, a function or a loop.

    Not by ``walk``, which can't be interrupted: what a callback raises comes out as a RuntimeError.
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
    """Those of a product of float32 as they lie, or none."""
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
    """What an operation transposes by, if it does."""
    operation = getattr(owner, "operation", None)       # an argument belongs to a block
    if operation is None or operation.name != "stablehlo.transpose":
        return None
    return list(ir.DenseI64ArrayAttr(operation.attributes["permutation"]))


def _transpositions(result: Any, batch: int) -> list[Any]:
    """Who transposes each of several results by itself, which XLA does without."""
    users = [use.owner.operation for use in result.uses]
    return [user for user in users if (order := _order(user)) is not None and order[:batch] == list(range(batch))]


def _call(handler: str, product: Product, arrays: Sequence[Any], made: Any) -> Any:
    """Calls a handler, as ``jax.ffi.ffi_call`` writes it."""
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
    """How many products oneDNN computes in a program of that text (StableHLO)."""
    return text.count(f"@{library.PRODUCT}(") + text.count(f"@{library.SHARED_PRODUCT}(")
