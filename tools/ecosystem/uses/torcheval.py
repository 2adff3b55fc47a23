"""torcheval: metrics."""

import torch
from torcheval import metrics
from torcheval.metrics import functional as F


def classification():
    scores, labels = torch.rand(40, 4), torch.randint(0, 4, (40,))
    return (
        F.multiclass_accuracy(scores, labels, average="macro", num_classes=4),
        F.multiclass_f1_score(scores, labels),
        F.multiclass_confusion_matrix(scores, labels, 4),
        F.multiclass_auroc(scores, labels, num_classes=4),
        F.topk_multilabel_accuracy(scores, (scores > 0.5).long(), k=2),
    )


def binary():
    scores, labels = torch.rand(40), torch.randint(0, 2, (40,))
    return (
        F.binary_accuracy(scores, labels),
        F.binary_auroc(scores, labels),
        F.binary_auprc(scores, labels),
        F.binary_precision_recall_curve(scores, labels),
        F.binary_normalized_entropy(scores, labels.float()),
    )


def regression():
    x, y = torch.rand(20, 2), torch.rand(20, 2)
    return F.mean_squared_error(x, y, multioutput="raw_values"), F.r2_score(x, y)


def kept():
    accuracy, mean, auc = metrics.MulticlassAccuracy(), metrics.Mean(), metrics.BinaryAUROC()
    for _ in range(3):
        accuracy.update(torch.rand(8, 3), torch.randint(0, 3, (8,)))
        mean.update(torch.rand(5))
        auc.update(torch.rand(10), torch.randint(0, 2, (10,)))
    other = metrics.MulticlassAccuracy()
    other.load_state_dict(accuracy.state_dict())
    return accuracy.compute(), mean.compute(), auc.compute(), other.merge_state([accuracy]).compute()


def texts():
    return F.bleu_score(
        ["the squirrel is eating the nut"], [["a squirrel is eating a nut", "the squirrel eats a nut"]], n_gram=2
    ), F.perplexity(torch.rand(2, 3, 5), torch.randint(0, 5, (2, 3)))
