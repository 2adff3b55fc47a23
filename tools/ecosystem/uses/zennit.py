"""zennit: relevances that are handed back through a network."""

import torch
from zennit.attribution import Gradient, IntegratedGradients, SmoothGrad
from zennit.canonizers import SequentialMergeBatchNorm
from zennit.composites import EpsilonGammaBox, EpsilonPlusFlat, GuidedBackprop


def _model():
    model = torch.nn.Sequential(
        torch.nn.Conv2d(3, 6, 3), torch.nn.BatchNorm2d(6), torch.nn.ReLU(), torch.nn.MaxPool2d(2), torch.nn.Flatten(),
        torch.nn.Linear(6 * 49, 10), torch.nn.ReLU(), torch.nn.Linear(10, 4),
    ).eval()  # fmt: skip
    return model, torch.randn(2, 3, 16, 16), torch.eye(4)[[1, 3]]


def _relevance(composite, kind=Gradient, **options):
    model, x, target = _model()
    with kind(model, composite, **options) as attributor:
        return attributor(x, target)


def epsilon_plus():
    return _relevance(EpsilonPlusFlat(canonizers=[SequentialMergeBatchNorm()]))


def epsilon_gamma():
    return _relevance(EpsilonGammaBox(low=-3.0, high=3.0))


def guided():
    return _relevance(GuidedBackprop())


def smoothed():
    return _relevance(None, SmoothGrad, n_iter=4), _relevance(None, IntegratedGradients, n_iter=4)
