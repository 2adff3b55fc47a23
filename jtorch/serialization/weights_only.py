"""The unpickler of ``torch.load(weights_only=True)``, which calls only functions on a list.

Python's unpickler calls any function that a pickle names. This one executes only the opcodes of protocol 2 that state dicts
need. It looks names up in a list, and never imports a module because a pickle names it, except jtorch's nested tensors. It
calls only functions on the list, with checked arguments, and functions that the user has allowed. The size of dict keys is
limited, because hashing huge keys could take forever.
"""
from __future__ import annotations

import io
import pickle
import struct
from collections import Counter, OrderedDict
from collections.abc import Callable
from functools import cache
from types import FunctionType
from typing import Any

from jtorch._base import warned
from jtorch._base.absent_dtypes import absent
from jtorch._base.qscheme import SCHEMES
from jtorch._base.size import Size
from jtorch.device import device as device_class
from jtorch.dtype import ALL
from jtorch.serialization import names, rebuild
from jtorch.tensor import Parameter, Tensor

UnpicklingError = pickle.UnpicklingError

# Names of these modules are never allowed, even if the user lists them.
_BLOCKED = ("sys", "os", "posix", "nt")

_marked: list[Any] = []


# -- names that the user allows ---------------------------------------------------------------------------------------


def add_safe_globals(safe_globals: list[Callable | tuple[Callable, str]]) -> None:
    """Allow classes and functions in ``weights_only`` loads. See torch.serialization.add_safe_globals.

    A checkpoint may then call these functions and instantiate these classes.

    Args:
        safe_globals: classes and functions, or tuples of one and its full name in checkpoints.

    >>> class Config:
    ...     pass
    >>> torch.serialization.add_safe_globals([Config])
    >>> Config in torch.serialization.get_safe_globals()
    True
    >>> torch.serialization.clear_safe_globals()

    """
    _marked.extend(g for g in safe_globals if g not in _marked)


def get_safe_globals() -> list[Callable | tuple[Callable, str]]:
    """Return the classes and functions that the user has allowed."""
    return list(_marked)


def clear_safe_globals() -> None:
    """Reset the allowed classes and functions to the defaults."""
    _marked.clear()


class safe_globals:
    """A block in which further classes and functions are allowed. See torch.serialization.safe_globals."""

    def __init__(self, safe_globals: list[Callable | tuple[Callable, str]]):
        self.safe_globals = safe_globals

    def __enter__(self) -> None:
        add_safe_globals(self.safe_globals)

    def __exit__(self, *exc_info: Any) -> None:
        _marked[:] = [g for g in _marked if g not in self.safe_globals]


def _users() -> dict[str, Any]:
    """Return the objects that the user allows, by their names in checkpoints."""
    found = {}
    for g in _marked:
        if isinstance(g, tuple):
            if len(g) != 2:
                raise ValueError("Expected tuple of length 2 (global, str of callable full path), but got tuple of length: "
                                 f"{len(g)}")
            if type(g[1]) is not str:
                raise TypeError(f"Expected second item in tuple to be str of callable full path, but got: {type(g[1])}")
            found[g[1]] = g[0]
        else:
            found[".".join(names.torch_name(g) or (g.__module__, g.__qualname__))] = g
    return found


# -- names that are allowed by default --------------------------------------------------------------------------------


def _encode(text: str, encoding: str = "latin1") -> bytes:
    if type(text) is not str or encoding not in ("latin1", "latin-1", "utf-8", "ascii"):
        raise UnpicklingError("a call of _codecs.encode that does not write bytes")
    return text.encode(encoding)


def _bytearray(*args: Any) -> bytearray:
    if args and type(args[0]) not in (bytes, str):
        raise UnpicklingError(f"bytearray of a {type(args[0]).__name__}")
    return bytearray(_encode(*args)) if args and type(args[0]) is str else bytearray(*args)


def _complex(real: float, imag: float = 0.0) -> complex:
    if type(real) not in (int, float) or type(imag) not in (int, float):
        raise UnpicklingError("complex of something other than numbers")
    return complex(real, imag)


# Maps an allowed object to the function that runs if a pickle calls the object. Other objects can only be arguments.
_CALLS: dict[Any, Callable] = {
    OrderedDict: OrderedDict, Counter: Counter, set: set, bytearray: _bytearray, complex: _complex, Size: Size,
    device_class: device_class, rebuild._rebuild_from_type_v2: rebuild._rebuild_from_type_v2,
    rebuild._get_layout: rebuild._get_layout, _encode: _encode, **{f: f for f in rebuild.FUNCTIONS.values()}}
_HASHING = (OrderedDict, Counter, set)


# Allowed names of nested tensors. Their module is imported only if a pickle has these names.
_NESTED = {f"torch.nested._internal.nested_tensor.{name}" for name in ("NestedTensor", "_rebuild_njt")}


@cache
def allowed() -> dict[str, Any]:
    """Return the objects that are allowed by default, by their names in checkpoints."""
    found: dict[str, Any] = {
        "collections.OrderedDict": OrderedDict, "collections.Counter": Counter, "torch.nn.parameter.Parameter": Parameter,
        "torch.serialization._get_layout": rebuild._get_layout, "torch.Size": Size, "torch.Tensor": Tensor,
        "torch.device": device_class, "_codecs.encode": _encode, "builtins.bytearray": bytearray, "builtins.set": set,
        "builtins.complex": complex, "torch.storage.UntypedStorage": names.UntypedStorage,
        "torch._tensor._rebuild_from_type_v2": rebuild._rebuild_from_type_v2}
    found |= {f"torch.{name}": dtype for name, dtype in ALL.items()}
    found |= {f"torch.{name}": kind for name, kind in names.STORAGE_TYPES.items()}
    found |= {f"torch.{name}": absent(name) for name in ("qint8", "quint8", "qint32")}
    found |= {f"torch.{scheme.name}": scheme for scheme in SCHEMES}
    return found | {f"torch._utils.{name}": f for name, f in rebuild.FUNCTIONS.items()}


def unsafe_globals(pickled: bytes) -> list[str]:
    """Return the names in a pickle that are not allowed, without running it; UnpicklingError for other opcodes."""
    import pickletools
    found = set()
    for opcode, arg, _ in pickletools.genops(io.BytesIO(pickled)):
        if opcode.name == "GLOBAL":
            found.add(".".join(names.python3_name(*str(arg).split(" ", 1))))
        elif opcode.code.encode("latin1") not in _OPERATIONS:
            raise UnpicklingError(f"Unsupported operand {ord(opcode.code)}")
    return sorted(found - allowed().keys() - _NESTED - _users().keys())


# -- the unpickler ----------------------------------------------------------------------------------------------------

_KEY_BUDGET = 3_000_000


class Unpickler:
    """Reads one pickle from a file; ``persistent_load`` returns the storage of a persistent id. See the module's docstring."""

    def __init__(self, file: Any, persistent_load: Callable[[Any], Any] | None = None, encoding: str = "utf-8"):
        self.file, self.persistent_load, self.encoding = file, persistent_load, encoding
        self.stack: list[Any] = []
        self.marks: list[list[Any]] = []
        self.memo: dict[int, Any] = {}
        self.users = _users()
        self.callable_by_user = {id(g) for g in self.users.values()}
        self.key_budget = _KEY_BUDGET

    def load(self) -> Any:
        """Return the object; UnpicklingError if the pickle is damaged or needs something that is not allowed."""
        try:
            return self._run()
        except (UnpicklingError, EOFError, RuntimeError, OSError, Warning):
            raise
        except Exception as e:
            if getattr(e, "not_the_pickles", False):
                raise
            raise UnpicklingError(f"the pickle is damaged: {type(e).__name__}: {e}") from e

    def _run(self) -> Any:
        read = self.file.read
        while True:
            code = read(1)
            if code == pickle.STOP:
                return self.stack.pop()
            operation = _OPERATIONS.get(code)
            if operation is None:
                raise UnpicklingError(f"Unsupported operand {code[0]}") if code else EOFError("Ran out of input")
            operation(self)

    # ---- reading arguments of instructions

    def read(self, n: int) -> bytes:
        """Read exactly ``n`` bytes."""
        data = self.file.read(n)
        if len(data) != n:
            raise EOFError("Ran out of input")
        return data

    def number(self, form: struct.Struct) -> Any:
        """Read a number in an opcode's format."""
        return form.unpack(self.read(form.size))[0]

    def line(self) -> str:
        """Read the rest of the line."""
        data = self.file.readline()
        if not data.endswith(b"\n"):
            raise EOFError("Ran out of input")
        return data[:-1].decode()

    def since_mark(self) -> list[Any]:
        """Pop the items that were pushed since the last mark."""
        items, self.stack = self.stack, self.marks.pop()
        return items

    # ---- names and calls

    def named(self) -> None:
        """Execute GLOBAL: read a name, and push the allowed object that has it."""
        module, name = names.python3_name(self.line(), self.line())
        path = f"{module}.{name}"
        if module in _BLOCKED:
            raise UnpicklingError(f"Trying to load unsupported GLOBAL {path} whose module {module} is blocked.")
        if path in allowed():
            self.stack.append(allowed()[path])
        elif path in self.users:
            self.stack.append(self.users[path])
        elif path in _NESTED:
            from jtorch.nested._internal import nested_tensor
            self.stack.append(getattr(nested_tensor, name))
        else:
            path = path.removeprefix("builtins.")
            raise UnpicklingError(f"Unsupported global: GLOBAL {path} was not an allowed global by default. Please use "
                                  f"`torch.serialization.add_safe_globals([{path}])` or the "
                                  f"`torch.serialization.safe_globals([{path}])` context manager to allowlist this global if you "
                                  "trust this class/function.")

    def call(self) -> None:
        """Execute REDUCE: call an allowed function."""
        args, function = self.stack.pop(), self.stack.pop()
        if type(args) is not tuple:
            raise UnpicklingError(f"the arguments of a call are a {type(args).__name__}, not a tuple")
        if id(function) not in self.callable_by_user:
            known = isinstance(function, (type, FunctionType))
            called = _CALLS.get(function, getattr(function, "rebuilds", None)) if known else None
            if called is None:
                raise UnpicklingError(f"Trying to call reduce for unrecognized function {names.shown(function)}")
            if called in _HASHING:
                self.check_members(args)
            function = called
        self.stack.append(function(*args))

    def check_members(self, args: tuple) -> None:
        """Raise UnpicklingError for arguments of OrderedDict, Counter or set that are no collections or too slow to hash."""
        for container in args:
            if type(container) not in (list, tuple, dict):
                raise UnpicklingError(f"a collection is to be made of a {type(container).__name__}")
            for item in container:
                self.check_key(tuple(item) if type(item) is list else item)

    def new(self) -> None:
        """Execute NEWOBJ: create a parameter, or an object of a class that the user allows."""
        args, cls = self.stack.pop(), self.stack.pop()
        if cls is Parameter:
            self.stack.append(rebuild._rebuild_parameter(args[0], args[1] if len(args) > 1 else True, None))
        elif id(cls) in self.callable_by_user and isinstance(cls, type):
            self.stack.append(cls.__new__(cls, *args))
        else:
            raise UnpicklingError("Can only create new object for nn.Parameter or classes allowlisted via `add_safe_globals` but "
                                  f"got {names.shown(cls)}")

    def build(self) -> None:
        """Execute BUILD: set the attributes of an OrderedDict, or of an object of a class that the user allows."""
        state, thing = self.stack.pop(), self.stack[-1]
        if type(thing) is OrderedDict and type(state) is dict:
            thing.__dict__.update(state)
        elif id(type(thing)) in self.callable_by_user:
            _set_state(thing, state)
        else:
            raise UnpicklingError("Can only build Tensor, Parameter, OrderedDict or types allowlisted via `add_safe_globals`, "
                                  f"but got {type(thing)}")

    # ---- containers

    def append(self) -> None:
        """Execute APPEND: append an item to a list."""
        self._list_below([self.stack.pop()], "append to")

    def extend(self) -> None:
        """Execute APPENDS: append the items since the mark to a list."""
        self._list_below(self.since_mark(), "extend")

    def _list_below(self, items: list, verb: str) -> None:
        if type(self.stack[-1]) is not list:
            raise UnpicklingError(f"Can only {verb} lists, but got {type(self.stack[-1])}")
        self.stack[-1].extend(items)

    def set_item(self) -> None:
        """Execute SETITEM: set an item of a dict."""
        value, key = self.stack.pop(), self.stack.pop()
        self._set_items([key, value], "SETITEM")

    def set_items(self) -> None:
        """Execute SETITEMS: set the pairs since the mark in a dict."""
        self._set_items(self.since_mark(), "SETITEMS")

    def _set_items(self, items: list, instruction: str) -> None:
        target = self.stack[-1]
        if type(target) not in (dict, OrderedDict, Counter):
            raise UnpicklingError(f"Can only {instruction} for dict, collections.OrderedDict, collections.Counter, but got "
                                  f"{type(target)}")
        for i in range(0, len(items), 2):
            self.check_key(items[i])
            target[items[i]] = items[i + 1]

    def check_key(self, key: Any) -> None:
        """Raise UnpicklingError for keys that take too long to hash: deeply nested tuples, and integers made to collide."""
        kind = type(key)
        if kind is str or (kind is int and key.bit_length() <= 60):
            return
        parts = [key]
        while parts:
            part = parts.pop()
            self.key_budget -= 300 if type(part) is int and part.bit_length() > 60 else 1
            if self.key_budget < 0:
                raise UnpicklingError("the keys of the dicts in this checkpoint take too long to hash")
            if isinstance(part, tuple):
                if len(part) > self.key_budget:
                    self.key_budget = 0
                parts.extend(part[:self.key_budget + 1])

    # ---- everything else

    def stored(self) -> None:
        """Execute BINPERSID: push a storage."""
        saved = self.stack.pop()
        if type(saved) is not tuple:
            raise UnpicklingError(f"persistent_load id must be tuple or int, but got {type(saved)}")
        if not saved or saved[0] not in ("storage", b"storage"):
            kind = names.shown(saved[0] if saved else None)
            raise UnpicklingError(f"Only persistent_load of storage is allowed, but got {kind}")
        if self.persistent_load is None:
            raise UnpicklingError("unsupported persistent id encountered")
        self.stack.append(self.persistent_load(saved))

    def python2_string(self) -> None:
        """Execute SHORT_BINSTRING: push a string of Python 2."""
        data = self.read(self.read(1)[0])
        self.stack.append(data if self.encoding == "bytes" else data.decode(self.encoding))

    def mark(self) -> None:
        """Execute MARK: begin a new stack."""
        self.marks.append(self.stack)
        self.stack = []

    def check_protocol(self) -> None:
        """Execute PROTO: accept any protocol, but warn unless it is 2, since others have opcodes that are not supported."""
        protocol = self.read(1)[0]
        if protocol != 2:
            warned.warn(f"Detected pickle protocol {protocol} in the checkpoint, which was not the default pickle protocol "
                        "used by `torch.load` (2). The weights_only Unpickler might not support all instructions implemented "
                        "by this protocol, please file an issue for adding support if you encounter this.")


def _set_state(thing: Any, state: Any) -> None:
    """Set the state of an object of an allowed class, as Python's unpickler does."""
    own = getattr(thing, "__setstate__", None)
    if own is not None:
        own(state)
        return
    state, slots = state if isinstance(state, tuple) and len(state) == 2 else (state, None)
    thing.__dict__.update(state or {})
    for key, value in (slots or {}).items():
        setattr(thing, key, value)


def _push(make: Callable[[Unpickler], Any]) -> Callable[[Unpickler], None]:
    def push(machine: Unpickler) -> None:
        made = make(machine)
        machine.stack.append(made)      # Read machine.stack after ``make``, which may have replaced the list.
    return push


def _tuple(n: int) -> Callable[[Unpickler], None]:
    def make(machine: Unpickler) -> None:
        if len(machine.stack) < n:
            raise IndexError("too few items for a tuple")
        machine.stack[-n:] = [tuple(machine.stack[-n:])]
    return make


def _put(form: struct.Struct) -> Callable[[Unpickler], None]:
    def put(machine: Unpickler) -> None:
        machine.memo[machine.number(form)] = machine.stack[-1]
    return put


_INT, _BYTE, _SHORT, _LENGTH, _DOUBLE = (struct.Struct(f) for f in ("<i", "<B", "<H", "<I", ">d"))

_OPERATIONS: dict[bytes, Callable[[Unpickler], Any]] = {
    pickle.GLOBAL: Unpickler.named, pickle.REDUCE: Unpickler.call, pickle.NEWOBJ: Unpickler.new, pickle.BUILD: Unpickler.build,
    pickle.APPEND: Unpickler.append, pickle.APPENDS: Unpickler.extend, pickle.SETITEM: Unpickler.set_item,
    pickle.SETITEMS: Unpickler.set_items, pickle.BINPERSID: Unpickler.stored, pickle.MARK: Unpickler.mark,
    pickle.SHORT_BINSTRING: Unpickler.python2_string, pickle.PROTO: Unpickler.check_protocol,
    # ``unsafe_globals`` looks STOP up among the supported opcodes. Its value is never used, since ``_run`` ends at STOP.
    pickle.STOP: Unpickler.load,
    pickle.TUPLE: _push(lambda m: tuple(m.since_mark())),
    pickle.TUPLE1: _tuple(1), pickle.TUPLE2: _tuple(2), pickle.TUPLE3: _tuple(3),
    pickle.NONE: _push(lambda m: None), pickle.NEWFALSE: _push(lambda m: False), pickle.NEWTRUE: _push(lambda m: True),
    pickle.EMPTY_TUPLE: _push(lambda m: ()), pickle.EMPTY_LIST: _push(lambda m: []), pickle.EMPTY_DICT: _push(lambda m: {}),
    pickle.EMPTY_SET: _push(lambda m: set()), pickle.BININT: _push(lambda m: m.number(_INT)),
    pickle.BININT1: _push(lambda m: m.read(1)[0]), pickle.BININT2: _push(lambda m: m.number(_SHORT)),
    pickle.BINFLOAT: _push(lambda m: m.number(_DOUBLE)),
    pickle.BINUNICODE: _push(lambda m: str(m.read(m.number(_LENGTH)), "utf-8", "surrogatepass")),
    pickle.LONG1: _push(lambda m: int.from_bytes(m.read(m.read(1)[0]), "little", signed=True)),
    pickle.BINGET: _push(lambda m: m.memo[m.read(1)[0]]), pickle.LONG_BINGET: _push(lambda m: m.memo[m.number(_LENGTH)]),
    pickle.BINPUT: _put(_BYTE), pickle.LONG_BINPUT: _put(_LENGTH),
}
