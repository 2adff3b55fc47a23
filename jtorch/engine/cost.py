"""What work costs on the CPU: estimated from the operations and the sizes, never measured while a program runs.

What is decided by these numbers (see ``policy.py``) is decided alike in each run of a program, whatever else the machine does.
They were measured once, on 2 cores of an AMD EPYC; being off by two changes when something is compiled, not what it computes.
"""
from __future__ import annotations

from math import prod
from typing import TYPE_CHECKING, Any, NamedTuple

if TYPE_CHECKING:
    from jtorch.engine.host.rules import Equation


class Work(NamedTuple):
    """Seconds that something takes on the host, evaluated with NumPy, and as part of a compiled program; and to be compiled.

    ``convolutions``: how many there are in it.
    """

    host: float
    compiled: float
    compiling: float = 0.0
    convolutions: int = 0

    def __add__(self, other: Work) -> Work:     # type: ignore[override]
        return Work(self.host + other.host, self.compiled + other.compiled, self.compiling + other.compiling,
                    self.convolutions + other.convolutions)


NOTHING = Work(0.0, 0.0)
COPYING = 0.25e-9           # seconds a byte, into fresh memory from which XLA takes an array
COMPILING, COMPILING_CONVOLUTION = 0.4e-3, 20e-3       # seconds for an equation, as part of a program
HOST_STEP = 1e-6            # a NumPy function, before it does anything
SMALL_PRODUCT = 1 << 21     # floating-point operations: up to here one thread multiplies
SMALL_RATE, HOST_RATE, COMPILED_RATE = 60e9, 220e9, 125e9       # operations of matrix products a second
CONVOLUTION_RATE, COMPILED_CONVOLUTION_RATE = 15e9, 80e9        # the host makes patches
ONEDNN_RATE = 150e9         # on the host and in programs alike
UNKNOWN_TURNS = 16          # of a loop whose length depends on values

# Seconds for each element of the larger of input and output, on the host; a program takes a fraction of it where the host goes
# through memory once for each operation.
CHEAP, FUSED = 0.4e-9, 0.25
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
# What XLA:CPU calls libm for, number by number, where NumPy takes many at once: sines of 65,536 numbers 157 µs, on the host 28.
# Twice that, since XLA computes them anew in each loop that takes them: a SIREN's step 7.8 ms, call by call 3.9.
# And what it does not do several at once either: the largest of 1,000 rows of 1,000, and where it is, 1.5 ms, on the host 0.2.
ONE_BY_ONE = {"sin": 6e-9, "cos": 6e-9, "tan": 12e-9, "asin": 24e-9, "acos": 24e-9, "atan": 8e-9, "atan2": 4e-9, "cbrt": 12e-9,
              "argmax": 1.5e-9, "argmin": 1.5e-9, "cumsum": 5e-9, "cumprod": 5e-9, "cummax": 5e-9, "cummin": 5e-9,
              "cumlogsumexp": 150e-9, "rsqrt": 1.2e-9}
# What reads or writes some places of its first argument, for each element there: a row of a table of 50,257 takes 10 µs, and not
# the 60 ms that the table would.
PLACES = {"gather": 1.5e-9, "dynamic_slice": CHEAP, "dynamic_update_slice": CHEAP,
          **dict.fromkeys(["scatter", "scatter-add", "scatter-max", "scatter-min", "scatter-mul", "scatter-sub"], 4e-9)}
WRITING = frozenset(PLACES) - {"gather", "dynamic_slice"}
FREE = frozenset({"reshape", "squeeze", "rev", "broadcast_in_dim", "slice", "transpose", "iota", "empty", "empty2", "zeros_like",
                  "split"})


def of_copying(elements: int) -> Work:
    """The work of a step that copies so many elements."""
    seconds = elements * CHEAP
    return Work(HOST_STEP + seconds, seconds * FUSED, COMPILING)


def of_places(elements: int, each: float = CHEAP) -> Work:
    """The work of reading or writing so many elements of an array, which is not copied where nobody else holds it."""
    seconds = elements * each
    return Work(HOST_STEP + seconds, seconds * FUSED, COMPILING)


def of_blocks(equations: list[Equation], arrays: int, blocks: int) -> Work:
    """The work of elementwise equations on so many blocks that stay in the cache; ``arrays`` are read from memory or written."""
    each = sum([of_equation(e) for e in equations], NOTHING)
    in_cache = FUSED * sum([COSTLY.get(e.name, CHEAP) for e in equations])
    seconds = (arrays * CHEAP + in_cache) * prod(equations[0].shape)
    return Work(HOST_STEP * len(equations) * blocks + seconds, max(seconds, each.compiled), each.compiling)


def of_equation(e: Equation) -> Work:
    """The work of one equation of a jaxpr, of known sizes."""
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
    """The work of a product of matrices that takes so many floating-point operations."""
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
    """A loop's body, as often as it is run where that is known."""
    body: Any = e.params["jaxpr" if e.name == "scan" else "body_jaxpr"]
    turns = e.params["length"] if e.name == "scan" else UNKNOWN_TURNS
    elements = sum([prod(v.aval.shape) for eqn in body.jaxpr.eqns for v in eqn.outvars])
    host = turns * (HOST_STEP * len(body.jaxpr.eqns) + CHEAP * elements)
    return Work(host, host * FUSED, COMPILING * len(body.jaxpr.eqns))
