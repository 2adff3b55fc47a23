"""Safetensors files: jtorch.utils.safetensors against safetensors.torch."""
from __future__ import annotations

import pytest
from checkpoints import BYTES, NEEDS_TORCH, described, of_all_dtypes
from libraries import library

pytest.importorskip("safetensors", reason="safetensors is not installed (pip install jtorch-jax[safetensors])")


def module_of(name):
    """Return the functions for a library."""
    if name == "torch":
        import safetensors.torch
        return safetensors.torch
    from jtorch.utils import safetensors
    return safetensors


def tensors(xp):
    """Return tensors of all dtypes that the format has."""
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


PACKAGES_OWN = """
import sys
import jtorch
sys.modules["torch"] = jtorch
import torch
from safetensors import safe_open
from safetensors.torch import load, load_file, load_model, save, save_file, save_model

path = PATH
tensors = {"a": torch.arange(6.).reshape(2, 3), "b": torch.ones(3, dtype=torch.bfloat16), "empty": torch.zeros(0, 3),
           "flags": torch.tensor([True, False]), "complex": torch.tensor([1 + 2j]), "scalar": torch.tensor(3),
           "f8": torch.ones(3).to(torch.float8_e4m3fn), "computed": torch.ones(3) * 2, "part": torch.arange(6)[2:4]}
save_file(tensors, path)
for found in (load(save(tensors)), load_file(path)):
    assert found.keys() == tensors.keys()
    for name, t in tensors.items():
        assert (found[name].dtype, found[name].shape) == (t.dtype, t.shape), name
        assert found[name].tolist() == t.tolist(), name

class Tied(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.embedding, self.norm, self.out = torch.nn.Embedding(5, 4), torch.nn.LayerNorm(4), torch.nn.Linear(4, 5, bias=False)
        self.out.weight = self.embedding.weight

    def forward(self, i):
        return self.out(self.norm(self.embedding(i)))

model, other = Tied(), Tied()
save_model(model, path)
with safe_open(path, framework="pt") as file:
    assert sorted(file.keys()) == ["embedding.weight", "norm.bias", "norm.weight"]
    assert file.get_slice("norm.weight")[1:3].tolist() == [1, 1]
assert load_model(other, path) == (set(), [])
i = torch.tensor([1, 3])
for m in (model, other):
    assert m.out.weight is m.embedding.weight
    optimizer = torch.optim.SGD(m.parameters(), 0.1)
    for _ in range(12):
        optimizer.zero_grad()
        torch.nn.functional.cross_entropy(m(i), i).backward()
        optimizer.step()
torch.testing.assert_close(other.state_dict(), model.state_dict())
loaded = load_file(path)
loaded["norm.weight"].add_(1)
assert loaded["norm.weight"].tolist() == [2, 2, 2, 2] and load_file(path)["norm.weight"].tolist() == [1, 1, 1, 1]
print("done")
"""


def test_the_packages_own_functions(tmp_path, run_forked):
    assert run_forked(f"PATH = {str(tmp_path / 'x')!r}\n{PACKAGES_OWN}") == "done\n"
