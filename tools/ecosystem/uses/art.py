"""adversarial-robustness-toolbox: attacks and defences of a classifier."""

import numpy as np
import torch
from art.attacks.evasion import CarliniL2Method, FastGradientMethod, ProjectedGradientDescent
from art.defences.trainer import AdversarialTrainer
from art.estimators.classification import PyTorchClassifier


def _classifier():
    model = torch.nn.Sequential(torch.nn.Flatten(), torch.nn.Linear(64, 16), torch.nn.ReLU(), torch.nn.Linear(16, 3))
    classifier = PyTorchClassifier(
        model=model, loss=torch.nn.CrossEntropyLoss(), optimizer=torch.optim.Adam(model.parameters(), lr=0.01),
        input_shape=(1, 8, 8), nb_classes=3, clip_values=(0, 1), device_type="cpu",
    )  # fmt: skip
    x = np.random.rand(24, 1, 8, 8).astype(np.float32)
    return classifier, x, np.eye(3)[np.arange(24) % 3]


def fit():
    classifier, x, y = _classifier()
    classifier.fit(x, y, batch_size=8, nb_epochs=2)
    return classifier.predict(x), classifier.loss_gradient(x[:2], y[:2]), classifier.class_gradient(x[:2], label=1)


def evasion():
    classifier, x, _y = _classifier()
    return (
        FastGradientMethod(classifier, eps=0.1).generate(x[:4]),
        ProjectedGradientDescent(classifier, eps=0.1, eps_step=0.05, max_iter=3, verbose=False).generate(x[:4]),
    )


def carlini():
    classifier, x, _ = _classifier()
    return CarliniL2Method(classifier, max_iter=3, binary_search_steps=2, verbose=False).generate(x[:2])


def adversarial_training():
    classifier, x, y = _classifier()
    AdversarialTrainer(classifier, FastGradientMethod(classifier, eps=0.1), ratio=0.5).fit(x, y, batch_size=8, nb_epochs=1)
    return classifier.predict(x[:4])
