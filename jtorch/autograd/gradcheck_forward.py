"""The part of gradcheck that compares tangents with finite differences, singly and in a batch."""
from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from jtorch.autograd import forward_ad
from jtorch.autograd._calls import stack, zeros_like
from jtorch.autograd._differences import (
    GradcheckError,
    array,
    as_tuple,
    difference,
    double,
    needing_grad,
    random_array,
    tensor_like,
)
from jtorch.storage import aval_of
from jtorch.tensor import Tensor

_PARTS = ((1.0, "real"), (1j, "imaginary"))


def check_forward(func: Callable, inputs: tuple, check: Any) -> None:
    """Raise GradcheckError if a tangent differs from finite differences, or if a missing tangent does not act as
    zeros.
    """
    for j, t in enumerate(needing_grad(inputs)):
        for unit, part in _PARTS if t.is_complex() else _PARTS[:1]:
            for step in _steps(t, unit, check.fast_mode):
                _compare(func, inputs, j, t, step, part, check)
    if check.check_undefined_grad:
        _check_undefined(func, inputs)


def _steps(t: Tensor, unit: complex, fast: bool) -> list[np.ndarray]:
    """Return the directions in which to vary an input: one per element, or a single random one."""
    if fast:
        random = np.random.Generator(np.random.PCG64(2147483647))
        chosen = random_array(random, t, 0.0).real
        return [unit * chosen / (np.linalg.norm(chosen) or 1.0)]
    steps: np.ndarray = np.zeros((t.numel(), t.numel()), double(array(t)))
    np.fill_diagonal(steps, unit)
    return [step.reshape(tuple(t.shape)) for step in steps]


def _compare(func: Callable, inputs: tuple, j: int, t: Tensor, step: np.ndarray, part: str, check: Any) -> None:
    def of_floats(*given: Any) -> tuple:
        return _floats(func(*given))
    numerical = difference(of_floats, inputs, t, step, check.eps, lambda out: out, True)
    analytical = tangents_of(func, inputs, {id(t): tensor_like(t, step)})
    for i, (n, found) in enumerate(zip(numerical, analytical, strict=True)):
        a = np.zeros_like(n) if found is None else array(found).ravel()
        if not np.allclose(a, n, check.rtol, check.atol, equal_nan=False):
            prefix = f"While considering the {part} part of complex inputs only, " if t.is_complex() else ""
            raise GradcheckError(f"{prefix}Jacobian computed with forward mode mismatch for output {i} with respect to "
                                 f"input {j},\n"
                                 f"numerical:{n}\nanalytical:{a}\n")


def _floats(outputs: Any) -> tuple:
    return tuple([o for o in as_tuple(outputs) if isinstance(o, Tensor) and aval_of(o).is_inexact])


def tangents_of(func: Callable, inputs: tuple, directions: dict[int, Tensor], plain: Any = None) -> list[Tensor | None]:
    """Return the outputs' tangents for given tangents of some inputs.

    Args:
        func: the function to differentiate.
        inputs: its arguments.
        directions: maps the id of an input to its tangent. Other inputs that require grad get zeros.
        plain: an input that gets no tangent at all.

    """
    with forward_ad.dual_level():
        given = []
        for t in inputs:
            if isinstance(t, Tensor) and t.requires_grad:
                tangent = directions.get(id(t))
                t = t.detach() if t is plain else forward_ad.make_dual(t.detach(), zeros_like(t) if tangent is None else tangent)
            given.append(t)
        return [forward_ad.unpack_dual(o).tangent for o in _floats(func(*given))]


def _check_undefined(func: Callable, inputs: tuple) -> None:
    """Check that an input without a tangent acts like one whose tangent is zero."""
    random = np.random.Generator(np.random.PCG64(0))
    all_of = {id(t): tensor_like(t, random_array(random, t, 0.0)) for t in needing_grad(inputs)}
    for t in needing_grad(inputs):
        others = {key: tangent for key, tangent in all_of.items() if key != id(t)}
        zero, none = tangents_of(func, inputs, others), tangents_of(func, inputs, others, t)
        for i, (a, b) in enumerate(zip(zero, none, strict=True)):
            if a is not None and b is not None and not np.allclose(array(a), array(b), equal_nan=True):
                raise GradcheckError("Mismatch in tangent values for output with index: ", i, " when input: ", t,
                                     " has an undefined tangent value. ", " Got: ", a, " but expected: ", b)


def check_batched(func: Callable, inputs: tuple) -> None:
    """Raise GradcheckError if tangents in a batch differ from those computed one by one."""
    from jtorch.func import vmap
    random = np.random.Generator(np.random.PCG64(0))
    for j, t in enumerate(needing_grad(inputs)):
        rows = [tensor_like(t, random_array(random, t, -1.0)) for _ in range(2)]
        expected = [tangents_of(func, inputs, {id(t): row}) for row in rows]
        if any([x is None for x in expected[0]]):
            continue
        found = vmap(lambda row, t=t: tuple(tangents_of(func, inputs, {id(t): row})))(stack(rows))
        for i, (got, *want) in enumerate(zip(found, *expected, strict=True)):
            if not np.allclose(array(got), np.stack([array(w) for w in want])):
                raise GradcheckError(f"For output {i} and input {j}: tangents computed in a batch differ from those "
                                     "computed one by "
                                     "one. gradcheck failed while testing batched gradient computation with forward-mode AD.")
