"""Record the signatures of PyTorch's public functions and methods: ``python -m tools.pytorch_signatures``.

A signature is text: each parameter's name, kind and default. Defaults that are no plain values count as equal.
"""
from __future__ import annotations

import contextlib
import gzip
import importlib
import inspect
import io
import json
import os
import sys
import warnings
from collections.abc import Iterator
from pathlib import Path
from typing import Any

RECORDED = Path(__file__).with_name("pytorch_signatures.json.gz")
MODULES = ("torch", *[f"torch.{name}" for name in """
    nn nn.functional nn.init nn.utils nn.utils.rnn nn.utils.parametrize nn.utils.parametrizations nn.utils.prune nn.attention
    nn.parallel optim optim.lr_scheduler optim.swa_utils autograd autograd.functional autograd.forward_ad autograd.graph
    autograd.profiler func distributions distributions.transforms distributions.constraints utils.data utils.checkpoint
    utils.dlpack utils.flop_counter utils.hooks amp distributed distributed.fsdp distributed.tensor distributed.checkpoint
    distributed.device_mesh distributed.pipelining library jit onnx fx hub random sparse testing overrides export compiler
    profiler multiprocessing serialization futures cuda cuda.amp backends.cuda""".split()])
_KINDS: dict[Any, str] = {inspect.Parameter.POSITIONAL_ONLY: "/", inspect.Parameter.VAR_POSITIONAL: "*",
                          inspect.Parameter.KEYWORD_ONLY: "=", inspect.Parameter.VAR_KEYWORD: "**"}


def text_of(thing: Any, *, is_method: bool) -> str | None:
    """Return a function's signature as text; None if it has none, or only ``*args, **kwargs``."""
    try:
        listed = list(inspect.signature(thing).parameters.values())[is_method:]
    except (ValueError, TypeError, NameError):
        return None
    if [p.name for p in listed] == ["args", "kwargs"]:
        return None
    return " ".join([f"{_KINDS.get(p.kind, '')}{p.name}{_default(p.default)}" for p in listed])


def _default(default: Any) -> str:
    if default is inspect.Parameter.empty:
        return ""
    is_plain = default is None or isinstance(default, (bool, int, float, str)) or (isinstance(default, tuple) and not default)
    return f"~{default!r}" if is_plain and not hasattr(default, "name") else "~…"


def described(path: str, seen: set[int]) -> Iterator[tuple[str, str]]:
    """Yield the functions and methods of a PyTorch module, with their signatures. Skip those in ``seen``."""
    module = importlib.import_module(path)
    for name in sorted(dir(module)):
        thing = getattr(module, name, None)
        if name.startswith("_") or not callable(thing) or id(thing) in seen or not _is_theirs(thing):
            continue
        seen.add(id(thing))
        members = [f"{name}.{m}" for m in sorted(vars(thing)) if m == "__init__" or not m.startswith("_")] \
            if inspect.isclass(thing) else [name]
        for member in members:
            text = signature_at(module, member)
            if text is not None:
                yield f"{path}.{member}", text


def _is_theirs(thing: Any) -> bool:
    return str(getattr(thing, "__module__", None) or "torch").partition(".")[0] == "torch" and not _is_old_type(thing)


def _is_old_type(thing: Any) -> bool:
    """Return whether this is a class such as ``torch.FloatTensor``, which is no class to Python."""
    return type(thing).__name__ == "tensortype"


def signature_at(module: Any, inside: str) -> str | None:
    """Return the signature of ``inside`` (a name, or a class and a member) of a module as text; None if there is none."""
    *owners, name = inside.split(".")
    owner = module
    for part in owners:
        owner = getattr(owner, part, None)
    thing = getattr(owner, name, None)
    if not callable(thing) or inspect.isclass(thing):
        return None
    plain = inspect.getattr_static(owner, name, None)
    return text_of(thing, is_method=bool(owners) and not isinstance(plain, (staticmethod, classmethod)))


def recorded() -> dict[str, dict[str, str]]:
    """Return PyTorch's signatures by module and path."""
    return json.loads(gzip.decompress(RECORDED.read_bytes()))


def main() -> None:
    """Write PyTorch's signatures to the file."""
    warnings.simplefilter("ignore")
    with contextlib.redirect_stdout(io.StringIO()), contextlib.redirect_stderr(io.StringIO()):
        seen: set[int] = set()
        found = {path: dict(described(path, seen)) for path in MODULES}
    RECORDED.write_bytes(gzip.compress(json.dumps(found, indent=0, sort_keys=True).encode(), mtime=0))
    sys.stdout.write(f"{sum(map(len, found.values()))} signatures\n")
    sys.stdout.flush()
    os._exit(0)         # some of PyTorch's modules hang or crash when the interpreter ends


if __name__ == "__main__":
    main()
