"""torch.nn.functional. The functions are bound here from the records of the ops when the package is imported."""
from jtorch.nn._functional.loss_functions import linear_cross_entropy as linear_cross_entropy
from jtorch.nn._functional.loss_functions import triplet_margin_with_distance_loss as triplet_margin_with_distance_loss
