"""torch.cuda.graphs: CUDA graphs, which jtorch does not build. XLA launches a compiled program as a whole."""
from __future__ import annotations

from typing import Any, NoReturn

_INSTEAD = "is not built: what repeats is compiled, and its kernels are launched together, without being asked."


class CUDAGraph:
    """A graph of captured kernels. Not built. See torch.cuda.CUDAGraph."""

    def __new__(cls, *args: Any, **kwargs: Any) -> NoReturn:
        """Raise NotImplementedError."""
        raise NotImplementedError(f"torch.cuda.CUDAGraph {_INSTEAD}")


class graph:  # noqa: N801
    """A context that captures kernels. Not built. See torch.cuda.graph."""

    def __init__(self, *args: Any, **kwargs: Any):
        raise NotImplementedError(f"torch.cuda.graph {_INSTEAD}")


def make_graphed_callables(*args: Any, **kwargs: Any) -> NoReturn:
    """Raise NotImplementedError. See torch.cuda.make_graphed_callables."""
    raise NotImplementedError(f"torch.cuda.make_graphed_callables {_INSTEAD}")


def graph_pool_handle() -> NoReturn:
    """Raise NotImplementedError. See torch.cuda.graph_pool_handle."""
    raise NotImplementedError(f"torch.cuda.graph_pool_handle {_INSTEAD}")


def is_current_stream_capturing() -> bool:
    """Return False: nothing is captured. See torch.cuda.is_current_stream_capturing."""
    return False
