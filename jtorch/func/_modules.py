"""Modules as functions of their parameters. See torch.func.functional_call."""
from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from typing import Any

from jtorch._api import functions
from jtorch.nn.utils import stateless


def functional_call(module: Any, parameter_and_buffer_dicts: Any, args: Any = None, kwargs: dict[str, Any] | None = None, *,
                    tie_weights: bool = True, strict: bool = False) -> Any:
    """Call a module with tensors in place of its parameters and buffers, given by name. See torch.func.functional_call.

    ``parameter_and_buffer_dicts`` is one dict, or several dicts without a common name. With ``tie_weights`` a tensor
    that the module has under several names is replaced under all of them. With ``strict`` the dicts must name all
    tensors and no others. A buffer that forward assigns is stored in the dict instead of the module.

    Args:
        module (Module): the module to call; its own tensors do not change.
        parameter_and_buffer_dicts (dict of Tensors by name, or tuple of dicts): the replacements.
        args: the positional arguments; a single one need not be in a tuple.
        kwargs: the keyword arguments.
        tie_weights (bool): see above.
        strict (bool): see above.

    Returns:
        what ``forward`` returns.

    Raises:
        ValueError: dicts with a common name, or two values for one tied tensor.
        RuntimeError: with ``strict``, names are missing, or are not the module's.

    Example::

        >>> m = torch.nn.Linear(2, 1)
        >>> torch.func.functional_call(m, {"weight": torch.ones(1, 2), "bias": torch.zeros(1)}, torch.tensor([1.0, 2.0]))
        tensor([3.])

    """
    given = parameter_and_buffer_dicts
    if not isinstance(given, dict):
        given = _merged(given)
    return stateless.call(module, given, args, kwargs, tie_weights=tie_weights, strict=strict)


def _merged(dicts: Any) -> dict[str, Any]:
    if not isinstance(dicts, Sequence):
        raise ValueError("Expected parameter_and_buffer_dicts to be a dict, or a list/tuple of dicts, but got "
                         f"{type(dicts)}")
    if not all([isinstance(d, dict) for d in dicts]):
        raise ValueError("Expected all elements of parameter_and_buffer_dicts to be dictionaries")
    repeated = [k for k, n in Counter(k for d in dicts for k in d).items() if n > 1]
    if repeated:
        raise ValueError(f"{repeated} appeared in multiple dictionaries; behavior of functional call is ambiguous")
    return {k: v for d in dicts for k, v in d.items()}


def stack_module_state(models: Any) -> tuple[dict[str, Any], dict[str, Any]]:
    """Stack the (parameters, buffers) of models of one class along a new first dim. See torch.func.stack_module_state.

    Args:
        models (list of Modules): models of one class and mode, with parameters of equal shapes.

    Returns:
        (parameters, buffers): dicts of Tensors by name, of shape (len(models), ...); the parameters are leaves.

    Raises:
        RuntimeError: no models, models of several classes, or some in training mode and others not.

    Example::

        >>> models = [torch.nn.Linear(3, 2) for _ in range(4)]
        >>> parameters, buffers = torch.func.stack_module_state(models)
        >>> {name: tuple(p.shape) for name, p in parameters.items()}
        {'weight': (4, 2, 3), 'bias': (4, 2)}

    """
    models = list(models)
    if not models:
        raise RuntimeError("stack_module_state: Expected at least one model, got 0.")
    if len({m.training for m in models}) > 1:
        raise RuntimeError("stack_module_state: Expected all models to have the same training/eval mode.")
    if len({type(m) for m in models}) > 1:
        raise RuntimeError("stack_module_state: Expected all models to be of the same class.")
    parameters = [dict(m.named_parameters()) for m in models]
    buffers = [dict(m.named_buffers()) for m in models]
    return tuple({k: _stacked([s[k] for s in states], k) for k in states[0]} for states in (parameters, buffers))   # type: ignore[return-value]


def _stacked(tensors: list, name: str) -> Any:
    if len({t.requires_grad for t in tensors}) > 1:
        raise RuntimeError(f"Expected {name} from each model to have the same .requires_grad")
    made = functions.stack(tensors)
    return made.detach().requires_grad_() if tensors[0].requires_grad else made


def replace_all_batch_norm_modules_(root: Any) -> Any:
    """Make all batch norms use only the batch's statistics, in place. See torch.func.replace_all_batch_norm_modules_.

    Args:
        root (Module): the module whose batch norms, and whose children's, are changed.

    Returns:
        ``root``.

    Example::

        >>> norm = torch.func.replace_all_batch_norm_modules_(torch.nn.BatchNorm1d(2))
        >>> norm.running_mean is None, norm.track_running_stats
        (True, False)

    """
    for m in root.modules():
        if any([cls.__name__ == "_BatchNorm" for cls in type(m).__mro__]):
            m.running_mean = m.running_var = m.num_batches_tracked = None
            m.track_running_stats = False
    return root
