"""A module that several processes train together, each on its part of the data. See torch.nn.parallel.DistributedDataParallel."""
from __future__ import annotations

import contextlib
from collections.abc import Callable, Iterator
from typing import Any

import jtorch.distributed as dist
from jtorch._api.flat import unflattened
from jtorch._api.functions import zeros
from jtorch._base import warned
from jtorch._base.pytree import flatten
from jtorch.distributed.algorithms.join import Join, JoinHook, _Config
from jtorch.distributed.coalesced import broadcast_together
from jtorch.distributed.errors import DistBackendError
from jtorch.distributed.work import Work
from jtorch.nn.modules.module import Module
from jtorch.nn.parallel.buckets import GradBucket, buckets_of
from jtorch.nn.parallel.report import NOT_FINISHED, Report
from jtorch.nn.parallel.uneven import WithoutInputs
from jtorch.no_grad import is_grad_enabled, no_grad
from jtorch.tensor import Tensor


class DistributedDataParallel(Module):
    """Gives ``module`` the mean of the gradients of all processes, at the end of each backward.

    Args:
        module: the module, whose parameters and buffers become those of the first rank.
        device_ids, output_device, dim: as PyTorch has them for GPUs; on CPUs they are None.
        broadcast_buffers: whether buffers become the first rank's before each forward.
        process_group, device_mesh: the processes; all, if not given.
        bucket_cap_mb: how many MB of gradients travel together.
        find_unused_parameters: whether some parameters may have no part in a loss.
        static_graph: whether the same parameters have a part in each.
        init_sync: whether parameters and buffers are made alike at the beginning.

    Raises:
        ValueError: there is no process group.
        RuntimeError: no parameter requires grad, the processes' parameters differ, or a loss has not used all of them.

        >>> net = torch.nn.parallel.DistributedDataParallel(net)        # doctest: +SKIP
        >>> loss(net(x), y).backward()                                  # doctest: +SKIP

    """

    def __init__(self, module: Module, device_ids: Any = None, output_device: Any = None, dim: int = 0,
                 broadcast_buffers: bool = True, init_sync: bool = True, process_group: Any = None,
                 bucket_cap_mb: float | None = None, find_unused_parameters: bool = False, check_reduction: bool = False,
                 gradient_as_bucket_view: bool = False, static_graph: bool = False, delay_all_reduce_named_params: Any = None,
                 param_to_hook_all_reduce: Any = None, mixed_precision: Any = None, device_mesh: Any = None,
                 skip_all_reduce_unused_params: bool = False):
        super().__init__()
        if not any(p.requires_grad for p in module.parameters()):
            raise RuntimeError("DistributedDataParallel is not needed when a module doesn't have any parameter that requires a "
                               "gradient.")
        if mixed_precision is not None:
            raise NotImplementedError("DistributedDataParallel: mixed_precision is not built")
        self.module = module
        self.device_ids, self.output_device, self.dim = device_ids, output_device, dim
        self.process_group = _group_of(process_group, device_mesh)
        self.broadcast_buffers = broadcast_buffers
        self.find_unused_parameters, self.static_graph = find_unused_parameters, static_graph
        self.gradient_as_bucket_view = gradient_as_bucket_view
        self.require_backward_grad_sync = self.require_forward_param_sync = True
        self.parameters_to_ignore = set(getattr(module, "_ddp_params_and_buffers_to_ignore", ()))
        self.device, self.device_type = next(module.parameters()).device, next(module.parameters()).device.type
        self._hook: Callable | None = None
        self._hook_state: Any = None
        self._bucket_mb = 25.0 if bucket_cap_mb is None else bucket_cap_mb
        self._join_config, self._divides_by_all, self._without_inputs = _Config(), True, False
        self.logger = Report()
        if init_sync:
            self._check_alike()
            self._copy_from(0, [*self._all_parameters(), *self._all_buffers()])
        self._watch_gradients()

    def _watch_gradients(self) -> None:
        self._named = self._trained()
        self._buckets = buckets_of(list(self._named.values()), self._bucket_mb)
        self._awaited: set[Tensor] | None = None
        self._unused: set[Tensor] = set()
        self._used_before: set[Tensor] = set()      # in backwards whose gradients only added up here
        for p in self._named.values():
            p.register_post_accumulate_grad_hook(self._ready)

    def _trained(self) -> dict[str, Tensor]:
        return {n: p for n, p in self.module.named_parameters() if p.requires_grad and n not in self.parameters_to_ignore}

    def _all_parameters(self) -> list[Tensor]:
        return [p for n, p in self.module.named_parameters() if n not in self.parameters_to_ignore]

    def _all_buffers(self) -> list[Tensor]:
        return [b for n, b in self.module.named_buffers() if n not in self.parameters_to_ignore]

    def _check_alike(self) -> None:
        """RuntimeError where the processes have parameters of other shapes."""
        own = [(n, tuple(p.shape), str(p.dtype)) for n, p in self._trained().items()]
        everybodys: list = [None] * self.process_group.size()
        dist.all_gather_object(everybodys, own, self.process_group)
        for rank, theirs in enumerate(everybodys):
            differing = [i for i, (a, b) in enumerate(zip(own, theirs, strict=False)) if a != b]
            if differing or len(own) != len(theirs):
                at = differing[0] if differing else min(len(own), len(theirs))
                raise RuntimeError(f"[{self.process_group.rank()}]: params[{at}] in this process with sizes "
                                   f"{list(own[at][1]) if at < len(own) else None} appears not to match sizes of the same param "
                                   f"in process {rank}.")

    def _copy_from(self, source: int, tensors: list[Tensor]) -> None:
        """Makes tensors those of one rank, all of a dtype in one message."""
        with no_grad():
            for t, there in broadcast_together(tensors, source, self.process_group):
                t.detach().copy_(there)

    # ------------------------------------------------------------ a step

    def forward(self, *inputs: Any, **kwargs: Any) -> Any:
        """The module's result."""
        syncs = self.require_backward_grad_sync and is_grad_enabled()
        if syncs and self._awaited:
            self._log_and_throw(RuntimeError, NOT_FINISHED.format(rank=self.process_group.rank(),
                                                                   names=", ".join(self._names(self._awaited))))
        joins = self._join_config.enable and syncs
        if joins:
            Join.notify_join_context(self)
        self._sync_buffers(self._latest(True) if joins else 0)
        made = self.module(*inputs, **kwargs)
        self.logger.iterations += syncs
        if syncs:
            self._expect_gradients(made)
        return made

    def _expect_gradients(self, made: Any) -> None:
        """Lets the next backward average gradients, when all parameters that a result depends on have theirs."""
        self._unused = self._unreached(made) if self.find_unused_parameters or self.static_graph else set()
        self._awaited = set()

    def _names(self, reached: set[Tensor]) -> list[str]:
        return [n for n, p in self._named.items() if p not in reached]

    def _unreached(self, made: Any) -> set[Tensor]:
        """The parameters that no result of the module depends on."""
        pending = [t.grad_fn for t in flatten(made)[0] if isinstance(t, Tensor) and t.grad_fn is not None]
        seen, left = set(pending), {id(p): p for p in self._named.values()}
        while pending:
            node = pending.pop()
            left.pop(id(getattr(node, "variable", None)), None)
            for following, _ in node.next_functions:
                if following is not None and following not in seen:
                    seen.add(following)
                    pending.append(following)
        return set(left.values())

    def _ready(self, param: Tensor) -> None:
        """A parameter has its gradient: behind the last one, gradients are averaged."""
        if not self.require_backward_grad_sync:
            self._used_before.add(param)
        if not self.require_backward_grad_sync or self._awaited is None:
            return
        self._awaited.add(param)
        if len(self._awaited) + len(self._unused - self._awaited) == len(self._named):
            self._awaited = None
            self._average()

    def _average(self) -> None:
        used = self._used_anywhere() if self._unused else None
        self._used_before.clear()
        with no_grad():
            works = [self._reduced(bucket) for bucket in self._buckets]
            for bucket, work in zip(self._buckets, works, strict=True):
                for p, part in zip(bucket.parameters(), unflattened(work(), bucket.parameters()), strict=True):
                    if used is None or p in used:
                        if p.grad is None:
                            p.grad = part.clone()
                        else:
                            p.grad.detach().copy_(part)

    def _used_anywhere(self) -> set[Tensor]:
        """The parameters that have a part in some process's loss."""
        params = list(self._named.values())
        flags = zeros(len(params))
        for i, p in enumerate(params):
            if p not in self._unused or p in self._used_before:
                flags[i] = 1
        dist.all_reduce(flags, dist.ReduceOp.MAX, self.process_group)
        return {p for p, used in zip(params, flags.tolist(), strict=True) if used}

    def _zeros_for(self, bucket: GradBucket) -> Callable[[], Tensor]:
        """Begins to average a bucket of which this process has nothing."""
        bucket.set_buffer(zeros(sum(p.numel() for p in bucket.parameters()), dtype=bucket.parameters()[0].dtype))
        return self._begun(bucket)

    def _reduced(self, bucket: GradBucket) -> Callable[[], Tensor]:
        """Begins to average a bucket; what waits for it."""
        bucket.fill()
        return self._begun(bucket)

    def _begun(self, bucket: GradBucket) -> Callable[[], Tensor]:
        if self._hook is not None:
            future = self._hook(self._hook_state, bucket)
            return lambda: _first(future.wait())
        flat = bucket.buffer().div_(self._share())
        work = dist.all_reduce(flat, group=self.process_group, async_op=True)
        return lambda: _waited(work, flat)

    # ------------------------------------------------------------ what users change

    @contextlib.contextmanager
    def no_sync(self) -> Iterator[None]:
        """Backwards in this block add up gradients in this process; the next one outside averages the sums."""
        before, self.require_backward_grad_sync = self.require_backward_grad_sync, False
        try:
            yield
        finally:
            self.require_backward_grad_sync = before

    def register_comm_hook(self, state: object, hook: Callable) -> None:
        """Lets ``hook(state, bucket)`` average gradients: it gives a future of the bucket's tensor."""
        if not callable(hook):
            raise TypeError("Communication hook must be callable.")
        if self._hook is not None:
            raise RuntimeError("register_comm_hook or register_builtin_comm_hook can only be called once.")
        self._hook, self._hook_state = hook, state

    def _set_static_graph(self) -> None:
        if self.static_graph:
            warned.warn("You've set static_graph to be True, no need to set it again.")
        elif self.logger.iterations:
            self._log_and_throw(RuntimeError, "set_static_graph() should be called before training loop starts and after "
                                              "DistributedDataParallel is constructed.")
        self.static_graph = True

    def _log_and_throw(self, err_type: type[Exception], err_msg: str) -> None:
        self.logger.error = f"{err_type}: {err_msg}"
        raise err_type(err_msg)

    def _get_ddp_logging_data(self) -> dict:
        return self.logger.of(self)

    def join(self, divide_by_initial_world_size: bool = True, enable: bool = True,
             throw_on_early_termination: bool = False) -> Join:
        """A block in which processes may have different numbers of batches. See torch.distributed.algorithms.Join."""
        return Join([self], enable, throw_on_early_termination, divide_by_initial_world_size=divide_by_initial_world_size)

    @property
    def join_process_group(self) -> Any:
        """The processes."""
        return self.process_group

    def join_hook(self, **kwargs: Any) -> JoinHook:
        """What a process without inputs does."""
        self._divides_by_all = kwargs.get("divide_by_initial_world_size", True)
        return WithoutInputs(self)

    def _share(self) -> int:
        """What summed gradients are divided by: fewer, where some processes have no inputs and the others shall not mind."""
        if self._divides_by_all or not self._join_config.enable:
            return self.process_group.size()
        count = zeros(1) + float(not self._without_inputs)
        dist.all_reduce(count, group=self.process_group)
        return max(int(count.item()), 1)

    def _latest(self, eligible: bool) -> int:
        """The last process for which something is so."""
        found = zeros(1) + float(self.process_group.rank() if eligible else -1)
        dist.all_reduce(found, dist.ReduceOp.MAX, self.process_group)
        return int(found.item())

    def _sync_buffers(self, source: int) -> None:
        buffers = self._all_buffers()
        if self.broadcast_buffers and self.require_forward_param_sync and buffers and self.module.training:
            self._copy_from(source, buffers)

    def __getstate__(self) -> dict:
        if self.process_group is not dist._get_default_group():
            raise RuntimeError("DDP Pickling/Unpickling are only supported when using DDP with the default process group. That "
                               "is, when you have called init_process_group and have not passed process_group argument to DDP "
                               "constructor")
        leave = {"process_group", "logger", "_named", "_buckets", "_awaited", "_unused", "_used_before", "_join_config"}
        return {name: value for name, value in self.__dict__.items() if name not in leave}

    def __setstate__(self, state: dict) -> None:
        super().__setstate__(state)
        self.process_group, self.logger, self._join_config = dist._get_default_group(), Report(), _Config()
        self._watch_gradients()


def _group_of(process_group: Any, device_mesh: Any) -> Any:
    """The processes that a model is on."""
    if device_mesh is None:
        return dist._get_default_group() if process_group is None else process_group
    if process_group is not None:
        raise RuntimeError("Cannot specify both process_group and device_mesh arguments.")
    if device_mesh.ndim != 1:
        raise RuntimeError(f"Only 1D device mesh is supported, but got {device_mesh}.")
    return device_mesh.get_group(0)


def _waited(work: Work | None, flat: Tensor) -> Tensor:
    if work is None:
        raise DistBackendError("this process is not in the group")
    work.wait()
    return flat


def _first(made: Any) -> Tensor:
    return made[0] if isinstance(made, (list, tuple)) else made
