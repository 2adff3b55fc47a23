"""Estimates of what work costs on the CPU, from operations and sizes. Nothing is measured while a program runs.

So the decisions of ``policy.py`` are the same in each run of a program, whatever else the machine does. The rates are those
of one machine. An error by a factor of two changes when something is compiled, not its result.
"""
from __future__ import annotations

from math import prod
from typing import TYPE_CHECKING, Any, NamedTuple

if TYPE_CHECKING:
    from jtorch.engine.host.rules import Equation


class Work(NamedTuple):
    """Estimated seconds of some work: on the host, in a compiled program, and to compile it.

    ``convolutions`` is the number of convolutions in the work.
    """

    host: float
    compiled: float
    compiling: float = 0.0
    convolutions: int = 0

    def __add__(self, other: Work) -> Work:     # type: ignore[override]
        return Work(self.host + other.host, self.compiled + other.compiled, self.compiling + other.compiling,
                    self.convolutions + other.convolutions)


NOTHING = Work(0.0, 0.0)
# Seconds of a call besides its kernel: if it runs at once, and if it is held back. Larger values mean more estimated work.
CALL, HELD = 15e-6, 2e-6
# Seconds that a program saves besides the work: for each call, and in addition for each call of backward, because backward then
# repeats a known walk over the graph. Without the extension a held-back call that no program runs costs as much as a call of
# backward. Larger values mean that programs save more.
SAVED_CALL, SAVED_WALKED = 0.5e-6, 10e-6
# Seconds to start compiled code and to wait for its results. A larger value means that small programs save less.
START = 50e-6
# Seconds to compile a program or a kernel, for each call of a program, and for each step of a kernel's host program. Larger
# values mean longer estimates.
COMPILING_PROGRAM, COMPILING_CALL, COMPILING_STEP = 0.03, 0.004, 0.002
# Seconds of compile time for each call of an accelerator's program, and for the update of one parameter on the CPU.
COMPILING_CALL_ACCELERATOR, COMPILING_UPDATE = 0.1, 0.013
# Seconds on the host for each tensor of a list. A larger value means more estimated work.
LIST_PART = 0.3e-6
# Seconds to copy one byte into new memory that XLA can read. A larger value keeps kernels of large arrays on the host.
COPYING = 0.25e-9
# Seconds to compile one equation in a program, and one convolution. A larger value means longer estimates of compile time.
COMPILING, COMPILING_CONVOLUTION = 0.4e-3, 20e-3
# Seconds to call one NumPy function, besides its work. A larger value moves kernels to XLA earlier.
HOST_STEP = 1e-6
# Upper limit in floating-point operations for a small matrix product, which one thread computes. A larger value estimates more
# products with SMALL_RATE.
SMALL_PRODUCT = 1 << 21
# Operations per second of small matrix products, and of large ones on the host and in programs. A larger value means
# less estimated work.
SMALL_RATE, HOST_RATE, COMPILED_RATE = 60e9, 220e9, 125e9
# Operations per second of convolutions on the host without oneDNN, and in programs. A larger value means less
# estimated work.
CONVOLUTION_RATE, COMPILED_CONVOLUTION_RATE = 15e9, 80e9
# Operations per second of oneDNN's convolutions, on the host and in programs. A larger value means less estimated work.
ONEDNN_RATE = 150e9
# Assumed iterations of a loop whose length depends on values. A larger value means more estimated work.
UNKNOWN_TURNS = 16

# CHEAP is the seconds for each element of the larger of inputs and outputs, on the host. FUSED is the fraction of these
# seconds that a program takes, because XLA fuses operations. Larger values mean more estimated work.
CHEAP, FUSED = 0.4e-9, 0.25
# Seconds for each element on the host, for primitives that take longer than CHEAP.
COSTLY = {
    **dict.fromkeys(["sin", "cos", "tan", "asin", "acos", "atan", "atan2", "cbrt"], 0.8e-9),
    **dict.fromkeys(["exp", "exp2", "tanh", "log", "log2", "logistic", "sqrt", "div"], 2e-9),
    **dict.fromkeys(["expm1", "log1p", "erf", "erfc", "pow", "sinh", "cosh", "asinh", "acosh", "atanh", "rem", "mod",
                     "integer_pow", "nextafter"], 6e-9),
    **dict.fromkeys(["erf_inv", "lgamma", "digamma", "igamma", "igammac", "polygamma", "zeta", "bessel_i0e", "bessel_i1e",
                     "regularized_incomplete_beta"], 60e-9),
    **dict.fromkeys(["select_and_scatter_add", "select_and_gather_add"], 4e-9),
    **dict.fromkeys(["cumsum", "cumprod", "cummax", "cummin"], 3e-9),
    "rsqrt": 0.6e-9, "argmax": 0.5e-9, "argmin": 0.5e-9, "reduce_prod": 5e-9, "cumlogsumexp": 30e-9,
    **dict.fromkeys(["sort", "top_k", "fft"], 60e-9),
    **dict.fromkeys(["lu", "cholesky", "qr", "geqrf", "householder_product", "triangular_solve"], 20e-9),
    **dict.fromkeys(["eig", "eigh", "svd"], 300e-9),
}
# Seconds for each element in a program, for primitives that NumPy vectorizes on the CPU and XLA does not. The values for libm's
# functions are doubled, because XLA computes these functions again in each loop that reads them.
ONE_BY_ONE = {"sin": 6e-9, "cos": 6e-9, "tan": 12e-9, "asin": 24e-9, "acos": 24e-9, "atan": 8e-9, "atan2": 4e-9, "cbrt": 12e-9,
              "argmax": 1.5e-9, "argmin": 1.5e-9, "cumsum": 5e-9, "cumprod": 5e-9, "cummax": 5e-9, "cummin": 5e-9,
              "cumlogsumexp": 150e-9, "rsqrt": 1.2e-9}
# Seconds for each element read or written, for primitives that index their first argument. The argument's size does not count.
PLACES = {"gather": 1.5e-9, "dynamic_slice": CHEAP, "dynamic_update_slice": CHEAP,
          **dict.fromkeys(["scatter", "scatter-add", "scatter-max", "scatter-min", "scatter-mul", "scatter-sub"], 4e-9)}
WRITING = frozenset(PLACES) - {"gather", "dynamic_slice"}
FREE = frozenset({"reshape", "squeeze", "rev", "broadcast_in_dim", "slice", "transpose", "iota", "empty", "empty2", "zeros_like",
                  "split"})


def of_copying(elements: int) -> Work:
    """Return the work of a step that copies this many elements."""
    seconds = elements * CHEAP
    return Work(HOST_STEP + seconds, seconds * FUSED, COMPILING)


def of_places(elements: int, each: float = CHEAP) -> Work:
    """Return the work to read or write this many elements of an array. The array itself is not copied."""
    seconds = elements * each
    return Work(HOST_STEP + seconds, seconds * FUSED, COMPILING)


def of_blocks(equations: list[Equation], arrays: int, blocks: int) -> Work:
    """Return the work of elementwise equations that run block by block in the cache.

    ``arrays`` is the number of arrays that are read from memory or written to it.
    """
    each = sum([of_equation(e) for e in equations], NOTHING)
    in_cache = FUSED * sum([COSTLY.get(e.name, CHEAP) for e in equations])
    seconds = (arrays * CHEAP + in_cache) * prod(equations[0].shape)
    return Work(HOST_STEP * len(equations) * blocks + seconds, max(seconds, each.compiled), each.compiling)


def of_equation(e: Equation) -> Work:
    """Return the work of one equation of a jaxpr with known sizes."""
    if e.name == "dot_general":
        return of_product(2.0 * prod(e.shape) * _contracted(e))
    if e.name == "conv_general_dilated":
        operations = _convolution(e)
        return Work(HOST_STEP + operations / CONVOLUTION_RATE, operations / COMPILED_CONVOLUTION_RATE, COMPILING_CONVOLUTION, 1)
    if e.name == "onednn_convolution":
        seconds = e.params["geometry"].operations / ONEDNN_RATE
        return Work(HOST_STEP + seconds, seconds, COMPILING, 1)
    if e.name in ("scan", "while"):
        return _loop(e)
    if e.name in FREE:
        return Work(HOST_STEP, 0.0, COMPILING)
    if e.name in PLACES:
        return of_places(max(sum([a.size for a in e.ins[1:]]), 0 if e.name in WRITING else e.outs[0].size), PLACES[e.name])
    elements, each = _elements(e), COSTLY.get(e.name, CHEAP)
    return Work(HOST_STEP + elements * each, elements * ONE_BY_ONE.get(e.name, each * FUSED), COMPILING)


def _elements(e: Equation) -> int:
    return max(sum([a.size for a in e.ins]), sum([a.size for a in e.outs]))


def of_product(operations: float) -> Work:
    """Return the work of a matrix product of this many floating-point operations."""
    small = operations <= SMALL_PRODUCT
    return Work(HOST_STEP + operations / (SMALL_RATE if small else HOST_RATE),
                operations / (SMALL_RATE if small else COMPILED_RATE), COMPILING)


def _contracted(e: Equation) -> int:
    (dims, _), _ = e.params["dimension_numbers"]
    return prod([e.ins[0].shape[d] for d in dims])


def _convolution(e: Equation) -> float:
    filters = e.ins[1]
    out_features = filters.shape[e.params["dimension_numbers"].rhs_spec[0]]
    return 2.0 * prod(e.shape) * filters.size / max(out_features, 1)


def _loop(e: Equation) -> Work:
    """Return the work of a loop: its body times the iterations, if their number is known."""
    body: Any = e.params["jaxpr" if e.name == "scan" else "body_jaxpr"]
    turns = e.params["length"] if e.name == "scan" else UNKNOWN_TURNS
    elements = sum([prod(v.aval.shape) for eqn in body.jaxpr.eqns for v in eqn.outvars])
    host = turns * (HOST_STEP * len(body.jaxpr.eqns) + CHEAP * elements)
    return Work(host, host * FUSED, COMPILING * len(body.jaxpr.eqns))
