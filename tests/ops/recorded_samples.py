"""Record PyTorch's results for its own small samples, and read them where PyTorch is not installed.

``python -m ops.recorded_samples`` (from tests/, with PyTorch) writes ``recorded_samples.npz``: the elements of all tensors in one
array for each dtype, and an index in JSON with the op and the tensors of each call.
"""
from __future__ import annotations

import functools
import itertools
import json
import warnings
from collections import Counter, defaultdict
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from ops.matrix import UNINITIALISED, Case, cases
from ops.translate import MOST_DIMS, Translator, Unsupported, cotangent, tensors

FILE = Path(__file__).with_suffix(".npz")
SAMPLES = 5             # Number of samples per op.
MOST = 600              # Upper limit of elements in a sample's arguments, results and gradients.
# PyTorch's samples of embedding_bag have the weight before the indices, unlike the function.
LEFT_OUT = {*UNINITIALISED, "nn.functional.embedding_bag"}
LOOKED_AT = 60          # Upper limit of samples considered per op; a few ops have thousands.
DTYPES = {"float32", "float64", "int64", "int32", "bool", "uint8", "complex64", "complex128"}


class Unrecorded(Exception):
    """JSON and plain arrays cannot represent a sample: a function, a view of larger memory, another dtype."""


@dataclass
class Sample:
    """A call of an op with PyTorch's result and gradients. ``cotangent`` gives the gradients of the results."""

    op: str             # PyTorch's name for the kind of samples: linalg.norm.subgradients_at_zero.
    function: str       # The dotted name of the function.
    args: list
    kwargs: dict
    result: Any
    gradients: list | None


# ---------------------------------------------------------------- the file

class Writer:
    """Turns values of PyTorch into JSON. The elements of tensors stay arrays."""

    def __init__(self, torch: Any):
        self.torch = torch

    def value(self, v: Any) -> Any:
        """Return ``v`` as JSON. An object with one key represents other values; the key names the kind."""
        torch = self.torch
        if isinstance(v, torch.Tensor):
            return {"tensor": self._tensor(v)}
        if isinstance(v, (torch.dtype, torch.memory_format, torch.layout)):
            return {"torch": str(v).removeprefix("torch.")}
        if isinstance(v, torch.device):
            return {"device": str(v)}
        if isinstance(v, (list, torch.Size)):
            return [self.value(x) for x in v]
        if isinstance(v, tuple):
            return {"tuple": [self.value(x) for x in v]}
        if isinstance(v, dict):
            return {"dict": [[k, self.value(x)] for k, x in v.items()]}
        if isinstance(v, complex):
            return {"complex": [v.real, v.imag]}
        if isinstance(v, slice):
            return {"slice": [self.value(x) for x in (v.start, v.stop, v.step)]}
        if v is Ellipsis:
            return {"ellipsis": 1}
        if v is None or type(v) in (bool, int, float, str):
            return v
        raise Unrecorded(type(v).__name__)

    def _tensor(self, t: Any) -> list:
        name = str(t.dtype).removeprefix("torch.")
        if t.layout != self.torch.strided or name not in DTYPES or t.dim() > MOST_DIMS or type(t) is not self.torch.Tensor:
            raise Unrecorded(f"{name}, {t.layout}, {t.dim()} dimensions")
        return [name, t.detach().resolve_conj().resolve_neg().contiguous().numpy().ravel(), list(t.shape), t.requires_grad]


def save(index: list) -> None:
    """Write the file, with a list for each sample. Each tensor becomes the position of its elements among those of
    its dtype.
    """
    elements: dict[str, list[np.ndarray]] = defaultdict(list)
    count: Counter[str] = Counter()

    def start(flat: np.ndarray) -> int:
        name = flat.dtype.name
        elements[name].append(flat)
        count[name] += flat.size
        return count[name] - flat.size
    text = np.frombuffer(json.dumps(index, separators=(",", ":"), default=start).encode(), np.uint8)
    np.savez_compressed(FILE, index=text, **{n: np.concatenate(a) for n, a in elements.items()})


def size(x: Any) -> int:
    """Return the number of elements of the tensors in a JSON value."""
    if isinstance(x, dict):
        x = list(x.values())
    return sum(map(size, x)) if isinstance(x, list) else getattr(x, "size", 0)


class Reader:
    """Turns the file's JSON into values of jtorch, with tensors in memory of their own."""

    def __init__(self, jtorch: Any, elements: dict[str, np.ndarray]):
        self.jtorch, self.elements = jtorch, elements

    def value(self, v: Any) -> Any:
        """Return the jtorch value of a result of ``Writer.value``."""
        if isinstance(v, list):
            return [self.value(x) for x in v]
        if not isinstance(v, dict):
            return v
        (kind, held), = v.items()
        return getattr(self, f"_{kind}")(held)

    def _tensor(self, held: list) -> Any:
        name, start, shape, requires_grad = held
        elements = self.elements[name][start:start + int(np.prod(shape))].reshape(shape)
        return self.jtorch.tensor(elements, requires_grad=requires_grad)

    def _torch(self, name: str) -> Any:
        return getattr(self.jtorch, name)

    def _device(self, name: str) -> Any:
        return self.jtorch.device(name)

    def _tuple(self, held: list) -> tuple:
        return tuple(self.value(held))

    def _dict(self, held: list) -> dict:
        return {k: self.value(x) for k, x in held}

    def _complex(self, held: list) -> complex:
        return complex(*held)

    def _slice(self, held: list) -> slice:
        return slice(*self.value(held))

    def _ellipsis(self, held: int) -> Any:
        return ...


@functools.cache
def _file() -> tuple[dict[str, list], dict[str, np.ndarray]]:
    with np.load(FILE) as found:
        arrays = dict(found)
    by_op = defaultdict(list)
    for fields in json.loads(arrays.pop("index").tobytes()):
        by_op[fields[0]].append(fields[1:])
    return by_op, arrays


def ops() -> list[str]:
    """Return the ops with recorded samples."""
    return list(_file()[0])


def samples(jtorch: Any, op: str) -> Iterator[Sample]:
    """Yield the samples of one op as values of jtorch."""
    by_op, arrays = _file()
    reader = Reader(jtorch, arrays)
    for function, *rest in by_op[op]:
        yield Sample(op, function, *map(reader.value, rest))


# ---------------------------------------------------------------- recording

def record() -> None:
    """Write the file anew."""
    import torch
    from torch.testing._internal.common_methods_invocations import op_db

    import jtorch
    translator, index = Translator(torch, jtorch), []
    for case in cases(translator, op_db):
        if case.info.name not in LEFT_OUT:
            function = _function_of(case, translator)
            index += [[case.name, function, *fields] for fields in _recorded(torch, case.info, function, translator)]
    save(index)
    print(f"{len(index)} samples of {len({i[0] for i in index})} ops in {FILE.stat().st_size / 1e3:.0f} kB")


def _function_of(case: Case, translator: Translator) -> str:
    """Return the name of the function in PyTorch's tests; the op's name, if the tests have a function of their own."""
    found = translator.name_of(case.info.op)
    return case.dotted if found is None or "._" in found else found


def _recorded(torch: Any, info: Any, function: str, translator: Translator) -> list[list]:
    """Return the samples of an op to write: small ones if possible, and with different keywords."""
    dtype = next((d for d in (torch.float32, torch.int64, torch.complex64, torch.bool) if info.supports_dtype(d, "cpu")), None)
    if dtype is None:
        return []
    grad = info.supports_autograd and dtype in info.supported_backward_dtypes("cpu")
    made = translator.samples(info.sample_inputs_func(info, "cpu", dtype, grad))
    try:
        op = functools.reduce(getattr, function.split("."), torch)
    except AttributeError:      # Only PyTorch's tests have this function.
        return []
    calls = [_call(torch, op, s) for s in itertools.islice(made, LOOKED_AT) if is_plain(s.output_process_fn_grad)]
    found = sorted(filter(None, calls), key=size)
    kinds: Counter = Counter()
    ranked = []
    for fields in [f for f in found if size(f) <= MOST] or found[:1]:
        kind = len(fields[0]), tuple(k for k, _ in fields[1]["dict"])
        ranked.append((kinds[kind], len(ranked), fields))
        kinds[kind] += 1
    return [fields for *_, fields in sorted(ranked, key=lambda r: r[:2])[:SAMPLES]]


def is_plain(process: Callable | None) -> bool:
    """Return whether PyTorch's tests compare results unchanged: without processing, or with ``lambda x: x``."""
    return process is None or process.__code__.co_code == (lambda x: x).__code__.co_code


def _call(torch: Any, op: Callable, sample: Any) -> list | None:
    """Return a sample's arguments, result and gradients as JSON; None if this is impossible or PyTorch refuses the
    call.
    """
    copy, write = Translator(torch, torch), Writer(torch).value
    try:
        args, kwargs = copy.value([sample.input, *sample.args]), copy.value(dict(sample.kwargs))
        taken = tensors([args, kwargs], torch.Tensor)
        if any(t.untyped_storage().nbytes() != t.numel() * t.element_size() for t in taken):
            return None     # The tensor is a view of larger memory.
        given = [t for t in taken if t.requires_grad]
        written = [write(args), write(kwargs)]
        torch.default_generator.manual_seed(0)
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            result = op(*args, **kwargs)
        return [*written, write(result), _gradients(torch, given, result, write)]
    except (Unrecorded, Unsupported, RuntimeError, ValueError, TypeError, NotImplementedError, IndexError):
        return None


def _gradients(torch: Any, given: list, result: Any, write: Callable) -> list | None:
    results = [t for t in tensors([result], torch.Tensor) if t.requires_grad]
    if not (given and results):
        return None
    seeds = [cotangent(torch, t) for t in results]
    return write(list(torch.autograd.grad(results, given, seeds, allow_unused=True)))


if __name__ == "__main__":
    record()
