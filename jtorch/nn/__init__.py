"""torch.nn: modules, losses, initialization."""
from jtorch.nn import functional as functional
from jtorch.nn import init as init
from jtorch.nn import utils as utils
from jtorch.nn.activation import *  # noqa: F403
from jtorch.nn.containers import ModuleDict as ModuleDict
from jtorch.nn.containers import ModuleList as ModuleList
from jtorch.nn.containers import Sequential as Sequential
from jtorch.nn.conv import Conv1d as Conv1d
from jtorch.nn.conv import Conv2d as Conv2d
from jtorch.nn.conv import Conv3d as Conv3d
from jtorch.nn.dropout import *  # noqa: F403
from jtorch.nn.flatten import Flatten as Flatten
from jtorch.nn.flatten import Unflatten as Unflatten
from jtorch.nn.linear import Bilinear as Bilinear
from jtorch.nn.linear import Identity as Identity
from jtorch.nn.linear import Linear as Linear
from jtorch.nn.loss import *  # noqa: F403
from jtorch.nn.module import Buffer as Buffer
from jtorch.nn.module import Module as Module
from jtorch.nn.norm import BatchNorm1d as BatchNorm1d
from jtorch.nn.norm import BatchNorm2d as BatchNorm2d
from jtorch.nn.norm import BatchNorm3d as BatchNorm3d
from jtorch.nn.norm import GroupNorm as GroupNorm
from jtorch.nn.norm import LayerNorm as LayerNorm
from jtorch.nn.pooling import *  # noqa: F403
from jtorch.nn.sparse import Embedding as Embedding
from jtorch.tensor import Parameter as Parameter
