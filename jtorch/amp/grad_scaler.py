"""torch.amp.GradScaler: loss scaling, which keeps gradients in a lower precision from vanishing."""
from __future__ import annotations

import inspect
from collections import defaultdict
from collections.abc import Iterable
from enum import Enum
from typing import Any

import jtorch.dtype as dtypes
from jtorch import cuda
from jtorch._api.creation import tensor
from jtorch._base import warned
from jtorch.amp.scaling import unscale_, update_scale_
from jtorch.optim import Optimizer
from jtorch.tensor import Tensor

__all__ = ["GradScaler", "OptState"]


class OptState(Enum):
    """The stage of an optimizer within one iteration."""

    READY = 0
    UNSCALED = 1
    STEPPED = 2


def _refresh_per_optimizer_state() -> dict[str, Any]:
    return {"stage": OptState.READY, "found_inf_per_device": {}}


_UNUSED = "This may indicate your script did not use scaler.scale(loss or outputs) earlier in the iteration."
_BAD_SCALE = ("new_scale should be a float or a 1-element torch.cuda.FloatTensor or torch.FloatTensor with "
              "requires_grad=False.")


class GradScaler:
    """Scale losses up and gradients back down, and skip steps with infinite or nan gradients. See torch.amp.GradScaler.

    ``step`` reads one flag from the device: whether a gradient is infinite or NaN. With an optimizer made with
    ``fused=True`` it reads none, since the optimizer's own step then changes nothing after an overflow.

    Args:
        device: the device type used for training.
        init_scale: the first scale.
        growth_factor: the factor of the scale after ``growth_interval`` steps without overflow.
        backoff_factor: the factor of the scale after an overflow.
        growth_interval: the number of steps without overflow before the scale grows.
        enabled: False makes ``step`` call the optimizer's step and the other methods do nothing.

    Raises:
        AssertionError: factors that do not grow and shrink.

    Example::

        >>> import jtorch as torch
        >>> x = torch.ones(2, requires_grad=True)
        >>> optimizer, scaler = torch.optim.SGD([x], lr=0.5), torch.amp.GradScaler("cpu")
        >>> scaler.scale(x.sum()).backward()
        >>> x.grad
        tensor([65536., 65536.])
        >>> scaler.step(optimizer)
        >>> scaler.update()
        >>> x
        tensor([0.5000, 0.5000], requires_grad=True)

    """

    def __init__(self, device: str = "cuda", init_scale: float = 2.0**16, growth_factor: float = 2.0, backoff_factor: float = 0.5,
                 growth_interval: int = 2000, enabled: bool = True):
        self._device, self._enabled = device, enabled
        if device == "cuda" and enabled and not cuda.is_available():
            warned.warn("torch.cuda.amp.GradScaler is enabled, but CUDA is not available.  Disabling.")
            self._enabled = False
        if not self._enabled:
            return
        if growth_factor <= 1.0:
            raise AssertionError("The growth factor must be > 1.0.")
        if backoff_factor >= 1.0:
            raise AssertionError("The backoff factor must be < 1.0.")
        self._init_scale, self._growth_factor, self._backoff_factor = init_scale, growth_factor, backoff_factor
        self._growth_interval, self._init_growth_tracker = growth_interval, 0
        self._scale: Any = None             # Both tensors are created on the device of the first scaled output.
        self._growth_tracker: Any = None
        self._per_optimizer_states: dict[int, dict[str, Any]] = defaultdict(_refresh_per_optimizer_state)

    # ------------------------------------------------------------ scaling

    def _started(self, name: str) -> tuple[Any, Any]:
        for what, value in (("_scale", self._scale), ("_growth_tracker", self._growth_tracker)):
            if value is None:
                raise AssertionError(f"Attempted {name} but {what} is None.  {_UNUSED}")
        return self._scale, self._growth_tracker

    def scale(self, outputs: Any) -> Any:
        """Multiply a tensor, or the tensors in containers, by the scale."""
        if not self._enabled:
            return outputs
        if isinstance(outputs, Tensor):
            if self._scale is None:
                self._scale = tensor(self._init_scale, dtype=dtypes.float32, device=outputs.device)
                self._growth_tracker = tensor(self._init_growth_tracker, dtype=dtypes.named("int32"), device=outputs.device)
            return outputs * self._scale.to(device=outputs.device)
        if isinstance(outputs, Iterable):
            made = map(self.scale, outputs)
            return type(outputs)(made) if isinstance(outputs, (list, tuple)) else made      # type: ignore[call-arg]
        raise ValueError("outputs must be a Tensor or an iterable of Tensors")

    def unscale_(self, optimizer: Optimizer) -> None:
        """Divide the gradients of an optimizer's parameters by the scale, for example before clipping."""
        if not self._enabled:
            return
        scale, _ = self._started("unscale_")
        state = self._per_optimizer_states[id(optimizer)]
        if state["stage"] is OptState.UNSCALED:
            raise RuntimeError("unscale_() has already been called on this optimizer since the last update().")
        if state["stage"] is OptState.STEPPED:
            raise RuntimeError("unscale_() is being called after step().")
        inverse = scale.double().reciprocal().float()
        found = tensor(0.0, dtype=dtypes.float32, device=scale.device)
        state["found_inf_per_device"] = self._unscale_grads_(optimizer, inverse, found, False)
        state["stage"] = OptState.UNSCALED

    def step(self, optimizer: Optimizer, *args: Any, **kwargs: Any) -> Any:
        """Step if all gradients are finite, and return the step's result. Gradients are unscaled first if necessary."""
        if not self._enabled:
            return optimizer.step(*args, **kwargs)
        if "closure" in kwargs:
            raise RuntimeError("Closure use is not currently supported if GradScaler is enabled.")
        self._started("step")
        state = self._per_optimizer_states[id(optimizer)]
        if state["stage"] is OptState.STEPPED:
            raise RuntimeError("step() has already been called since the last update().")
        if getattr(optimizer, "_step_supports_amp_scaling", False):
            return self._step_scaled(optimizer, state, args, kwargs)
        if state["stage"] is OptState.READY:
            self.unscale_(optimizer)
        if not state["found_inf_per_device"]:
            raise AssertionError("No inf checks were recorded for this optimizer.")
        made = self._maybe_opt_step(optimizer, state, *args, **kwargs)
        state["stage"] = OptState.STEPPED
        return made

    def _maybe_opt_step(self, optimizer: Optimizer, optimizer_state: dict[str, Any], *args: Any, **kwargs: Any) -> Any:
        found = sum(v.item() for v in optimizer_state["found_inf_per_device"].values())
        return None if found else optimizer.step(*args, **kwargs)

    def _step_scaled(self, optimizer: Any, state: dict[str, Any], args: tuple, kwargs: dict) -> Any:
        """Step an optimizer that handles ``grad_scale`` and ``found_inf`` itself."""
        if "grad_scaler" in inspect.signature(optimizer.step).parameters:
            warned.warn("GradScaler is going to stop passing itself as a keyword argument to the passed optimizer. In the near "
                        "future GradScaler registers `grad_scale: Tensor` and `found_inf: Tensor` to the passed optimizer and "
                        "let the optimizer use them directly.", FutureWarning)
            made = optimizer.step(*args, **kwargs, grad_scaler=self)
            state["stage"] = OptState.STEPPED
            return made
        if state["stage"] is OptState.READY:
            self._check_inf_per_device(optimizer)
            optimizer.grad_scale = self._scale * getattr(optimizer, "grad_scale", 1)
        else:
            optimizer.grad_scale = getattr(optimizer, "grad_scale", None)
        optimizer.found_inf = sum([f.to(self._scale.device) for f in state["found_inf_per_device"].values()])
        try:
            made = optimizer.step(*args, **kwargs)
        finally:
            del optimizer.grad_scale, optimizer.found_inf
        state["stage"] = OptState.STEPPED
        return made

    def update(self, new_scale: float | Tensor | None = None) -> None:
        """Finish the iteration: set the given scale, or adapt the scale to the overflows found."""
        if not self._enabled:
            return
        scale, tracker = self._started("update")
        if new_scale is not None:
            self._set_scale(new_scale)
        else:
            found = [f.to(device=scale.device) for s in self._per_optimizer_states.values()
                     for f in s["found_inf_per_device"].values()]
            if not found:
                raise AssertionError("No inf checks were recorded prior to update.")
            update_scale_(scale, tracker, found, self._growth_factor, self._backoff_factor, self._growth_interval)
        self._per_optimizer_states = defaultdict(_refresh_per_optimizer_state)

    def _set_scale(self, new_scale: Any) -> None:
        if isinstance(new_scale, float):
            self._scale.fill_(new_scale)
            return
        if new_scale.device.type != self._device or new_scale.numel() != 1 or new_scale.requires_grad:
            raise AssertionError(_BAD_SCALE)
        self._scale.copy_(new_scale)

    def _unscale_grads_(self, optimizer: Optimizer, inv_scale: Tensor, found_inf: Tensor, allow_fp16: bool) -> dict[Any, Tensor]:
        return _unscale(_gradients(optimizer, allow_fp16=allow_fp16), inv_scale)

    def _check_inf_per_device(self, optimizer: Optimizer) -> dict[Any, Tensor]:
        scale, _ = self._started("_check_inf_per_device")
        one = tensor(1.0, dtype=dtypes.float32, device=scale.device)
        found = _unscale(_gradients(optimizer, allow_fp16=True), one)
        self._per_optimizer_states[id(optimizer)]["found_inf_per_device"] = found
        return found

    def _found_inf_per_device(self, optimizer: Optimizer) -> dict[Any, Tensor]:
        return self._per_optimizer_states[id(optimizer)]["found_inf_per_device"]

    # ------------------------------------------------------------ options and state

    def _get_scale_async(self) -> Any:
        return self._scale

    def get_scale(self) -> float:
        """Return the scale as a number, or 1.0 if scaling is off."""
        if not self._enabled:
            return 1.0
        return self._init_scale if self._scale is None else self._scale.item()

    def _get_growth_tracker(self) -> int:
        if not self._enabled:
            return 0
        return self._init_growth_tracker if self._growth_tracker is None else self._growth_tracker.item()

    def get_growth_factor(self) -> float:
        """Return the factor by which the scale grows."""
        return self._growth_factor

    def set_growth_factor(self, new_factor: float) -> None:
        """Set the factor by which the scale grows."""
        self._growth_factor = new_factor

    def get_backoff_factor(self) -> float:
        """Return the factor by which the scale shrinks after an overflow."""
        return self._backoff_factor

    def set_backoff_factor(self, new_factor: float) -> None:
        """Set the factor by which the scale shrinks after an overflow."""
        self._backoff_factor = new_factor

    def get_growth_interval(self) -> int:
        """Return the number of steps without overflow before the scale grows."""
        return self._growth_interval

    def set_growth_interval(self, new_interval: int) -> None:
        """Set the number of steps without overflow before the scale grows."""
        self._growth_interval = new_interval

    def is_enabled(self) -> bool:
        """Return whether scaling is on."""
        return self._enabled

    def state_dict(self) -> dict[str, Any]:
        """Return the scale, the factors and the growth counter as numbers; an empty dict if scaling is off."""
        if not self._enabled:
            return {}
        return {"scale": self.get_scale(), "growth_factor": self._growth_factor, "backoff_factor": self._backoff_factor,
                "growth_interval": self._growth_interval, "_growth_tracker": self._get_growth_tracker()}

    def load_state_dict(self, state_dict: dict[str, Any]) -> None:
        """Load the state that ``state_dict`` of another scaler returned."""
        if not self._enabled:
            return
        if not state_dict:
            raise RuntimeError("The source state dict is empty, possibly because it was saved from a disabled instance of "
                               "GradScaler.")
        self._init_scale, self._init_growth_tracker = state_dict["scale"], state_dict["_growth_tracker"]
        self._growth_factor, self._backoff_factor = state_dict["growth_factor"], state_dict["backoff_factor"]
        self._growth_interval = state_dict["growth_interval"]
        if self._scale is not None:
            self._scale.fill_(self._init_scale)
            self._growth_tracker.fill_(self._init_growth_tracker)

    def __getstate__(self) -> dict[str, Any]:
        state = dict(self.__dict__)
        if self._enabled:
            if self._per_optimizer_states:
                raise AssertionError("A GradScaler instance may only be pickled at the beginning of an iteration, or at the end "
                                     "after scaler.update().")
            state.update(_init_scale=self.get_scale(), _init_growth_tracker=self._get_growth_tracker(), _scale=None,
                         _growth_tracker=None)
        return state


def _gradients(optimizer: Optimizer, *, allow_fp16: bool) -> dict[Any, list[Tensor]]:
    """Return the gradients of an optimizer's parameters, by device."""
    found: dict[Any, list[Tensor]] = defaultdict(list)
    for p in (p for group in optimizer.param_groups for p in group["params"]):
        if p.grad is None:
            continue
        if not allow_fp16 and p.grad.dtype is dtypes.float16:
            raise ValueError("Attempting to unscale FP16 gradients.")
        found[p.grad.device].append(p.grad)
    return found


def _unscale(by_device: dict[Any, list[Tensor]], inverse: Any) -> dict[Any, Tensor]:
    """Multiply gradients in place, and return for each device a tensor that is 1 if a gradient was not finite."""
    found_inf = {}
    for device, grads in by_device.items():
        found = found_inf[device] = tensor(0.0, dtype=dtypes.float32, device=device)
        unscale_(grads, found, inverse)
    return found_inf
