"""pykan: networks with learned splines on their edges."""

import torch
from kan import KAN
from kan.utils import create_dataset


def _data():
    return create_dataset(lambda x: torch.exp(torch.sin(torch.pi * x[:, [0]]) + x[:, [1]] ** 2), n_var=2, train_num=60,
                          test_num=20)


def fit():
    model = KAN(width=[2, 3, 1], grid=3, k=3, seed=1, auto_save=False)
    return model.fit(_data(), opt="LBFGS", steps=3, lamb=0.001)["train_loss"]


def adam():
    model = KAN(width=[2, 2, 1], grid=3, k=2, seed=1, auto_save=False)
    data = _data()
    return model.fit(data, opt="Adam", steps=5, lr=0.01)["test_loss"], model(data["test_input"])


def refine():
    model = KAN(width=[2, 2, 1], grid=3, k=3, seed=1, auto_save=False)
    data = _data()
    model(data["train_input"])
    model = model.refine(6)
    return model(data["test_input"])
