"""torch.linalg of matrices with NaNs, of singular tensors and of empty matrices."""
from __future__ import annotations

import math

import pytest

pytestmark = [pytest.mark.core, pytest.mark.usefixtures("errors_at_the_call")]

NAN = [[1.0, math.nan], [2.0, 3.0]]
BY_SINGULAR_VALUES = [
    lambda xp, A: xp.linalg.svdvals(A),
    lambda xp, A: xp.linalg.svd(A),
    lambda xp, A: xp.linalg.svd(A, full_matrices=False),
    lambda xp, A: xp.svd(A),
    lambda xp, A: xp.linalg.pinv(A),
    lambda xp, A: xp.pinverse(A),
    lambda xp, A: xp.linalg.matrix_rank(A),
    lambda xp, A: xp.linalg.cond(A),
    lambda xp, A: xp.linalg.cond(A, -2),
    lambda xp, A: xp.linalg.matrix_norm(A, 2),
    lambda xp, A: xp.linalg.matrix_norm(A, "nuc"),
    lambda xp, A: xp.linalg.norm(A, 2, dim=(-2, -1)),
]


@pytest.mark.parametrize("f", BY_SINGULAR_VALUES, ids=range(len(BY_SINGULAR_VALUES)))
def test_matrices_with_nans_have_no_singular_values(xp, f):
    A = xp.tensor(NAN)
    with pytest.raises(xp.linalg.LinAlgError, match="^linalg.svd: The algorithm failed to converge because the input matrix contained non"):
        f(xp, A)
    with pytest.raises(xp.linalg.LinAlgError, match=r"^linalg.svd: \(Batch element 1\): The algorithm failed to converge because the"):
        f(xp, xp.stack([xp.eye(2), A, A]))


def test_other_norms_of_nans(xp):
    A = xp.tensor(NAN)
    for ord in ("fro", 1, math.inf):
        assert math.isnan(xp.linalg.norm(A, ord).item())
    assert math.isnan(xp.linalg.norm(A).item())
    assert xp.linalg.cond(A, 1).item() == xp.linalg.cond(A, "fro").item() == math.inf
    assert xp.linalg.matrix_rank(xp.eye(2), hermitian=True).item() == 2
    assert xp.linalg.slogdet(A).sign.item() == 0


def test_infinities_are_no_error(xp):
    assert all(math.isnan(s) for s in xp.linalg.svdvals(xp.tensor([[1.0, math.inf], [2.0, 3.0]])).tolist())


def test_singular_tensors(xp):
    with pytest.raises(xp.linalg.LinAlgError, match="^inv: The diagonal element 2 is zero, the inversion could not be completed"):
        xp.linalg.tensorinv(xp.ones(2, 3, 6), ind=2)
    with pytest.raises(xp.linalg.LinAlgError, match="^torch.linalg.solve: The solver failed because the input matrix is singular"):
        xp.linalg.tensorsolve(xp.ones(2, 3, 6), xp.ones(2, 3))


def test_norms_of_empty_matrices(xp):
    for shape in ((0, 3), (3, 0), (0, 0)):
        A = xp.ones(shape)
        assert [xp.linalg.matrix_norm(A, ord).item() for ord in (1, 2, math.inf, "fro", "nuc")] == [0] * 5
        assert xp.linalg.cond(A).item() == 0
    assert xp.linalg.matrix_norm(xp.ones(2, 0, 3), 2, keepdim=True).tolist() == [[[0]], [[0]]]
    assert xp.linalg.cond(xp.ones(2, 0, 3)).tolist() == [0, 0]
    for ord, dim in ((-1, 0), (-2, -1)):
        with pytest.raises(IndexError, match=rf"amin\(\): Expected reduction dim {dim} to have non-zero size."):
            xp.linalg.matrix_norm(xp.ones(0, 0), ord)


def test_ranks_and_inverses_of_empty_hermitian_matrices(xp):
    assert xp.linalg.matrix_rank(xp.ones(2, 0, 3), hermitian=True).tolist() == [0, 0]
    assert xp.linalg.pinv(xp.ones(0, 3), hermitian=True).shape == (3, 0)


def test_the_class_of_the_errors(xp):
    error = xp.linalg.LinAlgError
    assert (error.__name__, error.__mro__[1]) == ("_LinAlgError", RuntimeError)
    assert error.__module__.endswith("torch._C")


@pytest.mark.parametrize("dtype", ["float64", "complex128"])
@pytest.mark.parametrize("upper", [False, True])
def test_a_cholesky_factor_that_fails_is_complete_up_to_the_failing_minor(same, upper, dtype):
    """Trust-region methods read the columns before the failing minor."""
    def run(xp):
        A = xp.tensor([[4.0, 2.0, 0.0, 1.0], [2.0, 5.0, 3.0, 0.0], [0.0, 3.0, 1.0, 2.0], [1.0, 0.0, 2.0, 6.0]], dtype=getattr(xp, dtype))
        made = xp.linalg.cholesky_ex(xp.stack([A, xp.eye(4, dtype=A.dtype), -A, A.tril()]), upper=upper)
        return made.L + 0, made.info        # Adding 0 makes negative zeros positive.
    same(run)
