"""Programs: calls of a trace that XLA compiles together. The pattern of values that somebody still holds is part of the key.

Values that nobody holds are not outputs, so XLA fuses them away. Inputs that nobody else holds are donated, so an optimizer
updates in place.
"""
from __future__ import annotations

import time
import weakref
from collections import Counter
from collections.abc import Callable
from math import copysign, inf
from sys import getrefcount
from typing import TYPE_CHECKING, Any

import jax
import jax.numpy as jnp
import numpy as np

import jtorch.device as devices
from jtorch import speedups
from jtorch._base.accelerated import traced_for
from jtorch.engine import background, cache, cost, launch, malloc, policy, stats, threads, wait
from jtorch.engine.cache_key import name_of
from jtorch.engine.kernel import flatten, for_xla, value_error
from jtorch.engine.threads import ELSEWHERE, Threads
from jtorch.engine.values import CPU, Value, aval_of, device_array, is_mesh_of_cpus, placed_on, put, sharding_of
from jtorch.ops.registry import Marker

if TYPE_CHECKING:
    from jtorch.engine.kernel import Kernel
    from jtorch.engine.trace import Trace
    from jtorch.engine.trie import State


def _counts(values: list[Value]) -> list[int]:
    return list(map(getrefcount, values))


# The reference count of a value that only a trace's list holds. The count differs between Python versions.
_UNHELD = _counts([Value(None)])[0]     # type: ignore[arg-type]


def _count_in_lists() -> int:
    """Return the reference count of an array that one value and two lists hold, as in ``Program.start``."""
    value = Value(None, object())       # type: ignore[arg-type]
    arrays = [value.array]
    given = arrays[:1]
    return max(map(getrefcount, given))


_UNSHARED_IN_LISTS = _count_in_lists()


def liveness_of(values: list[Value]) -> bytes:
    """Return a byte for each slot of a trace: 1 if anybody besides the trace holds its value, else 0."""
    return bytes(map(_UNHELD.__lt__, map(getrefcount, values)))


def results(path: list[State], held: bytes) -> list[int]:
    """Return the slots that a trace must compute, from the last to the first: held values, and results that no later call uses.

    Unused views are left out if there are other unused results, because a view asks for no work and an output would copy it.
    """
    asked = unconsumed(path)
    kept = {s.first for s in [s for s in asked if s.call.op.view is None] or asked}
    return [i for i in sorted(made_by(path), reverse=True) if held[i] or i in kept]


def made_by(path: list[State]) -> set[int]:
    """Return the slots of all results of these calls."""
    return {i for s in path for i in range(s.first, s.first + len(s.outs))}


def unconsumed(path: list[State]) -> list[State]:
    """Return the calls whose results no later call uses. They stay outputs, because the user asked for their work."""
    used = {i for s in path for i in s.args if i >= 0}
    return [s for s in path if s.outs and not any(i in used for i in range(s.first, s.first + len(s.outs)))]


_programs: weakref.WeakValueDictionary[tuple, Program] = weakref.WeakValueDictionary()      # Compiled programs by key.
# Programs that are being compiled in the background, by key.
_begun: weakref.WeakValueDictionary[tuple, Program] = weakref.WeakValueDictionary()


class Program:
    """Calls of a trace that are compiled together: all calls, or consecutive ones.

    ``outs`` are the slots of the outputs. ``spare`` returns whether a slot's value may be overwritten (donated). ``on`` are the
    threads that the program runs on if its device is the CPU. ``compile`` compiles at once, ``begin`` and ``finish`` in the
    background.
    """

    def __init__(self, path: list[State], outs: list[int], spare: Callable[[int], bool], why: str, on: Threads):
        self.path, self.outs = path, outs
        self.line, self.runs, self.why = path[-1].line, 0, why
        made, read = made_by(path), {i for s in path for i in s.read}
        taken = dict.fromkeys([i for s in path for i in s.args if i >= 0 and i not in made])
        # The calls read only the shapes of ``left_out``, so the program does not take these values.
        self.ins, self.left_out = [i for i in taken if i in read], [i for i in taken if i not in read]
        stats.counters.left_out += len(self.left_out)
        self.avals = self._avals()
        self.donated = self._donated(spare)
        self.order = self.donated + [i for i in self.ins if i not in self.donated]
        self.checks = [s for s in self.path if s.call.check is not None]
        self._plan_numbers()
        self.device = next((s.outs[0].device for s in reversed(path) if s.outs), CPU)
        # The positions of 0-dim CPU inputs, if the program runs on another device.
        self.foreign = [k for k, i in enumerate(self.order) if self.avals[i].device is not self.device]
        self.runs_inline = self.device is CPU and on.inline
        # True if the program may still run on the CPU after the call that starts it has returned.
        self.runs_on = self.device is CPU and not threads.are_awaited(on)
        self.is_of_virtual_devices = is_mesh_of_cpus(self.device)
        self.soon_read = self._soon_read()
        self.key = self._structure(), on
        self.compiling: background.Job | None = None
        # Seconds of the thread's estimated work at which the background begins with the program, and at which it is used.
        self.begins_at = self.ready_at = inf

    @property
    def is_compiled(self) -> bool:
        """Whether the program can run."""
        return hasattr(self, "executable")

    def takes_equal(self) -> bool:
        """Take the executable of an equal program, and return whether there is one."""
        same = _programs.get(self.key)
        if same is not None:
            self.executable: launch.Executable = same.executable
            stats.counters.equal_programs += 1
        return same is not None

    @property
    def compile_seconds(self) -> float:
        """The estimated seconds to compile the program."""
        return sum([policy.call_compile_seconds(s.kernel.work) for s in self.path], cost.COMPILING_PROGRAM)

    def compile(self) -> None:
        """Compile the program now, unless an equal program is compiled."""
        if not self.takes_equal():
            start = time.perf_counter()
            malloc.trim()       # Return free memory first, since the compiler's memory is the peak of the process.
            with traced_for(self.device.type == "mesh"):
                made = for_xla(lambda: cache.program(self._name, self._lowered, self._on(), self.device, self._is_worth_trying()))
            self.become(made, time.perf_counter() - start)

    def begin(self) -> None:
        """Have the program compiled in the background. JAX traces it in this thread."""
        same = _begun.get(self.key)
        if same is not None and same.compiling is not None:
            self.compiling = same.compiling
            return
        self.compiling = background.submit(self.begun(self._is_worth_trying(), beside=True))
        _begun[self.key] = self
        stats.counters.background += 1

    def finish(self) -> None:
        """Take the result of the background thread, and wait for it if necessary."""
        assert self.compiling is not None
        if not self.takes_equal():
            made = self.compiling.result()
            if self.device is CPU:
                malloc.keep_those_of(made)
            self.become(made, self.compiling.seconds)
        self.compiling = None

    def become(self, compiled: Any, seconds: float) -> None:
        """Store the compiled program, and count the seconds that compiling took."""
        self.executable = launch.Executable(compiled, len(self.donated))
        _programs[self.key] = self
        stats.program_compiled(self, self.why, seconds)

    def summary(self) -> str:
        """Return a short text about the calls, inputs and outputs."""
        names = [s.call.op.name for s in self.path]
        shown = ", ".join(names) if len(names) <= 6 else f"{', '.join(names[:3])}, …, {', '.join(names[-2:])}"
        return f"{len(names)} calls ({shown}), {len(self.ins)} inputs, {len(self.outs)} outputs, {len(self.donated)} donated"

    def _avals(self) -> dict:
        avals = {}
        for s in self.path:
            for i, aval in zip(s.args, s.kernel.avals, strict=True):
                if i >= 0:
                    avals[i] = aval
            for k, aval in enumerate(s.outs):
                avals[s.first + k] = aval
        return avals

    def _donated(self, spare: Callable[[int], bool]) -> list[int]:
        """Return the inputs to donate: nobody else holds them, and an output of the same type can take their buffer.

        JAX gives each output, in order, the first donated buffer of its type. So ``outs`` is sorted: outputs with a donated
        buffer come first. A call's results take the buffers of the call's own arguments, the last result that of the last
        argument of its type. So an optimizer's results take the buffers of the parameters and states that they replace. The
        other outputs take what is left, from the last to the first. With any other pairing XLA copies every buffer first.
        """
        free = {i for i in self.ins if self.avals[i].numel and spare(i)}
        if not free:
            return []
        taken = self._replaced(free)
        left: dict = {}
        for i in sorted(free):
            left.setdefault(self.avals[i], []).append(i)
        for i in self.outs:
            if i not in taken and left.get(self.avals[i]):
                taken[i] = left[self.avals[i]].pop()
        self.outs = sorted(self.outs, key=lambda i: i not in taken)
        return [taken[i] for i in self.outs if i in taken]

    def _replaced(self, free: set[int]) -> dict[int, int]:
        """Pair outputs with arguments of their own calls whose buffers they take. Remove these arguments from ``free``."""
        wanted, taken = set(self.outs), {}
        for s in reversed(self.path):
            arguments: dict = {}
            for i in dict.fromkeys(s.args):
                if i in free:
                    arguments.setdefault(self.avals[i], []).append(i)
            for i in reversed(range(s.first, s.first + len(s.outs)) if arguments else ()):
                if i in wanted and arguments.get(self.avals[i]):
                    taken[i] = arguments[self.avals[i]].pop()
                    free.discard(taken[i])
        return taken

    def _soon_read(self) -> list[int]:
        """Return which outputs of an accelerator are copied to the host before they are read: float scalars, if they are few.

        A loop reads its loss after the step, and would have to wait for the copy.
        """
        numbers = [k for k, i in enumerate(self.outs) if self.avals[i].shape == () and self.avals[i].is_inexact]
        few = len(numbers) <= policy.FEW and devices.is_accelerator(self.device)
        return numbers if few else []

    def _plan_numbers(self) -> None:
        """Plan the place of each Python number: floats and complex parts in a float64 array, ints and bools in an int64 array.

        An array without numbers is left out. But a program without any other input takes an empty float64 array, because the
        inputs decide on which device it runs.
        """
        self.where: dict[int, tuple[str, int]] = {}
        self.floats: list[tuple[int, str]] = []
        self.ints: list[int] = []
        for s in self.path:
            for i, mark in zip(s.args, _markers(s.call.template), strict=True):
                if i < 0:
                    self._plan_number(-i - 1, mark.number_type)
        self.last_numbers: list | None = None
        self.zeros: list[tuple[int, str, float]] = []       # The floats that were zero the last time, with their signs.
        self.stays = False
        self.packed: list = []
        self.has_floats, self.has_ints = bool(self.floats or not (self.ints or self.order)), bool(self.ints)

    def _plan_number(self, k: int, kind: type | None) -> None:
        if kind is complex:
            self.where[k] = ("complex", len(self.floats))
            self.floats += [(k, "real"), (k, "imag")]
        elif kind is float:
            self.where[k] = ("float", len(self.floats))
            self.floats.append((k, "real"))
        else:
            self.where[k] = ("bool" if kind is bool else "int", len(self.ints))
            self.ints.append(k)

    def _number(self, k: int, floats, ints):
        kind, at = self.where[k]
        if kind == "complex":
            return jax.lax.complex(floats[at], floats[at + 1])
        if kind == "float":
            return floats[at]
        return ints[at].astype(bool) if kind == "bool" else ints[at]

    def _trace(self, *arrays):
        packed = len(arrays) - len(self.order)
        floats, ints = arrays[0] if self.has_floats else (), arrays[packed - 1] if self.has_ints else ()
        env = dict(zip(self.order, arrays[packed:], strict=True))
        env |= {i: jnp.zeros(self.avals[i].shape, self.avals[i].np) for i in self.left_out}
        flags, functions = [], self._functions()
        for s in self.path:
            args = [env[i] if i >= 0 else self._number(-i - 1, floats, ints) for i in s.args]
            if s.call.check is not None:
                bad, detail = s.call.check(*args)
                flags += [jnp.asarray(bad, np.int64), jnp.asarray(detail, np.int64)]
            for k, x in enumerate(flatten(functions[s.kernel](*args))):
                env[s.first + k] = x
        return *[env[i] for i in self.outs], *([jnp.stack(flags)] if flags else [])

    def _functions(self) -> dict[Kernel, Callable]:
        """Return the kernels' functions. A kernel that is used several times is jitted, so that JAX lowers it once."""
        times = Counter([s.kernel for s in self.path])
        return {kernel: jax.jit(kernel.function()) if n > 1 else kernel.function() for kernel, n in times.items()}

    def _structure(self) -> tuple:
        """Return all that the compiled code depends on. Programs of equal structure are equal, wherever in a trace they are."""
        names: dict[int, Any] = {i: k for k, i in enumerate(self.order)}
        for s in self.path:
            for k in range(len(s.outs)):
                names[s.first + k] = len(names)
        names |= {i: self.avals[i] for i in self.left_out}
        calls = tuple([(s.call, tuple([names[i] if i >= 0 else self.where[-i - 1] for i in s.args])) for s in self.path])
        return calls, tuple([names[i] for i in self.outs]), tuple([self.avals[i] for i in self.order]), len(self.donated)

    def begun(self, tries: bool, *, beside: bool = False) -> Callable[[], Any]:
        """Return a function that returns the compiled program. Any thread may call it.

        A program on disk is loaded now. Another program is traced now, and the function compiles it. ``tries`` says whether XLA
        tries out GPU kernels, ``beside`` whether the background thread calls the function.
        """
        made = for_xla(lambda: cache.begun(self._name, self._lowered, self._on(), self.device, tries, beside=beside))

        def compiled() -> Any:
            with jax.enable_x64(True):
                return made()
        return compiled

    def _on(self) -> Threads:
        return self.key[1] if self.device is CPU else ELSEWHERE

    def _name(self) -> str | None:
        return name_of(self.key[0])

    def _lowered(self) -> Any:
        device = self.device
        packed = [aval_of((len(self.floats),), np.dtype(np.float64), device)] * self.has_floats
        packed += [aval_of((len(self.ints),), np.dtype(np.int64), device)] * self.has_ints
        avals = packed + [self.avals[i] for i in self.order]
        placed = [(a if a.device is device else aval_of(a.shape, a.np, device)).placed for a in avals]
        donated = tuple(range(len(packed), len(packed) + len(self.donated)))
        place = {} if placed else placed_on(device)
        if device.type == "mesh":
            flags = [sharding_of(device)] if self.checks else []
            place = {"out_shardings": (*[self.avals[i].placed.sharding for i in self.outs], *flags)}
        traced = jax.jit(self._trace, donate_argnums=donated, keep_unused=True, **place).trace(*placed)
        return threads.lowered(traced, self.key[1]) if device is CPU else traced.lower()

    def _is_worth_trying(self) -> bool:
        return self.device is CPU or policy.is_worth_trying(sum([s.kernel.work.compiled for s in self.path]))

    def _pack(self, numbers: list) -> None:
        """Pack the numbers into arrays: host arrays for numbers that have changed, device arrays if they stay the same.

        ``last_numbers`` is set last, because an interrupt may come before.
        """
        if numbers == self.last_numbers and self._signs_stay(numbers):
            self.packed = [put(x, self.device) for x in self.packed]
            self.stays = True
            return
        self.last_numbers, self.stays = None, False
        floats = [getattr(numbers[k], part) for k, part in self.floats]
        self.packed = [np.array(floats, np.float64)] * self.has_floats
        self.packed += [np.array([numbers[k] for k in self.ints], np.int64)] * self.has_ints
        self.zeros = [(k, part, copysign(1, x)) for (k, part), x in zip(self.floats, floats, strict=True) if x == 0]
        self.last_numbers = list(numbers)

    def _signs_stay(self, numbers: list) -> bool:
        """Return whether the zeros among equal numbers have the same signs as the last time, since ``0.0 == -0.0``."""
        return all([copysign(1, getattr(numbers[k], part)) == sign for k, part, sign in self.zeros])

    def launch(self, trace: Trace) -> list:
        """Start the program on a trace, and give the values their arrays, which may not be computed yet."""
        results: list[list] = []
        trace.launched = self, results
        self.start([trace.values[i] for i in self.order], trace.numbers, results)
        trace.settle()
        return results[0]

    def start(self, given: list[Value], numbers: list, results: list[list]) -> None:
        """Start the program on the values of the slots ``order``.

        The C call that starts the program also puts its outputs into ``results``. The donated inputs may be overwritten from
        then on, so no exception may come between the start and the outputs.
        """
        self.runs += 1
        stats.counters.program_runs += 1
        if numbers != self.last_numbers or not self.stays or (self.zeros and not self._signs_stay(numbers)):
            self._pack(numbers)
        arrays = [v.array for v in given]
        if np.ndarray in set(map(type, arrays)):
            del arrays          # Each NumPy array can be freed as soon as it is copied.
            arrays = [device_array(v) for v in given]
        for k in self.foreign:
            arrays[k] = put(np.asarray(arrays[k]), self.device)
        if self.donated:
            spare = arrays[:len(self.donated)]
            shared = max(map(getrefcount, spare)) > _UNSHARED_IN_LISTS
            del spare
            if shared:
                arrays = self._unshared(arrays)
        packed = self.packed if self.stays else [put(x, self.device) for x in self.packed]
        with wait.first_run() if self.runs == 1 and self.device.type == "mesh" else wait.NOTHING:
            self.executable.run(packed, arrays, results)
            if self.is_of_virtual_devices:
                wait.for_all(results)
        for k in self.soon_read:
            results[0][k].copy_to_host_async()
            stats.counters.sent_ahead += 1
        if results and results[0] and self.runs_on:
            wait.note(results[0][0])

    def assign(self, values: list[Value], outs: list) -> None:
        """Give a trace's values their arrays."""
        for i, array in zip(self.outs, outs):       # noqa: B905  (the flags, if any, come last)
            values[i].array = array

    def _unshared(self, arrays: list) -> list:
        """Return the arrays, with copies of donated ones that somebody else holds (through ``Tensor.jax()``, for example)."""
        n = len(self.donated)
        return [a.copy() if k < n and getrefcount(a) > _UNSHARED_IN_LISTS else a for k, a in enumerate(arrays)]

    def raise_if_bad(self, outs: list) -> None:
        """Raise the error of the first call whose argument values are wrong. If there are checks, wait for the program."""
        if not self.checks:
            return
        flags = (wait.host(outs[-1]) if self.runs_on else np.asarray(outs[-1])).tolist()
        for k, s in enumerate(self.checks):
            if flags[2 * k]:
                raise naming_line(value_error(s.call, s.kernel.avals, flags[2 * k + 1]), s)


def naming_line(error: Exception, state: State) -> Exception:
    """Return an error that is raised late, with a note that names its call."""
    error.add_note(f"raised by {state.call.op.name} called at {state.line}")
    return error


def _markers(template: tuple) -> list[Marker]:
    out: list[Marker] = []
    for t in template:
        if t.__class__ is Marker:
            out.append(t)
        elif t.__class__ is tuple:
            out += _markers(t)
    return out


speedups.connect(globals())
