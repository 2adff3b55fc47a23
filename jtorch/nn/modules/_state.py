"""State dicts: how Module saves and loads its state."""
from __future__ import annotations

from collections import OrderedDict, namedtuple
from collections.abc import Mapping
from typing import Any

from jtorch.__future__ import get_swap_module_params_on_conversion
from jtorch._base import warned
from jtorch.nn.modules._conversion import load_swapped, swapping_many
from jtorch.no_grad import no_grad
from jtorch.tensor import Parameter, Tensor

EXTRA = "_extra_state"


class _IncompatibleKeys(namedtuple("IncompatibleKeys", ["missing_keys", "unexpected_keys"])):
    """The keys that a state dict lacked, and its unexpected keys."""

    __slots__ = ()

    def __repr__(self):
        if not self.missing_keys and not self.unexpected_keys:
            return "<All keys matched successfully>"
        return super().__repr__()

    __str__ = __repr__


def load(root: Any, state_dict: Any, strict: bool, assign: bool) -> _IncompatibleKeys:
    """Load a state dict into a tree of modules."""
    if not isinstance(state_dict, Mapping):
        raise TypeError(f"Expected state_dict to be dict-like, got {type(state_dict)}.")
    metadata = getattr(state_dict, "_metadata", None)
    state = OrderedDict(state_dict)
    if metadata is not None:
        state._metadata = metadata      # type: ignore[attr-defined]
    found = _IncompatibleKeys([], [])
    errors: list[str] = []
    with swapping_many():
        _load_tree(root, state, "", metadata, assign, found, errors)
    if strict:
        for start, keys in (("Unexpected", found.unexpected_keys), ("Missing", found.missing_keys)):
            if keys:
                errors.insert(0, f"{start} key(s) in state_dict: " + ", ".join([f'"{k}"' for k in keys]) + ". ")
    if errors:
        raise RuntimeError("Error(s) in loading state_dict for {}:\n\t{}".format(type(root).__name__, "\n\t".join(errors)))
    return found


def _load_tree(module: Any, state: Any, prefix: str, metadata: Any, assign: bool, found: _IncompatibleKeys,
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
    """Load the state that one module holds itself."""
    kept = [(k, b) for k, b in module._buffers.items() if k not in module._non_persistent_buffers_set]
    own = {k: v for k, v in [*module._parameters.items(), *kept] if v is not None}
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
    if type(module).set_extra_state is StateMethods.set_extra_state:
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
    if hasattr(target, "materialize") and hasattr(given, "materialize"):
        return      # Both are uninitialized.
    if target.dim() == 0 and tuple(given.shape) == (1,):
        given = given[0]            # type: ignore[index]
    if given.shape != target.shape:
        errors.append(f"size mismatch for {key}: copying a param with shape {given.shape} from checkpoint, the shape in current "
                      f"model is {target.shape}.")
        return
    swaps = get_swap_module_params_on_conversion()
    if target.is_meta and not given.is_meta and not assign:
        warned.warn(f"for {key}: copying from a non-meta parameter in the checkpoint to a meta parameter in the current model, "
                    "which is a no-op. (Did you mean to pass `assign=True` to assign items in the state dictionary to their "
                    "corresponding key in the module instead of copying them in place?)")
    try:
        with no_grad():
            if swaps:
                load_swapped(target, given, assign)
                return
            if not assign:
                target.copy_(given)     # type: ignore[attr-defined]
                return
            if isinstance(target, Parameter):
                flag = target.requires_grad
                given = given.requires_grad_(flag) if isinstance(given, Parameter) else Parameter(given, flag)
            setattr(module, name, given)
    except Exception as e:
        doing = "swapping" if swaps else "copying"
        errors.append(f'While {doing} the parameter named "{key}", whose dimensions in the model are {target.size()} and whose '
                      f"dimensions in the checkpoint are {given.size()}, an exception occurred : {e.args}.")


_REPORT = ("should never be called. Please file an issue at "
           "https://github.com/pytorch/pytorch/issues/new?template=bug-report.yml to report this bug.")


def _empty_state() -> OrderedDict:
    state: OrderedDict = OrderedDict()
    state._metadata = OrderedDict()     # type: ignore[attr-defined]
    return state


def _by_position(args: tuple, named: tuple) -> tuple:
    """Return the arguments of ``state_dict``, given positional and keyword ones. Keyword arguments win."""
    start = (None, "", False)
    given = (*args, *start[len(args):])
    return tuple([by_place if name == default else name for by_place, name, default in zip(given, named, start, strict=False)])


def _replaced(saved: Any, new: Any, allowed: bool) -> Any:
    """Return the state dict after a hook that returned ``new``, which is an error unless ``allowed``."""
    if new is None:
        return saved
    if not allowed:
        raise RuntimeError("state_dict post-hook must return None")
    return new


class StateMethods:
    """Module's methods for its state."""

    _version = 1
    _parameters: dict[str, Any]
    _buffers: dict[str, Any]
    _modules: dict[str, Any]
    _non_persistent_buffers_set: set[str]
    _state_dict_hooks: OrderedDict
    _state_dict_pre_hooks: OrderedDict
    _load_state_dict_pre_hooks: OrderedDict

    def get_extra_state(self) -> Any:
        """Return the state besides tensors. Subclasses define this method."""
        raise RuntimeError(f"Reached a code path in Module.get_extra_state() that {_REPORT}")

    def set_extra_state(self, state: Any) -> None:
        """Load the state that ``get_extra_state`` returned. Subclasses define this method."""
        raise RuntimeError(f"Reached a code path in Module.set_extra_state() that {_REPORT}")

    def _save_to_state_dict(self, destination: dict, prefix: str, keep_vars: bool) -> None:
        kept = [(n, b) for n, b in self._buffers.items() if n not in self._non_persistent_buffers_set]
        for name, value in [*self._parameters.items(), *kept]:
            if value is not None:
                destination[prefix + name] = value if keep_vars else value.detach()
        if type(self).get_extra_state is not StateMethods.get_extra_state:
            destination[prefix + EXTRA] = self.get_extra_state()

    def state_dict(self, *args: Any, destination: Any = None, prefix: str = "", keep_vars: bool = False) -> Any:
        """Return all parameters and persistent buffers by name, without history unless ``keep_vars``.

        See torch.nn.Module.state_dict.
        """
        if args:
            warned.warn("Positional args are being deprecated, use kwargs instead. Refer to https://pytorch.org/docs/main/"
                        "generated/torch.nn.Module.html#torch.nn.Module.state_dict for details.", FutureWarning)
            destination, prefix, keep_vars = _by_position(args, (destination, prefix, keep_vars))
        saved = _empty_state() if destination is None else destination
        notes: dict[str, Any] = {"version": self._version}
        getattr(saved, "_metadata", {})[prefix[:-1]] = notes
        for before in self._state_dict_pre_hooks.values():
            before(self, prefix, keep_vars)
        self._save_to_state_dict(saved, prefix, keep_vars)
        for name, child in self._modules.items():
            if child is not None:       # The child can override this method.
                child.state_dict(destination=saved, prefix=f"{prefix}{name}.", keep_vars=keep_vars)
        for after in self._state_dict_hooks.values():
            saved = _replaced(saved, after(self, saved, prefix, notes), not getattr(after, "_from_public_api", False))
        return saved

    def _load_from_state_dict(self, state_dict, prefix, local_metadata, strict, missing_keys, unexpected_keys,
                              error_msgs) -> None:
        for hook in self._load_state_dict_pre_hooks.values():
            hook(state_dict, prefix, local_metadata, strict, missing_keys, unexpected_keys, error_msgs)
        load_own(self, state_dict, prefix, local_metadata, strict, missing_keys, unexpected_keys, error_msgs)

    def load_state_dict(self, state_dict: Mapping[str, Any], strict: bool = True, assign: bool = False) -> _IncompatibleKeys:
        """Copy a state dict into this module, or assign its tensors. See torch.nn.Module.load_state_dict.

        Raises RuntimeError if sizes differ and, with ``strict``, if keys are missing or unexpected. As in PyTorch, all
        matching tensors are loaded before the error.
        """
        return load(self, state_dict, strict, assign)
