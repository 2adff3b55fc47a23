"""Keep PyTorch's results in ``recorded/``, so that the table can be made without PyTorch.

A file has the shape, the kind and some elements of each array, and the hash of each long text.
"""
from __future__ import annotations

import gzip
import hashlib
import json
from pathlib import Path

import numpy as np

FOLDER = Path(__file__).with_name("recorded")
ELEMENTS = 24       # Upper limit for the elements that are kept of an array.
TEXT = 2000         # Upper limit for the length of a text that is kept whole.


def _of_array(array: np.ndarray) -> dict[str, object]:
    flat = array.reshape(-1)
    some = flat[np.unique(np.linspace(0, flat.size - 1, ELEMENTS).astype(int))] if flat.size else flat
    if array.dtype.kind == "c":
        some = np.stack([some.real, some.imag])
    kind = array.dtype.kind
    kept = some.astype(float) if kind in "fc" else some
    return {"shape": list(array.shape), "kind": kind, "elements": kept.tolist() if kind in "fciub" else str(some)}


def digest(value: object) -> object:
    """Return what is kept of a result."""
    if isinstance(value, np.ndarray):
        return _of_array(value)
    if isinstance(value, dict):
        return {key: digest(item) for key, item in value.items()}
    if isinstance(value, list):
        return [digest(item) for item in value]
    if isinstance(value, str) and len(value) > TEXT:
        return f"sha256 {hashlib.sha256(value.encode()).hexdigest()} of {len(value)} characters"
    return value


def write(package: str, expected: dict[str, dict]) -> None:
    """Keep what PyTorch gave for the uses of a package, beside those kept before."""
    kept = {use: {"error": gave["error"][:200]} if "error" in gave else {"values": digest(gave["values"])}
            for use, gave in expected.items()}
    FOLDER.mkdir(exist_ok=True)
    text = json.dumps({**read(package), **kept}, separators=(",", ":"), sort_keys=True)
    (FOLDER / f"{package}.json.gz").write_bytes(gzip.compress(text.encode(), mtime=0))


def read(package: str) -> dict[str, dict]:
    """Return what is kept of a package; nothing if it was never run."""
    file = FOLDER / f"{package}.json.gz"
    return json.loads(gzip.decompress(file.read_bytes())) if file.exists() else {}
