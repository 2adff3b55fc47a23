"""torch.sparse: sparse tensors by coordinates (COO), rows (CSR), columns (CSC) or blocks (BSR, BSC)."""
from __future__ import annotations

from typing import Any

from jtorch._api.typed_tensors import SPARSE as _SPARSE
from jtorch._base.not_built import placeholder as _placeholder
from jtorch._base.refused import refused as _refused
from jtorch.sparse import creation, elementwise, legacy, products, reduction, shape
from jtorch.sparse import tensor as _tensor
from jtorch.sparse.products import addmm as _addmm
from jtorch.sparse.products import matmul as _matmul
from jtorch.sparse.products import reduced as _reduced
from jtorch.sparse.reduction import softmax as _softmax
from jtorch.sparse.reduction import sum_of as _sum_of
from jtorch.sparse.rules import expected as _expected
from jtorch.sparse.tensor import is_sparse as _is_sparse
from jtorch.tensor import Tensor


def mm(mat1: Any, mat2: Tensor, reduce: str | None = None) -> Tensor:
    """Multiply a sparse matrix by a dense or sparse one. See torch.sparse.mm.

    Args:
        mat1: a matrix (n, m), sparse unless ``mat2`` is.
        mat2: a matrix (m, p) of the same dtype.
        reduce: ``sum``, ``mean``, ``amax`` or ``amin``: the reduction of the terms of an element, for CSR matrices.

    Returns:
        A matrix (n, p), sparse if both are.

    Raises:
        RuntimeError: sizes or dtypes that do not fit.

    >>> torch.sparse.mm(torch.eye(2).to_sparse(), torch.ones(2, 2))
    tensor([[1., 1.],
            [1., 1.]])

    """
    return _matmul(mat1, mat2) if reduce is None else _reduced(mat1, mat2, reduce)


def addmm(mat: Tensor, mat1: Tensor, mat2: Tensor, *, beta: float = 1.0, alpha: float = 1.0) -> Tensor:
    """Compute ``beta * mat + alpha * (mat1 @ mat2)``. See torch.sparse.addmm.

    Args:
        mat: a matrix (n, p), sparse if ``mat1`` and ``mat2`` are.
        mat1: a sparse matrix (n, m).
        mat2: a matrix (m, p).
        beta: the factor of ``mat``.
        alpha: the factor of the product.

    Returns:
        A matrix (n, p).

    >>> torch.sparse.addmm(torch.ones(2, 2), torch.eye(2).to_sparse(), torch.ones(2, 2))
    tensor([[2., 2.],
            [2., 2.]])

    """
    return _addmm(mat, mat1, mat2, beta=beta, alpha=alpha)


def sum(input: Any, dim: Any = None, dtype: Any = None) -> Tensor:
    """Sum a COO tensor over some dims or all. See torch.sparse.sum.

    Args:
        input: a COO tensor.
        dim: one dim or several; all, if None.
        dtype: the dtype of the sum.

    Returns:
        A COO tensor if a sparse dim is left, else a dense one.

    Raises:
        RuntimeError: a tensor of another layout.

    >>> torch.sparse.sum(torch.eye(3).to_sparse())
    tensor(3.)

    """
    if not isinstance(input, _tensor.CooTensor):
        raise _expected(input, "coalesce") if _is_sparse(input) else RuntimeError("coalesce expected sparse coordinate "
                                                                                  "tensor layout "
                                                                                  "but got Strided")
    return _sum_of(input, dim, dtype=dtype)


def softmax(input: Tensor, dim: int, *, dtype: Any = None) -> Tensor:
    """Compute the softmax of the stored values along a dim. See torch.sparse.softmax.

    Elements that are not stored count as minus infinity.

    Args:
        input: a COO tensor.
        dim: the dim.
        dtype: the dtype of the computation and the result.

    Returns:
        A COO tensor of the same shape.

    >>> torch.sparse.softmax(torch.eye(2).to_sparse(), 1).to_dense()
    tensor([[1., 0.],
            [0., 1.]])

    """
    return _softmax(input, dim, dtype, log=False)


def log_softmax(input: Tensor, dim: int, *, dtype: Any = None) -> Tensor:
    """Compute the logarithm of ``softmax``. See torch.sparse.log_softmax, and ``softmax`` for the arguments."""
    return _softmax(input, dim, dtype, log=True)


ByteTensor, CharTensor, ShortTensor, IntTensor, LongTensor = (_SPARSE[f"{n}Tensor"] for n in "Byte Char Short Int Long".split())
HalfTensor, BFloat16Tensor, FloatTensor, DoubleTensor = (_SPARSE[f"{n}Tensor"] for n in "Half BFloat16 Float Double".split())
sampled_addmm = _refused("sparse.sampled_addmm", "torch.Tensor.sparse_mask of a dense product gives the same")
spsolve = _refused("sparse.spsolve", "scipy.sparse.linalg.spsolve and torch.linalg.solve solve such systems")
spdiags = _refused("sparse.spdiags", "torch.sparse_coo_tensor of the diagonals' indices makes such a matrix")
SparseSemiStructuredTensor, SparseSemiStructuredTensorCUTLASS, SparseSemiStructuredTensorCUSPARSELT = (
    _placeholder("sparse", f"SparseSemiStructuredTensor{library}") for library in ("", "CUTLASS", "CUSPARSELT"))
to_sparse_semi_structured = _refused("sparse.to_sparse_semi_structured", "the accelerators here have no such format")
as_sparse_gradcheck = _refused("sparse.as_sparse_gradcheck", "gradcheck of a function of the values checks the same")


class check_sparse_tensor_invariants:      # noqa: N801
    """A setting: whether constructors check their indices. See torch.sparse.check_sparse_tensor_invariants."""

    def __init__(self, enable: bool = True):
        self.on, self.before = enable, False

    @staticmethod
    def is_enabled() -> bool:
        """Return whether constructors check indices."""
        return creation.invariants[0]

    @staticmethod
    def enable() -> None:
        """Enable the checks."""
        creation.invariants[0] = True

    @staticmethod
    def disable() -> None:
        """Disable the checks."""
        creation.invariants[0] = False

    def __enter__(self) -> check_sparse_tensor_invariants:
        self.before, creation.invariants[0] = creation.invariants[0], self.on
        return self

    def __exit__(self, *exc: object) -> None:
        creation.invariants[0] = self.before

    def __call__(self, function: Any) -> Any:
        import functools

        @functools.wraps(function)
        def checked(*args: Any, **kwargs: Any) -> Any:
            with type(self)(self.on):
                return function(*args, **kwargs)
        return checked


__all__ = ["addmm", "as_sparse_gradcheck", "check_sparse_tensor_invariants", "elementwise", "legacy", "log_softmax", "mm",
           "products", "reduction", "sampled_addmm", "shape", "softmax", "spdiags", "spsolve", "sum", "to_sparse_semi_structured"]
