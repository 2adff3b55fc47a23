"""Where torch.distributed has its names: packages import them from the modules that PyTorch has them in."""
from __future__ import annotations

import importlib
from pathlib import Path

import pytest
from libraries import HAS_TORCH, NO_TORCH

import jtorch.distributed

ROOT = Path(jtorch.distributed.__file__).parent
FULLY_SHARDED = """FullOptimStateDictConfig FullStateDictConfig FullyShardedDataParallel ShardedOptimStateDictConfig
    ShardedStateDictConfig ShardingStrategy StateDictType BackwardPrefetch CPUOffload MixedPrecision""".split()


def deferred():
    """The modules of torch.distributed whose names lie elsewhere in the package, with those names."""
    for file in sorted(ROOT.rglob("*.py")):
        path = ".".join(file.relative_to(ROOT.parent).with_suffix("").parts).removesuffix(".__init__")
        if "import names" in file.read_text() and file.name != "later.py":
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
