"""Aliases of modules: old names in pickles, and PyTorch's names of modules that jtorch has under another name."""
from __future__ import annotations

import sys

MOVED = {
    "creation": "_api.creation",            # old pickles of tensors name this module
    "functional": "_api.functional",        # PyTorch's name of this module
    "generator": "_base.generator",
    "hooks": "_nodes.hooks",
    "layouts": "_base.layout",
    "legacy": "_api.typed_tensors",
    "lr_scheduler": "_optimizers.lr_scheduler",
    "shared_memory": "_api.shared_memory",
    "size": "_base.size",
    "typed_storage": "_storage.typed",
    "untyped_storage": "_storage.untyped",
}


_LAYERS = ("activation adaptive batchnorm channelshuffle conv distance dropout flatten fold instancenorm lazy linear module "
           "normalization padding pixelshuffle pooling rnn sparse transformer upsampling multihead parameter_containers")
MOVED.update({f"nn.{name}": f"nn.modules.{name}" for name in _LAYERS.split()})
MOVED.update({"nn.containers": "nn.modules.container", "nn.loss": "nn.modules._losses",
              "nn.loss_margin": "nn.modules._margin_losses"})


def register() -> None:
    """Register the aliases in ``sys.modules``."""
    for name, place in MOVED.items():
        sys.modules[f"jtorch.{name}"] = sys.modules[f"jtorch.{place}"]
