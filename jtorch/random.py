"""Random tensors and torch.random. CPU numbers equal PyTorch's for a seed; accelerators use JAX's generator."""
from __future__ import annotations

import contextlib
import threading
from collections.abc import Callable, Iterable
from typing import Any

import jax
import numpy as np

import jtorch.device as devices
import jtorch.dtype as dtypes
from jtorch import engine, speedups, storage, tape
from jtorch._api import functions
from jtorch._api.argument_errors import type_name
from jtorch._api.conversion import in_format
from jtorch._api.creation import from_host, place_of
from jtorch._api.names import put
from jtorch._api.scalars import integer_of, number_of
from jtorch._api.sizes import int_list_of, size_of, symint_from
from jtorch._backward.view_history import edge_of, start_history
from jtorch._backward.view_history import requires_grad as _requires_grad
from jtorch._base import generator, late_bindings
from jtorch._base.generator import Generator
from jtorch._nodes import tangents
from jtorch._nodes.vjp import camel_case
from jtorch.dispatch import (
    call,
    check_inplace,
    forward,
    sample_random,
    warn_of_resizing,
    write_resized,
    write_with_history,
    zero_node,
)
from jtorch.engine import Value, call_of, out_of_memory
from jtorch.no_grad import mode
from jtorch.ops import check, random_choice, random_rejection
from jtorch.ops import random as draw
from jtorch.ops.layout import iterated, preserved
from jtorch.ops.registry import OPS, T
from jtorch.ops.strided import contiguous_strides
from jtorch.storage import check_writable, geometry_of, value_of
from jtorch.tensor import Tensor, class_of, with_grad, wrap


def _to_tensor(array: np.ndarray) -> Tensor:
    return from_host(np.array(array))


def _from_tensor(value: Any) -> np.ndarray:
    if not isinstance(value, Tensor):
        raise TypeError(f"expected a torch.ByteTensor, but got {type(value).__name__}")
    return value._numpy_copy()


late_bindings.state_to_tensor, late_bindings.state_from_tensor = _to_tensor, _from_tensor
default_generator = generator.default_generator
_accelerators: dict[devices.device, Generator] = {}


class _Here(threading.local):
    cpu = default_generator         # ``use_in_thread`` gives a DataLoader's worker thread a generator of its own


_here = _Here()


def use_in_thread(generator: Generator) -> None:
    """Make a generator the CPU's default generator in this thread."""
    _here.cpu = generator


def generator_of(device: devices.device, given: Generator | None = None) -> Generator:
    """Return the given generator, or the device's default generator."""
    if given is not None:
        if not isinstance(given, Generator):
            raise TypeError(f"argument 'generator' must be torch.Generator, not {type(given).__name__}")
        if given.device.type != device.type:
            raise RuntimeError(f"Expected a '{device.type}' device type for generator but found '{given.device.type}'")
        return given
    if device.type == "cpu":
        return _here.cpu
    if device not in _accelerators:
        _accelerators[device] = Generator(device)
        _accelerators[device].manual_seed(default_generator.initial_seed())
    return _accelerators[device]


def states_of(places: Iterable[devices.device]) -> list[tuple[Generator, Any]]:
    """Return the generators of the CPU and of these devices, with their states."""
    others = [devices.single(d) if d.type == "mesh" else d for d in places if d.type not in ("cpu", "meta")]
    return [(g, g.get_state()) for g in (_here.cpu, *[generator_of(d) for d in others])]


late_bindings.generator_of = generator_of
if speedups.native is not None:
    late_bindings.draw_words, late_bindings.swap_places = speedups.native.draw_words, speedups.native.swap_places
    late_bindings.normals, late_bindings.fuse = speedups.native.normals, speedups.native.fuse


def manual_seed(seed: int) -> Generator:
    """Seed the generators of all devices. See torch.manual_seed."""
    seed = int(seed)
    for g in _accelerators.values():
        g.manual_seed(seed)
    return _here.cpu.manual_seed(seed)


def seed() -> int:
    """Seed all generators with a random number, and return that number. See torch.seed."""
    made = _here.cpu.seed()
    for g in _accelerators.values():
        g.manual_seed(made)
    return made


def initial_seed() -> int:
    """Return the seed of the CPU generator. See torch.initial_seed."""
    return _here.cpu.initial_seed()


def get_rng_state() -> Tensor:
    """Return the CPU generator's state, in PyTorch's byte format. See torch.get_rng_state."""
    return _here.cpu.get_state()


def set_rng_state(new_state: Tensor) -> None:
    """Set the CPU generator's state. See torch.set_rng_state."""
    _here.cpu.set_state(new_state)


@contextlib.contextmanager
def fork_rng(devices: Any = None, enabled: bool = True, _caller: str = "fork_rng", _devices_kw: str = "devices",
             device_type: str | None = None):
    """Restore the generators' states at the end of the block. See torch.random.fork_rng."""
    if not enabled:
        yield
        return
    saved = states_of(_accelerators)
    try:
        yield
    finally:
        for g, state in saved:
            g.set_state(state)


# ---------------------------------------------------------------- making tensors

def drawn(shape: tuple[int, ...], dtype: dtypes.dtype, place: devices.device, given: Generator | None, host: Callable,
           accelerator: Callable) -> Value:
    """Return a value drawn by ``host(stream)`` for a CPU, and by ``accelerator(key)`` for an accelerator."""
    sample_random.refuse()
    check.storable(shape, dtype.np)
    aval = engine.aval_of(shape, dtype.np, place)
    if place.type == "mesh":        # Draw on the mesh's first device, and put the result on the mesh.
        alone = drawn(shape, dtype, devices.single(place), given, host, accelerator)
        return Value(aval, engine.bring(engine.host_array(alone), place))
    if place.type == "meta":
        return Value(aval, engine.zero_stride_array(shape, dtype.np))
    g = generator_of(place, given)
    if place.type == "cpu":
        array = out_of_memory.allocated(host, g.stream)
        return Value(aval, np.ascontiguousarray(array, dtype.np).reshape(shape) if place is engine.CPU
                     else engine.put(np.asarray(array, dtype.np), place))
    at = devices.jax_device(place)
    # ``default_device`` does not commit arrays, so a program could move them elsewhere. The key is committed to the device.
    with jax.enable_x64(True), jax.default_device(at):
        return Value(aval, accelerator(jax.device_put(g.next_key(), at)).astype(dtype.np))


def _finish(value: Value, requires_grad_: bool = False) -> Tensor:
    t = wrap(value)
    t._inference = mode.inference
    return with_grad(t, requires_grad_)


def _made(shape: tuple[int, ...], requires_grad_: bool, draw_all: Callable[[tuple[int, ...]], Value]) -> Tensor:
    """Return a tensor of numbers that ``draw_all`` returns for a shape, also under ``vmap``."""
    made = sample_random.for_samples(lambda lead: _finish(draw_all((*lead, *shape))))
    return with_grad(made, requires_grad_)


def _check_dtype_of(out: Tensor, dtype: dtypes.dtype | None) -> None:
    if dtype is not None and dtype is not out.dtype:
        raise RuntimeError(f"dtype {dtype.scalar_name} does not match dtype of out parameter ({out.dtype.scalar_name})")


def _check_out(out: Tensor, name: str, dtype: dtypes.dtype | None = None, sources: tuple = ()) -> None:
    _check_dtype_of(out, dtype)
    if mode.grad and any([isinstance(t, Tensor) and _requires_grad(t) for t in (out, *sources)]):
        raise RuntimeError(f"{name}(): functions with out=... arguments don't support automatic differentiation, but one of the "
                           "arguments requires grad.")


def _fill(out: Tensor, shape: tuple[int, ...], fill: Callable[[Tensor], Tensor]) -> Tensor:
    """Fill ``out`` in its memory order. If its shape differs, resize it first. If ``fill`` raises, the size stays."""
    if tuple(out.shape) == shape:
        return fill(out)
    made = fill(from_host(np.zeros(shape, out.dtype.np), out.device))
    write_resized(out, value_of(made), warn=False)
    return out


def _float_or_complex(dtype: dtypes.dtype, name: str) -> dtypes.dtype:
    dtype = dtypes.as_dtype(dtype, name) or dtype
    if not (dtype.is_floating_point or dtype.is_complex):
        raise NotImplementedError(f"\"{name}\" not implemented for '{dtype.scalar_name}'")
    return dtype


def _uniform(key: jax.Array, shape: tuple[int, ...], dtype: np.dtype, low: float = 0.0, to: float = 1.0) -> jax.Array:
    """Draw uniform numbers on an accelerator; both parts of complex numbers are uniform."""
    if dtype.kind != "c":
        return jax.random.uniform(key, shape, dtype, low, to)
    return jax.lax.complex(*jax.random.uniform(key, (2, *shape), np.dtype(f"f{dtype.itemsize // 2}"), low, to))


def _end(d: dtypes.dtype) -> int:
    """Return the exclusive upper limit of ``random_()``: the dtype represents all integers below it exactly."""
    if d.is_floating_point:
        return 2 ** draw.DIGITS[d.np] + 1
    return 2 if d is dtypes.bool_ else min(int(np.iinfo(d.np).max) + 1, 2**63 - 1)


def _shape(function: str, size: tuple, kw: dict[str, Any]) -> tuple[int, ...]:
    given = (int_list_of(function, "size", 1, kw.pop("size")),) if "size" in kw else size
    _refuse_others(function, kw)
    if not given:
        raise TypeError(f"{function}() received an invalid combination of arguments - got ()")
    return size_of(function, *given)


def _refuse_others(function: str, kw: dict[str, Any]) -> None:
    """Raise TypeError for unknown arguments."""
    if kw:
        raise TypeError(f"{function}() got an unexpected keyword argument '{next(iter(kw))}'")


def _seen(name: str, given: dict[str, Any], generator: Generator | None, dtype: Any, place: Any, requires_grad: bool) -> Any:
    """Return a creation operator's result from a mode with ``__torch_dispatch__``, or None if no mode is on."""
    if late_bindings.aten is None:
        return None
    options = {"generator": generator, "dtype": dtype}
    made = late_bindings.aten.created(name, {**given, **{k: v for k, v in options.items() if v is not None}, "device": place,
                                    "pin_memory": False})
    return None if made is None else with_grad(made, requires_grad)


def _taken_over(name: str, **given: Any) -> Any:
    """Return an operator's result from a mode or class with ``__torch_dispatch__``, or None if there is none."""
    if late_bindings.aten is None:
        return None
    return late_bindings.aten.function(name, {k: v for k, v in given.items() if v is not None})


@sample_random.refuse_out
def rand(*size: Any, generator: Generator | None = None, out: Tensor | None = None, dtype: dtypes.dtype | None = None,
         layout: Any = None, device: Any = None, requires_grad: bool = False, pin_memory: bool = False, **kw: Any) -> Tensor:
    """Draw uniform numbers from [0, 1). See torch.rand."""
    shape, d, place = _shape("rand", size, kw), dtype or dtypes.get_default_dtype(), place_of(device)
    if out is not None:
        _check_out(out, "aten::rand", dtype)
        return _fill(out, shape, lambda t: uniform_(t, generator=generator))
    made = _seen("rand", {"size": list(shape)}, generator, dtype, place, requires_grad)
    if made is not None:
        return made
    d = _float_or_complex(d, "check_uniform_bounds")
    return _made(shape, requires_grad, lambda size: drawn(size, d, place, generator, lambda s: draw.rand(s, size, d.np),
                                                          lambda k: _uniform(k, size, d.np)))


@sample_random.refuse_out
def randn(*size: Any, generator: Generator | None = None, out: Tensor | None = None, dtype: dtypes.dtype | None = None,
          layout: Any = None, device: Any = None, requires_grad: bool = False, pin_memory: bool = False, **kw: Any) -> Tensor:
    """Draw standard normal numbers. See torch.randn."""
    shape, d, place = _shape("randn", size, kw), dtype or dtypes.get_default_dtype(), place_of(device)
    if out is not None:
        _check_dtype_of(out, dtype)
        if _requires_grad(out):
            raise RuntimeError("cannot resize variables that require grad")
        return _fill(out, shape, lambda t: normal_(t, generator=generator))
    made = _seen("randn", {"size": list(shape)}, generator, dtype, place, requires_grad)
    if made is not None:
        return made
    d = _float_or_complex(d, "normal_kernel_cpu")
    return _made(shape, requires_grad, lambda size: drawn(size, d, place, generator, lambda s: draw.randn(s, size, d.np),
                                                          lambda k: jax.random.normal(k, size, d.np)))


@sample_random.refuse_out
def randint(*args: Any, generator: Generator | None = None, out: Tensor | None = None, dtype: dtypes.dtype | None = None,
            layout: Any = None, device: Any = None, requires_grad: bool = False, pin_memory: bool = False, **kw: Any) -> Tensor:
    """Draw integers from [low, high). See torch.randint."""
    low, high, size = _randint_arguments(args, kw)
    shape, place, d = size_of("randint", size), place_of(device), dtype or dtypes.int64
    if out is not None:
        _check_out(out, "aten::randint", dtype)
        return _fill(out, shape, lambda t: random_(t, low, high, generator=generator))
    made = _seen("randint", {"low": low, "high": high, "size": list(shape)}, generator, dtype, place, requires_grad)
    if made is not None:
        return made
    return _made(shape, requires_grad, lambda size: drawn(size, d, place, generator,
                                                          lambda s: draw.randint(s, low, high, size, d.np),
                                                          lambda k: jax.random.randint(k, size, low, high)))


def _randint_arguments(args: tuple, kw: dict) -> tuple[int, int, Any]:
    names = ("low", "high", "size") if len(args) + len(kw) > 2 else ("high", "size")
    given = dict(zip([n for n in names if n not in kw], args, strict=False), **kw)
    if len(args) + len(kw) > len(names):
        raise TypeError(f"randint() takes {len(names)} positional arguments but {len(args) + len(kw)} were given")
    _refuse_others("randint", {k: v for k, v in kw.items() if k not in names})
    low, high = symint_from(given.get("low", 0)), symint_from(given.get("high"))
    if "low" not in given and "high" in given and high is None:
        raise TypeError(f"randint(): argument 'high' (position 1) must be int, not {type_name(given['high'])}")
    if low is None or high is None or not isinstance(given.get("size"), (list, tuple)):
        raise TypeError("randint() received an invalid combination of arguments - got "
                        f"({', '.join(map(type_name, args))}), but expected one of: (int high, tuple of ints size, *, ...)")
    return low, high, given["size"]


@sample_random.refuse_out
def randperm(n: int, *, generator: Generator | None = None, out: Tensor | None = None, dtype: dtypes.dtype | None = None,
             layout: Any = None, device: Any = None, requires_grad: bool = False, pin_memory: bool = False) -> Tensor:
    """Return a random permutation of 0 … n-1. See torch.randperm."""
    size = symint_from(n)
    if size is None:
        raise TypeError(f"randperm(): argument 'n' (position 1) must be int, not {type_name(n)}")
    n, = check.nonnegative([size])
    d, place = dtype or dtypes.int64, place_of(device)
    if out is not None:
        _check_out(out, "aten::randperm", dtype)
        d, place = out.dtype, out.device
    made = _seen("randperm", {"n": n}, generator, dtype, place, requires_grad) if out is None else None
    if made is not None:
        return made
    def one() -> Tensor:
        return _finish(drawn((n,), d, place, generator, lambda s: random_choice.randperm(s, n, d.np),
                             lambda k: jax.random.permutation(k, n)))
    if out is not None:
        return _written(out, value_of(one()))
    return with_grad(sample_random.for_each_sample(one, functions.stack), requires_grad)


def _written(out: Tensor, value: Value) -> Tensor:
    write_resized(out, value, warn=False)
    return out


def normal(mean: Any = 0.0, std: Any = 1.0, size: Any = None, *, generator: Generator | None = None, out: Tensor | None = None,
           dtype: dtypes.dtype | None = None, layout: Any = None, device: Any = None, requires_grad: bool = False,
           pin_memory: bool = False) -> Tensor:
    """Draw normal numbers with given means and standard deviations. See torch.normal."""
    if size is not None:
        mean, std = (_as_number("normal", x) for x in (mean, std))
    if not isinstance(mean, Tensor) and not isinstance(std, Tensor):
        shape = check.nonnegative(int_list_of("normal", "size", 3, size))
        if out is not None:
            _check_out(out, "aten::normal", dtype)
            return _fill(out, shape, lambda t: normal_(t, float(mean), float(std), generator=generator))
        d = dtype or dtypes.get_default_dtype()
        place = place_of(device)
        return _made(shape, requires_grad, lambda size: _normal_value(size, d, place, generator, float(mean), float(std)))
    return _normal_of(mean, std, generator=generator, out=out)


@sample_random.of_parameters
def _normal_of(mean: Any, std: Any, *, generator: Generator | None, out: Tensor | None) -> Tensor:
    """Draw normal numbers if a parameter is a tensor."""
    if out is not None:
        return _normal_into(out, mean, std, generator)
    sources = mean, std
    like = mean if isinstance(mean, Tensor) else std
    m, s = (x._numpy_copy() if isinstance(x, Tensor) else float(x) for x in sources)
    shape = check.broadcast_shapes(np.shape(m), np.shape(s))
    aval = storage.aval_of(like)
    value = drawn(shape, aval.dtype, aval.device, generator, lambda stream: draw.normal_of(stream, m, s),
                   lambda k: jax.random.normal(k, shape, aval.np) * s + m)
    return _with_zero_gradient(sources, _finish(value), f"NormalBackward{isinstance(mean, Tensor) + 2 * isinstance(std, Tensor)}")


def _as_number(name: str, x: Any) -> Any:
    """Return a parameter as a number, also from a 0-dim tensor; raise TypeError for other tensors."""
    if not isinstance(x, Tensor):
        return x
    if x.dim() or x.requires_grad:
        raise TypeError(f"{name}() received an invalid combination of arguments")
    return x.item()


def _normal_into(out: Tensor, mean: Any, std: Any, generator: Generator | None) -> Tensor:
    """Fill ``out`` with normal numbers if a parameter is a tensor: standard numbers are scaled and shifted."""
    _check_out(out, "normal", sources=(mean, std))
    if isinstance(std, Tensor):
        draw.check_stds(std._numpy_copy())
    given = mean, std if isinstance(std, Tensor) else out
    shape = check.broadcast_shapes(*[tuple(storage.aval_of(x).shape) for x in given if isinstance(x, Tensor)])
    warn_of_resizing(out, shape)

    def fill(t: Any) -> Tensor:
        if not isinstance(std, Tensor):
            return normal_(t, 0, std, generator=generator).add_(mean)       # type: ignore[attr-defined]
        return normal_(t, generator=generator).mul_(std).add_(mean)     # type: ignore[attr-defined]
    return _fill(out, shape, fill)


def _normal_value(shape, d, place, given, mean: float, std: float, contiguous: bool = True) -> Value:
    _float_or_complex(d, "normal_kernel_cpu")
    draw.check_std(std)
    return drawn(shape, d, place, given, lambda s: draw.normal(s, shape, d.np, mean, std, contiguous=contiguous),
                  lambda k: jax.random.normal(k, shape, d.np) * np.asarray(std, d.np) + np.asarray(mean, d.np))


def _unfilled(input: Tensor, dtype: Any, device: Any, memory_format: Any) -> Tensor | None:
    """Return an empty tensor with the input's strides, to be filled in memory order; None for a contiguous input."""
    if input._view is None and memory_format is None:
        return None
    c = call_of(OPS["empty_like"], (T, dtypes.as_dtype(dtype, "empty_like")), place_of(device or storage.aval_of(input).device))
    return in_format(call(c, (input,)), memory_format)


@sample_random.like
def rand_like(input: Tensor, *, dtype=None, layout=None, device=None, requires_grad=False, memory_format=None, **kw) -> Tensor:
    """Call torch.rand with the shape, dtype, device and memory format of a tensor."""
    seen = _taken_over("rand_like", self=input, dtype=dtype, device=device, memory_format=memory_format, pin_memory=False)
    if seen is not None:
        return with_grad(seen, requires_grad)
    made = _unfilled(input, dtype, device, memory_format)
    if made is not None:
        return with_grad(uniform_(made, **kw), requires_grad)
    own = storage.aval_of(input)
    return rand(own.shape, dtype=dtype or own.dtype, device=device or own.device, requires_grad=requires_grad, **kw)


@sample_random.like
def randn_like(input: Tensor, *, dtype=None, layout=None, device=None, requires_grad=False, memory_format=None, **kw) -> Tensor:
    """Call torch.randn with the shape, dtype, device and memory format of a tensor."""
    seen = _taken_over("randn_like", self=input, dtype=dtype, device=device, memory_format=memory_format, pin_memory=False)
    if seen is not None:
        return with_grad(seen, requires_grad)
    made = _unfilled(input, dtype, device, memory_format)
    if made is not None:
        return with_grad(normal_(made, **kw), requires_grad)
    own = storage.aval_of(input)
    return randn(own.shape, dtype=dtype or own.dtype, device=device or own.device, requires_grad=requires_grad, **kw)


@sample_random.like
def randint_like(input: Tensor, *args: int, dtype=None, layout=None, device=None, requires_grad=False, memory_format=None,
                 generator: Generator | None = None, pin_memory: bool = False, **kw) -> Tensor:
    """Call torch.randint with the shape, dtype, device and memory format of a tensor."""
    low, high = _limits(args, kw)
    made = _unfilled(input, dtype, device, memory_format)
    if made is not None:
        return with_grad(random_(made, low, high, generator=generator), requires_grad)
    own = storage.aval_of(input)
    return randint(low, high, tuple(own.shape), dtype=dtype or own.dtype, device=device or own.device,
                   requires_grad=requires_grad, generator=generator)


def _limits(args: tuple, kw: dict[str, Any]) -> tuple[Any, Any]:
    """Return the limits from the arguments of ``randint_like``. Raise TypeError if they do not fit."""
    names = ("low", "high") if len(args) + len(kw) > 1 else ("high",)
    given = dict(zip([n for n in names if n not in kw], args, strict=False), **kw)
    if given.keys() != set(names) or len(args) + len(kw) != len(names):
        kinds = ", ".join(["Tensor", *[type(a).__name__ for a in args], *[f"{k}={type(v).__name__}" for k, v in kw.items()]])
        raise TypeError(f"randint_like() received an invalid combination of arguments - got ({kinds})")
    return given.get("low", 0), given["high"]


@sample_random.of_parameters
def bernoulli(input: Tensor, p: float | None = None, *, generator: Generator | None = None, out: Tensor | None = None) -> Tensor:
    """Draw zeros and ones; ``input`` (or ``p``) is the probability of 1. See torch.bernoulli."""
    shape, d = _form_of(input)
    if out is not None:
        _check_out(out, "bernoulli", sources=(input,))
        return _fill(out, shape, lambda t: bernoulli_(t, input, generator=generator))
    if p is not None:
        value = drawn(shape, d, storage.aval_of(input).device, generator, lambda s: draw.bernoulli(s, shape, d.np, float(p)),
                       lambda k: jax.random.bernoulli(k, p, shape))
        return _without_derivative("bernoulli", (input,), _finish(value))
    seen = _taken_over("bernoulli.default", self=input, generator=generator)
    if seen is not None:
        return seen if seen.requires_grad else _with_zero_gradient((input,), seen, "BernoulliBackward0")
    value = drawn(shape, d, storage.aval_of(input).device, generator, lambda s: draw.bernoulli_of(s, input._numpy_copy()),
                   lambda k: jax.random.bernoulli(k, input.jax()))
    return _with_zero_gradient((input,), _finish(value), "BernoulliBackward0")


def _tracked(sources: tuple) -> list[Tensor]:
    """Return the tensors among the arguments if the result belongs to the graph, else an empty list."""
    given = [t for t in sources if isinstance(t, Tensor)]
    return given if mode.grad and not mode.inference and any([_requires_grad(t) for t in given]) else []


def _with_node(made: Tensor, node: Any) -> Tensor:
    start_history(made, node)
    return made


def _with_zero_gradient(sources: tuple, made: Tensor, name: str) -> Tensor:
    """Give a drawn tensor PyTorch's node, whose gradient is 0."""
    if tangents.opened:
        forward.drawn(made, sources)
    tracked = _tracked(sources)
    return _with_node(made, zero_node(name, tracked)) if tracked else made


def _without_derivative(name: str, sources: tuple, made: Tensor) -> Tensor:
    """Give a drawn tensor a node whose backward raises, since the derivative is not implemented."""
    forward.refuse(f"aten::{name}", sources)
    edges = tuple([edge_of(t) if _requires_grad(t) else None for t in _tracked(sources)])
    return _with_node(made, tape.NotImplementedNode(name, edges)) if edges else made


def multinomial(input: Tensor, num_samples: int, replacement: bool = False, *, generator: Generator | None = None,
                out: Tensor | None = None) -> Tensor:
    """Draw indices with the probabilities in each row. See torch.multinomial."""
    if out is not None and out.dtype is not dtypes.int64:
        raise RuntimeError(f"multinomial expects Long tensor out, got: {out.dtype.scalar_name}")
    seen = _taken_over("multinomial", self=input, num_samples=num_samples, replacement=replacement or None,
                       generator=generator) if out is None else None
    if seen is not None:
        return seen
    check.require(0 < input.dim() <= 2, "prob_dist must be 1 or 2 dim")
    return _multinomial_of_rows(input, num_samples, replacement, generator=generator, out=out)


@sample_random.of_parameters
def _multinomial_of_rows(input: Tensor, num_samples: int, replacement: bool, *, generator: Generator | None,
                         out: Tensor | None) -> Tensor:
    """Draw indices with the probabilities along the last dim of a tensor of any number of dims."""
    if input.dim() > 2:
        rows: Any = input.reshape(-1, input.shape[-1])      # type: ignore[attr-defined]
        made: Any = _multinomial_of_rows(rows, num_samples, replacement, generator=generator, out=out)
        return made.reshape((*input.shape[:-1], num_samples))
    p = input._numpy_copy()
    shape = (*p.shape[:-1], num_samples)
    value = drawn(shape, dtypes.int64, input.device, generator,
                   lambda s: random_choice.multinomial(s, p, num_samples, replacement, preserved(*geometry_of(input)[:2])),
                   lambda k: _multinomial_on_device(k, p, num_samples, replacement))
    return _finish(value) if out is None else _written(out, value)


def _multinomial_on_device(key, p: np.ndarray, n: int, replacement: bool):
    rows = p.reshape(-1, p.shape[-1])
    drawn = [jax.random.choice(k, rows.shape[-1], (n,), replacement, row / row.sum())
             for k, row in zip(jax.random.split(key, len(rows)), rows, strict=True)]
    return jax.numpy.stack(drawn).reshape(*p.shape[:-1], n)


def _check_tensors(name: str, **given: Any) -> None:
    for i, (word, x) in enumerate(given.items(), 1):
        if not isinstance(x, Tensor):
            raise TypeError(f"{name}(): argument '{word}' (position {i}) must be Tensor, not {type(x).__name__}")


@sample_random.of_parameters
def poisson(input: Tensor, generator: Generator | None = None) -> Tensor:
    """Draw Poisson numbers with the rates in ``input``. See torch.poisson."""
    _check_tensors("poisson", input=input)
    shape, d = _form_of(input)
    value = drawn(shape, d, storage.aval_of(input).device, generator, lambda s: random_rejection.poisson(s, input._numpy_copy()),
                   lambda k: jax.random.poisson(k, input.jax()))
    return _with_zero_gradient((input,), _finish(value), "PoissonBackward0")


@sample_random.of_parameters
def binomial(count: Tensor, prob: Tensor, generator: Generator | None = None) -> Tensor:
    """Draw the number of successes in ``count`` trials with probability ``prob``. See torch.binomial."""
    _check_tensors("binomial", count=count, prob=prob)
    shape, d = check.broadcast_shapes(tuple(count.shape), tuple(prob.shape)), count.dtype
    stride = contiguous_strides(shape)
    if shape != tuple(count.shape):
        stride = iterated(shape, [geometry_of(t)[:2] for t in (count, prob)])

    def host(stream):
        n, p = (draw.in_memory_order(np.broadcast_to(t._numpy_copy(), shape), stride) for t in (count, prob))
        return draw.place(random_rejection.binomial(stream, n, p), shape, stride)
    value = drawn(shape, d, count.device, generator, host, lambda k: jax.random.binomial(k, count.jax(), prob.jax(), shape))
    made = _finish(value)
    storage.lay_out(made, stride)
    return _without_derivative("binomial", (count, prob), made)


@sample_random.of_parameters
def _standard_gamma(input: Tensor, generator: Generator | None = None) -> Tensor:
    """Draw gamma numbers of scale 1 with the concentrations in ``input``, differentiably.

    See torch.distributions.Gamma.
    """
    _check_tensors("_standard_gamma", input=input)
    return _drawn_with("_gamma_drawn", input, drawn(
        *_form_of(input), storage.aval_of(input).device, generator,
        lambda s: random_rejection.standard_gamma(s, input._numpy_copy()), lambda k: jax.random.gamma(k, input.jax())))


@sample_random.of_parameters
def _sample_dirichlet(input: Tensor, generator: Generator | None = None) -> Tensor:
    """Draw vectors with sum 1 from Dirichlet distributions along the last dim, differentiably.

    See torch.distributions.Dirichlet.
    """
    _check_tensors("_sample_dirichlet", input=input)
    return _drawn_with("_dirichlet_drawn", input, drawn(
        *_form_of(input), storage.aval_of(input).device, generator,
        lambda s: random_rejection.dirichlet(s, input._numpy_copy()), lambda k: jax.random.dirichlet(k, input.jax())))


def _drawn_with(name: str, source: Tensor, value: Value) -> Tensor:
    forward.refuse({"_gamma_drawn": "aten::_standard_gamma", "_dirichlet_drawn": "aten::_sample_dirichlet"}[name], (source,))
    made = _finish(value)
    return call(call_of(OPS[name], (T, T)), (source, made)) if mode.grad and _requires_grad(source) else made


# ---------------------------------------------------------------- filling tensors

def _form_of(t: Tensor) -> tuple[tuple[int, ...], dtypes.dtype]:
    aval = storage.aval_of(t)
    return tuple(aval.shape), aval.dtype


def fill_with(t: Tensor, given: Generator | None, host: Callable, accelerator: Callable, name: str,
              seen: tuple[str, dict[str, Any]] | None = None) -> Tensor:
    """Write random numbers into a tensor in its memory order, as PyTorch does. ``name`` is its new node's name.

    ``seen`` is the operator and its arguments, for modes and classes with ``__torch_dispatch__``.
    """
    if (late_bindings.aten is not None and seen is not None
            and _taken_over(seen[0], self=t, generator=given, **seen[1]) is not None):
        return t
    tracked = mode.grad and _requires_grad(t)
    check_inplace(t, tracked, once=False)
    size, stride, _ = geometry_of(t)
    check_writable(t)

    def in_place(stream):
        flat = host(stream)
        return flat if class_of(t).is_contiguous(t) else draw.place(flat.reshape(-1), size, stride)
    value = drawn(tuple(size), storage.aval_of(t).dtype, storage.aval_of(t).device, given, in_place, accelerator)
    write_with_history(t, value, zero_node(name, [t]) if tracked else None)
    if tangents.opened:
        forward.drawn(t, (t,))
    return t


@sample_random.filling
def normal_(self: Tensor, mean: float = 0, std: float = 1, *, generator: Generator | None = None) -> Tensor:
    """Fill with normal numbers. See torch.Tensor.normal_."""
    mean, std = number_of(mean, "normal_", "mean", 1), number_of(std, "normal_", "std", 2)
    draw.check_std(std)
    size, d = _form_of(self)
    if 0 not in size:
        _float_or_complex(d, "normal_kernel_cpu")
    in_order = class_of(self).is_contiguous(self)
    return fill_with(self, generator, lambda s: draw.normal(s, size, d.np, mean, std, contiguous=in_order),
                     lambda k: jax.random.normal(k, size, d.np) * np.asarray(std, d.np) + np.asarray(mean, d.np),
                     "NormalBackward0", ("normal_", _other_than({"mean": mean, "std": std}, (0, 1))))


@sample_random.filling
def uniform_(self: Tensor, from_: float = 0, to: float = 1, *, generator: Generator | None = None, **kw: float) -> Tensor:
    """Fill with uniform numbers from [from, to). See torch.Tensor.uniform_."""
    low, to = number_of(kw.get("from", from_), "uniform_", "from", 1), number_of(to, "uniform_", "to", 2)
    size, d = _form_of(self)
    _float_or_complex(d, "check_uniform_bounds")
    return fill_with(self, generator, lambda s: draw.uniform(s, size, d.np, low, to),
                     lambda k: _uniform(k, size, d.np, low, to), "UniformBackward0",
                     ("uniform_", _other_than({"from": low, "to": to}, (0, 1))))


_NOT_GIVEN: Any = object()


@sample_random.filling
def random_(self: Tensor, from_: int | None = None, to: Any = _NOT_GIVEN, *, generator: Generator | None = None,
            **kw: int) -> Tensor:
    """Fill with integers from [from, to), or from the dtype's whole range. See torch.Tensor.random_."""
    low, (size, d) = kw.get("from", from_), _form_of(self)
    overload = 2 if to is _NOT_GIVEN and low is None else 0
    if to is _NOT_GIVEN and low is not None and "from" not in kw:
        low, to, overload = 0, low, 1
    low, to = integer_of(low, "random_"), integer_of(to, "random_")
    to = None if to is _NOT_GIVEN else to       # ``random_(1, None)`` has no upper limit but the dtype's.
    return fill_with(self, generator, lambda s: draw.random(s, size, d.np, low, to),
                     lambda k: jax.random.randint(k, size, low or 0, _end(d) if to is None else to), f"RandomBackward{overload}",
                     _of_random(overload, low, to))


def _of_random(overload: int, low: Any, to: Any) -> tuple[str, dict[str, Any]]:
    """Return the name of the operator for ``random_``, and its arguments."""
    return [("random_.from", {"from": low, "to": to}), ("random_.to", {"to": to}), ("random_", {})][overload]


def _other_than(given: dict[str, Any], defaults: tuple) -> dict[str, Any]:
    """Return the arguments that differ from the defaults, as floats."""
    return {k: float(v) for (k, v), d in zip(given.items(), defaults, strict=True) if v != d}


@sample_random.filling
def bernoulli_(self: Tensor, p: Any = 0.5, *, generator: Generator | None = None) -> Tensor:
    """Fill with zeros and ones. See torch.Tensor.bernoulli_."""
    size, d = _form_of(self)
    if isinstance(p, Tensor):
        check_inplace(self, mode.grad and _requires_grad(self), once=False)
        probabilities = p.detach().expand(size)._numpy_copy()       # type: ignore[attr-defined]
        stride = geometry_of(self)[1]
        return fill_with(self, generator, lambda s: draw.bernoulli_of(s, draw.in_memory_order(probabilities, stride), d.np),
                         lambda k: jax.random.bernoulli(k, probabilities), "BernoulliBackward1",
                         ("bernoulli_.Tensor", {"p": p}))
    return fill_with(self, generator, lambda s: draw.bernoulli(s, size, d.np, p), lambda k: jax.random.bernoulli(k, p, size),
                     "BernoulliBackward2", ("bernoulli_.float", {"p": float(p)}))


def _filler(name: str, defaults: tuple, accelerator: Callable):
    def fill(self: Tensor, *args: float, generator: Generator | None = None, **kw: float) -> Tensor:
        values = [number_of(kw.get(n, args[i] if i < len(args) else d), f"{name}_", n, i + 1)
                  for i, (n, d) in enumerate(defaults)]
        size, d = _form_of(self)
        host = getattr(draw, name)
        return fill_with(self, generator, lambda s: host(s, size, d.np, *values), lambda k: accelerator(k, size, *values),
                         f"{camel_case(name)}Backward0",
                         (f"{name}_", dict(zip([n for n, _ in defaults], values, strict=True))))
    fill.__name__ = fill.__qualname__ = f"{name}_"
    fill.__doc__ = f"Fills with {name.replace('_', '-')} numbers. See torch.Tensor.{name}_."
    return sample_random.filling(fill)


exponential_ = _filler("exponential", (("lambd", 1.0),), lambda k, size, rate: jax.random.exponential(k, size) / rate)
cauchy_ = _filler("cauchy", (("median", 0.0), ("sigma", 1.0)), lambda k, size, m, s: jax.random.cauchy(k, size) * s + m)
log_normal_ = _filler("log_normal", (("mean", 1.0), ("std", 2.0)),
                      lambda k, size, m, s: jax.numpy.exp(jax.random.normal(k, size) * s + m))
geometric_ = _filler("geometric", (("p", None),), lambda k, size, p: jax.random.geometric(k, p, size))


_FUNCTIONS = (manual_seed, seed, initial_seed, get_rng_state, set_rng_state, rand, randn, randint, randperm, normal, rand_like,
             randn_like, randint_like, bernoulli, multinomial, poisson, binomial, _standard_gamma, _sample_dirichlet)
_METHODS = (normal_, uniform_, random_, bernoulli_, exponential_, cauchy_, log_normal_, geometric_, bernoulli, multinomial)


def bind() -> None:
    """Bind the functions and methods of this file to PyTorch's names."""
    put(functions, {**{f.__name__: f for f in _FUNCTIONS}, "Generator": Generator, "default_generator": default_generator})
    put(Tensor, {f.__name__: f for f in _METHODS})

del _Here      # PyTorch's module does not have this name.
