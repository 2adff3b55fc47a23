"""torch.amp: mixed precision."""
from jtorch.amp import deprecated as deprecated
from jtorch.amp import scaling as scaling
from jtorch.amp.autocast_mode import _enter_autocast as _enter_autocast
from jtorch.amp.autocast_mode import _exit_autocast as _exit_autocast
from jtorch.amp.autocast_mode import autocast, custom_bwd, custom_fwd, is_autocast_available
from jtorch.amp.grad_scaler import GradScaler

__all__ = ["GradScaler", "autocast", "custom_bwd", "custom_fwd", "is_autocast_available"]
