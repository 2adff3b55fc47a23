"""torch.nn: modules, losses, initialization."""
from typing import Any as _Any

from jtorch.nn import attention as attention
from jtorch.nn import common_types as common_types
from jtorch.nn import functional as functional
from jtorch.nn import grad as grad
from jtorch.nn import init as init
from jtorch.nn import modules as modules
from jtorch.nn import parallel as parallel
from jtorch.nn import parameter as parameter
from jtorch.nn import utils as utils
from jtorch.nn.modules import *  # noqa: F403
from jtorch.nn.parallel import DataParallel as DataParallel
from jtorch.nn.parameter import Buffer as Buffer
from jtorch.nn.parameter import UninitializedBuffer as UninitializedBuffer
from jtorch.nn.parameter import UninitializedParameter as UninitializedParameter
from jtorch.tensor import Parameter as Parameter


def factory_kwargs(kwargs: _Any) -> dict[str, _Any]:
    """Return those of a module's keyword arguments that creation functions take. See torch.nn.factory_kwargs.

    Args:
        kwargs (dict or None): ``device``, ``dtype`` and ``memory_format``, or a dict of these as ``factory_kwargs``.

    Returns:
        dict: those that are given.

    Raises:
        TypeError: there are other arguments, or one is given twice.

    Example::

        >>> nn.factory_kwargs({"device": "cpu", "factory_kwargs": {"dtype": torch.float64}})
        {'dtype': torch.float64, 'device': 'cpu'}

    """
    if kwargs is None:
        return {}
    simple = {"device", "dtype", "memory_format"}
    if unexpected := kwargs.keys() - {*simple, "factory_kwargs"}:
        raise TypeError(f"unexpected kwargs {unexpected}")
    found = dict(kwargs.get("factory_kwargs", {}))
    for name in simple & kwargs.keys():
        if name in found:
            raise TypeError(f"{name} specified twice, in **kwargs and in factory_kwargs")
        found[name] = kwargs[name]
    return found
