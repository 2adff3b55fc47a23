"""Modules that take the sizes of their parameters from the first input. See torch.nn.modules.lazy.LazyModuleMixin."""
from __future__ import annotations

from itertools import chain
from typing import Any

from jtorch.nn.parameter import UninitializedBuffer, UninitializedParameter, is_lazy

__all__ = ["LazyModuleMixin"]


class LazyModuleMixin:
    """The base of lazy modules, combined with the module they become: ``class LazyLinear(LazyModuleMixin, Linear)``.

    The parameters are ``UninitializedParameter`` until the first call, which passes its arguments to
    ``initialize_parameters``. Then the module becomes an ordinary ``cls_to_become``. State dicts can be saved and
    loaded before and after.

    >>> layer = nn.LazyLinear(2)
    >>> layer.weight
    <UninitializedParameter>
    >>> layer(torch.ones(4, 3)).shape, layer
    (torch.Size([4, 2]), Linear(in_features=3, out_features=2, bias=True))
    """

    cls_to_become: Any = None
    _parameters: dict
    _buffers: dict

    def __init__(self: Any, *args: Any, **kwargs: Any):
        super().__init__(*args, **kwargs)
        # Checkpoints of whole modules contain these attribute names.
        self._initialize_hook = self.register_forward_pre_hook(self._infer_parameters, with_kwargs=True)
        self._load_hook = self._register_load_state_dict_pre_hook(self._lazy_load_hook)

    def _members(self) -> chain:
        return chain(self._parameters.items(), self._buffers.items())

    def _wait_for(self: Any, *parameters: str, buffers: tuple[str, ...] = (), **factory: Any) -> None:
        """Register uninitialized parameters and buffers."""
        for name in parameters:
            self.register_parameter(name, UninitializedParameter(**factory))
        for name in buffers:
            self.register_buffer(name, UninitializedBuffer(**factory))

    def _materialize(self: Any, **shapes: tuple[int, ...]) -> None:
        """Give parameters and buffers their shapes; skip those that are None."""
        for name, shape in shapes.items():
            waiting = getattr(self, name)
            if waiting is not None:
                waiting.materialize(shape)

    def _save_to_state_dict(self: Any, destination: dict, prefix: str, keep_vars: bool) -> None:
        super()._save_to_state_dict(destination, prefix, True)      # type: ignore[misc]
        for name, value in self._members():
            key = prefix + name
            if not keep_vars and key in destination and not is_lazy(value):
                destination[key] = value.detach()

    def _lazy_load_hook(self, state_dict: dict, prefix: str, *args: Any) -> None:
        """Give uninitialized parameters and buffers the shapes of the state dict that is loaded."""
        for name, value in self._members():
            given = state_dict.get(prefix + name)
            if is_lazy(value) and given is not None and not is_lazy(given):
                value.materialize(given.shape)

    def initialize_parameters(self, *args: Any, **kwargs: Any) -> None:
        """Give the parameters their shapes, from the arguments of the first call. Subclasses define this method."""
        raise NotImplementedError(f"initialize_parameters is not implemented for {type(self).__name__}")

    def has_uninitialized_params(self) -> bool:
        """Return whether a parameter or buffer has no shape yet."""
        return any([is_lazy(value) for _, value in self._members()])

    def _infer_parameters(self: Any, module: Any, args: tuple, kwargs: dict | None = None) -> None:
        """Initialize the parameters in the first call, remove the hooks and change the module's class."""
        module.initialize_parameters(*args, **(kwargs or {}))
        if module.has_uninitialized_params():
            raise RuntimeError(f"module {self._get_name()} has not been fully initialized")
        for name in ("_initialize_hook", "_load_hook"):
            module.__dict__.pop(name).remove()
        if module.cls_to_become is not None:
            module.__class__ = module.cls_to_become

    def _replicate_for_data_parallel(self) -> None:
        raise RuntimeError("Modules with uninitialized parameters can't be used with `DataParallel`. Run a dummy forward pass to "
                           "correctly initialize the modules")
