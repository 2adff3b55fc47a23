"""torch-pruning: channels that are removed together."""

import torch
import torch_pruning as tp


class _Residual(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.first = torch.nn.Conv2d(3, 8, 3, padding=1)
        self.norm = torch.nn.BatchNorm2d(8)
        self.second = torch.nn.Conv2d(8, 8, 3, padding=1)
        self.joined = torch.nn.Conv2d(16, 8, 1)
        self.head = torch.nn.Linear(8 * 4, 5)

    def forward(self, x):
        y = self.norm(self.first(x)).relu()
        y = y + self.second(y)
        y = self.joined(torch.cat([y, y.tanh()], 1))
        return self.head(torch.nn.functional.adaptive_avg_pool2d(y, 2).flatten(1))


def groups():
    model, x = _Residual().eval(), torch.randn(1, 3, 8, 8)
    graph = tp.DependencyGraph().build_dependency(model, example_inputs=x)
    group = graph.get_pruning_group(model.first, tp.prune_conv_out_channels, idxs=[2, 6])
    described = str(group)
    group.prune()
    return described, {n: list(p.shape) for n, p in model.named_parameters()}, model(x)


def by_magnitude():
    model, x = _Residual().eval(), torch.randn(1, 3, 8, 8)
    before = tp.utils.count_ops_and_params(model, x)
    pruner = tp.pruner.MagnitudePruner(
        model,
        x,
        importance=tp.importance.GroupMagnitudeImportance(),
        iterative_steps=2,
        pruning_ratio=0.5,
        ignored_layers=[model.head],
    )
    shapes = []
    for _ in range(2):
        pruner.step()
        shapes.append({n: list(p.shape) for n, p in model.named_parameters()})
    return before, tp.utils.count_ops_and_params(model, x), shapes, model(x)


def by_gradients():
    model, x = _Residual(), torch.randn(2, 3, 8, 8)
    importance = tp.importance.GroupTaylorImportance()
    pruner = tp.pruner.BasePruner(
        model, x, importance, pruning_ratio=0.5, global_pruning=True, ignored_layers=[model.head]
    )
    model(x).square().sum().backward()
    for group in pruner.step(interactive=True):
        group.prune()
    return {n: list(p.shape) for n, p in model.named_parameters()}
