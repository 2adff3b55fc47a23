"""torch.fx: graphs of modules, which are traced with proxies, transformed, and written back as Python."""
from __future__ import annotations

from jtorch.fx import immutable_collections, traceback
from jtorch.fx._symbolic_trace import PH, ProxyableClassMeta, Tracer, symbolic_trace, wrap
from jtorch.fx.graph import CodeGen, Graph
from jtorch.fx.graph_module import GraphModule
from jtorch.fx.interpreter import Interpreter, Transformer
from jtorch.fx.node import Node, has_side_effect, map_arg
from jtorch.fx.proxy import Proxy
from jtorch.fx.subgraph_rewriter import replace_pattern

__all__ = ["PH", "CodeGen", "Graph", "GraphModule", "Interpreter", "Node", "Proxy", "ProxyableClassMeta", "Tracer", "Transformer",
           "has_side_effect", "immutable_collections", "map_arg", "replace_pattern", "symbolic_trace", "traceback", "wrap"]
