"""Adds names to PyTorch's namespaces, and prevents accidental replacements."""
from __future__ import annotations

from collections.abc import Mapping
from types import FunctionType, ModuleType
from typing import Any

from jtorch._api import overridden


def put(space: ModuleType | type, named: Mapping[str, Any], *, replaces: bool = False) -> None:
    """Add attributes to a module or class.

    Raise RuntimeError for an existing name, or with ``replaces`` for a name that does not exist. The first value replaced
    under a name is kept in ``jtorch._api.overridden``.
    """
    taken = vars(space)
    for name, value in named.items():
        old = taken.get(name, _FREE)
        if old is value:
            continue
        if (old is _FREE) is replaces:
            raise RuntimeError(f"{space.__name__}.{name} is {'replaced before it is made' if replaces else 'made twice'}")
        if old.__class__ is FunctionType:
            vars(overridden).setdefault(name, old)
        setattr(space, name, value)


def public(space: ModuleType, path: str) -> dict[str, Any]:
    """Return the attributes of a module that PyTorch has in the namespace ``path``, without operators and methods."""
    return {name: value for name, value in vars(space).items() if not name.startswith("__") and _is_shown(name, path)}


def _is_shown(name: str, path: str) -> bool:
    is_inplace = name.endswith("_") and not name.startswith("_")
    return name in IN_PLACE[path] if is_inplace else name not in OPERATORS


def forget(space: dict[str, Any]) -> None:
    """Remove import helpers and modules that PyTorch lacks from the package's namespace."""
    for name, value in list(space.items()):
        is_alias = isinstance(value, ModuleType) and name.startswith("_") and not value.__name__.endswith(f".{name}")
        if is_alias or name in ASSEMBLY:
            del space[name]


_FREE = object()

# The in-place forms that PyTorch has as functions too. All others are only methods.
IN_PLACE = {
    "torch": frozenset("""
        abs_ acos_ acosh_ addmv_ alpha_dropout_ arccos_ arccosh_ arcsin_ arcsinh_ arctan_ arctanh_ as_strided_ asin_ asinh_
        atan_ atanh_ ceil_ celu_ clamp_ clamp_max_ clamp_min_ clip_ conj_physical_ cos_ cosh_ deg2rad_ detach_ dropout_
        embedding_renorm_ erf_ erfc_ exp2_ exp_ expm1_ feature_alpha_dropout_ feature_dropout_ fill_ fix_ floor_ frac_ gcd_
        i0_ index_put_ lcm_ ldexp_ log10_ log1p_ log2_ log_ logit_ nan_to_num_ neg_ negative_ rad2deg_ reciprocal_ relu_
        resize_as_ resize_as_sparse_ round_ rrelu_ rsqrt_ selu_ sigmoid_ sin_ sinc_ sinh_ sqrt_ square_ tan_ tanh_
        threshold_ trunc_ xlogy_ zero_""".split()),
    "torch.nn.functional": frozenset("celu_ elu_ hardtanh_ leaky_relu_ relu_ rrelu_ selu_ threshold_".split()),
}
# Names that PyTorch has only as operators (``torch.ops.aten``).
OPERATORS = frozenset("_batch_norm_with_update _histogramdd _upsample_bilinear2d_aa native_dropout_backward zero".split())
# Methods that PyTorch has only in place.
ONLY_IN_PLACE = frozenset("fill fill_diagonal zero".split())
# Names of ``jtorch/__init__.py`` that PyTorch lacks. ``ops`` is the package of op records; torch.ops is another object.
ASSEMBLY = frozenset("_make_tensor _namespace _spaces _sys _types annotations dispatch ops speedups tape".split())
