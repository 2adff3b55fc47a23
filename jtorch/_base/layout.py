"""torch.layout."""
from __future__ import annotations


class layout:
    """How elements are laid out: only ``torch.strided`` exists here."""

    def __init__(self, name: str):
        self.name = name

    def __repr__(self):
        return f"torch.{self.name}"


strided = layout("strided")
