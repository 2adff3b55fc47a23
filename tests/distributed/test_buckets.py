"""DistributedDataParallel: the buckets that a hook sees, in a job of one process."""
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


def test_annotations_of_a_hook(xp, ddp):
    future, bucket = xp.futures.Future[xp.Tensor], xp.distributed.GradBucket
    model = ddp(xp.nn.Linear(2, 2))

    def returns_no_future(state, bucket: bucket) -> xp.Tensor:
        pass

    def takes_no_bucket(state, bucket: list) -> future:
        pass

    def matches(state, bucket: bucket) -> future:
        pass
    with pytest.raises(ValueError, match="Communication hook: return annotation should be "):
        model.register_comm_hook(None, returns_no_future)
    with pytest.raises(ValueError, match=r"Communication hook: bucket annotation should be dist\.GradBucket\."):
        model.register_comm_hook(None, takes_no_bucket)
    with pytest.raises(TypeError, match="Communication hook must be callable"):
        model.register_comm_hook(None, 3)
    model.register_comm_hook(None, matches)
    with pytest.raises(RuntimeError, match=r"register_comm_hook or register_builtin_comm_hook can only be called once\."):
        model.register_comm_hook(None, matches)
