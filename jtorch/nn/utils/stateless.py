"""Calls of modules with replaced parameters."""
from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from jtorch._base import warned
from jtorch.nn.modules.module import Module
from jtorch.tensor import Tensor


def _tied(module: Module) -> dict[str, set[str]]:
    """Return, for each name of a tensor with several names, all names of the tensor."""
    names: dict[Any, set[str]] = {}
    for name, tensor in [*module.named_parameters(remove_duplicate=False), *module.named_buffers(remove_duplicate=False)]:
        names.setdefault(tensor, set()).add(name)
    return {name: same for same in names.values() if len(same) > 1 for name in same}


def _with_tied(module: Module, given: dict[str, Any]) -> dict[str, Any]:
    """Return the given tensors under all names of tied tensors."""
    tied, out = _tied(module), dict(given)
    for name in [n for n in given if n in tied]:
        values = {id(given[n]) for n in tied[name] if n in given}
        if len(values) > 1:
            raise ValueError(f"functional_call got multiple values for keys {sorted(tied[name])}, which are tied. Consider using "
                             "tie_weights=False")
        out.update(dict.fromkeys(tied[name], given[name]))
    return out


def _check_keys(module: Module, given: dict[str, Any]) -> None:
    own = {*dict(module.named_parameters(remove_duplicate=False)), *dict(module.named_buffers(remove_duplicate=False))}
    wrong = [f"{kind} key(s): {', '.join(map(repr, sorted(keys)))}." for kind, keys in
             (("Unexpected", set(given) - own), ("Missing", own - set(given))) if keys]
    if wrong:
        raise RuntimeError("Error(s) in reparametrizing for {}:\n\t{}".format(module._get_name(), "\n\t".join(wrong)))


class _Missing:
    """Stands for a tensor that the module does not have."""


_MISSING = _Missing()


def _place(module: Module, path: str) -> tuple[dict, str]:
    """Return the dict that holds the tensor with a dotted name, and its key."""
    where, _, name = path.rpartition(".")
    owner = module.get_submodule(where)
    for kept in (owner._parameters, owner._buffers):
        if name in kept:
            return kept, name
    value = getattr(owner, name, _MISSING)
    if not isinstance(value, Tensor | type(_MISSING)) and value is not None:
        raise TypeError(f"attribute `{name}`: {value} is not an instance of torch.Tensor")
    return owner.__dict__, name


@contextmanager
def reparametrized(module: Module, given: dict[str, Any], *, tie_weights: bool, strict: bool) -> Iterator[None]:
    """Replace a module's tensors within the block. Tensors that its forward assigns are stored in ``given``."""
    values = _with_tied(module, given) if tie_weights else dict(given)
    if strict:
        _check_keys(module, values)
    places = {path: _place(module, path) for path in values}
    for value in values.values():
        if value is not None and not isinstance(value, Tensor):
            raise TypeError(f"{value} is not an instance of torch.Tensor")
    own = {path: kept.get(name, _MISSING) for path, (kept, name) in places.items()}
    try:
        for path, (kept, name) in places.items():
            kept[name] = values[path]
        yield
    finally:
        for path, (kept, name) in places.items():
            if path in given:
                given[path] = kept.get(name)
            kept[name] = own[path]
            if own[path] is _MISSING:
                del kept[name]


def _reparametrize_module(module: Module, parameters_and_buffers: dict[str, Tensor], tie_weights: bool = False,
                          strict: bool = False, stack_weights: bool = False) -> Any:
    """Replace a module's tensors within the block. ``stack_weights`` has no effect."""
    return reparametrized(module, parameters_and_buffers, tie_weights=tie_weights, strict=strict)


def call(module: Any, parameters_and_buffers: dict[str, Any], args: Any = None, kwargs: dict[str, Any] | None = None, *,
         tie_weights: bool = True, strict: bool = False) -> Any:
    """Call ``module(*args, **kwargs)`` with replaced tensors."""
    args = () if args is None else args if isinstance(args, tuple) else (args,)
    with reparametrized(module, parameters_and_buffers, tie_weights=tie_weights, strict=strict):
        return module(*args, **(kwargs or {}))


def functional_call(module: Any, parameters_and_buffers: dict[str, Tensor], args: Any = None,
                    kwargs: dict[str, Any] | None = None, *, tie_weights: bool = True, strict: bool = False) -> Any:
    """Call torch.func.functional_call under its old name, which PyTorch deprecates."""
    warned.warn("`torch.nn.utils.stateless.functional_call` is deprecated as of PyTorch 2.0 and will be removed in a future "
                "version of PyTorch. Please use `torch.func.functional_call` instead which is a drop-in replacement.",
                FutureWarning)
    return call(module, parameters_and_buffers, args, kwargs, tie_weights=tie_weights, strict=strict)


__all__ = ["functional_call"]

del _Missing      # PyTorch's module does not have this name
