"""torch._inductor: options of PyTorch's code generator, which is absent; XLA generates code."""
from __future__ import annotations

from typing import Any

from jtorch._base.not_built import placeholder
from jtorch._inductor import config as config
from jtorch.compiler import cudagraph_mark_step_begin as cudagraph_mark_step_begin

_MODES: dict[str, dict[str, bool]] = {
    "default": {}, "reduce-overhead": {"triton.cudagraphs": True},
    "max-autotune-no-cudagraphs": {"max_autotune": True, "coordinate_descent_tuning": True},
    "max-autotune": {"max_autotune": True, "triton.cudagraphs": True, "coordinate_descent_tuning": True}}


def list_mode_options(mode: str | None = None, dynamic: bool | None = None) -> dict[str, Any]:
    """Return the options that each mode of ``torch.compile`` sets in PyTorch. See torch._inductor.list_mode_options."""
    try:
        return dict(_MODES[mode]) if mode else {name: dict(options) for name, options in _MODES.items()}
    except KeyError:
        raise RuntimeError(f"Unrecognized mode={mode}, should be one of: {', '.join(_MODES)}") from None


def list_options() -> list[str]:
    """Return the names of the options. See torch._inductor.list_options."""
    return sorted(config.to_dict())     # type: ignore[attr-defined]


compile, aoti_compile_and_package, aoti_load_package, aot_compile = (
    placeholder("_inductor", name) for name in ("compile", "aoti_compile_and_package", "aoti_load_package", "aot_compile"))
