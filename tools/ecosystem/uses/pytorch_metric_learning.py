"""pytorch-metric-learning: losses, miners and accuracies of embeddings."""

import torch
from pytorch_metric_learning import distances, losses, miners, reducers
from pytorch_metric_learning.utils.accuracy_calculator import AccuracyCalculator


def losses_of_embeddings():
    labels = torch.randint(0, 4, (16,))
    results = []
    for loss in (
        losses.TripletMarginLoss(),
        losses.ContrastiveLoss(),
        losses.NTXentLoss(),
        losses.MultiSimilarityLoss(),
        losses.CircleLoss(),
        losses.SupConLoss(),
        losses.ArcFaceLoss(4, 8),
        losses.ProxyAnchorLoss(4, 8),
        losses.NormalizedSoftmaxLoss(4, 8),
    ):
        x = torch.randn(16, 8, requires_grad=True)
        value = loss(x, labels)
        value.backward()
        results.append((value, x.grad))
    return results


def miners_and_distances():
    x, labels = torch.randn(16, 8, requires_grad=True), torch.randint(0, 4, (16,))
    pairs = miners.MultiSimilarityMiner()(x, labels)
    loss = losses.TripletMarginLoss(distance=distances.CosineSimilarity(), reducer=reducers.ThresholdReducer(low=0.1))
    return (
        [len(p) for p in pairs],
        loss(x, labels, miners.TripletMarginMiner()(x, labels)),
        miners.BatchHardMiner()(x, labels),
    )


def memory():
    made = losses.CrossBatchMemory(losses.ContrastiveLoss(), 8, memory_size=20)
    return [made(torch.randn(6, 8), torch.randint(0, 3, (6,))) for _ in range(4)]


def accuracies():
    from pytorch_metric_learning.utils.inference import CustomKNN

    x, labels = torch.randn(30, 8), torch.randint(0, 3, (30,))
    made = AccuracyCalculator(
        include=("precision_at_1", "mean_average_precision_at_r"), k=5, knn_func=CustomKNN(distances.LpDistance())
    )
    return made.get_accuracy(x, labels)
