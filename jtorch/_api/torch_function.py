"""``__torch_function__``: classes that override functions of their instances, and modes that override all functions.

Calls with plain tensors look for neither. A generated function passes an argument that is no plain tensor to
``overridden``. Subclasses of Tensor get methods that ask first. Hand-written functions, and all functions
while a mode is on, are intercepted by replacing their code objects; the function objects stay the same.
"""
from __future__ import annotations

import contextlib
import functools
import inspect
import threading
from collections.abc import Callable, Iterable, Iterator, Mapping
from types import CodeType, FunctionType
from typing import Any

from jtorch._api.argument_errors import GUARD, MISSING, OTHER_NAMES_OF_STATICS
from jtorch._api.names import put
from jtorch.dispatch import call_view
from jtorch.engine import call_of
from jtorch.ops.registry import OPS, T
from jtorch.tensor import Parameter, Tensor, library_classes

NOT_OVERRIDDEN = object()
_PLAIN = {Tensor, Parameter, int, float, bool, complex, str, type(None), dict}


class _State(threading.local):
    """A thread's modes, innermost last, and what it has switched off."""

    def __init__(self) -> None:
        self.subclasses_off = self.all_off = self.layouts_off = 0
        self.modes: list = []


state = _State()


def disabled(cls: type, types: Iterable[type], func: Callable, args: tuple = (), kwargs: dict | None = None) -> Any:
    """Call ``func`` without asking classes, as ``torch._C._disabled_torch_function_impl`` does."""
    with switched_off():
        return func(*args, **(kwargs or {}))


@contextlib.contextmanager
def switched_off(modes: bool = False, layouts: bool = False) -> Iterator[None]:
    """Switch off ``__torch_function__`` of classes in the block, and of modes and of the classes of other layouts on request."""
    state.subclasses_off += 1
    state.all_off += modes
    state.layouts_off += layouts
    try:
        yield
    finally:
        state.subclasses_off -= 1
        state.all_off -= modes
        state.layouts_off -= layouts


@contextlib.contextmanager
def switched_on() -> Iterator[None]:
    """Switch ``__torch_function__`` of classes and modes on again in the block."""
    before = state.subclasses_off, state.all_off
    state.subclasses_off = state.all_off = 0
    try:
        yield
    finally:
        state.subclasses_off, state.all_off = before


# ---------------------------------------------------------------- finding overriding classes and modes

def overrides_of(cls: type) -> Any:
    """Return the ``__torch_function__`` of a class, or None if it is missing or disabled."""
    if cls in _PLAIN:
        return None
    found = getattr(cls, "__torch_function__", None)
    if found is None or getattr(found, "__func__", found) is disabled:
        return None
    # The method of an installed PyTorch's tensors would call the function again without end.
    return None if getattr(found, "__module__", None) == "torch._tensor" else found


def overloaded(args: Iterable[Any]) -> list:
    """Return one argument for each class with ``__torch_function__``: subclasses before bases, else from left to right."""
    found: list = []
    for arg in args:
        cls = arg.__class__
        if overrides_of(cls) is not None and all(cls is not a.__class__ for a in found):
            at = next((i for i, a in enumerate(found) if issubclass(cls, a.__class__)), len(found))
            found.insert(at, arg)
    return found


def relevant(args: Iterable[Any]) -> Iterator[Any]:
    """Yield the arguments, with the elements of sequences in place of the sequences."""
    for arg in args:
        if arg.__class__ is tuple or arg.__class__ is list:
            yield from arg
        else:
            yield arg


def ask(func: Callable, among: Iterable[Any], args: tuple, kwargs: dict) -> Any:
    """Return the result of the innermost mode or of the first class that does not decline, or NOT_OVERRIDDEN."""
    found = overloaded(relevant(among)) if not state.subclasses_off else _of_layouts(among)
    types = tuple([a.__class__ for a in found])
    if state.modes and not state.all_off:
        made = _ask_mode(func, types, args, kwargs)
        if made is not NotImplemented:
            return made
    elif not found:
        return NOT_OVERRIDDEN
    if func.__name__ == "einsum" and len(args) == 2 and isinstance(args[1], (list, tuple)):
        args = args[0], *args[1]        # PyTorch passes einsum's operands separately to overrides
    for arg in found:
        made = arg.__class__.__torch_function__(func, types, args, kwargs)
        if made is not NotImplemented:
            return made
    raise TypeError(_declined(func, types))


def _of_layouts(among: Iterable[Any]) -> list:
    """Return the arguments to ask while users' classes are switched off: sparse tensors, whose classes are jtorch's."""
    return [] if state.layouts_off else [a for a in overloaded(relevant(among)) if getattr(a, "_is_of_layout", False)]


def _declined(func: Callable, types: tuple) -> str:
    name = f"{func.__module__}.{func.__name__}".replace("jtorch", "torch")
    who = [f"  - mode object {m}\n" for m in state.modes[-1:]] + [f"  - tensor subclass {t}\n" for t in types]
    return f"Multiple dispatch failed for '{name}'; all __torch_function__ handlers returned NotImplemented:\n\n{''.join(who)}"


def _ask_mode(func: Callable, types: tuple, args: tuple, kwargs: dict) -> Any:
    mode = state.modes.pop()        # functions that a mode calls go to the outer modes
    try:
        return mode.__torch_function__(func, types, args, kwargs)
    finally:
        state.modes.append(mode)


def overridden(func: FunctionType, given: dict[str, Any]) -> Any:
    """Return the result of an override of a generated function, or NOT_OVERRIDDEN. ``given``: its local variables."""
    if state.layouts_off:
        return NOT_OVERRIDDEN
    args, kwargs = _as_called(func, given)
    return ask(func, [*args, *kwargs.values()], args, kwargs)


# PyTorch's C++ functions to which its modules pass every argument by position.
_BY_POSITION = {"linear", "bilinear", "prelu", "conv1d", "conv2d", "conv3d", "conv_transpose1d", "conv_transpose2d",
                "conv_transpose3d"}


def _as_called(func: FunctionType, given: dict[str, Any]) -> tuple[tuple, dict]:
    """Return (args, kwargs) that repeat a call: parameters with defaults are passed by name if they differ from the default."""
    args: list = []
    kwargs: dict = {}
    by_name = False
    spelled = ""        # the parameter whose values were given as separate arguments
    for p in parameters_of(as_written(func)).values():
        value = given[p.name]
        # An argument given under another name, such as ``axis`` for ``dim``, is also in ``given`` under the main name.
        if p.name == GUARD or p.name in OTHER_NAMES_OF_STATICS:
            by_name = True
        elif p.kind is p.VAR_POSITIONAL:
            args += value
            spelled = p.name.removesuffix("_") if value else ""
        elif p.name == spelled:
            continue
        elif not by_name and p.kind is not p.KEYWORD_ONLY and p.default in (p.empty, MISSING) and value is not MISSING:
            args.append(value)
        elif value is not p.default:
            kwargs[p.name] = value
            by_name = True
        else:
            by_name = by_name or value is MISSING
    return _by_position(func, args, kwargs) if kwargs and func.__name__ in _BY_POSITION else (tuple(args), kwargs)


def _by_position(func: FunctionType, args: list, kwargs: dict) -> tuple[tuple, dict]:
    """Return the arguments, all by position up to the last one that is not a default."""
    rest = list(parameters_of(as_written(func)).values())[len(args):]
    last = max([i for i, p in enumerate(rest) if p.name in kwargs])
    if any([p.kind is p.KEYWORD_ONLY or p.name == GUARD for p in rest[:last + 1]]):
        return tuple(args), kwargs
    return (*args, *[kwargs.get(p.name, p.default) for p in rest[:last + 1]]), {}


# ---------------------------------------------------------------- subclasses of Tensor

def default(cls: type, func: Callable, types: Iterable[type], args: tuple = (), kwargs: dict | None = None) -> Any:
    """Run the function and convert its results to the subclass. This is Tensor's own ``__torch_function__``.

    See torch.Tensor.__torch_function__.
    """
    if not all(issubclass(cls, t) for t in types):
        return NotImplemented
    with switched_off():
        made = func(*args, **(kwargs or {}))
    return made if func in _NOT_CONVERTED else _converted(made, cls)


def as_subclass(self: Tensor, cls: type) -> Tensor:
    """Return a view of the whole tensor as an instance of ``cls``. See torch.Tensor.as_subclass."""
    made = call_view(call_of(OPS["alias"], (T,)), (self,))
    view = made._view
    try:
        made.__class__ = cls
    except TypeError:       # the class has its own slots
        return _with_slots(made, cls)
    if hasattr(cls, "__torch_dispatch__") or "_shown" in vars(made):
        from jtorch._aten.wrappers import moved
        moved(made, view)
    return made


def _with_slots(t: Tensor, cls: type) -> Tensor:
    """Return an instance of ``cls`` with the state of ``t``."""
    made: Any = object.__new__(cls)
    for name in Tensor.__slots__:
        if name != "__weakref__":
            setattr(made, name, getattr(t, name))
    vars(made).update(vars(t))
    return made


def _converted(made: Any, cls: type) -> Any:
    if cls is Tensor:
        return made
    if isinstance(made, Tensor) and not isinstance(made, cls):
        return as_subclass(made, cls)
    if isinstance(made, (tuple, list)):
        parts = [_converted(m, cls) for m in made]
        return type(made)(parts) if not hasattr(made, "_fields") else type(made)(*parts)
    return made


_NOT_CONVERTED: set = set()
PACKAGE = __name__.partition(".")[0]
_NEVER_ASKED = set("__new__ __init__ __init_subclass__ __torch_function__ __class__ __dict__ __weakref__ __slots__ "
                   "__getattribute__ __setattr__ __delattr__ __subclasshook__ __doc__ __module__ __hash__ __getstate__ "
                   "__setstate__ __reduce__ as_subclass __annotations__ __static_attributes__ __firstlineno__ "
                   "__array_priority__ _is_view __reduce_ex__ __orig_bases__ __parameters__ __class_getitem__ __dir__ "
                   "__sizeof__".split())


class _Askings(type):
    """The metaclass of ``Asking``. It makes members when a subclass or a pickle first uses them."""

    def __getattr__(cls, name: str) -> Any:
        member = vars(Tensor).get(name.removeprefix("of_"))
        if not isinstance(member, (FunctionType, property)):
            raise AttributeError(f"type object {cls.__name__!r} has no attribute {name!r}")
        setattr(cls, name, _asking(name, member) if isinstance(member, FunctionType) else _asking_property(name, member))
        return getattr(cls, name)


class Asking(metaclass=_Askings):
    """The members that replace Tensor's in subclasses with ``__torch_function__``. Pickles refer to them as ``of_<name>``."""


def _asking(name: str, func: Callable) -> Callable:
    """Return a method that first asks the classes of its arguments."""
    def method(self, *args, **kwargs):
        made = ask(func, [self, *args, *kwargs.values()], (self, *args), kwargs)
        return func(self, *args, **kwargs) if made is NOT_OVERRIDDEN else made
    method.__name__, method.__qualname__, method.__doc__ = func.__name__, f"Asking.{name}", func.__doc__
    return method


def _asking_property(name: str, given: property) -> property:
    read, write = given.__get__, given.__set__

    def get(self):
        made = ask(read, (self,), (self,), {})
        return read(self) if made is NOT_OVERRIDDEN else made

    def put_in(self, value):
        made = ask(write, (self,), (self, value), {})
        return write(self, value) if made is NOT_OVERRIDDEN else made
    get.__qualname__, put_in.__qualname__ = f"Asking.{name}.fget", f"Asking.{name}.fset"
    return property(get, put_in if given.fset is not None else None, given.fdel, given.__doc__)


def make_subclass_ask(cls: type, **kwargs: Any) -> None:
    """Give a new subclass of Tensor methods that ask its ``__torch_function__``."""
    super(Tensor, cls).__init_subclass__(**kwargs)      # type: ignore[misc]
    if hasattr(cls, "__torch_dispatch__"):
        _takes_over_operators(cls)
    if cls.__module__.partition(".")[0] == PACKAGE:
        library_classes.add(cls)
    if overrides_of(cls) is None:
        return
    inherited = {name: member for name, member in vars(Tensor).items() if name not in _NEVER_ASKED
                 and (not name.startswith("_") or name.startswith("__"))}
    for name, member in inherited.items():
        if isinstance(member, (FunctionType, property)) and inspect.getattr_static(cls, name, None) is member \
                and _is_ours(member):
            setattr(cls, name, getattr(Asking, f"of_{name}"))
    if cls._asked_by_all and getattr(cls.__torch_function__, "__func__", None) is not default:     # type: ignore[attr-defined]
        intercept_written()


def _takes_over_operators(cls: Any) -> None:
    """Let a class with ``__torch_dispatch__`` see operators. As in PyTorch its ``__torch_function__`` is disabled by default."""
    from jtorch._aten.wrappers import take_over
    if take_over(cls) and getattr(cls.__torch_function__, "__func__", None) is default:
        cls.__torch_function__ = classmethod(disabled)


def _is_ours(member: Any) -> bool:
    """Return whether the library, not a program, defined an attribute of Tensor."""
    function = member.fget if isinstance(member, property) else member
    name = getattr(function, "__globals__", {}).get("__name__", PACKAGE)
    return str(name).partition(".")[0] in (PACKAGE, "torch")


# ---------------------------------------------------------------- interception of functions by their code objects

_ENTRY = "asks first"       # the name of intercepting code objects
# Each intercepted function has an entry: (function, copy with the original code, code that checks for overrides first).
_entries: list[tuple[FunctionType, FunctionType, CodeType]] = []
_number: dict[FunctionType, int] = {}
_asked_for = 0
_written_are_in = False
_lock = threading.RLock()


def entered(number: int, args: tuple, kwargs: dict) -> Any:
    """Call an intercepted function: ask classes and modes, then run the original code."""
    func, written, _ = _entries[number]
    made = ask(func, [*args, *kwargs.values()], args, kwargs)
    return written(*args, **kwargs) if made is NOT_OVERRIDDEN else made


def as_written(func: FunctionType) -> FunctionType:
    """Return the function, or the copy with the original code if it was intercepted."""
    return _entries[_number[func]][1] if func in _number else func


@functools.cache
def parameters_of(func: FunctionType) -> Mapping[str, inspect.Parameter]:
    """Return the parameters of a function's code, also those that its signature does not show."""
    copy = FunctionType(func.__code__, func.__globals__, func.__name__, func.__defaults__, func.__closure__)
    copy.__kwdefaults__ = func.__kwdefaults__
    return inspect.signature(copy).parameters


def _entry(func: FunctionType) -> int:
    number = _number.get(func)
    if number is None:
        copy = FunctionType(func.__code__, func.__globals__, func.__name__, func.__defaults__, func.__closure__)
        copy.__kwdefaults__, copy.__annotations__ = func.__kwdefaults__, func.__annotations__
        copy.__dict__.update(func.__dict__)
        number = _number[func] = len(_entries)
        _entries.append((func, copy, _code(number, len(func.__code__.co_freevars))))
    return number


_NUMBER = "the number of the function"      # a placeholder in the shared code


def _code(number: int, free: int) -> CodeType:
    """Return code that passes its arguments to ``entered``. It has as many free variables as the original code."""
    shared = _shared_code(free)
    return shared.replace(co_consts=tuple([number if c == _NUMBER else c for c in shared.co_consts]))


@functools.cache
def _shared_code(free: int) -> CodeType:
    names = [f"v{i}" for i in range(free)]
    source = ["def outer():", *[f"    {v} = None" for v in names],
              "    def inner(*args, **kwargs):", *[f"        {v}" for v in names],
              f"        return __import__('sys').modules[{__name__!r}].entered({_NUMBER!r}, args, kwargs)", "    return inner"]
    scope: dict = {}
    exec("\n".join(source), scope)
    return scope["outer"]().__code__.replace(co_name=_ENTRY)


def _divert(func: FunctionType) -> None:
    _, written, asking = _entries[_entry(func)]
    func.__code__, func.__defaults__, func.__kwdefaults__ = asking, None, None
    func.__wrapped__ = written      # type: ignore[attr-defined]     # inspect shows its signature


def _restore(func: FunctionType) -> None:
    written = _entries[_number[func]][1]
    func.__code__, func.__defaults__, func.__kwdefaults__ = written.__code__, written.__defaults__, written.__kwdefaults__
    func.__dict__.pop("__wrapped__", None)
    func.__dict__.update(written.__dict__)


def _is_generated(func: FunctionType) -> bool:
    return func.__globals__.get("_overridden") is overridden


def _divert_written() -> None:
    for func in functions_of_namespaces():
        if not _is_generated(func):
            _divert(func)


def intercept_written() -> None:
    """Intercept hand-written public functions from now on, since a class of this process overrides functions."""
    global _written_are_in
    with _lock:
        if not _written_are_in and not _asked_for:
            _divert_written()
        _written_are_in = True


@contextlib.contextmanager
def interception() -> Iterator[None]:
    """Intercept all public functions and methods of Tensor in the block."""
    global _asked_for
    with _lock:
        if not _asked_for:
            for func in public_functions():
                if func.__code__.co_name != _ENTRY:
                    _divert(func)
        _asked_for += 1
    try:
        yield
    finally:
        with _lock:
            _asked_for -= 1
            if not _asked_for:
                for func, *_ in _entries:
                    _restore(func)
                if _written_are_in:
                    _divert_written()


SPACES: dict[str, Any] = {}         # maps PyTorch's name of a namespace to the namespace whose functions can be overridden
IGNORED = set("is_grad_enabled is_inference_mode_enabled is_tensor is_storage typename save load seed initial_seed manual_seed "
              "get_default_dtype set_default_dtype set_default_device get_default_device set_default_tensor_type "
              "is_anomaly_enabled is_anomaly_check_nan_enabled vmap compiled_with_cxx11_abi init_num_threads broadcast_shapes "
              "promote_types can_cast cond while_loop get_printoptions set_printoptions from_jax set_grad_enabled "
              "get_device_module".split())
_STATE_WORDS = ("autocast", "num_threads", "num_interop", "deterministic", "warn_always", "flush_denormal", "rng_state",
                "matmul_precision", "sym_")


def is_overridable(name: str) -> bool:
    """Return whether a function of this name takes or makes tensors."""
    return not name.startswith("_") and name not in IGNORED and not any(word in name for word in _STATE_WORDS)


def functions_of_namespaces() -> list[FunctionType]:
    """Return the overridable functions of PyTorch's namespaces, each once."""
    return list({func: None for space in SPACES.values() for name, func in list(vars(space).items())
                 if isinstance(func, FunctionType) and is_overridable(name) and func is not as_subclass and _is_ours(func)})


def public_functions() -> list[FunctionType]:
    """Return the overridable functions of PyTorch's namespaces and the methods of Tensor, each once."""
    found = dict.fromkeys(functions_of_namespaces())
    found.update({func: None for name, func in vars(Tensor).items() if isinstance(func, FunctionType) and name not in _NEVER_ASKED
                  and (is_overridable(name) or name.startswith("__")) and _is_ours(func)})
    return list(found)


def bind(spaces: dict[str, Any]) -> None:
    """Give Tensor its ``__torch_function__`` and store the namespaces."""
    put(Tensor, {"__torch_function__": classmethod(default), "__init_subclass__": classmethod(make_subclass_ask),
                 "as_subclass": as_subclass})
    put(Parameter, {"__torch_function__": classmethod(disabled)}, replaces=False)
    SPACES.update(spaces)
    _NOT_CONVERTED.update(vars(Tensor)[name].__get__ for name in ("_base", "grad"))
