"""Immutable lists and dicts for nodes' arguments, since a change would bypass the graph's record of users."""
from __future__ import annotations

from typing import Any, NoReturn

from jtorch._base.pytree import dict_flatten, dict_flatten_with_keys, list_flatten, list_flatten_with_keys
from jtorch.utils import _pytree as pytree

__all__ = ["immutable_dict", "immutable_list"]

_HELP = ("If you are attempting to modify the kwargs or args of a torch.fx.Node object,\ninstead create a new copy of it and "
         "assign the copy to the node:\n\n    new_args = ...  # copy and mutate args\n    node.args = new_args")


def _refuse(self: Any, *args: Any, **kwargs: Any) -> NoReturn:
    raise TypeError(f"{type(self).__name__!r} object does not support mutation. {_HELP}")


def _immutable(cls: type, names: str) -> type:
    for name in names.split():
        setattr(cls, name, _refuse)
    return cls


class immutable_list(list):     # noqa: N801
    """A list that cannot be changed. See torch.fx.immutable_collections.immutable_list."""

    def __hash__(self) -> int:      # type: ignore[override]
        return hash(tuple(self))

    def __reduce__(self):
        return type(self), (tuple(self),)


class immutable_dict(dict):     # noqa: N801
    """A dict that cannot be changed. See torch.fx.immutable_collections.immutable_dict."""

    def __hash__(self) -> int:      # type: ignore[override]
        return hash(frozenset(self.items()))

    def __reduce__(self):
        return type(self), (tuple(self.items()),)


_immutable(immutable_list, "__delitem__ __iadd__ __imul__ __setitem__ append clear extend insert pop remove reverse sort")
_immutable(immutable_dict, "__delitem__ __ior__ __setitem__ clear pop popitem setdefault update")


pytree.register_pytree_node(immutable_list, list_flatten, lambda values, _: immutable_list(values),
                            serialized_type_name="torch.fx.immutable_collections.immutable_list",
                            flatten_with_keys_fn=list_flatten_with_keys)
pytree.register_pytree_node(immutable_dict, dict_flatten,
                            lambda values, keys: immutable_dict(zip(keys, values, strict=True)),
                            serialized_type_name="torch.fx.immutable_collections.immutable_dict",
                            flatten_with_keys_fn=dict_flatten_with_keys)
