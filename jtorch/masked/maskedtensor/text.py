"""The text of masked tensors: "--" stands for elements that are not valid."""
from __future__ import annotations

from typing import Any

from jtorch.tensor import Tensor

_HIDDEN, _WIDTH = "--", 8


def text_of(data: Tensor, mask: Tensor) -> str:
    """Return the text of strided data with a mask."""
    if data.dim() == 0:
        return f"MaskedTensor({_element(data.item()) if mask.item() else _HIDDEN}, {mask.item()})"
    return f"MaskedTensor(\n{_indented(_rows(data.tolist(), mask.tolist(), data.dim()))}\n)"


def _element(value: Any) -> str:
    return f"{value:8.4f}" if isinstance(value, float) else str(value)


def _rows(data: list, mask: list, dims: int) -> str:
    if dims > 1:
        return "[\n" + ",\n".join([_indented(_rows(d, m, dims - 1)) for d, m in zip(data, mask, strict=True)]) + "\n]"
    texts = [_element(d) for d in data]
    width = max([len(t) if m else _WIDTH for t, m in zip(texts, mask, strict=True)], default=0)
    return "[" + ", ".join([t if m else _HIDDEN.rjust(width) for t, m in zip(texts, mask, strict=True)]) + "]"


def _indented(text: str) -> str:
    return "\n".join([f"  {line}" for line in text.split("\n")])
