"""grad, vjp and jacrev: transforms that use backward. See torch.func."""
from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any

import numpy as np

from jtorch._base.pytree import flatten, unflatten
from jtorch.autograd._calls import stack
from jtorch.func._levels import Inputs, recording, released, tracking, zeros_like
from jtorch.no_grad import mode
from jtorch.tensor import Tensor

Argnums = int | tuple[int, ...]


# ---------------------------------------------------------------- arguments and results

def positions(argnums: Any, n: int) -> tuple[int, ...]:
    """Return the indices that ``argnums`` names among ``n`` arguments, checked."""
    if not isinstance(argnums, (int, tuple)):
        raise RuntimeError(f"argnums must be int or Tuple[int, ...], got: {type(argnums)}")
    if argnums == ():
        raise RuntimeError("argnums must be non-empty")
    found = []
    for i in (argnums,) if isinstance(argnums, int) else argnums:
        if not isinstance(i, int):
            raise RuntimeError(f"argnum must be int, got: {type(i)}")
        if not -n <= i < n:
            raise RuntimeError(f"Got argnum={i}, but only {n} positional inputs")
        found.append(i % n)
    if len(set(found)) != len(found):
        raise RuntimeError(f"argnums elements must be unique, got {tuple(found)}")
    return tuple(found)


def pick(args: tuple, argnums: Any) -> Any:
    """Return the arguments that ``argnums`` names: one argument, or a tuple."""
    at = positions(argnums, len(args))
    return args[at[0]] if isinstance(argnums, int) else tuple([args[i] for i in at])


def put(args: tuple, argnums: Any, new: Any) -> tuple:
    """Return the arguments with those that ``argnums`` names replaced."""
    out = list(args)
    for i, value in zip(positions(argnums, len(args)), (new,) if isinstance(argnums, int) else new, strict=True):
        out[i] = value
    return tuple(out)


def split_aux(out: Any, has_aux: bool, name: str) -> tuple[Any, Any]:
    """Return (output, aux) from what a function has returned; aux is None without ``has_aux``."""
    if not has_aux:
        return out, None
    if not (isinstance(out, tuple) and len(out) == 2):
        raise RuntimeError(f"{name}: output of function f should be a tuple: (output, aux) if has_aux is True")
    return out


def tensors_of(out: Any, name: str) -> tuple[list, Any]:
    """Return the tensors that a function has returned, and their tree structure."""
    leaves, form = flatten(out)
    if not leaves or (len(leaves) == 1 and leaves[0] is None):
        raise RuntimeError(f"{name}: Expected f to be a function that has non-empty output (got output = {leaves})")
    for t in leaves:
        if not isinstance(t, Tensor):
            raise RuntimeError(f"{name}: expected f(*primals) to return only tensors, got unsupported type {type(t)}")
    return leaves, form


# ---------------------------------------------------------------- grad

def grad_and_value(func: Callable, argnums: Argnums = 0, has_aux: bool = False) -> Callable:
    """Return a function that computes (gradient, value) of a scalar function. See torch.func.grad_and_value.

    Args:
        func: a function of Tensors, or of nested tuples, lists and dicts of them, that returns a Tensor of shape ().
        argnums (int or tuple of ints): the positional arguments to differentiate by; their Tensors are of a
            floating or complex dtype.
        has_aux (bool): ``func`` returns (output, aux); aux is returned unchanged.

    Returns:
        a function of ``func``'s arguments that returns (gradient, value), or with ``has_aux`` (gradient, (value,
            aux)).

    Raises:
        RuntimeError: when it is called, where the output is no Tensor of shape () or an argument is not
            differentiable.

    Example::

        >>> torch.func.grad_and_value(lambda x: (x ** 2).sum())(torch.tensor([1.0, 2.0]))
        (tensor([2., 4.]), tensor(5.))

    """
    @functools.wraps(func)
    def wrapper(*args: Any, **kwargs: Any) -> Any:
        outside = tracking()
        with recording(args):
            inputs = Inputs(pick(args, argnums))
            out, aux = split_aux(func(*put(args, argnums, inputs.tree()), **kwargs), has_aux, "grad_and_value(f)(*args)")
            _check_scalar(out)
            keep = outside and inputs.have_company([out])
            found = inputs.gradients([out], None, keep=keep, retain=keep)
            value = released((out, aux), keep)
        return found, (value if has_aux else value[0])
    return wrapper


def _check_scalar(out: Any) -> None:
    name = "grad_and_value(f)(*args)"
    if not isinstance(out, Tensor):
        raise RuntimeError(f"{name}: Expected f(*args) to return a Tensor, got {type(out)}")
    if out.dim() != 0:
        raise RuntimeError(f"{name}: Expected f(*args) to return a scalar Tensor, got tensor with {out.dim()} dims. Maybe you "
                           "wanted to use the vjp or jacrev APIs instead?")


def grad(func: Callable, argnums: Argnums = 0, has_aux: bool = False) -> Callable:
    """Return a function that computes the gradient of a scalar function. See torch.func.grad.

    The gradient has the tree structure of the argument (or of the tuple of arguments) that ``argnums`` selects. Nested
    tuples, lists and dicts are allowed. The transform nests, and ``backward`` reaches tensors that ``func`` captures.

    Args:
        func: a function of Tensors, or of nested tuples, lists and dicts of them, that returns a Tensor of shape ().
        argnums (int or tuple of ints): the positional arguments to differentiate by; their Tensors are of a
            floating or complex dtype.
        has_aux (bool): ``func`` returns (output, aux); aux is returned unchanged.

    Returns:
        a function of ``func``'s arguments that returns the gradient: the argument's shapes and dtypes; with
            ``has_aux`` a pair of the gradient and aux.

    Raises:
        RuntimeError: when it is called, where the output is no Tensor of shape () or an argument is not
            differentiable.

    Example::

        >>> torch.func.grad(torch.func.grad(torch.sin))(torch.tensor(0.5))
        tensor(-0.4794)

    """
    both = grad_and_value(func, argnums, has_aux)

    @functools.wraps(func)
    def wrapper(*args: Any, **kwargs: Any) -> Any:
        found, value = both(*args, **kwargs)
        return (found, value[1]) if has_aux else found
    return wrapper


# ---------------------------------------------------------------- vjp

def vjp(func: Callable, *primals: Any, has_aux: bool = False) -> tuple:
    """Return (output, a function from its cotangents to the primals' cotangents). See torch.func.vjp.

    The function may be called several times. It raises RuntimeError if its argument has another tree structure than the
    output.

    Args:
        func: a function of Tensors, or of nested tuples, lists and dicts of them.
        primals: the arguments at which ``func`` is differentiated.
        has_aux (bool): ``func`` returns (output, aux); aux is returned unchanged.

    Returns:
        (output, function); with ``has_aux``, aux follows. The function takes a cotangent of the output's
            form, shapes and dtypes, and returns a tuple with one for each primal.

    Raises:
        RuntimeError: when the function gets something of another form.

    Example::

        >>> out, back = torch.func.vjp(torch.sin, torch.zeros(2))
        >>> back(torch.ones(2))
        (tensor([1., 1.]),)

    """
    outside = tracking()
    with recording(primals):
        inputs = Inputs(primals)
        out, aux = split_aux(func(*inputs.tree()), has_aux, "vjp(f, *primals)")
        outputs, form = tensors_of(out, "vjp(f, *primals)")
        for t in outputs:
            if not (t.is_floating_point() or t.is_complex()):
                raise RuntimeError("vjp(f, ...): All outputs of f must be floating-point or complex Tensors, got Tensor with "
                                   f"dtype {t.dtype}")
        company = inputs.have_company(outputs)
        results = [released(tree, outside and company) for tree in (unflatten(outputs, form), aux)]

    def back(cotangents: Any, retain_graph: bool = True, create_graph: bool | None = None) -> Any:
        given, theirs = flatten(cotangents)
        if theirs != form:
            raise RuntimeError("Expected pytree structure of cotangents to be the same as pytree structure of outputs to the "
                               "function.")
        wanted = tracking() and (company or any([g.requires_grad for g in given]))
        with recording(grad=mode.grad):
            return inputs.gradients(outputs, given, keep=wanted if create_graph is None else create_graph, retain=retain_graph)

    return (results[0], back, results[1]) if has_aux else (results[0], back)


# ---------------------------------------------------------------- Jacobians

def jacrev(func: Callable, argnums: Argnums = 0, *, has_aux: bool = False, chunk_size: int | None = None,
           _preallocate_and_copy: bool = False) -> Callable:
    """Return a function that computes the Jacobian. See torch.func.jacrev.

    Each output gives the argument's tree structure, with tensors of shape output + input. One backward runs for each
    element of the output; ``chunk_size`` has no effect.

    Args:
        func: a function of Tensors, or of nested tuples, lists and dicts of them.
        argnums (int or tuple of ints): the positional arguments to differentiate by; their Tensors are of a
            floating or complex dtype.
        has_aux (bool): ``func`` returns (output, aux); aux is returned unchanged.
        chunk_size (int or None): accepted.

    Returns:
        a function of ``func``'s arguments that returns the Jacobian.

    Example::

        >>> torch.func.jacrev(lambda x: x ** 2)(torch.tensor([1.0, 2.0]))
        tensor([[2., 0.],
                [0., 4.]])

    """
    if chunk_size is not None and chunk_size <= 0:
        raise ValueError("jacrev: `chunk_size` should be greater than 0.")

    @functools.wraps(func)
    def wrapper(*args: Any, **kwargs: Any) -> Any:
        def of_argument(x: Any) -> Any:
            return func(*put(args, argnums, x), **kwargs)
        out, back, *aux = vjp(of_argument, pick(args, argnums), has_aux=has_aux)
        outputs, form = flatten(out)
        with recording(grad=mode.grad):
            made = unflatten([_rows(back, outputs, form, i) for i in range(len(outputs))], form)
        return (made, aux[0]) if has_aux else made
    return wrapper


def _rows(back: Callable, outputs: list, form: Any, i: int) -> Any:
    """Return the Jacobian of one output."""
    columns: list[list] = []
    for k in range(outputs[i].numel()):
        unit = [zeros_like(o) for o in outputs]
        unit[i][tuple(int(at) for at in np.unravel_index(k, tuple(outputs[i].shape)))] = 1
        rows, arg_form = flatten(back(unflatten(unit, form))[0])
        columns.append(rows)
    if not columns:
        raise NotImplementedError("jacobians of functions whose result has no elements are not built")
    shape = tuple(outputs[i].shape)
    stacked = [rows[0].new_zeros(0) if not rows else stack(rows).reshape(shape + tuple(rows[0].shape))
               for rows in map(list, zip(*columns, strict=True))]
    return unflatten(stacked, arg_form)

