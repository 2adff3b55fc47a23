"""Pipelines of models that are traced, and of stages that other ranks hold too. Unmodified PyTorch."""
import warnings

import torch
import torch.distributed.pipelining as pp
from ranks import saying
from torch.distributed.device_mesh import init_device_mesh
from torch.distributed.fsdp import fully_shard
from torch.nn.parallel import DistributedDataParallel


class Net(torch.nn.Module):
    """Layers, a parameter and a buffer of its own; it may be cut between layers, or where it says so."""

    def __init__(self, n, says=False):
        super().__init__()
        self.layers = torch.nn.ModuleList([torch.nn.Sequential(torch.nn.Linear(6, 10), torch.nn.Tanh(), torch.nn.Linear(10, 6))
                                           for _ in range(n)])
        self.gain = torch.nn.Parameter(torch.ones(6))
        self.register_buffer("shift", torch.arange(6.) / 7)
        self.says = says
        with torch.no_grad():
            for j, p in enumerate(self.parameters()):
                p.copy_(torch.sin(torch.arange(p.numel()).float() * (j + 1) * .37).view_as(p) * .4)

    def forward(self, x, scale=None):
        x = x * self.gain
        if scale is not None:
            x = x * scale
        for i, layer in enumerate(self.layers):
            if self.says and i:
                pp.pipe_split()
            x = x + layer(x)
        return x.view(x.shape[0], 2, 3) + self.shift.view(2, 3)


def batch(i=0):
    x = torch.cos(torch.arange(16 * 6.) * .3 + i).view(16, 6)
    return x, x.roll(1, 1).view(16, 2, 3) * .5


def gradients(module):
    found = [(n, p.grad.full_tensor() if hasattr(p.grad, "full_tensor") else p.grad) for n, p in sorted(module.named_parameters())]
    return [f"{n} {g.double().abs().sum():.4g} {g.double().sum():.2f}" for n, g in found]


def traced(say, rank, n, cpu):
    x, y = batch()
    for kind in (pp.ScheduleGPipe, pp.Schedule1F1B):
        for says in (False, True):
            net = Net(n, says)
            spec = None if says else {f"layers.{i}": pp.SplitPoint.BEGINNING for i in range(1, n)}
            kwargs = {"scale": torch.full((16, 1), 1.5)} if says else {}
            pipe = pp.pipeline(net, (x[:4],), {k: v[:4] for k, v in kwargs.items()}, split_spec=spec)
            whole = Net(n)(x, **kwargs)
            say(pipe.num_stages, torch.allclose(pipe(x[:4], **{k: v[:4] for k, v in kwargs.items()})[0], whole[:4], atol=1e-5))
            stage = pipe.build_stage(rank, cpu)
            say(sorted(stage.submod.state_dict()))
            schedule, losses = kind(stage, 4, loss_fn=torch.nn.functional.mse_loss), []
            args, named = ((x,), kwargs) if rank == 0 else ((), {})
            for _ in range(2):
                stage.submod.zero_grad()
                out = schedule.step(*args, **named, **({"target": y, "losses": losses} if rank == n - 1 else {}))
            say([f"{v.item():.4g}" for v in losses], None if out is None else torch.allclose(out, whole, atol=1e-5))
            say(gradients(stage.submod))
    for wrong in (lambda: pp.pipeline(Net(2), (x,), split_spec={"layers.7.0": pp.SplitPoint.END}), lambda: pipe.get_stage_module(n),
                  lambda: pp.pipeline(Net(2), (x,), split_spec={"layers.1": 3}), lambda: pipe.split_gm(x),
                  lambda: pp.pipeline(Net(2), (x,), split_spec={}, split_policy=lambda m: m)):
        try:
            wrong()
        except Exception as error:
            say(type(error).__name__, str(error).split("\n")[0])


def data_parallel(say, rank, cpu):
    """Two stages on each rank of a pipeline, and each stage on two ranks."""
    mesh = init_device_mesh("cpu", (2, 2), mesh_dim_names=("dp", "pp"))
    dp, at = mesh["dp"].get_group(), mesh.get_local_rank("pp")
    x, y = batch(mesh.get_local_rank("dp"))
    y = y.view(16, 6)
    for how in ("ddp", "fsdp"):
        for name in ("Interleaved1F1B", "LoopedBFS"):
            stages = []
            for i in (at, 2 + at):
                module = Net(4).layers[i]
                if how == "ddp":
                    module = DistributedDataParallel(module, process_group=dp)
                else:
                    fully_shard(module[0], mesh=mesh["dp"])
                    fully_shard(module, mesh=mesh["dp"])
                stages.append(pp.PipelineStage(module, i, 4, cpu, group=mesh["pp"].get_group()))
            kind = pp.schedules.get_schedule_class(name)
            schedule, losses = kind(stages, 4, loss_fn=torch.nn.functional.mse_loss), []
            for _ in range(1 if how == "ddp" else 2):       # PyTorch's DDP fails in the second step
                for stage in stages:
                    stage.submod.zero_grad()
                schedule.step(*((x,) if at == 0 else ()), **({"target": y, "losses": losses} if at == 1 else {}))
            say(how, name, [f"{v.item():.4g}" for v in losses], [gradients(s.submod) for s in stages])


def main(say, rank, n):
    cpu = torch.device("cpu")
    traced(say, rank, n, cpu)
    if n == 4:
        data_parallel(say, rank, cpu)


if __name__ == "__main__":
    warnings.simplefilter("ignore")
    with saying() as (say, rank, n):
        main(say, rank, n)
