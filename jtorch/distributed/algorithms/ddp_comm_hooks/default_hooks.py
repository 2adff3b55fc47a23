"""torch.distributed.algorithms.ddp_comm_hooks.default_hooks: average the gradients in full or half precision."""
from __future__ import annotations

from collections.abc import Callable
from typing import Any

from jtorch.distributed import membership
from jtorch.distributed.collectives import all_reduce
from jtorch.dtype import named

__all__ = ["allreduce_hook", "bf16_compress_hook", "bf16_compress_wrapper", "fp16_compress_hook", "fp16_compress_wrapper"]


def _averaged(group: Any, tensor: Any) -> Any:
    pg = membership._group_or_default(group)
    work = all_reduce(tensor.div_(pg.size()), group=pg, async_op=True)
    return work.get_future()      # type: ignore[union-attr]


def allreduce_hook(process_group: Any, bucket: Any) -> Any:
    """Return the mean of a bucket over the ranks. See
    torch.distributed.algorithms.ddp_comm_hooks.default_hooks.allreduce_hook.
    """
    return _averaged(process_group, bucket.buffer()).then(lambda done: done.value()[0])


def _compressed(process_group: Any, bucket: Any, dtype: str) -> Any:
    buffer = bucket.buffer()
    sent = buffer.to(named(dtype))
    return _averaged(process_group, sent).then(lambda done: buffer.copy_(done.value()[0]))


def fp16_compress_hook(process_group: Any, bucket: Any) -> Any:
    """Return the mean of a bucket, sent as float16. See PyTorch's hook of this name."""
    return _compressed(process_group, bucket, "float16")


def bf16_compress_hook(process_group: Any, bucket: Any) -> Any:
    """Return the mean of a bucket, sent as bfloat16. See PyTorch's hook of this name."""
    return _compressed(process_group, bucket, "bfloat16")


def _wrapper(hook: Callable, dtype: str) -> Callable:
    def wrapped(state: Any, bucket: Any) -> Any:
        wide = bucket.buffer().dtype
        bucket.set_buffer(bucket.buffer().to(named(dtype)))

        def widened(done: Any) -> Any:
            made = done.value()
            return (made[0] if isinstance(made, list) else made).to(wide)
        return hook(state, bucket).then(widened)
    return wrapped


def fp16_compress_wrapper(hook: Callable) -> Callable:
    """Return a hook that converts gradients to float16 before ``hook`` and back after it. See PyTorch's wrapper of this name."""
    return _wrapper(hook, "float16")


def bf16_compress_wrapper(hook: Callable) -> Callable:
    """Return a hook that converts gradients to bfloat16 before ``hook`` and back after it. See PyTorch's wrapper of this
    name.
    """
    return _wrapper(hook, "bfloat16")
