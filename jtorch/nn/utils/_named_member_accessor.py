"""torch.nn.utils._named_member_accessor: access to modules, parameters and buffers by dotted names."""
from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Any

from jtorch.nn.modules.module import Module
from jtorch.tensor import Tensor

_MISSING: Any = object()


def _place(module: Module, name: str) -> Any:
    """Return the dict of a module's parameters or buffers that has ``name``, or None."""
    if "." in name:
        raise KeyError('tensor name can\'t contain "."')
    if name == "":
        raise KeyError('tensor name can\'t be empty string ""')
    return next((d for d in (module._parameters, module._buffers) if name in d), None)


def _checked(value: Any, module: Module, name: str) -> Any:
    if value is not None and not isinstance(value, Tensor):
        raise TypeError(f"{value} is not an instance of torch.Tensor")
    return value


def set_tensor(module: Module, name: str, tensor: Tensor) -> None:
    """Set the parameter, buffer or attribute ``name`` to a tensor of any class."""
    place = _place(module, name)
    _checked(tensor, module, name)
    if place is None:
        setattr(module, name, tensor)
    else:
        place[name] = tensor


def swap_tensor(module: Module, name: str, tensor: Any, allow_missing: bool = False) -> Any:
    """Set the tensor ``name`` and return the previous one; ``_MISSING`` stands for no tensor."""
    place = _place(module, name)
    if place is None:
        place = vars(module)
        if name not in place and not allow_missing:
            raise AttributeError(f"{module._get_name()} has no attribute `{name}`")
    before = place.get(name, _MISSING)
    if before is not _MISSING:
        _checked(before, module, name)
    if tensor is _MISSING:
        place.pop(name, None)
    elif place is vars(module):
        setattr(module, name, tensor)
    else:
        place[name] = tensor
    return before


def swap_submodule(module: Module, name: str, submodule: Module) -> Module:
    """Replace the submodule ``name``, and return the previous one."""
    if "." in name:
        raise KeyError('submodule name can\'t contain "."')
    if name == "":
        raise KeyError('submodule name can\'t be empty string ""')
    if name not in module._modules:
        raise KeyError(f"submodule {name} does not exist")
    before = module._modules[name]
    for given in (before, submodule):
        if not isinstance(given, Module):
            raise TypeError(f"{given} is not an instance of torch.nn.Module")
    module._modules[name] = submodule
    return before       # type: ignore[return-value]


class NamedMemberAccessor:
    """Accesses the tensors and submodules of a module by dotted names."""

    def __init__(self, module: Module) -> None:
        self.module = module
        self.memo: dict[str, Module] = {"": module}

    def _split(self, path: str) -> tuple[Module, str]:
        prefix, _, name = path.rpartition(".")
        return self.get_submodule(prefix), name

    def get_submodule(self, name: str) -> Module:
        """Return the submodule with this name; "" is the module itself."""
        if name not in self.memo:
            prefix, _, last = name.rpartition(".")
            owner = self.get_submodule(prefix)
            if not hasattr(owner, last):
                raise AttributeError(f"{owner._get_name()} has no attribute `{last}`")
            found = getattr(owner, last)
            if not isinstance(found, Module):
                raise TypeError(f"submodule `{name}`: {found!r} is not an instance of torch.nn.Module")
            self.memo[name] = found
        return self.memo[name]

    def swap_submodule(self, path: str, value: Module) -> Module:
        """Replace a submodule, and return the previous one."""
        module, name = self._split(path)
        self.memo.clear()
        self.memo[""] = self.module
        return swap_submodule(module, name, value)

    def get_tensor(self, name: str) -> Tensor:
        """Return the parameter, buffer or attribute with a name."""
        module, last = self._split(name)
        found = getattr(module, last, _MISSING)
        if found is _MISSING:
            raise AttributeError(f"{module._get_name()} has no attribute `{name}`")
        return _checked(found, module, name)

    def set_tensor(self, name: str, value: Tensor) -> None:
        """Set the tensor with a name."""
        set_tensor(*self._split(name), value)

    def del_tensor(self, name: str) -> None:
        """Delete a parameter, buffer or attribute."""
        module, last = self._split(name)
        self.get_tensor(name)
        delattr(module, last)

    def swap_tensor(self, name: str, value: Any, allow_missing: bool = False) -> Any:
        """Set the tensor with a name, and return the previous one."""
        return swap_tensor(*self._split(name), value, allow_missing=allow_missing)

    def get_tensors(self, names: Iterable[str]) -> list[Tensor]:
        """Return the tensors with the given names."""
        return [self.get_tensor(name) for name in names]

    def set_tensors(self, names: Iterable[str], values: Iterable[Tensor]) -> None:
        """Set the tensors with the given names."""
        self.set_tensors_dict(dict(zip(names, values, strict=True)))

    def set_tensors_dict(self, named_tensors: dict[str, Tensor]) -> None:
        """Set tensors, given by a dict from names."""
        for name, value in named_tensors.items():
            self.set_tensor(name, value)

    def del_tensors(self, names: Iterable[str]) -> None:
        """Delete the tensors with the given names."""
        for name in names:
            self.del_tensor(name)

    def swap_tensors(self, names: Iterable[str], values: Iterable[Any], allow_missing: bool = False) -> list[Any]:
        """Set tensors, and return the previous ones."""
        return [self.swap_tensor(name, value, allow_missing) for name, value in zip(names, values, strict=True)]

    def swap_tensors_dict(self, named_tensors: dict[str, Any], allow_missing: bool = False) -> tuple[dict[str, Any], list[str]]:
        """Set tensors given by a dict, and return the previous ones and the names that were missing."""
        before: dict[str, Any] = {}
        try:
            for name, value in named_tensors.items():
                before[name] = self.swap_tensor(name, value, allow_missing=True)
            missing = [name for name, value in before.items() if value is _MISSING]
            if missing and not allow_missing:
                raise RuntimeError(f"Missing key(s): {', '.join(map(repr, missing))}.")
        except Exception:
            for name, value in before.items():
                self.swap_tensor(name, value, allow_missing=True)
            raise
        return before, missing

    def check_keys(self, keys: Iterable[str]) -> tuple[list[str], list[str]]:
        """Return the names of tensors missing in ``keys``, and the keys that name no tensor."""
        given, mine = set(keys), {name for name, _ in self.named_tensors(remove_duplicate=False)}
        return sorted(mine - given), sorted(given - mine)

    def named_parameters(self, remove_duplicate: bool = True) -> Iterator[tuple[str, Tensor]]:
        """Yield the parameters with their names."""
        yield from self.module.named_parameters(remove_duplicate=remove_duplicate)

    def named_buffers(self, remove_duplicate: bool = True) -> Iterator[tuple[str, Tensor]]:
        """Yield the buffers with their names."""
        yield from self.module.named_buffers(remove_duplicate=remove_duplicate)

    def named_tensors(self, remove_duplicate: bool = True) -> Iterator[tuple[str, Tensor]]:
        """Yield the parameters and buffers with their names."""
        yield from self.named_parameters(remove_duplicate)
        yield from self.named_buffers(remove_duplicate)

    def named_modules(self, remove_duplicate: bool = True) -> Iterator[tuple[str, Module]]:
        """Yield the modules with their names."""
        yield from self.module.named_modules(remove_duplicate=remove_duplicate)
