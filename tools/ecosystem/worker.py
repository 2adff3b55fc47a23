"""Run the uses of a file in an environment of its own: ``python -P worker.py uses/einops.py results.pickle [use ...]``.

A use is a public function defined in the file, and it returns its numbers. Each use begins with the same seeds in a folder of
its own. Results are written before each use, so a crash loses only that use and the ones after it.
"""
from __future__ import annotations

import importlib.util
import inspect
import os
import pickle
import random
import sys
import tempfile
import time
import traceback
from collections.abc import Callable
from pathlib import Path

import numpy as np
import torch


def _load(file: Path):
    spec = importlib.util.spec_from_file_location(f"uses_of_{file.stem}", file)
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    sys.modules[spec.name] = module
    spec.loader.exec_module(module)
    return module


def uses_of(module) -> dict[str, Callable[[], object]]:
    """Return the public functions defined in a module, in order."""
    return {name: f for name, f in vars(module).items()
            if inspect.isfunction(f) and f.__module__ == module.__name__ and not name.startswith("_")}


def _plain(value: object) -> object:
    """Return a result without objects of any library: arrays, numbers, texts, and lists and dicts of them."""
    if isinstance(value, torch.Tensor):
        value = value.detach()
        if value.layout is not torch.strided:
            value = value.to_dense()
        value = value.resolve_conj() if value.is_complex() else value
        return (value.float() if value.dtype is torch.bfloat16 else value).cpu().numpy().copy()
    if isinstance(value, dict):
        return {str(key): _plain(item) for key, item in value.items()}
    if isinstance(value, (list, tuple)):
        return [_plain(item) for item in value]
    if isinstance(value, (np.ndarray, np.generic)):
        return np.array(value)
    return value if isinstance(value, (int, float, str, bool, type(None))) else repr(value)


def _seed() -> None:
    random.seed(0)
    np.random.seed(0)
    torch.manual_seed(0)


def _run(use: Callable[[], object]) -> dict[str, object]:
    start = time.perf_counter()
    _seed()
    try:
        with tempfile.TemporaryDirectory() as folder:
            os.chdir(folder)
            try:
                values = _plain(use())
            finally:
                os.chdir("/")
    except BaseException as error:
        text = "".join(traceback.format_exception(error))
        return {"error": f"{type(error).__name__}: {error}", "traceback": text[-6000:]}
    return {"values": values, "seconds": time.perf_counter() - start}


def main(file: str, results: str, *wanted: str) -> None:
    """Run the uses of ``file``, or the named ones, and keep their results in ``results``."""
    done: dict[str, object] = {}
    try:
        uses = uses_of(_load(Path(file)))
    except Exception as error:
        done["*"] = {"error": f"{type(error).__name__}: {error}", "traceback": traceback.format_exc()[-6000:]}
        uses = {}
    for name in wanted or uses:
        if name in uses:
            Path(results).write_bytes(pickle.dumps({**done, "at": name}))
            done[name] = _run(uses[name])
    Path(results).write_bytes(pickle.dumps(done))


if __name__ == "__main__":
    main(*sys.argv[1:])
