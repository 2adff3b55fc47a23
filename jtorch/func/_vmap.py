"""vmap makes a function of one sample a function of a batch. See torch.func.vmap.

If no gradient of the result is needed, one call of the function covers all samples. Its tensors stand for all samples
(``engine/batched.py``), or hold tracers of ``jax.vmap`` for code that only JAX can map (``Tensor.jax``, a custom
function). Otherwise the function is called for each sample, and the results are stacked. This also happens to code that
only JAX can map, if each sample draws its own random numbers or an argument is a collection of tensors.
"""
from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any

import jax

from jtorch import random
from jtorch._api import functions
from jtorch._api.creation import from_jax
from jtorch._base.pytree import flatten, spread, unflatten
from jtorch._nodes.tangents import is_dual
from jtorch.autograd._calls import stack
from jtorch.dispatch import sample_random
from jtorch.dispatch.samples import sample_of, whole_of
from jtorch.engine import batched
from jtorch.engine.batched import DEPENDS_ON_DATA, NeedsTracers
from jtorch.func._levels import tracking
from jtorch.storage import restore
from jtorch.tensor import Tensor


def _name(func: Any) -> str:
    if isinstance(func, functools.partial):
        return f"functools.partial({_name(func.func)}, ...)"
    return getattr(func, "__name__", None) or repr(func)


def _is_part_of_more(t: Tensor) -> bool:
    """Return whether a surrounding graph or forward-mode level needs derivatives of a tensor."""
    return (tracking() and t.requires_grad) or is_dual(t)


def _is_collection(x: Any) -> bool:
    """Return whether an object holds tensors that share leading dims, and adds and removes a batch dim itself."""
    return not isinstance(x, Tensor) and hasattr(type(x), "_add_batch_dim") and hasattr(type(x), "_maybe_remove_batch_dim")


def _tensors_of(x: Any) -> list:
    return [x] if isinstance(x, Tensor) else flatten(x)[0] if _is_collection(x) else []


def _at(x: Any, dim: int, index: Any) -> Any:
    return x[(slice(None),) * dim + (index,)]


class _Batch:
    """The arguments of one call, and the dim along which each is mapped."""

    def __init__(self, func: Callable, in_dims: Any, args: tuple):
        self.where = f"vmap({_name(func)}, in_dims={in_dims}, ...)(<inputs>)"
        if not isinstance(in_dims, (int, tuple)):
            raise ValueError(f"{self.where}: expected `in_dims` to be int or a (potentially nested) tuple matching the structure "
                             f"of inputs, got: {type(in_dims)}.")
        if not args:
            raise ValueError(f"vmap({_name(func)})(<inputs>): got no inputs. Maybe you forgot to add inputs, or you are trying "
                             "to vmap over a function with no inputs. The latter is unsupported.")
        self.leaves, self.form = flatten(args, _is_collection)
        dims = spread(in_dims, self.form)
        if dims is None:
            raise ValueError(f"{self.where}: in_dims is not compatible with the structure of `inputs`. in_dims has structure "
                             f"{flatten(in_dims)[1]} but inputs has structure {self.form}.")
        self.dims = [self._checked(d, x) for d, x in zip(dims, self.leaves, strict=True)]
        self.size = self._size()

    def _checked(self, dim: Any, x: Any) -> int | None:
        if dim is None:
            return None
        if not isinstance(dim, int):
            raise ValueError(f"{self.where}: Got in_dim={dim} for an input but in_dim must be either an integer dimension or "
                             "None.")
        if not isinstance(x, Tensor) and not _is_collection(x):
            raise ValueError(f"{self.where}: Got in_dim={dim} for an input but the input is of type {type(x)}. We cannot vmap "
                             "over non-Tensor arguments, please use None as the respective in_dim")
        n = x.dim()
        if not -n <= dim < n:
            raise ValueError(f"{self.where}: Got in_dim={dim} for some input, but that input is a Tensor of dimensionality {n} "
                             f"so expected in_dim to satisfy -{n} <= in_dim < {n}.")
        return dim % n

    def _size(self) -> int:
        sizes = [x.shape[d] for d, x in zip(self.dims, self.leaves, strict=True) if d is not None]
        if not sizes:
            raise ValueError("vmap: Expected at least one Tensor to vmap over")
        if len(set(sizes)) > 1:
            raise ValueError("vmap: Expected all tensors to have the same size in the mapped dimension, got sizes "
                             f"{sizes} for the mapped dimension")
        return sizes[0]

    def part(self, index: Any) -> tuple:
        """Return the arguments of one sample (an int) or of several (a slice)."""
        def of(d, x):
            if d is None:
                return x
            if not isinstance(x, Tensor):
                return _at(x, d, index)
            return x.select(d, index) if isinstance(index, int) else x.narrow(d, index.start, index.stop - index.start)
        return unflatten([of(d, x) for d, x in zip(self.dims, self.leaves, strict=True)], self.form)

    def wants_gradient(self) -> bool:
        """Return whether a surrounding graph or forward-mode level needs derivatives of an argument."""
        return any([_is_part_of_more(t) for x in self.leaves for t in _tensors_of(x)])

    def has_collections(self) -> bool:
        """Return whether an argument is a collection of tensors that share the mapped dim."""
        return any([_is_collection(x) for x in self.leaves])


def vmap(func: Callable, in_dims: Any = 0, out_dims: Any = 0, randomness: str = "error", *,
         chunk_size: int | None = None) -> Callable:
    """Return a function of batches, given a function of samples. See torch.func.vmap.

    ``in_dims`` is the mapped dimension of each argument (None for no mapping). ``out_dims`` is the position of the
    batch in the results. ``randomness`` is ``error``, ``same`` (all samples draw the same numbers) or ``different``.
    Inside, control flow that depends on values (``item``, ``if``) raises RuntimeError. Writes to an argument reach the
    caller's tensor, and results may share its memory. A write of values that differ between samples to a tensor that
    the function captures raises RuntimeError.

    Args:
        func: a function of Tensors, or of nested tuples, lists and dicts of them.
        in_dims (int, None or nested as the arguments): the mapped dim of each argument.
        out_dims (int or nested as the results): the batch dim of each result.
        randomness (str): "error", "same" or "different".
        chunk_size (int or None): the number of samples computed at a time.

    Returns:
        a function of the arguments with one dim more, which returns the results with one dim more.

    Raises:
        ValueError: when it is called, where dims do not fit the arguments, sizes of mapped dims differ, or nothing
            is mapped.
        RuntimeError: where random numbers are drawn with ``randomness="error"``, or control flow depends on a
            value.

    Example::

        >>> torch.func.vmap(torch.dot)(torch.ones(3, 2), torch.ones(3, 2))
        tensor([2., 2., 2.])

    """
    if randomness not in ("error", "different", "same"):
        raise RuntimeError(f"Only allowed values for randomness are 'error', 'different', or 'same'. Got {randomness}")
    if chunk_size is not None and chunk_size <= 0:
        raise ValueError(f"vmap: chunk_size should be None or greater than 0. (got {chunk_size})")

    @functools.wraps(func)
    def wrapper(*args: Any, **kwargs: Any) -> Any:
        _check_out_dims(out_dims, func)
        batch = _Batch(func, in_dims, args)
        if chunk_size is not None and chunk_size < batch.size:
            return _in_chunks(functools.partial(func, **kwargs), batch, out_dims, randomness, chunk_size, in_dims)
        if not batch.size or not batch.wants_gradient():
            found = _of_all_samples(func, batch, kwargs, out_dims, randomness)
            if found is not None:
                return found
        return _one_by_one(func, batch, kwargs, out_dims, randomness)
    return wrapper


# ---------------------------------------------------------------- results

def _check_out_dims(out_dims: Any, func: Callable) -> None:
    """Raise ValueError if ``out_dims`` contains something else than integers and None."""
    if not all([d is None or isinstance(d, int) for d in flatten(out_dims)[0]]):
        raise ValueError(f"vmap({_name(func)}, ..., out_dims={out_dims}): `out_dims` must be an int, None or a python collection "
                         "of ints representing where in the outputs the vmapped dimension should appear.")


def _out_dims(out_dims: Any, leaves: list, form: Any, func: Callable) -> list:
    """Return the dim along which each result has the batch."""
    if isinstance(out_dims, tuple) and len(out_dims) == 1 and len(leaves) == 1 and form.is_leaf():
        out_dims = out_dims[0]
    dims = spread(out_dims, form)
    if dims is None:
        raise ValueError(f"vmap({_name(func)}, ..., out_dims={out_dims})(<inputs>): out_dims is not compatible with the "
                         f"structure of `outputs`. out_dims has structure {flatten(out_dims)[1]} but outputs has structure "
                         f"{form}.")
    for d, x in zip(dims, leaves, strict=True):
        if d is not None and not isinstance(x, Tensor) and not _is_collection(x):
            raise ValueError(f"vmap({_name(func)}, ...): `{_name(func)}` must only return Tensors, got type {type(x)}. Did you "
                             "mean to set out_dims= to None for output?")
    return dims


def _in_chunks(func: Callable, batch: _Batch, out_dims: Any, randomness: str, size: int, in_dims: Any) -> Any:
    start, made = random.get_rng_state(), []
    for at in range(0, batch.size, size):
        if randomness == "same":
            random.set_rng_state(start)
        part = batch.part(slice(at, min(at + size, batch.size)))
        made.append(flatten(vmap(func, in_dims, out_dims, randomness)(*part), _is_collection))
    form = made[0][1]
    dims = _out_dims(out_dims, made[0][0], form, func)
    return unflatten([xs[0] if d is None else functions.cat(list(xs), dim=d)
                      for d, *xs in zip(dims, *[leaves for leaves, _ in made], strict=True)], form)


# ---------------------------------------------------------------- the three ways to run a vmap

def _of_all_samples(func: Callable, batch: _Batch, kwargs: dict, out_dims: Any, randomness: str) -> Any:
    """Return the results of one call of the function; None if it has to be called for each sample."""
    state = random.get_rng_state() if randomness != "error" else None
    level = batched.Level()
    try:
        found = _recorded(func, batch, kwargs, out_dims, randomness, level)
    except NeedsTracers:
        found = NeedsTracers
    if found is None or found is NeedsTracers:      # the function runs again: undo its writes and draws
        restore(level.replaced)
        if state is not None:
            random.set_rng_state(state)
    if found is not NeedsTracers:
        return found
    if randomness == "different" or batch.has_collections():
        return None
    return _traced(func, batch, kwargs, out_dims, randomness)


def _recorded(func: Callable, batch: _Batch, kwargs: dict, out_dims: Any, randomness: str, level: batched.Level) -> Any:
    """Return the results of calls recorded for all samples; None if a captured tensor requires a gradient."""
    with level, sample_random.restricted(randomness, level, batch.size):
        leaves = [x if d is None else _sample(x, d, level) for d, x in zip(batch.dims, batch.leaves, strict=True)]
        found, form = flatten(func(*unflatten(leaves, batch.form), **kwargs), _is_collection)
    dims = _out_dims(out_dims, found, form, func)
    if any([_is_part_of_more(t) for x in found for t in _tensors_of(x)]):
        return None
    return unflatten([_of_all(t, d, level, batch.size, func) for t, d in zip(found, dims, strict=True)], form)


def add_batch_dim(t: Tensor, in_dim: int, level: batched.Level) -> Tensor:
    """Return a batched tensor of the samples along a dim, in the same memory. See torch._C._functorch._add_batch_dim."""
    return sample_of(t, in_dim, level)


def _sample(x: Any, dim: int, level: batched.Level) -> Any:
    return add_batch_dim(x, dim, level) if isinstance(x, Tensor) else x._add_batch_dim(in_dim=dim, vmap_level=level)


def remove_batch_dim(t: Tensor, level: batched.Level, batch_size: int, out_dim: int) -> Tensor:
    """Return the samples of a batched tensor along a dim. See torch._C._functorch._remove_batch_dim."""
    return _of_all(t, out_dim, level, batch_size, "vmap")


def _of_all(t: Any, dim: int | None, level: batched.Level, size: int, func: Any) -> Any:
    """Return a result for all samples, with the batch along ``dim``."""
    if _is_collection(t):
        return t._maybe_remove_batch_dim(_name(func), vmap_level=level, batch_size=size, out_dim=dim)
    found = whole_of(t, level) if isinstance(t, Tensor) else None
    if dim is None:
        if found is not None:
            raise ValueError(f"vmap({_name(func)}, ...): `{_name(func)}` can not return a BatchedTensor when out_dim is None")
        return t
    return _moved(found if found is not None else t.expand(size, *t.shape), dim)


def _traced(func: Callable, batch: _Batch, kwargs: dict, out_dims: Any, randomness: str) -> Any:
    """Return the results of ``jax.vmap``; None if a captured tensor requires a gradient."""
    seen: dict[str, Any] = {}
    places = [i for i, d in enumerate(batch.dims) if d is not None]

    def pure(*arrays):
        leaves = list(batch.leaves)
        for i, a in zip(places, arrays, strict=True):
            leaves[i] = from_jax(a)
        given = [leaves[i] for i in places]
        with sample_random.restricted(randomness):
            out = func(*unflatten(leaves, batch.form), **kwargs)
        found, seen["form"] = flatten(out)
        seen["dims"], seen["given"] = _out_dims(out_dims, found, seen["form"], func), found
        seen["tracked"] = any([isinstance(t, Tensor) and _is_part_of_more(t) for t in found])
        seen["written"] = [i for i, t in zip(places, given, strict=True) if t._version]
        return ([t.detach().jax() for t, d in zip(found, seen["dims"], strict=True) if d is not None],
                [leaves[i].detach().jax() for i in seen["written"]])

    try:
        with jax.enable_x64(True):
            mapping = jax.vmap(pure, tuple([batch.dims[i] for i in places]))
            arrays, written = mapping(*[batch.leaves[i].detach().jax() for i in places])
    except jax.errors.JAXTypeError as e:
        raise RuntimeError(DEPENDS_ON_DATA) from e
    if seen["tracked"]:
        return None
    for i, array in zip(seen["written"], written, strict=True):
        batch.leaves[i].detach().copy_(_moved(from_jax(array), batch.dims[i]))
    left = iter(arrays)
    made = [x if d is None else _moved(from_jax(next(left)), d) for x, d in zip(seen["given"], seen["dims"], strict=True)]
    return unflatten(made, seen["form"])


def _moved(t: Any, dim: int) -> Any:
    return t if dim == 0 else t.movedim(0, dim)


def _one_by_one(func: Callable, batch: _Batch, kwargs: dict, out_dims: Any, randomness: str) -> Any:
    start, made = random.get_rng_state(), []
    for i in range(batch.size):
        if randomness == "same":
            random.set_rng_state(start)
        with sample_random.restricted(randomness):
            made.append(flatten(func(*batch.part(i), **kwargs), _is_collection))
    leaves, form = made[0]
    dims = _out_dims(out_dims, leaves, form, func)
    columns = zip(*[found for found, _ in made], strict=True)
    return unflatten([xs[0] if d is None else _stacked(list(xs), d) for d, xs in zip(dims, columns, strict=True)], form)


def _stacked(samples: list, dim: int) -> Any:
    return functions.stack(samples, dim) if _is_collection(samples[0]) else _moved(stack(samples), dim)
