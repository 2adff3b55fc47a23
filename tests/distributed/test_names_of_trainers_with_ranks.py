"""Names of torch.distributed that packages use: they work in one process, or raise NotImplementedError."""
from __future__ import annotations

import importlib
import socket

import pytest

import jtorch as torch


def place(path):
    return importlib.import_module(f"jtorch.distributed.{path}")


@pytest.fixture
def model():
    """Return a model with parameters sharded over this process's devices, and its optimizer after one step."""
    fsdp = place("fsdp").FullyShardedDataParallel
    torch.manual_seed(0)
    net = fsdp(torch.nn.Sequential(torch.nn.Linear(3, 4), torch.nn.Linear(4, 2)))
    optimizer = torch.optim.Adam(net.parameters(), lr=0.1)
    net(torch.ones(2, 3)).sum().backward()
    optimizer.step()
    return net, optimizer


NAMES = ["0.weight", "0.bias", "1.weight", "1.bias"]


def test_states_of_optimizers_by_name(model):
    net, optimizer = model
    fsdp = place("fsdp")
    kind = fsdp.FullyShardedDataParallel
    states = kind.optim_state_dict(net, optimizer)
    assert list(states["state"]) == states["param_groups"][0]["params"] == NAMES
    assert type(states["state"]["0.weight"]["exp_avg"]) is torch.Tensor and states["state"]["0.weight"]["exp_avg"].shape == (4, 3)
    with kind.state_dict_type(net, fsdp.StateDictType.SHARDED_STATE_DICT):
        parts = kind.optim_state_dict(net, optimizer)
        assert isinstance(parts["state"]["0.weight"]["exp_avg"], place("tensor").DTensor)
        assert isinstance(kind.get_state_dict_type(net).optim_state_dict_config, fsdp.ShardedOptimStateDictConfig)
    assert kind.get_state_dict_type(net) == fsdp.StateDictSettings()
    numbered = kind.optim_state_dict(net, optimizer, optimizer.state_dict())
    assert torch.equal(numbered["state"]["1.bias"]["exp_avg"], states["state"]["1.bias"]["exp_avg"])


def test_states_of_optimizers_are_loaded(model):
    net, optimizer = model
    kind = place("fsdp").FullyShardedDataParallel
    states = kind.full_optim_state_dict(net, optimizer)
    doubled = {"state": {name: {k: v * 2 if k == "exp_avg" else v for k, v in state.items()} for name, state in states["state"].items()},
               "param_groups": states["param_groups"]}
    for load in (lambda: optimizer.load_state_dict(kind.optim_state_dict_to_load(net, optimizer, doubled)),
                 lambda: kind.optim_state_dict_to_load(net, optimizer, states, load_directly=True),
                 lambda: optimizer.load_state_dict(kind.shard_full_optim_state_dict(doubled, net, optim=optimizer)),
                 lambda: optimizer.load_state_dict(kind.scatter_full_optim_state_dict(states, net, optim=optimizer)),
                 lambda: optimizer.load_state_dict(kind.flatten_sharded_optim_state_dict(
                     kind.sharded_optim_state_dict(net, optimizer), net, optimizer))):
        load()
        first = next(iter(optimizer.param_groups[0]["params"]))
        assert isinstance(optimizer.state[first]["exp_avg"], place("tensor").DTensor)
    now = kind.full_optim_state_dict(net, optimizer)
    assert torch.equal(now["state"]["0.bias"]["exp_avg"], states["state"]["0.bias"]["exp_avg"])
    with pytest.raises(NotImplementedError, match="give optim"):
        kind.shard_full_optim_state_dict(states, net)


def test_names_and_numbers_of_parameters(model):
    net, optimizer = model
    fsdp = place("fsdp")
    kind = fsdp.FullyShardedDataParallel
    states = kind.optim_state_dict(net, optimizer)
    numbered = kind.rekey_optim_state_dict(states, fsdp.OptimStateKeyType.PARAM_ID, net)
    assert (list(numbered["state"]), numbered["param_groups"][0]["params"]) == ([0, 1, 2, 3], [0, 1, 2, 3])
    named = kind.rekey_optim_state_dict(numbered, fsdp.OptimStateKeyType.PARAM_NAME, net, optim=optimizer)
    assert list(named["state"]) == NAMES and sorted(NAMES) == named["param_groups"][0]["params"]


def test_settings_of_state_dicts_fit_their_type(model):
    fsdp = place("fsdp")
    with pytest.raises(RuntimeError, match="Expected state_dict_config of type .*FullStateDictConfig.* but got .*ShardedStateDictConfig"):
        fsdp.FullyShardedDataParallel.set_state_dict_type(model[0], fsdp.StateDictType.FULL_STATE_DICT, fsdp.ShardedStateDictConfig())
    assert fsdp.FullyShardedDataParallel.fsdp_modules(model[0], root_only=True) == [model[0]]
    assert place("_composable_state")._get_module_state(model[0].module) is not None
    assert place("_composable_state")._get_module_state(torch.nn.Linear(1, 1)) is None


@pytest.fixture
def at(xp):
    """Return a module of torch.distributed of the library under test."""
    return lambda path: importlib.import_module(f"{xp.__name__}.distributed.{path}")


def test_wrapping(xp, at):
    wrap, layer = at("fsdp.wrap"), xp.nn.Linear(1, 1)
    assert wrap.wrap(layer) is layer

    class Wrapper(xp.nn.Module):
        def __init__(self, module, a=0, b=0):
            super().__init__()
            self.module, self.given = module, (a, b)
    with wrap.enable_wrap(wrapper_cls=Wrapper, a=1, b=2):
        made = wrap.wrap(layer, b=3)
        with pytest.raises(NotImplementedError, match="already within an autowrap context"), wrap.enable_wrap(wrapper_cls=Wrapper):
            pass
    assert (made.module is layer, made.given, wrap.wrap(layer) is layer) == (True, (1, 3), True)


def test_a_policy_of_ones_own():
    policy = place("fsdp.wrap").CustomPolicy
    wants = policy(lambda m: isinstance(m, torch.nn.Linear))
    assert [wants(torch.nn.Linear(1, 1), recurse=False), wants(torch.nn.ReLU(), recurse=False), wants(torch.nn.ReLU(), recurse=True)] == [
        True, False, True]
    with pytest.raises(ValueError, match="should return False/True or a kwarg dict, but it returned 3"):
        policy(lambda m: 3)(torch.nn.ReLU(), recurse=False)
    with pytest.raises(NotImplementedError, match="options of a module are not built"):
        policy(lambda m: {"a": 1})(torch.nn.ReLU(), recurse=False)


def test_names_without_wrappers(at):
    clean = at("fsdp._common_utils").clean_tensor_name
    assert clean("_fsdp_wrapped_module.a._checkpoint_wrapped_module.weight") == "a.weight"


def test_streams_of_processes(at):
    std = at("elastic.multiprocessing").Std
    assert (std.from_str("3"), std.from_str("0:3,1:0"), std.OUT | std.ERR) == (std.ALL, {0: std.ALL, 1: std.NONE}, std.ALL)


def test_free_ports(at):
    with at("elastic.utils.distributed").get_socket_with_port() as taken:
        assert isinstance(taken, socket.socket) and taken.getsockname()[1] > 0


def test_groups_of_no_job(xp, at):
    c10d = at("distributed_c10d")
    assert (c10d._world.default_pg, xp.distributed.GroupMember.WORLD, xp.distributed.group.WORLD) == (None, None, None)
    assert dict(c10d._pg_map) == dict(c10d._world.pg_names) == {}
    with pytest.raises(ValueError, match="Default process group has not been initialized"):
        c10d._get_default_store()


def test_objects_as_tensors(at, xp):
    c10d = at("distributed_c10d")
    data, size = c10d._object_to_tensor({"a": [1, 2]}, "cpu", None)
    assert (data.dtype, size.tolist()) == (xp.uint8, [data.numel()])
    assert c10d._tensor_to_object(data, size, None) == {"a": [1, 2]}


@pytest.mark.filterwarnings("ignore:torch.distributed is disabled")
def test_old_names_of_checkpoints(xp, at, tmp_path):
    checkpoint = at("checkpoint")
    with pytest.warns(FutureWarning, match="`save_state_dict` is deprecated"):
        checkpoint.save_state_dict({"x": xp.arange(3)}, checkpoint.FileSystemWriter(tmp_path), no_dist=True)
    found = {"x": xp.zeros(3, dtype=xp.int64)}
    with pytest.warns(FutureWarning, match="`load_state_dict` is deprecated"):
        checkpoint.load_state_dict(found, checkpoint.FileSystemReader(tmp_path), no_dist=True)
    assert found["x"].tolist() == [0, 1, 2]


def test_a_module_and_a_function_of_one_name(at):
    function = at("_composable.fsdp.fully_shard").fully_shard
    assert at("_composable.fsdp").fully_shard is function is at("fsdp").fully_shard


@pytest.mark.parametrize("path", [
    "ProcessGroupGloo", "optim:DistributedOptimizer", "_tensor.placement_types:DTensorSpec", "tensor._dtensor_spec:TensorMeta",
    "fsdp._runtime_utils:_root_pre_forward", "fsdp._flat_param:FlatParamHandle", "checkpoint.storage:StorageWriter", "split_group",
    "distributed_c10d:_new_process_group_helper"])
def test_what_is_not_built_says_so(path):
    where, _, name = path.rpartition(":")
    found = getattr(place(where) if where else torch.distributed, name)
    with pytest.raises(NotImplementedError, match=rf"{name} is not built"):
        found()
