"""torch.nn: modules, losses, initialization."""
from jtorch.nn import attention as attention
from jtorch.nn import functional as functional
from jtorch.nn import grad as grad
from jtorch.nn import init as init
from jtorch.nn import parallel as parallel
from jtorch.nn import parameter as parameter
from jtorch.nn import utils as utils
from jtorch.nn.activation import *  # noqa: F403
from jtorch.nn.adaptive import AdaptiveLogSoftmaxWithLoss as AdaptiveLogSoftmaxWithLoss
from jtorch.nn.batchnorm import *  # noqa: F403
from jtorch.nn.channelshuffle import *  # noqa: F403
from jtorch.nn.containers import Container as Container
from jtorch.nn.containers import ModuleDict as ModuleDict
from jtorch.nn.containers import ModuleList as ModuleList
from jtorch.nn.containers import Sequential as Sequential
from jtorch.nn.conv import *  # noqa: F403
from jtorch.nn.distance import CosineSimilarity as CosineSimilarity
from jtorch.nn.distance import PairwiseDistance as PairwiseDistance
from jtorch.nn.dropout import *  # noqa: F403
from jtorch.nn.flatten import *  # noqa: F403
from jtorch.nn.fold import *  # noqa: F403
from jtorch.nn.instancenorm import *  # noqa: F403
from jtorch.nn.linear import Bilinear as Bilinear
from jtorch.nn.linear import Identity as Identity
from jtorch.nn.linear import LazyLinear as LazyLinear
from jtorch.nn.linear import Linear as Linear
from jtorch.nn.linear_cross_entropy import LinearCrossEntropyLoss as LinearCrossEntropyLoss
from jtorch.nn.linear_cross_entropy import LinearCrossEntropyOptions as LinearCrossEntropyOptions
from jtorch.nn.loss import *  # noqa: F403
from jtorch.nn.loss_margin import *  # noqa: F403
from jtorch.nn.module import Module as Module
from jtorch.nn.multihead import *  # noqa: F403
from jtorch.nn.normalization import *  # noqa: F403
from jtorch.nn.padding import *  # noqa: F403
from jtorch.nn.parallel import DataParallel as DataParallel
from jtorch.nn.parameter import Buffer as Buffer
from jtorch.nn.parameter import UninitializedBuffer as UninitializedBuffer
from jtorch.nn.parameter import UninitializedParameter as UninitializedParameter
from jtorch.nn.parameter_containers import *  # noqa: F403
from jtorch.nn.pixelshuffle import *  # noqa: F403
from jtorch.nn.pooling import *  # noqa: F403
from jtorch.nn.rnn import *  # noqa: F403
from jtorch.nn.sparse import Embedding as Embedding
from jtorch.nn.sparse import EmbeddingBag as EmbeddingBag
from jtorch.nn.transformer import *  # noqa: F403
from jtorch.nn.upsampling import *  # noqa: F403
from jtorch.tensor import Parameter as Parameter

from jtorch.nn import modules as modules  # isort: skip    # names the files above once more
