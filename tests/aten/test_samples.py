"""Every op gives the same result with and without a TorchDispatchMode, forward and backward."""
from __future__ import annotations

import functools
import warnings

import pytest
from libraries import library
from ops import recorded_samples
from ops.translate import cotangent, differences, tensors

import jtorch
from jtorch.utils._python_dispatch import BaseTorchDispatchMode


def outcome(sample):
    """Return the result of a sample's call with the gradients of its arguments, or the error."""
    jtorch.default_generator.manual_seed(0)
    function = functools.reduce(getattr, sample.function.split("."), jtorch)
    given = [t for t in tensors([sample.args, sample.kwargs], jtorch.Tensor) if t.requires_grad]
    try:
        result = function(*sample.args, **sample.kwargs)
        results = [t for t in tensors([result], jtorch.Tensor) if t.requires_grad]
        if sample.gradients is None or not results:
            return result, None
        made = [cotangent(jtorch, t) for t in results]
        return result, [0 if g is None else g for g in jtorch.autograd.grad(results, given, made, allow_unused=True)]
    except Exception as error:
        return type(error).__name__, str(error).partition("\n")[0]


@pytest.mark.slow
@pytest.mark.parametrize("op", recorded_samples.ops())
def test_op(op):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        for sample in recorded_samples.samples(library("jtorch"), op):
            plain = outcome(sample)
            with BaseTorchDispatchMode():
                seen = outcome(sample)
            if isinstance(plain[0], str):
                assert seen[0] == plain[0]
            else:
                assert not isinstance(seen[0], str), f"in a mode: {seen}"
                assert not differences(plain[0], seen[0])
                assert plain[1] is None or not differences(plain[1], seen[1])
