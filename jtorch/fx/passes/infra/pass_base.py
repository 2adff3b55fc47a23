"""The base class of passes over a module's graphs. See torch.fx.passes.infra.pass_base."""
from __future__ import annotations

import abc
from typing import Any, NamedTuple


class PassResult(NamedTuple):
    """A pass's module, and whether the pass changed it. See torch.fx.passes.infra.pass_base.PassResult."""

    graph_module: Any
    modified: bool


class PassBase(abc.ABC):
    """A pass: subclasses define ``call``, and may define ``requires`` and ``ensures``, which check its input and result."""

    def __call__(self, graph_module: Any) -> PassResult | None:
        """Run the pass and its checks."""
        self.requires(graph_module)
        made = self.call(graph_module)
        self.ensures(graph_module)
        return made

    @abc.abstractmethod
    def call(self, graph_module: Any) -> PassResult | None:
        """Transform the module."""

    def requires(self, graph_module: Any) -> None:      # noqa: B027  (subclasses need not override this)
        """Raise if the module is not as the pass needs it."""

    def ensures(self, graph_module: Any) -> None:       # noqa: B027
        """Raise if the module is not as the pass should leave it."""
