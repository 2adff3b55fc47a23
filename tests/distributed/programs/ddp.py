"""DistributedDataParallel: accumulation, buffers, a sampler, unused parameters. Unmodified PyTorch."""
import os

import torch
import torch.distributed as dist
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


def main():
    dist.init_process_group("gloo")
    rank = dist.get_rank()
    lines = [train(rank), unused(), unused_without_saying_so()]
    for i in range(dist.get_world_size()):
        if i == rank:
            with open(os.environ["PRINTED"], "a") as printed:
                print(rank, *lines, sep="\n", file=printed, flush=True)
        dist.barrier()
    dist.destroy_process_group()


main()
