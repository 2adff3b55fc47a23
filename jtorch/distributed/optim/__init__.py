"""torch.distributed.optim: optimizers whose states are sharded over ranks, and those that are given gradients."""
from __future__ import annotations

from jtorch.distributed.lazy_exports import lazy_getattr

__all__ = ["PostLocalSGDOptimizer", "ZeroRedundancyOptimizer", "as_functional_optim"]

__getattr__ = lazy_getattr(__name__, {"_parallel.local_sgd": "PostLocalSGDOptimizer",
                                      "_parallel.zero": "ZeroRedundancyOptimizer",
                                      "_optimizers.functional": "as_functional_optim _FunctionalAdadelta _FunctionalAdagrad "
                                                                "_FunctionalAdam _FunctionalAdamW _FunctionalAdamax "
                                                                "_FunctionalRMSprop _FunctionalRprop _FunctionalSGD"},
                           not_built="DistributedOptimizer")
