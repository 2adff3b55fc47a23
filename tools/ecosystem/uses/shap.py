"""shap: what each input adds to a network's output."""

import numpy as np
import shap
import torch


def _model():
    model = torch.nn.Sequential(torch.nn.Linear(5, 8), torch.nn.ReLU(), torch.nn.Linear(8, 3)).eval()
    return model, torch.randn(20, 5), torch.randn(3, 5)


def deep():
    model, background, x = _model()
    return shap.DeepExplainer(model, background).shap_values(x, check_additivity=True)


def deep_convolutional():
    model = torch.nn.Sequential(
        torch.nn.Conv2d(1, 4, 3), torch.nn.ReLU(), torch.nn.MaxPool2d(2), torch.nn.Flatten(), torch.nn.Linear(36, 2)
    ).eval()
    return shap.DeepExplainer(model, torch.randn(8, 1, 8, 8)).shap_values(torch.randn(2, 1, 8, 8), check_additivity=False)


def gradients():
    model, background, x = _model()
    return shap.GradientExplainer(model, background).shap_values(x, nsamples=20, rseed=1)


def kernel():
    model, background, x = _model()

    def predict(rows):
        with torch.no_grad():
            return model(torch.from_numpy(np.asarray(rows, dtype=np.float32))).numpy()

    return shap.KernelExplainer(predict, background[:6].numpy()).shap_values(x[:2].numpy(), nsamples=40, silent=True)
