"""torch.utils.dlpack: exchange of tensors with other libraries."""
from jtorch._api.creation import from_dlpack as from_dlpack


def to_dlpack(tensor):
    """Return a DLPack capsule of the tensor. See torch.utils.dlpack.to_dlpack."""
    return tensor.detach().__dlpack__()
