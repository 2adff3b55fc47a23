"""PyTorch's paths of functions, such as ``torch._C._nn.gelu``, for generated code and names of nodes.

A function that PyTorch has under several paths is one object, whose path is the place of its definition.
"""
from __future__ import annotations

import builtins
import functools
import sys
import types
from collections.abc import Callable
from typing import Any

# PyTorch defines these functions of torch.nn.functional in C++.
_NN = ("avg_pool2d avg_pool3d elu_ gelu hardtanh_ leaky_relu_ linear one_hot scaled_dot_product_attention softplus "
       "softshrink").split()
_NN_RENAMED = {"logsigmoid": "log_sigmoid"}
_ALSO_TORCH = ("adaptive_avg_pool1d avg_pool1d bilinear celu_ channel_shuffle conv1d conv2d conv3d conv_tbc conv_transpose1d "
               "conv_transpose2d conv_transpose3d cosine_similarity hardshrink native_channel_shuffle pairwise_distance pdist "
               "pixel_shuffle pixel_unshuffle prelu relu_ rrelu_ selu_ threshold_").split()
# PyTorch defines these functions of torch in Python, in torch/functional.py and elsewhere.
_PYTHON = {**dict.fromkeys(("atleast_1d atleast_2d atleast_3d block_diag broadcast_tensors cartesian_prod cdist chain_matmul "
                            "einsum lu meshgrid norm split stft tensordot unique unique_consecutive unravel_index").split(),
                           "torch.functional"),
           "lobpcg": "torch._lobpcg", "pca_lowrank": "torch._lowrank", "svd_lowrank": "torch._lowrank"}
# The names in these modules have the module's name as a prefix: torch._C._linalg.linalg_norm.
_PREFIXED = ("linalg", "fft", "special")

def _functions(space: Any) -> list[tuple[str, types.FunctionType]]:
    return [(n, f) for n, f in vars(space).items() if isinstance(f, types.FunctionType) and not n.startswith("__")]

@functools.cache
def _tables() -> tuple[dict[Callable, str], dict[str, Callable]]:
    """Return the path of each function, and the function of each path."""
    torch = sys.modules["jtorch"]
    paths: dict[Callable, str] = {}
    places: dict[str, Callable] = {}

    def found(f: Callable, path: str) -> None:
        places.setdefault(path, f)
        paths.setdefault(f, path)

    for name, f in _functions(torch.nn.functional):
        if name in _NN or name in _NN_RENAMED:
            found(f, f"torch._C._nn.{_NN_RENAMED.get(name, name)}")
        elif name not in _ALSO_TORCH:
            found(f, f"torch.nn.functional.{name}")
    of_torch = {f for _, f in _functions(torch)}
    for kind in _PREFIXED:
        for name, f in _functions(getattr(torch, kind)):
            if f not in of_torch:
                found(f, f"torch._C._{kind}.{kind}_{name}")
    for name, f in _functions(torch):
        found(f, f"{_PYTHON.get(name, 'torch')}.{name}")
    for name, f in _functions(torch.nn.init):
        if not name.startswith("_"):
            found(f, f"torch.nn.init.{name}")
    return paths, places

def is_python(f: Callable) -> bool:
    """Return whether PyTorch defines a function in Python, so that its calls have normalized arguments."""
    path = path_of(f) or ""
    return path.startswith("torch.nn.functional.") or path.rpartition(".")[0] in _PYTHON.values()

def path_of(f: Any) -> str | None:
    """Return PyTorch's path of one of its functions; None for other objects."""
    return _tables()[0].get(f) if isinstance(f, types.FunctionType) else None

def module_name(thing: Any) -> str | None:
    """Return the ``__module__`` of an object, in PyTorch's name."""
    name = getattr(thing, "__module__", None)
    if isinstance(name, str) and (name == "jtorch" or name.startswith("jtorch.")):
        return name[1:]
    return name if isinstance(name, str) else None

def is_from_torch(thing: Any) -> bool:
    """Return whether generated code finds an object under ``torch``."""
    name = module_name(thing)
    return path_of(thing) is not None or (name is not None and name.split(".")[0] == "torch" and "_dynamo" not in name)

def qualified_name(f: Any) -> str:
    """Return the source of a function or class in generated code."""
    name = getattr(f, "__name__", None) or type(f).__name__
    if getattr(builtins, name, None) is f:
        return name
    path = path_of(f)
    if path is not None:
        return path
    torch = sys.modules["jtorch"]
    if getattr(torch.Tensor, name, None) is f:
        return f"torch.Tensor.{name}"
    if getattr(torch, name, None) is f:
        return f"torch.{name}"
    if name == "<lambda>":
        name = _lambda_source(f)
    module = module_name(f)
    if module is None:
        raise RuntimeError(f"cannot find module for {f}")
    return f"{module.replace('torch._ops', 'torch.ops')}.{name}"

def _lambda_source(f: Callable) -> str:
    """Return the source of a lambda's statement up to the first ``=``, which PyTorch uses in place of a name."""
    import inspect
    try:
        return inspect.getsource(f).split("=")[0].strip()
    except OSError as error:
        raise RuntimeError("Unable to represent lambda") from error

class Spelled:
    """The object ``torch`` of generated code, with PyTorch's paths of functions and the package's other names."""

    def __init__(self, path: str, module: Any):
        self.__dict__["_spelled"] = path, module

    def __getattr__(self, name: str) -> Any:
        path, module = self._spelled
        places, full = _tables()[1], f"{path}.{name}"
        if full in places:
            return places[full]
        there = getattr(module, name, None)
        if any([p.startswith(f"{full}.") for p in places]):
            return Spelled(full, there)
        return there if there is not None else getattr(module, name)

    def __reduce__(self):
        return torch_in_code, ()

@functools.cache
def torch_in_code() -> Any:
    """Return the object that generated code knows as ``torch``."""
    return Spelled("torch", sys.modules["jtorch"])
