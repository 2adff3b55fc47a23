"""Pictures and tables of what a program has built.

``graph(loss)`` draws the tape that ``backward`` would walk; ``summary(model, input_size=...)`` lists a model's layers with the
shapes of their outputs and their parameters. PyTorch has neither; people use torchviz and torchinfo, whose calls these follow.
"""
from __future__ import annotations

from jtorch.utils.viz.graph import Graph as Graph
from jtorch.utils.viz.graph import graph as graph
from jtorch.utils.viz.summary import ModelSummary as ModelSummary
from jtorch.utils.viz.summary import summary as summary

__all__ = ["Graph", "ModelSummary", "graph", "summary"]
