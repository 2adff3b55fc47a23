"""A pass over the graphs of a module. See torch.fx.passes.infra.pass_base."""
from __future__ import annotations

import abc
from typing import Any, NamedTuple


class PassResult(NamedTuple):
    """A pass's module, and whether it was changed. See torch.fx.passes.infra.pass_base.PassResult."""

    graph_module: Any
    modified: bool


class PassBase(abc.ABC):
    """A pass: ``call`` is written by the class, ``requires`` and ``ensures`` check what it is given and what it makes."""

    def __call__(self, graph_module: Any) -> PassResult | None:
        """Return the pass, with its checks."""
        self.requires(graph_module)
        made = self.call(graph_module)
        self.ensures(graph_module)
        return made

    @abc.abstractmethod
    def call(self, graph_module: Any) -> PassResult | None:
        """Change the module."""

    def requires(self, graph_module: Any) -> None:      # noqa: B027  (need not be written)
        """Raise where the module is not as the pass needs it."""

    def ensures(self, graph_module: Any) -> None:       # noqa: B027
        """Raise where the module is not as the pass should leave it."""
