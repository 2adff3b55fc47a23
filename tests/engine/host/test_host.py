"""NumPy's programs give XLA's results: elementwise functions, casts, reductions, and the structure of programs."""

import jax
import jax.numpy as jnp
import jax.scipy.special as jss
import numpy as np
import pytest
from host_programs import FLOATS, INTS, compare, compile_on_host, make, vjps
from jax import lax
from lanes import cases

from jtorch.engine.families import Family

UNARY = {
    name: getattr(jnp, name)
    for name in (
        "abs negative exp exp2 expm1 sin cos tan sinh cosh tanh arctan arcsinh cbrt square sign floor ceil trunc rint "
        "isnan isfinite isinf signbit sinc degrees"
    ).split()
} | {
    "erf": lax.erf,
    "erfc": lax.erfc,
    "logistic": lax.logistic,
    "relu": jax.nn.relu,
    "gelu": jax.nn.gelu,
    "gelu erf": lambda x: jax.nn.gelu(x, approximate=False),
    "silu": jax.nn.silu,
    "elu": jax.nn.elu,
    "selu": jax.nn.selu,
    "softplus": jax.nn.softplus,
    "hard_tanh": jax.nn.hard_tanh,
    "mish": jax.nn.mish,
    "log_sigmoid": jax.nn.log_sigmoid,
    "softmax": lambda x: jax.nn.softmax(x, -1),
    "log_softmax": lambda x: jax.nn.log_softmax(x, 0),
    "i0e": jss.i0e,
    "i1e": jss.i1e,
    "pow 3": lambda x: x**3,
    "pow 5": lambda x: x**5,
    "pow -2": lambda x: x**-2,
    "round": lambda x: lax.round(x * 2, lax.RoundingMethod.AWAY_FROM_ZERO),
    "clip": lambda x: jnp.clip(x, -1, 1),
    "nan_to_num": lambda x: jnp.nan_to_num(x),
    "where": lambda x: jnp.where(x > 0, x, -x),
    "normalize": lambda x: (x - x.mean(-1, keepdims=True)) * lax.rsqrt(x.var(-1, keepdims=True) + 0.1),
    "logsumexp": lambda x: jss.logsumexp(x, 1),
}
POSITIVE = {name: getattr(jnp, name) for name in "log log2 log10 log1p sqrt".split()} | {
    "rsqrt": lax.rsqrt,
    "lgamma": lax.lgamma,
    "digamma": lax.digamma,
    "pow": lambda x: x**0.7,
    "reciprocal": lambda x: 1 / x,
    "entr": jss.entr,
}
UNIT = {
    "erf_inv": lax.erf_inv,
    "arcsin": jnp.arcsin,
    "arccos": jnp.arccos,
    "arctanh": jnp.arctanh,
    "logit": lambda x: jss.logit(x * x + 0.1),
}
BINARY = {
    name: getattr(jnp, name)
    for name in (
        "add subtract multiply divide maximum minimum power arctan2 remainder fmod hypot logaddexp nextafter copysign "
        "floor_divide equal not_equal less greater_equal heaviside"
    ).split()
} | {"xlogy": jss.xlogy, "rem": lax.rem, "lerp": lambda x, y: x + 0.25 * (y - x)}
INTEGER = {
    name: getattr(jnp, name)
    for name in (
        "add subtract multiply maximum minimum bitwise_and bitwise_or bitwise_xor equal less floor_divide remainder "
        "fmod gcd"
    ).split()
} | {
    "div": lax.div,
    "rem": lax.rem,
    "not": lambda x, y: ~x,
    "shl": lambda x, y: lax.shift_left(x, y),
    "sra": lax.shift_right_arithmetic,
    "srl": lax.shift_right_logical,
    "sign": lambda x, y: jnp.sign(x),
    "popcount": lambda x, y: lax.population_count(x),
    "clz": lambda x, y: lax.clz(x),
    "abs": lambda x, y: abs(x),
    "square": lambda x, y: x * x,
    "cube": lambda x, y: x**3,
    "sum": lambda x, y: x.sum(0, dtype=x.dtype),
    "sum64": lambda x, y: jnp.sum(x, 1, dtype=jnp.int64),
    "prod": lambda x, y: lax.reduce_prod_p.bind(x, axes=(0,), out_sharding=None),
    "and": lambda x, y: lax.reduce_and(x, (1,)),
    "or": lambda x, y: lax.reduce_or(x, (0, 1)),
    "xor": lambda x, y: lax.reduce_xor(x, (0,)),
    "max": lambda x, y: x.max(1),
    "dot": lambda x, y: lax.dot(x, y.T),
    "argmin": lambda x, y: x.argmin(1),
    "cumsum": lambda x, y: lax.cumsum(x, 0),
    "sort": lambda x, y: jnp.sort(x, 1),
    "argsort": lambda x, y: x.argsort(1),
    "clip": lambda x, y: lax.clamp(x, y, jnp.maximum(x, y)),
    "top_k": lambda x, y: lax.top_k(x, 3),
    "dot into int64": lambda x, y: lax.dot_general(x, y, (((1,), (1,)), ((), ())), preferred_element_type=jnp.int64),
}


@pytest.mark.parametrize("dtype", cases(FLOATS, [np.float32, jnp.bfloat16]))
def test_unary(dtype):
    x = make(0, (4, 9), dtype)
    compare(UNARY, [x], 4)
    compare(POSITIVE, [make(1, (4, 9), dtype, 0.1, 4)], 8)
    compare(UNIT, [make(2, (40,), dtype, -0.9, 0.9)], 8)


@pytest.mark.parametrize("dtype", cases([np.float32, jnp.bfloat16], [np.float32]))
def test_unary_vjp(dtype):
    smooth = {n: f for n, f in UNARY.items() if not n.startswith(("is", "signbit"))}
    compare(vjps(smooth), [make(0, (4, 9), dtype)], 8)
    compare(vjps(POSITIVE), [make(1, (4, 9), dtype, 0.3, 4)], 16)
    compare(vjps(UNIT), [make(2, (40,), dtype, -0.9, 0.9)], 16)


def test_special_values():
    special = [0.0, -0.0, np.inf, -np.inf, np.nan, 1.0, -1.0, 0.5, -0.5, 1.5, 2.5, -2.5, 88.0, 1e30]
    skip = {"sinc", "pow 3", "pow 5", "logsumexp", "log_softmax", "softmax", "normalize"}
    for dtype in (np.float32, np.float64):
        x = np.array(special, dtype)
        compare(
            {n: f for n, f in UNARY.items() if n not in skip}
            | POSITIVE
            | UNIT
            | {
                "argmax": jnp.argmax,
                "argmin": jnp.argmin,
                "max": jnp.max,
                "min": jnp.min,
                "sort": jnp.sort,
                "argsort": jnp.argsort,
                "top_k": lambda x: lax.top_k(x, 5),
                "cummax": lambda x: lax.cummax(x),
                "bits": lambda x: lax.reduce_precision(x, 8, 7),
                "signs": lambda x: 1 / jnp.sign(x),
            },
            [x],
            8,
        )
        a, b = (v.ravel() for v in np.meshgrid(x, x))
        compare({n: f for n, f in BINARY.items() if n not in ("hypot", "floor_divide", "remainder")}, [a, b], 8)


@pytest.mark.parametrize("dtype", [*FLOATS, np.complex64])
def test_binary(dtype):
    x, y = make(3, (3, 8), dtype, 0.2, 3), make(4, (3, 8), dtype, 0.2, 3)
    inexact = {"remainder", "fmod", "floor_divide", "rem"} if np.dtype(dtype) == jnp.bfloat16 else set()
    only_real = {
        "maximum",
        "minimum",
        "arctan2",
        "remainder",
        "fmod",
        "hypot",
        "logaddexp",
        "nextafter",
        "copysign",
        "floor_divide",
        "less",
        "greater_equal",
        "heaviside",
        "xlogy",
        "rem",
    }
    fns = {n: f for n, f in BINARY.items() if n not in (only_real if np.dtype(dtype).kind == "c" else inexact)}
    compare(fns, [x, y], 4)
    no_gradient = {"nextafter", "equal", "not_equal", "less", "greater_equal", "heaviside", "floor_divide", "copysign"}
    compare(vjps({n: f for n, f in fns.items() if n not in no_gradient}), [x, y], 16)


@pytest.mark.parametrize("dtype", [*INTS, np.uint32])
def test_integers(dtype):
    signed = np.dtype(dtype).kind == "i"
    x, y = make(5, (5, 6), dtype, -100, 100), make(6, (5, 6), dtype, 1, 5)
    compare(INTEGER, [x, y])
    low, high = np.iinfo(dtype).min, np.iinfo(dtype).max
    a = np.array([7, 0, high, low, 5, low, 100], dtype)
    b = np.array([0, 0, 0, 0, 3, -1 if signed else 9, 200 % 128], dtype)
    compare({n: INTEGER[n] for n in ("div", "rem", "shl", "sra", "srl", "popcount", "clz")}, [a, b])
    if signed:
        compare({n: INTEGER[n] for n in ("div", "rem", "floor_divide", "remainder", "fmod")}, [x, -y])


def test_bool():
    x, y = make(7, (4, 5), bool), make(8, (4, 5), bool)
    compare(
        {
            "and": lambda x, y: x & y,
            "or": lambda x, y: x | y,
            "xor": lambda x, y: x ^ y,
            "not": lambda x, y: ~x,
            "any": lambda x, y: x.any(0),
            "all": lambda x, y: x.all(),
            "sum": lambda x, y: x.sum(1),
            "parity": lambda x, y: lax.reduce_xor(x, (0,)),
            "max": lambda x, y: x.max(0),
            "eq": lambda x, y: x == y,
            "sort": lambda x, y: jnp.sort(x, 1),
            "where": lambda x, y: jnp.where(x, 1.0, 2.0),
            "argmax": lambda x, y: x.argmax(1),
            "nothing": lambda x, y: x[:, :0].any(1),
        },
        [x, y],
    )


@pytest.mark.filterwarnings("ignore:Casting complex values to real")  # JAX warns while it traces.
@pytest.mark.parametrize("old", [np.float32, np.float64, jnp.bfloat16, np.int64, np.int8, np.uint8, bool, np.complex64])
def test_casts(old):
    x = make(9, (30,), old, -100, 100)
    if np.dtype(old) in (np.float32, np.float64):
        x[:8] = np.nan, np.inf, -np.inf, 3e9, -3e9, 0.5, -0.5, 300
    new = [np.float32, np.float64, jnp.bfloat16, np.float16, np.int64, np.int32, np.int8, np.uint8, bool, np.complex64]
    if np.dtype(old).kind == "c":
        new = [bool, np.complex64, np.complex128]
    compare({str(d): lambda x, d=d: lax.convert_element_type(x, d) for d in new}, [x])


def test_complex():
    z, w = make(10, (3, 4), np.complex64), make(11, (3, 4), np.complex64)
    fns = {n: getattr(jnp, n) for n in "exp log sqrt sin cos tanh abs angle real imag conj sign square".split()}
    binary = {
        "mul": lambda z, w: z * w,
        "div": lambda z, w: z / w,
        "pow": lambda z, w: z**w,
        "dot": lambda z, w: z @ w.T,
        "sum": lambda z, w: z.sum(0),
        "build": lambda z, w: lax.complex(z.real, w.imag),
        "cumsum": lambda z, w: jnp.cumsum(z, 1),
        "parts": lambda z, w: lax.conj(z.real),
        "eq": lambda z, w: z == w,
    }
    compare({n: lambda z, w, f=f: f(z) for n, f in fns.items()} | binary, [z, w], 4)


REDUCTIONS = {
    "sum": lambda x: x.sum(),
    "sum 0": lambda x: x.sum(0),
    "sum 02": lambda x: x.sum((0, 2)),
    "mean": lambda x: x.mean(1),
    "prod": lambda x: x.prod(2),
    "max": lambda x: x.max(1),
    "min": lambda x: x.min((0, 1)),
    "var": lambda x: x.var(0),
    "std": lambda x: x.std(2),
    "cumsum": lambda x: jnp.cumsum(x, 1),
    "cumprod": lambda x: jnp.cumprod(x, 2),
    "norm": lambda x: jnp.sqrt((x * x).sum()),
    "cummax": lambda x: lax.cummax(x, 1, reverse=True),
    "cummin": lambda x: lax.cummin(x, 0),
    "cumlogsumexp": lambda x: lax.cumlogsumexp(x, 1),
    "reverse cumsum": lambda x: lax.cumsum(x, 2, reverse=True),
    "logsumexp": lambda x: jss.logsumexp(x, (0, 1)),
    "sort": lambda x: jnp.sort(x, 1),
    "descending": lambda x: jnp.sort(x, 0, descending=True),
    "top_k": lambda x: lax.top_k(x, 2)[0],
    "median": lambda x: jnp.median(x, 2),
}


@pytest.mark.parametrize("dtype", [np.float32, jnp.bfloat16])
def test_reductions(dtype):
    x = make(12, (3, 4, 5), dtype, 0.5, 2)
    compare(
        REDUCTIONS
        | {
            "argmax": lambda x: x.argmax(1),
            "argmin": lambda x: x.argmin(),
            "indices": lambda x: (x.argsort(2), lax.top_k(x, 3)),
            "any": lambda x: (x > 1).any(0),
        },
        [x],
        8,
    )
    if dtype is np.float32:
        compare(vjps(REDUCTIONS), [x], 16)


def test_sort_several():
    k1, k2 = make(13, (4, 30), np.int32, 0, 2), make(14, (4, 30), np.float32).round()
    v = np.arange(120, dtype=np.int64).reshape(4, 30)
    k2[0, :3] = np.nan, 0.0, -0.0
    compare(
        {
            f"{n} keys, dim {d}": lambda a, b, c, n=n, d=d: lax.sort((a, b, c), dimension=d, num_keys=n)
            for n in (1, 2)
            for d in (0, 1)
        }
        | {
            "lexsort": lambda a, b, c: jnp.lexsort((a, b)),
            "unique": lambda a, b, c: jnp.unique(a, size=3),
            "searchsorted": lambda a, b, c: jnp.searchsorted(c[0], c[1] - 20),
            "bincount": lambda a, b, c: jnp.bincount(a[0], length=4),
            "histogram": lambda a, b, c: jnp.histogram(a, bins=3)[0],
        },
        [k1, k2, v],
    )


def test_empty_and_scalars():
    e, s = np.zeros((0, 3), np.float32), np.float32(2.5)
    compare(
        {
            "sum": lambda e, s: e.sum(0),
            "max": lambda e, s: e.max(1),
            "cat": lambda e, s: jnp.concatenate([e, e]),
            "dot": lambda e, s: e.T @ e,
            "take": lambda e, s: e[jnp.zeros(0, jnp.int32)],
            "sort": lambda e, s: jnp.sort(e, 0),
            "identity": lambda e, s: e,
            "cumsum": lambda e, s: jnp.cumsum(e, 0),
            "softmax": lambda e, s: jax.nn.softmax(e, 1),
            "any": lambda e, s: (e > 0).any(0),
            "scalars": lambda e, s: [
                s + 1,
                s * s,
                jnp.exp(s),
                s.reshape(1, 1),
                s[None].sum(),
                jnp.where(s > 1, s, 0),
                s > 2,
                -s,
                s.astype(jnp.int32),
                jnp.broadcast_to(s, (2, 3)),
                jnp.sign(s),
                jnp.round(s),
                lax.erf(s),
                jnp.arange(3) * 2,
                jnp.float32(3),
                s % 2,
                s // 2,
                lax.integer_pow(s, 0),
            ],
            "set": lambda e, s: e.at[:, 0].set(s),
            "inv": lambda e, s: jnp.linalg.inv(e[:, :0]),
            "drop": lambda e, s: s[None].at[7].set(0, mode="drop"),
        },
        [e, s],
    )


@pytest.mark.parametrize("dtype", [np.float32, np.float16, jnp.bfloat16, np.int32, np.complex64])
def test_scalars_stay_arrays(dtype):
    s = np.asarray(1.5, dtype)

    def chain(s):
        t = s * s + 1
        u = jnp.broadcast_to(t.reshape(1, 1), (2, 2)).sum() - t.real.astype(jnp.float32).astype(t.dtype)
        v = jnp.stack([t, u])[::-1][0][None].at[0].add(t)
        return [
            t,
            u,
            v,
            jnp.where(u == t, s, u),
            t.reshape(()).T,
            lax.fori_loop(0, 3, lambda i, c: c + s, t),
            jnp.exp(s.real.astype(jnp.float32)),
            lax.expand_dims(t, (0,)),
            jnp.concatenate([v, v])[v.real.astype(int)],
        ]

    compare({"chain": chain}, [s])


def test_facts():
    def f(x, y, z):
        return jnp.sin(x) + jax.vjp(lambda y: y + 1, y)[1](x)[0]

    with jax.enable_x64(True):
        a = jax.ShapeDtypeStruct((3,), jnp.float32)
        program = compile_on_host(f, [a, a, a])
        assert program.used == (True, False, False) and not program.is_tuple
        assert program.out_avals == [a]
        assert compile_on_host(lambda x: (x, x), [a]).is_tuple
        assert compile_on_host(lambda x: jax.random.normal(jax.random.key(0), (3,), jnp.float32) + x, [a]) is None
        with pytest.raises(ValueError, match="mine"):
            compile_on_host(lambda x: (_ for _ in ()).throw(ValueError("mine")), [a])


def test_no_warnings_and_no_dead_code():
    with jax.enable_x64(True):
        a = jax.ShapeDtypeStruct((), jnp.int32)
        overflow = compile_on_host(lambda x: (x * x + x, lax.div(x, x - x)), [a])
        assert [int(v) for v in overflow([np.array(2**31 - 1, np.int32)])] == [-(2**31), -1]
        f = jax.ShapeDtypeStruct((2, 2), jnp.float32)
        dead = compile_on_host(lambda x: [jax.random.bits(jax.random.key(0)), x + 1][1], [f])
        assert dead is not None and len(dead) == 1


@pytest.mark.parametrize("dtype", [*FLOATS, *INTS, np.bool_, np.complex64, np.complex128])
def test_choices_of_many(dtype):
    """Bits choose the elements. nan, both zeros and broadcast values pass unchanged."""
    a, b = make(0, (40, 20), dtype), make(1, (40, 20), dtype)
    if np.dtype(dtype).kind not in "iub":
        a[0, :6] = b[1, :6] = [np.nan, -0.0, 0.0, np.inf, -np.inf, 1]
    mask = make(2, (40, 20), np.bool_)
    for other in (b, b[:1], b[:, :1], b[0, 0], b.T.copy().T, np.zeros((), dtype), -np.zeros((), dtype) if dtype != np.bool_ else b[0]):
        for x, y in ((a, other), (other, a)):
            got = run(lambda m, x, y: jnp.where(m, x, y), mask, x, y)
            want = np.where(mask, x, y)
            assert got.dtype == want.dtype and got.tobytes() == want.tobytes()


@pytest.mark.parametrize("dtype", [np.float32, np.float64, np.float16, np.int32])
@pytest.mark.parametrize("axes", [(2,), (1, 2), (0,), (0, 1), (1,), (0, 2)])
def test_reductions_of_many_short_rows(dtype, axes):
    """These reductions take another path than NumPy's, with the same numbers, nan and infinities among them."""
    x = make(0, (40, 30, 20), dtype)
    some = x.copy()
    if x.dtype.kind == "f":
        some[0, 0, 0], some[1, 1, 1], some[2, 2, :2] = np.nan, np.inf, [np.inf, -np.inf]
    eps = max(np.finfo(d).eps for d in (np.float32, dtype if x.dtype.kind == "f" else np.float32))
    for given in (x, some, x.transpose(2, 1, 0).copy().transpose(2, 1, 0)):
        exact = given.astype(np.float64)
        with np.errstate(invalid="ignore"):
            total, found = exact.sum(axes), run(lambda x: jnp.sum(x, axes, dtype=dtype), given)
        finite = np.isfinite(total)
        assert found.dtype == dtype
        np.testing.assert_array_equal(found[~finite], total[~finite])
        assert (np.abs(found[finite] - total[finite]) <= 20 * eps * np.abs(exact).sum(axes)[finite]).all()
        for name in ("max", "min"):
            np.testing.assert_array_equal(run(lambda x, name=name: getattr(jnp, name)(x, axes), given), getattr(np, name)(given, axes))


def test_a_sum_over_one_of_more_dimensions_than_there_are_letters():
    x = make(0, (*(1,) * 27, 30, 20), np.float32)
    np.testing.assert_allclose(run(lambda x: jnp.sum(x, -1), x), x.sum(-1), rtol=1e-5, atol=1e-5)


def run(fn, *arrays):
    with jax.enable_x64(True), jax.numpy_rank_promotion("allow"):
        return compile_on_host(fn, [jax.ShapeDtypeStruct(a.shape, a.dtype) for a in arrays])([np.asarray(a) for a in arrays])[0]


def test_rows_taken():
    x = make(0, (5, 3), np.float32)
    for i in ([0, 4, 2], [[1, 1], [3, 0]], [], [-1, 5, 2], 3):
        at = np.array(i, np.int64).reshape(np.shape(i))
        for mode, outside in (("fill", np.nan), ("clip", None)):
            inside = (at >= 0) & (at < 5)
            want = x[np.clip(at, 0, 4)]
            if outside is not None:
                want = np.where(inside[..., None], want, np.float32(outside))
            got = run(lambda x, i, mode=mode: x.at[i].get(mode=mode, wrap_negative_indices=False), x, at)
            np.testing.assert_array_equal(got, want)


def test_the_callers_warnings_stay():
    before = np.geterr()
    inside = []

    def looks(program):
        inside.append(program([np.zeros(2, np.float32)]))       # A program runs inside another, as from a finalizer.

    f = jax.ShapeDtypeStruct((2,), np.float32)
    program = compile_on_host(lambda x: jnp.log(x) / x, [f])
    nested = compile_on_host(lambda x: jnp.log(x), [f])
    code = list(nested._code)
    nested._code = [(lambda x: looks(program) or x, 0, None, 0), *code]
    assert np.isneginf(nested([np.zeros(2, np.float32)])[0]).all() and np.isneginf(inside[0][0]).all()
    assert np.geterr() == before
    with pytest.warns(RuntimeWarning):
        np.log(np.zeros(2))


def test_traces_are_without_jits_but_not_unrolled():
    jits = []

    @jax.jit
    def inner(x):
        jits.append(x.shape)
        return x + 1

    def looped(x):
        return lax.scan(lambda c, r: (c + inner(r), None), x[0], x)[0]

    plain, families = lambda x: inner(inner(x)), (Family(2, short=True), Family(2, short=False))
    for n in (2, 3, 4):
        x = make(n, (n, 3), np.float32)
        with jax.numpy_rank_promotion("allow"):
            added, summed = [f.trace(fn, [jax.ShapeDtypeStruct(x.shape, x.dtype)]).at()([x])[0]
                             for f, fn in zip(families, (plain, looped), strict=True)]
        np.testing.assert_allclose(added, x + 2, 1e-6)
        np.testing.assert_allclose(summed, x[0] + (x + 1).sum(0), 1e-5)
    # The traces have no jit, so JAX traces the body of ``inner`` for each of its two calls.
    assert jits.count((2, 3)) == jits.count((3, 3)) == jits.count((4, 3)) == 2
    assert jits.count((3,)) == 1        # A loop's body is traced once and kept.
