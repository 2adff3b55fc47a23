"""Rules of linear algebra: SciPy's LAPACK, matrix by matrix. JAX calls the same LAPACK on the CPU.

As in JAX, a matrix on which LAPACK fails gives NaN.
"""
from __future__ import annotations

from collections.abc import Callable

import numpy as np

from jtorch.engine.host.lazy import Lazy
from jtorch.engine.host.rules import Equation, kind, require, rule

linalg, blas, lapack = Lazy("scipy.linalg"), Lazy("scipy.linalg.blas"), Lazy("scipy.linalg.lapack")


def _each(e: Equation, fn: Callable, core: tuple[int, ...]) -> Callable:
    """Return ``fn`` of single matrices or vectors, mapped over the batch dimensions. ``core`` has the rank of each input."""
    batch = e.ins[0].shape[:len(e.ins[0].shape) - core[0]]
    single, outs = len(e.outs) == 1, e.outs
    if all(0 in o.shape for o in outs):
        empty = [np.zeros(o.shape, o.dtype) for o in outs]
        return lambda *_: empty[0] if single else empty
    require(all(0 not in v.shape for v in (*e.ins, *outs)))
    if not batch:
        return fn

    def run(*arrays):
        results = [np.empty(o.shape, o.dtype) for o in outs]
        for at in np.ndindex(batch):
            parts = fn(*[a[at] for a in arrays])
            for result, part in zip(results, (parts,) if single else parts, strict=True):
                result[at] = part
        return results[0] if single else results
    return run


def _nans(e: Equation, ranks: tuple[int, ...]) -> list[np.ndarray]:
    """Return outputs of NaN for a matrix on which LAPACK fails. ``ranks`` are the outputs' ranks without batch dims."""
    return [np.full(o.shape[len(o.shape) - r:], np.nan, o.dtype) for o, r in zip(e.outs, ranks, strict=True)]


def _lapack(name: str, e: Equation) -> Callable:
    require(e.ins[0].dtype.char in "fdFD")
    return lapack.get_lapack_funcs(name, dtype=e.ins[0].dtype)


@rule("cholesky")
def _cholesky(e: Equation) -> Callable:
    potrf, (bad,) = _lapack("potrf", e), _nans(e, (2,))

    def cholesky(a):
        c, info = potrf(a, lower=1, clean=1)
        return bad if info else c
    return _each(e, cholesky, (2,))


@rule("triangular_solve")
def _triangular_solve(e: Equation) -> Callable:
    require(e.ins[0].dtype.char in "fdFD")
    p = e.params
    trsm = blas.get_blas_funcs("trsm", dtype=e.ins[0].dtype)
    left, lower, unit = int(p["left_side"]), int(p["lower"]), int(p["unit_diagonal"])
    conjugate = p["conjugate_a"] and kind(e.dtype) == "c"
    trans = (2 if conjugate else 1) if p["transpose_a"] else 0

    def solve(a, b):
        if conjugate and not trans:
            a = a.conj()
        return trsm(1.0, a, b, side=1 - left, lower=lower, trans_a=trans, diag=unit)
    return _each(e, solve, (2, 2))


@rule("lu")
def _lu(e: Equation) -> Callable:
    getrf, rows = _lapack("getrf", e), e.ins[0].shape[-2]

    def lu(a):
        factors, pivots, _ = getrf(a)
        pivots = pivots.astype(np.int32)
        return factors, pivots, _permutation(pivots, rows)
    return _each(e, lu, (2,))


@rule("lu_pivots_to_permutation")
def _pivots(e: Equation) -> Callable:
    size = e.params["permutation_size"]
    return _each(e, lambda pivots: _permutation(pivots, size), (1,))


def _permutation(pivots: np.ndarray, n: int) -> np.ndarray:
    order = np.arange(n, dtype=np.int32)
    for i, j in enumerate(pivots.tolist()):
        order[i], order[j] = order[j], order[i]
    return order


@rule("qr")
def _qr(e: Equation) -> Callable:
    require(not e.params["pivoting"] and e.ins[0].dtype.char in "fdFD")
    mode = "full" if e.params["full_matrices"] else "economic"
    return _each(e, lambda a: linalg.qr(a, mode=mode, check_finite=False), (2,))


@rule("geqrf")
def _geqrf(e: Equation) -> Callable:
    geqrf = _lapack("geqrf", e)
    return _each(e, lambda a: geqrf(a)[:2], (2,))


@rule("householder_product")
def _householder_product(e: Equation) -> Callable:
    orgqr = _lapack("orgqr" if kind(e.dtype) == "f" else "ungqr", e)
    return _each(e, lambda a, taus: orgqr(a, taus)[0], (2, 1))


@rule("eigh")
def _eigh(e: Equation) -> Callable:
    require(e.params.get("subset_by_index") is None)
    evd = _lapack("syevd" if kind(e.ins[0].dtype) == "f" else "heevd", e)
    lower, bad = int(e.params["lower"]), _nans(e, (2, 1))

    def eigh(a):
        w, v, info = evd(a, compute_v=1, lower=lower)
        return bad if info else (v, w)
    return _each(e, eigh, (2,))


@rule("svd")
def _svd(e: Equation) -> Callable:
    require(e.params.get("subset_by_index") is None)
    gesdd, vectors, full = _lapack("gesdd", e), e.params["compute_uv"], int(e.params["full_matrices"])
    bad = _nans(e, (1, 2, 2) if vectors else (1,))

    def svd(a):
        u, s, vt, info = gesdd(a, compute_uv=int(vectors), full_matrices=full)
        if info:
            return bad if vectors else bad[0]
        return (s, u, vt) if vectors else s
    return _each(e, svd, (2,))


@rule("eig")
def _eig(e: Equation) -> Callable:
    left, right = e.params["compute_left_eigenvectors"], e.params["compute_right_eigenvectors"]
    geev, real = _lapack("geev", e), kind(e.ins[0].dtype) == "f"
    bad, single = _nans(e, (1,) + (2,) * (left + right)), not (left or right)

    def eig(a):
        *w, vl, vr, info = geev(a, compute_vl=int(left), compute_vr=int(right))
        if info:
            return bad[0] if single else bad
        values = w[0] + 1j * w[1] if real else w[0]
        found = [_from_pairs(v, w[1]) if real else v for v, wanted in ((vl, left), (vr, right)) if wanted]
        return values if single else (values, *found)
    return _each(e, eig, (2,))


def _from_pairs(v: np.ndarray, imaginary: np.ndarray) -> np.ndarray:
    """Return complex eigenvectors. LAPACK gives a conjugate pair as two real columns: the real and the imaginary part."""
    out = v.astype(np.result_type(v.dtype, np.complex64))
    first = np.flatnonzero(imaginary > 0)
    out[:, first] = v[:, first] + 1j * v[:, first + 1]
    out[:, first + 1] = out[:, first].conj()
    return out
