"""Overloads and errors of torch.linalg and related functions, and einsum with lists of labels."""
from __future__ import annotations

import pytest

CALLS = {
    "inv_ex": lambda xp, a: xp.linalg.inv_ex(a, check_errors=True),
    "cholesky_ex": lambda xp, a: xp.linalg.cholesky_ex(a, check_errors=True),
    "lu_factor_ex": lambda xp, a: xp.linalg.lu_factor_ex(a, check_errors=True),
    "solve_ex": lambda xp, a: xp.linalg.solve_ex(a, xp.ones(2, 1), check_errors=True),
    "inv": lambda xp, a: xp.linalg.inv(a),
}


@pytest.mark.parametrize("name", CALLS)
@pytest.mark.parametrize("kind", ["one", "of a batch", "none"])
def test_check_errors(same, name, kind):
    def run(xp):
        good, bad = xp.eye(2), xp.zeros(2, 2)
        given = {"one": bad, "of a batch": xp.stack([good, bad]), "none": good}[kind]
        try:
            made = CALLS[name](xp, given)
            return [t.tolist() for t in (made if isinstance(made, tuple) else [made])]
        except RuntimeError as error:
            return type(error).__name__, isinstance(error, xp.linalg.LinAlgError), str(error)
    same(run)


def test_without_check_errors_info_says_it(same):
    same(lambda xp: [xp.linalg.inv_ex(xp.zeros(2, 2)).info, xp.linalg.inv_ex(xp.eye(2), check_errors=False).info])


TOLERANCES = {
    "by position": lambda xp, f: f(xp.eye(3), 0.01),
    "as a tensor": lambda xp, f: f(xp.eye(3), xp.tensor(0.5)),
    "and hermitian": lambda xp, f: f(xp.eye(3), 0.5, True),
    "by name": lambda xp, f: f(input=xp.eye(3), **{"tol" if f is xp.linalg.matrix_rank else "rcond": 0.1}),
    "none": lambda xp, f: f(xp.eye(3)),
    "atol": lambda xp, f: f(xp.eye(3), atol=2.0),
}


@pytest.mark.parametrize("name", ["matrix_rank", "pinv"])
@pytest.mark.parametrize("tolerance", TOLERANCES)
def test_tolerances(same, name, tolerance):
    same(lambda xp: TOLERANCES[tolerance](xp, getattr(xp.linalg, name)).tolist())


def test_two_tolerances_are_one_too_many(xp):
    with pytest.raises(TypeError, match="received an invalid combination of arguments"):
        xp.linalg.matrix_rank(xp.eye(3), tol=0.5, atol=0.3)


NORMS = [
    lambda xp: xp.linalg.norm(xp.eye(2), 1j),
    lambda xp: xp.linalg.vector_norm(xp.eye(2), 1j),
    lambda xp: xp.norm(xp.eye(2), "nuc", (0, 0)),
    lambda xp: xp.linalg.matrix_norm(xp.eye(2), 2, (1, -1)),
]


@pytest.mark.parametrize("number", range(len(NORMS)))
def test_norms_that_are_none(same, number):
    same(NORMS[number])


SUBLISTS = [
    lambda xp, x, y: xp.einsum(x, [0, 1], y, [1, 2], [0, 2]),
    lambda xp, x, y: xp.einsum(x, [..., 0], y, [0, 1], [..., 1]),
    lambda xp, x, y: xp.einsum(x, (0, 1), y, (1, 2), (0, 2)),
    lambda xp, x, y: xp.einsum(x, [0, 1], y, [1, 2]),
    lambda xp, x, y: xp.einsum(x, [0, 30]),
    lambda xp, x, y: xp.einsum(x, [99, 1]),
    lambda xp, x, y: xp.einsum(x),
    lambda xp, x, y: xp.einsum("ij,jk", [x, y]),
]


@pytest.mark.parametrize("number", range(len(SUBLISTS)))
def test_einsum_with_lists_of_labels(same, number):
    same(lambda xp: SUBLISTS[number](xp, xp.arange(6.0).view(2, 3), xp.arange(6.0).view(3, 2)))


INT_MM = [
    lambda xp, a: xp._int_mm(a, a.t()),
    lambda xp, a: xp._int_mm(a, a),
    lambda xp, a: xp._int_mm(a.float(), a.t()),
    lambda xp, a: xp._int_mm(a[0], a),
]


@pytest.mark.parametrize("number", range(len(INT_MM)))
def test_int_mm(same, number):
    same(lambda xp: INT_MM[number](xp, xp.arange(24).view(3, 8).to(xp.int8)))


OTHERS = [
    lambda xp: xp.zeros(2, dtype=xp.float64).view(float),
    lambda xp: xp.zeros(2).view(int),
    lambda xp: xp.zeros(2).cuda(xp.device("cpu")),
    lambda xp: xp.zeros(2).cuda("cpu"),
    lambda xp: xp.allclose(1, xp.zeros(1)),
    lambda xp: xp.allclose(xp.zeros(1), 1),
]


@pytest.mark.parametrize("number", range(len(OTHERS)))
def test_arguments_of_other_types(same, number):
    same(OTHERS[number])


def test_preferred_libraries(xp):
    prefer = xp.backends.cuda.preferred_linalg_library
    assert str(prefer()) == str(prefer("default")) == "_LinalgBackend.Default"
    with pytest.raises(RuntimeError, match="Unknown input value"):
        prefer("x")
    assert "_BlasBackend" in str(xp.backends.cuda.preferred_blas_library())


def test_functional_call_with_names_that_the_module_has_not(xp):
    module = xp.nn.Linear(2, 2)
    before = dict(module.named_parameters())
    given = {"weight": xp.ones(2, 2), "extra": xp.zeros(3)}
    assert xp.func.functional_call(module, given, xp.ones(1, 2)).shape == (1, 2)
    assert not hasattr(module, "extra") and all(p is before[n] for n, p in module.named_parameters())
    with pytest.raises(RuntimeError, match="Error.s. in reparametrizing for Linear:\n\tUnexpected key.s.: 'extra'."):
        xp.func.functional_call(module, given, xp.ones(1, 2), strict=True)
