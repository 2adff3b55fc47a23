"""Pipelines in one process: orders of schedules, batches in parts, backwards in parts, against PyTorch."""
from __future__ import annotations

import csv
import importlib

import pytest
from libraries import library
from outcomes import compare, outcome
from process_programs import job_of_one


@pytest.fixture
def same(torch):
    """Compare the outcomes of bodies in both libraries."""
    def check(*bodies, rtol=1e-5):
        compare(list(range(len(bodies))), [outcome(b, torch) for b in bodies], [outcome(b, library("jtorch")) for b in bodies], rtol)
    return check


def part(xp, name):
    """Return a module of torch.distributed.pipelining."""
    return importlib.import_module(f"{xp.__name__}.distributed.pipelining.{name}")


def stand_in(xp, ranks, stages):
    """Make an object with the attributes a schedule needs of a stage."""
    class Stage(part(xp, "stage")._PipelineStageBase):
        def __init__(self):
            self.submod, self.group, self.stage_index = None, None, 0
            self.num_stages, self.group_size, self.group_rank = stages, ranks, 0

        def _create_grad_recv_info(self, *args): ...
        def _prepare_forward_infra(self, *args): ...
        def _prepare_backward_infra(self, *args): ...
    return Stage()


def written(order):
    return {rank: [None if a is None else str(a) for a in actions] for rank, actions in order.items()}


def orders(name, ranks, local, microbatches, **options):
    """Return a function that gives a schedule's order; with several stages also the order with messages."""
    def body(xp):
        schedules = part(xp, "schedules")
        stages = [stand_in(xp, ranks, ranks * local) for _ in range(local)]
        made = schedules.get_schedule_class(name)(stages if local > 1 else stages[0], microbatches, **options)
        whole = made.pipeline_order_with_comms if local > 1 else {}
        return written(made.pipeline_order), written(whole), getattr(made, "stage_index_to_group_rank", None), \
            schedules._format_pipeline_order(made.pipeline_order, 1)
    return body


@pytest.mark.parametrize("ranks", [2, 3, 4])
@pytest.mark.parametrize("name", ["GPipe", "1f1b"])
def test_orders_of_single_stages(same, name, ranks):
    same(*[orders(name, ranks, 1, n) for n in (2, 4, 6)])


@pytest.mark.parametrize("ranks", [2, 3, 4])
@pytest.mark.parametrize("name", ["LoopedBFS", "Interleaved1F1B", "InterleavedZeroBubble"])
def test_orders_of_several_stages(same, name, ranks):
    same(*[orders(name, ranks, local, n, defer_pp_recv=defer) for local, n, defer in
           ((2, 4, False), (3, 6, True), (2, 1, False), (2, 5, False), (2, 8, True))])


@pytest.mark.parametrize("ranks", [2, 3, 4])
@pytest.mark.parametrize("name", ["ZBVZeroBubble", "DualPipeV"])
def test_orders_of_a_v(same, name, ranks):
    same(*[orders(name, ranks, local, n) for local, n in ((2, 8), (2, 9), (2, 2), (3, 8))])


def lowered(*steps):
    """Return a function that lowers an order for two ranks: merged backwards, messages, and a dry run."""
    def body(xp):
        s = part(xp, "schedules")
        order = {rank: [s._Action.from_str(a) for a in text.split(",")] for rank, text in enumerate(steps)}
        stages = 1 + max(a.stage_index for listed in order.values() for a in listed if a is not None)
        rank_of = [0, 1, 1, 0].__getitem__
        s._validate_schedule(order, 2, stages, 2)
        merged = {rank: s._merge_bw(list(listed)) for rank, listed in order.items()}
        whole = s._add_send_recv({rank: list(listed) for rank, listed in order.items()}, rank_of, stages)
        return written(merged), written(whole), written(s._simulate_comms_compute(whole, rank_of, stages))
    return body


def test_lowering(same):
    same(lowered("0F0,0F1, ,0B0, ,0B1", " ,1F0,1B0,1F1,1B1, "),
         lowered("0F0,0F1, ,3F0,3I0,3W0,3F1,3I1,0B0,3W1,0I1,0W1", " ,1F0,2F0,1F1,2F1,2I0,1B0,2B1,1B1,2W0"),
         lowered("0F0,0F1,0B0", "1F0,1F1,1B0,1B1"), lowered("0F0,0B1", "1F0"), lowered("0F0,0F1,0W0,0I0", "1F0"),
         lowered("0F0,0F1,0B0,0B1", "0F0,1F0"), lowered("0B0,0F0,0F1,0B1", "1F0,1F1,1B0,1B1"))


def test_actions(same):
    def parsed(text):
        def body(xp):
            action = part(xp, "schedules")._Action.from_str(text)
            return str(action), None if action is None else (action.is_compute_op, action.microbatch_index)
        return body
    same(*[parsed(t) for t in ("1F0", " 2I1", "0W3", "3UNSHARD", "2SEND_B2", "(0F1;3B2)OVERLAP_F_B", "", "F", "1X2", "(1F0)Z")])


def test_orders_in_files(same, tmp_path):
    def body(xp):
        s = part(xp, "schedules")
        path = str(tmp_path / xp.__name__)
        made = s.ScheduleZBVZeroBubble([stand_in(xp, 2, 4) for _ in range(2)], 4)
        made._dump_csv(path)
        with open(path, newline="") as file:
            rows = list(csv.reader(file))
        again = s._PipelineScheduleRuntime([stand_in(xp, 2, 4) for _ in range(2)], 4)
        again._load_csv(path, format="compute_comms")
        return rows, written(again.pipeline_order_with_comms) == written(made.pipeline_order_with_comms)
    same(body)


# ---------------------------------------------------------------- microbatches

def split(*args, chunks=3, specs=None, kwargs=None, kwargs_specs=None):
    def body(xp):
        m = part(xp, "microbatch")
        given = [xp.arange(a * 4).view(a, 4) if type(a) is int else a for a in args]
        named = None if kwargs is None else {k: xp.arange(v) for k, v in kwargs.items()}
        cut = None if specs is None else m.TensorChunkSpec.from_tuple(specs)
        cut_named = None if kwargs_specs is None else m.TensorChunkSpec.from_dict(kwargs_specs)
        made = m.split_args_kwargs_into_chunks(tuple(given), named, chunks, cut, cut_named)
        return made, m.merge_chunks(made[0], cut)
    return body


def test_splitting(same):
    same(split(6), split(7, "x"), split(6, 9, kwargs={"k": 12}), split(2), split(8, kwargs={"k": 2}), split(4, specs=(1,)),
         split(6, [None, "a"]), split("x", kwargs={"k": 2}), split(6, specs=(0, 1)), split(6, kwargs={"k": 6}, kwargs_specs={"k": 0}),
         split("x", specs=(0,)), split(), split(6, kwargs={"k": 6}, kwargs_specs={}))


def test_merging(same):
    def merged(chunks, spec):
        return lambda xp: part(xp, "microbatch").merge_chunks(chunks(xp), spec(xp))
    same(merged(lambda xp: [(xp.ones(2), 3), (xp.zeros(1), 3)], lambda xp: (part(xp, "microbatch").TensorChunkSpec(0), None)),
         merged(lambda xp: [3, 4], lambda xp: 0), merged(lambda xp: [(1, 2)], lambda xp: (0,)),
         merged(lambda xp: [xp.ones(1), xp.ones(1)], lambda xp: part(xp, "microbatch").sum_reducer),
         merged(lambda xp: [{"a": xp.ones(2, 1)}, {"a": xp.ones(2, 2)}], lambda xp: {"a": part(xp, "microbatch").TensorChunkSpec(1)}),
         lambda xp: repr(part(xp, "microbatch").TensorChunkSpec(2)))


def test_masks_are_cut_along_the_batch(same):
    def body(batch):
        def made(xp):
            attention = importlib.import_module(f"{xp.__name__}.nn.attention.flex_attention")
            mask = attention.create_block_mask(lambda b, h, q, kv: q >= kv + b, batch, 1, 256, 256, device="cpu")
            parts, _ = part(xp, "microbatch").split_args_kwargs_into_chunks((mask, xp.arange(4)), None, 2)
            where = xp.arange(256)
            return [(m.kv_num_blocks, m.shape, m.mask_mod(xp.tensor(0), 0, where[:9, None], where[None, :9])) for m, _ in parts]
        return made
    same(body(4), body(1))


# ---------------------------------------------------------------- backward

def in_two_parts(xp):
    """Return gradients of inputs, then of parameters. Some parameters are used twice, and one is on no path to an input."""
    b = part(xp, "_backward")
    xp.manual_seed(0)
    w = [xp.nn.Parameter(xp.arange(9.).view(3, 3).sin() * (i + 1)) for i in range(4)]
    found = []
    for turn in range(2):
        x = (xp.arange(6.).view(2, 3) + turn).cos().requires_grad_(True)
        h = xp.tanh(x @ w[0]) @ (w[1] * w[3].sigmoid()) + w[2].sum()
        out = (h @ w[0]).relu() + x * w[3][0]
        grads, groups = b.stage_backward_input([out], [xp.ones(2, 3) * .5], [x, 3], iter(w))
        found.append([x.grad, grads, [p.grad for p in w], len(groups)])
        before = b.stage_backward_weight(iter(w), groups)
        found.append([[p.grad.clone() for p in w], before if turn == 0 else None, out.requires_grad])
    return found


def whole(xp):
    b = part(xp, "_backward")
    x, w = xp.arange(3.).requires_grad_(True), xp.ones(3, requires_grad=True)
    given = b.stage_backward({"a": x * w, "b": [x.exp(), 3]}, {"a": xp.ones(3), "b": (xp.ones(3), None)}, [x, 7])
    return given, x.grad, w.grad


def test_backwards(same):
    same(whole, rtol=1e-5)
    same(lambda xp: part(xp, "_backward").stage_backward(xp.ones(2, requires_grad=True), None, [3]),
         lambda xp: part(xp, "_utils").generate_rank_to_stage_mapping(2, 6, "v"),
         lambda xp: part(xp, "_utils").generate_stage_to_rank_mapping(2, 3, "v"),
         lambda xp: part(xp, "_utils").generate_stage_to_rank_mapping(2, 3, "w"))


def test_backwards_in_two_parts(same):
    same(in_two_parts, rtol=1e-4)


# ---------------------------------------------------------------- traced models

def test_dtensors_between_stages_are_refused(monkeypatch):
    jtorch = library("jtorch")
    metadata = importlib.import_module("jtorch._parallel.pipelining.metadata")
    monkeypatch.setattr(metadata, "DTensor", jtorch.Tensor)
    with pytest.raises(NotImplementedError, match="DTensors between stages are not built"):
        metadata.extract_tensor_metas([jtorch.ones(2)])


class _Net:
    """Makes a model with a parameter that two stages use, a size that passes between them, and a choice by a flag."""

    def __new__(cls, xp):
        class Choosing(xp.nn.Module):
            def forward(self, x):
                return x * 2 if x.sum() > 0 else x      # Tracing this line raises, so the tracer must not enter the module.

        class Net(xp.nn.Module):
            def __init__(self):
                super().__init__()
                self.w, self.choose, self.norm = xp.nn.Parameter(xp.ones(4, 4)), Choosing(), xp.nn.LayerNorm(4)

            def forward(self, x, twice=False, *, more=None):
                n = x.size(0)
                x = self.choose(x @ self.w)
                part(xp, "_IR").pipe_split()
                x = self.norm(x) @ self.w
                if twice:
                    x = x * n
                return {"out": x, "rest": (x.sum() if more is None else x + more)}
        return Net()


def test_what_is_traced():
    jtorch = library("jtorch")
    pp = importlib.import_module("jtorch.distributed.pipelining")
    net, x = _Net(jtorch), jtorch.arange(8.).view(2, 4)
    pipe = pp.pipeline(net, (x,), {"twice": True, "more": jtorch.ones(4)})
    expected = net(x, twice=True, more=jtorch.ones(4))
    assert all(jtorch.equal(a, b) for a, b in zip(pipe(x, True, more=jtorch.ones(4)), expected.values(), strict=True))
    first, second = pipe.get_stage_module(0), pipe.get_stage_module(1)
    assert (sorted(first.state_dict()), sorted(second.state_dict())) == (["w"], ["norm.bias", "norm.weight", "w"])
    assert first.w is not second.w and jtorch.equal(first.w, second.w)
    assert [tuple(v.shape) for v in second.meta["inputs"]] == [(2, 4), (4,)]
    pipe.print_readable()
    with pytest.raises(RuntimeError, match="cannot capture your model as a full graph"):
        pp.pipeline(net, (x, jtorch.ones(3, 3)), {"more": jtorch.ones(5)})


def test_what_gives_several_tensors_is_taken_apart_where_it_is():
    jtorch = library("jtorch")
    pp = importlib.import_module("jtorch.distributed.pipelining")

    class Recurrent(jtorch.nn.Module):
        def __init__(self):
            super().__init__()
            self.inner, self.outer = jtorch.nn.GRU(3, 4), jtorch.nn.Linear(4, 2)

        def forward(self, x):
            out, last = self.inner(x)
            return self.outer(out) + self.outer(last)
    net, x = Recurrent(), jtorch.randn(5, 2, 3)
    expected = net(x)
    pipe = pp.pipeline(net, (x,), split_spec={"inner": pp.SplitPoint.END})
    assert [tuple(v.shape) for v in pipe.get_stage_module(1).meta["inputs"]] == [(5, 2, 4), (1, 2, 4)]
    assert pipe.num_stages == 2 and jtorch.allclose(pipe(x)[0], expected)


def test_a_policy_cuts():
    jtorch = library("jtorch")
    pp = importlib.import_module("jtorch.distributed.pipelining")
    net, x = jtorch.nn.Sequential(*[jtorch.nn.Linear(3, 3) for _ in range(4)]), jtorch.ones(2, 3)

    def in_the_middle(graph):
        node = [n for n in graph.graph.nodes if n.op == "call_module"][2]
        with graph.graph.inserting_before(node):
            graph.graph.call_function(pp.pipe_split)
        return graph
    pipe = pp.pipeline(net, (x,), split_policy=in_the_middle)
    assert (pipe.num_stages, sorted(pipe.get_stage_module(0).state_dict())[0]) == (2, "0.bias")
    assert jtorch.allclose(pipe(x)[0], net(x))


# ---------------------------------------------------------------- a pipeline of one rank

@pytest.fixture
def alone():
    """Return the library in a job of this process alone."""
    jtorch = library("jtorch")
    with job_of_one(jtorch):
        yield jtorch


def test_a_rank_with_all_stages(alone):
    """The user may give orders with messages and functions of actions. Metadata forwards leave no trace in buffers."""
    pp = importlib.import_module("jtorch.distributed.pipelining")
    nets = [alone.nn.Sequential(alone.nn.Linear(3, 3), alone.nn.BatchNorm1d(3)) for _ in range(2)]
    x, y = alone.randn(8, 3), alone.randn(8, 3)
    made = pp.schedules._PipelineScheduleRuntime([pp.PipelineStage(net, i, 2, "cpu") for i, net in enumerate(nets)], 2,
                                                 loss_fn=lambda out, y, scale: ((out - y) ** 2).mean() * scale)
    made._prepare_schedule_with_comms({0: [pp.schedules._Action.from_str(a) for a in "0F0,0F1,1F0,1I0,1F1,1B1,1W0,0B0,0B1".split(",")]})
    seen = []
    made.register_custom_function(pp.schedules.RESHARD, lambda action, context: seen.append((str(action), context.schedule_ref is made)))
    losses = [3]
    assert made.step(x, target=y, losses=losses, return_outputs=False, loss_kwargs={"scale": 2.0}) is None
    assert seen == [("1RESHARD", True), ("0RESHARD", True)] and len(losses) == 2
    assert [net[1].num_batches_tracked.item() for net in nets] == [2, 2]
    found = [p.grad.clone() for net in nets for p in net.parameters()]
    whole = [alone.nn.Sequential(alone.nn.Linear(3, 3), alone.nn.BatchNorm1d(3)) for _ in range(2)]
    for net, other in zip(whole, nets, strict=True):
        net.load_state_dict(other.state_dict())
    for part_x, part_y in zip(x.chunk(2), y.chunk(2), strict=True):
        # The factor 2 (scale) and the mean over 2 microbatches cancel.
        (((whole[1](whole[0](part_x)) - part_y) ** 2).mean()).backward()
    assert all(alone.allclose(a, p.grad, atol=1e-5) for a, p in zip(found, [p for n in whole for p in n.parameters()], strict=True))


def test_a_stage_that_was_told_otherwise_warns(alone):
    pp = importlib.import_module("jtorch.distributed.pipelining")
    stage = pp.PipelineStage(alone.nn.Linear(3, 2), 0, 1, "cpu", input_args=alone.ones(5, 3))
    with pytest.warns(UserWarning, match=r"Stage 0 input\[0\]: Metadata mismatch. shape mismatch: torch.Size\(\[5, 3\]\) vs torch.Size\(\[2, 3\]\)"):
        pp.ScheduleGPipe(stage, 2).step(alone.ones(4, 3))
    with pytest.raises(pp._utils.PipeliningMetadataError, match="loss_fn and target required for last stage"):
        pp.ScheduleGPipe(pp.PipelineStage(alone.nn.Linear(3, 2), 0, 1, "cpu"), 2, alone.nn.MSELoss()).step(alone.ones(4, 3))
    made = pp.ScheduleGPipe(pp.PipelineStage(alone.nn.Linear(4, 2), 0, 1, "cpu", alone.ones(2, 3), alone.ones(2, 2)), 2)
    with pytest.raises(RuntimeError, match=r"\[Stage 0\] failed to run forward:\n +args: .*Tensor\(torch.Size\(\[2, 3\]\), grad=False"):
        made.step(alone.ones(4, 3))
