"""torchensemble: ensembles of networks."""

import torch
from torch.utils.data import DataLoader, TensorDataset
from torchensemble import (
    BaggingClassifier,
    FusionClassifier,
    VotingRegressor,
)


class _Net(torch.nn.Module):
    def __init__(self, out=3):
        super().__init__()
        self.layers = torch.nn.Sequential(torch.nn.Linear(4, 8), torch.nn.ReLU(), torch.nn.Linear(8, out))

    def forward(self, x):
        return self.layers(x)


def _loader(classify):
    x = torch.randn(32, 4)
    y = torch.randint(0, 3, (32,)) if classify else x.sum(1, keepdim=True)
    return DataLoader(TensorDataset(x, y), batch_size=16), x


def _fitted(kind, classify, **options):
    loader, x = _loader(classify)
    model = kind(_Net, n_estimators=3, cuda=False, estimator_args={"out": 3 if classify else 1}, n_jobs=1, **options)
    model.set_optimizer("Adam", lr=0.01)
    model.fit(loader, epochs=3, log_interval=100, save_model=False)
    return model.predict(x[:5])


def fusion():
    return _fitted(FusionClassifier, True)


def voting():
    return _fitted(VotingRegressor, False)


def bagging():
    return _fitted(BaggingClassifier, True)
