"""torchcde: controlled differential equations driven by interpolated data."""

import torch
import torchcde


def interpolation():
    x = torch.rand(2, 7, 3)
    x[0, 2, 1] = float("nan")
    cubic = torchcde.CubicSpline(torchcde.hermite_cubic_coefficients_with_backward_differences(x))
    natural = torchcde.CubicSpline(torchcde.natural_cubic_coeffs(x))
    linear = torchcde.LinearInterpolation(torchcde.linear_interpolation_coeffs(x))
    t = torch.tensor([0.5, 2.25])
    return [(s.evaluate(t), s.derivative(t), s.interval) for s in (cubic, natural, linear)]


def solve():
    x = torch.rand(2, 7, 3)
    spline = torchcde.CubicSpline(torchcde.hermite_cubic_coefficients_with_backward_differences(x))
    net = torch.nn.Linear(4, 12)
    z = torchcde.cdeint(
        X=spline,
        func=lambda t, z: net(z).tanh().view(2, 4, 3),
        z0=torch.ones(2, 4),
        t=spline.interval,
        adjoint=False,
        method="rk4",
        options={"step_size": 0.5},
    )
    z.sum().backward()
    return z, net.weight.grad


def signatures():
    return torchcde.linear_interpolation_coeffs(torch.rand(2, 5, 2), rectilinear=0)
