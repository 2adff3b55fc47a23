"""Work on a mesh of one process's own eight devices. Print the checks that held, and the errors of the others."""

import copy
import io
import pickle
import sys
import tempfile
import traceback
import warnings

import jtorch as torch
import jtorch.distributed.checkpoint as dcp
import jtorch.nn.functional as F
from jtorch import nn
from jtorch.distributed.checkpoint.state_dict import StateDictOptions, get_model_state_dict, get_state_dict
from jtorch.distributed.device_mesh import init_device_mesh
from jtorch.distributed.fsdp import FullyShardedDataParallel, MixedPrecisionPolicy, fully_shard
from jtorch.distributed.tensor import (
    DTensor,
    Replicate,
    Shard,
    distribute_module,
    distribute_tensor,
    full,
    ones,
    randn,
    zeros,
)
from jtorch.distributed.tensor.parallel import ColwiseParallel, RowwiseParallel, SequenceParallel, parallelize_module
from jtorch.storage import value_of

EIGHT = init_device_mesh("cpu", (8,))
TWO_BY_FOUR = init_device_mesh("cpu", (2, 4), mesh_dim_names=("dp", "tp"))


class Block(nn.Module):
    def __init__(self):
        super().__init__()
        self.norm, self.up, self.down = nn.LayerNorm(32), nn.Linear(32, 64), nn.Linear(64, 32)

    def forward(self, x):
        return x + self.down(F.gelu(self.up(self.norm(x))))


class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.table, self.blocks, self.out = nn.Embedding(16, 32), nn.Sequential(Block(), Block()), nn.Linear(32, 10)

    def forward(self, x):
        return self.out(self.blocks(self.table(x)).mean(1))


def batch():
    g = torch.Generator().manual_seed(3)
    return torch.randint(0, 16, (16, 8), generator=g), torch.randint(0, 10, (16,), generator=g)


def trained(prepare=lambda net: net, spread=lambda x: x, steps=5):
    """Return the losses of some steps, the model and its optimizer."""
    torch.manual_seed(0)
    net = prepare(Net())
    x, y = map(spread, batch())
    optimizer = torch.optim.AdamW(net.parameters(), lr=1e-2)
    losses = []
    for _ in range(steps):
        optimizer.zero_grad()
        loss = F.cross_entropy(net(x), y)
        loss.backward()
        optimizer.step()
        losses.append(loss.item())
    return losses, net, optimizer


ONE = trained()[0]


def same(losses):
    assert all(abs(a - b) < 1e-5 for a, b in zip(losses, ONE, strict=True)), (losses, ONE)


def parts(t):
    """Return the size of each device's part, from the array itself."""
    value = value_of(t)
    torch.engine.read(value)
    return {tuple(part.data.shape) for part in value.array.addressable_shards}, len(value.array.sharding.device_set)


def lies(p, optimizer, placements, size):
    """Return whether a parameter, its gradient and its states have these placements and sizes."""
    for t in (p, p.grad, optimizer.state[p]["exp_avg"], optimizer.state[p]["exp_avg_sq"]):
        assert isinstance(t, DTensor) and t.placements == placements, (type(t), t.placements)
        assert parts(t) == ({size}, 8), parts(t)


def raises(kind, says, function):
    try:
        function()
    except kind as error:
        assert says in str(error), error
    else:
        raise AssertionError(f"no {kind}")


# ---------------------------------------------------------------- the same losses

def batches_are_split():
    losses, net, optimizer = trained(lambda net: distribute_module(net, EIGHT), lambda x: distribute_tensor(x, EIGHT, [Shard(0)]))
    same(losses)
    lies(net.blocks[0].up.weight, optimizer, (Replicate(),), (64, 32))


def tensor_parallel(local):
    def prepare(net):
        for block in net.blocks:
            parallelize_module(block, EIGHT, {"up": ColwiseParallel(use_local_output=local),
                                              "down": RowwiseParallel(use_local_output=local)})
        return net if local else distribute_module(net, EIGHT)
    losses, net, optimizer = trained(prepare, (lambda x: x) if local else lambda x: distribute_tensor(x, EIGHT, [Replicate()]))
    same(losses)
    lies(net.blocks[0].up.weight, optimizer, (Shard(0),), (8, 32))
    lies(net.blocks[1].down.weight, optimizer, (Shard(1),), (32, 8))
    lies(net.blocks[1].down.bias, optimizer, (Replicate(),), (32,))


def layers_are_split_between_dtensors():
    tensor_parallel(local=False)


def layers_are_split_between_plain_tensors():
    tensor_parallel(local=True)


def sequences_are_split():
    def prepare(net):
        for block in net.blocks:
            parallelize_module(block, EIGHT, {"norm": SequenceParallel(), "up": ColwiseParallel(input_layouts=Shard(1)),
                                              "down": RowwiseParallel(output_layouts=Shard(1), use_local_output=False)})
        return distribute_module(net, EIGHT)
    same(trained(prepare, lambda x: distribute_tensor(x, EIGHT, [Replicate()]))[0])


def _sharded(net, mesh=None, **options):
    for block in net.blocks:
        fully_shard(block, mesh=mesh, **options)
    return fully_shard(net, mesh=mesh, **options)


def fully_sharded():
    losses, net, optimizer = trained(lambda net: _sharded(net, EIGHT), lambda x: distribute_tensor(x, EIGHT, [Shard(0)]))
    same(losses)
    lies(net.blocks[0].up.weight, optimizer, (Shard(0),), (8, 32))
    assert net.out.bias.placements == (Replicate(),)       # Ten elements cannot be split into equal parts.


def fully_sharded_of_plain_batches():
    losses, net, optimizer = trained(_sharded)
    same(losses)
    lies(net.blocks[0].up.weight, optimizer, (Shard(0),), (8, 32))
    assert type(net(batch()[0])) is torch.Tensor


def replicas_that_are_sharded():
    mesh = init_device_mesh("cpu", (2, 4))
    losses, net, optimizer = trained(lambda net: _sharded(net, mesh))
    same(losses)
    lies(net.blocks[0].up.weight, optimizer, (Replicate(), Shard(0)), (16, 32))


def the_wrapper():
    losses, net, _ = trained(lambda net: FullyShardedDataParallel(net, device_mesh=EIGHT, use_orig_params=True))
    same(losses)
    whole = net.state_dict()["out.weight"]
    assert type(whole) is torch.Tensor
    net.out.weight.grad = torch.ones_like(net.out.weight)
    with FullyShardedDataParallel.summon_full_params(net, with_grads=True), torch.no_grad():
        assert torch.equal(net.out.weight.full_tensor(), whole) and net.out.weight.grad.full_tensor().eq(1).all()
        net.out.weight.add_(1)
        net.out.weight.grad.mul_(2)
    assert torch.equal(net.out.weight.full_tensor(), whole + 1) and net.out.weight.grad.full_tensor().eq(2).all()
    assert net.out.weight.placements == net.out.weight.grad.placements == (Shard(1),)


def both_at_once():
    def prepare(net):
        for block in net.blocks:
            parallelize_module(block, TWO_BY_FOUR["tp"], {"up": ColwiseParallel(use_local_output=False),
                                                          "down": RowwiseParallel(use_local_output=False)})
        return _sharded(net, TWO_BY_FOUR["dp"])
    losses, net, optimizer = trained(prepare, lambda x: distribute_tensor(x, TWO_BY_FOUR["dp"], [Shard(0)]))
    same(losses)
    up, down = net.blocks[0].up.weight, net.blocks[0].down.weight
    assert str(up.placements) == "(_StridedShard(dim=0, sf=4), Shard(dim=0))" and up.device_mesh == TWO_BY_FOUR
    lies(up, optimizer, up.placements, (8, 32))
    lies(down, optimizer, (Shard(0), Shard(1)), (16, 16))


def data_parallel():
    losses, net, _ = trained(lambda net: nn.DataParallel(net, device_ids=list(range(8))))
    same(losses)
    seen = []
    net.module.table.register_forward_hook(lambda module, args, out: seen.append(parts(out)))
    assert net(batch()[0]).shape == (16, 10) and net(batch()[0][:12]).shape == (12, 10)
    assert seen == [({(2, 8, 32)}, 8), ({(2, 8, 32)}, 6)]
    assert next(iter(net.state_dict())) == "module.table.weight" and type(net.module.out.weight) is nn.Parameter


def data_parallel_writes_buffers_and_draws_as_one_device_does():
    x, nets = torch.randn(16, 4), [nn.Sequential(nn.BatchNorm1d(4), nn.Dropout(0.5)) for _ in range(2)]
    torch.manual_seed(5)
    expected = nets[0](x)
    torch.manual_seed(5)
    got = nn.DataParallel(nets[1], device_ids=list(range(8)))(x)
    assert torch.allclose(got, expected, atol=1e-6)
    assert torch.allclose(nets[0][0].running_var, nets[1][0].running_var) and nets[1][0].num_batches_tracked == 1


def sixteen_bits():
    policy = MixedPrecisionPolicy(param_dtype=torch.bfloat16)
    losses, net, optimizer = trained(lambda net: _sharded(net, EIGHT, mp_policy=policy))
    assert max(abs(a - b) for a, b in zip(losses, ONE, strict=True)) < 0.1
    p = net.blocks[0].up.weight
    assert p.dtype is p.grad.dtype is torch.float32
    lies(p, optimizer, (Shard(0),), (8, 32))


class Picture(nn.Module):
    def __init__(self):
        super().__init__()
        self.conv, self.norm, self.out = nn.Conv2d(3, 8, 3, padding=1), nn.BatchNorm2d(8), nn.Linear(128, 16)
        self.encoder, self.lstm = nn.TransformerEncoderLayer(16, 2, 32, dropout=0.1, batch_first=True), nn.LSTM(16, 16)

    def forward(self, x):
        x = F.dropout(F.max_pool2d(F.relu(self.norm(self.conv(x))), 2), 0.3, self.training)
        return self.lstm(self.encoder(self.out(x.flatten(1)).unsqueeze(1)))[0].flatten(1)


def buffers_and_dropout_are_those_of_one_device():
    x, found = wave(16, 3, 8, 8), []
    for prepare in (lambda net: net, lambda net: fully_shard(net, mesh=EIGHT)):
        torch.manual_seed(0)
        net = prepare(Picture())
        optimizer = torch.optim.SGD(net.parameters(), lr=0.1, momentum=0.9)
        for _ in range(3):
            loss = (net(x) - 1).pow(2).mean()
            loss.backward()
            optimizer.step()
        found.append((loss.item(), net.norm.running_var))
    assert abs(found[0][0] - found[1][0]) < 1e-5 and torch.allclose(found[0][1], found[1][1].full_tensor(), atol=1e-5)


# ---------------------------------------------------------------- tensors

def wave(*shape):
    return torch.sin(torch.arange(float(torch.Size(shape).numel())) * 1.3).view(shape)


def where_results_lie():
    x, w = distribute_tensor(wave(16, 8), EIGHT, [Shard(0)]), distribute_tensor(wave(24, 8), EIGHT, [Replicate()])
    assert x.device == torch.device("cpu") and x.shape == (16, 8) and x.device_mesh is EIGHT and parts(x) == ({(2, 8)}, 8)
    split = [x * 2, x + x, F.linear(x, w), x.softmax(1), x.t().t(), x.sum(1), x[:, 2:5], x.to(torch.float64), x.to("cpu")]
    assert all(t.placements == (Shard(0),) for t in split), [t.placements for t in split]
    assert x.t().placements == (Shard(1),) and x.sum().placements == x.mean(0).placements == (Replicate(),)
    for t, expected in ((F.linear(x, w), F.linear(wave(16, 8), wave(24, 8))), (x.t() @ x, wave(16, 8).t() @ wave(16, 8))):
        assert torch.allclose(t.full_tensor(), expected, atol=1e-5)
    assert x.tolist() == wave(16, 8).tolist() and x.numpy().shape == (16, 8) and abs(x.sum().item() - wave(16, 8).sum().item()) < 1e-5


def redistributing():
    x = distribute_tensor(wave(16, 8), EIGHT, [Shard(0)]).requires_grad_()
    y = x.redistribute(placements=[Shard(-1)])
    assert y.placements == (Shard(1),) and parts(y) == ({(16, 1)}, 8) and torch.equal(y.full_tensor(), wave(16, 8))
    assert y.redistribute(EIGHT, [Shard(1)]) is y
    (y * y).sum().backward()
    assert x.grad.placements == (Shard(0),) and torch.allclose(x.grad.full_tensor(), 2 * wave(16, 8))
    x.grad = None
    (x.full_tensor() ** 2).sum().backward()
    assert x.grad.placements == (Shard(0),) and torch.allclose(x.grad.full_tensor(), 2 * wave(16, 8))


def plain_tensors():
    x = distribute_tensor(wave(16, 8), EIGHT, [Shard(0)])
    raises(RuntimeError, "aten.add.Tensor got mixed torch.Tensor and DTensor", lambda: x + wave(16, 8))
    assert (x + torch.tensor(1.)).placements == (Shard(0),)
    raises(NotImplementedError, "this process has all parts and none is its own", x.to_local)
    raises(NotImplementedError, "distribute_tensor() splits a whole tensor", lambda: DTensor.from_local(wave(2, 8), EIGHT, [Shard(0)]))
    whole = x.redistribute(placements=[Replicate()]).to_local()
    assert type(whole) is torch.Tensor and torch.equal(whole, wave(16, 8)) and whole.device == torch.device("cpu")
    given = wave(4).requires_grad_()
    DTensor.from_local(given, EIGHT, [Replicate()]).sum().backward()
    assert torch.equal(given.grad, torch.ones(4))
    raises(RuntimeError, "redistributing to Partial is for internal use only",
           lambda: x.redistribute(placements=[torch.distributed.tensor.Partial()]))
    raises(NotImplementedError, "6 elements along dim 0 cannot be 8 parts", lambda: distribute_tensor(wave(6, 2), EIGHT, [Shard(0)]))
    raises(RuntimeError, "on different meshes", lambda: x + distribute_tensor(wave(16, 8), TWO_BY_FOUR, [Shard(0), Shard(1)]))


def writes_leave_it_where_it_lies():
    x, whole = distribute_tensor(wave(16, 8), EIGHT, [Shard(0)]), ones(16, 8, device_mesh=EIGHT)
    x.copy_(whole)
    x += 1
    x[3] = 7.
    x[:, 2].mul_(3)
    nn.init.normal_(y := zeros(16, 8, device_mesh=EIGHT, placements=[Shard(1)]))
    expected = torch.full((16, 8), 2.)
    expected[3] = 7.
    expected[:, 2] *= 3
    assert x.placements == (Shard(0),) and torch.equal(x.full_tensor(), expected)
    assert y.placements == (Shard(1),) and parts(y) == ({(16, 1)}, 8)


def random_numbers_are_those_of_one_device():
    torch.manual_seed(4)
    expected = [torch.randn(16, 8), torch.rand(16, 8), F.dropout(torch.ones(16, 8))]
    torch.manual_seed(4)
    got = [randn(16, 8, device_mesh=EIGHT, placements=[Shard(0)])]
    got += [torch.rand_like(got[0]), F.dropout(torch.ones_like(got[0]))]
    assert all(t.placements == (Shard(0),) for t in got)
    assert all(torch.equal(a.full_tensor(), b) for a, b in zip(got, expected, strict=True))
    made = [zeros(8, 2, device_mesh=EIGHT, placements=[Shard(0)]), full((8, 2), 3., device_mesh=EIGHT, placements=[Shard(0)])]
    assert all(parts(t) == ({(1, 2)}, 8) for t in made) and made[1].sum().item() == 48


def parts_of_a_mesh():
    tp, dp = TWO_BY_FOUR["tp"], TWO_BY_FOUR["dp"]
    assert tp.size() == 4 and TWO_BY_FOUR.get_coordinate() == (0, 0) and TWO_BY_FOUR.get_rank() == 0 == tp.get_local_rank()
    raises(NotImplementedError, "has no process groups", tp.get_group)
    x = distribute_tensor(wave(16, 8), tp, [Shard(1)])
    assert x.device_mesh == tp and x.placements == (Shard(1),) and parts(x) == ({(16, 2)}, 8)
    y = x.redistribute(dp, [Shard(0)])
    assert y.device_mesh == TWO_BY_FOUR and y.placements == (Shard(0), Shard(1)) and parts(y) == ({(8, 2)}, 8)
    z = distribute_tensor(wave(16, 8), TWO_BY_FOUR._flatten("all"), [Shard(0)])
    assert z.placements == (Shard(0),) and parts(z) == ({(2, 8)}, 8)
    both = distribute_tensor(wave(16, 8), TWO_BY_FOUR, [Shard(0), Shard(0)])
    assert both.placements == (Shard(0), Shard(0)) and torch.equal((both * 1).full_tensor(), wave(16, 8))
    raises(RuntimeError, "xla_force_host_platform_device_count=16", lambda: init_device_mesh("cpu", (4, 4)))
    assert torch.cpu.device_count() == 1


def hooks_copies_and_files():
    p = nn.Parameter(distribute_tensor(wave(16, 8), EIGHT, [Shard(0)]))
    seen = []
    p.register_hook(lambda g: seen.append((type(g).__name__, g.placements)))
    loss = (p * 3).sum()
    loss.backward()
    assert seen == [("SPMDTensor", (Shard(0),))] and isinstance(p, nn.Parameter) and p.is_leaf
    assert nn.utils.clip_grad_norm_([p], 1.).item() > 1 and abs(p.grad.norm().item() - 1) < 1e-4
    earlier = pickle.dumps(p, 0).replace(b"_parallel.spmd.dtensor", b"_parallel.own.dtensor")
    for other in (copy.deepcopy(p), pickle.loads(pickle.dumps(p)), pickle.loads(earlier)):
        assert other.placements == (Shard(0),) and isinstance(other, nn.Parameter) and torch.equal(other.full_tensor(), wave(16, 8))
    assert "placements=(Shard(dim=0),)" in repr(p)


class Halved(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x):
        ctx.save_for_backward(x)
        return x / 2

    @staticmethod
    def backward(ctx, g):
        return g * ctx.saved_tensors[0] / 2


def gradients_of_gradients_and_other_ways_to_them():
    x = distribute_tensor(wave(16, 8), EIGHT, [Shard(0)]).requires_grad_()
    g, = torch.autograd.grad((x ** 3).sum(), x, create_graph=True)
    assert isinstance(g, DTensor) and g.placements == (Shard(0),)
    g.sum().backward()
    assert torch.allclose(x.grad.full_tensor(), 6 * wave(16, 8), atol=1e-5)
    x.grad = None
    Halved.apply(x).sum().backward()
    assert x.grad.placements == (Shard(0),) and torch.allclose(x.grad.full_tensor(), wave(16, 8) / 2)
    with torch.autocast("cpu"):
        assert F.linear(x, x).dtype is torch.bfloat16
    assert len(x.jax().sharding.device_set) == 8


def optimizers_keep_states_split():
    for kind, options in (("SGD", {"momentum": 0.9}), ("RMSprop", {}), ("LBFGS", {})):
        p = nn.Parameter(distribute_tensor(wave(16, 8), EIGHT, [Shard(0)]))
        plain = nn.Parameter(wave(16, 8))
        for t in (p, plain):
            optimizer = getattr(torch.optim, kind)([t], lr=0.1, **options)
            for _ in range(2):
                optimizer.step(lambda t=t, o=optimizer: squared(t, o))
            states = optimizer.state[t].values() if t is p and kind != "LBFGS" else ()
            assert all(s.placements == (Shard(0),) for s in states if s.dim() == 2), kind
        assert p.placements == (Shard(0),) and torch.allclose(p.full_tensor(), plain, atol=1e-4), kind


def squared(t, optimizer):
    optimizer.zero_grad()
    loss = (t ** 2).sum()
    loss.backward()
    return loss


def states_are_saved_and_loaded():
    _, net, optimizer = trained(lambda net: _sharded(net, EIGHT), steps=2)
    file = io.BytesIO()
    torch.save((net.state_dict(), optimizer.state_dict()), file)
    file.seek(0)
    model, state = torch.load(file, weights_only=False)
    torch.manual_seed(1)
    other = _sharded(Net(), EIGHT)
    other.load_state_dict(model)
    again = torch.optim.AdamW(other.parameters(), lr=1e-2)
    again.load_state_dict(state)
    for n, o in ((net, optimizer), (other, again)):
        o.zero_grad()
        F.cross_entropy(n(batch()[0]), batch()[1]).backward()
        o.step()
    for a, b in zip(net.parameters(), other.parameters(), strict=True):
        assert a.placements == b.placements and torch.allclose(a.full_tensor(), b.full_tensor(), atol=1e-6)


def checkpoints_are_those_of_one_device():
    warnings.simplefilter("ignore")     # A warning says that there is one process.
    _, net, optimizer = trained(lambda net: _sharded(net, EIGHT), steps=2)
    folder = tempfile.mkdtemp()
    model, optim = get_state_dict(net, optimizer)
    dcp.save({"model": model, "optim": optim}, checkpoint_id=folder)
    plain, again = Net(), _sharded(Net(), EIGHT)
    for other in (plain, again):
        state = {"model": other.state_dict()}
        dcp.load(state, checkpoint_id=folder)
    for a, b, c in zip(net.parameters(), plain.parameters(), again.parameters(), strict=True):
        assert torch.equal(a.full_tensor(), b) and torch.equal(a.full_tensor(), c.full_tensor()) and a.placements == c.placements
    whole = get_model_state_dict(net, options=StateDictOptions(full_state_dict=True))
    assert all(type(t) is torch.Tensor for t in whole.values()) and torch.equal(whole["out.weight"], plain.out.weight)


CHECKS = [batches_are_split, layers_are_split_between_dtensors, layers_are_split_between_plain_tensors, sequences_are_split,
          fully_sharded, fully_sharded_of_plain_batches, replicas_that_are_sharded, the_wrapper, both_at_once, data_parallel,
          data_parallel_writes_buffers_and_draws_as_one_device_does, sixteen_bits,
          buffers_and_dropout_are_those_of_one_device, where_results_lie, redistributing, plain_tensors,
          writes_leave_it_where_it_lies, random_numbers_are_those_of_one_device, parts_of_a_mesh, hooks_copies_and_files,
          gradients_of_gradients_and_other_ways_to_them, optimizers_keep_states_split, states_are_saved_and_loaded,
          checkpoints_are_those_of_one_device]

if __name__ == "__main__":
    for check in CHECKS if len(sys.argv) == 1 else [globals()[name] for name in sys.argv[1:]]:
        try:
            check()
            print("held", check.__name__, flush=True)
        except Exception:
            print(check.__name__, traceback.format_exc(), flush=True)
