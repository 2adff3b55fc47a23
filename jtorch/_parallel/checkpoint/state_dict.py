"""State dicts of models and optimizers by parameter names. See torch.distributed.checkpoint.state_dict."""
from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any

import jtorch.distributed as dist
from jtorch._api.functions import empty, zeros_like
from jtorch._base import warned
from jtorch._base.pytree import tree_map
from jtorch._parallel.create import distribute_tensor
from jtorch._parallel.dtensor import DTensor
from jtorch._parallel.full_tensor import full_tensor
from jtorch.dtype import dtype
from jtorch.nn.modules.module import Module, _IncompatibleKeys
from jtorch.no_grad import no_grad
from jtorch.tensor import Tensor


@dataclass
class StateDictOptions:
    """Options for getting and setting state dicts. See torch.distributed.checkpoint.state_dict.StateDictOptions.

    Args:
        full_state_dict: whether to gather whole tensors.
        cpu_offload: whether only the first rank gets the whole tensors.
        ignore_frozen_params: whether to omit parameters that do not require grad.
        keep_submodule_prefixes: whether names keep the prefix of a submodule in ``submodules``.
        strict: whether missing and unexpected names are errors.
        broadcast_from_rank0: whether only the first rank has the state dict to load.
        flatten_optimizer_state_dict: whether an optimizer's state dict is flat.
        dsd_fqn_modifiers: the name of a method by which modules rename their entries; a module with such a method raises
            NotImplementedError.

    """

    full_state_dict: bool = False
    cpu_offload: bool = False
    ignore_frozen_params: bool = False
    keep_submodule_prefixes: bool = True
    strict: bool = True
    broadcast_from_rank0: bool = False
    flatten_optimizer_state_dict: bool = False
    dsd_fqn_modifiers: str = "_fqn_modifiers"


def _plain_name(name: str) -> str:
    """Return a parameter's name without the prefixes of wrappers."""
    return ".".join([part for part in name.split(".") if part not in ("module", "_fsdp_wrapped_module", "_orig_mod")]) \
        if name.startswith(("module.", "_fsdp_wrapped_module.", "_orig_mod.")) or "_fsdp_wrapped_module" in name else name


def _checked(model: Module, options: StateDictOptions | None) -> StateDictOptions:
    options = options or StateDictOptions()
    if any(hasattr(m, options.dsd_fqn_modifiers) for m in model.modules()):
        raise NotImplementedError(f"StateDictOptions: modules with {options.dsd_fqn_modifiers}() are not built")
    if options.broadcast_from_rank0 and not options.full_state_dict:
        raise ValueError("full_state_dict must be True when broadcast_from_rank0 is True.")
    return options


def _apply_options(tree: Any, options: StateDictOptions) -> Any:
    """Apply the options: gather whole tensors, and keep them on the first rank only with ``cpu_offload``."""
    if not options.full_state_dict:
        return tree
    made = tree_map(full_tensor, tree)
    return {} if options.cpu_offload and dist.is_initialized() and dist.get_rank() else made


def _entries(model: Module) -> dict[str, Any]:
    """Return the tensors of a model's state dict without detaching them."""
    return Module.state_dict(model, keep_vars=True)


def get_model_state_dict(model: Module, *, submodules: set | None = None,
                         options: StateDictOptions | None = None) -> dict[str, Any]:
    """Return a model's state dict. See torch.distributed.checkpoint.state_dict.get_model_state_dict.

    Args:
        model: the module; names lose the prefixes of wrappers.
        submodules: the submodules whose entries are returned; all, if None. Deprecated.
        options: the options.

    Returns:
        Tensors without history by name; DTensors unless ``full_state_dict`` is set.

    >>> from jtorch.distributed.checkpoint.state_dict import get_model_state_dict
    >>> list(get_model_state_dict(torch.nn.Linear(2, 1)))
    ['weight', 'bias']

    """
    options = _checked(model, options)
    frozen = {_plain_name(n) for n, p in model.named_parameters() if not p.requires_grad and options.ignore_frozen_params}
    with no_grad():
        found = {_plain_name(n): t.detach() if isinstance(t, Tensor) else t for n, t in _entries(model).items()}
        if submodules:
            found = _of_submodules(found, _prefixes(model, submodules), options.keep_submodule_prefixes)
        return _apply_options({n: t for n, t in found.items() if n not in frozen}, options)


def _prefixes(model: Module, submodules: Iterable) -> list[str]:
    warned.warn("Getting submodules only model/optim state_dict is deprecated and will be removed in 2.5. This feature can be "
                "achieved by manually filtering out the state_dict returned from get_state_dict.", FutureWarning)
    wanted = set(submodules)
    return [f"{_plain_name(n)}." for n, m in model.named_modules() if m in wanted]


def _of_submodules(found: dict[str, Any], prefixes: list[str], keep: bool) -> dict[str, Any]:
    """Return the entries of some submodules."""
    return {n if keep else n[len(p):]: t for n, t in found.items() for p in prefixes if n.startswith(p)}


def _like(value: Any, target: Any, source: int | None = None) -> Any:
    """Shard a whole tensor as its target is; return other values unchanged."""
    if not isinstance(target, DTensor) or isinstance(value, DTensor) or not isinstance(value, Tensor):
        return value
    return distribute_tensor(value.detach(), target.device_mesh, target.placements, src_data_rank=source)


def _broadcast_tree(tree: Any, options: StateDictOptions) -> Any:
    """Return the first rank's tree on all ranks, if ``broadcast_from_rank0`` is set."""
    if not options.broadcast_from_rank0:
        return tree
    found = [tree]
    dist.broadcast_object_list(found, 0)
    return found[0]


def set_model_state_dict(model: Module, model_state_dict: dict[str, Any], *, options: StateDictOptions | None = None) -> Any:
    """Load a model's state dict. See torch.distributed.checkpoint.state_dict.set_model_state_dict.

    Args:
        model: the module.
        model_state_dict: a state dict of ``get_model_state_dict``; whole tensors are sharded as the parameters are.
        options: the options.

    Returns:
        The missing and unexpected keys.

    """
    options = _checked(model, options)
    given = _by_names(model, model_state_dict)
    if not given and not options.broadcast_from_rank0:
        if options.strict and not options.ignore_frozen_params and not (options.cpu_offload and options.full_state_dict):
            raise RuntimeError("The option indicates that model state_dict is required to save or load, but model state_dict is "
                               f"empty.rank = dist.get_rank()={dist.get_rank()}.")
        return _IncompatibleKeys({}, {})        # type: ignore[arg-type]
    targets = _entries(model)
    named = {_plain_name(n): n for n in targets}
    with no_grad():
        found = {named.get(k, k): v for k, v in given.items()}
        if options.full_state_dict:
            found = _distributed(found, targets, options)
        assigns = options.full_state_dict and any(isinstance(t, Tensor) and t.is_meta and t.dim() for t in targets.values())
        return Module.load_state_dict(model, found, strict=options.strict, assign=assigns)


def _by_names(model: Module, given: dict) -> dict[str, Any]:
    """Return a state dict by names. The deprecated form, which maps each submodule to its own state dict, is converted."""
    if not given or not isinstance(next(iter(given)), Module):
        return given
    warned.warn("Passing model_state_dict as a ``Dict[nn.Module, Dict[str, Any]]``is deprecated and will be removed in 2.5. If "
                "you need this feature, please preprocess the model_state_dict to achieve the same functionality.", FutureWarning)
    prefixes = {m: f"{_plain_name(n)}." for n, m in model.named_modules()}
    return {prefixes[m] + k: v for m, part in given.items() for k, v in part.items()}


def _distributed(given: dict[str, Any], targets: dict[str, Any], options: StateDictOptions) -> dict[str, Any]:
    """Return whole tensors, sharded as the model's entries are.

    The model's own entries take the place of missing ones, unless ``broadcast_from_rank0`` and ``strict`` are set.
    """
    if not options.broadcast_from_rank0:
        return {**targets, **{k: _like(v, targets.get(k), 0) for k, v in given.items()}}
    sent = {k: (tuple(v.shape), v.dtype) if isinstance(v, Tensor) and v.dim() else v for k, v in given.items()}
    told: list[Any] = [sent]
    dist.broadcast_object_list(told, 0)
    made = {k: _from_first(given.get(k), v, targets.get(k)) for k, v in told[0].items()}
    kept = {} if options.strict else targets
    mine = {**made, **given} if dist.get_rank() == 0 else {}
    return {**mine, **kept, **{k: v for k, v in made.items() if k in targets}}


def _from_first(value: Any, told: Any, target: Any) -> Any:
    """Return the first rank's value on each rank. Of a tensor with one or more dims, return this rank's shard."""
    if not (isinstance(told, tuple) and len(told) == 2 and isinstance(told[1], dtype)):
        return told
    place = dist._get_default_group().place
    whole = value.detach().contiguous().to(place) if dist.get_rank() == 0 else empty(told[0], dtype=told[1], device=place)
    dist.broadcast(whole, 0)
    return _like(whole, target)


# ---------------------------------------------------------------- optimizers

def _optimizers(optimizers: Any) -> list[Any]:
    return list(optimizers) if isinstance(optimizers, Iterable) else [optimizers]


def _init_optim_state(optimizer: Any) -> None:
    """Create an optimizer's states by a step with zero gradients and a learning rate of zero, if it has not stepped yet."""
    params = [p for group in optimizer.param_groups for p in group["params"]]
    if optimizer.state or any(p.grad is not None for p in params):
        return
    for p in params:
        if p.requires_grad:
            p.grad = zeros_like(p)
    rates = [group["lr"] for group in optimizer.param_groups]
    for group in optimizer.param_groups:
        group["lr"] = zeros_like(group["lr"]) if isinstance(group["lr"], Tensor) else 0.0
    optimizer.step()
    for group, rate in zip(optimizer.param_groups, rates, strict=True):
        group["lr"] = rate
    optimizer.zero_grad(set_to_none=True)


def _names(model: Module) -> dict[int, str]:
    return {id(p): _plain_name(n) for n, p in model.named_parameters()}


def get_optimizer_state_dict(model: Module, optimizers: Any, *, submodules: set | None = None,
                             options: StateDictOptions | None = None) -> dict[str, Any]:
    """Return the state dict of optimizers. See torch.distributed.checkpoint.state_dict.get_optimizer_state_dict.

    Args:
        model: the module whose parameters the optimizers update.
        optimizers: an optimizer, or several.
        submodules: accepted and ignored.
        options: the options.

    Returns:
        The states and groups by parameter names.

    """
    options, of = _checked(model, options), _names(model)
    made: dict[str, Any] = {"state": {}, "param_groups": []}
    for optimizer in _optimizers(optimizers):
        _init_optim_state(optimizer)
        for group in optimizer.param_groups:
            made["state"].update({of[id(p)]: dict(optimizer.state[p]) for p in group["params"] if p in optimizer.state})
            made["param_groups"].append({**{k: v for k, v in group.items() if k != "params"},
                                         "params": [of[id(p)] for p in group["params"]]})
    return _apply_options(_flat(made) if options.flatten_optimizer_state_dict else made, options)


def _flat(nested: dict[str, Any]) -> dict[str, Any]:
    made = {f"state.{name}.{k}": v for name, state in nested["state"].items() for k, v in state.items()}
    for group in nested["param_groups"]:
        made.update({f"param_groups.{name}.{k}": v for name in group["params"] for k, v in group.items() if k != "params"})
    return made


def set_optimizer_state_dict(model: Module, optimizers: Any, optim_state_dict: dict[str, Any], *,
                             options: StateDictOptions | None = None) -> None:
    """Load the state dict of optimizers. See torch.distributed.checkpoint.state_dict.set_optimizer_state_dict.

    Args:
        model: the module whose parameters the optimizers update.
        optimizers: an optimizer, or several.
        optim_state_dict: a state dict of ``get_optimizer_state_dict``.
        options: the options.

    """
    options, of = _checked(model, options), _names(model)
    given = _broadcast_tree(optim_state_dict, options)
    for optimizer in _optimizers(optimizers):
        _init_optim_state(optimizer)
        nested = given if "state" in given else _nested(given, optimizer, of)
        number, state, groups = 0, {}, []
        for group in optimizer.param_groups:
            numbers = list(range(number, number + len(group["params"])))
            number += len(numbers)
            for i, p in zip(numbers, group["params"], strict=True):
                state.update({i: {k: _like(v, optimizer.state[p].get(k)) for k, v in nested["state"][of[id(p)]].items()}}
                             if _has(nested, of[id(p)], p, options) else {})
            first = of[id(group["params"][0])] if group["params"] else None
            saved: dict[str, Any] = next((g for g in nested["param_groups"] if first in g["params"]), {})
            groups.append({**{k: v for k, v in {**group, **saved}.items() if k != "params"}, "params": numbers})
        optimizer.load_state_dict({"state": state, "param_groups": groups})


def _has(nested: dict, name: str, p: Tensor, options: StateDictOptions) -> bool:
    if name in nested["state"]:
        return True
    if p.requires_grad and options.strict and nested["state"]:
        raise RuntimeError(f"Missing optimizer state for parameter '{name}' in checkpoint. The parameter requires gradients but "
                           "has no saved optimizer state. To load anyway, use StateDictOptions(strict=False).")
    return False


def _nested(flat: dict[str, Any], optimizer: Any, of: dict[int, str]) -> dict[str, Any]:
    made: dict[str, Any] = {"state": {}, "param_groups": []}
    for group in optimizer.param_groups:
        params = [of[id(p)] for p in group["params"]]
        for name, p in zip(params, group["params"], strict=True):
            made["state"][name] = {k: flat[f"state.{name}.{k}"] for k in optimizer.state[p]} if p in optimizer.state else {}
        made["param_groups"].append({**{k: flat[f"param_groups.{params[0]}.{k}"] for k in group if k != "params"},
                                     "params": params})
    return made


def get_state_dict(model: Module, optimizers: Any, *, submodules: set | None = None,
                   options: StateDictOptions | None = None) -> tuple[dict[str, Any], dict[str, Any]]:
    """Return the state dicts of a model and of its optimizers. See torch.distributed.checkpoint.state_dict.get_state_dict."""
    return (get_model_state_dict(model, submodules=submodules, options=options),
            get_optimizer_state_dict(model, optimizers, submodules=submodules, options=options))


def set_state_dict(model: Module, optimizers: Any, *, model_state_dict: dict[str, Any], optim_state_dict: dict[str, Any],
                   options: StateDictOptions | None = None) -> Any:
    """Load the state dicts of a model and its optimizers. See torch.distributed.checkpoint.state_dict.set_state_dict."""
    if optim_state_dict:
        set_optimizer_state_dict(model, optimizers, optim_state_dict, options=options)
    return set_model_state_dict(model, model_state_dict, options=options)
