"""foolbox: attacks on a classifier in PyTorch."""

import foolbox
import torch


def _model():
    net = torch.nn.Sequential(torch.nn.Flatten(), torch.nn.Linear(192, 16), torch.nn.ReLU(), torch.nn.Linear(16, 4)).eval()
    model = foolbox.PyTorchModel(net, bounds=(0, 1), device="cpu")
    x = torch.rand(4, 3, 8, 8)
    return model, x, net(x).argmax(1)


def _attacked(attack, epsilons=0.05):
    model, x, y = _model()
    _raw, clipped, success = attack(model, x, y, epsilons=epsilons)
    return clipped, success


def gradients():
    return _attacked(foolbox.attacks.FGSM()), _attacked(foolbox.attacks.L2FastGradientAttack(), 1.0)


def projected():
    return _attacked(foolbox.attacks.LinfPGD(steps=4)), _attacked(foolbox.attacks.L2PGD(steps=4), [0.1, 0.5])


def smallest():
    return _attacked(foolbox.attacks.L2DeepFoolAttack(steps=5), None), _attacked(foolbox.attacks.DDNAttack(steps=5), None)


def noise():
    return _attacked(foolbox.attacks.L2AdditiveGaussianNoiseAttack(), 2.0)


def accuracy():
    model, x, y = _model()
    return foolbox.accuracy(model, x, y)
