"""Every op gives the recorded results of PyTorch for its samples. This runs without PyTorch."""
from __future__ import annotations

import functools
import warnings

import numpy as np
import pytest
from libraries import library
from ops import recorded_samples
from ops.known_differences import sorted_out
from ops.matrix import without_none
from ops.translate import cotangent, differences, tensors


def _call(xp, sample):
    """Return the result of a sample's call with the gradients of its arguments, or the error."""
    xp.default_generator.manual_seed(0)
    function = functools.reduce(getattr, sample.function.split("."), xp)
    given = [t for t in tensors([sample.args, sample.kwargs], xp.Tensor) if t.requires_grad]
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        result = function(*sample.args, **sample.kwargs)
    if sample.gradients is None:
        return result, None
    results = [t for t in tensors([result], xp.Tensor) if t.requires_grad]
    return result, list(xp.autograd.grad(results, given, [cotangent(xp, t) for t in results], allow_unused=True))


def _wrong(xp, sample) -> dict[str, list[str]]:
    """Return the differences by the op matrix's names of checks."""
    try:
        result, gradients = _call(xp, sample)
    except Exception as error:
        return {"value": [f"raises {type(error).__name__}: {error}"]}
    found = {"value": differences(sample.result, result)}
    if gradients is not None:
        found["gradient"] = differences(*without_none(sample.gradients, gradients))
    return {check: [text] for check, text in found.items() if text}


@pytest.mark.parametrize("op", recorded_samples.ops())
def test_op(op):
    xp = library("jtorch")
    unknown, known = [], []
    for number, sample in enumerate(recorded_samples.samples(xp, op)):
        dtypes = [str(t.dtype).removeprefix("torch.") for t in tensors([sample.args], xp.Tensor)]
        a, b = sorted_out(op, dtypes[0] if dtypes else "float32", _wrong(xp, sample))
        unknown += [f"sample {number}: {text}" for text in a]
        known += b
    assert not unknown, f"{op} differs from what PyTorch gave:\n" + "\n".join(unknown)
    if known:
        pytest.xfail("; ".join(dict.fromkeys(d.reason for d in known)))


def test_a_wrong_value_is_found():
    xp = library("jtorch")
    *_, sample = recorded_samples.samples(xp, "exp")
    sample.result = sample.result + 1
    assert list(_wrong(xp, sample)) == ["value"]
    sample.gradients = [sample.gradients[0] * np.float32(1.01)]
    assert list(_wrong(xp, sample)) == ["value", "gradient"]
