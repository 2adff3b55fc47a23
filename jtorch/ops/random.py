"""PyTorch's exact random numbers on the CPU: NumPy arrays from a stream of MT19937 words.

Each function draws the same words from the stream as PyTorch, in PyTorch's order, and leaves the stream in PyTorch's
state. The numbers are in memory order; ``place`` arranges them for tensors that are not contiguous.
See https://docs.pytorch.org/docs/stable/torch.html#random-sampling.
"""
from __future__ import annotations

import math
from collections.abc import Container, Sequence
from typing import TYPE_CHECKING

import ml_dtypes
import numpy as np

from jtorch._base import late_bindings, warned
from jtorch.ops import _box_muller, check
from jtorch.ops import _libm as libm

if TYPE_CHECKING:
    from jtorch._base.mt19937 import Stream

Shape = Sequence[int]
F32, F64, INT64 = np.dtype(np.float32), np.dtype(np.float64), np.dtype(np.int64)
HALF, BFLOAT16 = np.dtype(np.float16), np.dtype(ml_dtypes.bfloat16)
DIGITS = {HALF: 11, BFLOAT16: 8, F32: 24, F64: 53}          # bits of the mantissa; kernels of floats accept these dtypes
_INTEGERS = tuple(np.dtype(n) for n in ("uint8", "int8", "int16", "int32", "int64"))
_ALL_TYPES = (*_INTEGERS, *DIGITS)
_BOOL = np.dtype(np.bool_)
_C_NAMES = {"uint8": "unsigned char", "int8": "signed char", "int16": "short int", "int32": "int", "int64": "long int",
            "bool": "bool", "uint16": "short unsigned int", "uint32": "unsigned int", "uint64": "long unsigned int",
            "float16": "c10::Half", "bfloat16": "c10::BFloat16", "float32": "float", "float64": "double",
            "complex64": "c10::complex<float>", "complex128": "c10::complex<double>"}


# ---- shared by the distributions -----------------------------------------------------------------------------------

def supported(dtype: np.dtype, allowed: Container[np.dtype], kernel: str, n: int = 1) -> None:
    """Raise PyTorch's error of a kernel without code for ``dtype``, unless it has ``n = 0`` elements and does not run."""
    if n and dtype not in allowed:
        raise NotImplementedError(f"\"{kernel}\" not implemented for '{check.scalar_name(dtype)}'")


def _order(size: Shape, stride: Shape) -> list[int]:
    """Return the dims from slowest to fastest in memory."""
    return sorted(range(len(size)), key=lambda d: (-stride[d], d) if stride[d] else (0, d))


def place(values: np.ndarray, size: Shape, stride: Shape) -> np.ndarray:
    """Return an array of shape ``size``. Its k-th element in the memory order of ``stride`` is ``values[k]``."""
    order = _order(size, stride)
    if order == list(range(len(size))):
        return values.reshape(size)
    inverse = np.argsort(order)
    return values.reshape([size[d] for d in order]).transpose(inverse)


def in_memory_order(array: np.ndarray, stride: Shape) -> np.ndarray:
    """Return the elements in the memory order of ``stride``: the inverse of ``place``."""
    return array.transpose(_order(array.shape, stride)).reshape(-1)


def _real(dtype: np.dtype) -> np.dtype:
    return np.dtype(f"f{dtype.itemsize // 2}")


def _complex(fill, stream: Stream, size: Shape, dtype: np.dtype, *args) -> np.ndarray:
    """Fill a complex array as a real array with a last dimension of 2."""
    return fill(stream, (*size, 2), _real(dtype), *args).reshape(-1).view(dtype).reshape(size)


def _narrow(x: np.ndarray, dtype: np.dtype, size: Shape) -> np.ndarray:
    """Cast doubles to ``dtype``. The 16-bit types are rounded twice, through float32, as in C++."""
    with np.errstate(over="ignore"):
        if dtype not in (F32, F64):
            x = x.astype(np.float32)
        return x.astype(dtype, copy=False).reshape(size)


def _fused32(x: np.ndarray, b: np.float32, c: np.float32) -> np.ndarray:
    """Return ``x * b + c`` rounded once, possibly in place. Without the extension it works in chunks that fit the cache."""
    if late_bindings.fuse is not None:
        late_bindings.fuse(x, float(b), float(c))
        return x
    made = np.empty_like(x)
    for at in range(0, x.size, _box_muller.CHUNK):
        wide = x[at:at + _box_muller.CHUNK].astype(np.float64)
        wide *= float(b)
        wide += float(c)
        made[at:at + _box_muller.CHUNK] = wide
    return made


# ---- uniform -------------------------------------------------------------------------------------------------------

def rand(stream: Stream, size: Shape, dtype: np.dtype = F32) -> np.ndarray:
    """Return uniform numbers in [0, 1). See torch.rand."""
    if dtype == F32:
        return stream.floats(math.prod(size)).reshape(size)
    return uniform(stream, size, dtype)


def uniform(stream: Stream, size: Shape, dtype: np.dtype = F32, from_: float = 0.0, to: float = 1.0) -> np.ndarray:
    """Return uniform numbers in [from, to). See torch.Tensor.uniform_."""
    if dtype.kind == "c":
        return _complex(uniform, stream, size, dtype, from_, to)
    _check_uniform(dtype, from_, to)
    n = math.prod(size)
    if dtype == F64:
        x = stream.doubles(n)
        x = x if (from_, to) == (0, 1) else libm.fused(x, to - from_, from_)
    else:
        x = stream.floats(n)
        x = x if (from_, to) == (0, 1) else _fused32(x, np.float32(to) - np.float32(from_), np.float32(from_))
    x = x.astype(dtype, copy=False)
    if (from_, to) != (0, 1) or dtype not in (F32, F64):        # otherwise rounding cannot reach ``to``
        x[x == dtype.type(to)] = dtype.type(from_)
    return x.reshape(size)


def _check_uniform(dtype: np.dtype, from_: float, to: float) -> None:
    supported(dtype, DIGITS, "check_uniform_bounds")
    most = float(ml_dtypes.finfo(dtype).max)
    for name, value in (("from", from_), ("to", to)):
        check.require(-most <= value <= most, f"{name} is out of bounds for {_C_NAMES[dtype.name]}")
    check.require(from_ <= to, f"uniform_ expects to return a [from, to) range, but found from={from_:g} > to={to:g}")
    check.require(to - from_ <= most, f"uniform_ expects to-from <= std::numeric_limits<{check.scalar_name(dtype)}>"
                  f"::max(), but found to={to:g} and from={from_:g} which result in to-from to exceed the limit")


# ---- normal --------------------------------------------------------------------------------------------------------

def randn(stream: Stream, size: Shape, dtype: np.dtype = F32) -> np.ndarray:
    """Return standard normals. See torch.randn."""
    return normal(stream, size, dtype)


def normal(stream: Stream, size: Shape, dtype: np.dtype = F32, mean: float = 0.0, std: float = 1.0,
           contiguous: bool = True) -> np.ndarray:
    """Return normals, drawn in blocks for 16 or more contiguous numbers, else one by one. See torch.Tensor.normal_."""
    check_std(std)
    if dtype.kind == "c":       # std is the deviation of the complex number
        return _complex(normal, stream, size, dtype, mean, std / math.sqrt(2), contiguous)
    n = math.prod(size)
    supported(dtype, DIGITS, "normal_kernel_cpu", n)
    if n < 16 or not contiguous:
        return _narrow(libm.fused(single_normals(stream, n), std, mean), dtype, size)
    last = (n - 16) // _box_muller.CHUNK * _box_muller.CHUNK            # each chunk needs at least 16 numbers
    if not last:
        return _moved(_blocks(stream, n, dtype), mean, std).astype(dtype, copy=False).reshape(size)
    out = np.empty(n, dtype)
    for start in range(0, n - 15, _box_muller.CHUNK):
        stop = n if start == last else start + _box_muller.CHUNK
        out[start:stop] = _moved(_blocks(stream, stop - start, dtype), mean, std)
    return out.reshape(size)


def _blocks(stream: Stream, n: int, dtype: np.dtype) -> np.ndarray:
    """Return ``n`` >= 16 standard normals in float64 or float32. If ``n`` is no multiple of 16, the last 16 are drawn again.

    For float16 and bfloat16 the numbers that they would replace are not drawn.
    """
    draw, transform = ((stream.doubles, _box_muller.normals64) if dtype == F64 else
                       (stream.low_bits, _box_muller.normals32))
    whole = n - n % 16
    if n == whole:
        return transform(draw(n))
    own = n if dtype in (F32, F64) else whole
    u = draw(own + 16)
    x = transform(np.concatenate((u[:whole], u[own:])))
    return np.concatenate((x[:n - 16], x[whole:]))


def _moved(x: np.ndarray, mean: float, std: float) -> np.ndarray:
    if x.dtype == F64:
        return libm.fused(x, std, mean)
    if (mean, std) == (0, 1):
        x += np.float32(0)      # turns -0 into 0
        return x
    return _fused32(x, np.float32(std), np.float32(mean))


def single_normals(stream: Stream, n: int) -> np.ndarray:
    """Return standard normals made in pairs. An unused second number stays in the stream for the next call."""
    if n < libm.SHORT:
        return np.array(_few_normals(stream, n))
    kept = [] if stream.next_normal is None else [stream.next_normal]
    pairs = (n - len(kept) + 1) // 2
    stream.next_normal = None
    u = stream.doubles(2 * pairs).reshape(-1, 2)
    r, theta = np.sqrt(-2.0 * libm.log1p(-u[:, 1])), (2.0 * np.pi) * u[:, 0]
    made = np.stack((r * np.cos(theta), r * np.sin(theta)), axis=1).reshape(-1)
    if len(kept) + 2 * pairs > n:
        stream.next_normal = float(made[-1])
    return np.concatenate((kept, made))[:n]


def _few_normals(stream: Stream, n: int) -> list[float]:
    made = [] if stream.next_normal is None or n == 0 else [stream.next_normal]
    u = iter(stream.doubles((n - len(made) + 1) // 2 * 2).tolist())
    for angle, v in zip(u, u, strict=True):
        r, theta = math.sqrt(-2.0 * math.log1p(-v)), 2.0 * math.pi * angle
        made += (r * math.cos(theta), r * math.sin(theta))
    if n:
        stream.next_normal = made.pop() if len(made) > n else None
    return made


def check_std(std: float) -> None:
    """Raise PyTorch's error for a negative standard deviation."""
    if not std >= 0:            # NaN too
        raise RuntimeError(f"normal expects std >= 0.0, but found std {std:g}")


def check_stds(std: np.ndarray) -> None:
    """Raise PyTorch's errors for an array of standard deviations."""
    check.require(std.dtype.kind != "c", "normal expects standard deviation to be non-complex")
    check.require(std.size == 0 or bool(std.min() >= 0), "normal expects all elements of std >= 0.0")


def normal_of(stream: Stream, mean: np.ndarray | float, std: np.ndarray | float) -> np.ndarray:
    """Return normals with a mean and a standard deviation per element; one may be a number. See torch.normal."""
    if not isinstance(std, np.ndarray):
        assert isinstance(mean, np.ndarray)
        return _plus(normal(stream, mean.shape, mean.dtype, 0.0, std), mean)
    check_stds(std)
    if not isinstance(mean, np.ndarray):
        return _plus(_times(normal(stream, std.shape, std.dtype), std), np.asarray(mean, std.dtype))
    size = check.broadcast_shapes(mean.shape, std.shape)
    return _plus(_times(normal(stream, size, mean.dtype), std), mean)


def _times(x: np.ndarray, y: np.ndarray) -> np.ndarray:
    return (x * y).astype(x.dtype)


def _plus(x: np.ndarray, y: np.ndarray) -> np.ndarray:
    return (x + y).astype(x.dtype)


def log_normal(stream: Stream, size: Shape, dtype: np.dtype = F32, mean: float = 1.0, std: float = 2.0) -> np.ndarray:
    """Return e raised to normals. See torch.Tensor.log_normal_."""
    check.require(std > 0, f"log_normal_ expects std > 0.0, but found std={std:g}")
    n = math.prod(size)
    supported(dtype, DIGITS, "log_normal_cpu", n)
    return _narrow(libm.exp(libm.fused(single_normals(stream, n), std, mean)), dtype, size)


# ---- other continuous distributions --------------------------------------------------------------------------------

def exponential(stream: Stream, size: Shape, dtype: np.dtype = F32, lambd: float = 1.0) -> np.ndarray:
    """Return exponentially distributed numbers. See torch.Tensor.exponential_. (On Intel CPUs PyTorch uses another generator.)"""
    check.require(lambd > 0, f"exponential_ expects lambda > 0.0, but found lambda={lambd:g}")
    n = math.prod(size)
    check.require(not n or dtype in DIGITS, "Exponential distribution is a continuous probability distribution. dtype "
                  f"must be a floating point but you specified {check.scalar_name(dtype)}")
    x = (libm.log1p if dtype == F64 else np.log1p)(-stream.doubles(n))
    x *= -1.0 / lambd
    return _narrow(x, dtype, size)


def cauchy(stream: Stream, size: Shape, dtype: np.dtype = F32, median: float = 0.0, sigma: float = 1.0) -> np.ndarray:
    """Return Cauchy-distributed numbers. See torch.Tensor.cauchy_."""
    check.require(sigma > 0, f"cauchy_ expects sigma > 0.0, but found sigma={sigma:g}")
    check.require(dtype in DIGITS, "Cauchy distribution is a continuous probability distribution. dtype must be a "
                  f"floating point but you specified {_C_NAMES.get(dtype.name, dtype.name)}")
    x = libm.tan(np.pi * (stream.doubles(math.prod(size)) - 0.5))
    return _narrow(libm.fused(x, sigma, median), dtype, size)


# ---- integers ------------------------------------------------------------------------------------------------------

def randint(stream: Stream, low: int, high: int, size: Shape, dtype: np.dtype = INT64) -> np.ndarray:
    """Return integers in [low, high). See torch.randint."""
    return random(stream, size, dtype, low, high)


def random(stream: Stream, size: Shape, dtype: np.dtype, from_: int | None = None,
           to: int | None = None) -> np.ndarray:
    """Return integers in [from, to), or up to the dtype's largest. See torch.Tensor.random_."""
    n = math.prod(size)
    if from_ is None and to is None:
        return _whole_range(stream, n, dtype).reshape(size)
    low, high = from_ or 0, to
    if high is None and low == -(1 << 63):
        check.require(not n or dtype in (INT64, F64, F32, BFLOAT16),
                      "random_full_64_bits_range_kernel_cpu handles only int64, double, float and bfloat16")
        return stream.long_words(n).view(np.int64).astype(dtype).reshape(size)
    low, high = _open_range(dtype, low) if high is None else _closed_range(dtype, low, high)
    _check_range(dtype, low, high - 1)
    span = high - low
    words = stream.long_words(n) if span >= 1 << 28 else stream.words(n)
    values = _remainder(words, span).astype(np.int64)
    values += low
    return values.astype(dtype, copy=False).reshape(size)


def _whole_range(stream: Stream, n: int, dtype: np.dtype) -> np.ndarray:
    supported(dtype, (*_ALL_TYPES, _BOOL), "random_kernel_cpu")
    words = stream.long_words(n) if dtype in (INT64, F64) else stream.words(n)
    return _remainder(words, _count(dtype)).astype(dtype)


def _remainder(words: np.ndarray, span: int) -> np.ndarray:
    """Compute ``words % span`` into ``words``. NumPy's division by a number is faster than its remainder."""
    divisor = words.dtype.type(span)
    quotients = words // divisor
    quotients *= divisor
    words -= quotients
    return words


def _count(dtype: np.dtype) -> int:
    """Return the number of values that random_() chooses from."""
    if dtype in DIGITS:
        return (1 << DIGITS[dtype]) + 1
    return 2 if dtype == _BOOL else int(np.iinfo(dtype).max) + 1


def _closed_range(dtype: np.dtype, low: int, high: int) -> tuple[int, int]:
    check.require(low < high, f"random_ expects 'from' to be less than 'to', but got from={low} >= to={high}")
    if dtype not in DIGITS:
        return low, high
    low, high = _nearest_from(dtype, low), _nearest_to(dtype, high)
    check.require(low < high, "random_ expects 'from' casted to dtype to be less than 'to' casted to dtype, but got "
                  f"from={low} >= to={high}")
    return low, high


def _open_range(dtype: np.dtype, low: int) -> tuple[int, int]:
    if dtype in DIGITS:
        last, low = 1 << DIGITS[dtype], _nearest_from(dtype, low)
        check.require(low < last, "random_ expects 'from' casted to dtype to be less than or equal to 'to_inc' casted "
                      f"to dtype, but got from={low} > to_inc={last}")
        return low, last + 1
    check.require(dtype.kind in "iub", "random_from_to_impl handles only integral, floating-point and boolean types")
    last = 1 if dtype == _BOOL else int(np.iinfo(dtype).max)
    return low, (last if last < 1 << 63 else -1) + 1            # as in PyTorch, the end overflows to 0 for uint64


def _rounded(dtype: np.dtype, value: int) -> int:
    with np.errstate(over="ignore"):
        x = float(np.array(value, np.int64).astype(np.float64 if dtype == F64 else np.float32).astype(dtype))
    return int(x) if abs(x) < 2.0**63 else -(1 << 63)       # the result of the C cast


def _nearest_from(dtype: np.dtype, low: int) -> int:
    """Return the first number of ``dtype`` that is at least ``low``, if rounding would go below."""
    rounded = _rounded(dtype, low + 1)
    return rounded + _gap(dtype, low + 1) if rounded < low else low


def _nearest_to(dtype: np.dtype, high: int) -> int:
    rounded = _rounded(dtype, high - 1)
    return rounded - _gap(dtype, high - 1) if rounded >= high else high


def _gap(dtype: np.dtype, value: int) -> int:
    return 1 << max(0, max(abs(value).bit_length() - 1, 0) - DIGITS[dtype] + 1)


def _check_range(dtype: np.dtype, low: int, last: int) -> None:
    check.require(dtype.kind in "iub" or dtype in DIGITS,
                  "check_random_bounds handles only integral, floating-point and boolean types")
    least, most = _extremes(dtype)
    for name, value in (("from", low), ("to - 1", last)):
        check.require(least <= value <= most, f"{name} is out of bounds for {_C_NAMES[dtype.name]}")
        if dtype in DIGITS and abs(value) > 1 << DIGITS[dtype]:
            _warn_precision(name, dtype)


def _extremes(dtype: np.dtype) -> tuple[float, float]:
    if dtype in DIGITS:
        most = float(ml_dtypes.finfo(dtype).max)
        return -most, most
    info = np.iinfo(np.uint8 if dtype == _BOOL else dtype)
    return int(info.min), 1 if dtype == _BOOL else min(int(info.max), (1 << 63) - 1)


def _warn_precision(name: str, dtype: np.dtype) -> None:
    d = DIGITS[dtype]
    warned.warn(f"{name} is out of bounds [-(2^{d}), 2^{d}]. Due to precision limitations {_C_NAMES[dtype.name]} can "
                "support discrete uniform distribution only within this range. This warning will become an error in "
                "version 1.7 release, please fix the code in advance")


def geometric(stream: Stream, size: Shape, dtype: np.dtype, p: float) -> np.ndarray:
    """Return the number of trials up to the first success. See torch.Tensor.geometric_."""
    check.require(0 < p < 1, f"geometric_ expects p to be in (0, 1), but got p={p:g}")
    n = math.prod(size)
    supported(dtype, _ALL_TYPES, "geometric_cpu", n)
    with np.errstate(divide="ignore"):
        x = np.ceil(np.log(stream.doubles(n)) / math.log1p(-p))
    if dtype in DIGITS:
        return _narrow(x, dtype, size)
    return np.minimum(x, 2.0**62).astype(np.int64).astype(dtype).reshape(size)


def bernoulli(stream: Stream, size: Shape, dtype: np.dtype = F32, p: float = 0.5) -> np.ndarray:
    """Return 1 with probability ``p``, else 0; also the mask of dropout, with ``1 - p``. See torch.Tensor.bernoulli_."""
    check.require(0 <= p <= 1, f"bernoulli_ expects p to be in [0, 1], but got p={p:g}")
    n = math.prod(size)
    supported(dtype, (*_ALL_TYPES, _BOOL), "bernoulli_scalar_cpu_", n)
    return stream.below(n, p).astype(dtype).reshape(size)


def bernoulli_of(stream: Stream, p: np.ndarray, dtype: np.dtype | None = None) -> np.ndarray:
    """Return 1 with a probability per element, else 0; ``p`` has the result's shape. See torch.bernoulli."""
    dtype = dtype or p.dtype
    supported(dtype, (*_ALL_TYPES, _BOOL), "bernoulli_tensor_cpu_self_", p.size)
    supported(p.dtype, DIGITS, "bernoulli_tensor_cpu_p_", p.size)
    wide = p.dtype == F64
    bad = ~((p >= 0) & (p <= 1))
    if bad.any():               # PyTorch has drawn numbers for all earlier elements when it raises
        stream.words(int(bad.argmax()) * (2 if wide else 1))
        raise RuntimeError("Expected p_in >= 0 && p_in <= 1 to be true, but got false.  (Could this error message be "
                           "improved?  If so, please report an enhancement request to PyTorch.)")
    u = stream.doubles(p.size) if wide else stream.floats(p.size)
    return (u < p.astype(u.dtype).reshape(-1)).astype(dtype).reshape(p.shape)


# ---- dropout and noise ---------------------------------------------------------------------------------------------

def check_dropout(p: float) -> None:
    """Raise PyTorch's error for a dropout probability outside [0, 1]."""
    check.require(0 <= p <= 1, f"dropout probability has to be between 0 and 1, but got {p:g}")


def dropout_mask(stream: Stream, size: Shape, dtype: np.dtype, p: float) -> np.ndarray:
    """Return 1 where an element stays. Draws nothing for ``p`` 0 or 1. See torch.nn.functional.dropout."""
    check_dropout(p)
    if p in (0, 1) or 0 in size:
        return np.full(size, 1 - p, dtype)
    return bernoulli(stream, size, dtype, 1 - p)


def feature_dropout_size(size: Shape) -> tuple[int, ...]:
    """Return the size of a mask that drops whole channels, for dropout2d."""
    check.require(len(size) >= 2, "Feature dropout requires at least 2 dimensions in the input")
    return (*size[:2], *(1 for _ in size[2:]))


def rrelu_noise(stream: Stream, x: np.ndarray, lower: float, upper: float) -> np.ndarray:
    """Return the slopes of rrelu in training: uniform where ``x`` is not above 0, else 1, with no draw. See torch.rrelu."""
    check.require(lower <= upper, "Lower bound should be less than or equal to the upper bound")
    supported(x.dtype, DIGITS, "rrelu_with_noise_out_cpu")
    noise, negative = np.ones(x.shape, x.dtype), x <= 0
    lower, upper = (float(x.dtype.type(v)) for v in (lower, upper))
    u = stream.doubles(int(np.count_nonzero(negative)))
    noise[negative] = (u * (upper - lower) + lower).astype(x.dtype)
    return noise
