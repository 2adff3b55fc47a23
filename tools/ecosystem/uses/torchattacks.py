"""torchattacks: images that mislead a classifier."""

import torch
import torchattacks


def _model():
    model = torch.nn.Sequential(
        torch.nn.Conv2d(3, 6, 3, stride=2), torch.nn.ReLU(), torch.nn.Flatten(), torch.nn.Linear(6 * 49, 4)
    ).eval()
    return model, torch.rand(3, 3, 16, 16), torch.tensor([0, 1, 3])


def _attacked(make):
    model, x, y = _model()
    return make(model)(x, y)


def gradients():
    return [_attacked(a) for a in (torchattacks.FGSM, torchattacks.BIM, torchattacks.FFGSM)]


def projected():
    return _attacked(lambda m: torchattacks.PGD(m, steps=4)), _attacked(lambda m: torchattacks.PGDL2(m, steps=4))


def momentum():
    return _attacked(lambda m: torchattacks.MIFGSM(m, steps=4)), _attacked(lambda m: torchattacks.NIFGSM(m, steps=3))


def by_optimization():
    return _attacked(lambda m: torchattacks.CW(m, steps=5)), _attacked(lambda m: torchattacks.DeepFool(m, steps=3))


def targeted():
    def make(model):
        attack = torchattacks.PGD(model, steps=3)
        attack.set_mode_targeted_by_label(quiet=True)
        return attack

    return _attacked(make)
