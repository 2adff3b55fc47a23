"""Record PyTorch's outcomes of small calls of all overloads in its type stubs (``python -m surface.record_overloads``).

The stubs give each overload's arguments and their types. Arguments are tried, simple ones first, until PyTorch accepts a call.
Then each optional argument is added, all are given by position and by name, and wrong calls are made.
"""
from __future__ import annotations

import ast
import gzip
import heapq
import itertools
import json
import multiprocessing
import re
import sys
import time
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from libraries import library
from surface.overload_calls import FILE, outcome, same

SECONDS = 2.0       # Limit of the search for one overload's arguments.
VALUES = 2          # Number of recorded values of each optional argument, if one of them changes the outcome.

FLOATS = ["t:float32:2,3:{}", "t:float32:3,3:{}", "t:float32:3:{}", "t:float32::{}", "t:float32:2,3,3:{}", "t:float32:1,2,4,4:{}",
          "t:float32:2,2,3,3:{}", "t:float32:1,2,4,4,4:{}", "t:float32:2:{}", "t:float32:1,4,3:{}", "t:float32:3,2:{}", "t:float64:3,3:{}"]
INTS = ["t:int64:2,3:{}", "t:int64:3:{}", "t:int64::{}", "t:int32:2,3:{}"]
OTHERS = ["t:bool:2,3:{}", "t:complex64:2,3:{}", "t:complex64:3,3:{}", "t:uint8:2,3:{}", "t:bool:3,3:{}",
          "t:float16:2,3:{}", "t:bfloat16:3,3:{}", "t:int8:3,3:{}", "t:complex64:2,3,3:{}"]
SPARSE = ["sparse:coo:float32:3,3:{}", "sparse:csr:float32:3,3:{}"]
TENSORS = FLOATS[:3] + INTS[:2] + FLOATS[3:] + INTS[2:] + OTHERS + SPARSE
BY_NAME = {
    "index": ["ints:0,1", "t:int64:2,3:{}", "t:int64:3,3:{}"], "indices": ["t:int64:2,3:{}", "ints:0,1"],
    "mask": ["t:bool:2,3:{}", "t:bool:3,3:{}"], "condition": ["t:bool:2,3:{}"], "offsets": ["ints:0,2"],
    "repeats": ["ints:1,2,1", "ints:1,2"], "lengths": ["ints:1,2"], "source": ["t:float32:2,3:{}", "t:float32:3:{}"],
    "target": ["t:float32:2,3:{}", "ints:0,1", "t:int64:3:{}"], "targets": ["t:int64:2,3:{}"],
    "counts": ["t:int64:3:{}"], "pivots": ["ints:1,2,3"], "LU_pivots": ["ints:1,2,3"],
}
NUMBERS = [2, 0.5, -1, 3, 0, "complex:1+2j"]
SHAPES = [[2, 3], [3], [1], [0], [1, 0], [2], [2, 2], [4, 4], [2, 3, 3], [1, 1], [], [0, 1], [1, 1, 1], [3, 2]]
DTYPES = ["torch:float64", "torch:int64", "torch:complex64", "torch:float32"]
FORMATS = ["torch:contiguous_format", "torch:preserve_format", "torch:channels_last"]
TYPES: dict[str, list[Any]] = {
    "_bool": [True, False], "bool": [True, False], "_int": [1, 0, 2, -1, 3], "int": [1, 0, 2, -1, 3], "_float": [0.5, 2.0, 0.0], "float": [0.5],
    "Number": NUMBERS, "_complex": [], "SymInt": [], "torch.SymInt": [], "torch.SymFloat": [],
    "_dtype": DTYPES, "DeviceLikeType": ["device:cpu", "text:cpu"], "_device": ["device:cpu"], "_layout": ["torch:strided"],
    "memory_format": FORMATS, "torch.memory_format": FORMATS, "Generator": ["generator:7"], "_size": SHAPES, "_symsize": SHAPES,
    "Sequence[_int]": SHAPES, "Sequence[Number]": [[1, 2], [0.5, 0.5], [2]], "Sequence[_float]": [[0.5, 2.0], [2.0]],
    "Tensors": [], "None": [], "object": [2], "Any": [2, "t:float32:2,3:{}"], "list": [[1, 2]], "tuple[_int, ...]": SHAPES,
    "Storage": ["storage:6"], "UntypedStorage": ["storage:6"], "TypedStorage": ["typed_storage:6"], "Callable": ["identity:"],
    "Callable[[Tensor], Tensor]": ["identity:"], "Callable[[_int], _int]": ["identity:"], "Literal[True]": [True], "Literal[False]": [False],
    "_Index": [0, [0], "ints:0,1", "t:bool:2,3:{}", "slice:[0,1]"],
}
STRINGS = {"reduce": ["mean", "sum", "amax"], "rounding_mode": ["trunc", "floor"], "equation": ["ij,jk->ik"], "mode": ["fan_in"],
           "interpolation": ["lower", "nearest"], "indexing": ["ij", "xy"], "padding": ["same", "valid"], "ord": ["fro"], "side": ["right"],
           "UPLO": ["U"], "driver": ["gels"], "dtype": [], "approximate": ["tanh"], "pad_mode": ["reflect"], "p": ["fro"]}
# Arguments that a search would rarely find.
GIVEN: dict[str, list[Any]] = {
    "lstm(input:": ["t:float32:2,1,3:0", ["t:float32:1,1,3:1", "t:float32:1,1,3:2"], ["t:float32:12,3:3", "t:float32:12,3:4", "t:float32:12:5",
                    "t:float32:12:6"], True, 1, 0.0, False, False, False],
    "gru(input:": ["t:float32:2,1,3:0", "t:float32:1,1,3:1", ["t:float32:9,3:3", "t:float32:9,3:4", "t:float32:9:5", "t:float32:9:6"],
                   True, 1, 0.0, False, False, False],
    "rnn_tanh(input:": ["t:float32:2,1,3:0", "t:float32:1,1,3:1", ["t:float32:3,3:3", "t:float32:3,3:4", "t:float32:3:5", "t:float32:3:6"],
                        True, 1, 0.0, False, False, False],
    "rnn_relu(input:": ["t:float32:2,1,3:0", "t:float32:1,1,3:1", ["t:float32:3,3:3", "t:float32:3,3:4", "t:float32:3:5", "t:float32:3:6"],
                        True, 1, 0.0, False, False, False],
    "lstm_cell(": ["t:float32:2,3:0", ["t:float32:2,3:1", "t:float32:2,3:2"], "t:float32:12,3:3", "t:float32:12,3:4"],
    "gru_cell(": ["t:float32:2,3:0", "t:float32:2,3:1", "t:float32:9,3:3", "t:float32:9,3:4"],
    "rnn_tanh_cell(": ["t:float32:2,3:0", "t:float32:2,3:1", "t:float32:3,3:3", "t:float32:3,3:4"],
    "rnn_relu_cell(": ["t:float32:2,3:0", "t:float32:2,3:1", "t:float32:3,3:3", "t:float32:3,3:4"],
    "batch_norm(": ["t:float32:2,3:0", "t:float32:3:1", "t:float32:3:2", None, None, True, 0.1, 1e-5, False],
    "instance_norm(": ["t:float32:2,3,3:0", None, None, None, None, True, 0.1, 1e-5, False],
    "native_batch_norm(": ["t:float32:2,3:0", "t:float32:3:1", "t:float32:3:2", None, None, True, 0.1, 1e-5],
    "ctc_loss(log_probs: Tensor, targets: Tensor, input_lengths: Tensor": ["t:float32:4,2,4:0", "ints:3,3,3", "ints:4,4", "ints:2,1"],
    "ctc_loss(": ["t:float32:4,2,4:0", "ints:3,3,3", [4, 4], [2, 1]],
    "einsum(": ["ij,jk->ik", ["t:float32:2,3:0", "t:float32:3,3:1"]],
    "conv1d(": ["t:float32:1,2,4:0", "t:float32:2,2,3:1"], "conv2d(": ["t:float32:1,2,4,4:0", "t:float32:2,2,3,3:1"],
    "conv3d(": ["t:float32:1,2,4,4,4:0", "t:float32:2,2,3,3,3:1"], "conv_transpose1d(": ["t:float32:1,2,4:0", "t:float32:2,2,3:1"],
    "conv_transpose2d(": ["t:float32:1,2,4,4:0", "t:float32:2,2,3,3:1"], "conv_transpose3d(": ["t:float32:1,2,4,4,4:0", "t:float32:2,2,3,3,3:1"],
    "convolution(": ["t:float32:1,2,4,4:0", "t:float32:2,2,3,3:1", None, [1, 1], [0, 0], [1, 1], False, [0, 0], 1],
    "index_put": ["t:float32:2,3:0", ["ints:0,1"], "t:float32::1"],
    "embedding_bag(": ["t:float32:3,3:0", "ints:0,1,2", "ints:0,3"],
    "grid_sampler(": ["t:float32:1,2,4,4:0", "t:float32:1,3,3,2:1", 0, 0, False], "affine_grid_generator(": ["t:float32:1,2,3:0", [1, 1, 2, 2], False],
    "group_norm(": ["t:float32:1,2,4,4:0", 2], "pixel_shuffle(": ["t:float32:1,4,3,3:0", 2],
    "as_strided": ["t:float32:2,3:0", [2, 2], [1, 2]], "sparse_compressed_tensor(": ["ints:0,1,2", "ints:0,1", "t:float32:2:0", [2, 2]],
    "stft(": ["t:float32:16:0", 4], "istft(": ["t:complex64:3,8:0", 4], "scatter(input: Tensor, dim: _int, index: Tensor, src: Tensor, reduce": ["t:float32:3,3:0", 0, "t:int64:2,3:1", "t:float32:3,3:2", "add"],
    "scatter(input: Tensor, dim: _int, index: Tensor, value: Number | _complex, reduce": ["t:float32:3,3:0", 0, "t:int64:2,3:1", 2.0, "multiply"],
    "scatter(self: Tensor, dim: _int, index: Tensor, src: Tensor, reduce": ["t:float32:3,3:0", 0, "t:int64:2,3:1", "t:float32:3,3:2", "add"],
    "scatter(self: Tensor, dim: _int, index: Tensor, value: Number | _complex, reduce": ["t:float32:3,3:0", 0, "t:int64:2,3:1", 2.0, "multiply"],
    "scatter_(self: Tensor, dim: _int, index: Tensor, src: Tensor, reduce": ["t:float32:3,3:0", 0, "t:int64:2,3:1", "t:float32:3,3:2", "add"],
    "scatter_(self: Tensor, dim: _int, index: Tensor, value: Number | _complex, reduce": ["t:float32:3,3:0", 0, "t:int64:2,3:1", 2.0, "multiply"],
    "clamp": ["t:float32:2,3:0", ("t:float32::1", 0.3)], "clip": ["t:float32:2,3:0", ("t:float32::1", 0.3)],
    "sparse_coo_tensor(indices": ["t:int64:2,2:0", "t:float32:2:1", [3, 3]], "segment_reduce(": ["t:float32:3,3:0", "mean", "ints:1,2"], "linspace(": [0.0, 2.0, 5], "logspace(": [0.0, 2.0, 5],
    "lu_solve(": ["t:float32:3,2:0", "t:float32:3,3:1", "t:int32:3:2"],
    "sparse_csr_tensor(": ["ints:0,1,2", "ints:0,1", "t:float32:2:0"], "sparse_csc_tensor(": ["ints:0,1,2", "ints:0,1", "t:float32:2:0"],
    "sparse_bsr_tensor(": ["ints:0,1", "ints:0", "t:float32:1,2,2:0"], "sparse_bsc_tensor(": ["ints:0,1", "ints:0", "t:float32:1,2,2:0"],
    "addbmm(beta: Number | _complex, self: Tensor, alpha": [2, "t:float32:3,3:0", 0.5, "t:float32:2,3,3:1", "t:float32:2,3,3:2"],
    "addbmm(beta: Number | _complex, self: Tensor, batch1": [2, "t:float32:3,3:0", "t:float32:2,3,3:1", "t:float32:2,3,3:2"],
    "baddbmm(beta: Number | _complex, self: Tensor, alpha": [2, "t:float32:2,3,3:0", 0.5, "t:float32:2,3,3:1", "t:float32:2,3,3:2"],
    "baddbmm(beta: Number | _complex, self: Tensor, batch1": [2, "t:float32:2,3,3:0", "t:float32:2,3,3:1", "t:float32:2,3,3:2"],
    "native_group_norm(": ["t:float32:1,2,4,4:0", None, None, 1, 2, 16, 2, 1e-5],
    "native_norm(input: Tensor, p: Number | _complex | None": ["sparse:coo:float32:3,3:0", 2.0, [0], False, None],
    "grid_sampler_2d(": ["t:float32:1,2,4,4:0", "t:float32:1,3,3,2:1", 0, 0, False],
    "grid_sampler_3d(": ["t:float32:1,2,4,4,4:0", "t:float32:1,2,2,2,3:1", 0, 0, False],
    "bilinear(": ["t:float32:2,3:0", "t:float32:2,3:1", "t:float32:1,3,3:2", None],
}


@dataclass
class Argument:
    """One argument of an overload."""

    name: str
    type: str
    optional: bool
    by_name: bool
    many: bool = False      # ``*args``


@dataclass
class Overload:
    """One signature of the stubs."""

    owner: str
    name: str
    arguments: list[Argument]

    @property
    def label(self) -> str:
        """Return the signature as text, without the default values."""
        shown = [f"{'*' if a.many else ''}{a.name}: {a.type}{' = …' if a.optional else ''}{' by name' if a.by_name else ''}" for a in self.arguments]
        return f"{self.owner}.{self.name}({', '.join(shown)})"


def overloads() -> Iterator[Overload]:
    """Yield the public overloads of functions and of Tensor's methods that the stubs of the installed PyTorch declare."""
    folder = Path(library("torch").__file__).parent / "_C"
    functions = ast.parse((folder / "_VariableFunctions.pyi").read_text()).body
    module = ast.parse((folder / "__init__.pyi").read_text()).body
    base = next(n for n in module if isinstance(n, ast.ClassDef) and n.name == "TensorBase")
    for owner, body in (("torch", functions), ("Tensor", base.body)):
        for node in body:
            if isinstance(node, ast.FunctionDef) and _wanted(owner, node):
                yield Overload(owner, node.name, list(_arguments(owner, node)))


LEFT_OUT = re.compile(r"^_|cudnn|miopen|mkldnn|fbgemm|quantized|fake_quantize|nnpack|_mps|xpu|(^cuda$)|(^hpu$)|(^mtia$)|(^ipu$)"
                      r"|^init_num_threads$|^get_num|^set_flush_denormal$|^set_num|^read_vitals$|^set_vital$|^vitals_enabled$|record_stream|^seed$|data_ptr|^initial_seed$"
                      r"|^set_rng|get_rng|^from_file$|^frombuffer$|^dequantize|^quantize_per|int_repr|^q_|^qscheme|choose_qparams|^rename|names"
                      r"|align_|refine_|^unflatten_dense|^numpy$|^compiled|_is_truncated|unsafe_chunk_|^reduce_scatter|^obj$")
SPECIAL = {"__add__", "__and__", "__eq__", "__floordiv__", "__ge__", "__getitem__", "__iadd__", "__iand__", "__imul__", "__invert__", "__isub__",
           "__le__", "__lshift__", "__matmul__", "__mod__", "__mul__", "__ne__", "__neg__", "__or__", "__pow__", "__radd__", "__rmul__",
           "__rpow__", "__rshift__", "__rsub__", "__rtruediv__", "__sub__", "__truediv__", "__xor__", "__ilshift__", "__irshift__", "__ior__",
           "__ixor__", "__rand__", "__ror__", "__rxor__", "__contains__", "__abs__", "__bool__", "__float__", "__int__", "__index__"}


def _wanted(owner: str, node: ast.FunctionDef) -> bool:
    torch = library("torch")
    holder = torch.Tensor if owner == "Tensor" else torch
    if not hasattr(holder, node.name) or any(isinstance(d, ast.Name) and d.id == "property" for d in node.decorator_list):
        return False
    return node.name in SPECIAL if node.name.startswith("__") else not LEFT_OUT.search(node.name)


def _arguments(owner: str, node: ast.FunctionDef) -> Iterator[Argument]:
    given = node.args
    positional = given.posonlyargs + given.args
    first_optional = len(positional) - len(given.defaults)
    for k, a in enumerate(positional):
        kind = ast.unparse(a.annotation) if a.annotation else "Tensor"
        yield Argument(a.arg, kind, k >= first_optional, False)
    if given.vararg:
        yield Argument(given.vararg.arg, ast.unparse(given.vararg.annotation), False, False, True)
    for a, default in zip(given.kwonlyargs, given.kw_defaults, strict=True):
        yield Argument(a.arg, ast.unparse(a.annotation), default is not None, True)


# ---------------------------------------------------------------- values

def candidates(overload: Overload, place: int) -> list[Any]:
    """Return values that the argument at a place may have, simple ones first."""
    a = overload.arguments[place]
    found: list[Any] = []
    for kind in _parts(a.type):
        found += [_seeded(v, place) for v in _of_type(kind, a.name)]
    if a.many:
        found = [["many", v] for v in SHAPES if v] if "int" in a.type else [["many", [v]] for v in found]
    return [v for k, v in enumerate(found) if v not in found[:k]]


def _parts(kind: str) -> list[str]:
    """Split a union where no bracket is open."""
    parts, depth = [""], 0
    for c in kind:
        depth += {"[": 1, "]": -1}.get(c, 0)
        if c == "|" and not depth:
            parts.append("")
        else:
            parts[-1] += c
    return [p.strip() for p in parts]


def _of_type(kind: str, name: str) -> list[Any]:
    if kind == "Tensor":
        first = BY_NAME.get(name, [])
        return first + [t for t in TENSORS if t not in first]
    if re.match(r"(tuple|list|Sequence)\[Tensor", kind) or kind == "list":
        rest = [[t, t] for t in TENSORS] + [[t] for t in TENSORS]
        return [["ints:0,1"], *rest] if name == "indices" else rest
    if kind == "str":
        return STRINGS.get(name, ["none", "mean"])
    if kind.startswith("Sequence["):
        kind = f"Sequence[{_parts(kind[9:-1])[0]}]"
    return TYPES.get(kind, [])


def _seeded(spec: Any, seed: int) -> Any:
    if isinstance(spec, list):
        return [_seeded(s, seed + 10 * k) for k, s in enumerate(spec)]
    return spec.replace("{}", str(seed)) if isinstance(spec, str) else spec


def simplest_first(lists: list[list[Any]]) -> Iterator[tuple[Any, ...]]:
    """Yield the product of the lists, ordered by the sum of the values' positions in their lists."""
    if not all(lists):
        return
    start = (0,) * len(lists)
    heap, seen = [(0, start)], {start}
    while heap:
        _, at = heapq.heappop(heap)
        yield tuple(values[k] for values, k in zip(lists, at, strict=True))
        for j, k in enumerate(at):
            following = (*at[:j], k + 1, *at[j + 1:])
            if k + 1 < len(lists[j]) and following not in seen:
                seen.add(following)
                heapq.heappush(heap, (sum(following), following))


# ---------------------------------------------------------------- calls

def split(arguments: list[Argument], values: list[Any]) -> tuple[list, dict]:
    """Return positional and named arguments."""
    args: list[Any] = []
    for a, v in zip(arguments, values, strict=True):
        if not a.by_name:
            args += v[1] if a.many else [v]
    return args, {a.name: v for a, v in zip(arguments, values, strict=True) if a.by_name}


class Recorder:
    """Collects the calls of one overload with their outcomes."""

    def __init__(self, overload: Overload):
        self.overload = overload
        self.calls: list[list] = []
        self.torch = library("torch")

    def run(self, args: list, kwargs: dict) -> Any:
        """Return PyTorch's outcome."""
        return outcome(self.torch, self.overload.owner, self.overload.name, args, kwargs)

    def add(self, args: list, kwargs: dict, *, if_taken: bool = False) -> Any:
        """Record a call if its outcome is short and stays the same, and return the outcome. With ``if_taken`` return None
        for an error, and do not record it.
        """
        found = self.run(args, kwargs)
        if if_taken and is_error(found):
            return None
        again = self.run(args, kwargs)
        if same(found, again) and len(json.dumps(found)) < 3000 and [args, kwargs] not in [c[2:4] for c in self.calls]:
            self.calls.append([self.overload.owner, self.overload.name, args, kwargs, found])
        return found


def is_error(found: Any) -> bool:
    """Return whether an outcome is an error."""
    return isinstance(found, dict) and "error" in found


def record(overload: Overload) -> list[list]:
    """Return the calls of one overload, with their outcomes. There are none if PyTorch accepts no call that is tried."""
    recorder = Recorder(overload)
    required = [k for k, a in enumerate(overload.arguments) if not a.optional]
    base = _search(recorder, required)
    if base is None:
        return []
    recorder.add(*_call(overload, base))
    taken = _optional(recorder, base)
    _by_position(recorder, base, taken)
    if not overload.name.startswith("__"):      # Python itself calls operators.
        _by_name(recorder, base)
        _wrong(recorder, base)
    return recorder.calls


def _call(overload: Overload, values: dict[int, Any]) -> tuple[list, dict]:
    """Return the call with values at some places; after a gap arguments are named."""
    given, named, gap = [], {}, False
    for k, a in enumerate(overload.arguments):
        if k not in values:
            gap = gap or not a.by_name
        elif a.many:
            given += values[k][1]
        elif a.by_name or gap:
            named[a.name] = values[k]
        else:
            given.append(values[k])
    return given, named


def _search(recorder: Recorder, required: list[int]) -> dict[int, Any] | None:
    overload = recorder.overload
    key = overload.label.removeprefix(f"{overload.owner}.")
    for start, values in GIVEN.items():
        if key.startswith(start) and len(values) <= len(overload.arguments):
            for choice in itertools.product(*[v if isinstance(v, tuple) else (v,) for v in values]):
                if not is_error(recorder.run(*_call(overload, dict(enumerate(choice))))):
                    return dict(enumerate(choice))
    end = time.monotonic() + SECONDS
    for values in simplest_first([candidates(overload, k) for k in required]):
        if not is_error(recorder.run(*_call(overload, dict(zip(required, values, strict=True))))):
            return dict(zip(required, values, strict=True))
        if time.monotonic() > end:
            return None
    return {} if not required and not is_error(recorder.run([], {})) else None


def _optional(recorder: Recorder, base: dict[int, Any]) -> dict[int, Any]:
    """Record each optional argument alone. Return an accepted value of each, if possible one that changes the outcome."""
    overload, taken = recorder.overload, {}
    plain = recorder.run(*_call(overload, base))
    for k, a in enumerate(overload.arguments):
        if k in base:
            continue
        values = _outs(plain) if a.name == "out" else candidates(overload, k)
        found = 0
        for v in values[:40]:
            made = recorder.add(*_call(overload, {**base, k: v}), if_taken=True)
            if made is None:
                continue
            if k not in taken or not same(made, plain):
                taken[k] = v
            found += 1
            if found >= VALUES and not same(made, plain):
                break
            if found >= 2 * VALUES:
                break
        if values and not found:
            recorder.add(*_call(overload, {**base, k: values[0]}))
    return taken


def _outs(plain: Any) -> list[Any]:
    """Return what ``out=`` may be: empty tensors of the result's dtypes."""
    if isinstance(plain, dict) and "tensor" in plain:
        return [f"t:{plain['tensor'][0].removeprefix('torch.')}:0:0"]
    if isinstance(plain, list) and all(isinstance(p, dict) and "tensor" in p for p in plain):
        return [[_outs(p)[0] for p in plain]]
    return []


def _by_position(recorder: Recorder, base: dict[int, Any], taken: dict[int, Any]) -> None:
    values = {**base}
    for k, a in enumerate(recorder.overload.arguments):
        if a.by_name or k in base or a.many:
            continue
        if k not in taken:
            break
        if is_error(recorder.run(*_call(recorder.overload, {**values, k: taken[k]}))):
            default = candidates(recorder.overload, k)
            fitting = [v for v in default[:20] if not is_error(recorder.run(*_call(recorder.overload, {**values, k: v})))]
            if not fitting:
                break
            values[k] = fitting[0]
        else:
            values[k] = taken[k]
        recorder.add(*_call(recorder.overload, values))
    if len(values) > len(base):
        recorder.add(*_call(recorder.overload, {**values, **{k: v for k, v in taken.items() if recorder.overload.arguments[k].name != "out"}}))


def _by_name(recorder: Recorder, base: dict[int, Any]) -> None:
    arguments = recorder.overload.arguments
    if any(a.many for a in arguments):
        return
    skip = recorder.overload.owner == "Tensor"
    recorder.add([base[0]] if skip and 0 in base else [], {arguments[k].name: v for k, v in base.items() if not (skip and k == 0)})


def _wrong(recorder: Recorder, base: dict[int, Any]) -> None:
    args, kwargs = _call(recorder.overload, base)
    recorder.add([*args, "object:"], kwargs)
    recorder.add(args, {**kwargs, "no_such_argument": 1})
    if len(args) > 1 or (args and recorder.overload.owner == "torch"):
        recorder.add(args[:-1], kwargs)
    for k in range(1 if recorder.overload.owner == "Tensor" else 0, len(args)):
        for wrong in ("object:", None, 1.5):
            recorder.add([*args[:k], wrong, *args[k + 1:]], kwargs)


def main(only: str = "") -> None:
    """Record all overloads, each in a process of its own since some calls end the process."""
    wanted = [o for o in overloads() if re.search(only, o.label)]
    library("torch").set_num_threads(1)
    made: dict[str, list] = {}
    context = multiprocessing.get_context("fork")
    for overload in wanted:
        ours, theirs = context.Pipe(False)
        process = context.Process(target=lambda o, pipe: pipe.send(record(o)), args=(overload, theirs))
        process.start()
        theirs.close()
        try:
            calls = ours.recv() if ours.poll(30) else []
        except EOFError:
            calls = []
        process.kill()
        process.join()
        made[overload.label] = calls
        if not calls:
            print("none:", overload.label)
    if only:
        print(json.dumps(made, indent=1)[:6000])
        return
    made = {k: v for k, v in made.items() if v}
    FILE.write_bytes(gzip.compress(json.dumps(made, separators=(",", ":")).encode(), mtime=0))
    print(len(wanted), "overloads,", len(made), "recorded,", sum(map(len, made.values())), "calls")


if __name__ == "__main__":
    main(*sys.argv[1:])
