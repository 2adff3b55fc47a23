"""Inference of a schema from the annotations of a Python function. See torch.library.infer_schema."""
from __future__ import annotations

import collections.abc
import inspect
import typing
from collections.abc import Callable, Iterable
from types import GenericAlias
from typing import Any, NoReturn

from jtorch._library.tags import Tag
from jtorch.device import device as Device
from jtorch.dtype import dtype as DType
from jtorch.tensor import Tensor

_NUMBER = typing.Union[int, float, bool]      # noqa: UP007     (what torch.types.Number is)
_KINDS = ((Tensor, "Tensor", True, True, False), (int, "SymInt", True, False, True), (float, "float", True, False, True),
          (bool, "bool", True, False, True), (str, "str", False, False, False), (_NUMBER, "Scalar", True, False, False),
          (DType, "ScalarType", False, False, False), (Device, "Device", False, False, False))


def _sequences(kind: Any) -> tuple:
    return (typing.Sequence[kind], typing.List[kind],                           # noqa: UP006
            GenericAlias(collections.abc.Sequence, (kind,)), GenericAlias(list, (kind,)))


def _derived(kind: Any, name: str, lists: bool, lists_of_optional: bool, optional_lists: bool) -> dict[Any, str]:
    made = {kind: name, typing.Optional[kind]: f"{name}?"}                        # noqa: UP045
    if lists:
        made.update(dict.fromkeys(_sequences(kind), f"{name}[]"))
    if lists_of_optional:
        made.update(dict.fromkeys(_sequences(typing.Optional[kind]), f"{name}?[]"))      # noqa: UP045
    if optional_lists:
        made.update({typing.Optional[s]: f"{name}[]?" for s in _sequences(kind)})      # noqa: UP045
    return made


SUPPORTED_PARAM_TYPES: dict[Any, str] = {}
for _row in _KINDS:
    SUPPORTED_PARAM_TYPES.update(_derived(*_row))
SUPPORTED_RETURN_TYPES: dict[Any, str] = {Tensor: "Tensor", typing.List[Tensor]: "Tensor[]", list[Tensor]: "Tensor[]",   # noqa: UP006
                                          int: "SymInt", float: "float", bool: "bool", _NUMBER: "Scalar"}


class _Signature:
    """A function's signature, during the inference of its schema."""

    def __init__(self, function: Callable, mutates: Any):
        self.function, self.signature = function, inspect.signature(function)
        self.unknown = mutates == "unknown"
        if isinstance(mutates, str) and not self.unknown:
            raise ValueError("mutates_args must either be a sequence of the names of the arguments that are mutated or the "
                             "string "
                             "'unknown'. ")
        self.mutates = () if self.unknown else tuple(mutates)

    def refuse(self, what: str) -> NoReturn:
        raise ValueError(f"infer_schema(func): {what} Got func with signature {self.signature})")

    def resolved(self, annotation: Any) -> Any:
        """Return an annotation with strings evaluated."""
        if isinstance(annotation, str):
            try:
                return eval(annotation, self.function.__globals__)
            except NameError as error:
                self.refuse(f"Unsupported type annotation {annotation}. It is not a type. ({error}). If you are using 'from "
                            "__future__ import annotations', note that annotations are evaluated lazily as strings; make sure "
                            "all types referenced in annotations are importable at module scope, not only inside a local "
                            "function.")
            except Exception as error:
                self.refuse(f"Unsupported type annotation {annotation}. It is not a type. ({type(error).__name__}: {error})")
        inner = typing.get_args(annotation)
        if typing.get_origin(annotation) is not None and any(isinstance(a, str) for a in inner):
            return GenericAlias(typing.get_origin(annotation), tuple([self.resolved(a) for a in inner]))
        return annotation

    def parameters(self) -> Iterable[str]:
        keyword = False
        for i, p in enumerate(self.signature.parameters.values()):
            if p.kind not in (p.POSITIONAL_OR_KEYWORD, p.KEYWORD_ONLY):
                self.refuse("We do not support positional-only args, varargs, or varkwargs.")
            if p.kind is p.KEYWORD_ONLY and not keyword:
                keyword = True
                yield "*"
            kind = self.type_of(p)
            if self.is_written(p.name, kind):
                kind = f"Tensor(a{i}!){kind[len('Tensor'):]}"
            yield f"{kind} {p.name}" + ("" if p.default is p.empty else f"={self.default(p.default)}")

    def is_written(self, name: str, kind: str) -> bool:
        if self.unknown:
            return kind.startswith("Tensor")
        if name in self.mutates and not kind.startswith("Tensor"):
            self.refuse(f"Parameter {name} is in mutable_args but only Tensors or collections of Tensors can be mutated")
        return name in self.mutates

    def type_of(self, p: inspect.Parameter) -> str:
        if p.annotation is p.empty:
            self.refuse(f"Parameter {p.name} must have a type annotation.")
        annotation = self.resolved(p.annotation)
        if annotation in SUPPORTED_PARAM_TYPES:
            return SUPPORTED_PARAM_TYPES[annotation]
        says = f"Parameter {p.name} has unsupported type {p.annotation}. "
        if typing.get_origin(annotation) is tuple:
            instead = _as_list(annotation)
            example = f"For example, {instead}.\n\n" if instead in SUPPORTED_PARAM_TYPES else "\n\n"
            says += f"We do not support Tuple inputs in schema. As a workaround, please try to use List instead. {example}"
        return self.refuse(f"{says}The valid types are: {SUPPORTED_PARAM_TYPES.keys()}.")

    def default(self, value: Any) -> str:
        if value is None or isinstance(value, (int, float)):
            return str(value)
        if isinstance(value, (str, Device)):
            return f'"{value}"'
        if isinstance(value, DType):
            return str(value).removeprefix("torch.")
        return self.refuse(f"Parameter {self._name_of(value)} has an unsupported default value type {type(value)}. Please file "
                           "an issue on GitHub so we can prioritize this.")

    def _name_of(self, value: Any) -> str:
        return next(p.name for p in self.signature.parameters.values() if p.default is value)

    def returns(self) -> str:
        annotation = self.resolved(self.signature.return_annotation)
        if annotation is None:
            return "()"
        if annotation is inspect.Parameter.empty:
            self.refuse("No return type annotation was provided. Please add one.")
        parts = typing.get_args(annotation) if typing.get_origin(annotation) is tuple else (annotation,)
        if any(part not in SUPPORTED_RETURN_TYPES for part in parts):
            self.refuse(f"Return has unsupported type {annotation}. The valid types are: {SUPPORTED_RETURN_TYPES}.")
        names = ", ".join(SUPPORTED_RETURN_TYPES[part] for part in parts)
        if parts == (annotation,):
            return names
        return f"(({names}))" if len(parts) == 1 else f"({names})"


def _as_list(kind: Any) -> Any:
    parts = typing.get_args(kind)
    if not parts:
        return list
    if len(parts) == 1 or (len(parts) == 2 and parts[1] is Ellipsis):
        return list[parts[0]]       # type: ignore[valid-type]
    return list[typing.Union[tuple(parts)]]     # type: ignore[misc]    # noqa: UP007


def infer_schema(prototype_function: Callable, /, *, mutates_args: Any, op_name: str | None = None,
                 tags: Tag | Iterable[Tag] | None = ()) -> str:
    """Return the schema that a function's annotations describe. See torch.library.infer_schema.

    Raise ValueError for a parameter with a missing or unsupported annotation.
    """
    given = _Signature(prototype_function, mutates_args)
    params = list(given.parameters())
    unseen = set(given.mutates) - set(given.signature.parameters)
    if unseen:
        given.refuse(f"{unseen} in mutates_args were not found in the custom op's signature. mutates_args should contain the "
                     "names "
                     "of all args that the custom op mutates, or just the string 'unknown' if you don't know.")
    return f"{op_name or ''}({', '.join(params)}) -> {given.returns()}"
