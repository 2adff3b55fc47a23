"""Loading a state dict into a module."""
from __future__ import annotations

from collections import OrderedDict, namedtuple
from collections.abc import Mapping
from typing import Any

from jtorch.no_grad import no_grad
from jtorch.tensor import Parameter, Tensor

EXTRA = "_extra_state"


class IncompatibleKeys(namedtuple("IncompatibleKeys", ["missing_keys", "unexpected_keys"])):
    """Which keys a state dict lacked, and which it had too many."""

    __slots__ = ()

    def __repr__(self):
        if not self.missing_keys and not self.unexpected_keys:
            return "<All keys matched successfully>"
        return super().__repr__()

    __str__ = __repr__


def load(root: Any, state_dict: Any, strict: bool, assign: bool) -> IncompatibleKeys:
    """Loads a whole tree of modules."""
    if not isinstance(state_dict, Mapping):
        raise TypeError(f"Expected state_dict to be dict-like, got {type(state_dict)}.")
    metadata = getattr(state_dict, "_metadata", None)
    state = OrderedDict(state_dict)
    if metadata is not None:
        state._metadata = metadata      # type: ignore[attr-defined]
    found = IncompatibleKeys([], [])
    errors: list[str] = []
    _load_tree(root, state, "", metadata, assign, found, errors)
    if strict:
        for start, keys in (("Unexpected", found.unexpected_keys), ("Missing", found.missing_keys)):
            if keys:
                errors.insert(0, f"{start} key(s) in state_dict: " + ", ".join([f'"{k}"' for k in keys]) + ". ")
    if errors:
        raise RuntimeError("Error(s) in loading state_dict for {}:\n\t{}".format(type(root).__name__, "\n\t".join(errors)))
    return found


def _load_tree(module: Any, state: Any, prefix: str, metadata: Any, assign: bool, found: IncompatibleKeys,
               errors: list[str]) -> None:
    local = {} if metadata is None else metadata.get(prefix[:-1], {})
    if assign:
        local["assign_to_params_buffers"] = assign
    module._load_from_state_dict(state, prefix, local, True, *found, errors)
    for name, child in module._modules.items():
        if child is not None:
            start = f"{prefix}{name}."
            own = {k: v for k, v in state.items() if k.startswith(start)}
            _load_tree(child, own, start, metadata, assign, found, errors)
    for hook in module._load_state_dict_post_hooks.values():
        if hook(module, found) is not None:
            raise AssertionError("Hooks registered with ``register_load_state_dict_post_hook`` are not expected to return new "
                                 "values, if incompatible_keys need to be modified, it should be done inplace.")


def load_own(module: Any, state: Any, prefix: str, metadata: dict, strict: bool, missing: list[str],
             unexpected: list[str], errors: list[str]) -> None:
    """Loads what one module holds itself."""
    own = {k: v for k, v in [*module._parameters.items(), *module._buffers.items()]
           if v is not None and k not in module._non_persistent_buffers_set}
    assign = metadata.get("assign_to_params_buffers", False)
    for name, target in own.items():
        key = prefix + name
        if key in state:
            _load_one(module, name, key, target, state[key], assign, errors)
        elif strict:
            missing.append(key)
    _load_extra(module, state, prefix + EXTRA, strict, missing, unexpected)
    for key in state if strict else ():
        if key.startswith(prefix) and key != prefix + EXTRA:
            first, *rest = key[len(prefix):].split(".", 1)
            if first not in (module._modules if rest else own):
                unexpected.append(key)


def _load_extra(module: Any, state: Any, key: str, strict: bool, missing: list[str], unexpected: list[str]) -> None:
    if getattr(type(module).set_extra_state, "_is_default", False):
        if strict and key in state:
            unexpected.append(key)
    elif key in state:
        module.set_extra_state(state[key])
    elif strict:
        missing.append(key)


def _load_one(module: Any, name: str, key: str, target: Tensor, given: Any, assign: bool, errors: list[str]) -> None:
    if not isinstance(given, Tensor):
        errors.append(f'While copying the parameter named "{key}", expected torch.Tensor or Tensor-like object from checkpoint '
                      f"but received {type(given)}")
        return
    if target.dim() == 0 and tuple(given.shape) == (1,):
        given = given[0]            # type: ignore[index]
    if given.shape != target.shape:
        errors.append(f"size mismatch for {key}: copying a param with shape {given.shape} from checkpoint, the shape in current "
                      f"model is {target.shape}.")
        return
    try:
        with no_grad():
            if not assign:
                target.copy_(given)     # type: ignore[attr-defined]
                return
            if isinstance(target, Parameter):
                flag = target.requires_grad
                given = given.requires_grad_(flag) if isinstance(given, Parameter) else Parameter(given, flag)
            setattr(module, name, given)
    except Exception as e:
        errors.append(f'While copying the parameter named "{key}", whose dimensions in the model are {target.size()} and whose '
                      f"dimensions in the checkpoint are {given.size()}, an exception occurred : {e.args}.")
