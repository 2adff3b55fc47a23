"""jvp, linearize, jacfwd and hessian: transforms that use forward mode. See torch.func.

Each transform opens a level of forward mode and calls the function on dual tensors. Levels nest, and they combine with
``backward``.
"""
from __future__ import annotations

import contextlib
import functools
from collections.abc import Callable, Iterator
from typing import Any

from jtorch._base.pytree import flatten, tree_map, unflatten
from jtorch._nodes.tangents import close_level, of, only_below, open_level
from jtorch.autograd.forward_ad import dual, primal_of
from jtorch.func._levels import recording, zeros_like
from jtorch.func._transforms import Argnums, jacrev, pick, put, split_aux, tensors_of
from jtorch.func._vmap import vmap
from jtorch.no_grad import mode
from jtorch.tensor import Tensor


@contextlib.contextmanager
def _level() -> Iterator[int]:
    number = open_level()
    try:
        yield number
    finally:
        close_level(number)


def jvp(func: Callable, primals: Any, tangents: Any, *, strict: bool = False, has_aux: bool = False) -> tuple:
    """Return (output, its tangent) by forward mode. See torch.func.jvp.

    Args:
        func: a function of Tensors, or of nested tuples, lists and dicts of them.
        primals (tuple): the arguments at which ``func`` is differentiated.
        tangents (tuple): the primals' tangents, with the same structure, shapes and dtypes.
        strict (bool): whether an output that does not depend on the arguments is an error instead of zero.
        has_aux (bool): ``func`` returns (output, aux); aux is returned unchanged.

    Returns:
        (output, change of the output), with the output's structure, shapes and dtypes; with ``has_aux``, aux
            follows.

    Raises:
        RuntimeError: primals and tangents that are no tuples, or of another form, shape or dtype.

    Source: R. E. Wengert 1964, A simple automatic derivative evaluation program, CACM 7(8).

    Example::

        >>> torch.func.jvp(torch.sin, (torch.zeros(2),), (torch.ones(2),))
        (tensor([0., 0.]), tensor([1., 1.]))

    """
    _check_primals(primals, tangents)
    with recording(primals, grad=mode.grad), _level() as level:
        given, form = flatten(primals)
        duals = [_dual(t, change, level) for t, change in zip(given, flatten(tangents)[0], strict=True)]
        out, aux = split_aux(func(*unflatten(duals, form)), has_aux, "jvp(f, primals, tangents)")
        outputs, form = tensors_of(out, "jvp(f, primals, tangents)")
        changes = [_change(o, level, strict) for o in outputs]
        results = unflatten([_primal(o, level) for o in outputs], form), unflatten(changes, form)
        return (*results, tree_map(lambda x: _primal(x, level), aux)) if has_aux else results


def _dual(t: Tensor, change: Tensor, level: int) -> Tensor:
    if not (t.is_floating_point() or t.is_complex()):
        raise ValueError(f"Expected primal to be floating point or complex, but got: {t.dtype}")
    if not (change.is_floating_point() or change.is_complex()):
        raise ValueError(f"Expected tangent to be floating point or complex, but got: {change.dtype}")
    return dual(t, change, level)


def _primal(t: Any, level: int) -> Any:
    return primal_of(t, level) if isinstance(t, Tensor) and of(t, level) is not None else t


def _change(output: Tensor, level: int, strict: bool) -> Tensor:
    found = of(output, level)
    if found is None and strict:
        raise RuntimeError("jvp(f, primals, tangents, strict=True): The output of f is independent of the inputs. This is not "
                           "allowed with strict=True.")
    with only_below(level):
        return zeros_like(output) if found is None else found


def _check_primals(primals: Any, tangents: Any) -> None:
    name = "jvp(f, primals, tangents)"
    if not isinstance(primals, tuple):
        raise RuntimeError(f"{name}: Expected primals to be a tuple. E.g. it should be valid to call f(*primals).")
    ours, theirs = flatten(primals), flatten(tangents)
    if ours[1] != theirs[1]:
        raise RuntimeError(f"{name}: Expected primals and tangents to have the same python structure. For example, if primals "
                           "is a tuple of 3 tensors, tangents also must be.")
    if not ours[0]:
        raise RuntimeError(f"{name}: Expected primals to be a non-empty tuple of Tensors.")



def linearize(func: Callable, *primals: Any) -> tuple[Any, Callable]:
    """Return (output, a function from the primals' tangents to the output's tangent). See torch.func.linearize.

    Args:
        func: a function of Tensors, or of nested tuples, lists and dicts of them.
        primals: the arguments at which ``func`` is differentiated.

    Returns:
        (output, function): the function takes tangents of the primals' form, and gives the change of the output.

    Example::

        >>> out, along = torch.func.linearize(torch.sin, torch.zeros(2))
        >>> along(torch.ones(2))
        tensor([1., 1.])

    """
    out = func(*primals)
    return out, lambda *tangents: jvp(func, primals, tangents)[1]


# ---------------------------------------------------------------- Jacobians

def jacfwd(func: Callable, argnums: Argnums = 0, has_aux: bool = False, *, randomness: str = "error") -> Callable:
    """Return a function that computes the Jacobian by ``vmap`` of ``jvp``, in the form of jacrev's.

    See torch.func.jacfwd.

    Args:
        func: a function of Tensors, or of nested tuples, lists and dicts of them.
        argnums (int or tuple of ints): the positional arguments to differentiate by; their Tensors are of a
            floating or complex dtype.
        has_aux (bool): ``func`` returns (output, aux); aux is returned unchanged.
        randomness (str): as in ``vmap``.

    Returns:
        a function of ``func``'s arguments that returns the Jacobian, of shape output + input.

    Example::

        >>> torch.func.jacfwd(lambda x: x ** 2)(torch.tensor([1.0, 2.0]))
        tensor([[2., 0.],
                [0., 4.]])

    """
    @functools.wraps(func)
    def wrapper(*args: Any, **kwargs: Any) -> Any:
        argument = pick(args, argnums)
        inputs, form = flatten(argument)
        seen: list = []

        def push(*directions: Tensor) -> Any:
            def of_argument(x: Any) -> Any:
                return func(*put(args, argnums, x), **kwargs)
            _, changes, *aux = jvp(of_argument, (argument,), (unflatten(directions, form),), has_aux=has_aux)
            seen[:] = aux
            return changes
        columns = vmap(push, randomness=randomness)(*_basis(inputs))
        made = tree_map(lambda column: _blocks(column, inputs, form), columns)
        return (made, seen[0]) if has_aux else made
    return wrapper


def _basis(inputs: list) -> list:
    """Return, for each input, one direction per element of all inputs, stacked along a new first dim."""
    total, start, made = sum([t.numel() for t in inputs]), 0, []
    for t in inputs:
        rows = t.detach().new_zeros((total, t.numel()))
        rows.diagonal(-start).fill_(1)
        made.append(rows.reshape((total, *t.shape)))
        start += t.numel()
    return made


def _blocks(column: Tensor, inputs: list, form: Any) -> Any:
    """Split one output's tangents into blocks with the inputs' shapes; their first dim becomes the last."""
    parts = column.movedim(0, -1).split([t.numel() for t in inputs], -1)        # type: ignore[attr-defined]
    return unflatten([p.reshape((*p.shape[:-1], *t.shape)) for p, t in zip(parts, inputs, strict=True)], form)


def hessian(func: Callable, argnums: Argnums = 0) -> Callable:
    """Return a function that computes the Hessian: the Jacobian of the Jacobian. See torch.func.hessian.

    Args:
        func: a function of Tensors, or of nested tuples, lists and dicts of them.
        argnums (int or tuple of ints): the positional arguments to differentiate by; their Tensors are of a
            floating or complex dtype.

    Returns:
        a function of ``func``'s arguments that returns second derivatives, of shape output + input + input.

    Example::

        >>> torch.func.hessian(lambda x: (x ** 3).sum())(torch.tensor([1.0, 2.0]))
        tensor([[ 6.,  0.],
                [ 0., 12.]])

    """
    return jacfwd(jacrev(func, argnums), argnums)
