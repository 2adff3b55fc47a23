"""Programs run by NumPy give what XLA gives: a table of functions and their vjps, each table one program."""
import jax
import jax.numpy as jnp
import jax.scipy.linalg as jsl
import jax.scipy.special as jss
import numpy as np
import pytest
from jax import lax

from jtorch.engine.host import compile_on_host

FLOATS = [np.float32, np.float64, jnp.bfloat16, np.float16]
INTS = [np.int32, np.int64, np.uint8, np.int8]
EPS = {"float32": 2e-6, "float64": 1e-14, "bfloat16": 0.03, "float16": 4e-3, "complex64": 5e-6, "complex128": 1e-13}


def make(seed, shape, dtype, low=-3.0, high=3.0):
    rng, dtype = np.random.default_rng(seed), np.dtype(dtype)
    if dtype == bool:
        return rng.integers(0, 2, shape).astype(bool)
    if dtype.kind in "iu":
        return rng.integers(max(int(low), np.iinfo(dtype).min), int(high) + 1, shape).astype(dtype)
    x = rng.uniform(low, high, shape)
    return (x + 1j * rng.uniform(low, high, shape) if dtype.kind == "c" else x).astype(dtype)


def assert_same(got, want, name, scale=1.0):
    want = np.asarray(want)
    assert got.dtype == want.dtype and got.shape == want.shape, (name, got.dtype, want.dtype, got.shape, want.shape)
    eps = EPS.get(str(want.dtype), 0) * scale
    if eps:
        wide = np.complex128 if want.dtype.kind == "c" else np.float64
        np.testing.assert_allclose(got.astype(wide), want.astype(wide), eps, eps, err_msg=name)
    else:
        np.testing.assert_array_equal(got, want, err_msg=name)


def compare(fns, args, scale=1.0):
    """All ``fns`` of ``args`` as one program, by NumPy and by XLA."""
    args = [np.asarray(a) for a in args]

    def body(*arrays):
        return [jax.tree.leaves(fn(*arrays)) for fn in fns.values()]

    with jax.enable_x64(True):
        avals = [jax.ShapeDtypeStruct(a.shape, a.dtype) for a in args]
        program = compile_on_host(body, avals)
        assert program is not None, [n for n, f in fns.items() if compile_on_host(f, avals) is None]
        before = [a.copy() for a in args]
        for a in args:
            a.flags.writeable = False
        got = program(args)
        want = jax.jit(body).lower(*avals).compile({"xla_backend_optimization_level": 0})(*args)
    for a, b in zip(args, before, strict=True):
        np.testing.assert_array_equal(a, b)
    assert program.is_tuple and len(got) == len(jax.tree.leaves(want)) == len(program.out_avals)
    got = iter(got)
    for name, results in zip(fns, want, strict=True):
        for r in results:
            assert_same(next(got), r, name, scale)


def vjps(fns):
    """The gradients of functions of float arrays, for cotangents that differ from element to element."""
    def gradient(fn):
        def run(*args):
            out, pull = jax.vjp(fn, *args)
            return pull(jax.tree.map(lambda o: (jnp.cos(jnp.arange(o.size) % 7).astype(o.dtype)).reshape(o.shape), out))
        return run
    return {f"vjp of {name}": gradient(fn) for name, fn in fns.items()}


UNARY = {name: getattr(jnp, name) for name in (
    "abs negative exp exp2 expm1 sin cos tan sinh cosh tanh arctan arcsinh cbrt square sign floor ceil trunc rint "
    "isnan isfinite isinf signbit sinc degrees").split()} | {
    "erf": lax.erf, "erfc": lax.erfc, "logistic": lax.logistic, "relu": jax.nn.relu, "gelu": jax.nn.gelu,
    "gelu erf": lambda x: jax.nn.gelu(x, approximate=False), "silu": jax.nn.silu, "elu": jax.nn.elu,
    "selu": jax.nn.selu, "softplus": jax.nn.softplus, "hard_tanh": jax.nn.hard_tanh, "mish": jax.nn.mish,
    "log_sigmoid": jax.nn.log_sigmoid, "softmax": lambda x: jax.nn.softmax(x, -1),
    "log_softmax": lambda x: jax.nn.log_softmax(x, 0), "i0e": jss.i0e, "i1e": jss.i1e,
    "pow 3": lambda x: x**3, "pow 5": lambda x: x**5, "pow -2": lambda x: x**-2, "round": lambda x: lax.round(
        x * 2, lax.RoundingMethod.AWAY_FROM_ZERO), "clip": lambda x: jnp.clip(x, -1, 1),
    "nan_to_num": lambda x: jnp.nan_to_num(x), "where": lambda x: jnp.where(x > 0, x, -x),
    "normalize": lambda x: (x - x.mean(-1, keepdims=True)) * lax.rsqrt(x.var(-1, keepdims=True) + 0.1),
    "logsumexp": lambda x: jss.logsumexp(x, 1),
}
POSITIVE = {name: getattr(jnp, name) for name in "log log2 log10 log1p sqrt".split()} | {
    "rsqrt": lax.rsqrt, "lgamma": lax.lgamma, "digamma": lax.digamma, "pow": lambda x: x**0.7,
    "reciprocal": lambda x: 1 / x, "entr": jss.entr}
UNIT = {"erf_inv": lax.erf_inv, "arcsin": jnp.arcsin, "arccos": jnp.arccos, "arctanh": jnp.arctanh,
        "logit": lambda x: jss.logit(x * x + 0.1)}
BINARY = {name: getattr(jnp, name) for name in (
    "add subtract multiply divide maximum minimum power arctan2 remainder fmod hypot logaddexp nextafter copysign "
    "floor_divide equal not_equal less greater_equal heaviside").split()} | {
    "xlogy": jss.xlogy, "rem": lax.rem, "lerp": lambda x, y: x + 0.25 * (y - x)}
INTEGER = {name: getattr(jnp, name) for name in (
    "add subtract multiply maximum minimum bitwise_and bitwise_or bitwise_xor equal less floor_divide remainder "
    "fmod gcd").split()} | {
    "div": lax.div, "rem": lax.rem, "not": lambda x, y: ~x, "shl": lambda x, y: lax.shift_left(x, y),
    "sra": lax.shift_right_arithmetic, "srl": lax.shift_right_logical, "sign": lambda x, y: jnp.sign(x),
    "popcount": lambda x, y: lax.population_count(x), "clz": lambda x, y: lax.clz(x), "abs": lambda x, y: abs(x),
    "square": lambda x, y: x * x, "cube": lambda x, y: x**3, "sum": lambda x, y: x.sum(0, dtype=x.dtype),
    "sum64": lambda x, y: jnp.sum(x, 1, dtype=jnp.int64), "prod": lambda x, y: lax.reduce_prod_p.bind(
        x, axes=(0,), out_sharding=None), "and": lambda x, y: lax.reduce_and(x, (1,)),
    "or": lambda x, y: lax.reduce_or(x, (0, 1)), "xor": lambda x, y: lax.reduce_xor(x, (0,)),
    "max": lambda x, y: x.max(1), "dot": lambda x, y: lax.dot(x, y.T), "argmin": lambda x, y: x.argmin(1),
    "cumsum": lambda x, y: lax.cumsum(x, 0), "sort": lambda x, y: jnp.sort(x, 1), "argsort": lambda x, y: x.argsort(1),
    "clip": lambda x, y: lax.clamp(x, y, jnp.maximum(x, y)), "top_k": lambda x, y: lax.top_k(x, 3),
    "dot into int64": lambda x, y: lax.dot_general(x, y, (((1,), (1,)), ((), ())), preferred_element_type=jnp.int64)}


@pytest.mark.parametrize("dtype", FLOATS)
def test_unary(dtype):
    x = make(0, (4, 9), dtype)
    compare(UNARY, [x], 4)
    compare(POSITIVE, [make(1, (4, 9), dtype, 0.1, 4)], 8)
    compare(UNIT, [make(2, (40,), dtype, -0.9, 0.9)], 8)


@pytest.mark.parametrize("dtype", [np.float32, jnp.bfloat16])
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
        compare({n: f for n, f in UNARY.items() if n not in skip} | POSITIVE | UNIT | {
            "argmax": jnp.argmax, "argmin": jnp.argmin, "max": jnp.max, "min": jnp.min, "sort": jnp.sort,
            "argsort": jnp.argsort, "top_k": lambda x: lax.top_k(x, 5), "cummax": lambda x: lax.cummax(x),
            "bits": lambda x: lax.reduce_precision(x, 8, 7), "signs": lambda x: 1 / jnp.sign(x)}, [x], 8)
        a, b = (v.ravel() for v in np.meshgrid(x, x))
        compare({n: f for n, f in BINARY.items() if n not in ("hypot", "floor_divide", "remainder")}, [a, b], 8)


@pytest.mark.parametrize("dtype", [*FLOATS, np.complex64])
def test_binary(dtype):
    x, y = make(3, (3, 8), dtype, 0.2, 3), make(4, (3, 8), dtype, 0.2, 3)
    exact = {"remainder", "fmod", "floor_divide", "rem"} if np.dtype(dtype) == jnp.bfloat16 else set()
    only_real = {"maximum", "minimum", "arctan2", "remainder", "fmod", "hypot", "logaddexp", "nextafter", "copysign",
                 "floor_divide", "less", "greater_equal", "heaviside", "xlogy", "rem"}
    fns = {n: f for n, f in BINARY.items() if n not in (only_real if np.dtype(dtype).kind == "c" else exact)}
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
    compare({"and": lambda x, y: x & y, "or": lambda x, y: x | y, "xor": lambda x, y: x ^ y, "not": lambda x, y: ~x,
             "any": lambda x, y: x.any(0), "all": lambda x, y: x.all(), "sum": lambda x, y: x.sum(1),
             "parity": lambda x, y: lax.reduce_xor(x, (0,)), "max": lambda x, y: x.max(0), "eq": lambda x, y: x == y,
             "sort": lambda x, y: jnp.sort(x, 1), "where": lambda x, y: jnp.where(x, 1.0, 2.0),
             "argmax": lambda x, y: x.argmax(1), "nothing": lambda x, y: x[:, :0].any(1)}, [x, y])


@pytest.mark.filterwarnings("ignore:Casting complex values to real")       # JAX's own, while it traces
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
    binary = {"mul": lambda z, w: z * w, "div": lambda z, w: z / w, "pow": lambda z, w: z**w,
              "dot": lambda z, w: z @ w.T, "sum": lambda z, w: z.sum(0), "build": lambda z, w: lax.complex(z.real, w.imag),
              "cumsum": lambda z, w: jnp.cumsum(z, 1), "parts": lambda z, w: lax.conj(z.real), "eq": lambda z, w: z == w}
    compare({n: lambda z, w, f=f: f(z) for n, f in fns.items()} | binary, [z, w], 4)


REDUCTIONS = {
    "sum": lambda x: x.sum(), "sum 0": lambda x: x.sum(0), "sum 02": lambda x: x.sum((0, 2)), "mean": lambda x: x.mean(1),
    "prod": lambda x: x.prod(2), "max": lambda x: x.max(1), "min": lambda x: x.min((0, 1)), "var": lambda x: x.var(0),
    "std": lambda x: x.std(2), "cumsum": lambda x: jnp.cumsum(x, 1), "cumprod": lambda x: jnp.cumprod(x, 2),
    "norm": lambda x: jnp.sqrt((x * x).sum()), "cummax": lambda x: lax.cummax(x, 1, reverse=True),
    "cummin": lambda x: lax.cummin(x, 0), "cumlogsumexp": lambda x: lax.cumlogsumexp(x, 1),
    "reverse cumsum": lambda x: lax.cumsum(x, 2, reverse=True), "logsumexp": lambda x: jss.logsumexp(x, (0, 1)),
    "sort": lambda x: jnp.sort(x, 1), "descending": lambda x: jnp.sort(x, 0, descending=True),
    "top_k": lambda x: lax.top_k(x, 2)[0], "median": lambda x: jnp.median(x, 2),
}


@pytest.mark.parametrize("dtype", FLOATS)
def test_reductions(dtype):
    x = make(12, (3, 4, 5), dtype, 0.5, 2)
    compare(REDUCTIONS | {"argmax": lambda x: x.argmax(1), "argmin": lambda x: x.argmin(), "indices": lambda x: (
        x.argsort(2), lax.top_k(x, 3)), "any": lambda x: (x > 1).any(0)}, [x], 8)
    if dtype is np.float32:
        compare(vjps(REDUCTIONS), [x], 16)


def test_sort_several():
    k1, k2 = make(13, (4, 30), np.int32, 0, 2), make(14, (4, 30), np.float32).round()
    v = np.arange(120, dtype=np.int64).reshape(4, 30)
    k2[0, :3] = np.nan, 0.0, -0.0
    compare({f"{n} keys, dim {d}": lambda a, b, c, n=n, d=d: lax.sort((a, b, c), dimension=d, num_keys=n)
             for n in (1, 2) for d in (0, 1)} | {
        "lexsort": lambda a, b, c: jnp.lexsort((a, b)), "unique": lambda a, b, c: jnp.unique(a, size=3),
        "searchsorted": lambda a, b, c: jnp.searchsorted(c[0], c[1] - 20), "bincount": lambda a, b, c: jnp.bincount(
            a[0], length=4), "histogram": lambda a, b, c: jnp.histogram(a, bins=3)[0]}, [k1, k2, v])


SHAPES = {
    "reshape": lambda x: x.reshape(6, -1), "transpose": lambda x: x.transpose(2, 0, 1), "flip": lambda x: jnp.flip(x, (0, 2)),
    "expand": lambda x: jnp.broadcast_to(x[:, None], (3, 7, 4, 5)), "large": lambda x: jnp.broadcast_to(x, (200, 3, 4, 5)),
    "slice": lambda x: x[1:, ::2, 1:4], "back": lambda x: x[:, ::-1], "pick": lambda x: x[1, :, -1], "roll": lambda x: jnp.roll(x, 2, 1),
    "pad": lambda x: lax.pad(x, x.dtype.type(7), ((1, 2, 0), (-1, 1, 1), (2, -3, 2))),
    "crop": lambda x: lax.pad(x, x.dtype.type(7), ((0, 0, 0), (-1, -2, 1), (-4, 0, 2))),
    "concatenate": lambda x: jnp.concatenate([x, x[:, :1], x], 1), "stack": lambda x: jnp.stack([x, x], 2),
    "split": lambda x: jnp.split(x, [1, 3], 1), "tile": lambda x: jnp.tile(x, (2, 1, 3)), "repeat": lambda x: jnp.repeat(x, 2, 1),
    "tril": lambda x: jnp.tril(x), "eye": lambda x: jnp.eye(4, dtype=x.dtype) * x.sum(), "diagonal": lambda x: jnp.diagonal(x, 0, 1, 2),
    "squeeze": lambda x: x[:1].squeeze(0), "set": lambda x: x.at[0, 1].set(5), "rows": lambda x: x.at[:, 1:3].multiply(2),
    "kron": lambda x: jnp.kron(x[0], x[1]), "moveaxis": lambda x: jnp.moveaxis(x, 0, -1), "take": lambda x: x[:, jnp.array([3, 0, 0])],
    "mask": lambda x: jnp.where(jnp.arange(5) > 2, x, 0), "scalar": lambda x: x[1, 2, 3], "rot90": lambda x: jnp.rot90(x),
    "narrow": lambda x: (x[:, :, :1] + x[:1]) * x.sum((0, 1)), "outer": lambda x: x[0, 0][:, None] - x[0, 1][None],
}


@pytest.mark.parametrize("dtype", [np.float32, jnp.bfloat16, np.int64])
def test_shapes(dtype):
    x = make(15, (3, 4, 5), dtype)
    compare(SHAPES, [x])
    if dtype is np.float32:
        compare(vjps(SHAPES), [x], 8)


def test_indexing():
    x = make(16, (6, 7, 5), np.float32)
    i, j = np.array([[0, 5, 3], [2, 2, 1]]), np.array([[1, -1, 9], [-20, 6, 0]])
    fns = {
        "rows": lambda x, i, j: x[i], "columns": lambda x, i, j: x[:, i], "pairs": lambda x, i, j: x[i, j],
        "apart": lambda x, i, j: x[i, :, i], "mixed": lambda x, i, j: x[1:4, i], "fill": lambda x, i, j: x.at[i, j].get(
            mode="fill", fill_value=-1), "clip": lambda x, i, j: x.at[:, j].get(mode="clip"), "take": lambda x, i, j: jnp.take(
            x, j, 1), "take clip": lambda x, i, j: jnp.take(x, j, 0, mode="clip"),
        "along": lambda x, i, j: jnp.take_along_axis(x[:, :3, :1], i[:, :, None], 0), "along 1": lambda x, i, j: jnp.take_along_axis(
            x[:2, :3, 0], i, 1, mode="clip"), "batched": lambda x, i, j: jax.vmap(lambda r, k: r[k])(x[:2], i),
        "dynamic": lambda x, i, j: lax.dynamic_slice(x, (i[0, 1], j[0, 0], j[1, 0]), (2, 3, 5)),
        "windows": lambda x, i, j: jax.vmap(lambda k: lax.dynamic_slice(x, (k, 1, 0), (2, 3, 5)))(i[0]),
        "window of batch": lambda x, i, j: jax.vmap(lambda a, k: lax.dynamic_slice(a, (k, 0), (3, 5)))(x[:3], i[0]),
        "dynamic_index": lambda x, i, j: lax.dynamic_index_in_dim(x, i[0, 2], 1), "one_hot": lambda x, i, j: jax.nn.one_hot(j, 7),
    }
    compare(fns, [x, i, j])
    compare(fns, [x.astype(np.int32), i, j])
    compare({n: lambda x, i, j, g=g: vjps({n: lambda x: g(x, i, j)})[f"vjp of {n}"](x) for n, g in fns.items()
             if n != "one_hot"}, [x, i, j], 4)


@pytest.mark.parametrize("dtype", [np.float32, jnp.bfloat16, np.int32])
def test_scatter(dtype):
    x, u = make(17, (6, 7, 5), dtype), make(18, (2, 3, 7, 5), dtype)
    i, j = np.array([[0, 5, 3], [2, 2, 1]]), np.array([[1, -1, 9], [-20, 6, 0]])
    fns = {m: lambda x, u, i, j, m=m: getattr(x.at[i], m)(u) for m in ("add", "multiply", "min", "max", "subtract")}
    compare(fns | {
        "set": lambda x, u, i, j: x.at[i[:, ::2]].set(u[:, ::2]), "drop": lambda x, u, i, j: x.at[i, j].add(u[:, :, 0]),
        "clip": lambda x, u, i, j: x.at[j].add(u, mode="clip"), "columns": lambda x, u, i, j: x.at[:, :, i].add(u[0, 0, 0, 0]),
        "scalar": lambda x, u, i, j: x.at[i, 2, 1].set(3), "update": lambda x, u, i, j: lax.dynamic_update_slice(
            x, u[0], (i[0, 1], j[0, 2], j[0, 1])), "batched": lambda x, u, i, j: jax.vmap(
            lambda a, k, v: a.at[k].add(v))(x[:2], i, u[:, :, 0]), "windows": lambda x, u, i, j: jax.vmap(
            lambda a, k: lax.dynamic_update_slice(a, u[0, 0, :3], (k, 0)))(x[:3], i[0]),
        "segment_sum": lambda x, u, i, j: jax.ops.segment_sum(x, jnp.array([0, 2, 2, 1, 0, 9]), 4)}, [x, u, i, j], 4)


DOTS = {
    "matmul": lambda a, b: a @ b, "transposed": lambda a, b: b.swapaxes(1, 2) @ a.swapaxes(1, 2), "vector": lambda a, b: a @ b[0, :, 0],
    "inner": lambda a, b: jnp.vdot(a, a), "outer": lambda a, b: jnp.outer(a[0, 0], b[0, 0]), "plain": lambda a, b: a[0] @ b[1],
    "linear": lambda a, b: a[0] @ b[0].swapaxes(0, 1).T + 1, "attention": lambda a, b: jnp.einsum("bij,bjk,bik->bi", a, b, a @ b),
    "tensordot": lambda a, b: jnp.tensordot(a, b, ((0, 2), (0, 1))), "odd batch": lambda a, b: jnp.einsum("bij,bjk->kib", a, b),
    "broadcast": lambda a, b: a @ jnp.broadcast_to(b[0], (2, 4, 5)), "nothing": lambda a, b: a[:, :, :0] @ b[:, :0],
    "scalar": lambda a, b: jnp.dot(a[0, 0, 0], b),
}


@pytest.mark.parametrize("dtype", [*FLOATS, np.complex64])
def test_products(dtype):
    a, b = make(19, (2, 3, 4), dtype), make(20, (2, 4, 5), dtype)
    compare(DOTS, [a, b], 8)
    if np.dtype(dtype).kind == "f":
        compare(vjps(DOTS), [a, b], 8)


def test_fft():
    x, z = make(21, (3, 8), np.float32), make(22, (3, 5), np.complex64)
    fns = {"rfft": lambda x, z: jnp.fft.rfft(x), "irfft": lambda x, z: jnp.fft.irfft(z), "fft": lambda x, z: jnp.fft.fft(z, axis=0),
           "ifft": lambda x, z: jnp.fft.ifft(z), "fft2": lambda x, z: jnp.fft.fft2(z), "rfft2": lambda x, z: jnp.fft.rfft2(x),
           "irfft odd": lambda x, z: jnp.fft.irfft(z, 7), "fftshift": lambda x, z: jnp.fft.fftshift(x)}
    compare(fns, [x, z], 4)
    compare(vjps(fns), [x, z], 8)


@pytest.mark.parametrize("dtype", [np.float32, np.float64, np.complex64])
def test_linalg(dtype):
    a, b = make(23, (2, 4, 4), dtype), make(24, (2, 4, 3), dtype)
    spd = a @ np.conj(a.swapaxes(1, 2)) + 2 * np.eye(4, dtype=dtype)
    fns = {
        "cholesky": lambda a, b, s: jnp.linalg.cholesky(s), "solve": lambda a, b, s: jnp.linalg.solve(s, b),
        "inv": lambda a, b, s: jnp.linalg.inv(s), "det": lambda a, b, s: jnp.linalg.det(s), "slogdet": lambda a, b, s: jnp.linalg.slogdet(s),
        "qr": lambda a, b, s: jnp.linalg.qr(a), "eigvalsh": lambda a, b, s: jnp.linalg.eigvalsh(s), "eigh": lambda a, b, s: jnp.linalg.eigh(s),
        "svdvals": lambda a, b, s: jnp.linalg.svd(b, compute_uv=False), "svd": lambda a, b, s: jnp.linalg.svd(b, full_matrices=False),
        "triangular": lambda a, b, s: [jsl.solve_triangular(s, b, trans=t, lower=low, unit_diagonal=unit)
                                       for t in (0, 1, 2) for low in (False, True) for unit in (False, True)],
        "right": lambda a, b, s: lax.linalg.triangular_solve(s, b.swapaxes(1, 2), conjugate_a=True), "lu": lambda a, b, s: jsl.lu(a[0]),
        "lstsq": lambda a, b, s: jnp.linalg.lstsq(b[0], b[0, :, 0])[0], "pinv": lambda a, b, s: jnp.linalg.pinv(s),
        "matrix_power": lambda a, b, s: jnp.linalg.matrix_power(a, 3), "expm": lambda a, b, s: jsl.expm(a[0] / 4),
        "cho_solve": lambda a, b, s: jsl.cho_solve((jnp.linalg.cholesky(s), True), b),
    }
    compare(fns, [a, b, spd], 64)
    compare({"eigvals": lambda a: jnp.linalg.eigvals(a), "eig": lambda a: jnp.linalg.eig(a),
             "full": lambda a: jnp.linalg.qr(a[:, :2], "complete")}, [a], 64)
    smooth = {n: lambda s, f=f: f(s, s, s) for n, f in fns.items() if n in ("cholesky", "solve", "inv", "det", "qr", "eigvalsh")}
    compare(vjps(smooth), [spd], 256)


def test_linalg_failures_are_nan():
    bad = np.array([[1, 2], [2, 1]], np.float32)
    nan = np.full((2, 2), np.nan, np.float32)
    compare({"cholesky": jnp.linalg.cholesky}, [bad])
    compare({"cholesky": jnp.linalg.cholesky}, [np.stack([bad, np.eye(2, dtype=np.float32)])])
    compare({"eigh": jnp.linalg.eigh, "det": jnp.linalg.det}, [nan])
    compare({"inv": jnp.linalg.inv, "solve": lambda a: jnp.linalg.solve(a, a)}, [np.ones((2, 2), np.float32)])


def test_special_functions():
    a, x = make(25, (30,), np.float32, 0.5, 4), make(26, (30,), np.float32, 0.2, 5)
    compare({"gammainc": jss.gammainc, "gammaincc": jss.gammaincc, "zeta": lambda a, x: jss.zeta(a + 1.5, x),
             "betainc": lambda a, x: jss.betainc(a, a, x / 6), "polygamma": lambda a, x: [
                 jss.polygamma(jnp.full(x.shape, n, jnp.int32), x) for n in (1, 2)], "beta": jss.betaln, "multigammaln": lambda a, x:
             jss.multigammaln(x + 3, 2), "i0": lambda a, x: jss.i0(x), "i1": lambda a, x: jss.i1(x), "ndtr": lambda a, x:
             jss.ndtr(x), "ndtri": lambda a, x: jss.ndtri(x / 6), "log_ndtr": lambda a, x: jss.log_ndtr(-x), "erfcx": lambda a, x:
             jnp.exp(x) * lax.erfc(x), "expit": lambda a, x: jss.expit(x)}, [a, x], 64)
    compare({"igamma edges": lambda a, x: (lax.igamma(a, x), lax.igammac(a, x)), "digamma": lambda a, x: lax.digamma(x)},
            [np.array([0, 1, 2, -1, 0, np.inf], np.float32), np.array([1, -1, 0, 2, 0, 1], np.float32)])


def max_pool(x, reduce=lax.max, initial=-np.inf):
    return lax.reduce_window(x, x.dtype.type(initial), reduce, (1, 1, 3, 2), (1, 1, 2, 1), ((0, 0), (0, 0), (1, 1), (0, 1)))


@pytest.mark.parametrize("dtype", [np.float32, jnp.bfloat16])
def test_windows(dtype):
    x = make(27, (2, 3, 8, 7), dtype).round(1)
    fns = {"max": max_pool, "sum": lambda x: max_pool(x, lax.add, 0), "dilated": lambda x: lax.reduce_window(
        x, x.dtype.type(0), lax.add, (1, 1, 2, 2), (1, 1, 2, 1), "VALID", (1, 1, 2, 1), (1, 1, 3, 2))}
    compare(fns, [x], 8)
    compare(vjps({"max": max_pool, "sum": fns["sum"]}), [x], 8)
    if dtype is np.float32:
        compare({"jvp of max": lambda x: jax.jvp(max_pool, (x,), (jnp.cos(x),))}, [x])


@pytest.mark.parametrize("groups", [1, 2, 4])
def test_convolution(groups):
    x, w = make(28, (2, 4, 9, 8), np.float32), make(29, (8, 4 // groups, 3, 2), np.float32)

    def conv(stride, padding, dilation, lhs_dilation=(1, 1)):
        return lambda x, w: lax.conv_general_dilated(x, w, stride, padding, lhs_dilation, dilation,
                                                     feature_group_count=groups)
    fns = {"plain": conv((1, 1), "VALID", (1, 1)), "same": conv((2, 1), ((1, 1), (1, 0)), (1, 1)), "dilated": conv((1, 2), "SAME", (2, 3)),
           "transposed": conv((1, 1), ((2, 2), (1, 1)), (1, 1), (2, 3))}
    compare(fns | vjps(fns), [x, w], 32)
    line = {"nhwc": lambda x, w: lax.conv_general_dilated(x, w, (1, 2), "SAME", dimension_numbers=("NHWC", "OIHW", "NHWC"),
                                                          feature_group_count=groups)}
    compare(line | vjps(line), [x.transpose(0, 2, 3, 1), w], 32)


def test_control_flow():
    x, n = make(30, (4, 3), np.float32), np.int64(5)

    def rnn(x, n):
        return lax.scan(lambda h, r: (jnp.tanh(h + r), h * 2), jnp.zeros(3, x.dtype), x)

    fns = {"scan": rnn, "reverse": lambda x, n: lax.scan(lambda c, r: (c + r, c), x[0], x, reverse=True), "while": lambda x, n:
           lax.while_loop(lambda c: c[0] < n, lambda c: (c[0] + 1, c[1] * 1.5), (jnp.int64(0), x)), "fori": lambda x, n:
           lax.fori_loop(0, n, lambda i, c: c + i.astype(c.dtype), x), "cond": lambda x, n: lax.cond(n > 3, jnp.sin, jnp.cos, x),
           "switch": lambda x, n: lax.switch(n, [jnp.sin, jnp.cos, jnp.exp], x), "map": lambda x, n: lax.map(jnp.sum, x),
           "associative": lambda x, n: lax.associative_scan(jnp.multiply, x), "checkpoint": lambda x, n: jax.checkpoint(jnp.sin)(x)}
    compare(fns, [x, n], 8)
    compare(vjps({"scan": lambda x: rnn(x, n), "checkpoint": lambda x: jax.checkpoint(lambda y: jnp.sin(jnp.sin(y)))(x)}), [x], 8)


def test_empty_and_scalars():
    e, s = np.zeros((0, 3), np.float32), np.float32(2.5)
    compare({"sum": lambda e, s: e.sum(0), "max": lambda e, s: e.max(1), "cat": lambda e, s: jnp.concatenate([e, e]), "dot": lambda e, s:
             e.T @ e, "take": lambda e, s: e[jnp.zeros(0, jnp.int32)], "sort": lambda e, s: jnp.sort(e, 0), "identity": lambda e, s: e,
             "cumsum": lambda e, s: jnp.cumsum(e, 0), "softmax": lambda e, s: jax.nn.softmax(e, 1), "any": lambda e, s: (e > 0).any(0),
             "scalars": lambda e, s: [s + 1, s * s, jnp.exp(s), s.reshape(1, 1), s[None].sum(), jnp.where(s > 1, s, 0), s > 2, -s,
                                      s.astype(jnp.int32), jnp.broadcast_to(s, (2, 3)), jnp.sign(s), jnp.round(s), lax.erf(s),
                                      jnp.arange(3) * 2, jnp.float32(3), s % 2, s // 2, lax.integer_pow(s, 0)],
             "set": lambda e, s: e.at[:, 0].set(s)}, [e, s])


def test_facts():
    def f(x, y, z):
        return jnp.sin(x) + jax.vjp(lambda y: y + 1, y)[1](x)[0]

    with jax.enable_x64(True):
        a = jax.ShapeDtypeStruct((3,), jnp.float32)
        program = compile_on_host(f, [a, a, a])
        assert program.used == (True, False, False) and not program.is_tuple
        assert program.out_avals == [a]
        assert compile_on_host(lambda x: (x, x), [a]).is_tuple
        assert compile_on_host(lambda x: jax.random.normal(jax.random.key(0), (3,)) + x, [a]) is None
        with pytest.raises(ValueError, match="mine"):
            compile_on_host(lambda x: (_ for _ in ()).throw(ValueError("mine")), [a])


def test_no_warnings_and_no_dead_code():
    with jax.enable_x64(True):
        a = jax.ShapeDtypeStruct((), jnp.int32)
        overflow = compile_on_host(lambda x: (x * x + x, lax.div(x, x - x)), [a])
        assert [int(v) for v in overflow([np.array(2**31 - 1, np.int32)])] == [-2**31, -1]
        f = jax.ShapeDtypeStruct((2, 2), jnp.float32)
        dead = compile_on_host(lambda x: [jax.random.bits(jax.random.key(0)), x + 1][1], [f])
        assert dead is not None and len(dead) == 1
