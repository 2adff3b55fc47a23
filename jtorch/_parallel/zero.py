"""ZeroRedundancyOptimizer: each rank updates some of the parameters and sends them to the others."""
from __future__ import annotations

import copy
from collections.abc import Callable
from typing import Any

import jtorch.distributed as dist
from jtorch._optimizers.optimizer import Optimizer
from jtorch.distributed.coalesced import broadcast_together
from jtorch.no_grad import enable_grad, no_grad
from jtorch.tensor import Tensor


class ZeroRedundancyOptimizer(Optimizer):
    """An optimizer whose states are sharded over ranks. See torch.distributed.optim.ZeroRedundancyOptimizer.

    Each rank keeps the states of some parameters, updates these, and sends them to the others.

    Args:
        params: parameters, or groups of them.
        optimizer_class: the optimizer that each rank runs on its parameters.
        process_group: the ranks; all, if None.
        parameters_as_bucket_view: accepted; it changes nothing.
        overlap_with_ddp: not built.
        defaults: options of the optimizer.

    Raises:
        ValueError: no parameters.
        RuntimeError: ``state_dict`` on a rank to which the states were not consolidated.

    >>> optimizer = ZeroRedundancyOptimizer(net.parameters(), torch.optim.Adam, lr=.1)      # doctest: +SKIP

    """

    def __init__(self, params: Any, optimizer_class: type[Optimizer], process_group: Any = None,
                 parameters_as_bucket_view: bool = False, overlap_with_ddp: bool = False, **defaults: Any):
        if overlap_with_ddp:
            raise NotImplementedError("ZeroRedundancyOptimizer with overlap_with_ddp is not built: call step() after backward")
        self.process_group = dist._get_default_group() if process_group is None else process_group
        self.rank, self.world_size = self.process_group.rank(), self.process_group.size()
        self._class, self._options = optimizer_class, defaults
        self._all_states: list[Any] | None = None
        self.optim: Any = None
        super().__init__(params, defaults)
        self._assign_parameters()

    def _assign_parameters(self) -> None:
        """Assign the parameters to ranks: the largest first, each to the rank with the fewest elements."""
        self._owner: dict[Tensor, int] = {}
        groups: list[list[dict]] = [[] for _ in range(self.world_size)]
        sizes = [0] * self.world_size
        for group in self.param_groups:
            options = {k: v for k, v in group.items() if k != "params"}
            for p in sorted(group["params"], key=lambda t: t.numel(), reverse=True):
                self._owner[p] = sizes.index(min(sizes))
                sizes[self._owner[p]] += p.numel()
            for rank in range(self.world_size):
                groups[rank].append({**options, "params": [p for p in group["params"] if self._owner[p] == rank]})
        known = dict(self.optim.state) if self.optim is not None else {}
        self._own_groups = groups
        self.optim = self._class(groups[self.rank], **self._options)
        self.optim.state.update({p: s for p, s in known.items() if self._owner.get(p) == self.rank})
        for mine, theirs in zip(self.param_groups, self.optim.param_groups, strict=True):
            mine.update({k: v for k, v in theirs.items() if k not in mine})

    def add_param_group(self, param_group: dict[str, Any]) -> None:
        """Add a group of parameters, and assign all parameters to ranks again."""
        super().add_param_group(param_group)
        if self.optim is not None:
            self._assign_parameters()

    def step(self, closure: Callable[[], Any] | None = None, **kwargs: Any) -> Any:
        """Run a step of this rank's optimizer, and exchange the updated parameters; return the closure's loss."""
        for mine, theirs in zip(self.param_groups, self.optim.param_groups, strict=True):
            theirs.update({k: v for k, v in mine.items() if k != "params"})
        loss = None
        if closure is not None:
            with enable_grad():
                loss = closure()
        self.optim.step(**kwargs)
        self._exchange_parameters()
        return loss

    @no_grad()
    def _exchange_parameters(self) -> None:
        for rank, groups in enumerate(self._own_groups):
            params = [p for group in groups for p in group["params"]]
            for p, there in broadcast_together(params, rank, self.process_group):
                if rank != self.rank:
                    p.detach().copy_(there)

    # ------------------------------------------------------------ state dicts

    def consolidate_state_dict(self, to: int = 0) -> None:
        """Gather the states of all ranks on rank ``to``, for ``state_dict``."""
        found: list[Any] | None = [None] * self.world_size if self.rank == to else None
        dist.gather_object(self.optim.state_dict(), found, group=self.process_group, group_dst=to)
        self._all_states = found if self.rank == to else None

    def state_dict(self) -> dict[str, Any]:
        """Return the states of all ranks; RuntimeError on ranks to which they were not consolidated."""
        if self._all_states is None:
            raise RuntimeError("Optimizer state has not been consolidated on this rank. Please call "
                               "`consolidate_state_dict(to=...)` on all ranks beforehand if you meant to save the global state.")
        made = super().state_dict()
        number = {p: i for i, p in enumerate(p for group in self.param_groups for p in group["params"])}
        state: dict[int, Any] = {}
        for groups, theirs in zip(self._own_groups, self._all_states, strict=True):
            params = [p for group in groups for p in group["params"]]
            state.update({number[params[i]]: s for i, s in theirs["state"].items()})
        made["state"] = dict(sorted(state.items()))
        return made

    def load_state_dict(self, state_dict: dict[str, Any]) -> None:
        """Load the states of all ranks, and keep those of this rank's parameters."""
        given = copy.copy(state_dict)
        params = [p for group in self.param_groups for p in group["params"]]
        own = [p for group in self._own_groups[self.rank] for p in group["params"]]
        place = {p: i for i, p in enumerate(own)}
        state = {place[params[i]]: s for i, s in given["state"].items() if params[i] in place}
        groups, start = [], 0
        for saved, mine in zip(given["param_groups"], self._own_groups[self.rank], strict=True):
            groups.append({**saved, "params": list(range(start, start + len(mine["params"])))})
            start += len(mine["params"])
        self.optim.load_state_dict({"state": state, "param_groups": groups})
        for mine, saved in zip(self.param_groups, given["param_groups"], strict=True):
            mine.update({k: v for k, v in saved.items() if k != "params"})
