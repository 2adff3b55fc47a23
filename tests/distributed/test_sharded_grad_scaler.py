"""ShardedGradScaler: the scale, the dtypes, and steps that all ranks skip."""
from __future__ import annotations

import importlib

import pytest
from process_programs import job_of_one


@pytest.fixture
def scaler_of(xp):
    """Return the class, in a job of one process."""
    with job_of_one(xp):
        yield importlib.import_module(f"{xp.__name__}.distributed.fsdp.sharded_grad_scaler").ShardedGradScaler


def test_steps_are_scaled_and_a_step_with_an_overflow_is_skipped(xp, scaler_of):
    x, half = xp.ones(3, requires_grad=True), xp.ones(2, dtype=xp.float16, requires_grad=True)
    optimizer, scaler, found = xp.optim.SGD([x, half], lr=0.5), scaler_of("cpu", init_scale=16.0, growth_interval=2), []
    for step in range(5):
        optimizer.zero_grad()
        scaler.scale(x.sum() + half.sum()).backward()
        if step == 3:
            x.grad[0] = float("inf")
        if step == 1:
            scaler.unscale_(optimizer)
        scaler.step(optimizer)
        scaler.update()
        found.append((x[0].item(), half[0].item(), scaler.get_scale()))
    assert found == [(0.5, 0.5, 16.0), (0.0, 0.0, 32.0), (-0.5, -0.5, 32.0), (-0.5, -0.5, 16.0), (-1.0, -1.0, 16.0)]


def test_outputs_keep_their_dtypes(xp, scaler_of):
    scaler = scaler_of("cpu", init_scale=4.0)
    made = scaler.scale([xp.ones(1, dtype=xp.bfloat16), (xp.ones(1),)])
    assert (made[0].dtype, made[0].item(), made[1][0].dtype) == (xp.bfloat16, 4.0, xp.float32)


def test_a_rank_without_gradients_takes_part(xp, scaler_of):
    x = xp.ones(1, requires_grad=True)
    optimizer, scaler = xp.optim.SGD([x], lr=0.5), scaler_of("cpu")
    scaler.scale(x.sum())
    scaler.unscale_(optimizer)
    with pytest.raises(RuntimeError, match="already been called on this optimizer"):
        scaler.unscale_(optimizer)
    scaler.step(optimizer)
    assert x.item() == 1.0
