"""onnx2torch: ONNX's graphs as modules."""

import numpy as np
import onnx
import torch
from onnx import TensorProto, helper, numpy_helper
from onnx2torch import convert


def _weights(**arrays):
    return [numpy_helper.from_array(a.astype(np.float32), name) for name, a in arrays.items()]


def _model(nodes, shape, weights):
    graph = helper.make_graph(
        nodes,
        "g",
        [helper.make_tensor_value_info("x", TensorProto.FLOAT, shape)],
        [helper.make_tensor_value_info("y", TensorProto.FLOAT, None)],
        weights,
    )
    return helper.make_model(graph, opset_imports=[helper.make_opsetid("", 13)], ir_version=8)


def perceptron():
    weights = _weights(w=np.random.randn(4, 6), b=np.random.randn(6), v=np.random.randn(6, 2))
    nodes = [
        helper.make_node("Gemm", ["x", "w", "b"], ["h"]),
        helper.make_node("Relu", ["h"], ["r"]),
        helper.make_node("MatMul", ["r", "v"], ["z"]),
        helper.make_node("Softmax", ["z"], ["y"], axis=1),
    ]
    model = convert(_model(nodes, [3, 4], weights))
    return model(torch.randn(3, 4)), [type(m).__name__ for m in model.modules()]


def convolutional():
    weights = _weights(
        w=np.random.randn(4, 2, 3, 3),
        scale=np.random.rand(4),
        bias=np.random.randn(4),
        mean=np.random.randn(4),
        var=np.random.rand(4),
    )
    nodes = [
        helper.make_node("Conv", ["x", "w"], ["c"], kernel_shape=[3, 3], pads=[1, 1, 1, 1]),
        helper.make_node("BatchNormalization", ["c", "scale", "bias", "mean", "var"], ["n"]),
        helper.make_node("LeakyRelu", ["n"], ["k"], alpha=0.1),
        helper.make_node("MaxPool", ["k"], ["p"], kernel_shape=[2, 2], strides=[2, 2]),
        helper.make_node("GlobalAveragePool", ["p"], ["a"]),
        helper.make_node("Flatten", ["a"], ["y"]),
    ]
    model = convert(_model(nodes, [1, 2, 8, 8], weights)).eval()
    return model(torch.randn(1, 2, 8, 8)), str(model.graph)


def trained_on():
    weights = _weights(w=np.random.randn(4, 1))
    model = convert(_model([helper.make_node("MatMul", ["x", "w"], ["y"])], [8, 4], weights))
    optimizer = torch.optim.SGD([p.requires_grad_() for p in [*model.parameters(), *model.buffers()]], lr=0.1)
    losses = []
    for _ in range(3):
        loss = model(torch.randn(8, 4)).square().mean()
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        losses.append(loss.item())
    return losses, onnx.__name__
