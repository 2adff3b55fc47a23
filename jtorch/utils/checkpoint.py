"""torch.utils.checkpoint: recompute values in backward instead of saving them.

Without ``use_reentrant`` the function runs as usual, but a hook replaces each saved value by a number. The first access in a
backward runs the function again and keeps the values that are saved this time. With ``use_reentrant`` the function is one
node, whose backward runs the function and a nested backward.

In a program that the engine compiles as a whole, XLA allocates the memory, so checkpoints save less of it than in PyTorch.
"""
from __future__ import annotations

import contextlib
from collections.abc import Callable, Iterator
from typing import Any

from jtorch import cuda, tape
from jtorch._base import warned
from jtorch._base.pytree import flatten
from jtorch.amp import autocast_mode as amp
from jtorch.autograd import backward as run_backward
from jtorch.autograd import saved as _saved
from jtorch.autograd.function import Function
from jtorch.autograd.graph import saved_tensors_hooks
from jtorch.device import accelerator_type, device
from jtorch.no_grad import enable_grad, mode, no_grad
from jtorch.tensor import Tensor
from jtorch.utils import _surroundings
from jtorch.utils._selective import (
    CheckpointPolicy as CheckpointPolicy,
)
from jtorch.utils._selective import (
    SelectiveCheckpointContext as SelectiveCheckpointContext,
)
from jtorch.utils._selective import (
    _policy_from_bool as _policy_from_bool,
)
from jtorch.utils._selective import (
    create_selective_checkpoint_contexts as create_selective_checkpoint_contexts,
)


class CheckpointError(RuntimeError):
    """Raised if the recomputation saves other values than the first run. See torch.utils.checkpoint.CheckpointError.

    Example::

        >>> issubclass(torch.utils.checkpoint.CheckpointError, RuntimeError)
        True

    """


class _StopRecomputationError(Exception):
    """Raised to stop the recomputation once all needed values are known."""


class _Defaults:
    early_stop: bool | None = None
    debug: bool | None = None


_defaults = _Defaults()


@contextlib.contextmanager
def _set(name: str, value: bool | None) -> Iterator[None]:
    before = getattr(_defaults, name)
    setattr(_defaults, name, value)
    try:
        yield
    finally:
        setattr(_defaults, name, before)


def set_checkpoint_early_stop(enable: bool) -> Any:
    """Set whether the recomputation stops once it has the needed values, for checkpoints made in this context.

    Args:
        enable (bool): whether it stops.

    Returns:
        a context manager.

    Example::

        >>> with torch.utils.checkpoint.set_checkpoint_early_stop(False):
        ...     pass

    """
    return _set("early_stop", enable)


def set_checkpoint_debug_enabled(enabled: bool | None) -> Any:
    """Accept a debug setting, which does not change jtorch's messages.

    Args:
        enabled (bool or None): accepted.

    Returns:
        a context manager.

    Example::

        >>> with torch.utils.checkpoint.set_checkpoint_debug_enabled(True):
        ...     pass

    """
    return _set("debug", enabled)


def noop_context_fn() -> tuple[Any, Any]:
    """Return two context managers that do nothing.

    Returns:
        two context managers.

    Example::

        >>> forward, recompute = torch.utils.checkpoint.noop_context_fn()
        >>> with forward, recompute:
        ...     pass

    """
    return contextlib.nullcontext(), contextlib.nullcontext()


def get_device_states(*args: Any) -> tuple[list[int], list[Tensor]]:
    """Return the indices of the accelerators that tensors are on, and the states of their generators. See
    torch.utils.checkpoint.
    """
    indices = [a.get_device() for a in args if isinstance(a, Tensor) and a.device.type not in ("cpu", "meta")]
    return indices, [cuda.get_rng_state(index) for index in indices]


def set_device_states(devices: Any, states: Any, *, device_type: str | None = None) -> None:
    """Set the states of the accelerators' generators. See torch.utils.checkpoint."""
    for index, state in zip(devices, states, strict=False):
        cuda.set_rng_state(state, index)


def _devices(args: Any) -> set[device]:
    return {a.device for a in args if isinstance(a, Tensor)}


# ---------------------------------------------------------------- reentrant checkpoints

def check_backward_validity(inputs: Any) -> None:
    """Warn if no input requires a gradient.

    Args:
        inputs (iterable): arguments of a checkpoint.

    Example::

        >>> torch.utils.checkpoint.check_backward_validity([torch.ones(1, requires_grad=True)])

    """
    if not any([t.requires_grad for t in inputs if isinstance(t, Tensor)]):
        warned.warn("None of the inputs have requires_grad=True. Gradients will be None")


def detach_variable(inputs: Any) -> tuple:
    """Return the inputs without history.

    Args:
        inputs (tuple): Tensors and others.

    Returns:
        a tuple: leaves that require grad as their Tensors do, and others as they are.

    Raises:
        RuntimeError: no tuple.

    Example::

        >>> x = torch.ones(1, requires_grad=True)
        >>> made, = torch.utils.checkpoint.detach_variable((x * 2,))
        >>> made.is_leaf, made.requires_grad
        (True, True)

    """
    if not isinstance(inputs, tuple):
        raise RuntimeError(f"Only tuple of tensors is supported. Got Unsupported input type: {type(inputs).__name__}")
    return tuple([t.detach().requires_grad_(t.requires_grad) if isinstance(t, Tensor) else t for t in inputs])


class CheckpointFunction(Function):
    """The autograd function of a checkpoint with ``use_reentrant=True``."""

    @staticmethod
    def forward(ctx, run_function, preserve_rng_state, *args):
        """Run the function without recording a graph."""
        check_backward_validity(args)
        ctx.run_function, ctx.surroundings = run_function, _surroundings.Surroundings(preserve_rng_state, _devices(args))
        ctx.inputs = [None if isinstance(a, Tensor) else a for a in args]
        ctx.places = [i for i, a in enumerate(args) if isinstance(a, Tensor)]
        ctx.save_for_backward(*[args[i] for i in ctx.places])
        with no_grad():
            return run_function(*args)

    @staticmethod
    def backward(ctx, *args):
        """Run the function again, and the backward of its results."""
        if tape.running.task is not None and tape.running.task.wanted is not None:
            raise RuntimeError("When use_reentrant=True, torch.utils.checkpoint is incompatible with .grad() or passing an "
                               "`inputs` parameter to .backward(). To resolve this error, you can either set "
                               "use_reentrant=False, or call .backward() without passing the `inputs` argument.")
        inputs = list(ctx.inputs)
        for i, t in zip(ctx.places, ctx.saved_tensors, strict=True):
            inputs[i] = t
        detached = detach_variable(tuple(inputs))
        with ctx.surroundings.again(), enable_grad():
            outputs = ctx.run_function(*detached)
        outputs = (outputs,) if isinstance(outputs, Tensor) else outputs
        pairs = [(o, g) for o, g in zip(outputs, args, strict=True) if isinstance(o, Tensor) and o.requires_grad]
        if not pairs:
            raise RuntimeError("none of output has requires_grad=True, this checkpoint() is not necessary")
        with enable_grad():
            run_backward([o for o, _ in pairs], [g for _, g in pairs])
        return (None, None, *[t.grad if isinstance(t, Tensor) else None for t in detached])


# ---------------------------------------------------------------- recomputation of saved values

def _metadata(t: Tensor) -> dict[str, Any]:
    return {"shape": t.shape, "dtype": t.dtype, "device": t.device}


class _CheckpointFrame:
    """One call of a checkpointed function: the arguments and state for its recomputation, and the metadata of its saved
    values.
    """

    def __init__(self, function: Callable, args: tuple, kwargs: dict, surroundings: _surroundings.Surroundings, context: Any,
                 early_stop: bool, check: bool):
        self.function, self.kwargs, self.surroundings = function, kwargs, surroundings
        self.args = [_saved.Saved(a, None) if isinstance(a, Tensor) else a for a in args]
        self.context, self.early_stop, self.check = context, early_stop, check
        self.saved: list[dict] = []
        self.completed = False      # True once the first run is complete. The first run may itself call backward.
        self.recomputed: dict[int, dict[int, Tensor]] = {}      # Maps a backward's id to its recomputed values.

    def pack(self, t: Tensor) -> int:
        """Record a value that the first run saves, and return its number."""
        self.saved.append(_metadata(t))
        return len(self.saved) - 1

    def unpack(self, number: int) -> Tensor:
        """Return the recomputed value of a number, in a backward."""
        task = tape.running.task
        key = -1 if task is None else task.id
        if key not in self.recomputed:
            for old in [k for k in self.recomputed if k != key]:    # An earlier backward has left these values unused.
                del self.recomputed[old]
            self.recomputed[key] = self._run_again()
        values = self.recomputed[key]
        found = values.pop(number, None)
        if found is None:
            raise CheckpointError("torch.utils.checkpoint: Unpack is being triggered for a tensor that was already unpacked "
                                  "once. If you are calling ctx.saved_tensors in backward, make sure to do so only once. "
                                  "Otherwise please open an issue with details on your use case.")
        if not values:
            del self.recomputed[key]
        return found

    def _run_again(self) -> dict[int, Tensor]:
        made: list[Tensor] = []

        def keep(t: Tensor) -> Tensor:
            kept = t.detach()
            if len(made) < len(self.saved):
                made.append(kept)
            elif self.completed:
                raise CheckpointError("torch.utils.checkpoint: trying to save more tensors during recomputation than during "
                                      "the original forward pass.\n")
            else:
                self.check = False      # The first run is not complete, and will save these values too.
            if self.early_stop and len(made) == len(self.saved):
                raise _StopRecomputationError
            return kept

        args = [a.unpack(None) if a.__class__ is _saved.Saved else a for a in self.args]   # type: ignore[arg-type]
        hooks = saved_tensors_hooks(keep, lambda kept: kept)
        with self.surroundings.again(), self.context, enable_grad(), hooks, contextlib.suppress(_StopRecomputationError):
            self.function(*args, **self.kwargs)
        if self.check:
            self._compare(made)
        return dict(enumerate(made))

    def _compare(self, made: list[Tensor]) -> None:
        if len(made) != len(self.saved):
            raise CheckpointError("torch.utils.checkpoint: A different number of tensors was saved during the original forward "
                                  f"and recomputation.\nNumber of tensors saved during forward: {len(self.saved)}\nNumber of "
                                  f"tensors saved during recomputation: {len(made)}.")
        wrong = "".join([f"tensor at position {i}:\nsaved metadata: {old}\nrecomputed metadata: {_metadata(t)}\n"
                         for i, (old, t) in enumerate(zip(self.saved, made, strict=True)) if old != _metadata(t)])
        if wrong:
            raise CheckpointError("torch.utils.checkpoint: Recomputed values for the following tensors have different metadata "
                                  f"than during the forward pass.\n{wrong}.")


# ---------------------------------------------------------------- public functions

_IMPLICIT = ("the use_reentrant parameter should be passed explicitly. {when} use_reentrant=False is recommended, but if you "
             "need to preserve the current default behavior, you can pass use_reentrant=True. Refer to docs for more details on "
             "the differences between the two variants.")


def _reentrant(given: bool | None, name: str, when: str) -> bool:
    if given is None:
        warned.warn(f"{name}: {_IMPLICIT.format(when=when)}")
    return given is None or given


def checkpoint(function: Callable, *args: Any, use_reentrant: bool | None = None, context_fn: Callable = noop_context_fn,
               determinism_check: str = "default", debug: bool = False, early_stop: bool = True, **kwargs: Any) -> Any:
    """Call ``function(*args, **kwargs)``, and recompute its saved values in backward. See torch.utils.checkpoint.checkpoint.

    The recomputation uses the same random numbers (unless ``preserve_rng_state=False``) and autocast settings as the first
    run. ``use_reentrant=False`` supports ``grad``, keyword arguments, nested results, and gradients of captured parameters
    only.

    Args:
        function: any function; the backward calls it again with the same arguments.
        *args: its arguments.
        **kwargs: its keyword arguments; ``preserve_rng_state=False`` among them is the checkpoint's.
        use_reentrant (bool or None): which of PyTorch's two implementations; None warns.
        context_fn: a function without arguments that returns the context managers of the two runs.
        determinism_check (str): "default" compares the metadata of the saved values of both runs, "none" does not.
        debug (bool): accepted.
        early_stop (bool): whether the recomputation stops once it has the needed values.

    Returns:
        what ``function`` returns.

    Raises:
        ValueError: keyword arguments, ``context_fn`` or ``debug`` with ``use_reentrant=True``.
        CheckpointError: in the backward, if the recomputation saves other values.

    Source: Chen et al. 2016, arXiv:1604.06174.

    Example::

        >>> x = torch.ones(2, requires_grad=True)
        >>> torch.utils.checkpoint.checkpoint(torch.sin, x, use_reentrant=False).sum().backward()
        >>> x.grad
        tensor([0.5403, 0.5403])

    """
    reentrant = _reentrant(use_reentrant, "torch.utils.checkpoint", "Starting in PyTorch 2.9, calling checkpoint without "
                           "use_reentrant will raise an exception.")
    preserve = kwargs.pop("preserve_rng_state", True)
    if kwargs and reentrant:
        raise ValueError("Unexpected keyword arguments: " + ",".join(kwargs))
    if reentrant:
        if context_fn is not noop_context_fn or debug:
            raise ValueError("Passing `context_fn` or `debug` is only supported when use_reentrant=False.")
        return CheckpointFunction.apply(function, preserve, *args)
    if determinism_check not in ("default", "none"):
        raise ValueError(f"determinism_check should be one of ['default', 'none'], but got {determinism_check}")
    first, second = context_fn()
    surroundings = _surroundings.Surroundings(preserve, _devices(args))
    if not mode.grad:
        with first:
            return function(*args, **kwargs)
    early_stop = early_stop if _defaults.early_stop is None else _defaults.early_stop
    frame = _CheckpointFrame(function, args, kwargs, surroundings, second, early_stop, determinism_check == "default")
    with saved_tensors_hooks(frame.pack, frame.unpack), first:
        result = function(*args, **kwargs)
    frame.completed = True
    return result


def checkpoint_sequential(functions: Any, segments: int, input: Any, use_reentrant: bool | None = None, **kwargs: Any) -> Any:
    """Call functions (or the children of a Sequential) in turn, in segments of which all but the last are checkpoints.

    See torch.utils.checkpoint.checkpoint_sequential.

    Args:
        functions (Sequential, or list of functions): called in turn.
        segments (int): the number of segments.
        input (Tensor): the input of the first function.
        use_reentrant (bool or None): as in ``checkpoint``.
        kwargs: ``preserve_rng_state``.

    Returns:
        what the last function returns.

    Raises:
        ValueError: unknown keyword arguments.

    Example::

        >>> model = torch.nn.Sequential(torch.nn.ReLU(), torch.nn.Tanh())
        >>> x = torch.zeros(2, requires_grad=True)
        >>> torch.utils.checkpoint.checkpoint_sequential(model, 2, x, use_reentrant=False).sum().backward()
        >>> x.grad
        tensor([0., 0.])

    """
    reentrant = _reentrant(use_reentrant, "torch.utils.checkpoint.checkpoint_sequential", "In version 2.9 we will raise an "
                           "exception if use_reentrant is not passed.")
    preserve = kwargs.pop("preserve_rng_state", True)
    if kwargs:
        raise ValueError("Unexpected keyword arguments: " + ",".join(kwargs))
    functions = list(functions.children()) if hasattr(functions, "children") else list(functions)
    size = len(functions) // segments
    for start in range(0, size * (segments - 1), size):
        input = checkpoint(_in_a_row(functions[start:start + size]), input, use_reentrant=reentrant, preserve_rng_state=preserve)
    return _in_a_row(functions[size * (segments - 1):])(input)


def _in_a_row(functions: list) -> Callable:
    def run(input):
        for f in functions:
            input = f(input)
        return input
    return run


def _infer_device_type(*args: Any) -> str:
    """Return the type of the accelerator that tensors are on; the available accelerator's, if they are on none."""
    kinds = [t.device.type for t in flatten(args)[0] if isinstance(t, Tensor) and t.device.type != "cpu"]
    if not kinds:
        return accelerator_type() or "cpu"
    return "cuda" if "cuda" in kinds else kinds[0]


def _get_autocast_kwargs(device_type: str = "cuda") -> tuple[dict[str, Any] | None, dict[str, Any]]:
    """Return the autocast settings of a type of device, or None if it has no autocast, and those of the CPU."""
    kinds = [device_type if amp.is_autocast_available(device_type) else None, "cpu"]
    first, second = (None if kind is None else {"enabled": amp.is_autocast_enabled(kind),
                                                "dtype": amp.get_autocast_dtype(kind),
                                                "cache_enabled": amp.is_autocast_cache_enabled()} for kind in kinds)
    return first, second or {}


__all__ = ["CheckpointError", "CheckpointFunction", "CheckpointPolicy", "check_backward_validity", "checkpoint",
           "checkpoint_sequential", "create_selective_checkpoint_contexts", "detach_variable", "noop_context_fn",
           "set_checkpoint_debug_enabled", "set_checkpoint_early_stop"]

del _Defaults      # PyTorch's module does not have this name.
