"""GraphModule: a module whose ``forward`` is generated from a graph. See torch.fx.GraphModule."""
from __future__ import annotations

import contextlib
import copy
import itertools
import linecache
import sys
import traceback
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

from jtorch._base import warned
from jtorch.fx._codegen import PythonCode, _PyTreeCodeGen
from jtorch.fx._namespace import _custom_builtins
from jtorch.fx._source import function_from, import_block, with_imports
from jtorch.fx.graph import Graph
from jtorch.nn.modules import batchnorm, conv, linear
from jtorch.nn.modules.module import Module, _addindent
from jtorch.nn.parameter import Parameter
from jtorch.serialization import save
from jtorch.tensor import Tensor

__all__ = ["GraphModule", "reduce_graph_module", "reduce_package_graph_module"]

_PACKAGE = str(Path(__file__).resolve().parent.parent)
_USER_PRESERVED_ATTRIBUTES_KEY = "_user_preserved_attributes"
_KEPT = ("_state_dict_hooks", "_load_state_dict_pre_hooks", "_load_state_dict_post_hooks", "_replace_hooks", "_create_node_hooks",
         "_erase_node_hooks", "_deepcopy_hooks")


# ---------------------------------------------------------------- attributes by path

def _walk(module: Any, path: list[str]) -> Any:
    """Return the submodule at a path, and create missing modules."""
    for name in path:
        inner = getattr(module, name, None)
        if inner is None:
            inner = Module()
            setattr(module, name, inner)
        module = inner
    return module


def _assign_attr(value: Any, module: Any, target: str) -> None:
    """Set an attribute at a path; tensors become buffers."""
    *path, name = target.split(".")
    owner = _walk(module, path)
    if isinstance(value, Tensor) and not isinstance(value, Parameter):
        owner.register_buffer(name, value)
    else:
        setattr(owner, name, value)


def _copy_attr(source: Any, module: Any, target: str) -> None:
    """Copy an attribute at a path from another module, unless both share a module on the path."""
    *path, name = target.split(".")
    there, here = source, module
    for part in path:
        there, here = getattr(there, part), getattr(here, part, None)
        if there is here:
            return
        if here is None:
            break
    _assign_attr(getattr(_get_attr(source, ".".join(path)) if path else source, name), module, target)


def _get_attr(module: Any, target: str) -> Any:
    """Return the attribute at a path."""
    for name in target.split(".") if target else ():
        module = getattr(module, name)
    return module


_get_attr_via_attr_list = lambda module, names: _get_attr(module, ".".join(names))


def _has_attr(module: Any, target: str) -> bool:
    try:
        _get_attr(module, target)
    except AttributeError:
        return False
    return True


def _del_attr(module: Any, target: str) -> None:
    path, _, name = target.rpartition(".")
    delattr(_get_attr(module, path), name)


# ---------------------------------------------------------------- the module

def _is_ours(file: str) -> bool:
    """Return whether a traceback's file is part of jtorch. Callers skip its frames, since PyTorch's C++ code has no frames."""
    return file.startswith((_PACKAGE, "<jtorch"))


class _WrappedCall:
    """Calls a GraphModule, and prints the failing line of generated code if the call raises."""

    def __init__(self, cls: type, cls_call: Callable | None):
        self.cls, self.cls_call = cls, cls_call

    def __call__(self, obj: Any, *args: Any, **kwargs: Any) -> Any:
        try:
            if self.cls_call is not None:
                return self.cls_call(obj, *args, **kwargs)
            return super(self.cls, obj).__call__(*args, **kwargs)       # type: ignore[misc,arg-type]
        except Exception as error:
            frames = [f for f in traceback.extract_tb(error.__traceback__) if not _is_ours(f.filename)]
            if frames and "eval_with_key" in frames[-1].filename:
                sys.stderr.write(self._generate_error_message(frames[-1]) + "\n")
                raise error.with_traceback(None) from None
            raise

    @staticmethod
    def _generate_error_message(frame: traceback.FrameSummary) -> str:
        lines, at = linecache.getlines(frame.filename), frame.lineno or 0
        before = "".join(lines[max(at - 2, 0):at])
        return "\n".join([traceback.format_exc(), f"Call using an FX-traced Module, line {at} of the traced Module's generated "
                          "forward function:", before, "~" * len(frame.line or "") + "~~~ <--- HERE",
                          "    " + "\n".join(lines[at:at + 2])])


class GraphModule(Module):
    """A module made of a graph and the attributes of another module that the graph uses. See torch.fx.GraphModule.

    ``code`` is the source of its forward. After a change of the graph, ``recompile`` generates it again.

    Args:
        root: the module that has the attributes, or a dict of attributes by path.
        graph: the graph.
        class_name: the name of the module's class.

    """

    def __new__(cls, *args: Any, **kwargs: Any):
        """Return an instance of a new class, which has its own forward."""
        base = next(c for c in cls.__mro__ if c.__qualname__ != "GraphModuleImpl")

        class GraphModuleImpl(base):        # type: ignore[valid-type,misc]
            """The class that has the generated forward."""
        GraphModuleImpl.__module__ = cls.__module__
        return super().__new__(GraphModuleImpl)

    def __init__(self, root: Any, graph: Graph, class_name: str = "GraphModule"):
        super().__init__()
        type(self).__name__ = class_name
        if isinstance(root, Module):
            self.training = getattr(root, "training", self.training)
            for node in graph.nodes:
                if node.op in ("get_attr", "call_module"):
                    _copy_attr(root, self, node.target)
        elif isinstance(root, dict):
            self._take(root, graph)
        else:
            raise RuntimeError("Unsupported type " + str(root) + " passed for root!")
        self.meta: dict[str, Any] = {}
        self._replace_hooks: list[Callable] = []
        self._create_node_hooks: list[Callable] = []
        self._erase_node_hooks: list[Callable] = []
        self._deepcopy_hooks: list[Callable] = []
        self.graph = graph
        self._tracer_cls = graph._tracer_cls if graph._tracer_cls and "<locals>" not in graph._tracer_cls.__qualname__ else None
        self._tracer_extras = graph._tracer_extras or {}

    def _take(self, named: dict[str, Any], graph: Graph) -> None:
        targets = [n.target for n in graph.nodes if n.op in ("get_attr", "call_module")]
        for node in graph.nodes:
            if node.op in ("get_attr", "call_module") and node.target not in named:
                raise RuntimeError("Node " + str(node) + " referenced target " + str(node.target) + " but that target was not "
                                   "provided in ``root``!")
        for target in sorted(set(targets), key=lambda t: t.count(".")):      # type: ignore[union-attr]
            _assign_attr(named[target], self, target)       # type: ignore[index,arg-type]

    # ------------------------------------------------------------ the graph

    @property
    def graph(self) -> Graph:
        """The graph; assigning a graph generates the code again."""
        return self._graph

    @graph.setter
    def graph(self, g: Graph) -> None:
        if not isinstance(g, Graph):
            raise AssertionError(f"Expected a Graph instance, but got {type(g)}")
        self._graph = g
        g.owning_module = self
        self.recompile()

    @property
    def code(self) -> str:
        """The source of forward."""
        if not hasattr(self, "_code"):
            raise RuntimeError("Code has not been generated! Please report a bug to PyTorch")
        return self._code

    def recompile(self) -> PythonCode:
        """Generate forward from the graph. See torch.fx.GraphModule.recompile."""
        codegen = self._graph._codegen
        if isinstance(codegen, _PyTreeCodeGen):
            self._in_spec, self._out_spec = codegen.pytree_info.in_spec, codegen.pytree_info.out_spec
        written = self._graph.python_code(root_module="self")
        self._code, self._lineno_map, self._prologue_start = written.src, written._lineno_map, written._prologue_start
        cls = type(self)
        cls.forward = function_from(written.src, written.globals, self._graph._co_fields, codegen._func_name)  # type: ignore[method-assign]
        if "_wrapped_call" not in vars(cls):
            cls._wrapped_call = _WrappedCall(cls, vars(cls).get("__call__"))    # type: ignore[attr-defined]
            cls.__call__ = lambda self, *args, **kwargs: cls._wrapped_call(self, *args, **kwargs)   # type: ignore[method-assign,attr-defined]
        for _, child in self.named_children():
            if isinstance(child, GraphModule):
                child.recompile()
        return written

    # ------------------------------------------------------------ submodules

    def add_submodule(self, target: str, m: Module) -> bool:
        """Add a module at a path; return whether this was possible. See torch.fx.GraphModule.add_submodule."""
        *path, name = target.split(".")
        owner: Any = self
        for part in path:
            owner = _walk(owner, [part])
            if not isinstance(owner, Module):
                return False
        owner.add_module(name, m)
        return True

    def delete_submodule(self, target: str) -> bool:
        """Remove a module; return whether it existed. See torch.fx.GraphModule.delete_submodule."""
        path, _, name = target.rpartition(".")
        try:
            owner = self.get_submodule(path)
        except AttributeError:
            return False
        if not isinstance(getattr(owner, name, None), Module):
            return False
        delattr(owner, name)
        return True

    def delete_all_unused_submodules(self) -> None:
        """Remove all modules that the graph does not use. See torch.fx.GraphModule.delete_all_unused_submodules."""
        used: set[str] = set()
        for node in self.graph.nodes:
            if node.op not in ("call_module", "get_attr"):
                continue
            target = str(node.target)
            used.update(itertools.accumulate(target.split("."), lambda x, y: f"{x}.{y}"))
            if node.op == "call_module" and _has_attr(self, target):
                used.update([f"{target}.{n}" for n, _ in self.get_submodule(target).named_modules() if n])
        for name in [n for n, _ in self.named_modules() if n and n not in used]:
            self.delete_submodule(name)

    # ------------------------------------------------------------ copies

    def __reduce__(self):
        body = dict(self.__dict__)
        block = import_block(self.recompile().globals)
        del body["_graph"]
        return reduce_graph_module, (body, block)

    def __reduce_package__(self, exporter: Any) -> tuple:
        """Pack the generated code as a module, and return the call that rebuilds the graph from it. See torch.package."""
        body = {**self.__dict__, "_graphmodule_cls_name": type(self).__name__}
        name = f"fx-generated._{exporter.get_unique_id()}"
        block = import_block(self.recompile().globals, exporter.importer.get_name)
        del body["_graph"]
        exporter.save_source_string(name, block + self.code)
        return reduce_package_graph_module, (body, name)

    def _deepcopy_init(self) -> Callable:
        return GraphModule.__init__

    def __deepcopy__(self, memo: dict) -> GraphModule:
        made = type(self).__new__(type(self))
        memo[id(self)] = made
        holder = _CodeOnlyModule(copy.deepcopy(self.__dict__, memo))
        self._deepcopy_init()(made, holder, holder.__dict__["_graph"])
        type(made).__name__ = type(self).__name__
        for name in _KEPT:
            if name in self.__dict__:
                setattr(made, name, copy.deepcopy(self.__dict__[name], memo))
        made.meta = copy.deepcopy(getattr(self, "meta", {}), memo)
        for name, value in made.meta.get(_USER_PRESERVED_ATTRIBUTES_KEY, {}).items():
            setattr(made, name, value)
        for hook in self._deepcopy_hooks:
            hook(made)
        return made

    def __copy__(self) -> GraphModule:
        made = _make_graph_module(self, self.graph)
        made.meta = getattr(self, "meta", {})
        return made

    # ------------------------------------------------------------ text and files

    def __str__(self) -> str:
        return "\n".join([super().__str__(), self._code,
                          "# To see more debug info, please use `graph_module.print_readable()`"])

    def print_readable(self, print_output: bool = True, include_stride: bool = False, include_device: bool = False,
                       colored: bool = False, **others: Any) -> str:
        """Return the source with the recorded shapes, and print it. See torch.fx.GraphModule.print_readable."""
        src = self._graph.python_code(root_module="self", verbose=True).src.lstrip("\n")
        text = _addindent(f"class {self._get_name()}(torch.nn.Module):\n" + src, 4)
        inner = [m.print_readable(print_output=False) for _, m in self.named_children() if isinstance(m, GraphModule)]
        text += _addindent("\n".join(["", *inner]), 4)
        if print_output:
            sys.stdout.write(text + "\n")
        return text

    def to_folder(self, folder: Any, module_name: str = "FxModule") -> None:
        """Write the module as a package, with its source and its state. See torch.fx.GraphModule.to_folder."""
        folder = Path(folder)
        folder.mkdir(exist_ok=True)
        save(self.state_dict(), folder / "state_dict.pt")
        imports = "\n".join([v.import_str for v in _custom_builtins.values()])
        pickled: list[str] = []
        lines = [*self._children_as_source(folder, pickled), *self._tensors_as_source(),
                 f"self.load_state_dict(torch.load(r'{folder}/state_dict.pt'))"]
        body = "\n".join([f"        {line}" for line in lines])
        head = f"import torch\n{imports}\n\nfrom torch.nn import *\nclass {module_name}(torch.nn.Module):\n"
        (folder / "module.py").write_text(f"\n{head}    def __init__(self):\n        super().__init__()\n{body}\n"
                                          f"{_addindent(self.code, 4)}\n")
        (folder / "__init__.py").write_text("from .module import *")
        if pickled:
            warned.warn("Was not able to save the following children modules as reprs -saved as pickled files instead: "
                        f"{pickled}")

    def _children_as_source(self, folder: Path, pickled: list[str]) -> Iterator[str]:
        simple = (linear.Linear, conv.Conv1d, conv.Conv2d, conv.Conv3d, batchnorm.BatchNorm1d, batchnorm.BatchNorm2d,
                  batchnorm.BatchNorm3d)
        for name, child in self.named_children():
            if type(child) in simple:
                yield f"setattr(self, '{name}', {child!r})"
                continue
            file = folder / f"{name}.pt"
            save(child, file)
            pickled.append(name)
            text = repr(child).replace("\r", " ").replace("\n", " ")
            yield f"setattr(self, '{name}', torch.load(r'{file}', weights_only=False)) # {text}"

    def _tensors_as_source(self) -> Iterator[str]:
        for name, buffer in self._buffers.items():
            if buffer is not None:
                yield f"self.register_buffer('{name}', torch.empty({list(buffer.shape)}, dtype={buffer.dtype}))"
        for name, param in self._parameters.items():
            if param is not None:
                made = f"torch.nn.Parameter(torch.empty({list(param.shape)}, dtype={param.dtype}))"
                yield f"setattr(self, '{name}', {made})"

    def _replicate_for_data_parallel(self) -> GraphModule:
        made = self.__copy__()
        object.__setattr__(made, "_is_replica", True)
        return made

    # ------------------------------------------------------------ hooks

    @contextlib.contextmanager
    def _set_replace_hook(self, f: Callable) -> Iterator[None]:
        self._register_replace_node_hook(f)
        try:
            yield
        finally:
            self._unregister_replace_node_hook(f)

    def _register_replace_node_hook(self, f: Callable) -> None:
        _check_hook(f)
        self._replace_hooks.append(f)

    def _unregister_replace_node_hook(self, f: Callable) -> None:
        self._replace_hooks.remove(f)

    def _register_create_node_hook(self, f: Callable) -> None:
        _check_hook(f)
        self._create_node_hooks.append(f)

    def _unregister_create_node_hook(self, f: Callable) -> None:
        self._create_node_hooks.remove(f)

    def _register_erase_node_hook(self, f: Callable) -> None:
        _check_hook(f)
        self._erase_node_hooks.append(f)

    def _unregister_erase_node_hook(self, f: Callable) -> None:
        self._erase_node_hooks.remove(f)

    def _register_deepcopy_hook(self, f: Callable) -> None:
        _check_hook(f)
        self._deepcopy_hooks.append(f)

    def _unregister_deepcopy_hook(self, f: Callable) -> None:
        self._deepcopy_hooks.remove(f)


def _check_hook(f: Any) -> None:
    if not callable(f):
        raise AssertionError("create_node hook must be a callable.")


# ---------------------------------------------------------------- pickles

class _CodeOnlyModule(Module):
    """Holds the attributes of a graph module before it has a graph."""

    def __init__(self, body: dict[str, Any]):
        super().__init__()
        self.__dict__.update(body)


def reduce_graph_module(body: dict[str, Any], block: str) -> Module:
    """Rebuild a graph module from its source by tracing it. See torch.fx.graph_module.reduce_graph_module."""
    src, names = with_imports(block, body.get("_code") or body["code"])
    return _rebuilt(function_from(src, names), body)


def reduce_package_graph_module(importer: Any, body: dict[str, Any], generated_module_name: str) -> Module:
    """Rebuild a graph module from its source in a package. See torch.fx.graph_module.reduce_package_graph_module."""
    return _rebuilt(importer.import_module(generated_module_name).forward, body)


def _rebuilt(forward: Callable, body: dict[str, Any]) -> Module:
    """Return a graph module with the graph that tracing ``forward`` gives, and the attributes of ``body``."""
    class Unpickled(_CodeOnlyModule):
        """The class that has the pickled forward."""
    Unpickled.forward = forward     # type: ignore[method-assign,assignment]
    Unpickled.__name__ = "GraphModule"
    holder = Unpickled(body)
    from jtorch.fx._symbolic_trace import Tracer
    tracer: Any = body.get("_tracer_cls") or Tracer
    keeps = type("KeepModules", (tracer,), {"is_leaf_module": lambda self, m, name: True})
    graph = keeps().trace(holder, **body.get("_tracer_extras", {}))
    graph._tracer_cls = tracer
    made = _make_graph_module(holder, graph, body.get("_graphmodule_cls_name", "GraphModule"))
    for name, value in body.items():
        if not hasattr(made, name):
            setattr(made, name, value)
    return made


def _make_graph_module(*args: Any, graph_module_cls: type | None = None, **kwargs: Any) -> Any:
    return (graph_module_cls or GraphModule)(*args, **kwargs)


