"""pytorch-ignite: engines with handlers, metrics and checkpoints."""

import torch
from ignite import handlers, metrics
from ignite.engine import Events, create_supervised_evaluator, create_supervised_trainer
from torch.utils.data import DataLoader, TensorDataset


def _parts():
    model = torch.nn.Sequential(torch.nn.Linear(4, 8), torch.nn.ReLU(), torch.nn.Linear(8, 3))
    loader = DataLoader(TensorDataset(torch.randn(24, 4), torch.randint(0, 3, (24,))), 6, shuffle=True)
    return model, torch.optim.SGD(model.parameters(), lr=0.1), torch.nn.CrossEntropyLoss(), loader


def train_and_evaluate():
    model, optimizer, criterion, loader = _parts()
    trainer = create_supervised_trainer(model, optimizer, criterion)
    evaluator = create_supervised_evaluator(
        model,
        metrics={
            "accuracy": metrics.Accuracy(),
            "loss": metrics.Loss(criterion),
            "f": metrics.Fbeta(1.0),
            "matrix": metrics.ConfusionMatrix(3),
        },
    )
    losses, found = [], []
    trainer.add_event_handler(Events.ITERATION_COMPLETED(every=2), lambda engine: losses.append(engine.state.output))

    @trainer.on(Events.EPOCH_COMPLETED)
    def evaluate(engine):
        found.append(dict(evaluator.run(loader).metrics))

    trainer.add_event_handler(
        Events.ITERATION_STARTED, handlers.CosineAnnealingScheduler(optimizer, "lr", 0.1, 0.01, 8)
    )
    trainer.run(loader, max_epochs=2)
    return losses, found


def checkpoints():
    model, optimizer, criterion, loader = _parts()
    trainer = create_supervised_trainer(model, optimizer, criterion)
    kept = {"model": model, "optimizer": optimizer, "trainer": trainer}
    trainer.add_event_handler(
        Events.EPOCH_COMPLETED, handlers.Checkpoint(kept, handlers.DiskSaver("saved", create_dir=True), n_saved=1)
    )
    trainer.run(loader, max_epochs=2)
    import glob

    other, second, _, _ = _parts()
    handlers.Checkpoint.load_objects({"model": other, "optimizer": second}, torch.load(glob.glob("saved/*.pt")[0]))
    return other.state_dict(), model.state_dict(), glob.glob("saved/*")


def running_metrics():
    _, _, _, loader = _parts()
    average = metrics.RunningAverage(output_transform=lambda x: x)
    for x, _ in loader:
        average.update(x.mean())
    ssim = metrics.SSIM(data_range=1.0)
    ssim.update((torch.rand(1, 1, 16, 16), torch.rand(1, 1, 16, 16)))
    return average.compute(), ssim.compute()
