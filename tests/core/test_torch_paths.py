"""jtorch imported as torch has PyTorch's names for modules, classes and functions, and its module paths."""
import json
import pickle
from pathlib import Path

import pytest

pytestmark = pytest.mark.one_mode
TABLE = Path(__file__).resolve().parents[2] / "jtorch" / "_import_hook" / "paths.json"
START = "import jtorch._import_hook; jtorch._import_hook.install()\n"
SHOWN = """
import inspect, pickle, sys
import torch, torch.nn as nn
from torch.distributions.multivariate_normal import Distribution
from torch.nn.parallel.distributed import DistributedDataParallel
from torch.optim.adam import Adam, Optimizer
from torch.optim.lr_scheduler import StepLR
import torch.utils.data.dataset
for thing in (torch.Tensor, nn.Linear, nn.Parameter, Adam, Optimizer, StepLR, Distribution, torch.distributions.Normal, torch.Size,
              torch.utils.data.DataLoader, torch.autograd.Function, DistributedDataParallel, torch.device, torch.dtype,
              torch.nn.init.xavier_uniform_, torch.nn.functional.cross_entropy, torch.utils.checkpoint.checkpoint, torch.no_grad):
    print(thing.__module__, thing.__qualname__)
for module in (torch, torch.nn, torch.nn.functional, torch.optim, torch.distributions, torch.utils.data, torch.nn.modules.linear):
    print(module.__name__)
print(torch.typename(torch.ones(1)), torch.typename(nn.Linear(1, 1)), sys.modules["torch.optim.adam"].Adam is torch.optim.Adam)
print(torch.nn.modules.linear.F is torch.nn.functional, hasattr(torch, "no_such_name"), hasattr(torch.nn, "no_such_name"))
net = pickle.loads(pickle.dumps(nn.Sequential(nn.Linear(1, 2), nn.ReLU())))
print(net, type(net[0]) is nn.Linear, inspect.getsource(nn.Linear).split(":")[0])
for path in ("torch.no_such_module", "torch.nn.no_such_module"):
    try:
        __import__(path)
    except ModuleNotFoundError as error:
        print(error.name)
"""


def test_names_are_pytorchs(run_python, torch):
    assert run_python(START + SHOWN) == run_python(SHOWN)


def test_pickles_go_both_ways(run_python, tmp_path):
    before, after = tmp_path / "before", tmp_path / "after"
    made = ("torch.nn.Sequential(torch.nn.Linear(2, 2)), torch.float32, torch.add, torch.distributions.Normal(0.0, 1.0), "
            "torch.ones(2)")
    run_python(f"import jtorch as torch, pickle; pickle.dump([{made}], open({str(before)!r}, 'wb'))")
    shown = run_python(f"""{START}
import torch, pickle
things = pickle.load(open({str(before)!r}, 'rb'))
assert type(things[0]) is torch.nn.Sequential and things[2] is torch.add
pickle.dump(things, open({str(after)!r}, 'wb'))
torch.save(things[0], {str(tmp_path / 'saved')!r})
print(pickle.load(open({str(after)!r}, 'rb'))[3:])""")
    assert shown == "[Normal(loc: 0.0, scale: 1.0), tensor([1., 1.])]\n"
    import jtorch
    assert isinstance(jtorch.load(tmp_path / "saved", weights_only=False), jtorch.nn.Sequential)
    assert b"torch.nn.modules.container" in after.read_bytes()


def test_installing_twice_changes_nothing(run_python):
    assert run_python(f"""{START}{START}
import sys, torch
from jtorch._import_hook.paths import NamingFinder
print(sum(isinstance(f, NamingFinder) for f in sys.meta_path), torch.nn.Linear.__module__)""") == "1 torch.nn.modules.linear\n"


def test_without_it_names_are_our_own():
    import jtorch
    assert jtorch.__name__ == "jtorch"
    assert jtorch.nn.Linear.__module__ == "jtorch.nn.modules.linear"
    assert pickle.loads(pickle.dumps(jtorch.nn.Linear)) is jtorch.nn.Linear


def _there(module, name):
    return name in vars(module) or hasattr(module, name)


def test_what_the_table_names_is_pytorchs(torch):
    """Each ``__module__`` in the table is PyTorch's, and each name is in PyTorch's module."""
    import importlib
    table = json.loads(TABLE.read_text())
    for spaces in table["spaces"].items():
        path, names = spaces
        module = importlib.import_module(f"torch.{path}" if path else "torch")
        assert [n for n in names if not _there(module, n)] == [], path
    for path, homes in table["homes"].items():
        if path == "serialization.rebuild":     # jtorch has these functions in one module, PyTorch in several.
            homes, path = {home: names for home, names in homes.items() if home == "_utils"}, "_utils"
        module = importlib.import_module(f"torch.{path}" if path else "torch")
        for home, names in homes.items():
            said = {n: getattr(getattr(module, n), "__module__", None) for n in names.split()}
            wrong = {n: s for n, s in said.items() if isinstance(s, str) and s != (f"torch.{home}" if home else "torch")}
            assert all(s.startswith("torch.") or s == "torch" for s in wrong.values()), (path, home, wrong)


def test_what_the_table_names_is_here():
    import importlib
    table = json.loads(TABLE.read_text())
    for path, names in table["spaces"].items():
        for name, place in names.items():
            where, _, what = place.partition(":")
            module = importlib.import_module(f"jtorch.{where}" if where else "jtorch")
            assert not what or hasattr(module, what), (path, name, place)


@pytest.mark.parametrize("path", ["nn.modules.linear", "optim.adam", "distributions.normal", "utils.data.dataset"])
def test_paths_are_in_the_table(path):
    table = json.loads(TABLE.read_text())
    assert path in table["own"] or path in table["spaces"]
