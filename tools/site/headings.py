"""The headings of the reference. PyTorch's headings are assigned by the file of a function."""
from __future__ import annotations

# Headings of https://docs.pytorch.org/docs/stable/torch.html, with the files of their functions. ``*`` means all
# others.
TORCH = {
    "Tensors": "tensor untyped typed typed_tensors functional dtype dtype_info layout size storage device _tensor_str",
    "Creation Ops": "create creation other_layouts",
    "Indexing, Slicing, Joining, Mutating Ops": "index join scatter view view_part view_copy masked indexing memory "
                                                "fill inplace_views segment",
    "Random sampling": "random generator quasirandom",
    "Serialization": "serialization",
    "Locally disabling gradient computation": "no_grad anomaly",
    "Automatic mixed precision": "autocast_mode grad_scaler",
    "Pointwise Ops": "pointwise arithmetic bitwise special quantize bessel",
    "Reduction Ops": "reduce counting statistics",
    "Comparison Ops": "compare sort",
    "Spectral Ops": "stft windows fft",
    "BLAS and LAPACK Operations": "matmul linalg linalg_factor linalg_norms linalg_rank linalg_ldl linalg_lowrank",
    "Operators of neural networks": "activation adaptive_pool conv conv_tbc distance embedding linear norm pool "
                                    "recurrent softmax "
                                    "vision weight_norm dropout pooling",
    "Other Operations": "*",
}
FUNCTIONAL = {
    "Convolution functions": "conv conv_tbc grouped",
    "Pooling functions": "pool adaptive_pool fractional_pool pooling window_max",
    "Attention mechanisms": "attention multihead",
    "Non-linear activation functions": "activation softmax gumbel pointwise",
    "Normalization functions": "norm weight_norm",
    "Linear functions": "linear",
    "Dropout functions": "dropout",
    "Sparse functions": "embedding",
    "Distance functions": "distance",
    "Loss functions": "loss cross_entropy ctc margin_loss",
    "Vision functions": "vision interpolate grid pad",
    "Other functions": "*",
}
NN = {
    "Containers": "module container parameter modules",
    "Convolution Layers": "conv fold",
    "Pooling layers": "pooling",
    "Padding Layers": "padding",
    "Non-linear Activations": "activation adaptive",
    "Normalization Layers": "batchnorm instancenorm normalization",
    "Recurrent Layers": "rnn",
    "Transformer Layers": "transformer",
    "Linear Layers": "linear",
    "Dropout Layers": "dropout",
    "Sparse Layers": "sparse",
    "Distance Functions": "distance",
    "Loss Functions": "loss",
    "Vision Layers": "pixelshuffle upsampling channelshuffle",
    "Other": "*",
}

# Pages with a single heading: namespace -> title.
PLAIN = {
    "nn.init": "torch.nn.init", "nn.utils": "torch.nn.utils", "nn.utils.rnn": "torch.nn.utils.rnn",
    "nn.utils.parametrize": "torch.nn.utils.parametrize", "nn.utils.parametrizations": "torch.nn.utils.parametrizations",
    "optim": "torch.optim", "optim.lr_scheduler": "torch.optim.lr_scheduler", "optim.swa_utils": "torch.optim.swa_utils",
    "autograd": "torch.autograd", "autograd.functional": "torch.autograd.functional", "autograd.graph": "torch.autograd.graph",
    "autograd.forward_ad": "torch.autograd.forward_ad",
    "func": "torch.func", "amp": "torch.amp", "linalg": "torch.linalg", "fft": "torch.fft", "special": "torch.special",
    "masked": "torch.masked", "sparse": "torch.sparse", "distributions": "torch.distributions",
    "utils.data": "torch.utils.data", "utils.checkpoint": "torch.utils.checkpoint", "utils.benchmark": "torch.utils.benchmark",
    "distributed": "torch.distributed", "cuda": "torch.cuda", "accelerator": "torch.accelerator", "cpu": "torch.cpu",
    "library": "torch.library", "fx": "torch.fx", "export": "torch.export", "onnx": "torch.onnx", "jit": "torch.jit",
    "profiler": "torch.profiler", "testing": "torch.testing", "overrides": "torch.overrides", "compiler": "torch.compiler",
    "futures": "torch.futures", "hub": "torch.hub",
}
# The engine has no counterpart in PyTorch.
ENGINE = ("report", "trace", "synchronize", "forget", "get_cache_dir", "set_cache_dir")
