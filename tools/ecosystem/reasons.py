"""The reasons for differences: (file of uses, use) -> the cause and, if known, the fix."""
from __future__ import annotations

REASONS: dict[tuple[str, str], str] = {
    ("kan", "fit"): "rounding of float32, which L-BFGS multiplies: in float64 both give the same digits",
    ("kan", "refine"): "`torch.linalg.lstsq` of a matrix with a column of zeros: PyTorch's default driver (gelsy) finds rank 0 "
                       "and gives zeros. With `driver=\"gelsd\"` both give the same",
    ("pytorch_optimizer", "soap"): "SOAP turns steps by the eigenvectors of a matrix of low rank: those of its null space are "
                                   "not determined, and LAPACK's are others in SciPy's build than in PyTorch's",
    ("timm", "mobilenetv4"): "rounding of float32, which batch norms over two images multiply: PyTorch's numbers and these are "
                             "0.0016 from float64's, which both give alike to 1e-11",
    ("torchviz", "convolutional"): "PyTorch's graph of a Linear has a node for the transpose of its weight (`TBackward0`), which "
                                   "is inside of `AddmmBackward0` here",
}
