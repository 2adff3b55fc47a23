"""safetensors: tensors and whole models to files and back."""

import torch
from safetensors import safe_open
from safetensors.torch import load, load_file, load_model, save, save_file, save_model


def files():
    tensors = {
        "a": torch.randn(3, 4),
        "b": torch.arange(5),
        "c": torch.randn(2).to(torch.bfloat16),
        "d": torch.randn(()) > 0,
    }
    save_file(tensors, "x.safetensors", metadata={"format": "pt"})
    with safe_open("x.safetensors", framework="pt") as f:
        part = f.get_slice("a")[1:, :2]
        metadata = f.metadata()
    return load_file("x.safetensors"), part, metadata, load(save(tensors))


def models():
    model = torch.nn.TransformerEncoderLayer(16, 2, 32, batch_first=True).eval()
    save_model(model, "model.safetensors")
    other = torch.nn.TransformerEncoderLayer(16, 2, 32, batch_first=True).eval()
    missing = load_model(other, "model.safetensors")
    x = torch.randn(2, 5, 16)
    return model(x), other(x), missing
