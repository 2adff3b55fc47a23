"""torch.library.opcheck: consistency checks of an operator's registrations."""
from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from jtorch._api import functions
from jtorch._library.namespaces import OpOverload, OpOverloadPacket
from jtorch._library.operators import tensors_of
from jtorch.tensor import Tensor


class OpCheckError(Exception):
    """An operator's registrations are inconsistent."""


def _copied(value: Any) -> Any:
    if isinstance(value, Tensor):
        return value.detach().clone().requires_grad_(value.requires_grad)       # type: ignore[attr-defined]
    return [_copied(v) for v in value] if isinstance(value, (list, tuple)) else value


def _results(made: Any) -> list[Tensor]:
    return list(tensors_of(made if isinstance(made, (tuple, list)) else [made]))


def _check_schema(op: OpOverload, args: tuple, kwargs: dict) -> None:
    """Check that the call only writes arguments that the schema marks, and returns new tensors if no result is an alias."""
    used, named = [_copied(a) for a in args], {k: _copied(v) for k, v in kwargs.items()}
    made = op(*used, **named)
    for i, a in enumerate(op._schema.arguments):
        if a.alias_info is not None or (i >= len(args) and a.name not in kwargs):
            continue
        before, after = (args[i], used[i]) if i < len(args) else (kwargs[a.name], named[a.name])
        if not all(functions.equal(b, c) for b, c in zip(tensors_of([before]), tensors_of([after]), strict=True)):
            raise OpCheckError(f"Argument {a.name} is not defined as mutable but was mutated")
    given = {id(t._storage) for t in tensors_of([*used, *named.values()])}
    if not any(r.alias_info for r in op._schema.returns) and any(id(t._storage) in given for t in _results(made)):
        raise OpCheckError(f"Argument of {op} is not defined to alias output but was aliasing")


def _check_autograd(op: OpOverload, args: tuple, kwargs: dict) -> None:
    """Check that an operator whose inputs need gradients has a formula, an autograd kernel or a composite kernel."""
    record = op._record
    if not any(t.requires_grad for t in tensors_of([*args, *kwargs.values()])):
        return
    explicit = "CompositeImplicitAutograd" not in record.kernels
    if explicit and record.formula is None and not any(k.startswith("Autograd") for k in record.kernels):
        raise OpCheckError(f"test_autograd_registration: {op} has no autograd kernel registered, though an input requires a "
                           "gradient. Please use torch.library.register_autograd.")


def _check_fake(op: OpOverload, args: tuple, kwargs: dict) -> None:
    """Check that results on the meta device have the shapes and dtypes of the kernel's results."""
    def on_meta(value: Any) -> Any:
        if isinstance(value, Tensor):
            return value.detach().to("meta")        # type: ignore[attr-defined]
        return [on_meta(v) for v in value] if isinstance(value, (list, tuple)) else value
    real = _results(op(*[_copied(a) for a in args], **{k: _copied(v) for k, v in kwargs.items()}))
    fake = _results(op(*[on_meta(a) for a in args], **{k: on_meta(v) for k, v in kwargs.items()}))
    if len(real) != len(fake):
        raise OpCheckError(f"{op}: the fake impl gives {len(fake)} tensors, the kernel {len(real)}")
    for r, f in zip(real, fake, strict=True):
        for what in ("shape", "dtype"):
            if getattr(r, what) != getattr(f, what):
                raise OpCheckError(f"{op}: the fake impl gives {what} {getattr(f, what)}, the kernel {getattr(r, what)}")


_UTILS: dict[str, Callable] = {"test_schema": _check_schema, "test_autograd_registration": _check_autograd,
                               "test_faketensor": _check_fake}


def opcheck(op: Any, args: tuple, kwargs: dict | None = None, *, test_utils: str | Sequence[str] | None = None,
            raise_exception: bool = True, atol: float | None = None, rtol: float | None = None) -> dict[str, Any]:
    """Check an operator's registrations. Return {check: "SUCCESS" or the error}. See torch.library.opcheck.

    There is no ahead-of-time dispatch, so ``test_aot_dispatch_dynamic`` is not supported.
    """
    overload = getattr(op, "_opoverload", op)
    if isinstance(overload, OpOverloadPacket):
        overload = overload.default
    if not isinstance(overload, OpOverload):
        raise ValueError(f"opcheck(op, ...): op must be instance of torch._ops.OpOverload, e.g. torch.ops.aten.sin.default, got "
                         f"{type(op)}")
    names = [test_utils] if isinstance(test_utils, str) else list(_UTILS if test_utils is None else test_utils)
    found: dict[str, Any] = {}
    for name in names:
        if name.startswith("test_aot_dispatch"):
            raise NotImplementedError(f"opcheck: {name} is not built, for nothing is traced ahead of time; the other checks "
                                      "are here")
        if name not in _UTILS:
            raise ValueError(f"opcheck(..., test_utils={test_utils}): expected test_utils to be a subset of {set(_UTILS)}")
        try:
            _UTILS[name](overload, args, kwargs or {})
            found[name] = "SUCCESS"
        except Exception as error:
            if raise_exception:
                raise OpCheckError(f"opcheck(op, ...): {name} failed with {error} (scroll up for stack trace)") from error
            found[name] = error
    return found
