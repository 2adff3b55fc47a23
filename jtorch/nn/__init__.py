"""torch.nn: modules, losses, initialization."""
from jtorch.nn import attention as attention
from jtorch.nn import functional as functional
from jtorch.nn import grad as grad
from jtorch.nn import init as init
from jtorch.nn import modules as modules
from jtorch.nn import parallel as parallel
from jtorch.nn import parameter as parameter
from jtorch.nn import utils as utils
from jtorch.nn.modules import *  # noqa: F403
from jtorch.nn.parallel import DataParallel as DataParallel
from jtorch.nn.parameter import Buffer as Buffer
from jtorch.nn.parameter import UninitializedBuffer as UninitializedBuffer
from jtorch.nn.parameter import UninitializedParameter as UninitializedParameter
from jtorch.tensor import Parameter as Parameter
