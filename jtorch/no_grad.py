"""Grad modes: whether calls are recorded for backward. Each thread has its own."""
from __future__ import annotations

import functools
import inspect
import threading
from collections.abc import Callable
from typing import Any

from jtorch import speedups
from jtorch._base import late_bindings, warned
from jtorch.device import choose_devices, chosen_devices


class _Mode(threading.local):
    grad = True
    inference = False
    anomaly = False
    anomaly_check_nan = True
    on_node: Callable[..., None] | None = None  # Called with each new node. Set by saved-tensor hooks and forward mode.
    saved_hooks: tuple = ()                         # Pairs (pack, unpack). The innermost pair is the last.
    hooks_refused: str | None = None                # The message of the error that entering saved-tensor hooks raises.
    mutation_allowed = False                        # True if saved tensors may be written to.
    transformed = False                             # True while a transform of torch.func differentiates the calls.
    special = False                                 # True if a mode needs an extra step for new nodes. ``refresh`` sets it.

    def refresh(self) -> None:
        """Recompute ``special``, after one of the modes it depends on changed."""
        self.special = bool(self.anomaly or self.on_node is not None or self.mutation_allowed)


mode = current = _Mode()        # ``current`` is for functions with a parameter called mode.


def _other_modes() -> list[tuple[Callable[[], Any], Callable[[Any], None]]]:
    """Return pairs of functions that get and set the modes of other files."""
    return [(chosen_devices, choose_devices), *late_bindings.modes]


class Modes:
    """The modes of the creating thread, to restore them later or in another thread.

    The nodes of a backward run with the modes of that backward. A mode that a hook or a custom function leaves on ends
    with its node.
    """

    __slots__ = ("grad", "others", "own")

    def __init__(self) -> None:
        self.grad, self.own, self.others = mode.grad, _own_modes(), [get() for get, _ in _other_modes()]

    def restore(self, grad: bool | None = None) -> None:
        """Set the modes of this thread to these; ``grad``, if given, replaces the grad mode."""
        mode.grad = self.grad if grad is None else grad
        if _own_modes() != self.own:
            mode.inference, mode.on_node, mode.saved_hooks, mode.hooks_refused, mode.mutation_allowed = self.own
            mode.refresh()
        for (get, set_to), was in zip(_other_modes(), self.others, strict=True):
            if get() != was:
                set_to(was)


def _own_modes() -> tuple:
    return mode.inference, mode.on_node, mode.saved_hooks, mode.hooks_refused, mode.mutation_allowed


def is_grad_enabled() -> bool:
    """Return whether operations are recorded for backward in this thread. See torch.is_grad_enabled."""
    return mode.grad


def is_inference_mode_enabled() -> bool:
    """Return whether inference mode is on in this thread. See torch.is_inference_mode_enabled."""
    return mode.inference


class _Context:
    """A context manager that is also a decorator of functions, generators and classes."""

    def __call__(self, func):
        if inspect.isclass(func):
            warned.warn("Decorating classes is deprecated and will be disabled in future versions. You should only decorate "
                        "functions or methods. To preserve the current behavior of class decoration, you can directly "
                        "decorate the `__init__` method and nothing else.", FutureWarning)
        if inspect.isgeneratorfunction(func):
            return self._wrap_generator(func)

        @functools.wraps(func)
        def wrapped(*args, **kwargs):
            with self.clone():
                return func(*args, **kwargs)
        return wrapped

    def _wrap_generator(self, func):
        """Wrap a generator function so that its code runs in the mode, and the caller's code between resumptions does not."""
        @functools.wraps(func)
        def wrapped(*args, **kwargs):
            gen = func(*args, **kwargs)
            step, sent = gen.send, None
            while True:
                try:
                    with self.clone():
                        out = step(sent)
                except StopIteration as stop:
                    return stop.value
                try:
                    step, sent = gen.send, (yield out)
                except GeneratorExit:
                    with self.clone():
                        gen.close()
                    raise
                except BaseException as error:
                    step, sent = gen.throw, error
        return wrapped

    def clone(self):
        """Return a new context with the same arguments."""
        return type(self)()


def restore_grad(context: Any, *exc: Any) -> None:
    """Restore the grad mode at the end of a block."""
    mode.grad = context.prev


class no_grad(_Context):
    """Turns gradient recording off: ``with torch.no_grad():`` or ``@torch.no_grad()``. See torch.no_grad.

    Args:
        orig_func: a function to decorate; without it, a context manager.

    Example::

        >>> x = torch.ones(1, requires_grad=True)
        >>> with torch.no_grad():
        ...     (x * 2).requires_grad
        False

    """

    def __new__(cls, orig_func=None) -> Any:
        self = super().__new__(cls)
        if orig_func is None:
            return self
        self.__init__()     # type: ignore[misc]
        return self(orig_func)

    def __init__(self, orig_func=None):
        self.prev = False

    def __enter__(self) -> None:
        self.prev = mode.grad
        mode.grad = False

    __exit__ = restore_grad


class enable_grad(no_grad):
    """Turns gradient recording on, for example within ``no_grad``. See torch.enable_grad.

    Args:
        orig_func: a function to decorate; without it, a context manager.

    Example::

        >>> x = torch.ones(1, requires_grad=True)
        >>> with torch.no_grad(), torch.enable_grad():
        ...     (x * 2).requires_grad
        True

    """

    def __enter__(self) -> None:
        self.prev = mode.grad
        mode.grad = True


class set_grad_enabled(_Context):
    """Turns gradient recording on or off: at once, and until the block's end if used as a context manager.

    See torch.set_grad_enabled.

    Args:
        mode (bool): on or off, in this thread.

    Example::

        >>> x = torch.ones(1, requires_grad=True)
        >>> with torch.set_grad_enabled(False):
        ...     (x * 2).requires_grad
        False

    """

    def __init__(self, mode: bool) -> None:
        self.prev, self.mode = current.grad, mode
        current.grad = mode

    def __str__(self):
        return f"torch.autograd.grad_mode.set_grad_enabled(mode={self.mode})"

    __repr__ = __str__

    def __call__(self, func):
        current.grad = self.prev
        return super().__call__(func)

    def __enter__(self) -> None:
        current.grad = self.mode

    __exit__ = restore_grad

    def clone(self):
        """Return a new context with the same arguments."""
        return type(self)(self.mode)


class inference_mode(_Context):
    """A stronger ``no_grad``: tensors created in the mode can never enter autograd. See torch.inference_mode.

    Args:
        mode (bool, or a function to decorate): False turns the mode off within another block.

    Raises:
        RuntimeError: outside the mode, such a tensor is saved for backward or written to.

    Example::

        >>> with torch.inference_mode():
        ...     made = torch.ones(1)
        >>> made.is_inference()
        True

    """

    def __new__(cls, mode=True):
        if isinstance(mode, bool):
            return super().__new__(cls)
        return cls()(mode)

    def __init__(self, mode: bool = True):
        self.mode, self.prev = mode, (True, False)

    def __enter__(self) -> None:
        self.prev = (current.grad, current.inference)
        current.inference = self.mode
        current.grad = not self.mode

    def __exit__(self, *exc) -> None:
        current.grad, current.inference = self.prev

    def clone(self):
        """Return a new context with the same arguments."""
        return type(self)(self.mode)


_in_c = speedups.connect(globals(), "mode")
# A KeyboardInterrupt on entry to a Python ``__exit__`` could leave the mode unrestored. The C function cannot be interrupted.
if _in_c is not None:
    no_grad.__exit__ = set_grad_enabled.__exit__ = _in_c       # type: ignore[method-assign]
