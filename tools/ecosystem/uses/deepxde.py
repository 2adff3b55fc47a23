"""deepxde: networks that solve differential equations."""

import os

import numpy as np

os.environ["DDE_BACKEND"] = "pytorch"
import deepxde as dde
import torch


def poisson():
    def equation(x, y):
        return -dde.grad.hessian(y, x) - np.pi ** 2 * torch.sin(np.pi * x)
    geometry = dde.geometry.Interval(0, 1)
    edge = dde.icbc.DirichletBC(geometry, lambda x: 0 * x, lambda _, on: on)
    data = dde.data.PDE(geometry, equation, edge, 16, 2, num_test=20, train_distribution="uniform")
    model = dde.Model(data, dde.nn.FNN([1, 20, 20, 1], "tanh", "Glorot uniform"))
    model.compile("adam", lr=0.001)
    losses, _ = model.train(iterations=20, display_every=10, verbose=0)
    return np.array(losses.loss_train), model.predict(np.linspace(0, 1, 5)[:, None])


def function():
    data = dde.data.Function(dde.geometry.Interval(-1, 1), lambda x: x * np.sin(5 * x), 16, 10)
    model = dde.Model(data, dde.nn.FNN([1, 10, 1], "tanh", "Glorot uniform"))
    model.compile("L-BFGS")
    dde.optimizers.set_LBFGS_options(maxiter=20)
    losses, _ = model.train(verbose=0)
    return np.array(losses.loss_train[0])


def operator():
    x = np.random.rand(20, 4).astype("float32"), np.random.rand(6, 1).astype("float32")
    y = np.random.rand(20, 6).astype("float32")
    data = dde.data.TripleCartesianProd(X_train=x, y_train=y, X_test=x, y_test=y)
    net = dde.nn.DeepONetCartesianProd([4, 10, 10], [1, 10, 10], "relu", "Glorot normal")
    model = dde.Model(data, net)
    model.compile("adam", lr=0.001, metrics=["mean l2 relative error"])
    losses, _ = model.train(iterations=10, verbose=0)
    return np.array(losses.loss_train), np.array(losses.metrics_test)


def heat():
    geometry = dde.geometry.GeometryXTime(dde.geometry.Interval(0, 1), dde.geometry.TimeDomain(0, 1))

    def equation(x, y):
        return dde.grad.jacobian(y, x, i=0, j=1) - 0.4 * dde.grad.hessian(y, x, i=0, j=0)
    edge = dde.icbc.DirichletBC(geometry, lambda x: 0, lambda _, on: on)
    start = dde.icbc.IC(geometry, lambda x: np.sin(np.pi * x[:, :1]), lambda _, on: on)
    data = dde.data.TimePDE(geometry, equation, [edge, start], num_domain=20, num_boundary=8, num_initial=8)
    model = dde.Model(data, dde.nn.PFNN([2, [8], [8], 1], "sin", "Glorot normal"))
    model.compile("adam", lr=1e-3, loss_weights=[1, 10, 10])
    losses, _ = model.train(iterations=10, verbose=0)
    return np.array(losses.loss_train)
