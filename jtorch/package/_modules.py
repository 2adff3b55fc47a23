"""The import system of one package: its modules come from its records, and external ones from Python."""
from __future__ import annotations

import builtins
import inspect
import linecache
from collections.abc import Callable, Iterable
from importlib.machinery import ExtensionFileLoader, ModuleSpec
from importlib.util import module_from_spec
from types import ModuleType
from typing import Any
from weakref import WeakValueDictionary

from jtorch.package._mangling import PackageMangler, demangle
from jtorch.package.find_file_dependencies import resolve_name
from jtorch.package.importer import Importer, imported

# Modules that packages import without naming them as external.
IMPLICIT_IMPORT_ALLOWLIST = ["numpy", "numpy.core", "numpy.core._multiarray_umath", "builtins"]
# Maps a module to names that its later versions lack, and that pickles have.
EXTERN_IMPORT_COMPAT_NAME_MAPPING: dict[str, dict[str, Any]] = {"numpy": {"str": str, "bool": bool}}

_loaded: WeakValueDictionary[str, ModuleType] = WeakValueDictionary()       # All modules of packages.


class _Node:
    """A module of the package: its record, its modules if it is a package, or the fact that it is external."""

    def __init__(self, source_file: str | None = None, *, is_package: bool = False, is_extern: bool = False):
        self.source_file, self.is_extern = source_file, is_extern
        self.children: dict[str, _Node] | None = {} if is_package else None


class Modules(Importer):
    """The environment of modules of one package. See ``PackageImporter``."""

    filename: str
    zip_reader: Any
    extern_modules: list[str]

    def __init__(self) -> None:
        self.root = _Node(is_package=True)
        self._mangler = PackageMangler()
        self.patched_builtins = {**builtins.__dict__, "__import__": self.__import__}
        # Code of the package can import its importer.
        self.modules: dict[str, Any] = {"torch_package_importer": self}

    # -- the tree of modules ------------------------------------------------------------------------------------------

    def _add_extern(self, extern_name: str) -> None:
        *prefix, last = extern_name.split(".")
        package = self._package_node(prefix)
        if not package.is_extern:       # A shorter name may already make this one external.
            package.children[last] = _Node(is_extern=True)      # type: ignore[index]

    def _add_file(self, filename: str) -> None:
        *prefix, last = filename.split("/")
        if len(prefix) > 1 and prefix[0] == ".data":
            return
        package = self._package_node(prefix)
        if package.is_extern:
            raise ImportError(f"inconsistent module structure. package contains a module file {filename} that is a subpackage of "
                              "a module marked external.")
        if last == "__init__.py":
            package.source_file = filename
        elif last.endswith(".py"):
            package.children[last.removesuffix(".py")] = _Node(filename)        # type: ignore[index]

    def _package_node(self, atoms: list[str]) -> _Node:
        """Return the node of a package, or of an external package around it, and create nodes that are missing."""
        node = self.root
        for i, atom in enumerate(atoms):
            node = node.children.setdefault(atom, _Node(is_package=True))       # type: ignore[union-attr]
            if node.is_extern:
                break
            if node.children is None:
                raise ImportError(f"inconsistent module structure. module {'.'.join(atoms[:i])} is not a package, but has "
                                  "submodules")
        return node

    # -- importing ----------------------------------------------------------------------------------------------------

    def import_module(self, name: str, package: Any = None) -> Any:
        """Return a module, which is loaded from the package once. ``package`` is not used.

        Raises:
            ModuleNotFoundError: the package has no such module, and it is not external

        """
        return self._import(self._mangler.demangle(name))

    def _import(self, name: str) -> Any:
        if name not in self.modules:
            return self._find_and_load(name)
        module = self.modules[name]
        if module is None:
            raise ModuleNotFoundError(f"import of {name} halted; None in sys.modules", name=name)
        return module

    def _find_and_load(self, name: str) -> Any:
        parent, _, child = name.rpartition(".")
        if parent:
            if parent not in self.modules:
                self._import(parent)
            if name in self.modules:        # The parent has imported the module.
                return self.modules[name]
            self._check_package(self.modules[parent], name, parent, child)
        module = self._load_module(name, parent)
        self._install_on_parent(parent, name, module)
        return module

    def _check_package(self, module: Any, name: str, parent: str, child: str) -> None:
        """Raise ModuleNotFoundError unless ``module`` can have modules: it is a package, or an extension that has the child."""
        if hasattr(module, "__path__"):
            return
        missing = f"No module named {name!r}; "
        if not isinstance(module.__loader__, ExtensionFileLoader):
            raise ModuleNotFoundError(f"{missing}{parent!r} is not a package", name=name)
        if name not in self.extern_modules:
            says = f"{missing}{name!r} is a c extension module which was not externed. C extension modules need to be externed "
            raise ModuleNotFoundError(says + "by the PackageExporter in order to be used as we do not support interning them.",
                                      name=name)
        if not isinstance(module.__dict__.get(child), ModuleType):
            raise ModuleNotFoundError(f"{missing}{parent!r} is a c extension package which does not contain {name!r}.", name=name)

    def _load_module(self, name: str, parent: str) -> Any:
        node = self.root
        for atom in name.split("."):
            if node.children is None or atom not in node.children:
                if name in IMPLICIT_IMPORT_ALLOWLIST:
                    return self._load_extern(name)
                says = f'No module named "{name}" in self-contained archive "{self.filename}" and the module is also not in '
                raise ModuleNotFoundError(f"{says}the list of allowed external modules: {self.extern_modules}", name=name)
            node = node.children[atom]
            if node.is_extern:
                return self._load_extern(name)
        return self._make_module(name, node.source_file, node.children is not None, parent)

    def _load_extern(self, name: str) -> Any:
        module = self.modules[name] = imported(name)
        for old, new in EXTERN_IMPORT_COMPAT_NAME_MAPPING.get(name, {}).items():
            module.__dict__.setdefault(old, new)
        # Python puts these into sys.modules under names at which they have no file.
        for child in {"os": ("path",), "typing": ("io", "re")}.get(name, ()):
            if hasattr(module, child):
                self.modules[f"{name}.{child}"] = getattr(module, child)
        return module

    def _make_module(self, name: str, filename: str | None, is_package: bool, parent: str) -> ModuleType:
        mangled_filename = self._mangler.mangle(filename) if filename else None
        spec = ModuleSpec(name, self, origin="<package_importer>", is_package=is_package)       # type: ignore[arg-type]
        module = self.modules[name] = module_from_spec(spec)
        module.__name__ = self._mangler.mangle(name)
        module.__dict__.update(__spec__=spec, __loader__=self, __file__=mangled_filename, __cached__=None,
                               __builtins__=self.patched_builtins, __torch_package__=True)
        _loaded[module.__name__] = module
        # The parent has the module before its code runs, so that a circular import finds it.
        self._install_on_parent(parent, name, module)
        if mangled_filename is not None:
            linecache.lazycache(mangled_filename, module.__dict__)      # Tracebacks and inspect show the source.
            exec(self._compile_source(str(filename), mangled_filename), module.__dict__)        # noqa: S102
        return module

    def _compile_source(self, fullpath: str, mangled_filename: str) -> Any:
        source = self.zip_reader.get_record(fullpath).replace(b"\r\n", b"\n").replace(b"\r", b"\n")
        return compile(source, mangled_filename, "exec", dont_inherit=True)

    def _install_on_parent(self, parent: str, name: str, module: Any) -> None:
        if parent and self.modules[parent].__loader__ is self:
            setattr(self.modules[parent], name.rpartition(".")[2], module)

    def get_source(self, module_name: str) -> str:
        """Return a module's source. ``linecache`` calls this with the name that has the importer's prefix."""
        module = self.import_module(demangle(module_name))
        return self.zip_reader.get_record(demangle(module.__file__)).decode()

    # -- the statement import -----------------------------------------------------------------------------------------

    def __import__(self, name: str, globals: Any = None, locals: Any = None, fromlist: Iterable[str] = (), level: int = 0) -> Any:
        if level:
            package = _package_of(globals or {})
            if not package:
                raise ImportError("attempted relative import with no known parent package")
            full = resolve_name(name, package, level)
        elif name:
            full = name
        else:
            raise ValueError("Empty module name")
        module = self._import(full)
        if fromlist:
            return self._with_members(module, fromlist)
        # The result is the package at the beginning of the name as it is written.
        dropped = name.count(".") if name else 0
        return self._import(full.rsplit(".", dropped)[0]) if dropped else module

    def _with_members(self, module: Any, fromlist: Iterable[str], *, of_all: bool = False) -> Any:
        """Import those members of a package that are modules, and return the package."""
        name = demangle(module.__name__)
        for member in fromlist if hasattr(module, "__path__") else ():
            if not isinstance(member, str):
                where = f"{name}.__all__" if of_all else "``from list''"
                raise TypeError(f"Item in {where} must be str, not {type(member).__name__}")
            if member == "*":
                if not of_all and hasattr(module, "__all__"):
                    self._with_members(module, module.__all__, of_all=True)
            elif not hasattr(module, member):
                self._try_member(f"{name}.{member}")
        return module

    def _try_member(self, name: str) -> None:
        try:
            self._import(name)
        except ModuleNotFoundError as e:
            # Python then raises ImportError for the name, as for one that is no module.
            if e.name != name or self.modules.get(name, self) is None:
                raise


def _package_of(globals: dict[str, Any]) -> str:
    """Return the package to which a module belongs, by its globals."""
    package, spec = globals.get("__package__"), globals.get("__spec__")
    if package is None and spec is not None:
        return spec.parent
    if package is None:
        return globals["__name__"] if "__path__" in globals else globals["__name__"].rpartition(".")[0]
    return package


_getfile: Callable[[Any], str] = inspect.getfile


def _patched_getfile(object: Any) -> str:
    """Return the file of a class, function or module. ``inspect`` searches classes only in ``sys.modules``."""
    if inspect.isclass(object) and object.__module__ in _loaded:
        return str(_loaded[object.__module__].__file__)
    return _getfile(object)


inspect.getfile = _patched_getfile
