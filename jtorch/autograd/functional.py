"""torch.autograd.functional: Jacobians and Hessians of functions of tensors, and products with them.

Products with the Jacobian from the right (jvp, hvp) use double backward. Backward is linear in its cotangent, and the
gradient of that linear function is the product.
"""
from __future__ import annotations

from collections.abc import Callable
from typing import Any

from jtorch._backward.view_history import requires_grad
from jtorch.autograd._calls import stack, zeros_like
from jtorch.autograd.run import grad
from jtorch.no_grad import enable_grad, mode, set_grad_enabled
from jtorch.tensor import Tensor

Tensors = Tensor | tuple[Tensor, ...]


# ---------------------------------------------------------------- arguments and results

def _as_tuple(given: Any, what: str, function: str) -> tuple[bool, tuple[Tensor, ...]]:
    """Return whether a tuple was given, and the tensors as a tuple."""
    is_tuple = isinstance(given, tuple)
    tensors = given if is_tuple else (given,)
    for i, t in enumerate(tensors):
        if not isinstance(t, Tensor):
            which = f"value at index {i} has" if is_tuple else f"given {what} has"
            raise TypeError(f"The {what} given to {function} must be either a Tensor or a tuple of Tensors but the {which} type "
                            f"{type(t)}.")
    return is_tuple, tensors


def _grad_preprocess(inputs: tuple, create_graph: bool, needed: bool) -> tuple:
    """Return new tensors for the inputs, so that inputs captured by the function count as constants."""
    return tuple([t.view_as(t) if create_graph and t.requires_grad else     # type: ignore[attr-defined]
                  t.detach().requires_grad_(needed) for t in inputs])


def _grad_postprocess(results: tuple, create_graph: bool) -> tuple:
    if isinstance(results[0], tuple):
        return tuple([_grad_postprocess(r, create_graph) for r in results])
    return results if create_graph else tuple([t.detach() for t in results])


def _tuple_postprocess(results: Any, as_tuple: bool | tuple[bool, bool]) -> Any:
    """Return results as the function has them: in a tuple or alone. For tuples of tuples two flags are given."""
    if isinstance(as_tuple, tuple):
        outer, inner = as_tuple
        return _tuple_postprocess(tuple([_tuple_postprocess(r, inner) for r in results]), outer)
    return results if as_tuple else results[0]


def _construct_standard_basis_for(tensors: tuple[Tensor, ...], tensor_numels: tuple[int, ...]) -> tuple[Tensor, ...]:
    """Return an identity matrix as one block of columns for each tensor, of the tensor's dtype and on its device."""
    rows, start, blocks = sum(tensor_numels), 0, []
    for t, numel in zip(tensors, tensor_numels, strict=True):
        block = t.new_zeros(rows, numel)
        block.diagonal(-start).fill_(1)
        blocks.append(block)
        start += numel
    return tuple(blocks)


def _called(func: Callable, inputs: tuple, name: str, strict: bool) -> tuple[bool, tuple]:
    is_tuple, outputs = _as_tuple(func(*inputs), "outputs of the user-provided function", name)
    _require(outputs, strict, _OUTPUT)
    return is_tuple, outputs


def _vector(v: Any, like: tuple, is_tuple: bool, name: str, create_graph: bool) -> tuple:
    """Check that ``v`` has the lengths and sizes of ``like``, and return its tensors."""
    tensors = _grad_preprocess(_as_tuple(v, "v", name)[1], create_graph, False)
    if len(tensors) != len(like):
        raise RuntimeError(f"v is a tuple of invalid length: should be {len(like)} but got {len(tensors)}." if is_tuple else
                           "The given v should contain a single Tensor.")
    for i, (t, other) in enumerate(zip(tensors, like, strict=True)):
        if t.size() != other.size():
            raise RuntimeError(f"{f'Entry {i} in ' if is_tuple else ''}v has invalid size: should be {other.size()} but got "
                               f"{t.size()}.")
    return tensors


def _is_one_number(tensors: tuple) -> bool:
    return len(tensors) == 1 and tensors[0].numel() == 1


# ---------------------------------------------------------------- strict mode

_NOT_ALLOWED = "This is not allowed in strict mode."
_OUTPUT = ("Output {i} of the user-provided function does not require gradients. The outputs must be computed in a "
           "differentiable manner from the input when running in strict mode.")
_UNUSED = "The output of the user-provided function is independent of input {i}. " + _NOT_ALLOWED
_GRAD = "The gradient with respect to input {i} is independent of the inputs of the user-provided function. " + _NOT_ALLOWED
_JACOBIAN = ("While computing the hessian, found that the jacobian of the user-provided function with respect to input {i} is "
             "independent of the input. This is not allowed in strict mode. You should ensure that your function is twice "
             "differentiable and that the jacobian depends on the inputs (this would be violated by a linear function for "
             "example).")
_HESSIAN = ("The hessian of the user-provided function with respect to input {i} is independent of the input. This is not "
            "allowed in strict mode. You should ensure that your function is thrice differentiable and that the hessian "
            "depends on the inputs.")
_LINEAR = ("The gradient with respect to the input is independent of entry {i} in the grad_outputs when using the double "
           "backward trick to compute forward mode gradients. " + _NOT_ALLOWED)
_TWICE = "The jacobian of the user-provided function is independent of input {i}. " + _NOT_ALLOWED
_TWICE_LINEAR = ("The hessian of the user-provided function is independent of entry {i} in the grad_jacobian. This is "
                 "not allowed "
                 "in strict mode as it prevents from using the double backward trick to replace forward mode AD.")
_CONSTANT = ("The {what} of the user-provided function is independent of input {i}. This is not allowed in strict mode when "
             "create_graph=True.")


def _require(tensors: tuple, strict: bool, message: str) -> None:
    """Raise RuntimeError in strict mode if a tensor is missing or has no history."""
    for i, t in enumerate(tensors if strict else ()):
        if t is None:
            raise RuntimeError(_UNUSED.format(i=i))
        if not t.requires_grad:
            raise RuntimeError(message.format(i=i))


def _filled(grads: tuple, like: tuple, strict: bool, create_graph: bool, missing: str, what: str = "jacobian") -> tuple:
    """Replace missing gradients by zeros; in strict mode raise for them and for gradients without history."""
    for i, g in enumerate(grads if strict else ()):
        if g is None:
            raise RuntimeError(missing.format(i=i))
        if create_graph and not g.requires_grad:
            raise RuntimeError(_CONSTANT.format(i=i, what=what))
    return tuple([zeros_like(t) if g is None else g for g, t in zip(grads, like, strict=True)])


def _grad(outputs: tuple, inputs: tuple, given: tuple | None = None, create_graph: bool = False, retain: bool | None = None):
    """Differentiate the outputs that require grad; return None for inputs that they do not depend on."""
    pairs = [(o, g) for o, g in zip(outputs, given or (None,) * len(outputs), strict=True) if o is not None and requires_grad(o)]
    if not pairs:
        return (None,) * len(inputs)
    return grad([o for o, _ in pairs], inputs, [g for _, g in pairs], retain, create_graph, allow_unused=True)


# ---------------------------------------------------------------- products

def vjp(func: Callable, inputs: Tensors, v: Tensors | None = None, create_graph: bool = False, strict: bool = False) -> tuple:
    """Return (outputs, vᵀJ) at ``inputs``. See torch.autograd.functional.vjp.

    Args:
        func: a function of Tensors that returns a Tensor or a tuple of them.
        inputs (Tensor or tuple of Tensors): the arguments, floating or complex, any shapes.
        v (Tensor or tuple of Tensors): the vector, of the outputs' shapes; optional for one output of one element.
        create_graph (bool): whether to record the computation, so that the result can be differentiated.
        strict (bool): whether an output that does not depend on an input is an error instead of zero.

    Returns:
        (outputs, product), the product of the inputs' form and shapes.

    Raises:
        RuntimeError: with ``strict``, where an output does not depend on an input; shapes of ``v`` that do not fit.
        TypeError: inputs or outputs that are no Tensors.

    Example::

        >>> torch.autograd.functional.vjp(torch.exp, torch.zeros(2), torch.ones(2))
        (tensor([1., 1.]), tensor([1., 1.]))

    """
    with enable_grad():
        is_tuple, inputs = _as_tuple(inputs, "inputs", "vjp")
        inputs = _grad_preprocess(inputs, create_graph, True)
        is_out_tuple, outputs = _called(func, inputs, "vjp", strict)
        if v is not None:
            v = _vector(v, outputs, is_out_tuple, "vjp", create_graph)
        elif not _is_one_number(outputs):
            raise RuntimeError("The vector v can only be None if the user-provided function returns a single Tensor "
                               "with a single "
                               "element.")
    with set_grad_enabled(create_graph or mode.grad):
        product = _filled(_grad(outputs, inputs, v, create_graph), inputs, strict, create_graph, _UNUSED)
    return (_tuple_postprocess(_grad_postprocess(outputs, create_graph), is_out_tuple),
            _tuple_postprocess(_grad_postprocess(product, create_graph), is_tuple))


def _input_vector(v: Any, inputs: tuple, is_tuple: bool, name: str, create_graph: bool) -> tuple | None:
    if v is not None:
        return _vector(v, inputs, is_tuple, name, create_graph)
    if not _is_one_number(inputs):
        raise RuntimeError("The vector v can only be None if the input to the user-provided function is a single Tensor with a "
                           "single element.")
    return None


def jvp(func: Callable, inputs: Tensors, v: Tensors | None = None, create_graph: bool = False, strict: bool = False) -> tuple:
    """Return (outputs, Jv) at ``inputs``. See torch.autograd.functional.jvp.

    Args:
        func: a function of Tensors that returns a Tensor or a tuple of them.
        inputs (Tensor or tuple of Tensors): the arguments, floating or complex, any shapes.
        v (Tensor or tuple of Tensors): the vector, of the inputs' shapes; optional for one input of one element.
        create_graph (bool): whether to record the computation, so that the result can be differentiated.
        strict (bool): whether an output that does not depend on an input is an error instead of zero.

    Returns:
        (outputs, product), the product of the outputs' form and shapes.

    Raises:
        RuntimeError: with ``strict``, where an output does not depend on an input; shapes of ``v`` that do not fit.
        TypeError: inputs or outputs that are no Tensors.

    Example::

        >>> torch.autograd.functional.jvp(torch.exp, torch.zeros(2), torch.ones(2))
        (tensor([1., 1.]), tensor([1., 1.]))

    """
    with enable_grad():
        is_tuple, inputs = _as_tuple(inputs, "inputs", "jvp")
        inputs = _grad_preprocess(inputs, create_graph, True)
        v = _input_vector(v, inputs, is_tuple, "jvp", create_graph)
        is_out_tuple, outputs = _called(func, inputs, "jvp", strict)
        given = tuple([zeros_like(o).requires_grad_() for o in outputs])
        back = _grad(outputs, inputs, given, True)
        _require(back, strict, _GRAD)
    with set_grad_enabled(create_graph or mode.grad):
        product = _filled(_grad(back, given, v, create_graph), outputs, strict, create_graph, _LINEAR)
    return (_tuple_postprocess(_grad_postprocess(outputs, create_graph), is_out_tuple),
            _tuple_postprocess(_grad_postprocess(product, create_graph), is_out_tuple))


def _scalar_and_gradient(func: Callable, inputs: tuple, name: str, strict: bool) -> tuple[tuple, tuple]:
    """Return the function's one number, and its gradient with history."""
    is_out_tuple, outputs = _called(func, inputs, name, strict)
    if is_out_tuple:
        raise RuntimeError(f"The function given to {name} should return a single Tensor")
    if outputs[0].numel() != 1:
        raise RuntimeError(f"The Tensor returned by the function given to {name} should contain a single element")
    jac = _grad(outputs, inputs, create_graph=True)
    _require(jac, strict, _JACOBIAN)
    return outputs, jac


def vhp(func: Callable, inputs: Tensors, v: Tensors | None = None, create_graph: bool = False, strict: bool = False) -> tuple:
    """Return (output, vᵀH) of a function that returns one number. See torch.autograd.functional.vhp.

    Args:
        func: a function of Tensors that returns a Tensor with one element.
        inputs (Tensor or tuple of Tensors): the arguments, floating or complex, any shapes.
        v (Tensor or tuple of Tensors): the vector, of the inputs' shapes; optional for one input of one element.
        create_graph (bool): whether to record the computation, so that the result can be differentiated.
        strict (bool): whether an output that does not depend on an input is an error instead of zero.

    Returns:
        (output, product), the product of the inputs' form and shapes.

    Raises:
        RuntimeError: with ``strict``, where an output does not depend on an input; shapes of ``v`` that do not fit.
        TypeError: inputs or outputs that are no Tensors.

    Example::

        >>> x, v = torch.tensor([1.0, 2.0]), torch.ones(2)
        >>> torch.autograd.functional.vhp(lambda x: (x ** 3).sum(), x, v)
        (tensor(9.), tensor([ 6., 12.]))

    """
    with enable_grad():
        is_tuple, inputs = _as_tuple(inputs, "inputs", "vhp")
        inputs = _grad_preprocess(inputs, create_graph, True)
        v = _input_vector(v, inputs, is_tuple, "vhp", create_graph)
        outputs, jac = _scalar_and_gradient(func, inputs, "vhp", strict)
    with set_grad_enabled(create_graph or mode.grad):
        product = _filled(_grad(jac, inputs, v, create_graph), inputs, strict, create_graph, _TWICE, "hessian")
    return _grad_postprocess(outputs, create_graph)[0], _tuple_postprocess(_grad_postprocess(product, create_graph), is_tuple)


def hvp(func: Callable, inputs: Tensors, v: Tensors | None = None, create_graph: bool = False, strict: bool = False) -> tuple:
    """Return (output, Hv) of a function that returns one number; vhp is cheaper. See torch.autograd.functional.hvp.

    Args:
        func: a function of Tensors that returns a Tensor with one element.
        inputs (Tensor or tuple of Tensors): the arguments, floating or complex, any shapes.
        v (Tensor or tuple of Tensors): the vector, of the inputs' shapes; optional for one input of one element.
        create_graph (bool): whether to record the computation, so that the result can be differentiated.
        strict (bool): whether an output that does not depend on an input is an error instead of zero.

    Returns:
        (output, product), the product of the inputs' form and shapes.

    Raises:
        RuntimeError: with ``strict``, where an output does not depend on an input; shapes of ``v`` that do not fit.
        TypeError: inputs or outputs that are no Tensors.

    Example::

        >>> x, v = torch.tensor([1.0, 2.0]), torch.ones(2)
        >>> torch.autograd.functional.hvp(lambda x: (x ** 3).sum(), x, v)
        (tensor(9.), tensor([ 6., 12.]))

    """
    with enable_grad():
        is_tuple, inputs = _as_tuple(inputs, "inputs", "hvp")
        inputs = _grad_preprocess(inputs, create_graph, True)
        v = _input_vector(v, inputs, is_tuple, "hvp", create_graph)
        outputs, jac = _scalar_and_gradient(func, inputs, "hvp", strict)
        given = tuple([zeros_like(t).requires_grad_() for t in inputs])
        twice = _grad(jac, inputs, given, True)
        _require(jac, strict, _HESSIAN)
    with set_grad_enabled(create_graph or mode.grad):
        product = _filled(_grad(twice, given, v, create_graph), inputs, strict, create_graph, _TWICE_LINEAR, "hessian")
    return _grad_postprocess(outputs, create_graph)[0], _tuple_postprocess(_grad_postprocess(product, create_graph), is_tuple)


# ---------------------------------------------------------------- Jacobians and Hessians

def jacobian(func: Callable, inputs: Tensors, create_graph: bool = False, strict: bool = False, vectorize: bool = False,
             strategy: str = "reverse-mode") -> Any:
    """Return the Jacobian of ``func``: a tensor of shape output + input for each pair.

    The rows are computed one after the other, ``vectorize`` or not. ``strategy="forward-mode"`` computes all columns at
    once by forward mode.

    Args:
        func: a function of Tensors that returns a Tensor or a tuple of them.
        inputs (Tensor or tuple of Tensors): the arguments, floating or complex, any shapes.
        create_graph (bool): whether to record the computation, so that the result can be differentiated.
        strict (bool): whether an output that does not depend on an input is an error instead of zero.
        vectorize (bool): required for forward mode; without effect in reverse mode.
        strategy (str): "reverse-mode" or "forward-mode".

    Returns:
        a Tensor of shape output + input; for tuples a tuple (of tuples).

    Raises:
        RuntimeError: with ``strict``, where an output does not depend on an input.
        TypeError: inputs or outputs that are no Tensors.

    Example::

        >>> torch.autograd.functional.jacobian(torch.exp, torch.zeros(2))
        tensor([[1., 0.],
                [0., 1.]])

    """
    _check_strategy(create_graph, strict, vectorize, strategy)
    if strategy == "forward-mode":
        return _forward(func, inputs)
    with enable_grad():
        is_tuple, inputs = _as_tuple(inputs, "inputs", "jacobian")
        inputs = _grad_preprocess(inputs, create_graph, True)
        is_out_tuple, outputs = _called(func, inputs, "jacobian", strict)
        if vectorize and strict:
            raise RuntimeError("torch.autograd.functional.jacobian: `strict=True` and `vectorized=True` are not supported "
                               "together. Please either set `strict=False` or `vectorize=False`.")
        rows = [_grad_postprocess(_rows(i, o, inputs, create_graph, strict), create_graph) for i, o in enumerate(outputs)]
    return _tuple_postprocess(tuple([_tuple_postprocess(r, is_tuple) for r in rows]), is_out_tuple)


def _forward(func: Callable, inputs: Tensors) -> Any:
    from jtorch.func import jacfwd
    is_tuple, inputs = _as_tuple(inputs, "inputs", "jacobian")
    is_out_tuple = False

    def called(*given: Tensor) -> tuple:
        nonlocal is_out_tuple
        is_out_tuple, outputs = _as_tuple(func(*given), "outputs", "jacobian")
        return outputs
    rows = jacfwd(called, tuple(range(len(inputs))))(*inputs)
    made = [_tuple_postprocess(list(r), is_tuple) for r in rows]        # As in PyTorch, rows are lists.
    return _tuple_postprocess(made, is_out_tuple)


def _check_strategy(create_graph: bool, strict: bool, vectorize: bool, strategy: str) -> None:
    if strategy not in ("forward-mode", "reverse-mode"):
        raise AssertionError('Expected strategy to be either "forward-mode" or "reverse-mode". Hint: If your function has more '
                             'outputs than inputs, "forward-mode" tends to be more performant. Otherwise, prefer to use '
                             '"reverse-mode".')
    if strategy == "reverse-mode":
        return
    if create_graph:
        raise NotImplementedError("torch.autograd.functional.jacobian: `create_graph=True` and "
                                  "`strategy=\"forward-mode\"` are not "
                                  "supported together (yet). Please either set `create_graph=False` or "
                                  "`strategy=\"reverse-mode\"`.")
    if strict:
        raise RuntimeError("torch.autograd.functional.jacobian: `strict=True` and `strategy=\"forward-mode\"` are not supported "
                           "together (yet). Please either set `strict=False` or `strategy=\"reverse-mode\"`.")
    if not vectorize:
        raise NotImplementedError("Computing Jacobian using forward-AD or forward-over-reverse Hessian isonly implemented for "
                                  "`vectorize=True`.")


def _rows(i: int, output: Tensor, inputs: tuple, create_graph: bool, strict: bool) -> tuple:
    """Return one output's rows of the Jacobian, as a block for each input."""
    flat = output.reshape(-1)       # type: ignore[attr-defined]
    rows = [_row(i, flat[j], inputs, create_graph, strict) for j in range(output.numel())]
    blocks = [stack(column) for column in zip(*rows, strict=True)] if rows else [zeros_like(t)[None][:0] for t in inputs]    # type: ignore[index]
    return tuple([b.reshape((*output.shape, *t.shape)) for b, t in zip(blocks, inputs, strict=True)])


def _row(i: int, element: Tensor, inputs: tuple, create_graph: bool, strict: bool) -> tuple:
    grads = _grad((element,), inputs, None, create_graph, True)
    for k, g in enumerate(grads if strict else ()):
        if g is None:
            raise RuntimeError(f"Output {i} of the user-provided function is independent of input {k}. {_NOT_ALLOWED}")
        if create_graph and not g.requires_grad:
            raise RuntimeError(_CONSTANT.format(i=i, what="jacobian"))
    return tuple([zeros_like(t) if g is None else g for g, t in zip(grads, inputs, strict=True)])


def hessian(func: Callable, inputs: Tensors, create_graph: bool = False, strict: bool = False, vectorize: bool = False,
            outer_jacobian_strategy: str = "reverse-mode") -> Any:
    """Return the Hessian of a function that returns one number. See torch.autograd.functional.hessian.

    Args:
        func: a function of Tensors that returns a Tensor with one element.
        inputs (Tensor or tuple of Tensors): the arguments, floating or complex, any shapes.
        create_graph (bool): whether to record the computation, so that the result can be differentiated.
        strict (bool): whether an output that does not depend on an input is an error instead of zero.
        vectorize (bool): required for forward mode; without effect in reverse mode.
        outer_jacobian_strategy (str): "reverse-mode" or "forward-mode", for the Jacobian of the gradient.

    Returns:
        a Tensor of shape input + input; for a tuple of inputs a tuple of tuples.

    Raises:
        RuntimeError: with ``strict``, where an output does not depend on an input.
        TypeError: inputs or outputs that are no Tensors.

    Example::

        >>> torch.autograd.functional.hessian(lambda x: (x ** 3).sum(), torch.tensor([1.0, 2.0]))
        tensor([[ 6.,  0.],
                [ 0., 12.]])

    """
    is_tuple, inputs = _as_tuple(inputs, "inputs", "hessian")
    if outer_jacobian_strategy not in ("forward-mode", "reverse-mode"):
        raise AssertionError('Expected strategy to be either "forward-mode" or "reverse-mode".')

    def one_number(*given):
        out = func(*given)
        is_out_tuple, outputs = _as_tuple(out, "outputs of the user-provided function", "hessian")
        _require(outputs, strict, _OUTPUT)
        if is_out_tuple:
            raise RuntimeError("The function given to hessian should return a single Tensor")
        if out.numel() != 1:
            raise RuntimeError("The Tensor returned by the function given to hessian should contain a single element")
        return out.squeeze()

    def gradient(*given):
        if outer_jacobian_strategy == "forward-mode":
            given = tuple([t.requires_grad_() for t in given])
        jac = jacobian(one_number, given, create_graph=True)
        _require(jac, strict, _JACOBIAN)
        return jac

    found = jacobian(gradient, inputs, create_graph, strict, vectorize, outer_jacobian_strategy)
    return _tuple_postprocess(type(found)([_tuple_postprocess(row, is_tuple) for row in found]), is_tuple)


__all__ = ["hessian", "hvp", "jacobian", "jvp", "vhp", "vjp"]
