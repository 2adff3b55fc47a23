"""The common parts of the schedulers' docstrings."""
from __future__ import annotations

import inspect
from collections.abc import Callable
from typing import TypeVar

_Class = TypeVar("_Class", bound=type)

_OPTIMIZER = "    optimizer (Optimizer): the optimizer whose groups' rates are set."
_LAST_EPOCH = "    last_epoch (int): the last epoch, to resume after it; -1 starts, and stores each group's ``initial_lr``."
_RAISES = """
Raises:
    TypeError: ``optimizer`` is no Optimizer.
    KeyError: ``last_epoch`` is not -1, and a group has no ``initial_lr``.
"""
_EXAMPLE = """
Example::

    >>> opt = torch.optim.SGD([torch.zeros(1, requires_grad=True)], lr=1.0)
    >>> scheduler = torch.optim.lr_scheduler.{name}(opt, {options})
    >>> rates = []
    >>> for epoch in range({epochs}):
    ...     rates.append(round(scheduler.get_last_lr()[0], 4))
    ...     opt.step()
    ...     scheduler.step()
    >>> rates
    {rates}
"""


def documented(options: str, *, rates: list[float]) -> Callable[[_Class], _Class]:
    """Return a decorator that adds the common arguments, the errors and an example to a scheduler's docstring.

    Args:
        options (str): the scheduler's arguments in the example.
        rates (list of floats): the learning rates that the example prints.

    """
    def complete(cls: _Class) -> _Class:
        summary, _, rest = inspect.cleandoc(cls.__doc__ or "").partition("\nArgs:\n")
        arguments, _, rest = rest.partition("\n\n")
        errors = "" if "Raises:" in rest else _RAISES
        sections = [summary, "\n".join(["Args:", _OPTIMIZER, arguments.rstrip(), _LAST_EPOCH]), errors, rest,
                    _EXAMPLE.format(name=cls.__name__, options=options, epochs=len(rates), rates=rates)]
        cls.__doc__ = "\n\n".join([section.strip() for section in sections if section]) + "\n"
        return cls
    return complete
