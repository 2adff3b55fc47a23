"""NumPy's programs give XLA's results: indexing, products, linear algebra, windows, control flow."""

import jax
import jax.numpy as jnp
import jax.scipy.linalg as jsl
import jax.scipy.special as jss
import numpy as np
import pytest
from host_programs import compare, compile_on_host, gradient, make, vjps
from jax import lax

SHAPES = {
    "reshape": lambda x: x.reshape(6, -1),
    "transpose": lambda x: x.transpose(2, 0, 1),
    "flip": lambda x: jnp.flip(x, (0, 2)),
    "expand": lambda x: jnp.broadcast_to(x[:, None], (3, 7, 4, 5)),
    "large": lambda x: jnp.broadcast_to(x, (200, 3, 4, 5)),
    "slice": lambda x: x[1:, ::2, 1:4],
    "back": lambda x: x[:, ::-1],
    "pick": lambda x: x[1, :, -1],
    "roll": lambda x: jnp.roll(x, 2, 1),
    "pad": lambda x: lax.pad(x, x.dtype.type(7), ((1, 2, 0), (-1, 1, 1), (2, -3, 2))),
    "crop": lambda x: lax.pad(x, x.dtype.type(7), ((0, 0, 0), (-1, -2, 1), (-4, 0, 2))),
    "concatenate": lambda x: jnp.concatenate([x, x[:, :1], x], 1),
    "stack": lambda x: jnp.stack([x, x], 2),
    "split": lambda x: jnp.split(x, [1, 3], 1),
    "parts": lambda x: [*x[:1], *jnp.split(x, 1), *x.swapaxes(0, 1)],
    "tile": lambda x: jnp.tile(x, (2, 1, 3)),
    "repeat": lambda x: jnp.repeat(x, 2, 1),
    "tril": lambda x: jnp.tril(x),
    "eye": lambda x: jnp.eye(4, dtype=x.dtype) * x.sum(),
    "diagonal": lambda x: jnp.diagonal(x, 0, 1, 2),
    "squeeze": lambda x: x[:1].squeeze(0),
    "set": lambda x: x.at[0, 1].set(5),
    "rows": lambda x: x.at[:, 1:3].multiply(2),
    "kron": lambda x: jnp.kron(x[0], x[1]),
    "moveaxis": lambda x: jnp.moveaxis(x, 0, -1),
    "take": lambda x: x[:, jnp.array([3, 0, 0])],
    "mask": lambda x: jnp.where(jnp.arange(5) > 2, x, 0),
    "scalar": lambda x: x[1, 2, 3],
    "rot90": lambda x: jnp.rot90(x),
    "narrow": lambda x: (x[:, :, :1] + x[:1]) * x.sum((0, 1)),
    "outer": lambda x: x[0, 0][:, None] - x[0, 1][None],
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
        "rows": lambda x, i, j: x[i],
        "columns": lambda x, i, j: x[:, i],
        "pairs": lambda x, i, j: x[i, j],
        "apart": lambda x, i, j: x[i, :, i],
        "mixed": lambda x, i, j: x[1:4, i],
        "fill": lambda x, i, j: x.at[i, j].get(mode="fill", fill_value=-1),
        "clip": lambda x, i, j: x.at[:, j].get(mode="clip"),
        "take": lambda x, i, j: jnp.take(x, j, 1),
        "take clip": lambda x, i, j: jnp.take(x, j, 0, mode="clip"),
        "along": lambda x, i, j: jnp.take_along_axis(x[:, :3, :1], i[:, :, None], 0),
        "along 1": lambda x, i, j: jnp.take_along_axis(x[:2, :3, 0], i, 1, mode="clip"),
        "batched": lambda x, i, j: jax.vmap(lambda r, k: r[k])(x[:2], i),
        "dynamic": lambda x, i, j: lax.dynamic_slice(x, (i[0, 1], j[0, 0], j[1, 0]), (2, 3, 5)),
        "windows": lambda x, i, j: jax.vmap(lambda k: lax.dynamic_slice(x, (k, 1, 0), (2, 3, 5)))(i[0]),
        "window of batch": lambda x, i, j: jax.vmap(lambda a, k: lax.dynamic_slice(a, (k, 0), (3, 5)))(x[:3], i[0]),
        "dynamic_index": lambda x, i, j: lax.dynamic_index_in_dim(x, i[0, 2], 1),
        "one_hot": lambda x, i, j: jax.nn.one_hot(j, 7),
    }
    compare(fns, [x, i, j])
    compare(fns, [x.astype(np.int32), i, j])
    compare(
        {n: lambda x, i, j, g=g: gradient(lambda x: g(x, i, j))(x) for n, g in fns.items() if n != "one_hot"},
        [x, i, j],
        4,
    )


@pytest.mark.parametrize("dtype", [np.float32, jnp.bfloat16, np.int32])
def test_scatter(dtype):
    x, u = make(17, (6, 7, 5), dtype), make(18, (2, 3, 7, 5), dtype)
    i, j = np.array([[0, 5, 3], [2, 2, 1]]), np.array([[1, -1, 9], [-20, 6, 0]])
    fns = {m: lambda x, u, i, j, m=m: getattr(x.at[i], m)(u) for m in ("add", "multiply", "min", "max", "subtract")}
    compare(
        fns
        | {
            "set": lambda x, u, i, j: x.at[i[:, ::2]].set(u[:, ::2]),
            "drop": lambda x, u, i, j: x.at[i, j].add(u[:, :, 0]),
            "clip": lambda x, u, i, j: x.at[j].add(u, mode="clip"),
            "columns": lambda x, u, i, j: x.at[:, :, i].add(u[0, 0, 0, 0]),
            "scalar": lambda x, u, i, j: x.at[i, 2, 1].set(3),
            "update": lambda x, u, i, j: lax.dynamic_update_slice(x, u[0], (i[0, 1], j[0, 2], j[0, 1])),
            "batched": lambda x, u, i, j: jax.vmap(lambda a, k, v: a.at[k].add(v))(x[:2], i, u[:, :, 0]),
            "windows": lambda x, u, i, j: jax.vmap(lambda a, k: lax.dynamic_update_slice(a, u[0, 0, :3], (k, 0)))(
                x[:3], i[0]
            ),
            "segment_sum": lambda x, u, i, j: jax.ops.segment_sum(x, jnp.array([0, 2, 2, 1, 0, 9]), 4),
        },
        [x, u, i, j],
        4,
    )


DOTS = {
    "matmul": lambda a, b: a @ b,
    "transposed": lambda a, b: b.swapaxes(1, 2) @ a.swapaxes(1, 2),
    "vector": lambda a, b: a @ b[0, :, 0],
    "inner": lambda a, b: jnp.vdot(a, a),
    "outer": lambda a, b: jnp.outer(a[0, 0], b[0, 0]),
    "plain": lambda a, b: a[0] @ b[1],
    "linear": lambda a, b: a[0] @ b[0].swapaxes(0, 1).T + 1,
    "attention": lambda a, b: jnp.einsum("bij,bjk,bik->bi", a, b, a @ b),
    "tensordot": lambda a, b: jnp.tensordot(a, b, ((0, 2), (0, 1))),
    "odd batch": lambda a, b: jnp.einsum("bij,bjk->kib", a, b),
    "broadcast": lambda a, b: a @ jnp.broadcast_to(b[0], (2, 4, 5)),
    "nothing": lambda a, b: a[:, :, :0] @ b[:, :0],
    "scalar": lambda a, b: jnp.dot(a[0, 0, 0], b),
}


@pytest.mark.parametrize("dtype", [np.float32, jnp.bfloat16, np.complex64])
def test_products(dtype):
    a, b = make(19, (2, 3, 4), dtype), make(20, (2, 4, 5), dtype)
    compare(DOTS, [a, b], 8)
    if np.dtype(dtype).kind == "f":
        compare(vjps(DOTS), [a, b], 8)


def test_fft():
    x, z = make(21, (3, 8), np.float32), make(22, (3, 5), np.complex64)
    fns = {
        "rfft": lambda x, z: jnp.fft.rfft(x),
        "irfft": lambda x, z: jnp.fft.irfft(z),
        "fft": lambda x, z: jnp.fft.fft(z, axis=0),
        "ifft": lambda x, z: jnp.fft.ifft(z),
        "fft2": lambda x, z: jnp.fft.fft2(z),
        "rfft2": lambda x, z: jnp.fft.rfft2(x),
        "irfft odd": lambda x, z: jnp.fft.irfft(z, 7),
        "fftshift": lambda x, z: jnp.fft.fftshift(x),
    }
    compare(fns, [x, z], 4)
    compare(vjps(fns), [x, z], 8)


@pytest.mark.parametrize("dtype", [np.float32, np.complex64])
def test_linalg(dtype):
    a, b = make(23, (2, 4, 4), dtype), make(24, (2, 4, 3), dtype)
    spd = a @ np.conj(a.swapaxes(1, 2)) + 2 * np.eye(4, dtype=dtype)
    fns = {
        "cholesky": lambda a, b, s: jnp.linalg.cholesky(s),
        "solve": lambda a, b, s: jnp.linalg.solve(s, b),
        "inv": lambda a, b, s: jnp.linalg.inv(s),
        "det": lambda a, b, s: jnp.linalg.det(s),
        "slogdet": lambda a, b, s: jnp.linalg.slogdet(s),
        "qr": lambda a, b, s: jnp.linalg.qr(a),
        "eigvalsh": lambda a, b, s: jnp.linalg.eigvalsh(s),
        "eigh": lambda a, b, s: jnp.linalg.eigh(s),
        "svdvals": lambda a, b, s: jnp.linalg.svd(b, compute_uv=False),
        "svd": lambda a, b, s: jnp.linalg.svd(b, full_matrices=False),
        "triangular": lambda a, b, s: [
            jsl.solve_triangular(s, b, trans=t, lower=low, unit_diagonal=unit)
            for t in (0, 1, 2)
            for low in (False, True)
            for unit in (False, True)
        ],
        "right": lambda a, b, s: lax.linalg.triangular_solve(s, b.swapaxes(1, 2), conjugate_a=True),
        "lu": lambda a, b, s: jsl.lu(a[0]),
        "lstsq": lambda a, b, s: jnp.linalg.lstsq(b[0], b[0, :, 0])[0],
        "pinv": lambda a, b, s: jnp.linalg.pinv(s),
        "matrix_power": lambda a, b, s: jnp.linalg.matrix_power(a, 3),
        "expm": lambda a, b, s: jsl.expm(a[0] / 4),
        "cho_solve": lambda a, b, s: jsl.cho_solve((jnp.linalg.cholesky(s), True), b),
    }
    compare(fns, [a, b, spd], 64)
    compare(
        {
            "eigvals": lambda a: jnp.linalg.eigvals(a),
            "eig": lambda a: jnp.linalg.eig(a),
            "full": lambda a: jnp.linalg.qr(a[:, :2], "complete"),
        },
        [a],
        64,
    )
    smooth = {
        n: lambda s, f=f: f(s, s, s)
        for n, f in fns.items()
        if n in ("cholesky", "solve", "inv", "det", "qr", "eigvalsh")
    }
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
    compare(
        {
            "gammainc": jss.gammainc,
            "gammaincc": jss.gammaincc,
            "zeta": lambda a, x: jss.zeta(a + 1.5, x),
            "betainc": lambda a, x: jss.betainc(a, a, x / 6),
            "polygamma": lambda a, x: [jss.polygamma(jnp.full(x.shape, n, jnp.int32), x) for n in (1, 2)],
            "beta": jss.betaln,
            "multigammaln": lambda a, x: jss.multigammaln(x + 3, 2),
            "i0": lambda a, x: jss.i0(x),
            "i1": lambda a, x: jss.i1(x),
            "ndtr": lambda a, x: jss.ndtr(x),
            "ndtri": lambda a, x: jss.ndtri(x / 6),
            "log_ndtr": lambda a, x: jss.log_ndtr(-x),
            "erfcx": lambda a, x: jnp.exp(x) * lax.erfc(x),
            "expit": lambda a, x: jss.expit(x),
        },
        [a, x],
        64,
    )
    compare(
        {"igamma edges": lambda a, x: (lax.igamma(a, x), lax.igammac(a, x)), "digamma": lambda a, x: lax.digamma(x)},
        [np.array([0, 1, 2, -1, 0], np.float32), np.array([1, -1, 0, 2, 0], np.float32)],
    )


def max_pool(x, reduce=lax.max, initial=-np.inf):
    return lax.reduce_window(
        x, x.dtype.type(initial), reduce, (1, 1, 3, 2), (1, 1, 2, 1), ((0, 0), (0, 0), (1, 1), (0, 1))
    )


@pytest.mark.parametrize("dtype", [np.float32, jnp.bfloat16])
def test_windows(dtype):
    x = make(27, (2, 3, 8, 7), dtype).round(1)
    fns = {
        "max": max_pool,
        "sum": lambda x: max_pool(x, lax.add, 0),
        "dilated": lambda x: lax.reduce_window(
            x, x.dtype.type(0), lax.add, (1, 1, 2, 2), (1, 1, 2, 1), "VALID", (1, 1, 2, 1), (1, 1, 3, 2)
        ),
    }
    compare(fns, [x], 8)
    compare(vjps({"max": max_pool, "sum": fns["sum"]}), [x], 8)
    if dtype is np.float32:
        compare({"jvp of max": lambda x: jax.jvp(max_pool, (x,), (jnp.cos(x),))}, [x])


@pytest.mark.parametrize("groups", [1, 2, 4])
def test_convolution(groups):
    x, w = make(28, (2, 4, 9, 8), np.float32), make(29, (8, 4 // groups, 3, 2), np.float32)

    def conv(stride, padding, dilation, lhs_dilation=(1, 1)):
        return lambda x, w: lax.conv_general_dilated(
            x, w, stride, padding, lhs_dilation, dilation, feature_group_count=groups
        )

    fns = {
        "plain": conv((1, 1), "VALID", (1, 1)),
        "same": conv((2, 1), ((1, 1), (1, 0)), (1, 1)),
        "dilated": conv((1, 2), "SAME", (2, 3)),
        "transposed": conv((1, 1), ((2, 2), (1, 1)), (1, 1), (2, 3)),
    }
    compare(fns | vjps(fns), [x, w], 32)
    line = {
        "nhwc": lambda x, w: lax.conv_general_dilated(
            x, w, (1, 2), "SAME", dimension_numbers=("NHWC", "OIHW", "NHWC"), feature_group_count=groups
        )
    }
    compare(line | vjps(line), [x.transpose(0, 2, 3, 1), w], 32)


def test_control_flow():
    x, n = make(30, (4, 3), np.float32), np.int64(5)

    def rnn(x, n):
        return lax.scan(lambda h, r: (jnp.tanh(h + r), h * 2), jnp.zeros(3, x.dtype), x)

    fns = {
        "scan": rnn,
        "reverse": lambda x, n: lax.scan(lambda c, r: (c + r, c), x[0], x, reverse=True),
        "while": lambda x, n: lax.while_loop(lambda c: c[0] < n, lambda c: (c[0] + 1, c[1] * 1.5), (jnp.int64(0), x)),
        "fori": lambda x, n: lax.fori_loop(0, n, lambda i, c: c + i.astype(c.dtype), x),
        "cond": lambda x, n: lax.cond(n > 3, jnp.sin, jnp.cos, x),
        "switch": lambda x, n: lax.switch(n, [jnp.sin, jnp.cos, jnp.exp], x),
        "map": lambda x, n: lax.map(jnp.sum, x),
        "associative": lambda x, n: lax.associative_scan(jnp.multiply, x),
        "checkpoint": lambda x, n: jax.checkpoint(jnp.sin)(x),
    }
    compare(fns, [x, n], 8)
    compare(
        vjps({"scan": lambda x: rnn(x, n), "checkpoint": lambda x: jax.checkpoint(lambda y: jnp.sin(jnp.sin(y)))(x)}),
        [x],
        8,
    )


def test_dims_that_are_reduced_and_put_back_are_kept():
    """A weight does not get NumPy's additional leading dims."""
    def normalized(x, w):
        centred = x - x.mean(-1, keepdims=True)
        return centred * lax.rsqrt((centred * centred).mean(-1, keepdims=True) + 1e-5) * w.reshape(1, 1, -1)

    def least_taken_of_reduced(x, w):
        total = x.sum(-1)
        return x / total[..., None], total, x.max(-1, keepdims=True) - lax.reshape(x.max(-1), (3, 4, 1)), w

    x, w = make(41, (3, 4, 5), np.float32, 1.0), make(42, (5,), np.float32)
    large, wide = make(43, (30, 40, 5), np.float32), make(44, (2, 3, 1500), np.float32)
    compare({"normalized": normalized, "read twice": least_taken_of_reduced, "softmax": lambda x, w: jax.nn.softmax(x, 1)}, [x, w], 8)
    compare({"normalized": normalized, "softmax": lambda x, w: jax.nn.softmax(x, -1)}, [large, w], 8)
    compare({"softmax": lambda x: jax.nn.softmax(x, -1), "sum": lambda x: x - x.sum((0, 2), keepdims=True)}, [wide], 800)
    compare({"softmax": lambda x: jax.nn.softmax(x, -1)}, [x.astype(jnp.bfloat16)])
    with jax.enable_x64(True):
        assert len(compile_on_host(lambda x: jax.nn.softmax(x, -1), [x])) == 5
        assert len(compile_on_host(normalized, [x, w])) == 10


@pytest.mark.parametrize("dtype", [np.float32, np.float16, np.float64])
def test_the_largest_of_nan_and_of_minus_infinity(dtype):
    x = np.array([[1, np.nan, 2], [-np.inf, -np.inf, -np.inf], [0, -np.inf, 3]], dtype)
    compare({"from the least": lambda x: jnp.max(x, -1, initial=-jnp.inf), "softmax": lambda x: jax.nn.softmax(x, -1),
             "wider": lambda x: jnp.maximum(jnp.full((2, 3, 3), -jnp.inf, dtype), x), "least": lambda x: jnp.maximum(x, -jnp.inf)}, [x])
