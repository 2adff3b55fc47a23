"""torch.nn.functional. Importing the package binds the functions here, generated from the ops' records."""
from jtorch.nn import _reduction as _Reduction  # noqa: F401 (PyTorch's name)
from jtorch.nn._functional.loss_functions import linear_cross_entropy as linear_cross_entropy
from jtorch.nn._functional.loss_functions import triplet_margin_with_distance_loss as triplet_margin_with_distance_loss
from jtorch.nn._functional.private import _canonical_mask as _canonical_mask
from jtorch.nn._functional.private import _check_key_padding_mask as _check_key_padding_mask
from jtorch.nn._functional.private import _in_projection as _in_projection
from jtorch.nn._functional.private import _in_projection_packed as _in_projection_packed
from jtorch.nn._functional.private import _mha_shape_check as _mha_shape_check
from jtorch.nn._functional.private import _none_or_dtype as _none_or_dtype
from jtorch.nn._functional.private import _verify_batch_size as _verify_batch_size
