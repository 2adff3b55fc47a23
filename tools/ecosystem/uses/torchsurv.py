"""torchsurv: losses and metrics of survival."""

import torch
from torchsurv.loss import cox, weibull
from torchsurv.metrics.auc import Auc
from torchsurv.metrics.cindex import ConcordanceIndex
from torchsurv.stats.ipcw import get_ipcw
from torchsurv.stats.kaplan_meier import KaplanMeierEstimator


def _data(n=24):
    return torch.randn(n, 5), torch.rand(n) < 0.6, torch.randint(1, 15, (n,)).float()


def cox_model():
    x, event, time = _data()
    model = torch.nn.Linear(5, 1)
    optimizer = torch.optim.Adam(model.parameters(), lr=0.05)
    losses = []
    for _ in range(4):
        optimizer.zero_grad()
        loss = cox.neg_partial_log_likelihood(model(x), event, time)
        loss.backward()
        optimizer.step()
        losses.append(loss.item())
    index = ConcordanceIndex()
    estimate = model(x).detach()
    return losses, index(estimate, event, time), index.confidence_interval(), index.p_value()


def weibull_model():
    x, event, time = _data()
    model = torch.nn.Linear(5, 2)
    loss = weibull.neg_log_likelihood_weibull(model(x), event, time)
    loss.backward()
    hazard = weibull.log_hazard(model(x).detach(), time)
    auc = Auc()
    return loss, model.weight.grad, hazard, auc(hazard, event, time), get_ipcw(event, time)


def estimator():
    _, event, time = _data()
    km = KaplanMeierEstimator()
    km(event, time)
    return km.km_est, km.time, km.predict(torch.tensor([3.0, 7.0]))
