"""torch.optim.lr_scheduler: schedules of the learning rate."""
from jtorch._optimizers.rate_schedules import (
    ConstantLR,
    CosineAnnealingLR,
    CosineAnnealingWarmRestarts,
    ExponentialLR,
    LambdaLR,
    LinearLR,
    MultiplicativeLR,
    MultiStepLR,
    PolynomialLR,
    ReduceLROnPlateau,
    StepLR,
)
from jtorch._optimizers.scheduler import EPOCH_DEPRECATION_WARNING as EPOCH_DEPRECATION_WARNING
from jtorch._optimizers.scheduler import LRScheduler
from jtorch._optimizers.schedules import ChainedScheduler, CyclicLR, OneCycleLR, SequentialLR

_LRScheduler = LRScheduler

__all__ = ["ChainedScheduler", "ConstantLR", "CosineAnnealingLR", "CosineAnnealingWarmRestarts", "CyclicLR", "ExponentialLR",
           "LRScheduler", "LambdaLR", "LinearLR", "MultiStepLR", "MultiplicativeLR", "OneCycleLR", "PolynomialLR",
           "ReduceLROnPlateau", "SequentialLR", "StepLR"]
