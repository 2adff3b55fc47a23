"""torch.utils.dlpack: tensors from other libraries, and for them."""
from jtorch._api.creation import from_dlpack as from_dlpack


def to_dlpack(tensor):
    """Return a capsule with the tensor. See torch.utils.dlpack.to_dlpack."""
    return tensor.__dlpack__()
