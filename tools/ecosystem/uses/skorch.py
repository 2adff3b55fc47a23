"""skorch: modules as scikit-learn's estimators."""

import numpy as np
import torch
from sklearn.datasets import make_classification
from sklearn.model_selection import cross_val_score
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from skorch import NeuralNetClassifier, NeuralNetRegressor
from skorch.callbacks import EarlyStopping, EpochScoring, LRScheduler


class _Net(torch.nn.Module):
    def __init__(self, hidden=10, out=2):
        super().__init__()
        self.layers = torch.nn.Sequential(
            torch.nn.Linear(20, hidden), torch.nn.ReLU(), torch.nn.Dropout(0.2), torch.nn.Linear(hidden, out)
        )

    def forward(self, x):
        return self.layers(x)


def _data():
    x, y = make_classification(120, 20, n_informative=10, random_state=0)
    return x.astype(np.float32), y.astype(np.int64)


def classifier():
    x, y = _data()
    net = NeuralNetClassifier(
        _Net,
        max_epochs=3,
        lr=0.1,
        criterion=torch.nn.CrossEntropyLoss,
        iterator_train__shuffle=True,
        verbose=0,
        callbacks=[
            EpochScoring("roc_auc", lower_is_better=False),
            LRScheduler("StepLR", step_size=2),
            EarlyStopping(patience=5),
        ],
    )
    net.fit(x, y)
    return net.predict_proba(x), net.history[:, "train_loss"], net.history[:, "valid_acc"]


def save_and_load():
    x, y = _data()
    net = NeuralNetRegressor(_Net, module__out=1, max_epochs=2, lr=0.01, verbose=0).fit(
        x, y.astype(np.float32)[:, None]
    )
    net.save_params(f_params="p.pt", f_optimizer="o.pt", f_history="h.json")
    other = NeuralNetRegressor(_Net, module__out=1).initialize()
    other.load_params(f_params="p.pt", f_optimizer="o.pt", f_history="h.json")
    return net.predict(x), other.predict(x), other.history[:, "train_loss"]


def pipelines():
    x, y = _data()
    net = NeuralNetClassifier(
        _Net, max_epochs=2, lr=0.1, criterion=torch.nn.CrossEntropyLoss, verbose=0, train_split=None
    )
    return cross_val_score(make_pipeline(StandardScaler(), net), x, y, cv=3)
