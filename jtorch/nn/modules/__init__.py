"""torch.nn.modules: all layers and losses, in files named as PyTorch's. Programs import them from ``torch.nn``."""
from jtorch.nn.modules import loss as loss
from jtorch.nn.modules import utils as utils
from jtorch.nn.modules._losses import *  # noqa: F403
from jtorch.nn.modules._margin_losses import *  # noqa: F403
from jtorch.nn.modules.activation import *  # noqa: F403
from jtorch.nn.modules.adaptive import AdaptiveLogSoftmaxWithLoss as AdaptiveLogSoftmaxWithLoss
from jtorch.nn.modules.batchnorm import *  # noqa: F403
from jtorch.nn.modules.channelshuffle import *  # noqa: F403
from jtorch.nn.modules.container import Container as Container
from jtorch.nn.modules.container import ModuleDict as ModuleDict
from jtorch.nn.modules.container import ModuleList as ModuleList
from jtorch.nn.modules.container import Sequential as Sequential
from jtorch.nn.modules.conv import *  # noqa: F403
from jtorch.nn.modules.distance import CosineSimilarity as CosineSimilarity
from jtorch.nn.modules.distance import PairwiseDistance as PairwiseDistance
from jtorch.nn.modules.dropout import *  # noqa: F403
from jtorch.nn.modules.flatten import *  # noqa: F403
from jtorch.nn.modules.fold import *  # noqa: F403
from jtorch.nn.modules.instancenorm import *  # noqa: F403
from jtorch.nn.modules.linear import Bilinear as Bilinear
from jtorch.nn.modules.linear import Identity as Identity
from jtorch.nn.modules.linear import LazyLinear as LazyLinear
from jtorch.nn.modules.linear import Linear as Linear
from jtorch.nn.modules.linear_cross_entropy import LinearCrossEntropyLoss as LinearCrossEntropyLoss
from jtorch.nn.modules.linear_cross_entropy import LinearCrossEntropyOptions as LinearCrossEntropyOptions
from jtorch.nn.modules.module import Module as Module
from jtorch.nn.modules.multihead import *  # noqa: F403
from jtorch.nn.modules.normalization import *  # noqa: F403
from jtorch.nn.modules.padding import *  # noqa: F403
from jtorch.nn.modules.parameter_containers import *  # noqa: F403
from jtorch.nn.modules.pixelshuffle import *  # noqa: F403
from jtorch.nn.modules.pooling import *  # noqa: F403
from jtorch.nn.modules.rnn import *  # noqa: F403
from jtorch.nn.modules.sparse import Embedding as Embedding
from jtorch.nn.modules.sparse import EmbeddingBag as EmbeddingBag
from jtorch.nn.modules.transformer import *  # noqa: F403
from jtorch.nn.modules.upsampling import *  # noqa: F403

__all__ = [
    "CELU",
    "ELU",
    "GELU",
    "GLU",
    "GRU",
    "LSTM",
    "RNN",
    "SELU",
    "AdaptiveAvgPool1d",
    "AdaptiveAvgPool2d",
    "AdaptiveAvgPool3d",
    "AdaptiveLogSoftmaxWithLoss",
    "AdaptiveMaxPool1d",
    "AdaptiveMaxPool2d",
    "AdaptiveMaxPool3d",
    "AlphaDropout",
    "AvgPool1d",
    "AvgPool2d",
    "AvgPool3d",
    "BCELoss",
    "BCEWithLogitsLoss",
    "BatchNorm1d",
    "BatchNorm2d",
    "BatchNorm3d",
    "Bilinear",
    "CTCLoss",
    "ChannelShuffle",
    "CircularPad1d",
    "CircularPad2d",
    "CircularPad3d",
    "ConstantPad1d",
    "ConstantPad2d",
    "ConstantPad3d",
    "Container",
    "Conv1d",
    "Conv2d",
    "Conv3d",
    "ConvTranspose1d",
    "ConvTranspose2d",
    "ConvTranspose3d",
    "CosineEmbeddingLoss",
    "CosineSimilarity",
    "CrossEntropyLoss",
    "CrossMapLRN2d",
    "Dropout",
    "Dropout1d",
    "Dropout2d",
    "Dropout3d",
    "Embedding",
    "EmbeddingBag",
    "FeatureAlphaDropout",
    "Flatten",
    "Fold",
    "FractionalMaxPool2d",
    "FractionalMaxPool3d",
    "GRUCell",
    "GaussianNLLLoss",
    "GroupNorm",
    "Hardshrink",
    "Hardsigmoid",
    "Hardswish",
    "Hardtanh",
    "HingeEmbeddingLoss",
    "HuberLoss",
    "Identity",
    "InstanceNorm1d",
    "InstanceNorm2d",
    "InstanceNorm3d",
    "KLDivLoss",
    "L1Loss",
    "LPPool1d",
    "LPPool2d",
    "LPPool3d",
    "LSTMCell",
    "LayerNorm",
    "LazyBatchNorm1d",
    "LazyBatchNorm2d",
    "LazyBatchNorm3d",
    "LazyConv1d",
    "LazyConv2d",
    "LazyConv3d",
    "LazyConvTranspose1d",
    "LazyConvTranspose2d",
    "LazyConvTranspose3d",
    "LazyInstanceNorm1d",
    "LazyInstanceNorm2d",
    "LazyInstanceNorm3d",
    "LazyLinear",
    "LeakyReLU",
    "Linear",
    "LinearCrossEntropyLoss",
    "LinearCrossEntropyOptions",
    "LocalResponseNorm",
    "LogSigmoid",
    "LogSoftmax",
    "MSELoss",
    "MarginRankingLoss",
    "MaxPool1d",
    "MaxPool2d",
    "MaxPool3d",
    "MaxUnpool1d",
    "MaxUnpool2d",
    "MaxUnpool3d",
    "Mish",
    "Module",
    "ModuleDict",
    "ModuleList",
    "MultiLabelMarginLoss",
    "MultiLabelSoftMarginLoss",
    "MultiMarginLoss",
    "MultiheadAttention",
    "NLLLoss",
    "NLLLoss2d",
    "PReLU",
    "PairwiseDistance",
    "ParameterDict",
    "ParameterList",
    "PixelShuffle",
    "PixelUnshuffle",
    "PoissonNLLLoss",
    "RMSNorm",
    "RNNBase",
    "RNNCell",
    "RNNCellBase",
    "RReLU",
    "ReLU",
    "ReLU6",
    "ReflectionPad1d",
    "ReflectionPad2d",
    "ReflectionPad3d",
    "ReplicationPad1d",
    "ReplicationPad2d",
    "ReplicationPad3d",
    "Sequential",
    "SiLU",
    "Sigmoid",
    "SmoothL1Loss",
    "SoftMarginLoss",
    "Softmax",
    "Softmax2d",
    "Softmin",
    "Softplus",
    "Softshrink",
    "Softsign",
    "SyncBatchNorm",
    "Tanh",
    "Tanhshrink",
    "Threshold",
    "Transformer",
    "TransformerDecoder",
    "TransformerDecoderLayer",
    "TransformerEncoder",
    "TransformerEncoderLayer",
    "TripletMarginLoss",
    "TripletMarginWithDistanceLoss",
    "Unflatten",
    "Unfold",
    "Upsample",
    "UpsamplingBilinear2d",
    "UpsamplingNearest2d",
    "ZeroPad1d",
    "ZeroPad2d",
    "ZeroPad3d",
]
