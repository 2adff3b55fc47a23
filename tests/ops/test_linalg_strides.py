"""The strides of results of torch.linalg: matrices from LAPACK are column-major, batches are contiguous."""
from __future__ import annotations

import operator

import pytest


def spd(xp, *batch):
    return (xp.eye(3, dtype=xp.float64) * 2).expand(*batch, 3, 3).contiguous()


@pytest.mark.parametrize("batch", [(), (2,), (2, 2)])
@pytest.mark.parametrize("name", ["cholesky", "cholesky_ex", "inv", "inv_ex", "eig", "eigh", "qr", "lu_factor", "lu_factor_ex"])
def test_factors_are_column_major(xp, name, batch):
    made = getattr(xp.linalg, name)(spd(xp, *batch))
    several = (made,) if isinstance(made, xp.Tensor) else made
    for t in several:
        t_columns = t.mT if t.ndim == len(batch) + 2 else t
        assert t_columns.is_contiguous()


@pytest.mark.parametrize("batch", [(), (2,)])
def test_solutions(xp, batch):
    A, B = spd(xp, *batch), xp.ones(*batch, 3, 2, dtype=xp.float64)
    LU, pivots = xp.linalg.lu_factor(A)
    for X in (xp.linalg.solve(A, B), xp.linalg.solve_ex(A, B)[0], xp.linalg.lu_solve(LU, pivots, B), xp.cholesky_solve(B, A),
              xp.linalg.solve_triangular(A, B, upper=True)):
        assert X.stride()[-2:] == (1, 3)
    rows = B.mT.contiguous()
    for X in (xp.linalg.solve(A, rows, left=False), xp.linalg.lu_solve(LU, pivots, rows, left=False)):
        assert X.is_contiguous()


def test_reflectors_and_singular_vectors(xp):
    A = xp.arange(12.0).reshape(4, 3)
    a, tau = xp.geqrf(A)
    U, _, Vh = xp.linalg.svd(A)
    assert [t.stride() for t in (a, xp.linalg.householder_product(a, tau), xp.ormqr(a, tau, A), U, Vh)] == [
        (1, 4), (1, 4), (1, 4), (1, 4), (1, 3)]
    assert xp.cholesky_inverse(spd(xp)).stride() == (1, 3)


def test_gradients_of_column_major_results(xp):
    A = spd(xp, 2).requires_grad_()
    w, V = xp.linalg.eigh(A + xp.arange(3.0).diag())
    L = xp.linalg.cholesky(A)
    (w.sum() + (V * V).sum() + L.diagonal(dim1=-2, dim2=-1).sum()).backward()
    assert xp.allclose(A.grad, xp.eye(3, dtype=xp.float64) * (1 + 0.5 / 2 ** 0.5))


def test_jacobians_of_column_major_results(xp):
    found = xp.func.jacrev(xp.linalg.inv)(xp.eye(2) * 2)
    assert found.shape == (2, 2, 2, 2) and found[0, 1].tolist() == [[0, -0.25], [0, 0]]


@pytest.mark.parametrize("name", ["cholesky_ex", "inv_ex", "eigh", "ldl_factor_ex"])
def test_a_result_is_not_cast_to_another_dtype(xp, name):
    out = [xp.empty(0, dtype=xp.int64) for _ in range(3 if name == "ldl_factor_ex" else 2)]
    with pytest.raises(RuntimeError, match="Expected out tensor to have dtype (float|double), but got long int instead"):
        getattr(xp.linalg, name)(xp.eye(3), out=tuple(out))


@pytest.mark.parametrize(("name", "args", "shown"), [
    ("cholesky", 1, "cholesky"), ("cholesky_inverse", 1, "cholesky_inverse"), ("cholesky_solve", 2, "cholesky_solve"),
    ("linalg.pinv", 1, "linalg.pinv")])
def test_results_are_cast_only_safely(xp, name, args, shown):
    function = operator.attrgetter(name)(xp)
    given, out = [xp.eye(2)] * args, xp.empty(2, 2, dtype=xp.float64)
    assert function(*given, out=out) is out
    assert out.tolist() == [[1, 0], [0, 1]]
    with pytest.raises(RuntimeError, match=f"{shown}: Expected result to be safely castable from Float dtype, but got result with "
                                           "dtype Int"):
        function(*given, out=xp.empty(2, 2, dtype=xp.int32))
