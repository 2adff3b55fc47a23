"""torch.optim.swa_utils: averages of weights during training, their batch norm statistics and their schedule."""
from __future__ import annotations

import copy
import math
from collections.abc import Callable, Iterable
from typing import Any

import jtorch.dtype as dtypes
from jtorch._api.creation import tensor
from jtorch._optimizers.optimizer import Optimizer
from jtorch._optimizers.scheduler import LRScheduler, _per_group
from jtorch.nn.modules.batchnorm import _BatchNorm
from jtorch.nn.modules.module import Module
from jtorch.no_grad import no_grad
from jtorch.tensor import Tensor

__all__ = ["SWALR", "AveragedModel", "get_ema_avg_fn", "get_ema_multi_avg_fn", "get_swa_avg_fn", "get_swa_multi_avg_fn",
           "update_bn"]


def _check_decay(decay: float) -> None:
    if decay < 0.0 or decay > 1.0:
        raise ValueError(f"Invalid decay value {decay} provided. Please provide a value in [0,1] range.")


def _inexact(t: Any) -> bool:
    return t.is_floating_point() or t.is_complex()


def get_ema_multi_avg_fn(decay: float = 0.999) -> Callable:
    """Return a function that updates lists of exponential moving averages in place.

    Args:
        decay (float): the fraction of the averages kept each step.

    Returns:
        a function of (averages, values, number so far), lists of Tensors, that changes the averages.

    Raises:
        ValueError: ``decay`` is not within 0 and 1.

    Example::

        >>> averages = [torch.tensor(1.0)]
        >>> torch.optim.swa_utils.get_ema_multi_avg_fn(0.9)(averages, [torch.tensor(2.0)], 1)
        >>> averages
        [tensor(1.1000)]

    """
    _check_decay(decay)

    @no_grad()
    def ema_update(ema_param_list: list, current_param_list: list, _: Any) -> None:
        for average, now in zip(ema_param_list, current_param_list, strict=True):
            if _inexact(ema_param_list[0]):
                average.lerp_(now, 1 - decay)
            else:
                average.copy_(average * decay + now * (1 - decay))
    return ema_update


def get_swa_multi_avg_fn() -> Callable:
    """Return a function that updates lists of plain averages in place.

    Returns:
        a function of (averages, values, number so far), lists of Tensors, that changes the averages.

    Example::

        >>> averages = [torch.tensor(1.0)]
        >>> torch.optim.swa_utils.get_swa_multi_avg_fn()(averages, [torch.tensor(2.0)], 1)
        >>> averages
        [tensor(1.5000)]

    """
    @no_grad()
    def swa_update(averaged_param_list: list, current_param_list: list, num_averaged: Any) -> None:
        for average, now in zip(averaged_param_list, current_param_list, strict=True):
            if _inexact(averaged_param_list[0]):
                weight = 1 / (num_averaged + 1)
                average.lerp_(now, weight.to(average.dtype) if isinstance(weight, Tensor) else weight)      # type: ignore[attr-defined]
            else:
                average.add_((now - average) / (num_averaged + 1))
    return swa_update


def get_ema_avg_fn(decay: float = 0.999) -> Callable:
    """Return a function that computes the next exponential moving average of one tensor.

    Args:
        decay (float): the fraction of the average kept each step.

    Returns:
        a function of (average, value, number of averages so far), Tensors of one shape, that gives the new average.

    Raises:
        ValueError: ``decay`` is not within 0 and 1.

    Example::

        >>> average = torch.optim.swa_utils.get_ema_avg_fn(0.9)
        >>> average(torch.tensor(1.0), torch.tensor(2.0), 1)
        tensor(1.1000)

    """
    _check_decay(decay)

    @no_grad()
    def ema_update(ema_param: Any, current_param: Any, num_averaged: Any) -> Any:
        return decay * ema_param + (1 - decay) * current_param
    return ema_update


def get_swa_avg_fn() -> Callable:
    """Return a function that computes the next plain average of one tensor.

    Returns:
        a function of (average, value, number of averages so far), Tensors of one shape, that gives the new average.

    Example::

        >>> torch.optim.swa_utils.get_swa_avg_fn()(torch.tensor(1.0), torch.tensor(2.0), 1)
        tensor(1.5000)

    """
    @no_grad()
    def swa_update(averaged_param: Any, current_param: Any, num_averaged: Any) -> Any:
        return averaged_param + (current_param - averaged_param) / (num_averaged + 1)
    return swa_update


class AveragedModel(Module):
    """A copy of a model that holds averages of its parameters. See torch.optim.swa_utils.AveragedModel.

    By default all updates have equal weight (Izmailov et al., Averaging Weights Leads to Wider Optima and Better
    Generalization, 2018). The first ``update_parameters`` copies the parameters.

    Shape: what the model takes, to what it gives.

    Args:
        model: the model, which is copied.
        device: the device of the averages; None means the model's.
        avg_fn: ``(average, current, number averaged) -> new average``, for one tensor.
        multi_avg_fn: ``(averages, currents, number averaged)``, which updates lists of tensors in place.
        use_buffers: whether to average the buffers too; otherwise they are copied.

    Raises:
        AssertionError: both functions are given.

    Example::

        >>> import jtorch as torch
        >>> model = torch.nn.Linear(2, 1, bias=False)
        >>> averaged = torch.optim.swa_utils.AveragedModel(model)
        >>> for w in (1.0, 3.0):
        ...     _ = torch.nn.init.constant_(model.weight, w)
        ...     averaged.update_parameters(model)
        >>> averaged.module.weight.tolist()
        [[2.0, 2.0]]

    """

    def __init__(self, model: Module, device: Any = None, avg_fn: Callable | None = None, multi_avg_fn: Callable | None = None,
                 use_buffers: bool = False):
        super().__init__()
        if avg_fn is not None and multi_avg_fn is not None:
            raise AssertionError("Only one of avg_fn and multi_avg_fn should be provided")
        self.module = copy.deepcopy(model)
        if device is not None:
            self.module = self.module.to(device)
        self.register_buffer("n_averaged", tensor(0, dtype=dtypes.int64, device=device))
        self.avg_fn, self.multi_avg_fn, self.use_buffers = avg_fn, multi_avg_fn, use_buffers

    def forward(self, *args: Any, **kwargs: Any) -> Any:
        """Call the averaged model."""
        return self.module(*args, **kwargs)

    def update_parameters(self, model: Module) -> None:
        """Update the averages with the current parameters of ``model``."""
        mine, theirs = ([*m.parameters(), *(m.buffers() if self.use_buffers else ())] for m in (self.module, model))
        pairs = [(a.detach(), b.detach().to(a.device)) for a, b in zip(mine, theirs, strict=False)]
        if bool(self.n_averaged == 0):
            _copy_all(pairs)
        elif self.multi_avg_fn is not None:
            self._update_lists(self.multi_avg_fn, pairs)
        else:
            average_of = self.avg_fn or get_swa_avg_fn()
            for average, now in pairs:
                average.copy_(average_of(average, now, self.n_averaged.to(average.device)))
        if not self.use_buffers:
            _copy_all([(a.detach(), b.detach()) for a, b in zip(self.module.buffers(), model.buffers(), strict=True)])
        self.n_averaged += 1

    def _update_lists(self, update: Callable, pairs: list[tuple[Any, Any]]) -> None:
        """Call the function for lists once per device and dtype."""
        kinds: dict[tuple, list] = {}
        for pair in pairs:
            kinds.setdefault((pair[0].device, pair[0].dtype), []).append(pair)
        for (device, _), some in kinds.items():
            update([a for a, _ in some], [b for _, b in some], self.n_averaged.to(device))


def _copy_all(pairs: list[tuple[Any, Any]]) -> None:
    for target, source in pairs:
        target.copy_(source)


@no_grad()
def update_bn(loader: Iterable[Any], model: Module, device: Any = None) -> None:
    """Recompute the running statistics of batch norm layers in one pass over ``loader``.

    Args:
        loader: batches: tensors, or lists and tuples whose first element is one.
        model: the model, which is called on each batch in training mode; its mode and momenta are restored.
        device: the device to which batches are moved first, if given.

    Example::

        >>> model = torch.nn.BatchNorm1d(1)
        >>> torch.optim.swa_utils.update_bn([torch.tensor([[1.0], [3.0]])], model)
        >>> model.running_mean
        tensor([2.])

    """
    momenta = {m: m.momentum for m in model.modules() if isinstance(m, _BatchNorm)}
    if not momenta:
        return
    was_training = model.training
    for module in momenta:
        module.reset_running_stats()
    model.train()
    for module in momenta:
        module.momentum = None      # None means a cumulative average
    for batch in loader:
        batch = batch[0] if isinstance(batch, (list, tuple)) else batch
        model(batch if device is None else batch.to(device))
    for module, momentum in momenta.items():
        module.momentum = momentum
    model.train(was_training)


class SWALR(LRScheduler):
    """Anneals the learning rate to a fixed value, for weight averaging. See torch.optim.swa_utils.SWALR.

    Args:
        optimizer: the optimizer whose groups' rates are set.
        swa_lr: the rate at the end, or one for each group.
        anneal_epochs: the number of epochs until the final rate.
        anneal_strategy: ``"cos"`` or ``"linear"``.
        last_epoch: the last epoch, to resume after it; -1 starts.

    Raises:
        ValueError: another strategy, or a number of epochs that is no natural number.

    Example::

        >>> opt = torch.optim.SGD([torch.zeros(1, requires_grad=True)], lr=1.0)
        >>> scheduler = torch.optim.swa_utils.SWALR(opt, swa_lr=0.5, anneal_epochs=2, anneal_strategy="linear")
        >>> for _ in range(2):
        ...     opt.step()
        ...     scheduler.step()
        >>> scheduler.get_last_lr()
        [0.5]

    """

    _hidden = ("optimizer", "anneal_func")

    def __init__(self, optimizer: Optimizer, swa_lr: Any, anneal_epochs: int = 10, anneal_strategy: str = "cos",
                 last_epoch: int = -1):
        for rate, group in zip(_per_group(optimizer, swa_lr, "swa_lr"), optimizer.param_groups, strict=True):
            group["swa_lr"] = rate
        if anneal_strategy not in ("cos", "linear"):
            raise ValueError(f"anneal_strategy must be one of 'cos' or 'linear', instead got {anneal_strategy}")
        self._set_anneal_func(anneal_strategy)
        if not isinstance(anneal_epochs, int) or anneal_epochs < 0:
            raise ValueError(f"anneal_epochs must be equal or greater than 0, got {anneal_epochs}")
        self.anneal_epochs = anneal_epochs
        super().__init__(optimizer, last_epoch)

    def _set_anneal_func(self, anneal_strategy: str) -> None:
        self._anneal_strategy = anneal_strategy
        self.anneal_func = _cosine if anneal_strategy == "cos" else _linear

    def _done(self, step: int) -> float:
        """Return the fraction of the annealing that is done after a step."""
        return self.anneal_func(max(0, min(1, step / max(1, self.anneal_epochs))))

    def get_lr(self) -> list:
        """Return the learning rates to set next."""
        self._warn_if_asked()
        step = self._step_count - 1
        step = max(1, step) if self.anneal_epochs == 0 else step
        before, now = self._done(step - 1), self._done(step)
        return [g["swa_lr"] * now + _start_of(g["lr"], g["swa_lr"], before) * (1 - now) for g in self.optimizer.param_groups]

    def load_state_dict(self, state_dict: dict[str, Any]) -> None:
        """Load the state of another scheduler."""
        super().load_state_dict(state_dict)
        self._set_anneal_func(self._anneal_strategy)


def _linear(t: float) -> float:
    return t


def _cosine(t: float) -> float:
    return (1 - math.cos(math.pi * t)) / 2


def _start_of(lr: Any, swa_lr: Any, done: float) -> Any:
    """Return the rate from which annealing started, given the current rate."""
    return swa_lr if done == 1 else (lr - done * swa_lr) / (1 - done)
