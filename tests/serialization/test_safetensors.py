"""Safetensors files: jtorch.utils.safetensors against safetensors.torch."""
from __future__ import annotations

import pytest
from checkpoints import BYTES, NEEDS_TORCH, described, of_all_dtypes
from libraries import library

pytest.importorskip("safetensors", reason="safetensors is not installed (pip install jtorch-jax[safetensors])")


def module_of(name):
    """The functions for a library."""
    if name == "torch":
        import safetensors.torch
        return safetensors.torch
    from jtorch.utils import safetensors
    return safetensors


def tensors(xp):
    """Tensors of all dtypes that the format has."""
    found = {k: v for k, v in of_all_dtypes(xp).items() if k not in ("complex128", *BYTES.split()[2:])}
    return {**found, "scalar": xp.tensor(2.5), "empty": xp.zeros(0, 3), "part": xp.arange(6)[2:4], "p": xp.nn.Parameter(xp.ones(2))}


def seen(made):
    return {k: (str(v.dtype), tuple(v.shape), described(v)[-1]) for k, v in made.items()}


@pytest.mark.parametrize("direction", [pytest.param(("torch", "jtorch"), marks=NEEDS_TORCH),
                                       pytest.param(("jtorch", "torch"), marks=NEEDS_TORCH), ("jtorch", "jtorch")])
def test_both_ways(direction, tmp_path):
    writer, reader = direction
    module_of(writer).save_file(tensors(library(writer)), tmp_path / "x.safetensors", metadata={"format": "pt"})
    made = module_of(reader).load_file(tmp_path / "x.safetensors")
    assert seen(made) == seen(tensors(library(reader)))
    assert seen(library(reader).load(tmp_path / "x.safetensors")) == seen(made)
    assert seen(module_of(reader).load(module_of(writer).save(tensors(library(writer))))) == seen(made)


@pytest.mark.parametrize("name", [pytest.param("torch", marks=NEEDS_TORCH), "jtorch"])
def test_errors(name, tmp_path):
    xp, module = library(name), module_of(name)
    x = xp.ones(2, 3)
    with pytest.raises(ValueError, match="You are trying to save a non contiguous tensor: `x`"):
        module.save({"x": x.t()})
    with pytest.raises(RuntimeError, match="Some tensors share memory, this will lead to duplicate memory on disk"):
        module.save({"x": x, "y": x.view(6)})
    with pytest.raises(ValueError, match=r"Key `x` is invalid, expected torch\.Tensor but received"):
        module.save({"x": 1})
    with pytest.raises(ValueError, match="Expected a dict of"):
        module.save([x])
    module.save_file({"x": x}, tmp_path / "x.safetensors")
    with pytest.raises(RuntimeError, match="Loading safetensors file with dict map_location is not supported"):
        xp.load(tmp_path / "x.safetensors", map_location={"cpu": "cpu"})


def test_damaged_files(tmp_path, rng):
    import safetensors
    data = bytearray(module_of("jtorch").save({"x": library("jtorch").arange(3)}))
    for i in range(60):
        broken = bytearray(data[:rng.integers(len(data))] if i % 2 else data)
        if not i % 2:
            broken[rng.integers(0, len(data) - 24)] ^= 1 << rng.integers(8)
        try:
            module_of("jtorch").load(bytes(broken))
        except (safetensors.SafetensorError, TypeError) as e:
            assert str(e)


def test_the_package_is_asked_for(monkeypatch):
    import sys
    monkeypatch.setitem(sys.modules, "safetensors", None)
    with pytest.raises(RuntimeError, match="safetensors is not installed"):
        module_of("jtorch").save({})
