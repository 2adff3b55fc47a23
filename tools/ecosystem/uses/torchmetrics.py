"""torchmetrics: metrics as functions and as modules that collect over batches."""

import torch
import torchmetrics
import torchmetrics.functional as F


def functions():
    prediction, target = torch.randn(50, 4).softmax(1), torch.randint(0, 4, (50,))
    return (
        F.accuracy(prediction, target, task="multiclass", num_classes=4),
        F.f1_score(prediction, target, task="multiclass", num_classes=4, average="macro"),
        F.auroc(prediction, target, task="multiclass", num_classes=4),
        F.confusion_matrix(prediction, target, task="multiclass", num_classes=4),
        F.average_precision(prediction, target, task="multiclass", num_classes=4),
        F.mean_squared_error(prediction[:, 0], prediction[:, 1]),
        F.spearman_corrcoef(prediction[:, 0], prediction[:, 1]),
        F.pearson_corrcoef(prediction[:, 0], prediction[:, 1]),
        F.r2_score(prediction[:, 0], prediction[:, 1]),
    )


def modules():
    metrics = torchmetrics.MetricCollection(
        [
            torchmetrics.Accuracy("multiclass", num_classes=4),
            torchmetrics.Recall("multiclass", num_classes=4),
            torchmetrics.CohenKappa("multiclass", num_classes=4),
            torchmetrics.MatthewsCorrCoef("multiclass", num_classes=4),
        ]
    )
    steps = [metrics(torch.randn(20, 4), torch.randint(0, 4, (20,))) for _ in range(3)]
    total = metrics.compute()
    state = metrics.state_dict()
    metrics.reset()
    return steps, total, state


def images():
    a, b = torch.rand(2, 3, 32, 32), torch.rand(2, 3, 32, 32)
    return (
        F.structural_similarity_index_measure(a, b, data_range=1.0),
        F.peak_signal_noise_ratio(a, b, data_range=1.0),
        F.total_variation(a),
        F.image_gradients(a),
    )
