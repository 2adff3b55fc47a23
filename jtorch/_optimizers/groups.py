"""Parameter groups, and loaded states: checks, defaults and casts."""
from __future__ import annotations

import copy
from collections import defaultdict
from itertools import chain
from typing import Any

import jtorch.dtype as dtypes
from jtorch._api.creation import tensor
from jtorch._base import warned
from jtorch.tensor import Tensor


class _Required:
    def __repr__(self):
        return "<required parameter>"


required = _Required()

# Defaults for options that a group saved by an older PyTorch does not have.
_LATER_OPTIONS = {"amsgrad": False, "nesterov": False, "maximize": False, "foreach": None, "capturable": False,
                  "differentiable": False, "fused": None, "decoupled_weight_decay": False}


def _name_of(x: Any) -> str:
    kind = type(x)
    return kind.__qualname__ if kind.__module__ in ("builtins", None) else f"{kind.__module__}.{kind.__qualname__}"


def add_group(given: dict[str, Any], defaults: dict[str, Any], groups: list[dict[str, Any]]) -> None:
    """Fill in a group's defaults in place, as PyTorch does, and append it. Errors are raised before any change."""
    if not isinstance(given, dict):
        raise TypeError(f"param_group must be a dict, but got {type(given)}")
    new = {"params": _as_list(given["params"])}
    _split_names(new)
    for p in new["params"]:
        _check_param(p, defaults)
    for name, default in defaults.items():
        if default is required and name not in given:
            raise ValueError(f"parameter group didn't specify a value of required optimization parameter {name}")
        new.setdefault(name, given.get(name, default))
    ids = [id(p) for p in new["params"]]
    if len(ids) != len(set(ids)):
        warned.warn("optimizer contains a parameter group with duplicate parameters; in future, this will cause an error; "
                    "see github.com/pytorch/pytorch/issues/40967 for more information")
    _check_against({**given, **new}, groups)
    given.update(new)
    groups.append(given)


def _as_list(params: Any) -> list:
    if isinstance(params, set):
        raise TypeError("optimizer parameters need to be organized in ordered collections, but the ordering of tensors in "
                        "sets will change between runs. Please use a list instead.")
    return [params] if isinstance(params, Tensor) else list(params)


def _split_names(group: dict[str, Any]) -> None:
    """Split (name, parameter) pairs into ``params`` and ``param_names``."""
    pairs = [p for p in group["params"] if isinstance(p, tuple)]
    if not pairs:
        return
    if len(pairs) != len(group["params"]):
        raise ValueError("all optimizer params should be with/without names. Some param names are missing")
    group["params"], group["param_names"] = [p[1] for p in pairs], [p[0] for p in pairs]


def _check_param(p: Any, defaults: dict[str, Any]) -> None:
    if not isinstance(p, Tensor):
        raise TypeError(f"optimizer can only optimize Tensors, but one of the params is {_name_of(p)}")
    if not defaults.get("differentiable") and not (p.is_leaf or p.retains_grad):
        raise ValueError("can't optimize a non-leaf Tensor")


def _check_against(new: dict[str, Any], groups: list[dict[str, Any]]) -> None:
    known: set[int] = set()
    for group in groups:
        known.update(map(id, group["params"]))
        if ("param_names" in new) != ("param_names" in group):
            text = "with names" if "param_names" in new else "without names"
            raise ValueError("all optimizer param groups should be with/without names. "
                             f"cannot add param group {text} to the optimizer")
    if any(id(p) in known for p in new["params"]):
        raise ValueError("some parameters appear in more than one parameter group")


def check_flags(group: dict[str, Any], defaults: dict[str, Any]) -> None:
    """Raise AssertionError for combinations of ``capturable`` or ``foreach`` that PyTorch refuses in a step."""
    if group.get("foreach") and group.get("differentiable"):
        raise AssertionError("_foreach ops don't support autograd")
    if group.get("capturable") and any(p.device.type == "cpu" for p in group["params"] if p._grad is not None):
        raise AssertionError("If capturable=True, params and state_steps must be on supported devices: ['cuda', 'xpu', 'hpu', "
                             "'privateuseone', 'xla'].")


def check_fused(defaults: dict[str, Any]) -> None:
    """Raise RuntimeError if ``fused`` is combined with an option that excludes it."""
    if defaults.get("fused") and defaults.get("differentiable"):
        raise RuntimeError("`fused` does not support `differentiable`")
    if defaults.get("fused") and defaults.get("foreach"):
        raise RuntimeError("`fused` and `foreach` cannot be `True` together.")


def check_tensor(x: Any, name: str, *, foreach: Any = False) -> None:
    """Raise ValueError for a tensor option with several elements, or any tensor option with ``foreach``."""
    if not isinstance(x, Tensor):
        return
    if foreach:
        raise ValueError(f"{name} as a Tensor is not supported for capturable=False and foreach=True")
    if x.numel() != 1:
        raise ValueError(f"Tensor {name} must be 1-element")


def checked_betas(betas: tuple, *, foreach: Any = False) -> tuple:
    """Check that the betas are two floats or two 1-element tensors, and make the tensors 0-dim."""
    kinds = [float if isinstance(b, float) else Tensor if isinstance(b, Tensor) else None for b in betas]
    if kinds[0] is None or kinds[0] is not kinds[1]:
        raise ValueError("betas must be either both floats or both Tensors")
    for i, b in enumerate(betas):
        check_tensor(b, f"betas[{i}]", foreach=foreach)
    return tuple([b.squeeze() if isinstance(b, Tensor) and b.ndim else b for b in betas])


# ---------------------------------------------------------------- loading

def matched(mine: list[dict], given: list[dict]) -> tuple[list[dict], dict]:
    """Return the saved groups with this optimizer's parameters, and a dict from saved number to parameter."""
    theirs = copy.deepcopy(given)
    if len(mine) != len(theirs):
        raise ValueError("loaded state dict has a different number of parameter groups")
    if any(len(a["params"]) != len(b["params"]) for a, b in zip(mine, theirs, strict=True)):
        raise ValueError("loaded state dict contains a parameter group that doesn't match the size of optimizer's group")
    numbers = dict(zip(chain.from_iterable(g["params"] for g in theirs), chain.from_iterable(g["params"] for g in mine),
                       strict=True))
    for a, b in zip(mine, theirs, strict=True):
        b["params"] = a["params"]
        if "param_names" in a:
            b.setdefault("param_names", a["param_names"])
    return theirs, numbers


def loaded_state(saved: dict[Any, Any], given: list[dict], numbers: dict) -> defaultdict:
    """Return the saved states keyed by this optimizer's parameters, cast to their dtype and device."""
    on_device = {k: bool(g.get("capturable") or g.get("fused")) for g in given for k in g["params"]}
    state: defaultdict = defaultdict(dict)
    for k, v in saved.items():
        if k in numbers:
            state[numbers[k]] = _cast(numbers[k], v, on_device[k])
        else:
            state[k] = v
    return state


def _cast(p: Tensor, value: Any, on_device: bool, key: Any = None) -> Any:
    """Cast a state to its parameter's dtype and device. A step count only moves if ``on_device``."""
    if isinstance(value, Tensor):
        if key == "step":
            return value.to(dtype=dtypes.float32, device=p.device) if on_device else value
        return value.to(dtype=p.dtype, device=p.device) if p.is_floating_point() else value.to(device=p.device)
    if isinstance(value, dict):
        return {k: _cast(p, v, on_device, k) for k, v in value.items()}
    if isinstance(value, (str, bytes)) or not hasattr(value, "__iter__"):
        return value
    return type(value)(_cast(p, v, on_device) for v in value)


def completed(groups: list[dict], state: dict, defaults: dict[str, Any]) -> None:
    """Fill in options that an older PyTorch did not save, and convert step counts that were Python numbers."""
    missing = {k: v for k, v in _LATER_OPTIONS.items() if k in defaults}
    for group in groups:
        for k, v in missing.items():
            group.setdefault(k, v)
    for s in state.values():
        if isinstance(s, dict) and isinstance(s.get("step"), (int, float)):
            s["step"] = tensor(float(s["step"]), dtype=dtypes.float32)


def by_device_and_dtype(lists: list[list], with_indices: bool = False) -> dict:
    """Split lists of tensors (or Nones) by device and dtype of the first list's tensors, with indices if asked."""
    found: dict = {}
    for index, column in enumerate(zip(*[given or [None] * len(lists[0]) for given in lists], strict=True)):
        parts, indices = found.setdefault((column[0].device, column[0].dtype), ([[] for _ in lists], []))
        for part, t, given in zip(parts, column, lists, strict=True):
            if given:
                part.append(t)
        if with_indices:
            indices.append(index)
    return found
