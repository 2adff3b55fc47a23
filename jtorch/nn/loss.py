"""Losses."""
from __future__ import annotations

from typing import Any

from jtorch.nn import functional
from jtorch.nn.module import Module
from jtorch.tensor import Tensor

F: Any = functional


class _Loss(Module):
    """A loss whose options are attributes of the same names as the function's parameters."""

    function = ""
    options: dict[str, Any] = {}
    tensors: tuple[str, ...] = ()

    def __init__(self, *args: Any, size_average: Any = None, reduce: Any = None, **kwargs: Any):
        super().__init__()
        given = dict(zip(self._order(), args, strict=False)) | kwargs
        size_average, reduce = given.pop("size_average", size_average), given.pop("reduce", reduce)
        unknown = set(given) - set(self.options) - {"reduction"}
        if unknown or len(args) > len(self._order()):
            raise TypeError(f"{type(self).__name__}.__init__() got an unexpected keyword argument '{next(iter(unknown), '')}'")
        reduction = given.pop("reduction", "mean")
        self.reduction = reduction if size_average is None and reduce is None else _legacy(size_average, reduce)
        for name, default in self.options.items():
            value = given.get(name, default)
            if name in self.tensors:
                self.register_buffer(name, value)
            else:
                setattr(self, name, value)

    def _order(self) -> tuple[str, ...]:
        return (*self.options, "reduction")

    def forward(self, *input: Tensor):
        """The loss of input and target."""
        return getattr(F, self.function)(*input, **{n: getattr(self, n) for n in self.options}, reduction=self.reduction)


def _legacy(size_average: Any, reduce: Any) -> str:
    if reduce is False:
        return "none"
    return "mean" if size_average is None or size_average else "sum"


def _loss(name: str, function: str, order: str = "size_average reduce reduction", **options: Any) -> type[_Loss]:
    """The loss of a function; ``order`` is that of the constructor."""
    names = tuple(order.split())
    return type(name, (_Loss,), {
        "function": function, "options": options, "tensors": tuple({"weight", "pos_weight"} & set(options)),
        "_order": lambda self: names, "__doc__": f"See torch.nn.{name}.", "__module__": __name__})


_SAR = "size_average reduce reduction"
L1Loss = _loss("L1Loss", "l1_loss")
MSELoss = _loss("MSELoss", "mse_loss")
SmoothL1Loss = _loss("SmoothL1Loss", "smooth_l1_loss", f"{_SAR} beta", beta=1.0)
HuberLoss = _loss("HuberLoss", "huber_loss", "reduction delta", delta=1.0)
BCELoss = _loss("BCELoss", "binary_cross_entropy", f"weight {_SAR}", weight=None)
BCEWithLogitsLoss = _loss("BCEWithLogitsLoss", "binary_cross_entropy_with_logits", f"weight {_SAR} pos_weight", weight=None,
                          pos_weight=None)
NLLLoss = _loss("NLLLoss", "nll_loss", "weight size_average ignore_index reduce reduction", weight=None, ignore_index=-100)
CrossEntropyLoss = _loss("CrossEntropyLoss", "cross_entropy", "weight size_average ignore_index reduce reduction label_smoothing",
                         weight=None, ignore_index=-100, label_smoothing=0.0)
KLDivLoss = _loss("KLDivLoss", "kl_div", f"{_SAR} log_target", log_target=False)
PoissonNLLLoss = _loss("PoissonNLLLoss", "poisson_nll_loss", "log_input full size_average eps reduce reduction", log_input=True,
                       full=False, eps=1e-8)
GaussianNLLLoss = _loss("GaussianNLLLoss", "gaussian_nll_loss", "", full=False, eps=1e-6)
SoftMarginLoss = _loss("SoftMarginLoss", "soft_margin_loss")
MultiLabelSoftMarginLoss = _loss("MultiLabelSoftMarginLoss", "multilabel_soft_margin_loss", f"weight {_SAR}", weight=None)
MultiLabelMarginLoss = _loss("MultiLabelMarginLoss", "multilabel_margin_loss")
HingeEmbeddingLoss = _loss("HingeEmbeddingLoss", "hinge_embedding_loss", f"margin {_SAR}", margin=1.0)
MarginRankingLoss = _loss("MarginRankingLoss", "margin_ranking_loss", f"margin {_SAR}", margin=0.0)
CosineEmbeddingLoss = _loss("CosineEmbeddingLoss", "cosine_embedding_loss", f"margin {_SAR}", margin=0.0)
MultiMarginLoss = _loss("MultiMarginLoss", "multi_margin_loss", f"p margin weight {_SAR}", p=1, margin=1.0, weight=None)
TripletMarginLoss = _loss("TripletMarginLoss", "triplet_margin_loss", f"margin p eps swap {_SAR}", margin=1.0, p=2.0, eps=1e-6,
                          swap=False)
CTCLoss = _loss("CTCLoss", "ctc_loss", "blank reduction zero_infinity", blank=0, zero_infinity=False)

__all__ = [
    "BCELoss", "BCEWithLogitsLoss", "CTCLoss", "CosineEmbeddingLoss", "CrossEntropyLoss", "GaussianNLLLoss",
    "HingeEmbeddingLoss", "HuberLoss", "KLDivLoss", "L1Loss", "MSELoss", "MarginRankingLoss", "MultiLabelMarginLoss",
    "MultiLabelSoftMarginLoss", "MultiMarginLoss", "NLLLoss", "PoissonNLLLoss", "SmoothL1Loss", "SoftMarginLoss",
    "TripletMarginLoss",
]
