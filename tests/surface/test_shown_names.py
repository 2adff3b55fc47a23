"""Public modules show PyTorch's classes and names, and documented additions."""
from __future__ import annotations

import importlib
import importlib.util
import json
import textwrap
import warnings

import pytest

import jtorch

BESIDE = {"torch": {"engine", "from_jax"}, "torch.optim": {"Optax"},
          "torch.utils.viz": {"Graph", "ModelSummary", "graph", "summary"}}
CORE = {"Aval", "SampleView", "SavedTensorRef", "VersionCounter", "View"}         # jtorch's own classes in torch.storage.
# PyTorch's classes with an underscore, by module of torch.nn.modules.
UNDERSCORED = {
    "activation": [], "adaptive": ["_ASMoutput"], "batchnorm": ["_BatchNorm", "_LazyNormBase", "_NormBase"],
    "channelshuffle": [], "container": [], "conv": ["_ConvNd", "_ConvTransposeMixin", "_ConvTransposeNd", "_LazyConvXdMixin"],
    "distance": [], "dropout": ["_DropoutNd"], "flatten": [], "fold": [], "instancenorm": ["_InstanceNorm"],
    "linear": [], "loss": ["_Loss", "_WeightedLoss"], "module": ["_IncompatibleKeys", "_WrappedHook"], "normalization": [],
    "padding": ["_CircularPadNd", "_ConstantPadNd", "_ReflectionPadNd", "_ReplicationPadNd"], "pixelshuffle": [],
    "pooling": ["_AdaptiveAvgPoolNd", "_AdaptiveMaxPoolNd", "_AvgPoolNd", "_LPPoolNd", "_MaxPoolNd", "_MaxUnpoolNd"],
    "rnn": [], "sparse": [], "transformer": [], "upsampling": [],
}
# Other modules import these classes of PyTorch.
BASES = {"LazyModuleMixin", "NonDynamicallyQuantizableLinear", "RNNBase", "RNNCellBase", "_BatchNorm", "_LazyNormBase",
         "_NormBase"}


@pytest.mark.parametrize("name", UNDERSCORED)
def test_classes_of_modules(name):
    """A package that collects the classes of a module finds no helpers of jtorch."""
    module = importlib.import_module(f"jtorch.nn.modules.{name}")
    found = [n for n, thing in vars(module).items() if isinstance(thing, type) and n[0] == "_"]
    assert set(found) <= set(UNDERSCORED[name]) | BASES
    kinds = [n for n, thing in vars(module).items() if isinstance(thing, type) and issubclass(thing, jtorch.nn.Module)]
    assert [n for n in kinds if not hasattr(jtorch.nn, n) and n not in UNDERSCORED[name] and n not in BASES] == []


def test_namespaces():
    """These are no names of the namespace: methods' in-place functions, operators, and parts of this package."""
    absent = ("cumsum_", "mul_", "add_", "tril_", "scatter_", "zero", "annotations", "dispatch", "speedups", "tape", "ops_",
              "native_dropout_backward", "get_printoptions", "UInt16Tensor")
    assert [n for n in absent if hasattr(jtorch, n)] == []
    assert [n for n in ("silu_", "mish_", "tanh_", "sigmoid_") if hasattr(jtorch.nn.functional, n)] == []
    methods = ("fill", "zero", "fill_diagonal", "movedim_", "var_mean", "combinations", "names", "__imatmul__")
    assert [n for n in methods if hasattr(jtorch.Tensor, n)] == []
    assert [n for n in ("sys", "optimizer", "_module", "annotations") if n in dir(jtorch.optim)] == []
    assert {"abs_", "relu_", "distributions", "compile", "Tensor", "from_jax"} <= set(dir(jtorch))
    assert not {"_api", "_base", "_sys", "__getattr__"} & set(dir(jtorch))


def listed(run_python):
    """Return the names of ``dir`` and the classes of each public module, in a process with jtorch as torch."""
    printed = run_python(textwrap.dedent("""
        import importlib, json, sys, warnings
        from jtorch import _import_hook
        _import_hook.install()
        warnings.simplefilter("ignore")
        import torch
        table = json.loads(_import_hook.paths.TABLE.read_text())
        names = {"torch", *[f"torch.{path}" for path in (*table["own"], *table["hidden"], *table["spaces"]) if path]}
        found = {}
        for name in sorted(n for n in names if "._" not in n):
            try:
                module = importlib.import_module(name)
            except ImportError:
                continue
            ours = [n for n, thing in vars(module).items() if isinstance(thing, type)
                    and str(thing.__module__).split(".")[0] in ("torch", "jtorch")]
            found[name] = dir(module), ours
        print(json.dumps(found))
        """))
    return json.loads(printed)


def is_module(name):
    """Return whether PyTorch has a module of this name. It becomes an attribute once imported."""
    try:
        return importlib.util.find_spec(name) is not None
    except ModuleNotFoundError:
        return False


def test_every_public_module(torch, run_python):
    """``dir`` of each module lists PyTorch's names only, and every class exists in PyTorch."""
    names, classes, public = {}, {}, set()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        found = {name: (importlib.import_module(name), *rest) for name, rest in listed(run_python).items()}
        for theirs, *_ in found.values():
            public.update(n for n, thing in vars(theirs).items() if isinstance(thing, type))
    for name, (theirs, shown, kinds) in found.items():
        beside = {*dir(theirs), *BESIDE.get(name, ()), *(CORE if name == "torch.storage" else ())}
        names[name] = [n for n in shown if n not in beside and not n.startswith("__") and not is_module(f"{name}.{n}")]
        classes[name] = [n for n in kinds if n not in beside and n not in public]
    assert [(name, n) for name, extra in names.items() for n in extra] == [], "run python -m tools.torch_paths"
    assert [(name, n) for name, extra in classes.items() for n in extra] == []
