"""torch.nn.utils.parametrize: parameters that are computed from others on each read.

``register_parametrization(m, "weight", P)`` makes ``m.weight`` a property that calls ``P`` on
``m.parametrizations.weight.original``. This original tensor is trained, saved and loaded. An assignment to ``m.weight``
calls ``P.right_inverse``.

    >>> class Symmetric(torch.nn.Module):
    ...     def forward(self, x):
    ...         return x.triu() + x.triu(1).transpose(-1, -2)
    >>> m = register_parametrization(torch.nn.Linear(2, 2), "weight", Symmetric())
    >>> torch.equal(m.weight, m.weight.T)
    True
"""
from __future__ import annotations

import copy
import copyreg
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import Any

from jtorch.nn.modules.container import ModuleDict, ModuleList
from jtorch.nn.modules.module import Module
from jtorch.no_grad import no_grad
from jtorch.tensor import Parameter, Tensor

_cache_enabled = 0      # the number of open ``cached`` blocks
_cache: dict[tuple[int, str], Tensor] = {}


@contextmanager
def cached() -> Iterator[None]:
    """Compute each parametrized tensor only once within the block. See torch.nn.utils.parametrize.cached."""
    global _cache_enabled, _cache
    _cache_enabled += 1
    try:
        yield
    finally:
        _cache_enabled -= 1
        if not _cache_enabled:
            _cache = {}


def _register(module: Module, name: str, tensor: Tensor) -> None:
    if isinstance(tensor, Parameter):
        module.register_parameter(name, tensor)
    else:
        module.register_buffer(name, tensor)


def _kind(x: Any) -> str:
    return type(x).__name__


_WANTED = "'right_inverse' must return a Tensor or a Sequence of tensors (list, tuple...). "


class ParametrizationList(ModuleList):
    """The parametrizations of one tensor, and their inputs ``original``, or ``original0``, ``original1``, …

    A call computes the tensor. Raises ValueError, unless ``unsafe``, if the result has another dtype or shape than the
    original tensor. See torch.nn.utils.parametrize.ParametrizationList.
    """

    original: Tensor

    def __init__(self, modules: Sequence[Module], original: Tensor, unsafe: bool = False):
        if not modules:
            raise ValueError("ParametrizationList requires one or more modules.")
        super().__init__(modules)
        self.unsafe = unsafe
        dtype, shape = original.dtype, original.shape
        start = self._start_of(original)
        if not isinstance(start, (Tensor, Sequence)):
            raise ValueError(f"{_WANTED}Got {_kind(start)}")
        self.is_tensor = isinstance(start, Tensor)
        self.ntensors = 1 if isinstance(start, Tensor) else len(start)
        if isinstance(start, Tensor):
            self._keep_one(original, start)
        else:
            self._keep_several(original, start)
        if not unsafe:
            self._check(self(), dtype, shape)

    def _start_of(self, original: Tensor) -> Any:
        start: Any = original
        with no_grad():
            for module in reversed(list(self)):
                if hasattr(module, "right_inverse"):
                    try:
                        start = module.right_inverse(start)
                    except NotImplementedError:     # The parametrization supports reading but not assignment.
                        pass
        return start

    def _keep_one(self, original: Any, start: Tensor) -> None:
        for what in ("dtype", "device"):
            if getattr(original, what) != getattr(start, what):
                raise ValueError(f"When `right_inverse` outputs one tensor, it may not change the {what}.\noriginal.{what}: "
                                 f"{getattr(original, what)}\nright_inverse(original).{what}: {getattr(start, what)}")
        with no_grad():
            original.set_(start)
        _register(self, "original", original)

    def _keep_several(self, original: Tensor, start: Sequence) -> None:
        for i, tensor in enumerate(start):
            if not isinstance(tensor, Tensor):
                raise ValueError(f"{_WANTED}Got element {i} of the sequence with type {_kind(tensor)}.")
            if isinstance(original, Parameter):
                tensor = Parameter(tensor, original.requires_grad)
            _register(self, f"original{i}", tensor.requires_grad_(original.requires_grad))

    def _check(self, made: Any, dtype: Any, shape: Any) -> None:
        if not isinstance(made, Tensor):
            raise ValueError(f"A parametrization must return a tensor. Got {_kind(made)}.")
        for what, wanted in (("dtype", dtype), ("shape", shape)):
            if getattr(made, what) != wanted:
                raise ValueError(f"Registering a parametrization may not change the {what} of the tensor, unless `unsafe` flag "
                                 f"is enabled.\nunparametrized {what}: {wanted}\nparametrized {what}: {getattr(made, what)}")

    def right_inverse(self, value: Any) -> None:
        """Set the original tensors so that the parametrized tensor becomes ``value``."""
        with no_grad():
            for module in reversed(list(self)):
                if not hasattr(module, "right_inverse"):
                    raise RuntimeError(f"parametrization {_kind(module)} does not implement right_inverse.")
                value = module.right_inverse(value)
            if self.is_tensor:
                self._set_one(value)
            else:
                self._set_several(value)

    def _set_one(self, value: Any) -> None:
        if not isinstance(value, Tensor):
            raise ValueError(f"`right_inverse` should return a tensor. Got {_kind(value)}")
        if value.dtype != self.original.dtype:
            raise ValueError(f"The tensor returned by `right_inverse` has dtype {value.dtype} while `original` has dtype "
                             f"{self.original.dtype}")
        self.original.set_(value)       # type: ignore[attr-defined]

    def _set_several(self, values: Any) -> None:
        if not isinstance(values, Sequence):
            raise ValueError(f"'right_inverse' must return a sequence of tensors. Got {_kind(values)}.")
        if len(values) != self.ntensors:
            raise ValueError(f"'right_inverse' must return a sequence of tensors of length {self.ntensors}. Got a sequence of "
                             f"length {len(values)}.")
        for i, value in enumerate(values):
            own = getattr(self, f"original{i}")
            if not isinstance(value, Tensor):
                raise ValueError("'right_inverse' must return a sequence of tensors or reference-type opaques. Got element "
                                 f"{i} of type {_kind(value)}.")
            if own.dtype != value.dtype:
                raise ValueError(f"Tensor {i} returned by `right_inverse` has dtype {value.dtype} while `original{i}` has dtype "
                                 f"{own.dtype}")
            own.set_(value)

    def originals(self) -> list[Any]:
        """Return the original tensors."""
        return [self.original] if self.is_tensor else [getattr(self, f"original{i}") for i in range(self.ntensors)]

    def forward(self) -> Any:
        """Compute the parametrized tensor."""
        first, *others = list(self)
        x = first(*self.originals())
        for module in others:
            x = module(x)
        return x


# ---------------------------------------------------------------- the class of a parametrized module

def _deepcopy(self: Any, memo: dict) -> Any:
    found = memo.get(id(self))
    if found is not None:
        return found
    twin = memo[id(self)] = self.__new__(self.__class__)
    twin.__dict__ = copy.deepcopy(self.__dict__, memo)
    for slot in copyreg._slotnames(type(self)):     # type: ignore[attr-defined]
        if hasattr(self, slot):
            setattr(twin, slot, copy.deepcopy(getattr(self, slot), memo))
    return twin


def _getstate(self: Any) -> None:
    raise RuntimeError("Serialization of parametrized modules is only supported through state_dict(). See:\n"
                       "https://pytorch.org/tutorials/beginner/saving_loading_models.html#saving-loading-a-general-checkpoint-"
                       "for-inference-and-or-resuming-training")


def _give_class(module: Module) -> None:
    """Give a module its own class, so that properties can be added to it."""
    cls = type(module)
    extra: dict[str, Any] = {"__getstate__": _getstate}
    if not hasattr(cls, "__deepcopy__"):
        extra["__deepcopy__"] = _deepcopy
    module.__class__ = type(f"Parametrized{cls.__name__}", (cls,), extra)       # type: ignore[assignment]


def _property(name: str) -> property:
    def read(self):
        if not _cache_enabled:
            return self.parametrizations[name]()
        key = (id(self), name)
        if key not in _cache:
            _cache[key] = self.parametrizations[name]()
        return _cache[key]

    return property(read, lambda self, value: self.parametrizations[name].right_inverse(value))


# ---------------------------------------------------------------- public functions

def register_parametrization(module: Module, tensor_name: str, parametrization: Module, *, unsafe: bool = False) -> Module:
    """Compute a parameter or buffer by a module; further parametrizations apply to the previous result.

    Raises ValueError, unless ``unsafe``, if the result has another dtype or shape. See
    torch.nn.utils.parametrize.register_parametrization.
    """
    parametrization.train(module.training)
    held: Any = module
    if is_parametrized(module, tensor_name):
        if not unsafe:
            _check_further(held, tensor_name, parametrization)
        held.parametrizations[tensor_name].append(parametrization)
        held.parametrizations[tensor_name].unsafe |= unsafe
    elif tensor_name in module._buffers or tensor_name in module._parameters:
        made = ParametrizationList([parametrization], getattr(module, tensor_name), unsafe)
        delattr(module, tensor_name)
        if not is_parametrized(module):
            _give_class(module)
            held.parametrizations = ModuleDict()
        setattr(type(module), tensor_name, _property(tensor_name))
        held.parametrizations[tensor_name] = made
    else:
        raise ValueError(f"Module '{module}' does not have a parameter, a buffer, or a parametrized element with name "
                         f"'{tensor_name}'")
    return module


def _check_further(module: Any, name: str, parametrization: Any) -> None:
    """Raise ValueError if a further parametrization changes the dtype or shape."""
    before = getattr(module, name)
    after = parametrization(before)
    if not isinstance(after, Tensor):
        raise ValueError(f"A parametrization must return a tensor. Got {_kind(after)}.")
    for what in ("dtype", "shape"):
        if getattr(after, what) != getattr(before, what):
            raise ValueError(f"Registering a parametrization may not change the {what} of the tensor, unless the `unsafe` flag "
                             f"is enabled.\nmodule.{name}.{what}: {getattr(before, what)}\n"
                             f"parametrization(module.{name}).{what}: {getattr(after, what)}")
    if not hasattr(parametrization, "right_inverse"):
        return
    try:
        back = parametrization.right_inverse(after)
    except NotImplementedError:
        return
    if not isinstance(back, Tensor):
        raise ValueError(f"parametrization.right_inverse must return a tensor. Got: {_kind(back)}")
    for what in ("dtype", "shape"):
        if getattr(back, what) != getattr(before, what):
            raise ValueError(f"The tensor returned by parametrization.right_inverse must have the same {what} as module.{name}, "
                             f"unless the `unsafe` flag is enabled.\nmodule.{name}.{what}: {getattr(before, what)}\n"
                             f"returned {what}: {getattr(back, what)}")


def is_parametrized(module: Module, tensor_name: str | None = None) -> bool:
    """Return whether a module (or one tensor of it) is parametrized."""
    found = getattr(module, "parametrizations", None)
    if not isinstance(found, ModuleDict):
        return False
    return len(found) > 0 if tensor_name is None else tensor_name in found


def remove_parametrizations(module: Module, tensor_name: str, leave_parametrized: bool = True) -> Module:
    """Replace a parametrized tensor by its value, or by the original tensor unless ``leave_parametrized``."""
    if not is_parametrized(module, tensor_name):
        raise ValueError(f"Module {module} does not have a parametrization on {tensor_name}")
    held: Any = module
    made = held.parametrizations[tensor_name]
    if made.is_tensor:
        tensor = made.original
        if leave_parametrized:
            with no_grad():
                tensor.set_(getattr(module, tensor_name))
    elif leave_parametrized:
        value = getattr(module, tensor_name)
        tensor = Parameter(value) if value.requires_grad else value
    else:
        raise ValueError("Cannot leave unparametrized (`leave_parametrized=False`) a tensor that is parametrized in terms of a "
                         "sequence of tensors.")
    delattr(type(module), tensor_name)
    del held.parametrizations[tensor_name]
    _register(module, tensor_name, tensor)
    if not is_parametrized(module):
        del held.parametrizations
        module.__class__ = type(module).__bases__[0]    # type: ignore[assignment]
    return module


def type_before_parametrizations(module: Module) -> type:
    """Return the class that a module had before it was parametrized."""
    return type(module).__bases__[0] if is_parametrized(module) else type(module)


def transfer_parametrizations_and_params(from_module: Module, to_module: Module, tensor_name: str | None = None) -> Module:
    """Copy the parametrizations and original tensors of one module to another."""
    if not is_parametrized(from_module):
        return to_module
    source, target = from_module, to_module     # type: Any, Any
    for name in list(source.parametrizations) if tensor_name is None else [tensor_name]:
        if not hasattr(target, name):
            setattr(target, name, Parameter(getattr(source, name)))
        for parametrization in source.parametrizations[name]:
            register_parametrization(target, name, parametrization)
        made = source.parametrizations[name]
        for i, tensor in enumerate(made.originals()):
            setattr(target.parametrizations[name], "original" if made.is_tensor else f"original{i}", tensor)
    return to_module


__all__ = ["ParametrizationList", "cached", "is_parametrized", "register_parametrization", "remove_parametrizations",
           "transfer_parametrizations_and_params", "type_before_parametrizations"]
