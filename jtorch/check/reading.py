"""Read a Python file's syntax tree: which of PyTorch's names it uses, at which lines, and whether it guards them."""
from __future__ import annotations

import ast
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any

from jtorch.check.guards import Guard, asked, is_for_types, of_handlers, suppresses
from jtorch.check.scopes import Bound, Scope

ROOTS = ("torch", "jtorch")
TENSOR = "torch.Tensor"
UNKNOWN = object()      # stands for an argument that is not a constant


@dataclass(frozen=True, slots=True)
class Use:
    """A name that a file uses.

    ``path`` is dotted and begins with ``torch``, or with ``@module:name`` for a name of another file. ``keywords`` are those of a
    call, with their constants.

    ``how`` is "name", "import", "value" (an imported name that is handed on), "base" (of a class), "star" (a name that a star
    import may bind), "member" (of an instance), "attribute" (of an unknown object) or "stored" (assigned or deleted).
    """

    path: str
    line: int
    guards: tuple[Guard, ...] = ()
    keywords: Mapping[str, Any] | None = None
    how: str = "name"


@dataclass
class Result:
    """The names that a file uses, and the names that it exports. ``stars`` are the modules that it imports with a star."""

    uses: list[Use] = field(default_factory=list)
    exports: dict[str, str] = field(default_factory=dict)
    stars: list[str] = field(default_factory=list)
    defines: set[str] = field(default_factory=set)
    asked: set[str] = field(default_factory=set)


@dataclass(frozen=True, slots=True)
class Facts:
    """The facts about PyTorch that the reader needs: functions and methods that return tensors, and members to look for."""

    functions: frozenset[str]
    methods: frozenset[str]
    members: frozenset[str]         # uses of other attributes of objects are not noted
    modules: frozenset[str] = frozenset()       # the project's own modules


def read(tree: ast.Module, module: str, facts: Facts) -> Result:
    """Return what a file uses. ``module`` is its dotted name in the project ("a.b.__init__" for a package)."""
    return _Reader(module, facts).read(tree)


@dataclass(slots=True)
class _Pending:
    """A chain of attributes, looked up once all names of the file are bound."""

    root: ast.expr
    names: tuple[str, ...]
    line: int
    scope: Scope
    guards: tuple[Guard, ...]
    how: str
    call: ast.Call | None


class _Reader:
    def __init__(self, module: str, facts: Facts) -> None:
        self.module, self.facts = module, facts
        self.scope = self.top = Scope(None)
        self.guards: tuple[Guard, ...] = ()
        self.pending: list[_Pending] = []
        self.asked: list[tuple[ast.expr, tuple[str, ...], Scope]] = []
        self.result = Result()
        self.known: dict[int, list[str] | None] = {}        # types of a name, by the id of its list of bindings
        self.imported: set[str] = set()     # names that `from torch… import` binds somewhere in the file
        self.depth = 0

    def read(self, tree: ast.Module) -> Result:
        self.visit(tree)
        for one in self.asked:
            self.result.asked.update(f"{path}.{'.'.join(one[1])}" for path in self.paths(one[0], one[2]))
        for pending in self.pending:
            self.result.uses += self.settle(pending)
        for name in self.top.bound:
            for path in self.named(name, self.top):
                self.result.exports[name] = path
        self.top.forget()
        return self.result

    # ------------------------------------------------------------ walking

    def visit(self, node: Any) -> None:
        """Note the names that a node and the nodes below it bind and use."""
        handler = _HANDLERS.get(type(node))
        if handler is not None:
            handler(self, node)
        else:
            self.below(node)

    def below(self, node: Any) -> None:
        for name in node._fields:
            value = getattr(node, name, None)
            if isinstance(value, list):
                self.all(value)
            elif isinstance(value, ast.AST):
                self.visit(value)

    def all(self, nodes: list[Any]) -> None:
        for node in nodes:
            if isinstance(node, ast.AST):
                self.visit(node)

    def guarded(self, nodes: list[Any], *more: Guard) -> None:
        before = self.guards
        self.guards = (*before, *more)
        self.all(nodes)
        self.guards = before

    def inside(self, scope: Scope, *groups: Any) -> None:
        before, self.scope = self.scope, scope
        for group in groups:
            self.all(group if isinstance(group, list) else [group])
        self.scope = before

    def note(self, root: ast.expr, names: tuple[str, ...], line: int, how: str = "name", call: ast.Call | None = None) -> None:
        self.pending.append(_Pending(root, names, line, self.scope, self.guards, how, call))

    # ------------------------------------------------------------ imports

    def use(self, path: str, line: int) -> None:
        self.result.uses.append(Use(path, line, self.guards, how="import"))

    def visit_import(self, node: ast.Import) -> None:
        for alias in node.names:
            root = alias.name.split(".")[0]
            path = "torch" + alias.name[len(root):]
            if root not in ROOTS:
                self.scope.bind(alias.asname or root, Bound("other"))
                continue
            self.use(path, node.lineno)
            self.scope.bind(alias.asname or root, Bound("path", path if alias.asname else "torch"))

    def visit_from(self, node: ast.ImportFrom) -> None:
        source = self.source(node)
        for alias in node.names:
            name, bound = alias.asname or alias.name, Bound("other")
            if source.split(".")[0] == "torch":
                path = source if alias.name == "*" else f"{source}.{alias.name}"
                self.use(path, getattr(alias, "lineno", node.lineno))
                bound = Bound("path", path)
                self.imported.add(name)
            elif source in self.facts.modules:
                bound = Bound("path", f"@{source}:{alias.name}")
            if alias.name == "*":
                self.result.stars += [source] if bound.kind == "path" else []
            else:
                self.scope.bind(name, bound)

    def source(self, node: ast.ImportFrom) -> str:
        """Return the module that names come from: ``torch.nn``, or a file of the project."""
        module = node.module or ""
        if not node.level:
            root = module.split(".")[0]
            return "torch" + module[len(root):] if root in ROOTS else module
        parts = self.module.split(".")[:-node.level]
        return ".".join([*parts, *([module] if module else [])])

    # ------------------------------------------------------------ scopes

    def visit_function(self, node: Any) -> None:
        self.define(node.name)
        self.handed_on(node.decorator_list)
        self._parameters(node.args)
        if node.returns is not None:
            self.visit(node.returns)
        inner = Scope(self.scope)
        self._bind_parameters(node.args, inner, any(_named(d, "staticmethod") for d in node.decorator_list))
        self.inside(inner, node.body)

    def visit_lambda(self, node: ast.Lambda) -> None:
        self._parameters(node.args)
        inner = Scope(self.scope)
        self._bind_parameters(node.args, inner)
        self.inside(inner, node.body)

    def _parameters(self, args: ast.arguments) -> None:
        self.all([*args.defaults, *args.kw_defaults])
        self.all([a.annotation for a in (*args.posonlyargs, *args.args, *args.kwonlyargs, args.vararg, args.kwarg) if a])

    def _bind_parameters(self, args: ast.arguments, inner: Scope, static: bool = False) -> None:
        for arg in (*args.posonlyargs, *args.args, *args.kwonlyargs):
            hint = Bound("typed", node=arg.annotation, scope=self.scope) if arg.annotation is not None else Bound("other")
            inner.bind(arg.arg, hint)
        for more in (args.vararg, args.kwarg):
            if more is not None:
                inner.bind(more.arg, Bound("other"))
        first = (*args.posonlyargs, *args.args)[:1]
        if self.scope.is_class and first and not static:
            inner.bound[first[0].arg] = [Bound("self", node=base, scope=self.scope.parent) for base in self.scope.bases]

    def visit_class(self, node: ast.ClassDef) -> None:
        self.define(node.name)
        self.all([*node.decorator_list, *node.bases, *[k.value for k in node.keywords]])
        for base in node.bases:
            self.note(*_chain(base), node.lineno, "base")
        inner = Scope(self.scope, is_class=True, bases=node.bases)
        self.inside(inner, node.body)
        self.result.defines.update(inner.bound)

    def visit_comprehension(self, node: Any) -> None:
        inner = Scope(self.scope)
        parts = [node.key, node.value] if isinstance(node, ast.DictComp) else [node.elt]
        self.inside(inner, node.generators, parts)

    def define(self, name: str) -> None:
        self.scope.bind(name, Bound("other"))
        self.result.defines.add(name)

    # ------------------------------------------------------------ statements

    def visit_name(self, node: ast.Name) -> None:
        if isinstance(node.ctx, ast.Store):
            self.scope.bind(node.id, Bound("other"))
        elif self.result.stars:
            self.note(node, (), node.lineno)

    def handed_on(self, nodes: list[ast.expr]) -> None:
        """Visit values that are passed on: decorators, arguments and assigned values. Imported names are noted as "value"."""
        for node in nodes:
            if isinstance(node, ast.Name) and isinstance(node.ctx, ast.Load) and node.id in self.imported:
                self.note(node, (), node.lineno, "value")
            else:
                self.visit(node)

    def visit_assign(self, node: ast.Assign) -> None:
        self.handed_on([node.value])
        for target in node.targets:
            if isinstance(target, ast.Name):
                self.scope.bind(target.id, _value(node.value, self.scope))
            else:
                self.visit(target)

    def visit_annotated(self, node: ast.AnnAssign) -> None:
        self.all([node.annotation, node.value])
        if isinstance(node.target, ast.Name):
            self.scope.bind(node.target.id, Bound("typed", node=node.annotation, scope=self.scope))
        else:
            self.visit(node.target)

    def visit_augmented(self, node: ast.AugAssign) -> None:
        self.visit(node.value)
        if not isinstance(node.target, ast.Name):
            self.visit(node.target)

    def visit_global(self, node: Any) -> None:
        self.scope.elsewhere.update(node.names)

    def visit_try(self, node: Any) -> None:
        guard = of_handlers(node)
        before, waiting = len(self.result.uses), len(self.pending)
        self.guarded(node.body, *([Guard("caught")] if guard else []))
        tried = (*(use.path for use in self.result.uses[before:]),
                 *(".".join([path, *one.names]) for one in self.pending[waiting:] for path in self.paths(one.root, one.scope)))
        foreign = any(isinstance(n, (ast.Import, ast.ImportFrom)) for n in node.body) and not tried
        for handler in node.handlers:
            if handler.name:
                self.scope.bind(handler.name, Bound("other"))
            self.guarded(handler.body, *([Guard("instead", tried)] if guard and tried and not foreign else []))
        self.all([*node.orelse, *node.finalbody])

    def visit_with(self, node: Any) -> None:
        self.all(node.items)
        self.guarded(node.body, *([Guard("caught")] if any(suppresses(i.context_expr) for i in node.items) else []))

    def visit_if(self, node: Any) -> None:
        """Walk an ``if``, or an expression with ``if``."""
        self.visit(node.test)
        body, other = ([n] if isinstance(n, ast.AST) else n for n in (node.body, node.orelse))
        if is_for_types(node.test):
            self.guarded(body, Guard("types"))
            self.all(other)
            return
        present, absent = asked(node.test)
        self.guarded(body, *self._instead(absent))
        self.guarded(other, *self._instead(present))

    def _instead(self, found: list[tuple[ast.expr, str]]) -> list[Guard]:
        """Return the guard of code that runs only if names are missing."""
        paths = tuple(p for owner, name in found for p in self._spelled(owner, name))
        return [Guard("instead", paths)] if paths else []

    def _spelled(self, owner: ast.expr, name: str) -> list[str]:
        return [f"{path}.{name}" for path in self.paths(owner, self.scope)]

    # ------------------------------------------------------------ attributes and calls

    def visit_attribute(self, node: ast.Attribute, call: ast.Call | None = None) -> None:
        root, names = _chain(node)
        stored = not isinstance(node.ctx, ast.Load)
        if stored:
            self.result.defines.add(node.attr)
        if isinstance(root, ast.Name):
            self.note(root, names, node.end_lineno or node.lineno, "stored" if stored else "name", call)
            return
        self.visit(root)
        if names[0] in self.facts.members:
            self.note(root, names, node.end_lineno or node.lineno, "stored" if stored else "name", call)

    def visit_call(self, node: ast.Call) -> None:
        function = node.func
        if isinstance(function, ast.Attribute):
            self.visit_attribute(function, node)
        elif isinstance(function, ast.Name):
            self.note(function, (), node.lineno, "name", node)
            self._ask(function.id, node)
        else:
            self.visit(function)
        if (isinstance(function, ast.Attribute) and function.attr == "import_module") or _named(function, "__import__"):
            self._import_by_name(node)
        self.handed_on(node.args)
        self.handed_on([k.value for k in node.keywords])

    def _ask(self, function: str, node: ast.Call) -> None:
        """Note ``hasattr(torch, "x")`` and ``getattr(torch, "x")``."""
        if function not in ("hasattr", "getattr") or len(node.args) < 2:
            return
        owner, name = node.args[0], getattr(node.args[1], "value", None)
        if not isinstance(name, str) or not isinstance(owner, (ast.Name, ast.Attribute)):
            return
        if function == "hasattr" or len(node.args) > 2:
            self.asked.append((owner, (name,), self.scope))
        if function == "getattr":
            root, names = _chain(owner)
            self.note(root, (*names, *name.split(".")), node.lineno)

    def _import_by_name(self, node: ast.Call) -> None:
        name = getattr(node.args[0], "value", None) if node.args else None
        if isinstance(name, str) and name.split(".")[0] == "torch":
            self.use(name, node.lineno)

    # ------------------------------------------------------------ resolving names

    def settle(self, one: _Pending) -> Iterator[Use]:
        """Yield the uses that a chain of attributes stands for, now that all names are bound."""
        keywords = _keywords(one.call) if one.call is not None else None
        found = list(self.paths(one.root, one.scope))
        starred = isinstance(one.root, ast.Name) and one.scope.find(one.root.id) is None
        for path in found:
            yield Use(".".join([path, *one.names]), one.line, one.guards, keywords, "star" if starred else one.how)
        if found or not one.names or one.names[0] not in self.facts.members:
            return
        kinds = self.kinds(one.root, one.scope) or []
        for kind in kinds:
            yield Use(".".join([kind, *one.names[:1]]), one.line, one.guards, keywords if len(one.names) == 1 else None, "member")
        if not kinds and len(one.names) == 1 and one.how == "name":
            yield Use(one.names[0], one.line, one.guards, keywords, "attribute")

    def paths(self, node: ast.expr, scope: Scope) -> Iterator[str]:
        """Yield the paths that an expression of names and dots may stand for."""
        root, names = _chain(node)
        if isinstance(root, ast.Name):
            for path in self.named(root.id, scope):
                yield ".".join([path, *names])

    def named(self, name: str, scope: Scope) -> list[str]:
        """Return the paths that a name may stand for."""
        bound = scope.find(name)
        if bound is None:
            return [path_in(star, name) for star in self.result.stars]
        imported = [b.path for b in bound if b.kind == "path"]
        if imported:
            return [] if any(b.kind == "other" and not b.is_none for b in bound) else imported
        if len(bound) != 1 or bound[0].kind != "value" or self.depth > 8:
            return []
        self.depth += 1
        try:
            return list(self.paths(bound[0].node, bound[0].scope))
        finally:
            self.depth -= 1

    def kinds(self, node: ast.expr, scope: Scope) -> list[str] | None:
        """Return the classes that an expression's value may have: [] if it may have others, None during a search for them."""
        if self.depth > 8:
            return []
        self.depth += 1
        try:
            return self._kinds(node, scope)
        finally:
            self.depth -= 1

    def _kinds(self, node: ast.expr, scope: Scope) -> list[str] | None:
        if isinstance(node, ast.Name):
            return self._kinds_of_name(node.id, scope)
        if isinstance(node, ast.Call):
            return self._kinds_of_call(node, scope)
        if isinstance(node, ast.Subscript):
            return _if_tensor(self.kinds(node.value, scope))
        if isinstance(node, (ast.BinOp, ast.UnaryOp)):
            return _if_tensor(self.kinds(node.left if isinstance(node, ast.BinOp) else node.operand, scope))
        return []

    def _kinds_of_name(self, name: str, scope: Scope) -> list[str] | None:
        bound = scope.find(name) or []
        if id(bound) not in self.known:
            self.known[id(bound)] = None        # a search is in progress, so `x = x + 1` adds no type to the types of x
            found = [kinds for b in bound if (kinds := self._kinds_of(b)) is not None]
            self.known[id(bound)] = sorted({kind for kinds in found for kind in kinds}) if found and all(found) else []
        return self.known[id(bound)]

    def _kinds_of(self, bound: Bound) -> list[str] | None:
        if bound.kind == "value":
            return self.kinds(bound.node, bound.scope)
        if bound.kind in ("typed", "self"):
            return [p for p in self.paths(bound.node, bound.scope) if p.split(".")[0] == "torch"]
        return []

    def _kinds_of_call(self, node: ast.Call, scope: Scope) -> list[str] | None:
        for path in self.paths(node.func, scope):
            if path in self.facts.functions:
                return [TENSOR]
            return [path] if path.startswith("torch.") and path.rpartition(".")[2][:1].isupper() else []
        if isinstance(node.func, ast.Attribute) and node.func.attr in self.facts.methods:
            return _if_tensor(self.kinds(node.func.value, scope))
        return []


def _if_tensor(kinds: list[str] | None) -> list[str] | None:
    return kinds if kinds in (None, [TENSOR]) else []


def path_in(module: str, name: str) -> str:
    """Return the path of a name in a module of PyTorch or of the project."""
    return f"{module}.{name}" if module.split(".")[0] == "torch" else f"@{module}:{name}"


def _chain(node: ast.expr) -> tuple[ast.expr, tuple[str, ...]]:
    """Return an expression's part before its dots, and the names after them."""
    names: list[str] = []
    while isinstance(node, ast.Attribute):
        names.append(node.attr)
        node = node.value
    return node, tuple(reversed(names))


def _value(node: ast.expr, scope: Scope) -> Bound:
    if isinstance(node, ast.Constant):
        return Bound("other", is_none=True)
    return Bound("value", node=node, scope=scope)


def _named(node: ast.expr, name: str) -> bool:
    return isinstance(node, ast.Name) and node.id == name


def _keywords(call: ast.Call) -> dict[str, Any]:
    return {k.arg: k.value.value if isinstance(k.value, ast.Constant) else UNKNOWN for k in call.keywords if k.arg}


_HANDLERS: dict[type, Any] = {
    ast.Import: _Reader.visit_import, ast.ImportFrom: _Reader.visit_from, ast.FunctionDef: _Reader.visit_function,
    ast.AsyncFunctionDef: _Reader.visit_function, ast.Lambda: _Reader.visit_lambda, ast.ClassDef: _Reader.visit_class,
    ast.ListComp: _Reader.visit_comprehension, ast.SetComp: _Reader.visit_comprehension,
    ast.GeneratorExp: _Reader.visit_comprehension, ast.DictComp: _Reader.visit_comprehension, ast.Name: _Reader.visit_name,
    ast.Assign: _Reader.visit_assign, ast.AnnAssign: _Reader.visit_annotated, ast.AugAssign: _Reader.visit_augmented,
    ast.Global: _Reader.visit_global, ast.Nonlocal: _Reader.visit_global, ast.Try: _Reader.visit_try,
    ast.TryStar: _Reader.visit_try, ast.With: _Reader.visit_with, ast.AsyncWith: _Reader.visit_with, ast.If: _Reader.visit_if,
    ast.IfExp: _Reader.visit_if, ast.Attribute: _Reader.visit_attribute, ast.Call: _Reader.visit_call,
}
