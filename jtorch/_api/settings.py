"""torch's global settings, functions for symbolic numbers applied to plain numbers, and methods about layout."""
from __future__ import annotations

import builtins
import importlib
import sys
from collections.abc import Callable
from typing import Any

import numpy as np

import jtorch.device as devices
from jtorch._api import functions
from jtorch._api.creation import empty_strided, from_host
from jtorch._api.functional import set_default_dtype, use_deterministic_algorithms
from jtorch._api.names import put
from jtorch._api.sizes import int_list_of
from jtorch._api.typed_tensors import NAMED, MemoryFormat, check_available, tensortype
from jtorch._backward.view_history import requires_grad
from jtorch._base import warned
from jtorch._base.deterministic import Deterministic
from jtorch.tensor import Tensor, class_of

# Determinism and warnings --------------------------------------------------------------------------------------------

_DEBUG_MODES = ("default", "warn", "error")


def is_deterministic_algorithms_warn_only_enabled() -> bool:
    """Return whether deterministic mode was turned on with ``warn_only``."""
    return Deterministic.warn_only


def get_deterministic_debug_mode() -> int:
    """Return the deterministic debug mode: 0 (off), 1 (warn) or 2 (error). See torch.get_deterministic_debug_mode."""
    return 0 if not Deterministic.on else 1 if Deterministic.warn_only else 2


def set_deterministic_debug_mode(debug_mode: int | str) -> None:
    """Set the mode: 0 or "default", 1 or "warn", 2 or "error". See torch.set_deterministic_debug_mode."""
    if not isinstance(debug_mode, (int, str)):
        raise TypeError(f"debug_mode must be str or int, but got {type(debug_mode)}")
    if isinstance(debug_mode, str):
        if debug_mode not in _DEBUG_MODES:
            raise RuntimeError("invalid value of debug_mode, expected one of `default`, `warn`, `error`, but got "
                               f"{debug_mode}")
        debug_mode = _DEBUG_MODES.index(debug_mode)
    if debug_mode not in (0, 1, 2):
        raise RuntimeError(f"invalid value of debug_mode, expected 0, 1, or 2, but got {debug_mode}")
    use_deterministic_algorithms(debug_mode > 0, warn_only=debug_mode == 1)


def set_warn_always(b: bool, /) -> None:
    """Set whether warnings given once in a process are given each time. See torch.set_warn_always."""
    warned.Once.always = bool(b)


def is_warn_always_enabled() -> bool:
    """Return the setting of ``set_warn_always``. See torch.is_warn_always_enabled."""
    return warned.Once.always


def set_flush_denormal(mode: bool) -> bool:
    """Return False, since XLA decides how denormal numbers are treated. See torch.set_flush_denormal."""
    return False


def init_num_threads() -> None:
    """Do nothing, since XLA starts its own threads."""


def compiled_with_cxx11_abi() -> bool:
    """Return True, as PyTorch's own builds do."""
    return True


def set_default_tensor_type(t: Any, /) -> None:
    """Set the default dtype by an old tensor class or its name. See torch.set_default_tensor_type."""
    cls = _class_of(t)
    if cls is None:
        raise TypeError("invalid type object: only floating-point types are supported as the default type")
    check_available(cls)
    if cls.is_sparse:
        raise TypeError("only dense types are supported as the default type")
    warned.warn("torch.set_default_tensor_type() is deprecated as of PyTorch 2.1, please use torch.set_default_dtype() and "
                "torch.set_default_device() as alternatives.")
    set_default_dtype(cls.dtype)
    if cls.is_cuda:
        devices.set_default_device("cuda")


def _class_of(t: Any) -> tensortype | None:
    """Return the tensor class that ``t`` is or names. Raise ModuleNotFoundError if the name's module does not exist."""
    found = NAMED.get(t) if isinstance(t, str) else t
    if isinstance(t, str) and found is None and not t.startswith("torch."):
        importlib.import_module(t.rpartition(".")[0] or t)
    return found if isinstance(found, tensortype) else None


def get_device_module(device: Any = None) -> Any:
    """Return a device type's module, such as ``torch.cuda``. See torch.get_device_module."""
    from jtorch.device import as_device
    kind = "cpu" if device is None else as_device(device).type
    found = sys.modules.get(f"jtorch.{kind}")
    if found is None:
        raise RuntimeError(f"Device '{kind}' does not have a corresponding module registered as 'torch.{kind}'.")
    return found


def typename(obj: Any, /) -> str:
    """Return the name of an object's type; a tensor's name has its dtype. See torch.typename."""
    if isinstance(obj, Tensor):
        return obj.type()       # type: ignore[attr-defined]
    cls = obj if isinstance(obj, type) else type(obj)
    module = "" if cls.__module__ in ("builtins", "__builtin__", None) else f"{cls.__module__}."
    return f"{module}{cls.__qualname__}"


# Numbers that may be symbolic in PyTorch -----------------------------------------------------------------------------

def sym_float(a: Any) -> float:
    """Return ``float(a)``. See torch.sym_float."""
    return float(a)


def sym_int(a: Any) -> int:
    """Return ``int(a)``. See torch.sym_int."""
    return int(a)


def sym_not(a: Any) -> bool:
    """Return ``not a``. See torch.sym_not."""
    return not a


def _of_numbers(name: str):
    def of_numbers(a: Any, b: Any) -> Any:
        kind = float if float in (type(a), type(b)) else int
        return kind(getattr(builtins, name)(a, b))
    of_numbers.__name__ = f"sym_{name}"
    of_numbers.__doc__ = f"``{name}(a, b)``, a float if one of them is. See torch.sym_{name}."
    return of_numbers


sym_max, sym_min = _of_numbers("max"), _of_numbers("min")


def sym_sum(*args: Any) -> Any:
    """Return the sum of numbers, or of a sequence of numbers. See torch.sym_sum."""
    return sum(args[0] if len(args) == 1 and isinstance(args[0], (list, tuple)) else args)


def sym_ite(b: bool, t: Any, f: Any) -> Any:
    """Return ``t if b else f``. See torch.sym_ite."""
    return t if b else f


# Predicates of tensors -----------------------------------------------------------------------------------------------

def is_inference(input: Tensor) -> bool:
    """Return whether the tensor was made in inference mode. See torch.is_inference."""
    return input.is_inference()


def is_conj(input: Tensor) -> bool:
    """Return False, since conjugates are computed at once. See torch.is_conj."""
    return input.is_conj()      # type: ignore[attr-defined]


def is_neg(input: Tensor) -> bool:
    """Return False, since negatives are computed at once."""
    return class_of(input).is_neg(input)     # type: ignore[attr-defined]


def resolve_conj(input: Tensor) -> Tensor:
    """Return the tensor itself. See torch.resolve_conj."""
    return class_of(input).resolve_conj(input)       # type: ignore[attr-defined]


def resolve_neg(input: Tensor) -> Tensor:
    """Return the tensor itself. See torch.resolve_neg."""
    return class_of(input).resolve_neg(input)        # type: ignore[attr-defined]


def empty_permuted(size: Any, physical_layout: Any, *, dtype: Any = None, layout: Any = None, device: Any = None,
                   requires_grad: bool = False, pin_memory: bool = False) -> Tensor:
    """Return a tensor of zeros whose dims have the given order in memory. See torch.empty_permuted."""
    size = int_list_of("empty_permuted", "size", 1, size)
    order = int_list_of("empty_permuted", "physical_layout", 2, physical_layout)
    if len(size) != len(order):
        raise RuntimeError("Number of dimensions in size does not match the length of the physical_layout; i.e. len(size) = "
                           f"{len(size)} is not equal to len(physical_layout) = {len(order)}")
    for i, d in enumerate(order):
        if not 0 <= d < len(size):
            raise RuntimeError(f"Dimension out of range (expected to be between 0 and {len(size) - 1}, but got {d} at index {i})."
                               "  NB: negative dims not currently supported; file an issue if you want it.")
        if d in order[:i]:
            raise RuntimeError("Duplicate dim not allowed")
    stride, step = [0] * len(size), 1
    for d in reversed(order):
        stride[d], step = step, step * max(size[d], 1)
    return empty_strided(size, stride, dtype=dtype, layout=layout, device=device, requires_grad=requires_grad)


# Methods -------------------------------------------------------------------------------------------------------------

def _callable(given: Any) -> Callable:
    if not callable(given):
        raise TypeError(f"'{type(given).__name__}' object is not callable")
    return given        # type: ignore[no-any-return]


def apply_(self: Tensor, callable: Callable) -> Tensor:
    """Replace each element x by ``callable(x)`` on the host. See torch.Tensor.apply_."""
    return _mapped(self, "apply_", np.frompyfunc(_callable(callable), 1, 1), self)


def map_(self: Tensor, tensor: Tensor, callable: Callable) -> Tensor:
    """Replace each element by ``callable`` of it and the other tensor's element. See torch.Tensor.map_."""
    if tensor.dtype is not self.dtype:
        raise TypeError(f"map_: expected {self.type()} for 'other' (got {tensor.type()})")      # type: ignore[attr-defined]
    function = np.frompyfunc(_callable(callable), 2, 1)
    return _mapped(self, "map_", function, self, tensor.expand(self.shape))        # type: ignore[attr-defined]


def map2_(self: Tensor, x: Tensor, y: Tensor, callable: Callable) -> Tensor:
    """Replace each element by ``callable`` of it and two other tensors' elements. See torch.Tensor.map2_."""
    for name, t in (("x", x), ("y", y)):
        if t.dtype is not self.dtype:
            raise TypeError(f"map2_: expected {self.type()} for argument '{name}' (got {t.type()})")        # type: ignore[attr-defined]
    function = np.frompyfunc(_callable(callable), 3, 1)
    return _mapped(self, "map2_", function, self, x.expand(self.shape), y.expand(self.shape))       # type: ignore[attr-defined]


def _mapped(self: Tensor, name: str, function: Callable, *tensors: Tensor) -> Tensor:
    if any(requires_grad(t) for t in tensors):
        raise RuntimeError(f"Can't call {name}() on Variable that requires grad. Use var.detach().{name}() instead.")
    made = function(*(np.asarray(t.tolist(), object).reshape(t.shape) for t in tensors))
    odd = next((v for v in np.asarray(made, object).flat if isinstance(v, str)), None)
    if odd is not None:
        raise TypeError("'str' object cannot be interpreted as an integer" if not self.dtype.is_floating_point
                        else "must be real number, not str")
    self.data.copy_(from_host(np.asarray(made).astype(self.dtype.np)))     # type: ignore[attr-defined]  # counts no version
    return self


def dim_order(self: Tensor, *, ambiguity_check: Any = False) -> tuple[int, ...]:
    """Return the dims in the order of decreasing strides. See torch.Tensor.dim_order.

    With ``ambiguity_check`` raise RuntimeError if several orders fit. With a list of memory formats raise unless one fits.
    """
    if not isinstance(ambiguity_check, bool) and not (
            isinstance(ambiguity_check, list) and all(f.__class__ is MemoryFormat for f in ambiguity_check)):
        raise TypeError("The ambiguity_check argument must be a bool or a list of memory formats.")
    stride, shape = self.stride(), self.shape
    found = tuple(sorted(range(self.dim()), key=lambda d: (-stride[d], d)))
    if ambiguity_check is True:
        ambiguous = len(set(stride)) < len(stride) or 1 in shape
    else:
        fitting = [f for f in ambiguity_check or () if self.is_contiguous(memory_format=f)]     # type: ignore[attr-defined]
        ambiguous = bool(ambiguity_check) and len(fitting) != 1
    if ambiguous:
        raise RuntimeError("The tensor does not have unique dim order, or cannot map to exact one of the given memory formats.")
    return found


def _whole(name: str):
    def ask(self: Tensor) -> int:
        return self.dim() if name == "dense_dim" else 0
    ask.__name__, ask.__doc__ = name, f"Of a dense tensor {'all dims' if name == 'dense_dim' else '0'}. See torch.Tensor.{name}."
    return ask


def to_dense(self: Tensor, dtype: Any = None, *, masked_grad: bool | None = None) -> Tensor:
    """Return the tensor itself, since it is dense. See torch.Tensor.to_dense."""
    return self if dtype is None else self.to(dtype)        # type: ignore[attr-defined]


NAMES = ("is_deterministic_algorithms_warn_only_enabled get_deterministic_debug_mode set_deterministic_debug_mode "
         "set_warn_always is_warn_always_enabled set_flush_denormal init_num_threads compiled_with_cxx11_abi "
         "set_default_tensor_type get_device_module typename sym_float sym_int sym_not sym_max sym_min sym_sum sym_ite "
         "is_inference is_conj is_neg resolve_conj resolve_neg empty_permuted").split()


def bind() -> None:
    """Add the names of this module to the package and to Tensor."""
    put(functions, {n: globals()[n] for n in NAMES})
    put(Tensor, {"apply_": apply_, "map_": map_, "map2_": map2_, "dim_order": dim_order,
                 "to_dense": to_dense, "dense_dim": _whole("dense_dim"),
                 "sparse_dim": _whole("sparse_dim"), "const_data_ptr": Tensor.data_ptr})
    for name in ("is_xla", "is_ipu"):
        no = property(lambda self: False, doc=f"False: no such device is known. See torch.Tensor.{name}.")
        put(Tensor, {name: no})
