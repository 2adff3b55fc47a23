"""Small calls of each overload that PyTorch's type stubs declare are accepted or refused, with results as in PyTorch.

``record_overloads.py`` has recorded PyTorch's outcomes. Each optional argument is given once: if jtorch ignored
it, values would differ. Errors are compared by their types.
"""
from __future__ import annotations

import json

import pytest
from libraries import library
from surface.overload_calls import outcome, recorded, same

# Functions that are left out, and why.
NOT_BUILT = {
    "slice_inverse": "a name for PyTorch's own tracers", "native_norm": "a kernel of sparse tensors", "hsmm": "sparse", "sspaddmm": "sparse",
    "resize_as_sparse_": "sparse", "sparse_resize_and_clear_": "sparse", "col_indices_copy": "sparse", "crow_indices_copy": "sparse",
    "values_copy": "sparse", "indices_copy": "sparse", "hspmm": "sparse", "smm": "sparse", "sparse_mask": "sparse", "to_sparse": "sparse",
    "sparse_csr_tensor": "sparse", "sparse_csc_tensor": "sparse", "sparse_bsr_tensor": "sparse", "sparse_bsc_tensor": "sparse",
    "to_sparse_bsr": "sparse", "to_sparse_bsc": "sparse", "sparse_coo_tensor": "sparse", "is_distributed": "always False in PyTorch",
    "is_vulkan_available": "another device", "chalf": "complex32",
}
# Functions with calls that PyTorch accepts by accident, or that only jtorch accepts.
ACCIDENTS = {
    "lu_unpack": "pivots of another batch are read as they lie in memory",
    "bartlett_window": "a complex dtype is taken for one element", "blackman_window": "so it is", "hamming_window": "so it is",
    "hann_window": "so it is", "kaiser_window": "so it is",
    "storage_type": "the class has another metaclass", "__pow__": "NotImplemented where an operator has a named argument",
    "hardshrink": "out= of another shape", "threshold": "out= of another shape", "native_batch_norm": "out= of another shape",
    "to": "a Python float stands for a tensor", "hash_tensor": "dim None", "unflatten": "sizes None",
    "is_contiguous": "a memory format is taken by position", "apply_": "a function is taken by name", "range": "pin_memory is taken",
    "as_tensor": "a dtype is taken by position", "new": "a storage by name", "xlogy_": "the method's error for a number",
    "type": "non_blocking of any type is taken", "embedding_bag": "errors of sums that would be sparse",
}


def is_accident(args: list, kwargs: dict, expected: dict) -> bool:
    """Return whether a call is of a kind that jtorch may accept although PyTorch refuses it, or the reverse.

    jtorch accepts ``None`` for an argument that may be left out, and no number under the name ``self`` of a tensor.
    A call without a kernel in PyTorch may work in jtorch, or raise another error.
    """
    error = expected.get("error") if isinstance(expected, dict) else None
    return (error == "TypeError" and None in args) or error == "NotImplementedError" or bool(kwargs.keys() & {"self", "element", "test_element"})


def labels() -> list[str]:
    """Return the overloads' labels in order."""
    return sorted(recorded())


@pytest.mark.one_mode
@pytest.mark.parametrize("part", range(8))
def test_overloads(part):
    xp = library("jtorch")
    wrong = []
    for label in labels()[part::8]:
        for owner, name, args, kwargs, expected in recorded()[label]:
            if name in NOT_BUILT or name in ACCIDENTS or is_accident(args, kwargs, expected):
                continue
            got = outcome(xp, owner, name, args, kwargs)
            if not same(expected, got):
                wrong.append(f"{owner}.{name} {json.dumps(args)} {json.dumps(kwargs)}\n    {json.dumps(expected)[:150]}\n    {json.dumps(got)[:150]}")
    assert not wrong, f"{len(wrong)} calls differ from PyTorch (expected, got):\n" + "\n".join(wrong[:40])


def test_each_function_has_calls():
    names = {(owner, name) for calls in recorded().values() for owner, name, *_ in calls}
    assert len(recorded()) > 1400 and len(names) > 900
