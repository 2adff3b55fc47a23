"""torch.distributed has its names in PyTorch's modules, where packages import them."""
from __future__ import annotations

import functools
import importlib
from pathlib import Path

import pytest
from libraries import HAS_TORCH, NO_TORCH, library

import jtorch.distributed

ROOT = Path(jtorch.distributed.__file__).parent
FULLY_SHARDED = """FullOptimStateDictConfig FullStateDictConfig FullyShardedDataParallel ShardedOptimStateDictConfig
    ShardedStateDictConfig ShardingStrategy StateDictType BackwardPrefetch CPUOffload MixedPrecision""".split()


def deferred():
    """Return the modules of torch.distributed with lazy names, and these names."""
    for file in sorted(ROOT.rglob("*.py")):
        path = ".".join(file.relative_to(ROOT.parent).with_suffix("").parts).removesuffix(".__init__")
        if "import lazy_getattr" in file.read_text() and file.name != "lazy_exports.py":
            yield path, importlib.import_module(f"jtorch.{path}").__getattr__.names


@pytest.mark.parametrize("name", FULLY_SHARDED)
def test_fully_sharded_data_parallel_is_one_class_in_both_places(name):
    place = importlib.import_module("jtorch.distributed.fsdp.fully_sharded_data_parallel")
    assert getattr(place, name) is getattr(importlib.import_module("jtorch.distributed.fsdp"), name)


@pytest.mark.skipif(not HAS_TORCH, reason=NO_TORCH)
@pytest.mark.parametrize(("path", "names"), list(deferred()), ids=lambda value: value if isinstance(value, str) else "")
def test_modules_have_the_names_of_pytorchs(path, names):
    theirs = importlib.import_module(f"torch.{path}")
    ours = importlib.import_module(f"jtorch.{path}")
    assert [n for n in names if not hasattr(theirs, n)] == []
    assert [n for n in names if not hasattr(ours, n)] == []


LACKING = """checkpoint.planner:ReadItem
    checkpoint.format_utils:dcp_to_torch_save""".split()


@pytest.mark.parametrize("path", LACKING)
def test_what_packages_import_but_is_not_built_says_so_when_it_is_called(path):
    place, _, name = path.partition(":")
    found = getattr(importlib.import_module(f"jtorch.distributed.{place}"), name)
    with pytest.raises(NotImplementedError, match=rf"torch\.distributed\.{place}\.{name} is not built\. \w+"):
        found()


def policies(xp):
    wrap = importlib.import_module(f"{xp.__name__}.distributed.fsdp.wrap")
    linear, relu = xp.nn.Linear(2, 2), xp.nn.ReLU()
    classes = wrap.ModuleWrapPolicy({xp.nn.Linear})
    big = functools.partial(wrap.size_based_auto_wrap_policy, min_num_params=5)
    either = functools.partial(wrap._or_policy, policies=[classes, big])
    return [policy(module=m, recurse=recurse, nonwrapped_numel=6 if m is linear else 0)
            for policy in (classes, either) for m in (linear, relu) for recurse in (False, True)]


def test_policies_choose_the_modules_that_pytorchs_choose():
    assert policies(library("jtorch")) == [i not in (2, 6) for i in range(8)]
    if HAS_TORCH:
        assert policies(library("torch")) == policies(library("jtorch"))
