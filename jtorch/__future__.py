"""torch.__future__: how modules change their parameters when they are converted or loaded."""
from __future__ import annotations

_overwrite_module_params_on_conversion = False
_swap_module_params_on_conversion = False


def set_overwrite_module_params_on_conversion(value: bool) -> None:
    """Set whether conversions give modules new parameters instead of changing the existing ones."""
    global _overwrite_module_params_on_conversion
    _overwrite_module_params_on_conversion = value


def get_overwrite_module_params_on_conversion() -> bool:
    """Return whether conversions give modules new parameters."""
    return _overwrite_module_params_on_conversion


def set_swap_module_params_on_conversion(value: bool) -> None:
    """Set whether conversions and ``load_state_dict`` use torch.utils.swap_tensors. This takes precedence over
    overwriting.
    """
    global _swap_module_params_on_conversion
    _swap_module_params_on_conversion = value


def get_swap_module_params_on_conversion() -> bool:
    """Return whether conversions and ``load_state_dict`` swap tensors."""
    return _swap_module_params_on_conversion
