"""pytorch-pfn-extras: training with extensions, layers whose sizes are found, and reports."""

import pytorch_pfn_extras as ppe
import pytorch_pfn_extras.nn as pnn
import torch


def _net():
    return torch.nn.Sequential(pnn.LazyLinear(None, 8), torch.nn.ReLU(), pnn.LazyLinear(None, 2))


def lazy_layers():
    model = torch.nn.Sequential(pnn.LazyConv2d(None, 4, 3), torch.nn.Flatten(), pnn.LazyLinear(None, 3))
    return model(torch.randn(2, 3, 8, 8)), model.state_dict()


def extensions():
    model = torch.nn.Linear(4, 1)
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
    manager = ppe.training.ExtensionsManager(
        {"main": model},
        {"main": optimizer},
        3,
        iters_per_epoch=4,
        extensions=[ppe.training.extensions.LogReport(trigger=(1, "epoch"))],
        out_dir="out",
    )
    while not manager.stop_trigger:
        with manager.run_iteration():
            optimizer.zero_grad()
            loss = model(torch.randn(6, 4)).square().mean()
            ppe.reporting.report({"loss": loss.item()})
            loss.backward()
            optimizer.step()
    log = manager.get_extension("LogReport").log
    return [{key: row[key] for key in ("loss", "epoch", "iteration")} for row in log], model.state_dict()


def reports():
    reporter = ppe.reporting.Reporter()
    found = {}
    with reporter, ppe.reporting.report_scope(found):
        ppe.reporting.report({"a": torch.tensor(2.0), "b": 3})
    return {key: float(value) for key, value in found.items()}
