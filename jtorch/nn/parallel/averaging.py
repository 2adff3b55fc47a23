"""Averaging of gradients over processes: in buckets, once a backward has computed all gradients."""
from __future__ import annotations

from collections.abc import Callable
from typing import Any

import jtorch.distributed as dist
from jtorch._api.creation import tensor as as_tensor
from jtorch._api.flattening import unflattened
from jtorch._api.functions import zeros
from jtorch._base.pytree import tree_map
from jtorch.autograd.variable import Variable
from jtorch.distributed.arrays import put, tensor_of
from jtorch.distributed.errors import DistBackendError
from jtorch.distributed.work import Work
from jtorch.nn.parallel.buckets import GradBucket, buckets_of
from jtorch.nn.parallel.report import GRAPH_HAS_CHANGED, Report
from jtorch.no_grad import no_grad
from jtorch.tensor import Tensor


class Averaging:
    """The part of a DistributedDataParallel that averages gradients."""

    module: Any
    device_ids: Any
    device: Any
    process_group: Any
    logger: Report
    parameters_to_ignore: set[str]
    require_backward_grad_sync: bool
    find_unused_parameters: bool
    static_graph: bool
    _bucket_mb: float
    _first_bucket_mb: float
    _hook: Callable | None
    _hook_state: Any
    _join_config: Any
    _divides_by_all: bool
    _without_inputs: bool

    def _on_own_device(self, given: Any) -> Any:
        """Return arguments with their tensors on the module's GPU, if ``device_ids`` names it."""
        return tree_map(lambda x: x.to(self.device) if isinstance(x, Tensor) else x, given) if self.device_ids else given

    def _watch_gradients(self) -> None:
        self._named = self._trained()
        self._buckets = buckets_of(list(self._named.values()), self._bucket_mb, self._first_bucket_mb)
        self._messages = buckets_of(list(self._named.values()), self._bucket_mb, self._bucket_mb)
        self._awaited: set[Tensor] | None = None
        # With ``static_graph``: the parameters that got gradients in the first iteration. Later iterations must use the same.
        self._fixed: set[Tensor] | None = None
        self._used: set[Tensor] | None = None
        self._used_before: set[Tensor] = set()
        for p in self._named.values():
            p.register_post_accumulate_grad_hook(self._ready)

    def _trained(self) -> dict[str, Tensor]:
        return {n: p for n, p in self.module.named_parameters() if p.requires_grad and n not in self.parameters_to_ignore}

    def _ready(self, param: Tensor) -> None:
        """Record that a parameter has its gradient, and average the gradients once no others are expected."""
        if not self.require_backward_grad_sync:
            self._used_before.add(param)
        elif self._fixed is not None and param not in self._fixed:
            self._log_and_throw(RuntimeError, GRAPH_HAS_CHANGED)
        elif self._awaited is not None:
            self._awaited.add(param)
            self._go_on(self._awaited)

    def _go_on(self, ready: set[Tensor]) -> None:
        if self.asks_who_used():        # Only the end of backward shows which parameters it has not reached.
            if len(ready) == 1:
                Variable._execution_engine.queue_callback(self._finish)
        elif len(ready) == len(self._named if self._fixed is None else self._fixed):
            self._finish()

    def asks_who_used(self) -> bool:
        """Return whether the processes exchange which parameters they have used."""
        return self.find_unused_parameters if not self.static_graph else self._fixed is None

    def _finish(self) -> None:
        ready, self._awaited = self._awaited or set(), None
        used = self.used_anywhere(ready | self._used_before) if self.asks_who_used() else self._used
        self._used_before.clear()
        if self.static_graph and self._fixed is None:
            self._fixed, self._used = ready, used
        self._average(used)

    def _average(self, used: set[Tensor] | None) -> None:
        with no_grad():
            buckets = self.buckets()
            works = [self.begun(bucket) for bucket in buckets]
            for bucket, work in zip(buckets, works, strict=True):
                for p, mean in zip(bucket.parameters(), work(), strict=True):
                    if used is None or p in used:
                        _give(p, mean)

    def used_anywhere(self, here: set[Tensor]) -> set[Tensor]:
        """Return the parameters that some process has used, given those that this process has used."""
        params = list(self._named.values())
        flags = as_tensor([float(p in here) for p in params], device=params[0].device)
        dist.all_reduce(flags, dist.ReduceOp.MAX, self.process_group)
        return {p for p, used in zip(params, flags.tolist(), strict=True) if used}

    def buckets(self) -> list[GradBucket]:
        """Return the buckets to communicate: PyTorch's if a hook sees them, else buckets of one common size limit."""
        return self._messages if self._hook is None else self._buckets

    def begun(self, bucket: GradBucket, empty: bool = False) -> Callable[[], list]:
        """Start averaging a bucket, and return a function that waits for the means.

        A process without inputs passes ``empty`` and contributes zeros.
        """
        if self._hook is None:
            work = bucket.averager.begin(bucket.gathered(empty), self._share(), self.process_group)
            return lambda: _waited(work)
        bucket.fill(empty)
        future = self._hook(self._hook_state, bucket)
        return lambda: unflattened(_first(future.wait()), bucket.parameters())

    def _share(self) -> int:
        """Return the divisor of summed gradients: the number of processes, or with ``join`` of those with inputs."""
        if self._divides_by_all or not self._join_config.enable:
            return self.process_group.size()
        count = zeros(1, device=next(iter(self._named.values())).device) + float(not self._without_inputs)
        dist.all_reduce(count, group=self.process_group)
        return max(int(count.item()), 1)

    def _log_and_throw(self, err_type: type[Exception], err_msg: str) -> None:
        self.logger.error = f"{err_type}: {err_msg}"
        raise err_type(err_msg)


def _give(p: Tensor, mean: Any) -> None:
    """Set a parameter's gradient to a mean: an array on the host, or a view of another tensor."""
    if p.grad is None:
        p.grad = mean.clone() if isinstance(mean, Tensor) else tensor_of(mean).to(p.device)     # type: ignore[attr-defined]
    elif isinstance(mean, Tensor):
        p.grad.detach().copy_(mean)
    else:
        put(p.grad, mean)


def _waited(work: Work | None) -> list:
    if work is None:
        raise DistBackendError("this process is not in the group")
    return work.result()


def _first(made: Any) -> Tensor:
    return made[0] if isinstance(made, (list, tuple)) else made
