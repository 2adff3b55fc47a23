"""Python source of a graph. See torch.fx.graph.CodeGen."""
from __future__ import annotations

import enum
import inspect
import re
import types
import typing
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

from jtorch.device import device
from jtorch.fx._magic import inplace_methods, magic_methods
from jtorch.fx._namespace import _custom_builtins, _Namespace
from jtorch.fx._paths import is_from_torch, qualified_name
from jtorch.fx.node import Argument, Node, type_repr
from jtorch.tensor import Tensor
from jtorch.utils import _pytree as pytree

__all__ = ["CodeGen", "PythonCode"]

TransformCodeFunc = Callable[[list[str]], list[str]]
_COUNTER = re.compile(r"# COUNTER: (\d+)")


@dataclass
class PythonCode:
    """Source code, the globals that it needs, and the node of each line. See torch.fx.graph.PythonCode."""

    src: str
    globals: dict[str, Any]
    _lineno_map: dict[int, int | None] | None = None
    _prologue_start: int = 0


class _PyTreeInfo(NamedTuple):
    """The structure of arguments and results that were flattened."""

    orig_args: list[str]
    in_spec: Any
    out_spec: Any


def format_target(base: str, target: str) -> str:
    """Return an attribute's path as source; parts that are no identifiers go through getattr."""
    for part in target.split("."):
        base = f"{base}.{part}" if part.isidentifier() else f'getattr({base}, "{part}")'
    return base


class CodeGen:
    """Writes the function of a graph; subclasses write another signature or return statement. See torch.fx.CodeGen."""

    def __init__(self) -> None:
        self._body_transformer: TransformCodeFunc | None = None
        self._func_name = "forward"

    def gen_fn_def(self, free_vars: list[str], maybe_return_annotation: str, *, expanded_def: bool = False) -> str:
        """Return the ``def`` line. Subclasses add lines that turn the arguments into the graph's inputs."""
        if not free_vars or free_vars[0] != "self":
            free_vars.insert(0, "self")
        if expanded_def:
            return f"def {self._func_name}(\n" + "".join([f"    {v},\n" for v in free_vars]) + f"){maybe_return_annotation}:"
        return f"def {self._func_name}({', '.join(free_vars)}){maybe_return_annotation}:"

    def generate_output(self, output_args: Argument, *, descs: Sequence[str] | None = None,
                        repr_fn: Callable[[Any], str] | None = None) -> str:
        """Return the ``return`` line."""
        return f"return {(repr_fn or repr)(output_args)}"

    def process_inputs(self, *args: Any) -> Any:
        """Return the graph's inputs for the arguments of a call."""
        return args

    def process_outputs(self, outputs: Any) -> Any:
        """Return the result of a call for the graph's outputs."""
        return outputs

    def additional_globals(self) -> list[tuple[str, Any]]:
        """Return the (name, object) pairs of further globals that the source needs."""
        return []

    def _gen_python_code(self, nodes: Iterable[Node], root_module: str, namespace: _Namespace, *, verbose: bool = False,
                         expanded_def: bool = False, **others: Any) -> PythonCode:
        return _Source(self, list(nodes), root_module, namespace, verbose, expanded_def).code()


class _PyTreeCodeGen(CodeGen):
    """A function that flattens its arguments, which have the structure of the traced call."""

    def __init__(self, pytree_info: _PyTreeInfo):
        super().__init__()
        self.pytree_info = pytree_info

    def process_inputs(self, *inputs: Any) -> Any:
        """Return the leaves of the arguments."""
        return pytree.tree_leaves(inputs)

    def process_outputs(self, out: Any) -> Any:
        """Return the results in the structure that the traced function returned."""
        if self.pytree_info is None or self.pytree_info.out_spec is None:
            return out
        return pytree.tree_unflatten(out if isinstance(out, (list, tuple)) else [out], self.pytree_info.out_spec)

    def gen_fn_def(self, free_vars: list[str], maybe_return_annotation: str, *, expanded_def: bool = False) -> str:
        """Return the signature with the function's own arguments, and the line that flattens them."""
        if self.pytree_info is None:
            return super().gen_fn_def(free_vars, maybe_return_annotation, expanded_def=expanded_def)
        given = list(self.pytree_info.orig_args)
        if given and given[0] == "self":
            free_vars.insert(0, "self")
        definition = super().gen_fn_def(given[:], maybe_return_annotation, expanded_def=expanded_def)
        if free_vars:
            annotated = [v for v in free_vars if ":" in v]
            if annotated:
                definition += "\n    " + "".join([f"{v}; " for v in annotated]) + "\n"
            plain = ", ".join([v.split(":")[0].split("#")[0] for v in free_vars])
            definition += f"\n    {plain}, = fx_pytree.tree_flatten_spec([{', '.join(given)}], self._in_spec)"
        return definition

    def generate_output(self, output_args: Argument, *, descs: Sequence[str] | None = None,
                        repr_fn: Callable[[Any], str] | None = None) -> str:
        """Return the ``return`` line, which restores the structure of the results."""
        if self.pytree_info is None or self.pytree_info.out_spec is None:
            return super().generate_output(output_args, descs=descs, repr_fn=repr_fn)
        return f"return pytree.tree_unflatten({(repr_fn or repr)(output_args)}, self._out_spec)"


class _BoxedCodeGen(CodeGen):
    """A function that takes its arguments in one list, which it empties."""

    def gen_fn_def(self, free_vars: list[str], maybe_return_annotation: str, *, expanded_def: bool = False) -> str:
        """Return the ``def`` line, and a line that unpacks each argument."""
        names = [v.split(":")[0].split("=")[0].strip() for v in free_vars if v != "self"]
        taken = ["args_iter = iter(args_list)", *[f"{n} = next(args_iter)" for n in names], "args_list.clear()"] if names else []
        return "\n    ".join([f"def {self._func_name}(self, args_list){maybe_return_annotation}:", *taken])


_TYPING = {list: typing.List, dict: typing.Dict, set: typing.Set, frozenset: typing.FrozenSet,       # noqa: UP006
           tuple: typing.Tuple}     # noqa: UP006


class _Source:
    """The source of one graph while it is written."""

    def __init__(self, codegen: CodeGen, nodes: list[Node], root: str, namespace: _Namespace, verbose: bool, expanded: bool):
        self.codegen, self.nodes, self.root, self.namespace = codegen, nodes, root, namespace
        self.verbose, self.expanded = verbose, expanded
        self.free_vars: list[str] = []
        self.body: list[str] = []
        self.globals: dict[str, Any] = {}
        self.wrapped: dict[str, None] = {}
        self.returns, self.last_comment = "", ""
        self.last_uses = _last_uses(nodes)
        for name, (_, obj) in _custom_builtins.items():
            self.globals[namespace.create_name(name, obj)] = obj

    # ------------------------------------------------------------ names

    def name_of(self, hint: str, obj: Any) -> str:
        """Return the name of an object in the source, and make it a global if needed."""
        if is_from_torch(obj) and obj is not device:
            return qualified_name(obj)
        name = self.namespace.create_name(hint, obj)
        if name in self.globals and self.globals[name] is not obj and self.globals[name] != obj:
            raise AssertionError(f"Global name {name} already assigned to different object")
        self.globals.setdefault(name, obj)
        return name

    def type_of(self, t: Any) -> str:
        """Return the source of an annotation."""
        if t == ():
            return "()"
        if isinstance(t, types.UnionType):
            return "|".join([self.type_of(a) for a in typing.get_args(t)])
        origin = getattr(t, "__origin__", None)
        if origin is None:
            return self.name_of(type_repr(t), t)
        if isinstance(t, typing._GenericAlias):     # type: ignore[attr-defined]
            origin = _TYPING.get(origin, origin)
        shown = self.name_of(type_repr(origin), origin)
        inner = getattr(t, "dims", None) or typing.get_args(t)
        return f"{shown}[{','.join([self.type_of(a) for a in inner])}]" if inner else shown

    def value(self, arg: Any) -> str:
        """Return the source of an argument."""
        if isinstance(arg, Node):
            return repr(arg)
        if isinstance(arg, tuple) and hasattr(arg, "_fields"):
            return f"{self.name_of(qualified_name(type(arg)), type(arg))}{tuple(arg)!r}"
        if isinstance(arg, enum.Enum):
            return f"{self.name_of(type(arg).__name__, type(arg))}.{arg.name}"
        if isinstance(arg, Tensor):
            return f"torch.Tensor(size={list(arg.shape)}, dtype={str(arg.dtype).split('.')[-1]})"
        if isinstance(arg, tuple):
            return f"({self.value(arg[0])},)" if len(arg) == 1 else f"({', '.join([self.value(a) for a in arg])})"
        if isinstance(arg, list):
            return f"[{', '.join([self.value(a) for a in arg])}]"
        if isinstance(arg, dict):
            return "{" + ", ".join([f"{k!r}: {self.value(v)}" for k, v in arg.items()]) + "}"
        if isinstance(arg, slice):
            return f"slice({self.value(arg.start)}, {self.value(arg.stop)}, {self.value(arg.step)})"
        return repr(arg)

    def arguments(self, args: Iterable[Any], kwargs: dict[str, Any]) -> str:
        """Return the source of a call's arguments."""
        return ", ".join([*[self.value(a) for a in args], *[f"{k} = {self.value(v)}" for k, v in kwargs.items()]])

    # ------------------------------------------------------------ nodes

    def placeholder(self, node: Node) -> str:
        """Add an argument to the function; return the line that renames it, if the node has another name."""
        kind = "" if node.type is None else f" : {self.type_of(node.type)}"
        kind = (self.verbose and _shape_of(node)) or kind
        default = f" = {self.value(node.args[0])}" if node.args else ""
        self.free_vars.append(f"{node.target}{kind}{default}")
        plain = str(node.target).replace("*", "")
        return "" if plain == repr(node) else f"{node!r} = {plain}\n"

    def output(self, node: Node) -> str:
        """Return the ``return`` line."""
        if node.type is not None:
            self.returns = f" -> {self.type_of(node.type)}"
        return _called(self.codegen.generate_output, node.args[0], repr_fn=self.value)

    def get_attr(self, node: Node) -> str:
        """Return the source of a module's attribute."""
        return format_target(self.root, str(node.target))

    def call_module(self, node: Node) -> str:
        """Return the source of a submodule's call."""
        return f"{format_target(self.root, str(node.target))}({self.arguments(node.args, node.kwargs)})"

    def call_method(self, node: Node) -> str:
        """Return the source of a call of the first argument's method."""
        return f"{format_target(self.value(node.args[0]), str(node.target))}({self.arguments(node.args[1:], node.kwargs)})"

    def call_function(self, node: Node) -> str:
        """Return the source of a function's call, written with the operator for a function of the module ``operator``."""
        operator = node.target.__name__ if getattr(node.target, "__module__", "") == "_operator" else ""    # type: ignore[union-attr]
        if operator in magic_methods:
            return magic_methods[operator].format(*[self.value(a) for a in node.args])
        name = self.name_of(qualified_name(node.target), node.target)
        if name == "getattr" and len(node.args) == 2 and isinstance(node.args[1], str) and node.args[1].isidentifier():
            return format_target(self.value(node.args[0]), node.args[1])
        if node.meta.get("is_wrapped", False):
            self.wrapped.setdefault(name)
        return f"{name}({self.arguments(node.args, node.kwargs)})"

    def statement(self, node: Node) -> str:
        """Return the line of a node."""
        if node.op in ("placeholder", "output"):
            return getattr(self, node.op)(node)
        kind = "" if node.type is None else f" : {self.type_of(node.type)}"
        if self.verbose:
            kind = _shape_of(node) or kind
        operator = getattr(node.target, "__name__", "") if getattr(node.target, "__module__", "") == "_operator" else ""
        if node.op == "call_function" and operator in inplace_methods:
            written = inplace_methods[operator].format(*[self.value(a) for a in node.args])
            return f"{written};  {node!r}{kind} = {self.value(node.args[0])}"
        return f"{node!r}{kind} = {getattr(self, node.op)(node)}"

    def _release(self, node: Node) -> str:
        """Return the end of a line, which sets values that are no longer used to None."""
        if node.op == "placeholder":
            return ""
        unused = [*self.last_uses.get(node, ()), *([] if node.users or node.op == "output" else [node])]
        if not unused or node.op == "output":
            return "\n"
        return f";  {' = '.join([*[repr(n) for n in unused], 'None'])}\n"

    def _comment(self, node: Node) -> str:
        if not self.verbose or node.op in ("placeholder", "output"):
            return ""
        text = f"\n# {_line_of(node.stack_trace) or ' No stacktrace found for following nodes'.strip()}\n"
        shown, self.last_comment = ("" if text == self.last_comment else text), text
        return shown

    def code(self) -> PythonCode:
        """Return the complete source."""
        for i, node in enumerate(self.nodes):
            self.body += [self._comment(node), f"# COUNTER: {i}\n", self.statement(node), self._release(node)]
        self.body = [line for line in self.body if line] or ["pass\n"]
        wraps = ""
        if self.wrapped:
            from jtorch.fx._symbolic_trace import wrap
            name = self.name_of("wrap", wrap)
            wraps = "\n".join([f'{name}("{w}")' for w in self.wrapped])
        body = self.codegen._body_transformer(self.body) if self.codegen._body_transformer else self.body
        for name, value in self.codegen.additional_globals():
            self.name_of(name, value)
        prologue = _called(self.codegen.gen_fn_def, self.free_vars, self.returns, expanded_def=self.expanded)
        lines, numbers = _numbered(body, prologue.count("\n") + 1)
        code = "\n".join([f"    {line}" for line in "\n".join(lines).lstrip("\n").split("\n")])
        return PythonCode(f"\n{wraps}\n\n{prologue}\n{code}", self.globals, numbers, wraps.count("\n") + 4)


def _called(method: Callable, *args: Any, **options: Any) -> str:
    """Call a method that a subclass may have overridden, with the options that it accepts."""
    known = inspect.signature(method).parameters
    return method(*args, **{k: v for k, v in options.items() if k in known})


def _numbered(body: list[str], start: int) -> tuple[list[str], dict[int, int | None]]:
    """Return the lines of a body, and the number of each line's node."""
    lines: list[str] = []
    numbers: dict[int, int | None] = {}
    at: int | None = None
    for line in "".join(body).split("\n"):
        counter = _COUNTER.search(line)
        if counter is not None:
            at = int(counter.group(1))
        else:
            numbers[len(lines) + start] = at
            lines.append(line)
    return lines, numbers


def _last_uses(nodes: list[Node]) -> dict[Node, list[Node]]:
    """Map each node to the values that it uses for the last time."""
    found: dict[Node, list[Node]] = {}
    seen: set[Node] = set()
    for user in reversed(nodes):
        for node in user.all_input_nodes:
            if node not in seen:
                seen.add(node)
                found.setdefault(user, []).append(node)
    return found


def _line_of(stack_trace: str | None) -> str | None:
    """Return the last frame of a stack trace as ``File: model.py:12 in forward, code: x = self.fc(x)``."""
    frames = re.findall(r'^\s*File "(.+)", line (\d+), in (.+)\n(.*)', stack_trace or "", re.MULTILINE)
    return "File: {}:{} in {}, code: {}".format(*frames[-1][:3], frames[-1][3].strip()) if frames else None


_SHORT = {"float32": "f32", "float64": "f64", "float16": "f16", "bfloat16": "bf16", "complex64": "c64", "complex128": "c128",
          "int8": "i8", "int16": "i16", "int32": "i32", "int64": "i64", "bool": "b8", "uint8": "u8", "uint16": "u16",
          "uint32": "u32", "uint64": "u64"}


def _shape_of(node: Node) -> str:
    """Return an annotation such as ``: "f32[2, 3]"``, if a pass has recorded the node's result."""
    meta: Any = node.meta.get("val", node.meta.get("tensor_meta", node.meta.get("example_value")))
    if not hasattr(meta, "shape") or not hasattr(meta, "dtype"):
        return ""
    name = str(meta.dtype).rpartition(".")[2]
    return f': "{_SHORT.get(name, name)}[{", ".join(map(str, meta.shape))}]"'
