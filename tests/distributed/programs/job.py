"""Programs of a job of one JAX runtime, on eight devices in all. The arguments name the checks, or ``save`` and ``load`` a folder."""
import os
import sys

import jtorch as torch
import jtorch.distributed as dist
import jtorch.distributed.checkpoint as dcp
import jtorch.nn.functional as F
from jtorch.distributed.checkpoint.state_dict import get_state_dict, set_state_dict
from jtorch.distributed.device_mesh import init_device_mesh
from jtorch.distributed.fsdp import fully_shard
from jtorch.distributed.tensor import DTensor, Replicate, Shard, distribute_module, distribute_tensor
from jtorch.distributed.tensor.parallel import ColwiseParallel, RowwiseParallel, parallelize_module


def net(seed=0):
    torch.manual_seed(seed)
    return torch.nn.Sequential(torch.nn.Linear(8, 16), torch.nn.Tanh(), torch.nn.Linear(16, 8))


def batch(step):
    x = torch.randn(16, 8, generator=torch.Generator().manual_seed(step))
    return x, x.roll(1, 1)


def curve(model, spread, steps, reads=lambda at: True):
    """Return the losses of some steps. ``reads(step, place)`` says whether this rank reads the loss at a place of a step."""
    optimizer, seen = torch.optim.AdamW(model.parameters(), lr=.02), []
    for step in range(steps):
        x, y = map(spread, batch(step))
        loss = F.mse_loss(model(x), y)
        if reads((step, "after forward")):
            seen.append(loss.item())
        optimizer.zero_grad()
        loss.backward()
        if reads((step, "after backward")):
            seen.append(loss.item())
        torch.nn.utils.clip_grad_norm_(model.parameters(), 1.)
        optimizer.step()
        if reads((step, "after the step")):
            seen.append(loss.item())
    seen.append(loss.item())
    return torch.tensor(seen)


def own_rows(x):
    """Return this process's rows of a batch."""
    return x.chunk(dist.get_world_size())[dist.get_rank()]


def alone(steps):
    return curve(net(), lambda x: x, steps, lambda at: at[1] == "after forward")


def trains_on_batches_of_each_process():
    """Train on rows of each process. One rank at a time reads the loss, at changing places of the step."""
    mesh, model = init_device_mesh("cpu", (8,)), net()
    distribute_module(model, mesh)
    places = ["after forward", "after backward", "after the step"]

    def reads(at):
        step, place = at
        return dist.get_rank() == step % 2 and place == places[step % 3]
    seen = curve(model, lambda x: DTensor.from_local(own_rows(x), mesh, [Shard(0)]), STEPS, reads)
    wanted = alone(STEPS)
    mine = [wanted[step].item() for step in range(STEPS) if dist.get_rank() == step % 2]
    torch.testing.assert_close(seen, torch.tensor([*mine, wanted[-1].item()]), rtol=1e-4, atol=1e-5)


def trains_sharded():
    mesh, model = init_device_mesh("cpu", (8,)), net()
    fully_shard(model)
    seen = curve(model, lambda x: distribute_tensor(x, mesh, [Shard(0)]), 6, lambda at: at[1] == "after forward")
    torch.testing.assert_close(seen, alone(6), rtol=1e-4, atol=1e-5)
    assert model[0].weight.placements == (Shard(0),)


def trains_in_two_dimensions():
    mesh, model = init_device_mesh("cpu", (2, 4), mesh_dim_names=("dp", "tp")), net()
    parallelize_module(model, mesh["tp"], {"0": ColwiseParallel(use_local_output=False), "2": RowwiseParallel(use_local_output=False)})
    fully_shard(model, mesh=mesh["dp"])
    seen = curve(model, lambda x: distribute_tensor(x, mesh, [Shard(0), Replicate()]), 4, lambda at: at[1] == "after forward")
    torch.testing.assert_close(seen, alone(4), rtol=1e-4, atol=1e-5)


def parts_and_wholes():
    mesh, n, rank = init_device_mesh("cpu", (8,)), dist.get_world_size(), dist.get_rank()
    whole = torch.arange(16.).reshape(16, 1)
    part = own_rows(whole).clone().requires_grad_()
    x = DTensor.from_local(part, mesh, [Shard(0)])
    assert x.shape == (16, 1) and x.placements == (Shard(0),)
    assert torch.equal(x.to_local(), part) and torch.equal(x.full_tensor(), whole)
    (x * (2 * x.detach())).sum().backward()
    assert torch.equal(part.grad, 2 * part)
    assert str(x.detach()).startswith("DTensor(full_tensor=tensor([[ 0.]")
    t = torch.full((3,), rank + 1.)
    dist.all_reduce(t)
    assert t.tolist() == [n * (n + 1) / 2] * 3
    found = [None] * n
    dist.all_gather_object(found, rank)
    assert found == list(range(n))


class Residual(torch.nn.Module):
    def __init__(self, width):
        super().__init__()
        self.conv, self.norm = torch.nn.Conv2d(width, width, 3, padding=1, bias=False), torch.nn.BatchNorm2d(width)

    def forward(self, x):
        return F.relu(x + self.norm(self.conv(x)))


def images(spread, prepare):
    torch.manual_seed(0)
    model = torch.nn.Sequential(torch.nn.Conv2d(1, 4, 3, stride=2), Residual(4), torch.nn.AdaptiveAvgPool2d(1), torch.nn.Flatten(),
                                torch.nn.Linear(4, 3))
    model = torch.nn.SyncBatchNorm.convert_sync_batchnorm(model)
    prepare(model)
    optimizer, seen = torch.optim.SGD(model.parameters(), lr=.1, momentum=.9), []
    for step in range(4):
        g = torch.Generator().manual_seed(step)
        x, y = torch.randn(16, 1, 9, 9, generator=g), torch.randint(0, 3, (16,), generator=g)
        loss = F.cross_entropy(model(spread(x)), spread(y))
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        seen.append(loss.item())
    return torch.tensor(seen), model[1].norm.running_var


def trains_a_residual_net_with_synchronized_norms():
    mesh = init_device_mesh("cpu", (8,))
    seen, variance = images(lambda x: DTensor.from_local(own_rows(x), mesh, [Shard(0)]), lambda m: distribute_module(m, mesh))
    from unittest import mock

    from jtorch.nn.modules import _sync_batch_norm
    with mock.patch.object(_sync_batch_norm, "group_of", return_value=None):       # One device has the whole batch.
        wanted, variance_alone = images(lambda x: x, lambda m: None)
    torch.testing.assert_close(seen, wanted, rtol=1e-4, atol=1e-5)
    torch.testing.assert_close(variance.full_tensor(), variance_alone, rtol=1e-4, atol=1e-5)


def checkpoint(what, folder):
    """Save after two steps, or load into another net, and print the losses of the next two steps."""
    model = net(0 if what == "save" else 7)
    spread = lambda x: x
    if dist.is_initialized():
        mesh = init_device_mesh("cpu", (dist.get_world_size() * DEVICES,))
        fully_shard(model, mesh=mesh)
        spread = lambda x: distribute_tensor(x, mesh, [Shard(0)])
    optimizer = torch.optim.AdamW(model.parameters(), lr=.02)

    def step(n):
        x, y = map(spread, batch(n))
        loss = F.mse_loss(model(x), y)
        loss.backward()
        optimizer.step()
        optimizer.zero_grad()
        return loss.item()
    step(0)
    step(1)
    state = dict(zip(("model", "optim"), get_state_dict(model, optimizer), strict=True))
    if what == "save":
        dcp.save(state, checkpoint_id=folder)
    else:
        dcp.load(state, checkpoint_id=folder)
        set_state_dict(model, optimizer, model_state_dict=state["model"], optim_state_dict=state["optim"])
    return f"{step(2):.5f} {step(3):.5f}"


DEVICES, STEPS = int(os.environ.get("DEVICES", "1")), int(os.environ.get("STEPS", "7"))

if __name__ == "__main__":
    if "RANK" in os.environ:
        dist.init_process_group("xla")
    if sys.argv[1] in ("save", "load"):
        said = [checkpoint(*sys.argv[1:])]
    else:
        said = [f"held {name}" for name in sys.argv[1:] if globals()[name]() is None]
    if not dist.is_initialized() or dist.get_rank() == 0:
        print("\n".join(said), flush=True)
    if dist.is_initialized():
        dist.destroy_process_group()
