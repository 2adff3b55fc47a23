"""accelerate: a loop of training, its state on disk, and models without memory."""

import torch
from accelerate import Accelerator, init_empty_weights, load_checkpoint_and_dispatch
from accelerate.utils import find_executable_batch_size, get_balanced_memory, infer_auto_device_map, set_seed
from torch.utils.data import DataLoader, TensorDataset


def _parts():
    model = torch.nn.Sequential(torch.nn.Linear(4, 8), torch.nn.ReLU(), torch.nn.Linear(8, 1))
    optimizer = torch.optim.AdamW(model.parameters(), lr=1e-2)
    x = torch.randn(32, 4)
    return model, optimizer, DataLoader(TensorDataset(x, x.mean(1, keepdim=True)), 8, shuffle=True)


def _train(accelerator, model, optimizer, loader, schedule=None):
    losses = []
    for x, y in loader:
        with accelerator.accumulate(model):
            loss = torch.nn.functional.mse_loss(model(x), y)
            accelerator.backward(loss)
            accelerator.clip_grad_norm_(model.parameters(), 1.0)
            optimizer.step()
            if schedule is not None:
                schedule.step()
            optimizer.zero_grad()
        losses.append(accelerator.gather_for_metrics(loss.detach()))
    return losses


def train():
    set_seed(3)
    accelerator = Accelerator(cpu=True, gradient_accumulation_steps=2)
    model, optimizer, loader = _parts()
    schedule = torch.optim.lr_scheduler.LinearLR(optimizer)
    model, optimizer, loader, schedule = accelerator.prepare(model, optimizer, loader, schedule)
    return _train(accelerator, model, optimizer, loader, schedule), model.state_dict()


def save_and_load():
    accelerator = Accelerator(cpu=True)
    model, optimizer, loader = accelerator.prepare(*_parts())
    first = _train(accelerator, model, optimizer, loader)
    accelerator.save_state("state")
    second = _train(accelerator, model, optimizer, loader)
    accelerator.load_state("state")
    accelerator.save_model(model, "model")
    return first, second, _train(accelerator, model, optimizer, loader), accelerator.unwrap_model(model).state_dict()


def big_models():
    model, _, _ = _parts()
    Accelerator(cpu=True).save_model(model, "model")
    with init_empty_weights():
        empty, _, _ = _parts()
    device_map = infer_auto_device_map(empty, max_memory={"cpu": 10**9})
    loaded = load_checkpoint_and_dispatch(empty, "model", device_map={"": "cpu"})
    x = torch.randn(2, 4)
    return str(dict(device_map)), loaded(x), model(x), str(get_balanced_memory(model, {"cpu": 10**9}))


def batch_size():
    @find_executable_batch_size(starting_batch_size=64)
    def run(size):
        if size > 20:
            raise RuntimeError("CUDA out of memory.")
        return size

    return run()
