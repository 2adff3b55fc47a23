"""torch.jit as in PyTorch with scripting switched off (``PYTORCH_JIT=0``): it returns functions and modules unchanged.

So code that is decorated with ``@torch.jit.script`` runs. A function traced with an example can be saved as a program
of torch.export. Features of TorchScript itself raise NotImplementedError.
"""
import builtins
import contextlib
import functools
import weakref
from collections.abc import Callable, Iterator
from typing import Any, Final, get_origin

from jtorch._base.not_built import placeholder
from jtorch._jit_internal import _overload as _overload
from jtorch._jit_internal import _overload_method as _overload_method
from jtorch.jit import _recursive as _recursive
from jtorch.jit import annotations as annotations
from jtorch.nn.modules.module import Module

__all__ = ["Attribute", "Final", "RecursiveScriptModule", "ScriptModule", "TopLevelTracedModule", "TracedModule", "annotate",
           "export", "fork", "freeze", "ignore", "interface", "is_scripting", "is_tracing", "isinstance", "load",
           "optimize_for_inference", "optimized_execution", "save", "script", "script_if_tracing", "script_method", "trace",
           "trace_module", "unused", "wait"]


# Maps each traced function to its example arguments.
_examples: weakref.WeakKeyDictionary[Any, tuple[tuple, dict]] = weakref.WeakKeyDictionary()


class ScriptModule(Module):
    """A module whose methods PyTorch would compile; jtorch runs them as Python. See torch.jit.ScriptModule.

    ``isinstance`` is False for modules that do not derive from this class, since jtorch scripts nothing.
    """

    def __init__(self, arg: Any = None):
        super().__init__()

    def save(self, f: Any, **kwargs: Any) -> None:
        """Write the module as ``torch.jit.save`` does; raise NotImplementedError unless it was traced."""
        save(self, f, **kwargs)


class RecursiveScriptModule(ScriptModule):
    """The class of PyTorch's scripted modules. It has no instances: ``script`` returns the module itself."""


class TracedModule(ScriptModule):
    """The class of PyTorch's traced modules. It has no instances: ``trace`` returns the module itself."""

    def __init__(self, orig: Any, id_set: Any = None, _compilation_unit: Any = None):
        raise NotImplementedError("torch.jit.TracedModule is not built; torch.jit.trace(module) gives the module itself.")


class TopLevelTracedModule(TracedModule):
    """The class of PyTorch's outermost traced module, like TracedModule."""


ScriptFunction, CompilationUnit = (placeholder("jit", n) for n in ("ScriptFunction", "CompilationUnit"))


def _get_trace_graph(f: Callable, args: Any = (), kwargs: Any = None, strict: bool = True, _force_outplace: bool = False,
                     return_inputs: bool = False, _return_inputs_states: bool = False) -> Any:
    """Record the operators that a module calls: (graph, output). See torch.jit._get_trace_graph.

    Sizes of tensors are numbers while it runs, so the graph has them as constants.
    """
    from jtorch.jit._tracer import traced
    given = args if builtins.isinstance(args, tuple) else (args,)
    kept = list(_unique_state_dict(f, keep_vars=True).values()) if builtins.isinstance(f, Module) else []
    if _return_inputs_states:
        raise NotImplementedError("torch.jit._get_trace_graph(_return_inputs_states=True) is not built")
    graph, out = traced(f, given, kwargs or {}, kept)
    return (graph, out, (*given, *kept)) if return_inputs else (graph, out)


def _unique_state_dict(module: Any, keep_vars: bool = False) -> dict[str, Any]:
    """Return the state of a module, each parameter and buffer once. See torch.jit._unique_state_dict."""
    seen: set[int] = set()
    kept = {k: v for k, v in module.state_dict(keep_vars=True).items() if not (id(v) in seen or seen.add(id(v)))}  # type: ignore[func-returns-value]
    return kept if keep_vars else {k: v.detach() for k, v in kept.items()}


class TracerWarning(Warning):
    """PyTorch's warning about tracing. It is never given, since jtorch freezes nothing of the example."""

    @staticmethod
    def ignore_lib_warnings() -> None:
        """Do nothing."""


class Error(RuntimeError):
    """The error of a TorchScript program. It is never raised."""


def script(obj: Any, optimize: Any = None, _frames_up: int = 0, _rcb: Any = None, example_inputs: Any = None) -> Any:
    """Return ``obj`` itself. See torch.jit.script."""
    return obj


def trace(func: Callable, example_inputs: Any = None, optimize: Any = None, check_trace: bool = True, check_inputs: Any = None,
          check_tolerance: float = 1e-05, strict: bool = True, **others: Any) -> Callable:
    """Return ``func`` itself, with nothing of the example frozen in it. See torch.jit.trace.

    The example is kept for ``save``. A module gets a method of this name.
    """
    given = example_inputs if builtins.isinstance(example_inputs, tuple) else (example_inputs,)
    _examples[func] = (given if example_inputs is not None else (), others.get("example_kwarg_inputs") or {})
    if builtins.isinstance(func, Module) and not hasattr(func, "save"):
        object.__setattr__(func, "save", functools.partial(save, func))
    return func


def trace_module(mod: Any, inputs: Any, optimize: Any = None, check_trace: bool = True, check_inputs: Any = None,
                 check_tolerance: float = 1e-05, strict: bool = True, _force_outplace: bool = False, _module_class: Any = None,
                 _compilation_unit: Any = None, example_inputs_is_kwarg: bool = False, _store_inputs: bool = True) -> Any:
    """Return the module itself. The example of its ``forward`` is kept for ``save``. See torch.jit.trace_module."""
    given = inputs.get("forward")
    if given is None:
        return mod
    return trace(mod, example_kwarg_inputs=given) if example_inputs_is_kwarg else trace(mod, given)


def interface(obj: Any) -> Any:
    """Return the class itself. See torch.jit.interface."""
    return obj


def script_if_tracing(fn: Callable) -> Callable:
    """Return the function itself. See torch.jit.script_if_tracing."""
    return fn


export = script_method = _script_if_tracing = script_if_tracing


def ignore(drop: Any = False, **kwargs: Any) -> Any:
    """Return the function itself; also a decorator with arguments. See torch.jit.ignore."""
    return drop if callable(drop) else lambda fn: fn


def unused(fn: Any) -> Any:
    """Return the function itself. See torch.jit.unused."""
    return fn


def freeze(mod: Any, preserved_attrs: Any = None, optimize_numerics: bool = True) -> Any:
    """Return the module itself. See torch.jit.freeze."""
    return mod


def optimize_for_inference(mod: Any, other_methods: Any = None) -> Any:
    """Return the module itself. See torch.jit.optimize_for_inference."""
    return mod


@contextlib.contextmanager
def optimized_execution(should_optimize: bool) -> Iterator[None]:
    """Do nothing. See torch.jit.optimized_execution."""
    yield


def annotate(the_type: Any, the_value: Any) -> Any:
    """Return the value. See torch.jit.annotate."""
    return the_value


def Attribute(value: Any, type: Any) -> Any:
    """Return the value. See torch.jit.Attribute."""
    return value


def isinstance(obj: Any, target_type: Any) -> bool:
    """Return whether ``obj`` is an instance of a class, or of one of several. See torch.jit.isinstance."""
    wanted = target_type if builtins.isinstance(target_type, tuple) else (target_type,)
    kinds: list[Any] = [get_origin(t) or t for t in wanted]
    return any([builtins.isinstance(obj, kind) for kind in kinds])


def is_scripting() -> bool:
    """Return False. See torch.jit.is_scripting."""
    return False


def is_tracing() -> bool:
    """Return whether ``_get_trace_graph`` is recording; ``trace`` records nothing. See torch.jit.is_tracing."""
    from jtorch.jit._tracer import active
    return active.tracer is not None


def fork(func: Callable, *args: Any, **kwargs: Any) -> Any:
    """Call the function now; ``wait`` gives the result. See torch.jit.fork."""
    return func(*args, **kwargs)


def wait(future: Any) -> Any:
    """Return the result of ``fork``. See torch.jit.wait."""
    return future


def save(m: Any, f: Any, _extra_files: Any = None) -> None:
    """Write a traced function or module as StableHLO with its state. See torch.jit.save.

    The file has the program for inputs like the example given to ``trace``. The first dim may have another size if the
    model allows it.
    """
    if m not in _examples:
        raise NotImplementedError("torch.jit.save writes what torch.jit.trace(m, example_inputs) was given an example for: there "
                                  "is no TorchScript here. torch.save(model.state_dict(), file) keeps the weights.")
    from jtorch.export import _archive, _make
    args, kwargs = _examples[m]
    _archive.write(_make.with_open_batch(m, args, kwargs), f, _extra_files)


def load(f: Any, map_location: Any = None, _extra_files: Any = None, _restore_shapes: bool = False) -> Any:
    """Load a program written by ``save`` as a module, which runs without the model's Python code.

    See torch.jit.load.
    """
    from jtorch.export import _archive
    return _archive.read(f, _extra_files, map_location).module()
