"""Helpers for tests of host programs: NumPy and XLA run tables of functions, each table as one program."""

import jax
import jax.numpy as jnp
import numpy as np

from jtorch.engine.families import host_program
from jtorch.engine.values import CPU, aval_of

FLOATS = [np.float32, np.float64, jnp.bfloat16, np.float16]
INTS = [np.int32, np.int64, np.uint8, np.int8]
EPS = {"float32": 2e-6, "float64": 1e-14, "bfloat16": 0.03, "float16": 4e-3, "complex64": 5e-6, "complex128": 1e-13}


def compile_on_host(fn, avals):
    """Compile ``fn`` for arrays like ``avals`` on the host as the engine does. Return None if the engine leaves it to
    XLA.
    """
    avals = tuple(aval_of(a.shape, np.dtype(a.dtype), CPU) for a in avals)
    return host_program(lambda template: fn, (), fn, avals, loops=True)


def make(seed, shape, dtype, low=-3.0, high=3.0):
    rng, dtype = np.random.default_rng(seed), np.dtype(dtype)
    if dtype.kind == "b":
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
    """Run all ``fns`` of ``args`` as one program with NumPy and XLA, and compare."""
    args = [np.asarray(a) for a in args]

    def body(*arrays):
        return [jax.tree.leaves(fn(*arrays)) for fn in fns.values()]

    with jax.enable_x64(True), jax.numpy_dtype_promotion("standard"), jax.numpy_rank_promotion("allow"):
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


def gradient(fn):
    """Return the vjp of a function of float arrays, with cotangents that vary by element."""

    def run(*args):
        out, pull = jax.vjp(fn, *args)
        return pull(jax.tree.map(lambda o: jnp.cos(jnp.arange(o.size) % 7).astype(o.dtype).reshape(o.shape), out))

    return run


def vjps(fns):
    """Return the gradients of a table of functions."""
    return {f"vjp of {name}": gradient(fn) for name, fn in fns.items()}
