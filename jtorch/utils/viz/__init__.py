"""Graphs and tables of models.

``graph(loss)`` draws the autograd graph that ``backward`` walks. ``summary(model, input_size=...)`` lists a model's layers
with the shapes of their outputs and their parameters. PyTorch has neither; the calls follow torchviz and torchinfo.
"""
from __future__ import annotations

from jtorch.utils.viz.graph import Graph as Graph
from jtorch.utils.viz.graph import graph as graph
from jtorch.utils.viz.summary import ModelSummary as ModelSummary
from jtorch.utils.viz.summary import summary as summary

__all__ = ["Graph", "ModelSummary", "graph", "summary"]
