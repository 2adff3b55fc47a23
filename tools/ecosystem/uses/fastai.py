"""fastai: the learner on tables, images and plain tensors, with its callbacks, schedules and metrics."""

import numpy as np
import pandas as pd
import torch
from fastai.basics import (
    CrossEntropyLossFlat,
    DataLoader,
    DataLoaders,
    Learner,
    MSELossFlat,
    accuracy,
    default_device,
    params,
)
from fastai.callback.all import GradientAccumulation, GradientClip, MixUp, SaveModelCallback
from fastai.learner import Callback
from fastai.metrics import F1Score, RocAucBinary
from fastai.optimizer import SGD, Adam, Lamb, Lookahead, RAdam, ranger
from fastai.tabular.all import (
    Categorify,
    CategoryBlock,
    FillMissing,
    Normalize,
    TabularDataLoaders,
    tabular_learner,
)


class _Losses(Callback):
    def before_fit(self):
        self.seen = []

    def after_batch(self):
        self.seen.append((self.training, self.loss.item()))


def _loaders():
    default_device(False)
    x = torch.randn(48, 4)
    y = (x[:, 0] > 0).long()
    rows = list(zip(x, y, strict=True))
    return DataLoaders(DataLoader(rows[:32], bs=8, shuffle=False), DataLoader(rows[32:], bs=8))


def _learner(**options):
    model = torch.nn.Sequential(torch.nn.Linear(4, 16), torch.nn.ReLU(), torch.nn.Linear(16, 2))
    losses = _Losses()
    learner = Learner(_loaders(), model, CrossEntropyLossFlat(), metrics=accuracy, cbs=[losses], **options)
    return learner, losses


def _fitted(learner, fit):
    with learner.no_bar(), learner.no_logging():
        fit(learner)
    return [list(row) for row in learner.recorder.values]


def fit():
    learner, losses = _learner()
    values = _fitted(learner, lambda one: one.fit(2, 0.01))
    return values, losses.seen, learner.model.state_dict()


def one_cycle():
    learner, _ = _learner(opt_func=RAdam)
    values = _fitted(learner, lambda one: one.fit_one_cycle(3, 0.01))
    return values, learner.recorder.hps


def optimizers():
    found = {}
    for name, make in {"sgd": SGD, "adam": Adam, "lamb": Lamb, "ranger": ranger}.items():
        torch.manual_seed(0)
        learner, losses = _learner(opt_func=make, lr=0.01)
        _fitted(learner, lambda one: one.fit(1))
        found[name] = losses.seen
    model = torch.nn.Linear(2, 1)
    optimizer = Lookahead(SGD(params(model), lr=0.1))
    model(torch.ones(3, 2)).sum().backward()
    optimizer.step()
    return found, model.state_dict()


def callbacks():
    learner, losses = _learner()
    learner.add_cbs([GradientAccumulation(16), GradientClip(0.5), MixUp(0.4), SaveModelCallback(monitor="accuracy")])
    return _fitted(learner, lambda one: one.fit(2, 0.01)), losses.seen


def predictions():
    learner, _ = _learner()
    _fitted(learner, lambda one: one.fit(1, 0.01))
    predicted, targets = learner.get_preds(ds_idx=1)
    with learner.no_bar():
        validated = learner.validate()
    return predicted, targets, list(validated)


def freezing():
    learner, losses = _learner(splitter=lambda model: [params(model[0]), params(model[2])])
    learner.freeze()
    _fitted(learner, lambda one: one.fit(1, 0.01))
    learner.unfreeze()
    return _fitted(learner, lambda one: one.fit(1, slice(1e-4, 1e-2))), learner.opt.hypers, losses.seen


def saved():
    learner, _ = _learner()
    _fitted(learner, lambda one: one.fit(1, 0.01))
    learner.save("one")
    other, _ = _learner()
    other.load("one")
    return other.model.state_dict(), other.opt.state_dict()


def tables():
    default_device(False)
    data = pd.DataFrame({
        "size": np.random.randn(60), "kind": np.random.choice(["a", "b", "c"], 60), "age": np.random.rand(60) * 50,
    })  # fmt: skip
    data.loc[::7, "age"] = np.nan
    data["label"] = np.where(data["size"] > 0, "big", "small")
    loaders = TabularDataLoaders.from_df(
        data, y_names="label", cat_names=["kind"], cont_names=["size", "age"], procs=[Categorify, FillMissing, Normalize],
        y_block=CategoryBlock(), valid_idx=list(range(45, 60)), bs=15,
    )  # fmt: skip
    learner = tabular_learner(loaders, layers=[16, 8], metrics=[accuracy, F1Score(), RocAucBinary()])
    values = _fitted(learner, lambda one: one.fit(2, 0.01))
    with learner.no_bar():
        _, label, probabilities = learner.predict(data.iloc[3])
    return values, int(label), probabilities


def regression():
    default_device(False)
    x = torch.rand(32, 1)
    rows = list(zip(x, x * 3 + 1, strict=True))
    loaders = DataLoaders(DataLoader(rows, bs=8), DataLoader(rows, bs=8))
    learner = Learner(loaders, torch.nn.Linear(1, 1), MSELossFlat(), opt_func=SGD)
    return _fitted(learner, lambda one: one.fit(3, 0.1)), learner.model.state_dict()


def learning_rate():
    learner, _ = _learner()
    with learner.no_bar(), learner.no_logging():
        found = learner.lr_find(num_it=20, show_plot=False)
    return found.valley, learner.recorder.losses
