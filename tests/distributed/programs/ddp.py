"""DistributedDataParallel: accumulation, buffers, a sampler, unused parameters, local steps. Unmodified PyTorch."""
import pickle

import torch
import torch.distributed as dist
from ranks import saying
from torch.distributed.algorithms.ddp_comm_hooks.post_localSGD_hook import PostLocalSGDState, post_localSGD_hook
from torch.distributed.algorithms.model_averaging.averagers import PeriodicModelAverager
from torch.distributed.optim import PostLocalSGDOptimizer
from torch.nn.parallel import DistributedDataParallel
from torch.utils.data import DataLoader, TensorDataset
from torch.utils.data.distributed import DistributedSampler


class OneOfThree(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.a, self.b, self.c = torch.nn.Linear(2, 2), torch.nn.Linear(2, 2), torch.nn.Linear(2, 2)

    def forward(self, x):
        return self.a(x) if dist.get_rank() == 0 else self.b(x)


def train(rank):
    net = torch.nn.Sequential(torch.nn.Linear(8, 32), torch.nn.BatchNorm1d(32), torch.nn.ReLU(), torch.nn.Linear(32, 1))
    with torch.no_grad():
        for i, p in enumerate(net.parameters()):
            p.copy_(torch.sin(torch.arange(p.numel()).float() * (i + 1) + rank).view_as(p) * .3)
    net = DistributedDataParallel(net)
    optimizer = torch.optim.SGD(net.parameters(), lr=.05, momentum=.9)
    x = torch.cos(torch.arange(64 * 8).float()).view(64, 8)
    data = TensorDataset(x, x.sum(1, keepdim=True))
    loader = DataLoader(data, batch_size=8, sampler=DistributedSampler(data, shuffle=False))
    losses = []
    for epoch in range(3):
        loader.sampler.set_epoch(epoch)
        for i, (a, b) in enumerate(loader):
            if i % 2 == 0:
                with net.no_sync():
                    torch.nn.functional.mse_loss(net(a), b).backward()
                continue
            loss = torch.nn.functional.mse_loss(net(a), b)
            loss.backward()
            optimizer.step()
            optimizer.zero_grad()
            mean = loss.detach().clone()
            dist.all_reduce(mean)
            losses.append(f"{mean.item() / dist.get_world_size():.4f}")
    return losses, list(net.state_dict())[:3], f"{sum(p.double().sum().item() for p in net.parameters()):.4f}"


def unused():
    torch.manual_seed(0)
    net = DistributedDataParallel(OneOfThree(), find_unused_parameters=True)
    net(torch.ones(1, 2)).sum().backward()
    return [(name, None if p.grad is None else round(p.grad.sum().item(), 4)) for name, p in net.named_parameters()]


def unused_without_saying_so():
    net = DistributedDataParallel(OneOfThree())
    net(torch.ones(1, 2)).sum().backward()
    try:
        net(torch.ones(1, 2))
    except RuntimeError as error:
        return str(error)[:80]


class Alternating(torch.nn.Module):
    """Another layer in each run, and other ones on each rank."""

    def __init__(self):
        super().__init__()
        self.layers, self.runs = torch.nn.ModuleList([torch.nn.Linear(1, 1) for _ in range(4)]), 0

    def forward(self, x):
        self.runs += 1
        return self.layers[(self.runs + 2 * dist.get_rank()) % 4](x)


def used_while_adding_up():
    torch.manual_seed(0)
    net = DistributedDataParallel(Alternating(), find_unused_parameters=True)
    with net.no_sync():
        net(torch.ones(1, 1)).sum().backward()
    net(torch.ones(1, 1)).sum().backward()
    return [None if p.grad is None else round(p.grad.item(), 4) for p in net.parameters()]


class Pair(torch.nn.Module):
    """Two results of the same input, or one layer behind the other."""

    def __init__(self):
        super().__init__()
        self.a, self.b = torch.nn.Linear(1, 1), torch.nn.Linear(1, 1)

    def forward(self, x, how="both"):
        return (self.a(x), self.b(x)) if how == "both" else self.b(self.a(x)) if how == "chain" else self.b(x)


def gradients(net):
    return [None if p.grad is None else round(p.grad.item(), 4) for p in net.parameters()]


def not_in_the_loss():
    """A result that the loss leaves out; on one rank only; graphs that differ between ranks, also where they stay as they are."""
    torch.manual_seed(0)
    net, found = DistributedDataParallel(Pair(), find_unused_parameters=True), []
    for everywhere in (True, False):
        a, b = net(torch.ones(1, 1))
        (b.sum() if everywhere or dist.get_rank() == 0 else (a + b).sum()).backward()
        found.append(gradients(net))
    for how in ({"find_unused_parameters": True}, {"static_graph": True}):
        net = DistributedDataParallel(Pair(), **how)
        for _ in range(3):
            net(torch.ones(1, 1), "chain" if dist.get_rank() == 0 else "one").sum().backward()
        found.append(gradients(net))
    return found


def changed():
    """A static graph that changes."""
    net = DistributedDataParallel(Pair(), static_graph=True)
    try:
        for how in ("one", "chain"):
            net(torch.ones(1, 1), how).sum().backward()
    except RuntimeError as error:
        return str(error).split(",")[0]


def uneven_with_unused():
    torch.manual_seed(0)
    net = DistributedDataParallel(Pair(), find_unused_parameters=True)
    with net.join():
        for _ in range(1 + dist.get_rank()):
            net(torch.ones(1, 1))[0].sum().backward()
    return gradients(net)


def local_steps():
    """Gradients are averaged by all for two steps, later not; parameters every second step."""
    torch.manual_seed(0)
    net = DistributedDataParallel(torch.nn.Linear(1, 1))
    net.register_comm_hook(PostLocalSGDState(None, dist.new_subgroups(1)[0], 2), post_localSGD_hook)
    optimizer = PostLocalSGDOptimizer(torch.optim.SGD(net.parameters(), .1), PeriodicModelAverager(2, 2))
    found = []
    for _ in range(5):
        optimizer.zero_grad()
        net(torch.ones(1, 1) + dist.get_rank()).pow(2).sum().backward()
        optimizer.step()
        found.append(round(net.module.weight.item(), 4))
    return found, optimizer.state_dict()["step"]


def as_an_object():
    """A pickle of it is of the same job."""
    net = pickle.loads(pickle.dumps(DistributedDataParallel(torch.nn.Linear(2, 1), bucket_cap_mb=1)))
    with torch.no_grad():
        net.module.weight.fill_(1 + dist.get_rank())
    net(torch.full((1, 2), 1. + dist.get_rank())).sum().backward()
    facts = net._get_ddp_logging_data()
    said = []
    for wrong in (net._set_static_graph, lambda: pickle.dumps(DistributedDataParallel(torch.nn.Linear(1, 1), process_group=dist.new_group()))):
        try:
            wrong()
        except RuntimeError as error:
            said.append(str(error)[:60])
    return net.module.weight.grad.tolist(), said, [facts[name] for name in ("bucket_cap_bytes", "dtypes", "module_name")], \
        "training loop" in net._get_ddp_logging_data()["error"]


class Spectrum(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.phases = torch.nn.Parameter(torch.ones(3, dtype=torch.complex64))

    def forward(self, x):
        return (self.phases * x).abs().square().sum()


def of_other_sizes_and_dtypes():
    """Large gradients, which stay as they are while others come, and are scaled in place; 16-bit and complex ones."""
    net = DistributedDataParallel(torch.nn.Linear(300, 400))
    kept, weight = [], net.module.weight
    for turn in range(3):
        net(torch.ones(2, 300) * (turn + 1 + dist.get_rank())).sum().backward()
        kept.append(weight.grad)
        weight.grad = None
    kept[0].mul_(2)
    torch.nn.utils.clip_grad_norm_(net.parameters(), 1.)
    sums = [[g[0, 0].item(), g.sum().item()] for g in kept] + [round(net.module.bias.grad.norm().item(), 5)]
    for made in (torch.nn.Linear(3, 2).to(torch.bfloat16), Spectrum()):
        net = DistributedDataParallel(made)
        net(torch.ones(3, dtype=next(made.parameters()).dtype) * (1.5 + dist.get_rank())).sum().backward()
        sums += [str(p.grad.tolist()) for p in made.parameters()]
    return sums


def main():
    with saying() as (say, rank, _):
        for line in (train(rank), unused(), unused_without_saying_so(), used_while_adding_up(), not_in_the_loss(), changed(),
                     uneven_with_unused(), local_steps(), as_an_object(), of_other_sizes_and_dtypes()):
            say(line)


main()
