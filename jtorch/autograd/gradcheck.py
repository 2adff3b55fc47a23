"""torch.autograd.gradcheck and gradgradcheck, which compare gradients with finite differences."""
from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from jtorch._base import warned
from jtorch.autograd import _gradcheck_settings
from jtorch.autograd._calls import zeros_like
from jtorch.autograd._differences import (
    GradcheckError,
    array,
    as_tuple,
    columns,
    difference,
    differentiable,
    double,
    needing_grad,
    random_array,
    tensor_like,
)
from jtorch.autograd.gradcheck_forward import check_batched, check_forward
from jtorch.autograd.run import grad
from jtorch.tensor import Tensor


def gradcheck(func: Callable, inputs: Any, *, eps: float = 1e-6, atol: float = 1e-5, rtol: float = 1e-3,
              raise_exception: bool = True, nondet_tol: float = 0.0, check_undefined_grad: bool = True,
              check_grad_dtypes: bool = False, check_batched_grad: bool = False, check_batched_forward_grad: bool = False,
              check_forward_ad: bool = False, check_backward_ad: bool = True, fast_mode: bool = False,
              masked: bool | None = None) -> bool:
    """Compare the gradients of ``func`` at ``inputs`` with finite differences. See torch.autograd.gradcheck.

    Inputs that require grad should be double precision. ``fast_mode`` compares one random projection instead of the
    whole Jacobian. ``check_batched_grad`` has no effect, since batched gradients are computed row by row here.

    Args:
        func: a function of ``inputs`` that returns a Tensor or a tuple of them.
        inputs (Tensor or tuple): those that require grad are checked; float64 or complex128.
        eps (float): the step of the finite differences.
        atol (float): the absolute tolerance.
        rtol (float): the relative tolerance.
        raise_exception (bool): raises where they differ, instead of returning False.
        nondet_tol (float): the tolerance between two equal backwards.
        check_undefined_grad (bool): whether to also check gradients that are None.
        check_grad_dtypes (bool): whether a gradient must have its input's dtype.
        check_batched_grad (bool): accepted, see above.
        check_batched_forward_grad (bool): whether to compare tangents computed in a batch with ones computed singly.
        check_forward_ad (bool): whether to check forward mode.
        check_backward_ad (bool): whether to check backward.
        fast_mode (bool): see above.
        masked (bool or None): accepted; sparse inputs are compared by their stored values.

    Returns:
        True where all agree.

    Raises:
        GradcheckError: where they do not, unless ``raise_exception=False``.
        ValueError: no input requires grad, or ``eps`` and dtypes do not fit.

    Example::

        >>> x = torch.tensor([1.0, 2.0], dtype=torch.float64, requires_grad=True)
        >>> torch.autograd.gradcheck(torch.exp, (x,))
        True

    """
    if not (check_forward_ad or check_backward_ad):
        raise AssertionError("Expected at least one of check_forward_ad or check_backward_ad to be True")
    if check_batched_grad and not check_backward_ad:
        raise AssertionError("Setting check_batched_grad=True requires check_backward_ad to be True")
    if check_batched_forward_grad and not check_forward_ad:
        raise AssertionError("Setting check_batched_forward_grad=True requires check_forward_ad to be True")
    settings = _gradcheck_settings.Check(eps, atol, rtol, nondet_tol, check_undefined_grad, check_grad_dtypes, fast_mode)
    try:
        tensors = as_tuple(inputs)
        _check_inputs(tensors)
        if check_backward_ad:
            _checked(func, tensors, settings)
        if check_forward_ad:
            check_forward(func, tensors, settings)
        if check_batched_forward_grad:
            check_batched(func, tensors)
        return True
    except GradcheckError:
        if raise_exception:
            raise
        return False


def gradgradcheck(func: Callable, inputs: Any, grad_outputs: Any = None, *, eps: float = 1e-6, atol: float = 1e-5,
                  rtol: float = 1e-3, gen_non_contig_grad_outputs: bool = False, raise_exception: bool = True,
                  nondet_tol: float = 0.0, check_undefined_grad: bool = True, check_grad_dtypes: bool = False,
                  check_batched_grad: bool = False, check_fwd_over_rev: bool = False, check_rev_over_rev: bool = True,
                  fast_mode: bool = False, masked: bool = False) -> bool:
    """Compare the second gradients of ``func`` at ``inputs`` and ``grad_outputs`` with finite differences.

    Args:
        func: as in ``gradcheck``.
        inputs: as in ``gradcheck``.
        eps: as in ``gradcheck``.
        atol: as in ``gradcheck``.
        rtol: as in ``gradcheck``.
        raise_exception: as in ``gradcheck``.
        nondet_tol: as in ``gradcheck``.
        fast_mode: as in ``gradcheck``.
        grad_outputs (Tensor, tuple or None): the outputs' gradients, of the outputs' shapes; None draws random ones.
        gen_non_contig_grad_outputs (bool): accepted.
        check_undefined_grad: as in ``gradcheck``.
        check_grad_dtypes: as in ``gradcheck``.
        check_batched_grad: as in ``gradcheck``.
        masked: as in ``gradcheck``.
        check_fwd_over_rev (bool): whether to check forward mode through the backward.
        check_rev_over_rev (bool): whether to check the backward of the backward.

    Returns:
        True where all agree.

    Raises:
        GradcheckError: where they do not, unless ``raise_exception=False``.

    Example::

        >>> x = torch.tensor([1.0, 2.0], dtype=torch.float64, requires_grad=True)
        >>> torch.autograd.gradgradcheck(torch.sin, (x,))
        True

    """
    if not (check_fwd_over_rev or check_rev_over_rev):
        raise AssertionError("Expected at least one of check_fwd_over_rev or check_rev_over_rev to be True")
    tensors = as_tuple(inputs)
    given = as_tuple(grad_outputs) if grad_outputs is not None else _random_gradients(func, tensors)

    def gradients(*args):
        # Forward mode passes dual tensors, which do not require grad yet.
        for t, like in zip(args, (*tensors, *given), strict=True):
            if isinstance(like, Tensor) and like.requires_grad:
                t.requires_grad_()
        own = args[:len(args) - len(given)]
        outputs = differentiable(func(*own))
        wanted = [t for t in own if isinstance(t, Tensor) and t.requires_grad]
        found = grad(outputs, wanted, args[len(own):], create_graph=True, allow_unused=True)
        return tuple([g for g in found if g is not None])

    return gradcheck(gradients, (*tensors, *given), eps=eps, atol=atol, rtol=rtol, raise_exception=raise_exception,
                     nondet_tol=nondet_tol, check_undefined_grad=check_undefined_grad, check_grad_dtypes=check_grad_dtypes,
                     check_batched_grad=check_batched_grad, fast_mode=fast_mode, check_forward_ad=check_fwd_over_rev,
                     check_backward_ad=check_rev_over_rev)


def _random_gradients(func: Callable, inputs: tuple) -> tuple:
    random = np.random.Generator(np.random.PCG64(0))
    return tuple([tensor_like(o, random_array(random, o, -1.0)).requires_grad_() for o in differentiable(func(*inputs))])


# ---------------------------------------------------------------- one check

def _checked(func: Callable, inputs: tuple, check: _gradcheck_settings.Check) -> bool:
    returned = as_tuple(func(*inputs))
    outputs = differentiable(returned)
    if not outputs:
        return _check_constant(func, inputs, check)
    parts = (("imaginary", np.imag, 1j), ("real", np.real, 1.0)) if any(o.is_complex() for o in outputs) else \
        (("real", np.real, 1.0),)
    for part in parts:
        compare = _compare_projections if check.fast_mode else _compare_jacobians
        compare(func, inputs, outputs, part, check)
    _check_zero(outputs, inputs)
    if check.check_undefined_grad and len(outputs) > 1:
        _check_missing(differentiable(func(*inputs)), inputs)
    return True


def _check_inputs(inputs: tuple) -> None:
    for i, t in enumerate(inputs):
        if not isinstance(t, Tensor) or not t.requires_grad:
            continue
        if t.dtype.name not in ("float64", "complex128"):
            warned.warn(f"Input #{i} requires gradient and is not a double precision floating point or complex. This "
                        f"check will "
                        "likely fail if all the inputs are not of double precision floating point or complex. ")
        if any(s == 0 and n > 1 for s, n in zip(t.stride(), t.shape, strict=True)):
            raise RuntimeError(f"The {i}th input has a dimension with stride 0. gradcheck only supports inputs that are "
                               "non-overlapping to be able to compute the numerical gradients correctly. You should call "
                               ".contiguous on the input before passing it to gradcheck.")
    if not needing_grad(inputs):
        raise ValueError("gradcheck expects at least one input tensor to require gradient, but none of them have "
                         "requires_grad=True.")


def _check_constant(func: Callable, inputs: tuple, check: _gradcheck_settings.Check) -> bool:
    """Raise if an output without history changes with the inputs."""
    for t in needing_grad(inputs):
        for column in columns(func, inputs, t, check.eps, lambda o: o, all_outputs=True):
            if any(np.any(c) for c in column):
                raise GradcheckError("Numerical gradient for function expected to be zero")
    return True


# ---------------------------------------------------------------- comparisons

def _compare_jacobians(func: Callable, inputs: tuple, outputs: tuple, part: tuple, check: _gradcheck_settings.Check) -> None:
    needing = needing_grad(inputs)
    numerical = [list(columns(func, inputs, t, check.eps, part[1])) for t in needing]
    for i, o in enumerate(outputs):
        if part[2] == 1j and not o.is_complex():
            continue
        analytical = _analytical(o, needing, part[2], check)
        for j, (a, t) in enumerate(zip(analytical, needing, strict=True)):
            n = np.array([column[i] for column in numerical[j]]).reshape(t.numel(), o.numel())
            if not np.allclose(a, n, check.rtol, check.atol, equal_nan=False):
                raise GradcheckError(_mismatch(i, j, n, a, o, part[0]))


def _mismatch(i: int, j: int, numerical: Any, analytical: Any, output: Tensor, part: str) -> str:
    prefix = f"While considering the {part} part of complex outputs only, " if output.is_complex() else ""
    return (f"{prefix}Jacobian mismatch for output {i} with respect to input {j},\n"
            f"numerical:{numerical}\nanalytical:{analytical}\n")


def _analytical(output: Tensor, needing: list[Tensor], unit: complex, check: _gradcheck_settings.Check) -> list[np.ndarray]:
    """Compute the Jacobian by backward, and check that a second run gives the same."""
    last = _rows(output, needing, unit, check)
    # Compare up to three pairs of runs. Compiling a kernel, and then the trace, may change the rounding between two
    # runs.
    for _ in range(3):
        first, last = last, _rows(output, needing, unit, check)
        if not any([np.any(np.abs(a - b) > check.nondet_tol) for a, b in zip(first, last, strict=True)]):
            return first
    raise GradcheckError("Backward is not reentrant, i.e., running backward with same input and grad_output multiple "
                         "times gives different values, although analytical gradient matches numerical gradient."
                         f"The tolerance for nondeterminism was {check.nondet_tol}.")


def _rows(output: Tensor, needing: list[Tensor], unit: complex, check: _gradcheck_settings.Check) -> list[np.ndarray]:
    blocks: list[np.ndarray] = [np.zeros((t.numel(), output.numel()), double(array(t))) for t in needing]
    for k in range(output.numel()):
        given: np.ndarray = np.zeros(output.numel(), double(array(output)))
        given[k] = unit
        for block, g in zip(blocks, _vjp(output, needing, given, check), strict=True):
            block[:, k] = g
    return blocks


def _vjp(output: Tensor, needing: list[Tensor], given: np.ndarray, check: _gradcheck_settings.Check) -> list[np.ndarray]:
    found = grad(output, needing, tensor_like(output, given), retain_graph=True, allow_unused=True)
    for g, t in zip(found, needing, strict=True):
        if g is not None and g.size() != t.size():
            raise GradcheckError("Analytical gradient has incorrect size")
        if g is not None and g.dtype is not t.dtype and check.check_grad_dtypes:
            raise GradcheckError("Gradient has dtype mismatch")
    return [np.zeros(t.numel()) if g is None else array(g).ravel() for g, t in zip(found, needing, strict=True)]


def _compare_projections(func: Callable, inputs: tuple, outputs: tuple, part: tuple, check: _gradcheck_settings.Check) -> None:
    """Compare vᵀJu by differences and by backward, for one random u per input and v per output."""
    random = np.random.Generator(np.random.PCG64(2147483647))
    needing = needing_grad(inputs)
    vs = [random.uniform(size=o.numel()) for o in outputs]
    vs = [v / np.linalg.norm(v) if v.size else v for v in vs]
    for j, t in enumerate(needing):
        u = random_array(random, t, 0.0)
        u = np.asarray(u / np.linalg.norm(u) if u.size else u)
        steps = [u.real + 0j, 1j * u.imag] if t.is_complex() else [u]
        changes = [difference(func, inputs, t, s, check.eps, part[1]) for s in steps]
        for i, (o, v) in enumerate(zip(outputs, vs, strict=True)):
            if part[2] == 1j and not o.is_complex():
                continue
            n = sum(float(v @ c[i]) for c in changes)
            g = _vjp(o, needing, v * part[2], check)[j]
            a = float(np.sum(g.real * u.real.ravel()) + (np.sum(g.imag * u.imag.ravel()) if t.is_complex() else 0.0))
            atol = check.atol * float(u.real.sum() + u.imag.sum()) * float(v.sum())
            if not np.allclose(a, n, check.rtol, atol):
                raise GradcheckError(_mismatch(i, j, n, a, o, part[0]) + "\nThe above quantities relating the numerical and "
                                     "analytical jacobians are computed \nin fast mode.")


# ---------------------------------------------------------------- backward with zero or missing gradients

def _check_zero(outputs: tuple, inputs: tuple) -> None:
    """Check that gradients of zero give zeros with the inputs' dtypes, devices and sizes."""
    needing = needing_grad(inputs)
    found = grad(outputs, needing, [zeros_like(o) for o in outputs], retain_graph=True, allow_unused=True)
    for g, t in zip(found, needing, strict=True):
        if g is None:
            continue
        if np.any(array(g) != 0):
            raise GradcheckError("backward not multiplied by grad_output")
        if g.dtype is not t.dtype:
            raise GradcheckError("grad is incorrect type")
        if g.device != t.device:
            raise GradcheckError("grad is incorrect device")
        if g.size() != t.size():
            raise GradcheckError("grad is incorrect size")


def _check_missing(outputs: tuple, inputs: tuple) -> None:
    """Check that backward works without the gradient of any one output."""
    needing = needing_grad(inputs)
    for i in range(len(outputs)):
        rest = [o for k, o in enumerate(outputs) if k != i]
        try:
            found = grad(rest, needing, [zeros_like(o) for o in rest], retain_graph=True, allow_unused=True)
        except RuntimeError as error:
            raise GradcheckError("Expected backward function to handle undefined output grads.") from error
        if any(g is not None and np.any(array(g) != 0) for g in found):
            raise GradcheckError("Expected all input grads to be undefined or zero when all output grads are undefined or zero.")


__all__ = ["GradcheckError", "gradcheck", "gradgradcheck"]
