"""torch.optim: optimizers that update all parameters of a group in one call. Their code is in ``_optimizers``."""
import sys as _sys

from jtorch._optimizers import lbfgs, lr_scheduler, optimizer
from jtorch._optimizers import swa_utils as swa_utils
from jtorch._optimizers.adam import Adam, AdamW
from jtorch._optimizers.adam_family import Adamax, NAdam, RAdam, SparseAdam
from jtorch._optimizers.adaptive import ASGD, Adadelta, Adafactor, Adagrad, RMSprop, Rprop
from jtorch._optimizers.lbfgs import LBFGS
from jtorch._optimizers.muon import Muon
from jtorch._optimizers.optax import Optax
from jtorch._optimizers.optimizer import Optimizer
from jtorch._optimizers.sgd import SGD
from jtorch._optimizers.swapped import swap_in_optimizer_params_and_state

# This file is no package, so it registers its submodules itself.
_sys.modules.update({f"jtorch.optim.{m.__name__.rpartition('.')[2]}": m for m in (lbfgs, lr_scheduler, swa_utils, optimizer)})

__all__ = ["ASGD", "LBFGS", "SGD", "Adadelta", "Adafactor", "Adagrad", "Adam", "AdamW", "Adamax", "Muon", "NAdam", "Optax",
           "Optimizer", "RAdam", "RMSprop", "Rprop", "SparseAdam", "lr_scheduler",
           "swa_utils", "swap_in_optimizer_params_and_state"]

del _sys, lbfgs, optimizer       # PyTorch's module does not have these names.
