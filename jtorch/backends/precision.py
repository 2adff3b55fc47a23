"""PyTorch's settings for the precision of float32 products on an accelerator (``_base/float32_products.py``)."""
from __future__ import annotations

from collections.abc import Callable

from jtorch import engine
from jtorch._base import float32_products, warned
from jtorch._base.accelerated import is_accelerated
from jtorch._base.float32_products import OF_MATMUL, PRECISIONS, get


def get_float32_matmul_precision() -> str:
    """Return the precision of float32 matrix products. See torch.get_float32_matmul_precision."""
    return float32_products.matmul_precision()


def set_float32_matmul_precision(precision: str) -> None:
    """Set the precision of float32 matrix products: highest, high or medium.

    See torch.set_float32_matmul_precision.
    """
    if precision not in OF_MATMUL:
        warned.warn(f"{precision} is not one of 'highest', 'high', or 'medium'; the current"
                    "setFloat32MatmulPrecision call has no effect.")
        return
    _change(lambda: float32_products.choose_matmul(precision))


def choose(what: str, precision: str) -> None:
    """Set the precision for a kind of op."""
    if precision not in PRECISIONS:
        raise RuntimeError(f"Unknown precision: {precision}")
    _change(lambda: float32_products.choose(what, precision))


def allows_tf32_of_cudnn() -> bool:
    """Return whether convolutions may use TF32. See torch.backends.cudnn.allow_tf32."""
    return float32_products.are_quick("conv")


def allow_tf32_of_cudnn(allowed: bool) -> None:
    """Allow or forbid TF32 in convolutions and recurrent layers."""
    for what in ("conv", "rnn"):
        choose(what, "tf32" if allowed else "none")


def _change(make: Callable[[], None]) -> None:
    """Call ``make``, which changes a precision. On an accelerator drop compiled programs if they depend on the change."""
    if not is_accelerated():
        make()
        return
    engine.end(natural=False)       # Earlier calls are computed with the old precision.
    kinds = "matmul", "conv"
    before = [float32_products.are_quick(kind) for kind in kinds]
    make()
    if [float32_products.are_quick(kind) for kind in kinds] != before:
        engine.forget()


__all__ = ["allow_tf32_of_cudnn", "allows_tf32_of_cudnn", "choose", "get", "get_float32_matmul_precision",
           "set_float32_matmul_precision"]
