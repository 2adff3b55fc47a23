"""mlflow: models logged, loaded and followed."""

import os

import mlflow
import mlflow.pytorch
import numpy as np
import torch


def _start():
    os.environ["MLFLOW_ALLOW_FILE_STORE"] = "true"
    mlflow.set_tracking_uri(f"file://{os.getcwd()}/runs")


def _model():
    return torch.nn.Sequential(torch.nn.Linear(4, 8), torch.nn.ReLU(), torch.nn.Linear(8, 2))


def saved_models():
    model = _model()
    mlflow.pytorch.save_model(model, "model", pip_requirements=[], serialization_format="pickle")
    again = mlflow.pytorch.load_model("model")
    x = torch.randn(3, 4)
    return model(x), again(x), sorted(os.listdir("model"))


def as_functions():
    model = _model()
    mlflow.pytorch.save_model(model, "model", pip_requirements=[], serialization_format="pickle")
    return mlflow.pyfunc.load_model("model").predict(np.ones((2, 4), dtype=np.float32))


def state_dicts():
    state = _model().state_dict()
    mlflow.pytorch.save_state_dict(state, "state")
    return mlflow.pytorch.load_state_dict("state")


def logged():
    _start()
    model = _model()
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
    with mlflow.start_run() as run:
        mlflow.log_params({"rate": 0.1})
        for step in range(3):
            loss = model(torch.randn(8, 4)).square().mean()
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
            mlflow.log_metric("loss", loss.item(), step=step)
    found = mlflow.tracking.MlflowClient().get_metric_history(run.info.run_id, "loss")
    return [metric.value for metric in found], mlflow.get_run(run.info.run_id).data.params
