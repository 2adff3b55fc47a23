"""DistributedDataParallel: the buckets that a hook sees, in a job of one process."""
from __future__ import annotations

import pytest
from process_programs import job_of_one


@pytest.fixture
def ddp(xp):
    """Return the class, in a job of one process."""
    with job_of_one(xp):
        yield xp.nn.parallel.DistributedDataParallel


@pytest.mark.parametrize(("size", "cap", "layers"), [(64, 0.01, [1, 1, 1]), (64, 0.02, [2, 1]), (64, 1, [3]), (512, None, [1, 2])])
def test_a_bucket_ends_with_the_parameter_that_fills_it(xp, ddp, size, cap, layers):
    seen = []

    def hook(state, bucket):
        seen.append((bucket.index(), [tuple(p.shape) for p in bucket.parameters()], bucket.is_last()))
        future = xp.futures.Future()
        future.set_result(bucket.buffer())
        return future
    model = ddp(xp.nn.Sequential(*[xp.nn.Linear(size, size) for _ in range(3)]), bucket_cap_mb=cap)
    model.register_comm_hook(None, hook)
    for _ in range(2):      # PyTorch forms its buckets anew after the first backward.
        seen.clear()
        model(xp.ones(2, size)).sum().backward()
    assert seen == [(n, [(size,), (size, size)] * count, n == len(layers) - 1) for n, count in enumerate(layers)]
