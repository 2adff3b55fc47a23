"""Programs: a whole trace compiled by XLA, keyed by which of its values somebody still holds.

Values that nobody holds are not outputs, so XLA fuses them away; inputs that nobody else holds are donated, so that an
optimizer's update happens in place.
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
from jtorch.engine import background, cache, launch, memory, policy, stats, temporaries, threads, wait
from jtorch.engine.kernel import flatten, for_xla, value_error
from jtorch.engine.names import name_of
from jtorch.engine.threads import ELSEWHERE, Threads
from jtorch.engine.values import CPU, Value, aval_of, device_array, is_mesh_of_cpus, placed_on, put, sharding_of
from jtorch.ops.registry import Marker

if TYPE_CHECKING:
    from jtorch.engine.kernel import Kernel
    from jtorch.engine.trace import Trace
    from jtorch.engine.trie import State


def _counts(values: list[Value]) -> list[int]:
    return list(map(getrefcount, values))


# What getrefcount says of a value that only a trace's list holds; measured, since it differs between Pythons.
_UNHELD = _counts([Value(None)])[0]     # type: ignore[arg-type]


def _count_in_lists() -> int:
    """What getrefcount says of an array that a value holds and two lists, as in ``Program.run``."""
    value = Value(None, object())       # type: ignore[arg-type]
    arrays = [value.array]
    given = arrays[:1]
    return max(map(getrefcount, given))


_UNSHARED_IN_LISTS = _count_in_lists()


def liveness_of(values: list[Value]) -> bytes:
    """For each slot of a trace, 1 if anybody beside the trace holds its value, else 0."""
    return bytes(map(_UNHELD.__lt__, map(getrefcount, values)))


def results(path: list[State], held: bytes) -> list[int]:
    """The slots of what a trace must give, from the last to the first: what somebody holds, and what no later call uses.

    A view that nobody looked at asked for no work; one of a whole data set would be a copy of it.
    """
    asked = unconsumed(path)
    kept = {s.first for s in [s for s in asked if s.call.op.view is None] or asked}
    return [i for i in sorted(made_by(path), reverse=True) if held[i] or i in kept]


def made_by(path: list[State]) -> set[int]:
    """The slots of all results of these calls."""
    return {i for s in path for i in range(s.first, s.first + len(s.outs))}


def unconsumed(path: list[State]) -> list[State]:
    """The calls whose results no later call uses. They stay outputs: asked-for work is done."""
    used = {i for s in path for i in s.args if i >= 0}
    return [s for s in path if s.outs and not any(i in used for i in range(s.first, s.first + len(s.outs)))]


_programs: weakref.WeakValueDictionary[tuple, Program] = weakref.WeakValueDictionary()      # by what they compute
_begun: weakref.WeakValueDictionary[tuple, Program] = weakref.WeakValueDictionary()     # those that are being compiled


class Program:
    """Calls of a trace compiled together: all of them, or a stretch.

    ``outs`` are the slots that it gives. ``spare`` says of a slot whether its value may be overwritten (donated).
    ``on``: the threads that it runs on, if its device is the CPU. It is compiled by ``compile``, or by ``begin`` and ``finish``.
    """

    def __init__(self, path: list[State], outs: list[int], spare: Callable[[int], bool], why: str, on: Threads):
        self.path, self.outs = path, outs
        self.line, self.runs, self.why = path[-1].line, 0, why
        made, read = made_by(path), {i for s in path for i in s.read}
        taken = dict.fromkeys([i for s in path for i in s.args if i >= 0 and i not in made])    # in the order of these calls
        self.ins, self.left_out = [i for i in taken if i in read], [i for i in taken if i not in read]      # only shapes of these
        stats.counters.left_out += len(self.left_out)
        self.avals = self._avals()
        self.donated = self._donated(spare)
        self.order = self.donated + [i for i in self.ins if i not in self.donated]
        self.checks = [s for s in self.path if s.call.check is not None]
        self._plan_numbers()
        self.device = next((s.outs[0].device for s in reversed(path) if s.outs), CPU)
        self.foreign = [k for k, i in enumerate(self.order) if self.avals[i].device is not self.device]     # 0-dim, of the CPU
        self.runs_inline = self.device is CPU and on.inline
        self.runs_on = self.device is CPU and not threads.are_awaited(on)       # behind the call that starts it, on the CPU
        self.is_of_virtual_devices = is_mesh_of_cpus(self.device)
        self.soon_read = self._soon_read()
        self.key = self._structure(), on
        self.compiling: background.Job | None = None
        self.begins_at = self.ready_at = inf        # the thread's estimated work when it is begun and used, in seconds

    @property
    def is_compiled(self) -> bool:
        """Whether it can run."""
        return hasattr(self, "executable")

    def takes_equal(self) -> bool:
        """Whether one that computes the same has been compiled, which this one then takes."""
        same = _programs.get(self.key)
        if same is not None:
            self.executable: launch.Executable = same.executable
            stats.counters.equal_programs += 1
        return same is not None

    @property
    def compile_seconds(self) -> float:
        """About what it takes to compile."""
        return sum([policy.call_compile_seconds(s.kernel.work) for s in self.path], policy.KERNEL_SECONDS)

    def compile(self) -> None:
        """Compile it now, unless an equal one is there."""
        if not self.takes_equal():
            start = time.perf_counter()
            memory.trim()       # or what is free lies beside what the compiler takes: 820 MiB for ResNet-18, so 780
            with traced_for(self.device.type == "mesh"):
                made = for_xla(lambda: cache.program(self._name, self._lowered, self._on(), self.device, self._is_worth_trying()))
            self.become(made, time.perf_counter() - start)

    def begin(self) -> None:
        """Have it compiled in the background. JAX traces it here."""
        same = _begun.get(self.key)
        if same is not None and same.compiling is not None:
            self.compiling = same.compiling
            return
        self.compiling = background.submit(self.begun(self._is_worth_trying(), beside=True))
        _begun[self.key] = self
        stats.counters.background += 1

    def finish(self) -> None:
        """Take what was compiled in the background; wait for it where it is not there yet."""
        assert self.compiling is not None
        if not self.takes_equal():
            made = self.compiling.result()
            if self.device is CPU:
                temporaries.keep_those_of(made)
            self.become(made, self.compiling.seconds)
        self.compiling = None

    def become(self, compiled: Any, seconds: float) -> None:
        """Notes what it has been compiled to, and how long that took."""
        self.executable = launch.Executable(compiled, len(self.donated))
        _programs[self.key] = self
        stats.program_compiled(self, self.why, seconds)

    def summary(self) -> str:
        """What was compiled, in a few words."""
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
        """The inputs that nobody else holds and whose memory an output can take.

        JAX gives each output, in order, the first donated buffer of its type. So ``outs`` begins with those that have one: a
        call's results take its arguments, the last the last of its type, and so an optimizer's the parameters and states that
        they replace; what is left goes from the last to the first. Any other pairing makes XLA copy every buffer first (25
        copies in the step of a small MLP, 60 µs; 302 in that of a GPT-2 on a GPU, 1.2 of 34 ms).
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
        """Outputs, and of the arguments of their own calls those whose memory they take, which leave ``free``."""
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
        """Which outputs of an accelerator go to the host unasked: floats, as a loss is one, if they are few.

        A loop asks for its loss when the step is done, and would wait for the copy: 0.3 to 0.6 ms on an H100.
        """
        numbers = [k for k, i in enumerate(self.outs) if self.avals[i].shape == () and self.avals[i].is_inexact]
        few = len(numbers) <= policy.FEW_NUMBERS and devices.is_accelerator(self.device)
        return numbers if few else []

    def _plan_numbers(self) -> None:
        """Where each Python number goes: floats and complex parts in one float64 array, ints and bools in one of int64.

        There is no array of none, which would cost the call 0.4 µs, but where the program takes nothing else: what it takes
        says on which device it runs.
        """
        self.where: dict[int, tuple[str, int]] = {}
        self.floats: list[tuple[int, str]] = []
        self.ints: list[int] = []
        for s in self.path:
            for i, mark in zip(s.args, _markers(s.call.template), strict=True):
                if i < 0:
                    self._plan_number(-i - 1, mark.number_type)
        self.last_numbers: list | None = None
        self.zeros: list[tuple[int, str, float]] = []       # those of ``floats`` that were zero the last time, with signs
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
        """What the kernels compute; of those that come several times JAX lowers it once."""
        times = Counter([s.kernel for s in self.path])
        return {kernel: jax.jit(kernel.function()) if n > 1 else kernel.function() for kernel, n in times.items()}

    def _structure(self) -> tuple:
        """What the compiled code depends on: two programs alike in this compute the same, wherever in a trace they stand."""
        names: dict[int, Any] = {i: k for k, i in enumerate(self.order)}
        for s in self.path:
            for k in range(len(s.outs)):
                names[s.first + k] = len(names)
        names |= {i: self.avals[i] for i in self.left_out}
        calls = tuple([(s.call, tuple([names[i] if i >= 0 else self.where[-i - 1] for i in s.args])) for s in self.path])
        return calls, tuple([names[i] for i in self.outs]), tuple([self.avals[i] for i in self.order]), len(self.donated)

    def begun(self, tries: bool, *, beside: bool = False) -> Callable[[], Any]:
        """Compile it in two steps: trace it now, and return the call that compiles it in any thread."""
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
        """The numbers as arrays: the host's for numbers that have just changed, the device's if they stay the same.

        What says that they are packed comes last, since an interrupt may come before.
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
        """Whether the zeros among numbers equal to the last have their signs too: ``0.0 == -0.0``."""
        return all([copysign(1, getattr(numbers[k], part)) == sign for k, part, sign in self.zeros])

    def launch(self, trace: Trace) -> list:
        """Starts the program on a trace and gives its values their arrays, which may not be computed yet."""
        results: list[list] = []
        trace.launched = self, results
        self.start([trace.values[i] for i in self.order], trace.numbers, results)
        trace.settle()
        return results[0]

    def start(self, given: list[Value], numbers: list, results: list[list]) -> None:
        """Starts the program on the values of the slots ``order``. What it gives is in ``results`` when the call that runs it
        returns: what it was given may be overwritten from then on, so an exception must not come before.
        """
        self.runs += 1
        stats.counters.program_runs += 1
        if numbers != self.last_numbers or not self.stays or (self.zeros and not self._signs_stay(numbers)):
            self._pack(numbers)
        arrays = [v.array for v in given]
        if np.ndarray in set(map(type, arrays)):
            del arrays          # or none of NumPy's would go before all are copied
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
        self.executable.run(packed, arrays, results)
        for k in self.soon_read:
            results[0][k].copy_to_host_async()
            stats.counters.sent_ahead += 1
        if results and results[0] and self.runs_on:
            wait.note(results[0][0])
        elif self.is_of_virtual_devices:
            wait.for_all(results)

    def assign(self, values: list[Value], outs: list) -> None:
        """Gives a trace's values their arrays."""
        for i, array in zip(self.outs, outs):       # noqa: B905  (the flags, if any, come last)
            values[i].array = array

    def _unshared(self, arrays: list) -> list:
        """The arrays, copied where one to be given away is held by somebody else too (through ``Tensor.jax()``, say)."""
        n = len(self.donated)
        return [a.copy() if k < n and getrefcount(a) > _UNSHARED_IN_LISTS else a for k, a in enumerate(arrays)]

    def raise_if_bad(self, outs: list) -> None:
        """Raises the error that the values of a call's arguments call for, if any. Waits for the program if there may be one."""
        if not self.checks:
            return
        flags = (wait.host(outs[-1]) if self.runs_on else np.asarray(outs[-1])).tolist()
        for k, s in enumerate(self.checks):
            if flags[2 * k]:
                raise naming_line(value_error(s.call, s.kernel.avals, flags[2 * k + 1]), s)


def naming_line(error: Exception, state: State) -> Exception:
    """An error that is raised late, with a note of which call it comes from."""
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
