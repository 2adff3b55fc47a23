"""torch.library.custom_op: operators made from Python functions."""
from __future__ import annotations

import contextlib
import inspect
import logging
from collections.abc import Callable, Iterable, Iterator
from typing import Any

from jtorch._library import namespaces
from jtorch._library.batching import make_batched
from jtorch._library.dispatch_keys import BACKENDS, ExcludeDispatchKeyGuard, key_of_device
from jtorch._library.formulas import Formula, make_formula
from jtorch._library.infer_schema import infer_schema
from jtorch._library.libraries import Library
from jtorch._library.operators import Operator, tensors_of
from jtorch._library.schema import FunctionSchema, parse_schema
from jtorch._library.tags import Tag, as_tags
from jtorch.amp.autocast_mode import is_autocast_available
from jtorch.autograd.graph import increment_version
from jtorch.device import device as Device
from jtorch.dtype import ALL
from jtorch.tensor import Tensor

_log = logging.getLogger("torch._library.custom_ops")
OPDEFS: dict[str, CustomOpDef] = {}


def keyword_tensors(schema: FunctionSchema) -> bool:
    """Return whether a schema has keyword-only tensors."""
    return any(a.kwarg_only and a.type.base() == "Tensor" for a in schema.arguments)


def is_functional(schema: FunctionSchema) -> bool:
    """Return whether a schema returns new tensors and writes to no argument."""
    return bool(schema.returns) and not any(a.alias_info for a in (*schema.arguments, *schema.returns))


def cast(value: Any, device_type: str, dtype: Any) -> Any:
    """Cast the floating-point tensors of a device type, also in lists, to ``dtype``, except those of float64."""
    if isinstance(value, Tensor):
        fits = value.is_floating_point() and value.device.type == device_type and value.dtype is not ALL["float64"]
        return value.to(dtype) if fits else value       # type: ignore[attr-defined]
    return type(value)([cast(v, device_type, dtype) for v in value]) if isinstance(value, (list, tuple)) else value


def autocast_kernel(op: Operator, device_type: str, dtype: Any) -> Callable:
    """Return a kernel that casts its arguments and calls the operator below autocast."""
    key = f"Autocast{key_of_device(device_type)}"

    def kernel(*args: Any, **kwargs: Any) -> Any:
        if kwargs:
            raise AssertionError(f"Custom ops do not support kwargs yet, got {list(kwargs)}")
        with ExcludeDispatchKeyGuard([key]):
            return op.run(tuple([cast(a, device_type, dtype) for a in args]), {})
    return kernel


def check_autocast(device_type: Any) -> None:
    """Raise ValueError for a device type without autocast."""
    if not isinstance(device_type, str):
        raise ValueError(f"Expected `device_type` of type `str`, got: `{type(device_type)}`")
    if not is_autocast_available(device_type):
        raise ValueError(f"Device type '{device_type}' does not support autocast.")


class CustomOpDef:
    """An operator made by ``custom_op``, with methods to register kernels. See torch._library.custom_ops.CustomOpDef."""

    def __init__(self, namespace: str, name: str, schema: str, fn: Callable, tags: Any = None):
        self._namespace, self._name, self._schema, self._init_fn = namespace, name, schema, fn
        self._tags = as_tags(tags)
        self._backend_fns: dict[str | None, Callable] = {}
        self._disabled_kernel: set = set()
        self._abstract_fn: Callable | None = None
        self._formula = Formula()
        self._lib: Library
        before = OPDEFS.pop(self._qualname, None)
        if before is not None:
            before._lib._destroy()
        self._lib = Library(namespace, "FRAGMENT")
        if keyword_tensors(parse_schema(name + schema)) and Tag.out not in self._tags:
            raise NotImplementedError("custom_op with kwarg-only Tensor args. Please make your tensors not kwarg-only. Got: "
                                      f"{name}{schema}")
        self._lib.define(name + schema, tags=[*self._tags, Tag.pt2_compliant_tag])
        self._opoverload = namespaces.overload_of(self._qualname)
        self._record = self._opoverload._record
        self._set_up(self._record)
        OPDEFS[self._qualname] = self

    def _set_up(self, op: Operator) -> None:
        op.fake = self._fake
        op.formula = make_formula(op, self._opoverload, self._formula)
        if self._opoverload._schema.is_mutable:
            op.writes = self._count_writes

    @property
    def _qualname(self) -> str:
        return f"{self._namespace}::{self._name}"

    def __repr__(self) -> str:
        return f"<CustomOpDef({self._qualname})>"

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        return self._opoverload(*args, **kwargs)

    def _fake(self, *args: Any, **kwargs: Any) -> Any:
        if self._abstract_fn is None:
            if not self._opoverload._schema.returns:
                return None
            raise RuntimeError(f"There was no fake impl registered for {self}. This is necessary for torch.compile/export/fx "
                               f"tracing to work. Please use `{self._init_fn.__name__}.register_fake` to add an fake impl.")
        return self._abstract_fn(*args, **kwargs)

    def _count_writes(self, args: tuple, kwargs: dict) -> None:
        for i, a in enumerate(self._opoverload._schema.arguments):
            if a.alias_info is not None and a.alias_info.is_write:
                value = args[i] if i < len(args) else kwargs.get(a.name)
                increment_version(list(tensors_of([value])))

    # ---------------------------------------------------------------- kernels

    def register_kernel(self, device_types: Any, fn: Callable | None = None, /) -> Callable:
        """Register a kernel for some device types, or for all if None. This may be used as a decorator."""
        def register(fn: Callable) -> Callable:
            types = [device_types] if device_types is None or isinstance(device_types, str) else list(device_types)
            for device_type in types:
                self._register_kernel(device_type, fn)
            return fn
        if device_types is not None and not any(a.type.base() == "Tensor" for a in self._opoverload._schema.arguments):
            self._select_by_device()
        return register if fn is None else register(fn)

    def _register_kernel(self, device_type: str | None, fn: Callable) -> None:
        key = "CompositeExplicitAutograd" if device_type is None else key_of_device(device_type)

        def kernel(*args: Any, **kwargs: Any) -> Any:
            disabled = device_type in self._disabled_kernel
            made = (self._init_fn if disabled else fn)(*args, **kwargs)
            if not self._opoverload._schema._is_view_op() and not self._returns_what_it_writes:
                self._check_new(made, [*args, *kwargs.values()], fn)
            return made
        self._backend_fns[device_type] = kernel
        self._lib.impl(self._name, kernel, key)

    @property
    def _returns_what_it_writes(self) -> bool:
        return bool({Tag.inplace, Tag.out} & set(self._tags))

    def _check_new(self, made: Any, given: list, fn: Callable) -> None:
        seen = {id(t._storage) for t in tensors_of(given)}
        for t in tensors_of(made if isinstance(made, (tuple, list)) else [made]):
            if id(t._storage) in seen:
                raise RuntimeError(
                    f"{self._name} (with implementation in {inspect.getmodule(fn)}): The output of this custom operator (1) "
                    "must not "
                    "also be an input to this custom operator and (2) may not alias any inputs to this custom operator or other "
                    "returns. The most common way to trigger this error is if we have y = custom_op(x) and y and x are the same "
                    "Tensor. Please instead return a clone of the offending output tensor(s) (e.g. return x.clone()) or refactor "
                    "the custom operator to not return y.")
            seen.add(id(t._storage))

    def _select_by_device(self) -> None:
        schema = self._opoverload._schema
        at = next((i for i, a in enumerate(schema.arguments) if a.type.base() == "Device" and a.name == "device"), None)
        if at is None:
            raise ValueError("Functions without tensor inputs are required to have a `device: torch.device` argument")

        def select(args: tuple) -> Callable:
            given = self._record.binder.filled(args, {})[0][at]
            kind = Device(given).type
            if kind not in self._backend_fns:
                raise RuntimeError(f"{self._name} does not have a kernel registered for {kind}. Please use register_kernel to do "
                                   "so.")
            return self._record.kernels[BACKENDS[kind]]
        self._record.select = select

    @contextlib.contextmanager
    def set_kernel_enabled(self, device_type: str, enabled: bool = True) -> Iterator[None]:
        """Enable or disable a device's kernel in the block. The operator's original function replaces a disabled kernel."""
        if device_type not in self._backend_fns:
            _log.warning("Attempted to %s kernel for %s but no kernel was registered for this device type.",
                         "enable" if enabled else "disable", device_type)
        before = set(self._disabled_kernel)
        if (device_type in before) is not enabled:
            _log.warning("Attempted to %s but it was already %s.", *((f"enable kernel for  {device_type}", "enabled") if enabled
                                                                     else (f"disable kernel for {device_type}", "disabled")))
        (self._disabled_kernel.discard if enabled else self._disabled_kernel.add)(device_type)
        try:
            yield
        finally:
            self._disabled_kernel = before

    # ---------------------------------------------------------------- further registrations

    def register_fake(self, fn: Callable, /) -> Callable:
        """Register a function for tensors of the meta device, which computes only shapes and dtypes."""
        self._abstract_fn = fn
        return fn

    def register_autograd(self, backward: Callable, /, *, setup_context: Callable | None = None) -> None:
        """Register a backward, and a function that saves values for it. See torch.library.register_autograd."""
        schema = self._opoverload._schema
        if not is_functional(schema) and not schema._is_view_op():
            raise RuntimeError(f"Cannot register autograd formula for non-functional operator {self} with schema {schema}. "
                               "Please "
                               "create a functional operator and register an autograd formula for that.")
        self._formula.backward, self._formula.setup_context = backward, setup_context

    def register_vmap(self, func: Callable | None = None) -> Any:
        """Register a rule for torch.vmap: ``func(info, in_dims, *args)`` returns (results, out_dims)."""
        def register(func: Callable) -> None:
            self._record.vmap = make_batched(self._record, func)
        return register if func is None else register(func)

    def register_autocast(self, device_type: str, cast_inputs: Any) -> Callable:
        """Register the dtype that autocast casts floating-point inputs to."""
        check_autocast(device_type)
        kernel = autocast_kernel(self._record, device_type, cast_inputs)
        self._lib.impl(self._name, kernel, f"Autocast{key_of_device(device_type)}")
        return kernel

    def register_effect(self, effect: Any) -> None:
        """Do nothing, since calls run in program order."""

    def register_torch_dispatch(self, torch_dispatch_class: Any, fn: Callable | None = None, /) -> Callable:
        """Register a class's or mode's ``__torch_dispatch__`` rule for the operator."""
        def register(fn: Callable) -> Callable:
            self._record.rules[torch_dispatch_class] = fn
            return fn
        return register if fn is None else register(fn)


def custom_op(name: str, fn: Callable | None = None, /, *, mutates_args: str | Iterable[str], device_types: Any = None,
              schema: str | None = None, tags: Any = None) -> Any:
    """Make an operator from a function. See torch.library.custom_op."""
    def make(fn: Callable) -> CustomOpDef:
        text = infer_schema(fn, mutates_args=mutates_args, tags=tags) if schema is None else schema
        namespace, opname = name.split("::")
        made = CustomOpDef(namespace, opname, text, fn, tags)
        if schema is not None:
            written = {a.name for a in made._opoverload._schema.arguments if a.alias_info is not None and a.alias_info.is_write}
            if written != set(mutates_args):
                raise ValueError(f"Attempted to create a custom op with `mutates_args={mutates_args}` and `schema={schema}. The "
                                 f"schema suggests that the op mutates {written or '{}'}which is different from what was "
                                 "provided to "
                                 "us in `mutates_args`. Please make these consistent.")
        made.register_kernel(device_types)(fn)
        return made
    return make if fn is None else make(fn)
