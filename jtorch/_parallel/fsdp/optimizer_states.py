"""State dicts of optimizers of FullyShardedDataParallel: by parameter names or numbers, of whole tensors or shards."""
from __future__ import annotations

from typing import Any

import jtorch.distributed as dist
from jtorch._parallel.create import distribute_tensor
from jtorch._parallel.dtensor import DTensor
from jtorch._parallel.fsdp.configs import FullOptimStateDictConfig, OptimStateKeyType, StateDictSettings, StateDictType
from jtorch._parallel.full_tensor import full_tensor
from jtorch.nn.modules.module import Module
from jtorch.no_grad import no_grad
from jtorch.tensor import Tensor

States = dict[str, Any]


def settings(model: Module) -> StateDictSettings:
    """Return the state dict settings of a model; AssertionError if its modules differ."""
    found = [m._settings for m in model.modules() if isinstance(getattr(m, "_settings", None), StateDictSettings)]
    if any(one != found[0] for one in found):
        raise AssertionError("All FSDP modules must have the same state dict settings."
                             f"Got {found}.")
    return found[0] if found else StateDictSettings()


def _params(optim: Any) -> list[Tensor]:
    return [p for group in optim.param_groups for p in group["params"]]


def _names(model: Module) -> dict[int, str]:
    return {id(p): name.replace("_fsdp_wrapped_module.", "") for name, p in model.named_parameters()}


def _by_name(model: Module, optim: Any, given: States | None) -> States:
    """Return the state dict of an optimizer with parameter names in place of numbers."""
    names, params = _names(model), _params(optim)
    called = [names[id(p)] for p in params]
    if given is None:
        given = optim.state_dict()
    if any(isinstance(key, str) for key in given["state"]):
        return given
    groups = [{**group, "params": [called[i] for i in group["params"]]} for group in given["param_groups"]]
    return {"state": {called[i]: dict(state) for i, state in given["state"].items()}, "param_groups": groups}


def _wholes(states: States) -> States:
    with no_grad():
        made = {name: {k: full_tensor(v) if isinstance(v, DTensor) else v for k, v in state.items()}
                for name, state in states["state"].items()}
    return {**states, "state": made}


def _is_first() -> bool:
    return not dist.is_initialized() or dist.get_rank() == 0


def optim_state_dict(model: Module, optim: Any, optim_state_dict: States | None = None, group: Any = None) -> States:
    """Return an optimizer's state dict by parameter names, of whole tensors unless the model's settings ask for shards.

    With ``rank0_only`` in the settings other ranks get an empty dict. See FullyShardedDataParallel.optim_state_dict.
    """
    found, kept = settings(model), _by_name(model, optim, optim_state_dict)
    if found.state_dict_type is not StateDictType.FULL_STATE_DICT:
        return kept
    made, config = _wholes(kept), found.optim_state_dict_config
    only_first = isinstance(config, FullOptimStateDictConfig) and config.rank0_only
    return made if _is_first() or not only_first else {}


def full_optim_state_dict(model: Module, optim: Any, optim_input: Any = None, rank0_only: bool = True,
                          group: Any = None) -> States:
    """Return an optimizer's state dict by names, of whole tensors. See FullyShardedDataParallel.full_optim_state_dict."""
    made = _wholes(_by_name(model, optim, None))
    return made if _is_first() or not rank0_only else {}


def sharded_optim_state_dict(model: Module, optim: Any, group: Any = None) -> States:
    """Return an optimizer's state dict by names, of shards. See FullyShardedDataParallel.sharded_optim_state_dict."""
    return _by_name(model, optim, None)


def optim_state_dict_to_load(model: Module, optim: Any, optim_state_dict: States, is_named_optimizer: bool = False,
                             load_directly: bool = False, group: Any = None) -> States:
    """Convert a state dict by names to the argument of ``optim.load_state_dict``; with ``load_directly`` load it too.

    Whole tensors are sharded as their parameters are. See FullyShardedDataParallel.optim_state_dict_to_load.
    """
    names, params = _names(model), _params(optim)
    number = {names[id(p)]: i for i, p in enumerate(params)}
    state = {number[name]: {k: _like(v, params[number[name]]) for k, v in kept.items()}
             for name, kept in optim_state_dict["state"].items() if name in number}
    groups = [{**group, "params": [number[name] for name in group["params"]]} for group in optim_state_dict["param_groups"]]
    made = {"state": state, "param_groups": groups}
    if load_directly:
        optim.load_state_dict(made)
    return made


def _like(value: Any, param: Any) -> Any:
    """Shard a whole state tensor as its parameter is; return other values unchanged."""
    is_whole = isinstance(value, Tensor) and not isinstance(value, DTensor)
    if not is_whole or not isinstance(param, DTensor) or value.shape != param.shape:
        return value
    with no_grad():
        return distribute_tensor(value.detach(), param.device_mesh, param.placements, src_data_rank=None)


def shard_full_optim_state_dict(full_optim_state_dict: States, model: Module, optim_input: Any = None,
                                optim: Any = None) -> States:
    """Return the argument of ``optim.load_state_dict``. See FullyShardedDataParallel.shard_full_optim_state_dict."""
    return optim_state_dict_to_load(model, _required(optim), full_optim_state_dict)


def flatten_sharded_optim_state_dict(sharded_optim_state_dict: States, model: Module, optim: Any) -> States:
    """Return the argument of ``optim.load_state_dict``. See FullyShardedDataParallel.flatten_sharded_optim_state_dict."""
    return optim_state_dict_to_load(model, optim, sharded_optim_state_dict)


def scatter_full_optim_state_dict(full_optim_state_dict: States | None, model: Module, optim_input: Any = None, optim: Any = None,
                                  group: Any = None) -> States:
    """Return the argument of ``optim.load_state_dict`` from the first rank's state dict.

    See FullyShardedDataParallel.scatter_full_optim_state_dict.
    """
    found: list[Any] = [full_optim_state_dict]
    if dist.is_initialized():
        dist.broadcast_object_list(found, group=group, group_src=0)
    return optim_state_dict_to_load(model, _required(optim), found[0])


def rekey_optim_state_dict(optim_state_dict: States, optim_state_key_type: OptimStateKeyType, model: Module,
                           optim_input: Any = None, optim: Any = None) -> States:
    """Replace numbers by names, or names by numbers, in a state dict.

    See FullyShardedDataParallel.rekey_optim_state_dict.
    """
    names = _names(model)
    params = list(model.parameters()) if optim is None else _params(optim)
    pairs = [(i, names[id(p)]) for i, p in enumerate(params)]
    keys: dict[Any, Any] = dict(pairs) if optim_state_key_type is OptimStateKeyType.PARAM_NAME else {name: i for i, name in pairs}
    groups = [{**group, "params": sorted(keys.get(key, key) for key in group["params"])}
              for group in optim_state_dict["param_groups"]]
    return {"state": {keys.get(key, key): state for key, state in optim_state_dict["state"].items()}, "param_groups": groups}


def _required(optim: Any) -> Any:
    if optim is None:
        raise NotImplementedError("FullyShardedDataParallel: parameters without their optimizer (optim_input) are not built; "
                                  "give optim")
    return optim
