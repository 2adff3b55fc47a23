"""A file imports only from the layers above its own. Imports inside functions are listed with reasons."""
from __future__ import annotations

import ast
import functools
import graphlib
from collections.abc import Iterator
from pathlib import Path

import pytest

PACKAGE = Path(__file__).resolve().parents[2] / "jtorch"
COMPAT = PACKAGE / "compat"         # ``jtorch._base.compat_path`` adds this folder to the package's ``__path__``.

# The map of the package from top to bottom. A file or folder imports only from the lines above its own.
LAYERS = [
    "dtype",            # element types
    "device",           # places of elements
    "version",
    "torch_version",
    "check",            # names that a project's sources use, read without JAX
    "numa",             # processes near a device's memory
    "__future__",       # settings for conversions of modules
    "_base",            # parts without tensors: sizes, layouts, settings, the caller's line, random numbers
    "speedups",         # C versions of the hot path
    "ops",              # pure functions of arrays, each with a record of its facts
    "engine",           # values; calls recorded, run and compiled
    "storage",          # memory shared by tensors
    "no_grad",          # modes
    "_nodes",           # parts of nodes of the tape
    "tape",             # nodes
    "_backward",        # walking the tape; histories of views
    "_storage",         # memory as bytes, and as elements of one type
    "tensor",           # state and conversions
    "_tensor_str",      # printing
    "dispatch",         # a call: checks, recording, writing, views
    "_api",             # PyTorch's functions that are more than one op, and names made from op records
    "return_types",
    "futures",          # results that somebody else sets
    "distributed",      # processes that work together
    "_classes",
    "cuda",
    "profiler",
    "autograd",
    "sparse",           # tensors of which some elements are stored
    "cpu",
    "random",
    "backends",
    "accelerator",
    "nn",
    "_optimizers",
    "optim",
    "amp",
    "func",
    "overrides",
    "_library",         # operators that users register, and torch.ops
    "_aten",            # calls as PyTorch's operators, for modes and classes with __torch_dispatch__
    "_ops",
    "library",
    "_custom_ops",
    "masked",           # masked tensors
    "_vision",          # operators that torchvision's compiled library would have
    "quasirandom",      # evenly spread points
    "types",
    "testing",
    "serialization",
    "distributions",
    "_jit_internal",
    "jit",
    "hub",
    "compiler",
    "multiprocessing",
    "utils",
    "nested",           # batches of tensors that differ in a size
    "_quantized",       # modules with weights of 8 or 16 bits
    "_parallel",        # tensors and modules shared by several processes
    "__config__",       # options of the build
    "_utils",           # from here to _C: modules of compat/, which have the private names of PyTorch that packages import
    "_tensor",
    "_VF",
    "_vmap_internals",
    "_prims_common",    # shapes, strides and dtypes
    "_guards",
    "_logging",
    "_functorch",
    "_higher_order_ops",
    "_subclasses",
    "_dynamo",
    "_inductor",
    "_C",               # names of PyTorch's compiled part
    "export",           # models as StableHLO
    "onnx",             # models as ONNX
    "fx",               # graphs of modules: traced, changed, written as Python
    "_import_hook",     # ``import torch`` as this package, by PyTorch's module paths
    "package",          # archives of code and objects
    "_as_torch",        # the earlier name of _import_hook
    "__init__",
    "install",          # ``import torch`` for a whole environment; a self-test
    "__main__",
]
LAYER = {name: i for i, name in enumerate(LAYERS)}

# Maps (file, layer below imported inside a function) to the reason.
LATER = {
    ("tensor", "_api"): "Tensor(...) and pickles make tensors from data",
    ("_base", "serialization"): "pickles name PyTorch's function of layouts",
    ("tensor", "serialization"): "pickles are written as PyTorch writes them",
    ("storage", "serialization"): "pickles have what torch.save writes of a storage",
    ("profiler", "autograd"): "tables are asked for rarely, and PyTorch has them in autograd",
    ("tensor", "autograd"): "Tensor.backward is autograd.backward",
    ("tensor", "_tensor_str"): "repr is asked for rarely",
    ("_api", "sparse"): "Tensor.to_sparse is asked for rarely",
    ("autograd", "func"): "Jacobians by forward mode, and tangents in batches, are vmap of jvp",
    ("nn", "utils"): "a module that is converted asks for swap_tensors where torch.__future__ says so",
    ("serialization", "nested"): "files may have nested tensors",
    ("serialization", "_quantized"): "files may have quantized tensors",
    ("serialization", "utils"): "files that the safetensors package writes are read with it",
    ("jit", "export"): "what was traced is saved and loaded as a program of torch.export",
    ("_api", "_aten"): "classes with __torch_dispatch__ are defined rarely",
    ("nn", "func"): "flex attention's functions of a position are mapped over all of them",
    ("distributed", "_import_hook"): "the launcher's processes get jtorch as torch",
    ("utils", "fx"): "SummaryWriter.add_graph draws what is traced",
    ("utils", "_import_hook"): "a DataLoader's worker imports a script that was run as torch the same way",
}


def layer_of(module: str) -> str:
    """Return the layer of a module: ``ops`` for ``jtorch.ops.nn.conv``. ``jtorch`` itself is the last layer, ``__init__``."""
    parts = module.split(".")
    return parts[1] if len(parts) > 1 else "__init__"


@functools.cache
def imports(path: Path) -> list[tuple[str, int, bool]]:
    """Return (layer, line, whether inside a function) of a file's imports from the package, without those for type
    checkers.
    """
    return list(_imports(ast.parse(path.read_text())))


def _imports(tree: ast.Module) -> Iterator[tuple[str, int, bool]]:
    for node, inside in _walk(tree, inside=False):
        if isinstance(node, ast.ImportFrom) and node.module == "jtorch":
            for alias in node.names:
                yield (alias.name if alias.name in LAYER else "__init__"), node.lineno, inside
        elif isinstance(node, ast.ImportFrom) and (node.module or "").startswith("jtorch."):
            yield layer_of(node.module or ""), node.lineno, inside
        elif isinstance(node, ast.Import):
            for alias in node.names:
                if alias.name.split(".")[0] == "jtorch":
                    yield layer_of(alias.name), node.lineno, inside


def _walk(node: ast.AST, *, inside: bool) -> Iterator[tuple[ast.AST, bool]]:
    for child in ast.iter_child_nodes(node):
        if isinstance(child, ast.If) and "TYPE_CHECKING" in ast.unparse(child.test):
            for other in child.orelse:
                yield other, inside
            continue
        yield child, inside
        yield from _walk(child, inside=inside or isinstance(child, (ast.FunctionDef, ast.AsyncFunctionDef, ast.Lambda)))


HIDDEN = {"device", "dtype", "tensor", "no_grad", "ops"}
FILES = sorted(PACKAGE.rglob("*.py"))
ALL_FILES = frozenset(FILES)


def name_of(path: Path) -> str:
    return path.relative_to(COMPAT if COMPAT in path.parents else PACKAGE).parts[0].removesuffix(".py")


@pytest.mark.parametrize("path", FILES, ids=lambda p: str(p.relative_to(PACKAGE)))
def test_imports_point_up(path):
    mine = name_of(path)
    assert mine in LAYER, f"{path.name} is in no layer: say in LAYERS where it belongs"
    wrong = [f"line {line}: {found}" for found, line, inside in imports(path)
             if LAYER.get(found, len(LAYERS)) > LAYER[mine] and not (inside and (mine, found) in LATER)]
    assert not wrong, f"{path.relative_to(PACKAGE)} imports from a layer below its own: {', '.join(wrong)}"


def test_no_exception_is_left_over():
    used = {(name_of(p), found) for p in FILES for found, _, inside in imports(p) if inside}
    assert set(LATER) <= used


def test_files_import_each_other_in_no_circle():
    """This holds even within a layer: a file can be imported once its imports have been."""
    try:
        graphlib.TopologicalSorter({path: set(_files_imported(path)) for path in FILES}).prepare()
    except graphlib.CycleError as error:
        pytest.fail(" imports ".join(str(path.relative_to(PACKAGE)) for path in reversed(error.args[1])))


def _files_imported(path: Path) -> Iterator[Path]:
    """Yield the files whose names a file needs at its import."""
    for node, inside in _walk(ast.parse(path.read_text()), inside=False):
        found: list[Path | None] = []
        if isinstance(node, ast.ImportFrom) and not inside:
            found = [_file_of(f"{node.module}.{alias.name}") or _file_of(node.module or "") for alias in node.names]
        elif isinstance(node, ast.Import) and not inside:
            found = [_file_of(alias.name) for alias in node.names]
        yield from [f for f in found if f is not None and f != path]


def _file_of(module: str) -> Path | None:
    """Return the file of a module of the package."""
    package, *parts = module.split(".")
    places = [folder.joinpath(*parts) for folder in (PACKAGE, COMPAT)]
    files = [f for place in places for f in (place.with_suffix(".py"), place / "__init__.py")]
    return next((f for f in files if package == "jtorch" and f in ALL_FILES), None)


def test_ops_know_arrays_only():
    for path in (p for p in FILES if name_of(p) == "ops"):
        assert not {found for found, _, _ in imports(path)} & {"device", "generator", "__init__"}, path


def test_only_the_engine_compiles():
    """``jax.jit`` elsewhere would bypass the engine's trace. Inside a body it only names a part of the jaxpr."""
    for path in FILES:
        if name_of(path) not in ("engine", "func") and path.name != "named.py":
            calls = {ast.unparse(n) for n in ast.walk(ast.parse(path.read_text())) if isinstance(n, ast.Attribute)}
            assert "jax.jit" not in calls, path


def test_modules_that_callables_hide_are_not_imported_by_attribute():
    """``jtorch.device`` is the class after the import of the package, so ``from jtorch import device`` is ambiguous."""
    for path in FILES:
        if name_of(path) != "__init__":
            found = {a.name for n in ast.walk(ast.parse(path.read_text())) if isinstance(n, ast.ImportFrom)
                     and n.module == "jtorch" for a in n.names}
            assert not found & HIDDEN, f"{path}: write `import jtorch.device as devices`, or import names from it"


def test_modules_that_import_a_hidden_module_are_imported_with_the_package(run_python):
    """``import jtorch.device as devices`` also gives the class, if the package was imported before."""
    early = {".".join(["jtorch", *p.relative_to(PACKAGE).with_suffix("").parts]).removesuffix(".__init__") for p in FILES
             if any(f"import jtorch.{name} as" in p.read_text() for name in HIDDEN) and name_of(p) != "__main__"}
    loaded = set(run_python("import sys, jtorch; print(*sys.modules)").split())
    assert early <= loaded, f"import these in jtorch/__init__.py: {sorted(early - loaded)}"
