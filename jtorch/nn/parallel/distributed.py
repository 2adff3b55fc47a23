"""DistributedDataParallel: several processes train a module together, each on a part of the data.

See torch.nn.parallel.DistributedDataParallel.
"""
from __future__ import annotations

import contextlib
import inspect
from collections.abc import Callable, Iterator
from typing import Any

import jtorch.distributed as dist
from jtorch._api.functions import zeros
from jtorch._base import warned
from jtorch.distributed.algorithms.join import Join, JoinHook, _JoinConfig
from jtorch.distributed.coalesced import broadcast_together
from jtorch.futures import Future
from jtorch.nn.modules.module import Module
from jtorch.nn.parallel import report, uneven
from jtorch.nn.parallel.averaging import Averaging
from jtorch.nn.parallel.report import not_finished
from jtorch.no_grad import is_grad_enabled, no_grad
from jtorch.tensor import Tensor


class DistributedDataParallel(Module, Averaging):
    """Wraps a module and averages its gradients over all processes at the end of each backward.

    Args:
        module: the module, whose parameters and buffers become those of the first rank.
        device_ids: a list of the rank's GPU, to which inputs are moved; None if they are on the module's device already.
        output_device, dim: accepted and ignored: a module is on one device.
        forward_sync_buffers: whether a forward after a synchronized one first broadcasts the first rank's buffers; formerly
            ``broadcast_buffers``.
        process_group, device_mesh: the processes; None means all.
        bucket_cap_mb: the size that a bucket of gradients reaches before the next one begins, in MB. None means 1 for the first
            bucket and 25 for the others.
        find_unused_parameters: whether some losses may not depend on all parameters.
        static_graph: whether each loss depends on the same parameters.
        init_sync: whether parameters and buffers are broadcast at the beginning.

    Raises:
        ValueError: there is no process group.
        RuntimeError: no parameter requires grad, the processes' parameters differ, or a loss has not used all of them.

        >>> net = torch.nn.parallel.DistributedDataParallel(net)        # doctest: +SKIP
        >>> loss(net(x), y).backward()                                  # doctest: +SKIP

    """

    def __init__(self, module: Module, device_ids: Any = None, output_device: Any = None, dim: int = 0,
                 broadcast_buffers: bool | None = None, init_sync: bool = True, process_group: Any = None,
                 bucket_cap_mb: float | None = None, find_unused_parameters: bool = False, check_reduction: bool = False,
                 gradient_as_bucket_view: bool = False, static_graph: bool = False, delay_all_reduce_named_params: Any = None,
                 param_to_hook_all_reduce: Any = None, mixed_precision: Any = None, device_mesh: Any = None,
                 skip_all_reduce_unused_params: bool = False, bucket_cap_mb_list: list[int] | None = None,
                 batched_grad_copy: bool = False, forward_sync_buffers: bool | None = None):
        super().__init__()
        if not any(p.requires_grad for p in module.parameters()):
            raise RuntimeError("DistributedDataParallel is not needed when a module doesn't have any parameter that requires a "
                               "gradient.")
        if mixed_precision is not None or bucket_cap_mb_list is not None:
            raise NotImplementedError("DistributedDataParallel: mixed_precision and bucket_cap_mb_list are not built")
        self.module = module
        self.device_ids, self.output_device, self.dim = device_ids, output_device, dim
        self.process_group = _group_of(process_group, device_mesh)
        if device_mesh is not None:
            self.device_mesh = device_mesh
        self.forward_sync_buffers = _syncs_buffers(broadcast_buffers, forward_sync_buffers)
        self.find_unused_parameters, self.static_graph = find_unused_parameters, static_graph
        self.gradient_as_bucket_view = gradient_as_bucket_view
        self.require_backward_grad_sync = self.require_forward_param_sync = True
        self.parameters_to_ignore = set(getattr(module, "_ddp_params_and_buffers_to_ignore", ()))
        self.device, self.device_type = next(module.parameters()).device, next(module.parameters()).device.type
        self._hook: Callable | None = None
        self._hook_state: Any = None
        # A small first bucket fills early, so its communication starts early.
        self._first_bucket_mb, self._bucket_mb = (1.0, 25.0) if bucket_cap_mb is None else (bucket_cap_mb, bucket_cap_mb)
        self._join_config, self._divides_by_all, self._without_inputs = _JoinConfig(), True, False
        self.logger = report.Report()
        if init_sync:
            self._check_alike()
            syncs_buffers = self.forward_sync_buffers or forward_sync_buffers is not None
            self._copy_from(0, [*self._all_parameters(), *(self._all_buffers() if syncs_buffers else ())])
        self._watch_gradients()

    def _all_parameters(self) -> list[Tensor]:
        return [p for n, p in self.module.named_parameters() if n not in self.parameters_to_ignore]

    def _all_buffers(self) -> list[Tensor]:
        return [b for n, b in self.module.named_buffers() if n not in self.parameters_to_ignore]

    def _check_alike(self) -> None:
        """Raise RuntimeError if the processes' parameters differ in shape."""
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
        """Broadcast tensors from one rank, with one message per dtype."""
        with no_grad():
            for t, there in broadcast_together(tensors, source, self.process_group):
                t.detach().copy_(there)

    # ------------------------------------------------------------ forward

    def forward(self, *inputs: Any, **kwargs: Any) -> Any:
        """Return the module's result."""
        syncs = self.require_backward_grad_sync and is_grad_enabled()
        if syncs and self._awaited:
            self._log_and_throw(RuntimeError, not_finished(self, self._awaited))
        joins = self._join_config.enable and syncs
        if joins:
            Join.notify_join_context(self)
            self.require_forward_param_sync = True      # ``WithoutInputs`` sets this too, so all ranks sync buffers.
        self._sync_buffers(self._latest(True) if joins else 0)
        made = self.module(*self._on_own_device(inputs), **self._on_own_device(kwargs))
        self.logger.iterations += syncs
        self.require_forward_param_sync = syncs
        if syncs:
            self._expect_gradients()
        return made

    def _expect_gradients(self) -> None:
        """Make the next backward average gradients."""
        self._awaited = set()

    # ------------------------------------------------------------ settings and joining

    @contextlib.contextmanager
    def no_sync(self) -> Iterator[None]:
        """Only accumulate gradients locally within the block; the next backward outside averages the sums."""
        before, self.require_backward_grad_sync = self.require_backward_grad_sync, False
        try:
            yield
        finally:
            self.require_backward_grad_sync = before

    def register_comm_hook(self, state: object, hook: Callable) -> None:
        """Average gradients by ``hook(state, bucket)``, which returns a future of the bucket's tensor.

        Errors: TypeError for a hook that is not callable, ValueError for annotations other than ``bucket: dist.GradBucket`` and
        ``-> torch.futures.Future[torch.Tensor]``, RuntimeError for a second hook. An annotation may be missing or a string.
        """
        self._check_comm_hook(hook)
        if self._hook is not None:
            raise RuntimeError("register_comm_hook or register_builtin_comm_hook can only be called once.")
        self._hook, self._hook_state = hook, state

    def _check_comm_hook(self, hook: Callable) -> None:
        if not callable(hook):
            self._log_and_throw(TypeError, "Communication hook must be callable.")
        signature = inspect.signature(hook)
        bucket = signature.parameters.get("bucket")
        if bucket is not None and not _is_annotated(bucket.annotation, dist.GradBucket):
            self._log_and_throw(ValueError, "Communication hook: bucket annotation should be dist.GradBucket.")
        if not _is_annotated(signature.return_annotation, Future[Tensor]):
            self._log_and_throw(ValueError, "Communication hook: return annotation should be torch.futures.Future[torch.Tensor].")

    def _set_static_graph(self) -> None:
        if self.static_graph:
            warned.warn("You've set static_graph to be True, no need to set it again.")
        elif self.logger.iterations:
            self._log_and_throw(RuntimeError, "set_static_graph() should be called before training loop starts and after "
                                              "DistributedDataParallel is constructed.")
        self.static_graph = True

    def _get_ddp_logging_data(self) -> dict:
        return self.logger.of(self)

    def join(self, divide_by_initial_world_size: bool = True, enable: bool = True,
             throw_on_early_termination: bool = False) -> Join:
        """Return a context in which processes can have different numbers of batches.

        See torch.distributed.algorithms.Join.
        """
        return Join([self], enable, throw_on_early_termination, divide_by_initial_world_size=divide_by_initial_world_size)

    @property
    def join_process_group(self) -> Any:
        """Return the process group."""
        return self.process_group

    def join_hook(self, **kwargs: Any) -> JoinHook:
        """Return the hook that a process without inputs runs."""
        self._divides_by_all = kwargs.get("divide_by_initial_world_size", True)
        return uneven.WithoutInputs(self)

    def _latest(self, eligible: bool) -> int:
        """Return the highest rank of the processes that pass ``eligible``."""
        found = zeros(1, device=self.device) + float(self.process_group.rank() if eligible else -1)
        dist.all_reduce(found, dist.ReduceOp.MAX, self.process_group)
        return int(found.item())

    def _sync_buffers(self, source: int) -> None:
        buffers = self._all_buffers()
        if self.forward_sync_buffers and self.require_forward_param_sync and buffers:
            self._copy_from(source, buffers)

    @property
    def broadcast_buffers(self) -> bool:
        """Return ``forward_sync_buffers`` under its old name."""
        return self.forward_sync_buffers

    @staticmethod
    def _set_params_and_buffers_to_ignore_for_model(module: Module, params_and_buffers_to_ignore: Any) -> None:
        module._ddp_params_and_buffers_to_ignore = params_and_buffers_to_ignore      # type: ignore[assignment]
        for name, t in [*module.named_parameters(), *module.named_buffers()]:
            if name in params_and_buffers_to_ignore:
                t._ddp_ignored = True       # type: ignore[attr-defined]

    @staticmethod
    def _get_data_parallel_params(module: Module, named_params: bool = False) -> Iterator:
        for name, p in module.named_parameters():
            if not hasattr(p, "_ddp_ignored"):
                yield (name, p) if named_params else p

    def __getstate__(self) -> dict:
        if self.process_group is not dist._get_default_group():
            raise RuntimeError("DDP Pickling/Unpickling are only supported when using DDP with the default process group. That "
                               "is, when you have called init_process_group and have not passed process_group argument to DDP "
                               "constructor")
        leave = {"process_group", "logger", "_named", "_buckets", "_messages", "_awaited", "_fixed", "_used", "_used_before",
                 "_join_config"}
        return {name: value for name, value in self.__dict__.items() if name not in leave}

    def __setstate__(self, state: dict) -> None:
        super().__setstate__(state)
        self.process_group, self.logger, self._join_config = dist._get_default_group(), report.Report(), _JoinConfig()
        self._watch_gradients()


def _syncs_buffers(broadcast_buffers: bool | None, forward_sync_buffers: bool | None) -> bool:
    """Return whether each forward first broadcasts the first rank's buffers."""
    if broadcast_buffers is not None and forward_sync_buffers is not None:
        warned.warn("Both `broadcast_buffers` and `forward_sync_buffers` were specified. `broadcast_buffers` is deprecated and "
                    "its value is ignored when `forward_sync_buffers` is provided.", FutureWarning)
    elif broadcast_buffers is not None:
        warned.warn("`broadcast_buffers` is deprecated. Use `forward_sync_buffers` instead. IMPORTANT: unlike "
                    "`broadcast_buffers=False`, `forward_sync_buffers=False` still syncs buffers at init. If you rely on buffers "
                    "NOT being synced at init (e.g. rank-local buffers), keep using `broadcast_buffers=False` until "
                    "`init_sync_buffers` is available.", FutureWarning)
        return broadcast_buffers
    return True if forward_sync_buffers is None else forward_sync_buffers


def _group_of(process_group: Any, device_mesh: Any) -> Any:
    """Return the process group of a model."""
    if device_mesh is None:
        return dist._get_default_group() if process_group is None else process_group
    if process_group is not None:
        raise RuntimeError("Cannot specify both process_group and device_mesh arguments.")
    if device_mesh.ndim != 1:
        raise RuntimeError(f"Only 1D device mesh is supported, but got {device_mesh}.")
    return device_mesh.get_group(0)

del Averaging      # PyTorch's module does not have this name


def _is_annotated(found: Any, wanted: Any) -> bool:
    """Return whether an annotation is the wanted one. A missing one is accepted, as is a string, which may name anything."""
    return found in (inspect.Parameter.empty, wanted) or isinstance(found, str)
