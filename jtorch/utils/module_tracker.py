"""torch.utils.module_tracker: the modules that are running, forward and backward."""
from __future__ import annotations

import logging
import weakref
from typing import Any

from jtorch._base.pytree import flatten
from jtorch.autograd.graph import register_multi_grad_hook
from jtorch.nn.modules.module import Module, register_module_forward_hook, register_module_forward_pre_hook
from jtorch.tape import running
from jtorch.tensor import Tensor

__all__ = ["ModuleTracker"]
_LOG = logging.getLogger("torch.utils.module_tracker")


def _tracked(values: Any) -> list[Tensor]:
    return [t for t in flatten(values)[0] if isinstance(t, Tensor) and t.requires_grad]


class ModuleTracker:
    """Track the modules that are running, forward and backward. See torch.utils.module_tracker.ModuleTracker.

    ``parents`` has the names of the modules that are running, and ``Global``. ``is_bw`` says whether a backward runs.

    Example:
        >>> layer = torch.nn.Linear(2, 2)
        >>> seen = []
        >>> def note(module, args):
        ...     seen.append(sorted(tracker.parents))
        >>> handle = layer.register_forward_pre_hook(note)
        >>> with torch.utils.module_tracker.ModuleTracker() as tracker:
        ...     y = layer(torch.ones(1, 2))
        >>> seen
        [['Global', 'Linear']]

    """

    def __init__(self) -> None:
        self.parents: set[str] = {"Global"}
        self._known: weakref.WeakKeyDictionary[Module, str] = weakref.WeakKeyDictionary()
        self._seen: weakref.WeakSet[Module] = weakref.WeakSet()
        self._hooks: list[Any] = []
        self._has_callback = False

    @property
    def is_bw(self) -> bool:
        """Whether a backward runs."""
        return running.task is not None

    def _name(self, module: Module) -> str:
        """Return a module's name, and name its children after it."""
        if module not in self._known:
            self._known[module] = type(module).__name__
        name = self._known[module]
        if module not in self._seen:
            for child, m in module.named_children():
                self._known[m] = f"{name}.{child}"
                self._name(m)
            self._seen.add(module)
        return name

    def _push(self, name: str, backward: bool) -> Any:
        def push(*args: Any) -> None:
            if backward:
                self._clear_after_backward()
            if name in self.parents:
                _LOG.info("The module hierarchy tracking seems to be broken as this Module was already entered. %s during %s",
                          name, "backward" if backward else "forward")
            self.parents.add(name)
        return push

    def _pop(self, name: str, backward: bool) -> Any:
        def pop(*args: Any) -> None:
            if name not in self.parents:
                _LOG.info("The Module hierarchy tracking is confused as we're exiting a Module that was never entered. %s", name)
            self.parents.discard(name)
        return pop

    def _clear_after_backward(self) -> None:
        if self._has_callback:
            return

        def clear() -> None:
            self.parents = {"Global"}
            self._has_callback = False
        from jtorch.autograd.variable import Variable
        Variable._execution_engine.queue_callback(clear)
        self._has_callback = True

    def _before(self, module: Module, args: Any) -> None:
        name = self._name(module)
        self._push(name, False)()
        tensors = _tracked(args)
        if tensors:
            self._hooks.append(register_multi_grad_hook(tensors, self._pop(name, True)))

    def _after(self, module: Module, args: Any, result: Any) -> None:
        name = self._name(module)
        self._pop(name, False)()
        tensors = _tracked(result)
        if tensors:
            self._hooks.append(register_multi_grad_hook(tensors, self._push(name, True)))

    def __enter__(self) -> ModuleTracker:
        self._handles = [register_module_forward_pre_hook(self._before), register_module_forward_hook(self._after)]
        return self

    def __exit__(self, *error: object) -> None:
        for handle in [*self._handles, *self._hooks]:
            handle.remove()
        self._hooks = []
