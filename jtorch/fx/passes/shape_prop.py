"""Shape propagation: run a graph and record the kind of tensor that each node returns. See torch.fx.passes.shape_prop."""
from __future__ import annotations

from typing import Any, NamedTuple

from jtorch.fx.interpreter import Interpreter
from jtorch.fx.node import Node, map_aggregate
from jtorch.tensor import Tensor

__all__ = ["ShapeProp", "TensorMetadata"]


class TensorMetadata(NamedTuple):
    """The properties of a tensor without its values. See torch.fx.passes.shape_prop.TensorMetadata."""

    shape: Any
    dtype: Any
    requires_grad: bool
    stride: tuple[int, ...]
    memory_format: Any
    is_quantized: bool
    qparams: dict[str, Any]


def _extract_tensor_metadata(result: Tensor, include_contiguity: bool = True) -> TensorMetadata:
    """Return the properties of a tensor."""
    from jtorch._api.typed_tensors import MemoryFormat
    formats = [MemoryFormat(n) for n in ("contiguous_format", "channels_last", "channels_last_3d")]
    fits = [f for f in formats if f.name == "contiguous_format" or result.dim() == (4 if f.name == "channels_last" else 5)]
    found = next((f for f in fits if include_contiguity and result.is_contiguous(memory_format=f)), None)     # type: ignore[attr-defined]
    return TensorMetadata(result.shape, result.dtype, result.requires_grad, result.stride(), found, False, {})


class ShapeProp(Interpreter):
    """Records each node's ``meta["tensor_meta"]`` and ``meta["type"]``. See torch.fx.passes.shape_prop.ShapeProp.

    >>> m = torch.fx.symbolic_trace(lambda x: x.relu())
    >>> torch.fx.passes.shape_prop.ShapeProp(m).propagate(torch.ones(2, 3)).shape
    torch.Size([2, 3])
    >>> [n.meta["tensor_meta"].shape for n in m.graph.nodes][0]
    torch.Size([2, 3])

    """

    def run_node(self, n: Node) -> Any:
        """Run a node and record its result."""
        result = super().run_node(n)
        found = []

        def noted(obj: Any) -> Any:
            if isinstance(obj, Tensor):
                found.append(obj)
                return _extract_tensor_metadata(obj)
            return obj
        meta = map_aggregate(result, noted)
        if found:
            n.meta["tensor_meta"] = meta
        n.meta["type"] = type(result)
        return result

    def propagate(self, *args: Any) -> Any:
        """Run the graph on these inputs."""
        return super().run(*args)
