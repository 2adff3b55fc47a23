"""huggingface-hub: models that save themselves, and checkpoints in parts."""

import os

import torch
from huggingface_hub import (
    PyTorchModelHubMixin,
    load_torch_model,
    save_torch_state_dict,
    split_torch_state_dict_into_shards,
)
from huggingface_hub.serialization import get_torch_storage_id, get_torch_storage_size


class _Net(torch.nn.Module, PyTorchModelHubMixin, tags=["example"]):
    def __init__(self, size: int = 4, classes: int = 2):
        super().__init__()
        self.linear = torch.nn.Linear(size, classes)

    def forward(self, x):
        return self.linear(x)


def mixin():
    model = _Net(size=6)
    model.save_pretrained("saved")
    again = _Net.from_pretrained("saved")
    x = torch.randn(3, 6)
    return sorted(os.listdir("saved")), model(x), again(x)


def parts():
    state = {f"w{i}": torch.randn(64, 64) for i in range(5)}
    plan = split_torch_state_dict_into_shards(state, max_shard_size="40KB")
    os.mkdir("parts")
    save_torch_state_dict(state, "parts", max_shard_size="40KB")
    model = torch.nn.ParameterDict({key: torch.zeros(64, 64) for key in state})
    load_torch_model(model, "parts")
    return plan.filename_to_tensors, sorted(os.listdir("parts")), dict(model.items())


def storages():
    x = torch.arange(12.0)
    view = x[2:5]
    return get_torch_storage_id(x) == get_torch_storage_id(view), get_torch_storage_size(view)
