"""tensorly: decompositions of tensors."""

import tensorly as tl
import torch
from tensorly import decomposition

tl.set_backend("pytorch")


def parafac():
    x = torch.rand(4, 5, 6, dtype=torch.double)
    return tl.cp_to_tensor(decomposition.parafac(x, 2, n_iter_max=20, init="svd"))


def tucker():
    core, factors = decomposition.tucker(torch.rand(4, 5, 6, dtype=torch.double), [2, 2, 2], n_iter_max=10)
    return tl.tucker_to_tensor((core, factors))


def train():
    return tl.tt_to_tensor(decomposition.tensor_train(torch.rand(4, 5, 6, dtype=torch.double), [1, 2, 2, 1]))


def non_negative():
    return tl.cp_to_tensor(
        decomposition.non_negative_parafac(torch.rand(4, 5, 6, dtype=torch.double), 2, n_iter_max=10, init="svd")
    )
