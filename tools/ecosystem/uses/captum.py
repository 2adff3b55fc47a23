"""captum: attributions of a classifier's outputs."""

import torch
from captum import attr


def _model():
    torch.manual_seed(0)
    model = torch.nn.Sequential(
        torch.nn.Linear(6, 8), torch.nn.ReLU(), torch.nn.Linear(8, 3), torch.nn.Softmax(1)
    ).eval()
    return model, torch.randn(4, 6)


def gradients():
    model, x = _model()
    integrated, delta = attr.IntegratedGradients(model).attribute(x, target=1, return_convergence_delta=True)
    return (
        integrated,
        delta,
        attr.Saliency(model).attribute(x, target=1),
        attr.InputXGradient(model).attribute(x, target=1),
        attr.GuidedBackprop(model).attribute(x, target=0),
        attr.Deconvolution(model).attribute(x, target=0),
    )


def deep_lift():
    model, x = _model()
    return attr.DeepLift(model).attribute(x, torch.zeros_like(x), target=1), attr.DeepLiftShap(model).attribute(
        x, torch.randn(3, 6), target=1
    )


def perturbation():
    model, x = _model()
    return (
        attr.FeatureAblation(model).attribute(x, target=1),
        attr.Occlusion(model).attribute(x, (2,), target=1),
        attr.ShapleyValueSampling(model).attribute(x, target=1, n_samples=3),
        attr.FeaturePermutation(model).attribute(x, target=1),
    )


def layers():
    model, x = _model()
    return (
        attr.LayerConductance(model, model[0]).attribute(x, target=1),
        attr.LayerActivation(model, model[1]).attribute(x),
        attr.LayerIntegratedGradients(model, model[0]).attribute(x, target=1),
        attr.NeuronConductance(model, model[0]).attribute(x, 2, target=1),
    )


def grad_cam():
    torch.manual_seed(0)
    model = torch.nn.Sequential(
        torch.nn.Conv2d(1, 4, 3), torch.nn.ReLU(), torch.nn.Flatten(), torch.nn.Linear(144, 3)
    ).eval()
    return attr.LayerGradCam(model, model[0]).attribute(torch.randn(2, 1, 8, 8), target=1)


def sampling():
    model, x = _model()
    return (
        attr.GradientShap(model).attribute(x, torch.zeros(2, 6), target=1, n_samples=4),
        attr.NoiseTunnel(attr.Saliency(model)).attribute(x, target=1, nt_samples=3),
        attr.KernelShap(model).attribute(x[:1], target=1, n_samples=20),
    )
