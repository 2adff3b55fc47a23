"""lightning: Trainer with validation, checkpoints and loggers; Fabric."""

import lightning as L
import torch
from lightning.pytorch.callbacks import EarlyStopping, LearningRateMonitor, ModelCheckpoint
from lightning.pytorch.loggers import CSVLogger
from torch.nn import functional as F
from torch.utils.data import DataLoader, TensorDataset


class _Model(L.LightningModule):
    def __init__(self, hidden=8):
        super().__init__()
        self.save_hyperparameters()
        self.net = torch.nn.Sequential(torch.nn.Linear(4, hidden), torch.nn.Tanh(), torch.nn.Linear(hidden, 1))

    def training_step(self, batch, index):
        loss = F.mse_loss(self.net(batch[0]), batch[1])
        self.log("train_loss", loss, on_epoch=True)
        return loss

    def validation_step(self, batch, index):
        self.log("val_loss", F.mse_loss(self.net(batch[0]), batch[1]))

    def test_step(self, batch, index):
        self.log("test_loss", F.mse_loss(self.net(batch[0]), batch[1]))

    def predict_step(self, batch, index):
        return self.net(batch[0])

    def configure_optimizers(self):
        optimizer = torch.optim.AdamW(self.parameters(), lr=1e-2)
        return {"optimizer": optimizer, "lr_scheduler": torch.optim.lr_scheduler.StepLR(optimizer, 1)}


def _data(shuffle=False):
    x = torch.randn(32, 4)
    return DataLoader(TensorDataset(x, x.sum(1, keepdim=True)), 8, shuffle=shuffle)


def _trainer(**options):
    return L.Trainer(
        **{
            "max_epochs": 2,
            "accelerator": "cpu",
            "enable_progress_bar": False,
            "enable_model_summary": False,
            "logger": False,
            "enable_checkpointing": False,
            **options,
        }
    )


def train_and_validate():
    model, train, validation = _Model(), _data(True), _data()
    trainer = _trainer(
        logger=CSVLogger("logs"),
        log_every_n_steps=1,
        enable_checkpointing=True,
        callbacks=[ModelCheckpoint("ckpt", monitor="val_loss"), EarlyStopping("val_loss"), LearningRateMonitor()],
    )
    trainer.fit(model, train, validation)
    best = _Model.load_from_checkpoint(trainer.checkpoint_callback.best_model_path)
    return (
        dict(trainer.callback_metrics),
        best.state_dict(),
        trainer.test(model, validation, verbose=False),
        open("logs/lightning_logs/version_0/metrics.csv").read().splitlines()[0],
    )


def resume():
    train = _data()
    trainer = _trainer(max_epochs=1)
    model = _Model()
    trainer.fit(model, train)
    trainer.save_checkpoint("x.ckpt")
    other = _Model()
    again = _trainer(max_epochs=3)
    again.fit(other, train, ckpt_path="x.ckpt")
    return other.state_dict(), again.global_step, again.predict(other, train)


def options():
    model = _Model()
    trainer = _trainer(accumulate_grad_batches=2, gradient_clip_val=0.5, precision="bf16-mixed", max_epochs=1)
    trainer.fit(model, _data())
    return {k: v.float().round(decimals=2) for k, v in trainer.callback_metrics.items()}


def summary():
    return str(L.pytorch.utilities.model_summary.ModelSummary(_Model(), max_depth=2))


def fabric():
    fabric = L.Fabric(accelerator="cpu", devices=1)
    fabric.launch()
    model = torch.nn.Linear(4, 1)
    model, optimizer = fabric.setup(model, torch.optim.SGD(model.parameters(), lr=0.1))
    loader = fabric.setup_dataloaders(_data())
    losses = []
    for x, y in loader:
        optimizer.zero_grad()
        loss = F.mse_loss(model(x), y)
        fabric.backward(loss)
        fabric.clip_gradients(model, optimizer, max_norm=1.0)
        optimizer.step()
        losses.append(loss.item())
    fabric.save("state.ckpt", {"model": model, "optimizer": optimizer, "n": 3})
    state = {"model": model, "optimizer": optimizer, "n": 0}
    fabric.load("state.ckpt", state)
    return losses, model.state_dict(), state["n"]
