"""fvcore: counts of operations and parameters, losses, schedules and checkpoints."""

import torch
from fvcore.common.checkpoint import Checkpointer, PeriodicCheckpointer
from fvcore.common.param_scheduler import CosineParamScheduler, LinearParamScheduler, MultiStepParamScheduler
from fvcore.nn import (
    ActivationCountAnalysis,
    FlopCountAnalysis,
    flop_count_str,
    flop_count_table,
    giou_loss,
    parameter_count,
    parameter_count_table,
    sigmoid_focal_loss,
    smooth_l1_loss,
)
from fvcore.nn.precise_bn import update_bn_stats


class _Block(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.conv = torch.nn.Conv2d(3, 8, 3, padding=1)
        self.norm = torch.nn.BatchNorm2d(8)
        self.head = torch.nn.Linear(8, 5)

    def forward(self, x):
        x = torch.relu(self.norm(self.conv(x)))
        x = torch.nn.functional.interpolate(x, scale_factor=2)
        return self.head(torch.nn.functional.adaptive_avg_pool2d(x, 1).flatten(1))


def flops():
    counts = FlopCountAnalysis(_Block(), torch.randn(2, 3, 16, 16))
    return (
        counts.total(),
        dict(counts.by_operator()),
        dict(counts.by_module()),
        dict(counts.unsupported_ops()),
        sorted(counts.uncalled_modules()),
    )


def flops_of_attention():
    layer = torch.nn.TransformerEncoderLayer(16, 4, 32, batch_first=True)
    counts = FlopCountAnalysis(torch.nn.Sequential(layer, torch.nn.Linear(16, 4)), torch.randn(2, 6, 16))
    return counts.total(), dict(counts.by_operator())


def activations():
    counts = ActivationCountAnalysis(_Block(), torch.randn(2, 3, 16, 16))
    return counts.total(), dict(counts.by_operator()), dict(counts.by_module())


def tables():
    model, x = _Block(), torch.randn(1, 3, 8, 8)
    counts = FlopCountAnalysis(model, x).unsupported_ops_warnings(False)
    return flop_count_table(counts), flop_count_str(counts), parameter_count_table(model), dict(parameter_count(model))


def losses():
    x, y = torch.randn(6, 4, requires_grad=True), torch.rand(6, 4).round()
    boxes = torch.rand(5, 4).cumsum(1).requires_grad_()
    loss = sigmoid_focal_loss(x, y, alpha=0.25, reduction="mean") + smooth_l1_loss(x, y, 0.5, "sum")
    loss = loss + giou_loss(boxes, boxes.detach() + 0.1, "mean")
    loss.backward()
    return loss, x.grad, boxes.grad


def schedules():
    where = [i / 10 for i in range(10)]
    return [
        [s(w) for w in where]
        for s in (
            CosineParamScheduler(1.0, 0.1),
            LinearParamScheduler(0.1, 1.0),
            MultiStepParamScheduler([1.0, 0.1, 0.01], milestones=[3, 7, 10]),
        )
    ]


def checkpoints():
    model = _Block()
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
    periodic = PeriodicCheckpointer(Checkpointer(model, ".", optimizer=optimizer), 2, max_iter=4, max_to_keep=1)
    for step in range(4):
        optimizer.zero_grad()
        model(torch.randn(2, 3, 8, 8)).square().mean().backward()
        optimizer.step()
        periodic.step(step, loss=step)
    other = _Block()
    extra = Checkpointer(other, ".").load(periodic.checkpointer.get_checkpoint_file())
    return {"iteration": extra["iteration"], "loss": extra["loss"]}, other.state_dict()


def precise_batch_norm():
    model = _Block().train()
    update_bn_stats(model, [torch.randn(4, 3, 8, 8) for _ in range(3)], 3)
    return model.norm.running_mean, model.norm.running_var
