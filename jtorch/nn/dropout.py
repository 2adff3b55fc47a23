"""Dropout."""
from __future__ import annotations

from typing import Any

from jtorch.nn import functional
from jtorch.nn.module import Module

F: Any = functional


class _Dropout(Module):
    function = ""

    def __init__(self, p: float = 0.5, inplace: bool = False):
        super().__init__()
        if p < 0 or p > 1:
            raise ValueError(f"dropout probability has to be between 0 and 1, but got {p}")
        self.p, self.inplace = p, inplace

    def forward(self, input):
        """The input, some of it dropped in training."""
        return getattr(F, self.function)(input, self.p, self.training, self.inplace)

    def extra_repr(self) -> str:
        """The probability."""
        return f"p={self.p}, inplace={self.inplace}"


def _dropout(name: str, function: str) -> type[_Dropout]:
    return type(name, (_Dropout,), {"function": function, "__doc__": f"See torch.nn.{name}.", "__module__": __name__})


Dropout = _dropout("Dropout", "dropout")
Dropout1d, Dropout2d, Dropout3d = (_dropout(f"Dropout{n}d", f"dropout{n}d") for n in (1, 2, 3))
AlphaDropout = _dropout("AlphaDropout", "alpha_dropout")
FeatureAlphaDropout = _dropout("FeatureAlphaDropout", "feature_alpha_dropout")

__all__ = [
    "AlphaDropout", "Dropout", "Dropout1d", "Dropout2d", "Dropout3d", "FeatureAlphaDropout",
]
