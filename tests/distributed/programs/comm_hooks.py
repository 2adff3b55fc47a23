"""Communication hooks of DistributedDataParallel and averagers of models. Unmodified PyTorch."""
import pickle
from collections import OrderedDict

import torch
import torch.distributed as dist
from ranks import saying
from torch.distributed.algorithms import ddp_comm_hooks
from torch.distributed.algorithms.ddp_comm_hooks import powerSGD_hook as power
from torch.distributed.algorithms.model_averaging.hierarchical_model_averager import HierarchicalModelAverager
from torch.nn.parallel import DistributedDataParallel


def model(**how):
    net = torch.nn.Sequential(torch.nn.Linear(12, 20), torch.nn.Tanh(), torch.nn.Linear(20, 20), torch.nn.Linear(20, 20), torch.nn.Linear(20, 1))
    with torch.no_grad():
        for i, p in enumerate(net.parameters()):
            p.copy_(torch.sin(torch.arange(p.numel()).float() * (i + 1)).view_as(p) * .3)
    return DistributedDataParallel(net, **how)


def trained(net, steps=12):
    optimizer = torch.optim.SGD(net.parameters(), lr=.02)
    x = torch.cos(torch.arange(64 * 12).float() + dist.get_rank()).view(64, 12)
    losses = []
    for _ in range(steps):
        optimizer.zero_grad()
        loss = (net(x) - x.sum(1, keepdim=True)).square().mean()
        loss.backward()
        optimizer.step()
        losses.append(loss.item())
    return losses


def same_everywhere(net):
    """Whether all ranks have the same parameters."""
    flat = torch.cat([p.detach().reshape(-1) for p in net.parameters()])
    found = [torch.empty_like(flat) for _ in range(dist.get_world_size())]
    dist.all_gather(found, flat)
    return all(torch.equal(found[0], f) for f in found)


def by_power():
    """What depends on random numbers is not printed: that it is close to the mean is."""
    plain = trained(model())
    found = []
    for how in ({"matrix_approximation_rank": 3}, {"use_error_feedback": False, "warm_start": False, "start_powerSGD_iter": 0},
                {"batch_tensors_with_same_shape": True, "matrix_approximation_rank": 2, "orthogonalization_epsilon": 1e-8}):
        net = model()
        state = power.PowerSGDState(None, **{"start_powerSGD_iter": 2, **how})
        net.register_comm_hook(state, power.powerSGD_hook)
        losses = trained(net)
        close = max(abs(a - b) for a, b in zip(plain[3:], losses[3:])) < .1 * plain[0]
        found.append([losses[-1] < losses[0] * .9, close, state.compression_stats(), state.iter, same_everywhere(net)])
    return found


def of_full_rank():
    """Matrices as wide as the gradients leave nothing out."""
    plain, net = trained(model()), model()
    state = power.PowerSGDState(None, matrix_approximation_rank=20, start_powerSGD_iter=2, min_compression_rate=.1)
    net.register_comm_hook(state, power.powerSGD_hook)
    return max(abs(a - b) for a, b in zip(plain, trained(net))) < 1e-4, sorted(state.error_dict)


def pickled():
    state = power.PowerSGDState(dist.new_group(), start_powerSGD_iter=3, matrix_approximation_rank=2)
    again = pickle.loads(pickle.dumps(state))
    try:
        power.PowerSGDState(None, start_powerSGD_iter=1)
    except ValueError as error:
        return again.process_group is dist.group.WORLD, again.matrix_approximation_rank, str(error)[:60]


def by_name():
    found = []
    for kind in ("ALLREDUCE", "FP16_COMPRESS", "NOOP", "POWER_SGD_RANK2", "BATCHED_POWER_SGD"):
        net = model(bucket_cap_mb=.001)
        ddp_comm_hooks.register_ddp_comm_hook(ddp_comm_hooks.DDPCommHookType[kind], net, None)
        found.append([kind, [f"{loss:.3f}" for loss in trained(net, 3)], same_everywhere(net)])
    return found


def in_groups():
    averager = HierarchicalModelAverager(OrderedDict([(2, 2), (4, dist.get_world_size())]), warmup_steps=2)
    p, found = torch.nn.Parameter(torch.full((3,), float(dist.get_rank()))), []
    for _ in range(6):
        p.grad = torch.ones(3)
        with torch.no_grad():
            p += dist.get_rank()
        averager.average_parameters([p])
        found.append(p[0].item())
    for wrong in ({}, {0: 2}, {2: 77}):
        try:
            HierarchicalModelAverager(OrderedDict(wrong))
        except ValueError as error:
            found.append(str(error))
    return found


def chained():
    """A hook whose futures begin collectives of their own, as PyTorch's PowerSGD does."""
    def twice(group, bucket):
        half = dist.all_reduce(bucket.buffer(), async_op=True).get_future()
        again = half.then(lambda done: dist.all_reduce(done.value()[0], async_op=True).get_future().wait()[0])
        return again.then(lambda done: done.value().div_(dist.get_world_size() ** 2))
    net = model()
    net.register_comm_hook(None, twice)
    return [f"{loss:.4f}" for loss in trained(net, 3)]


def main():
    with saying() as (say, *_):
        for line in (by_power(), of_full_rank(), pickled(), by_name(), in_groups(), chained()):
            say(line)


main()
