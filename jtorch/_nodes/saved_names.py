"""PyTorch's attributes of nodes for what they saved, such as ``y.grad_fn._saved_self`` and ``_saved_dim``.

The values come from the node's call and its arguments. ``_TABLE`` lists PyTorch's attributes of many nodes. Other nodes show
the tensors that their derivative uses, under the names of the op's parameters.
"""
from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any

import numpy as np

from jtorch import engine
from jtorch._base import late_bindings
from jtorch._nodes.version_errors import FREED
from jtorch.engine import Value
from jtorch.ops.registry import OPS, Marker, T, thaw
from jtorch.speedups.constants import LEAF

# Maps a node's name to its attributes. ``name=parameter`` gives the op's own name of the parameter. ``*`` marks a tuple.
_TABLE = {
    "AddBackward0": "alpha", "SubBackward0": "alpha", "MulBackward0": "other self", "DivBackward0": "other self",
    "PowBackward0": "exponent self", "PowBackward1": "exponent result self",
    "SumBackward0": "self_sym_sizes", "SumBackward1": "dim* keepdim self_sym_sizes",
    "MeanBackward0": "self_sym_numel self_sym_sizes", "MeanBackward1": "dim* keepdim self_sym_numel self_sym_sizes",
    "ProdBackward0": "result self", "CumsumBackward0": "dim", "VarBackward0": "self", "StdBackward0": "result self",
    "LinalgVectorNormBackward0": "result self", "LogsumexpBackward0": "dim* keepdim result self",
    "MaxBackward1": "result self", "MinBackward1": "result self",
    "MaxBackward0": "dim indices keepdim self_sym_sizes", "MinBackward0": "dim indices keepdim self_sym_sizes",
    "SortBackward0": "dim indices self_sym_sizes", "TopkBackward0": "dim indices self_sym_sizes",
    "MmBackward0": "mat2=other self", "BmmBackward0": "mat2 self", "DotBackward0": "self tensor=other",
    "AddmmBackward0": "alpha beta mat1 mat2",
    "SoftmaxBackward0": "dim result", "LogSoftmaxBackward0": "dim result", "CatBackward0": "dim", "StackBackward0": "dim",
    "SelectBackward0": "dim index self_sym_sizes", "SliceBackward0": "dim end self_sym_sizes start step",
    "ViewBackward0": "self_sym_sizes", "UnsafeViewBackward0": "self_sym_sizes", "ExpandBackward0": "self_sym_sizes",
    "SqueezeBackward0": "self_sym_sizes", "SqueezeBackward1": "dim self_sym_sizes", "UnsqueezeBackward0": "dim",
    "TransposeBackward0": "dim0 dim1", "PermuteBackward0": "dims", "UnbindBackward0": "dim",
    "SplitBackward0": "dim self_sym_sizes split_size=split_size_or_sections", "RepeatBackward0": "repeats self_sym_sizes",
    "FlipBackward0": "dims*", "RollBackward0": "dims* shifts*", "TriuBackward0": "diagonal", "TrilBackward0": "diagonal",
    "GatherBackward0": "dim index self sparse_grad", "IndexSelectBackward0": "dim index self_sym_sizes",
    "WhereBackward0": "condition", "MaskedFillBackward0": "mask", "LerpBackward0": "weight",
    "AddcmulBackward0": "tensor1 tensor2 value", "ClampBackward1": "max min self",
    "LeakyReluBackward0": "negative_slope self", "GeluBackward0": "approximate self", "EluBackward0": "self",
    "ConvolutionBackward0": "input weight", "NativeLayerNormBackward0": "bias input normalized_shape weight",
    "EmbeddingBackward0": "indices=input scale_grad_by_freq sparse", "NllLossBackward0": "target",
}
_TENSOR_OF_NUMBER = {("MulBackward0", "other"), ("DivBackward0", "other")}      # PyTorch turns these numbers into tensors first
_PREFIX = "_saved_"


def entries(node: Any) -> dict[str, tuple]:
    """Map each parameter to its entry in the template and the position of its first array argument."""
    found, at = {}, 0
    for param, entry in zip(node.call.op.params, node.call.template, strict=False):
        found[param.name] = (entry, at)
        at += sum([e.__class__ is Marker for e in (entry if entry.__class__ is tuple else (entry,))])
    return found


def attributes(node: Any) -> dict[str, str]:
    """Map PyTorch's attributes of a node, without the prefix, to their source: a parameter, ``result`` or ``self_sym_sizes``."""
    if not hasattr(node, "saved") or type(node).__name__ == "CopySlices":
        return {}
    known, listed = entries(node), _TABLE.get(type(node).__name__)
    if listed is None:
        return _derived(node, known)
    if type(node).__name__ == "MulBackward0" and node.call.op.name != "mul":      # another op with a node of this name
        return {}
    pairs = [(name.rstrip("*"), source or name) for name, _, source in [word.partition("=") for word in listed.split()]]
    sources = {name: "input" if source == "self" else source for name, source in pairs}
    return {name: source for name, source in sources.items()
            if source.rstrip("*") in known or source.startswith("self_sym") or source in ("result", "indices")}


def _derived(node: Any, known: dict[str, tuple]) -> dict[str, str]:
    saves = node.call.op.saves
    if not saves.anything:
        return {}
    if node.saved is None:      # a freed node does not know which arguments it held
        return {"self" if name == "input" else name: name for name, (entry, _) in known.items() if entry is T}
    there = (False,) * len(node.saved) if saves.result_only else held(node, every=True)
    found = {"self" if name == "input" else name: name for name, (entry, at) in known.items() if entry is T and there[at]}
    return {**found, **({"result": "result"} if saves.result else {})}


def is_held(node: Any, at: int) -> bool:
    """Return whether PyTorch's node has saved an argument."""
    return held(node)[at]


def held(node: Any, every: bool = False) -> tuple[bool, ...]:
    """Return which arguments PyTorch's node has saved; with ``every``, which it would have saved if all had an edge."""
    if any([v.__class__ is not Value and hasattr(v, "aval") for v in node.saved]):       # values packed by hooks
        return (True,) * len(node.saved)
    outs = engine.kernel_of(node.call, tuple([engine.NUMBER_AVALS.get(v.__class__) or v.aval for v in node.saved])).outs
    return node.held(tuple([i for i, a in enumerate(outs) if a.is_inexact]), every)       # type: ignore[no-any-return]


# ---------------------------------------------------------------- values

def value(node: Any, name: str) -> Any:
    """Return a node's attribute. Raise AttributeError if PyTorch's node has none of that name, or jtorch does not know it."""
    source = attributes(node).get(name)
    if source is None:
        raise AttributeError(f"'{type(node).__name__}' object has no attribute '{_PREFIX}{name}'")
    if source in ("result", "indices"):
        return _result(node, int(source == "indices"))
    if source.startswith("self_sym"):
        aval = (node.saved or _gone())[0].aval
        return aval.numel if source == "self_sym_numel" else tuple(aval.shape)
    entry, at = entries(node)[source.rstrip("*")]
    if entry.__class__ is not Marker:
        return _static(thaw(entry), source.endswith("*"))
    if node.saved is None:
        _gone()
    return _argument(node, at, (type(node).__name__, name) in _TENSOR_OF_NUMBER)


def _gone() -> Any:
    raise RuntimeError(FREED)


def _static(x: Any, in_tuple: bool) -> Any:
    """Return a static argument. PyTorch shows negative integers as unsigned integers of 64 bits."""
    if in_tuple and not isinstance(x, tuple):
        return () if x is None else (_static(x, False),)
    if isinstance(x, tuple):
        return tuple([_static(item, False) for item in x])
    return x + 2 ** 64 if isinstance(x, int) and x < 0 else x


def _argument(node: Any, at: int, of_number: bool) -> Any:
    """Return a saved argument as a tensor. A leaf is returned itself, an argument that was not needed as None."""
    kept = node.saved[at]
    if kept.__class__ in engine.NUMBER_AVALS:
        return late_bindings.wrap(_number(kept)) if of_number else kept
    if not held(node)[at]:
        return None
    node.check_version_of(at)
    if kept.__class__ is not Value:
        return late_bindings.wrap(kept.value(), node.edges[at])
    edge = node.raw_edges[at]
    if edge is not None and (edge[1] == LEAF or hasattr(edge[0], "variable")):
        return edge[0] if edge[1] == LEAF else edge[0].variable
    return late_bindings.wrap(kept, node.edges[at])


def _number(x: Any) -> Value:
    array = np.asarray(x)
    return Value(engine.aval_of((), array.dtype, engine.CPU), array)


def _result(node: Any, nr: int) -> Any:
    if node.saved is None:
        _gone()
    if node.call.op is OPS["_along_result"]:
        kept = node.saved[-1]
        return late_bindings.wrap(kept if kept.__class__ is Value else kept.value(), (node, 0))
    node.check_version_of(len(node.saved))
    found = engine.record(node.call, [v if v.__class__ is Value or v.__class__ in engine.NUMBER_AVALS else v.value()
                                      for v in node.saved])
    found = found if found.__class__ is Value else found[nr]
    return late_bindings.wrap(found, (node, nr) if found.aval.is_inexact else None)


# ---------------------------------------------------------------- attributes of node classes

_NAMES = {name.rstrip("*").partition("=")[0] for listed in _TABLE.values() for name in listed.split()}
_PARAMS = ("self other result index mask condition exponent mat1 mat2 vec vec1 vec2 tensor1 tensor2 batch1 batch2 weight bias "
           "target input end value source src grid boundaries query key").split()
NAMES = sorted({*_NAMES, *_PARAMS})


def names_of(node: Any) -> list[str]:
    """Return the names of a node's attributes, for ``dir``."""
    return [_PREFIX + name for name in attributes(node)]


def _get(name: str, node: Any) -> Any:
    return value(node, name)


def attach(cls: type, prefix: str = _PREFIX, get: Callable[[str, Any], Any] = _get) -> None:
    """Add the attributes ``NAMES`` to a class of nodes, as properties. ``__getattr__`` would slow down all other attributes."""
    for name in NAMES:
        setattr(cls, prefix + name, property(functools.partial(get, name)))
