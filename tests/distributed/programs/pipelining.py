"""Pipelines by every schedule: outputs, losses and gradients, evaluation, keyword arguments, mistakes. Unmodified PyTorch."""
import warnings

import torch
import torch.distributed.pipelining as pp
from ranks import saying
from torch.distributed.pipelining.schedules import get_schedule_class

MICROBATCHES = 8
SINGLE = ("GPipe", "1F1B")
SEVERAL = ("LoopedBFS", "Interleaved1F1B", "InterleavedZeroBubble", "ZBVZeroBubble", "DualPipeV")


class Block(torch.nn.Module):
    """A layer of a network, which may take a scale by name."""

    def __init__(self, i):
        super().__init__()
        self.up, self.down = torch.nn.Linear(6, 10), torch.nn.Linear(10, 6, bias=False)
        self.norm = torch.nn.LayerNorm(6)
        with torch.no_grad():
            for j, p in enumerate(self.parameters()):
                p.copy_(torch.sin(torch.arange(p.numel()).float() * (i + 2) * (j + 1) * .37).view_as(p) * .4)

    def forward(self, x, scale=1.0):
        return x + self.down(torch.tanh(self.up(self.norm(x)))) * scale


class Two(torch.nn.Module):
    """Two tensors in and out, of which one is numbers of positions."""

    def __init__(self, i):
        super().__init__()
        self.block = Block(i)

    def forward(self, x, at):
        return self.block(x) + at.unsqueeze(1), at


def batch():
    x = torch.cos(torch.arange(16 * 6.) * .3).view(16, 6)
    return x, x.roll(1, 1) * .5


def loss_of(out, target):
    return torch.nn.functional.mse_loss(out, target)


def stages_of(rank, n, v):
    """This rank's two stages of 2 * n."""
    return (rank, 2 * n - 1 - rank) if v else (rank, n + rank)


def stepped(say, what, schedule, blocks, rank, n, last, lr=.1, **named):
    """Two steps of a schedule."""
    optimizer = torch.optim.SGD([p for b in blocks for p in b.parameters()], lr=lr)
    x, y = batch()
    for turn in range(2):
        losses = []
        args = (x,) if rank == 0 else ()
        more = {"target": y, "losses": losses} if last else {}
        out = schedule.step(*args, **more, **named)
        say(what, turn, [f"{x.item():.4g}" for x in losses], None if out is None else (tuple(out.shape), f"{out.double().sum():.4f}"))
        say(what, [f"{p.grad.double().abs().sum():.4g} {p.grad.double().sum():.2f}" for b in blocks for p in b.parameters()])
        optimizer.step()
        optimizer.zero_grad()
    if "V" in what:     # where PyTorch asks for gradients that there are none of
        return
    with torch.no_grad():
        out = schedule.eval(*args, **({"target": y, "losses": losses} if last else {}), **named)
    say(what, "eval", [f"{x.item():.4g}" for x in losses], None if out is None else f"{out.double().sum():.4f}")


def raised(say, do):
    try:
        do()
    except Exception as error:
        say(type(error).__name__, str(error).strip().split("\n")[0].split(". ")[0])


def main(say, rank, n):
    cpu = torch.device("cpu")
    for name in SINGLE:
        block = Block(rank)
        schedule = get_schedule_class(name)(pp.PipelineStage(block, rank, n, cpu), MICROBATCHES, loss_fn=loss_of)
        stepped(say, name, schedule, [block], rank, n, rank == n - 1)
    for name in SEVERAL:
        mine = stages_of(rank, n, "V" in name)
        blocks = [Block(i) for i in mine]
        stages = [pp.PipelineStage(b, i, 2 * n, cpu) for b, i in zip(blocks, mine)]
        schedule = get_schedule_class(name)(stages, MICROBATCHES, loss_fn=loss_of)
        stepped(say, name, schedule, blocks, rank, n, 2 * n - 1 in mine)

    # examples of tensors, an argument by name that is cut, sums of losses
    x, y = batch()
    block, example = Block(rank), torch.empty(4, 6, requires_grad=True)
    stage = pp.PipelineStage(block, rank, n, cpu, input_args=example.detach() if rank == 0 else example, output_args=example)
    schedule = pp.ScheduleGPipe(stage, 4, loss_fn=torch.nn.MSELoss(reduction="sum"), scale_grads=False)
    stepped(say, "told", schedule, [block], rank, n, rank == n - 1, .001, scale=torch.linspace(1, 2, 16).unsqueeze(1))

    # several tensors
    net = Two(rank)
    schedule = pp.ScheduleGPipe(pp.PipelineStage(net, rank, n, cpu), 2, loss_fn=lambda out, y: loss_of(out[0], y))
    out = schedule.step(*((x, torch.arange(16)) if rank == 0 else ()), **({"target": y} if rank == n - 1 else {}))
    grad = net.block.up.weight.grad     # twice its sum: the sum itself lies where the fourth digit is rounded up or down
    say(None if out is None else [(tuple(t.shape), str(t.dtype), f"{t.double().sum():.4f}") for t in out], f"{2 * grad.double().sum():.4f}")
    say(f"{grad.abs().sum():.4f}")

    # only a forward
    schedule = pp.ScheduleGPipe(pp.PipelineStage(block, rank, n, cpu), 2)
    out = schedule.step(x) if rank == 0 else schedule.step()
    say(None if out is None else f"{out.sum():.4f}")

    # gradients of a stage's own making
    calls = []
    stage = pp.PipelineStage(block, rank, n, cpu, dw_builder=lambda: lambda: calls.append(1))
    schedule = pp.ScheduleGPipe(stage, 4, loss_fn=loss_of)
    schedule.step(*((x,) if rank == 0 else ()), **({"target": y} if rank == n - 1 else {}))
    say(len(calls))

    stage = pp.PipelineStage(block, rank, n, cpu)
    wrong = [lambda: pp.PipelineStage(block, n, n, cpu), lambda: pp.PipelineStage(block, rank, 1, cpu),
             lambda: pp.PipelineStage(block, rank, n, cpu, input_args=3), lambda: pp.PipelineStage(block, rank, n, cpu, input_args=(x, None)),
             lambda: pp.Schedule1F1B(stage, n - 1), lambda: pp.ScheduleZBVZeroBubble([stage], 4),
             lambda: pp.ScheduleInterleaved1F1B([stage, stage], 2 * n + 1), lambda: pp.ScheduleDualPipeV([stage, stage], 1),
             lambda: pp.ScheduleGPipe(stage, 4)._step_microbatches([()] * 3), lambda: pp.ScheduleGPipe(stage, 4)._step_microbatches(()),
             lambda: pp.ScheduleGPipe(stage, 4, loss_of)._step_microbatches(losses=3), lambda: get_schedule_class("GPip"),
             lambda: pp.ScheduleGPipe(stage, 17).step(x), lambda: torch.no_grad()(pp.ScheduleGPipe(stage, 4, loss_of).step)(x),
             lambda: stage.backward_one_chunk(0), lambda: stage.get_local_bwd_output(0)]
    for do in wrong:
        raised(say, do)


if __name__ == "__main__":
    warnings.simplefilter("ignore")
    with saying() as (say, rank, n):
        main(say, rank, n)
