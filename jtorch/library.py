"""torch.library: operators that users register. See torch.library."""
from __future__ import annotations

import functools
import re
from collections.abc import Callable, Sequence
from typing import Any

from jtorch._base import warned
from jtorch._library import formulas
from jtorch._library.batching import make_batched
from jtorch._library.custom_ops import (
    OPDEFS,
    CustomOpDef,
    autocast_kernel,
    check_autocast,
    custom_op,
    is_functional,
    keyword_tensors,
)
from jtorch._library.dispatch_keys import DispatchKey, key_of_device
from jtorch._library.formulas import make_formula
from jtorch._library.infer_schema import infer_schema
from jtorch._library.libraries import Library, library_for, split_name
from jtorch._library.libraries import scoped_library as _scoped_library  # noqa: F401 (PyTorch's name)
from jtorch._library.namespaces import OpOverload, overload_of
from jtorch._library.opcheck import opcheck
from jtorch._library.operators import fallthrough_kernel

__all__ = ["Library", "custom_op", "define", "fallthrough_kernel", "get_ctx", "get_kernel", "impl", "impl_abstract",
           "infer_schema", "opcheck", "register_autocast", "register_autograd", "register_fake", "register_kernel",
           "register_torch_dispatch", "register_vmap", "triton_op", "wrap_triton"]
_NAMELESS = re.compile(r"\(.*\) -> .*")


# ---------------------------------------------------------------- defining, and giving kernels

@functools.singledispatch
def define(qualname: Any, schema: str, *, lib: Library | None = None, tags: Any = ()) -> Any:
    """Define an operator by name and schema. See torch.library.define."""
    if not isinstance(qualname, str):
        raise ValueError(f"define(qualname, schema): expected qualname to be instance of str, got {type(qualname)}")
    namespace, name = split_name(qualname)
    used = library_for(namespace, lib)
    if not _NAMELESS.fullmatch(schema):
        raise ValueError('define(qualname, schema, ...): expected schema to look like e.g. "(Tensor x) -> Tensor" but got '
                         f'"{schema}"')
    used.define(name + schema, tags=tags)


@define.register
def _define_in(lib: Library, schema: str, alias_analysis: str = "") -> Callable:
    def wrap(f: Callable) -> Callable:
        lib.impl(lib.define(schema, alias_analysis), f)
        return f
    return wrap


@functools.singledispatch
def impl(qualname: Any, types: str | Sequence[str], func: Callable | None = None, *, lib: Library | None = None) -> Any:
    """Register an operator's kernel for some device types. See torch.library.impl."""
    keys = {_key(t) for t in ([types] if isinstance(types, str) else types)}

    def register(func: Callable) -> None:
        used = library_for(split_name(qualname)[0], lib)
        for key in sorted(keys):
            used.impl(qualname, func, key)
    return register if func is None else register(func)


@impl.register
def _impl_in(lib: Library, name: str, dispatch_key: str = "") -> Callable:
    def wrap(f: Callable) -> Callable:
        lib.impl(name, f, dispatch_key)
        return f
    return wrap


def _key(kind: str) -> str:
    if kind in DispatchKey.__members__:
        return kind
    return "CompositeExplicitAutograd" if kind == "default" else key_of_device(kind)


# ---------------------------------------------------------------- registering for an existing operator

def _resolved(op: Any, function: str) -> Any:
    """Return the operator's CustomOpDef, or its name if it has none."""
    if not isinstance(op, (str, OpOverload, CustomOpDef)):
        raise ValueError(f"{function}({op}): got unexpected type for op: {type(op)}")
    if isinstance(op, CustomOpDef):
        return op
    name = op.name() if isinstance(op, OpOverload) else op
    return OPDEFS.get(name, name)


def register_kernel(op: Any, device_types: Any, func: Callable | None = None, /, *, lib: Library | None = None) -> Any:
    """Register an operator's kernel for some device types; None means all. See torch.library.register_kernel."""
    op = _resolved(op, "register_kernel")
    if isinstance(op, CustomOpDef):
        return op.register_kernel(device_types, func)
    return impl(op, "CompositeExplicitAutograd" if device_types is None else device_types, func, lib=lib)


def register_fake(op: Any, func: Callable | None = None, /, *, lib: Library | None = None, _stacklevel: int = 1,
                  allow_override: bool = True) -> Any:
    """Register a function that gives an operator's result shapes and dtypes. See torch.library.register_fake."""
    op = _resolved(op, "register_fake")

    def register(func: Callable) -> Callable:
        if isinstance(op, CustomOpDef):
            return op.register_fake(func)
        namespace, name = split_name(op)
        library_for(namespace, lib)._register_fake(name, func, allow_override=allow_override)
        return func
    return register if func is None else register(func)


def impl_abstract(qualname: Any, func: Callable | None = None, *, lib: Library | None = None, _stacklevel: int = 1) -> Any:
    """Call ``register_fake`` under its old name."""
    warned.warn("`torch.library.impl_abstract` was renamed to `torch.library.register_fake`. Please use that instead; we will "
                "remove `torch.library.impl_abstract` in a future version of PyTorch.", FutureWarning)
    return register_fake(qualname, func, lib=lib)


def register_autograd(op: Any, backward: Callable, /, *, setup_context: Callable | None = None,
                      lib: Library | None = None) -> None:
    """Register an operator's backward. See torch.library.register_autograd."""
    op = _resolved(op, "register_autograd")
    if isinstance(op, CustomOpDef):
        op.register_autograd(backward, setup_context=setup_context)
        return
    overload = overload_of(op)
    schema = overload._schema
    if not is_functional(schema):
        raise RuntimeError(f"Cannot register autograd formula for non-functional operator {overload} with schema {schema}. "
                           "Please "
                           "create a functional operator and register an autograd formula for that.")
    _refuse_keyword_tensors(schema, "register_autograd")
    formula = make_formula(overload._record, overload, formulas.Formula(backward, setup_context))
    library_for(split_name(op)[0], lib)._set(overload._record, "formula", formula)


def _refuse_keyword_tensors(schema: Any, function: str) -> None:
    if keyword_tensors(schema):
        raise NotImplementedError(f"{function} with kwarg-only Tensor args. In the original definition of the op, please make "
                                  "your "
                                  f"tensors not kwarg-only. Got: {schema}")


def register_vmap(op: Any, func: Callable | None = None, /, *, lib: Library | None = None) -> Any:
    """Register an operator's rule for torch.vmap. See torch.library.register_vmap."""
    op = _resolved(op, "register_vmap")
    if isinstance(op, CustomOpDef):
        return op.register_vmap(func)
    overload = overload_of(op)
    _refuse_keyword_tensors(overload._schema, "register_vmap")

    def register(func: Callable) -> None:
        library_for(split_name(op)[0], lib)._set(overload._record, "vmap", make_batched(overload._record, func))
    return register if func is None else register(func)


def register_autocast(op: Any, device_type: str, cast_inputs: Any, /, *, lib: Library | None = None) -> Any:
    """Register the dtype to which autocast casts an operator's inputs. See torch.library.register_autocast."""
    op = _resolved(op, "register_autocast")
    check_autocast(device_type)
    if isinstance(op, CustomOpDef):
        return op.register_autocast(device_type, cast_inputs)
    kernel = autocast_kernel(overload_of(op)._record, device_type, cast_inputs)
    return library_for(split_name(op)[0], lib).impl(op, kernel, f"Autocast{key_of_device(device_type)}")


def register_torch_dispatch(op: Any, torch_dispatch_class: Any, func: Callable | None = None, /, *, lib: Any = None) -> Any:
    """Register the rule that a class or mode with ``__torch_dispatch__`` has for an operator.

    See torch.library.register_torch_dispatch.

    Args:
        op (str, OpOverload or CustomOpDef): the operator.
        torch_dispatch_class: the class of the tensors, or of the mode.
        func: ``(mode or class, func, types, args, kwargs)``, which is called in place of its ``__torch_dispatch__``; without
            it, a decorator is returned.
        lib: the Library that holds the registration.

    """
    op = _resolved(op, "register_torch_dispatch")
    record = op._record if isinstance(op, CustomOpDef) else overload_of(op)._record

    def register(func: Callable) -> Callable:
        record.rules[torch_dispatch_class] = func
        return func
    return register if func is None else register(func)


# ---------------------------------------------------------------- not built


def triton_op(name: str, fn: Callable | None = None, /, *, mutates_args: Any, schema: str | None = None) -> Any:
    """Raise NotImplementedError: Triton kernels do not run on JAX."""
    raise NotImplementedError("torch.library.triton_op is not built: Triton's kernels do not run on JAX. "
                              "torch.library.custom_op takes "
                              "any Python function, jax.experimental.pallas writes kernels.")


def wrap_triton(triton_kernel: Callable, /) -> Any:
    """Raise NotImplementedError: Triton kernels do not run on JAX."""
    raise NotImplementedError("torch.library.wrap_triton is not built: Triton's kernels do not run on JAX. "
                              "torch.library.custom_op "
                              "takes any Python function, jax.experimental.pallas writes kernels.")


def get_ctx() -> None:
    """Return None, as PyTorch does outside a traced fake implementation. jtorch never traces with symbolic sizes."""


def get_kernel(op: Any, dispatch_key: Any) -> Any:
    """Raise NotImplementedError: there is no table of compiled kernels."""
    raise NotImplementedError("torch.library.get_kernel is not built: there is no table of compiled kernels. An operator's "
                              "overload "
                              "can be called, torch.ops.<namespace>.<name>.default.")
