"""Calls (an op with its static arguments) and kernels (a call for given avals): how one op runs.

A kernel on the CPU starts on the host, where NumPy evaluates its jaxpr without a compiler. The kernel moves to XLA once it has
run so often that compiling it is expected to pay. On an accelerator it is compiled at once.
"""
from __future__ import annotations

from collections.abc import Callable
from time import perf_counter
from typing import Any

import jax
import numpy as np
from numpy import asarray, ndarray

import jtorch.device as devices
from jtorch._base import warned
from jtorch._base.accelerated import traced_for
from jtorch._base.error_notes import with_note, without_jax_notes
from jtorch.engine import cache, cost, families, malloc, out_of_memory, policy, stats, wait
from jtorch.engine.host import untraced, work_of
from jtorch.engine.jax_settings import left_as_found, products_as_chosen
from jtorch.engine.threads import ELSEWHERE, Threads, lowered, pool_for
from jtorch.engine.values import CPU, Aval, aval_of, is_mesh_of_cpus, placed_on, put, spec_of, zero_stride_array
from jtorch.ops import check
from jtorch.ops.registry import Op

UNKNOWN = -1.0


class Call:
    """An op with its static arguments (a template). Interned per op, so traces compare calls by identity."""

    __slots__ = ("backward_name", "check", "creates", "fn", "kernels", "node_class", "nodes", "op", "tape_flags", "template",
                 "vjps")

    def __init__(self, op: Op, template: tuple, creates: object = None):
        self.op, self.template, self.creates = op, template, creates
        self.fn = op.function_of(template)
        self.check: Any = op.check_of(template)
        self.kernels: dict[tuple[Aval, ...], Kernel] = {}
        self.vjps: dict = {}
        self.nodes: dict = {}
        self.node_class: type | None = None         # The C extension reads this; see jtorch.dispatch.calls.
        self.tape_flags: int | None = None
        self.backward_name: str | None = None

    def __repr__(self):
        return f"<call {self.op.name}{self.template}>"


_calls: dict[tuple, Call] = {}


def call_of(op: Op, template: tuple, creates: object = None) -> Call:
    """Return the only call of ``op`` with ``template``. ``creates`` is the device of an op that makes tensors."""
    key = (op, template, creates)
    found = _calls.get(key)
    if found is None:
        if len(_calls) > 50_000:
            _calls.clear()
        found = _calls[key] = Call(op, template, creates)
    return found


def clear_calls() -> None:
    """Drop all kernels. Calls stay, since others hold them."""
    global _made
    _made = 0
    families.clear()
    for c in _calls.values():
        c.op._functions.clear()
    for c in _calls.values():       # The functions are created again, because JAX caches traces of the old ones.
        c.fn = c.op.function_of(c.template)
        c.check = c.op.check_of(c.template)
        c.kernels.clear()
        for vjp in c.vjps.values():
            vjp.kernels.clear()
        c.vjps.clear()


class Kernel:
    """One call for given input avals: its output avals, and its ways to run: on the host, or compiled by XLA."""

    __slots__ = ("_details", "_work", "avals", "call", "check", "compiled", "ends", "foreign", "is_tuple", "met", "on_host",
                 "outs", "runs", "turns", "used")

    def __init__(self, call: Call, avals: tuple):
        self.call, self.avals, self.runs = call, avals, 0
        self._work: cost.Work | None = None
        self.turns: float | None = UNKNOWN      # Runs on the host in each thread before XLA compiles it; None: never compile.
        self.compiled: Any = None
        self.met = 0            # Number of an accelerator's traces that have used this kernel.
        self.check: Any = None
        self._details: Any = None
        device = _device_of(call, avals)
        with jax.enable_x64(True):
            self.on_host = untraced.host_program(call.op, call.template, avals)
            if self.on_host is None:
                self.on_host = families.host_program(call.op.function_of, call.template, call.fn, avals, loops=call.op.loops)
            shapes, self.is_tuple = self._shapes()
            for s in shapes:
                check.storable(s.shape, s.dtype)
            if call.check is not None:
                self.check = _check_function(call, avals, device)
        self.used = self.on_host.used if self.on_host is not None else (True,) * len(avals)
        self.outs = tuple([aval_of(tuple(s.shape), np.dtype(s.dtype), device) for s in shapes])
        self.foreign = {k for k, a in enumerate(avals) if a.device is not device}      # 0-dim CPU tensors.
        if device.type != "cpu":
            self.on_host = None
        if device.type == "mesh":       # XLA chooses the results' shardings, so the kernel is compiled now.
            self._compile()
            self.outs = self._as_compiled()
        if device.type == "meta":       # Meta tensors have no data.
            self.compiled, self.check, self.foreign, self._work = self._nothing, None, set(), cost.NOTHING
        # True if the trace ends after this call, so that its error is raised at the call.
        self.ends = self.check is not None and device.type == "cpu" and call.op.body.__module__.startswith("jtorch.ops.linalg")

    def _shapes(self) -> tuple[list, bool]:
        if self.on_host is not None:
            return self.on_host.out_avals, self.on_host.is_tuple
        out = jax.eval_shape(self.call.fn, *[a.sds for a in self.avals])
        return flatten(out), isinstance(out, (tuple, list))

    def function(self) -> Callable:
        """Return the kernel's function for JAX.

        On the CPU, a kernel with a host program uses the trace of that program. On an accelerator the op's body is traced, and
        inner jits are inlined unless the body has a loop.
        """
        call = self.call
        if self.on_host is None and not self.is_accelerated:
            return call.fn
        return families.traced(call.op.function_of, call.template, call.fn, self.avals, loops=call.op.loops)

    def run(self, arrays: list, budget: policy.Budget, *, over: bool = False) -> list:
        """Return the outputs for input arrays of NumPy or JAX. A Python number is a 0-dim array.

        The thread's ``budget`` counts runs on the host. If ``over`` is true, the result may overwrite the first array.
        """
        self.runs += 1
        on_host = self.on_host
        if on_host is not None and (self.turns is None or self._is_cold(budget)):
            if over:
                stats.counters.overwritten += 1
            try:
                return on_host([a if a.__class__ is ndarray else asarray(a) for a in arrays], over=over)
            except MemoryError as error:
                raise out_of_memory.of_host(error)      # noqa: B904  (its __cause__ is set)
        if self.compiled is None:
            if on_host is not None and malloc.is_short():
                self.turns = None
                return self.run(arrays, budget, over=over)
            self._compile()
        return self._run_compiled(arrays)

    def _is_cold(self, budget: policy.Budget) -> bool:
        """Count this run, and return whether it is on the host."""
        if self.turns == UNKNOWN:
            stays = self.on_host is not None and self.on_host.over is not None      # XLA would copy, not write in place.
            self.turns = None if stays else policy.runs_on_host(self.work, len(self.on_host), sum([a.nbytes for a in self.avals]))       # type: ignore[arg-type]
        if self.turns is None:
            return True
        n = budget.runs.get(self, 0)
        if n <= self.turns and not (n == self.turns and budget.is_busy):
            budget.runs[self] = n = n + 1
        return n <= self.turns

    @property
    def work(self) -> cost.Work:
        """The estimated work of a run."""
        if self._work is None:
            self._work = self.on_host.work if self.on_host is not None else self._work_of(self._traced())
        return self._work

    def _work_of(self, traced) -> cost.Work:
        work = work_of(traced.jaxpr)
        return work._replace(host=work.compiled)

    def _as_compiled(self) -> tuple[Aval, ...]:
        """Return the avals of results on a mesh, with the shardings that XLA has chosen."""
        given = self.compiled.output_shardings
        return tuple([aval_of(a.shape, a.np, a.device, spec_of(s)) for a, s in zip(self.outs, given, strict=True)])

    def _wanted(self) -> dict[str, Any]:
        """Return the argument of ``jax.jit`` with the results' shardings on a mesh, if the op prescribes them."""
        if self.call.op.sharding_rule is None or not self.outs or self.outs[0].device.type != "mesh":
            return {}
        said = [self._place_like(w) if isinstance(w, int) else w for w in self.call.op.sharding_rule(self.call.template)]
        return {"out_shardings": [*said, *[None] * (len(self.outs) - len(said))]}

    def _place_like(self, argument: int) -> Any:
        return None if argument in self.foreign else self.avals[argument].placed.sharding

    def _traced(self):
        place = placed_on(self.outs[0].device) if self.outs and not any(self.used) else self._wanted()
        with traced_for(bool(self.outs) and self.outs[0].device.type == "mesh"):
            return for_xla(lambda: jax.jit(self._flat, **place).trace(*[a.placed for a in self._placed()]))

    def _run_compiled(self, arrays: list) -> list:
        if self.foreign:
            arrays = [put(np.asarray(a), self.outs[0].device) if k in self.foreign and a.__class__ is not np.ndarray else a
                      for k, a in enumerate(arrays)]
        is_first = self.runs == 1 and bool(self.outs) and self.outs[0].device.type == "mesh"
        try:
            with jax.enable_x64(True), wait.first_run() if is_first else wait.NOTHING:
                out = self.compiled(*arrays)
                if is_first:
                    jax.block_until_ready(out)
        except jax.errors.JaxRuntimeError as error:
            raise out_of_memory.told(error)     # noqa: B904  (its __cause__ is set)
        if self.on_cpu:
            wait.until_ready(out[0])        # A call on the CPU returns after its work is done, as in PyTorch.
        elif self.outs and is_mesh_of_cpus(self.outs[0].device):
            wait.for_all(out)
        return out

    @property
    def is_accelerated(self) -> bool:
        """Whether the kernel runs on an accelerator."""
        return bool(self.outs) and devices.is_accelerator(self.outs[0].device)

    @property
    def on_cpu(self) -> bool:
        """Whether the kernel runs on the CPU."""
        return bool(self.outs) and self.outs[0].device is CPU

    def _nothing(self, *arrays) -> list:
        return [zero_stride_array(a.shape, a.np) for a in self.outs]

    def _compile(self) -> None:
        start = perf_counter()
        lowered = self.lowered()
        self.become(for_xla(lambda: self.of_xla(lowered)), perf_counter() - start)

    def lowered(self) -> Any:
        """Return the lowered module, which XLA can compile."""
        _require_xla(self.call)
        traced = self._traced()
        if self._work is None and self.on_host is None:     # This saves a second JAX trace for the estimate.
            self._work = self._work_of(traced)
        return for_xla(lambda: lowered(traced, self._threads()) if self.on_cpu else traced.lower())

    def of_xla(self, lowered: Any) -> Any:
        """Compile the lowered module, or read the result of an earlier process from disk."""
        return cache.kernel(lowered, self._threads(), self.outs[0].device if self.outs else None)

    def _threads(self) -> Threads:
        return Threads(inline=True, pool=pool_for(self.work.host)) if self.on_cpu else ELSEWHERE

    def become(self, compiled: Any, seconds: float) -> None:
        """Store the compiled kernel, and count the seconds that compiling took."""
        self.compiled = compiled
        stats.kernel_compiled(self, seconds)

    def _flat(self, *arrays):
        out = self.function()(*arrays)
        return flatten(out) if self.is_tuple else [out]

    def _placed(self) -> tuple[Aval, ...]:
        device = self.outs[0].device if self.outs else None
        return tuple(a if a.device is device else aval_of(a.shape, a.np, device or a.device) for a in self.avals)

    def raise_if_bad(self, arrays: list) -> None:
        """Raise the error of wrong argument values, if there are any."""
        stays = self.is_accelerated
        given = [a if stays and k not in self.foreign else wait.gathered(a) for k, a in enumerate(arrays)]
        with jax.enable_x64(True):
            bad, *detail = self.check(given)
            if not np.asarray(bad):
                return
            if not detail:
                _, *detail = self._look_again(given)
        raise value_error(self.call, self.avals, int(detail[0]))

    def _look_again(self, arrays: list) -> Any:
        """Run the full check, and return whether the values are wrong, with the detail for the error."""
        if self._details is None:
            call = self.call
            on_host = families.host_program(call.op.check_of, call.template, call.check, self.avals, loops=call.op.loops)
            self._details = on_host if on_host is not None else _check_by_xla(call)
        return self._details(arrays)


def for_xla(make: Callable[[], Any]) -> Any:
    """Call ``make``, which traces or compiles for XLA. Warnings are ignored, because an op has warned when it was called.

    An interrupt at a bad moment leaves a half-made entry in one of JAX's caches, which later raises RecursionError. Then the
    caches are cleared, and ``make`` is called again. If an interrupt comes while JAX compares keys in C++, JAX raises
    ValueError instead. The interrupt is raised in its place.
    """
    try:
        return _for_xla(make)
    finally:
        cache.warn_of_failure()


def _for_xla(make: Callable[[], Any]) -> Any:
    with left_as_found(), products_as_chosen(), warned.ignored(), jax.enable_x64(True):
        try:
            return make()
        except RecursionError as error:
            if not str(error).startswith("Recursively calling"):
                raise
        except ValueError as error:
            if isinstance(error.__cause__, KeyboardInterrupt):
                raise error.__cause__ from None
            raise
        jax.clear_caches()
        return make()


def _check_function(call: Call, avals: tuple, device: devices.device) -> Callable[[list], Any]:
    """Return a function that checks argument values: a host program for the CPU, if there is one, else one compiled by XLA.

    The function returns whether values are wrong. One compiled by XLA also returns the detail for the error, because copying
    arguments from an accelerator to the host would take long.
    """
    on_host = None
    if not devices.is_accelerator(device):
        on_host = untraced.check_program(call.op, call.template, avals)
        if on_host is None:
            flag = call.op.flag_of(call.template)
            on_host = families.host_program(call.op.flag_of, call.template, flag, avals, loops=call.op.loops)
    return on_host if on_host is not None else _check_by_xla(call)


def _check_by_xla(call: Call) -> Callable[[list], Any]:
    compiled = jax.jit(call.check)

    def check(arrays: list) -> Any:
        _require_xla(call)
        return compiled(*arrays)
    return check


XLA_IS_GONE = False     # True in a process that was forked after XLA had started.


def _require_xla(call: Call) -> None:
    if XLA_IS_GONE:
        raise RuntimeError(f"Cannot run {call.op.name} in a forked process, since it takes XLA. To use jtorch with "
                           "multiprocessing, you must use the 'spawn' start method")


def value_error(call: Call, avals: tuple, detail: int) -> Exception:
    """Return the exception of the op's ``value_check`` for wrong values."""
    assert call.op.value_check is not None
    _, error = call.op.value_check
    made: list[Exception] = []

    def body(*args, **kw):
        made.append(error(detail, *args, **kw))
        return 0

    with jax.enable_x64(True):
        jax.eval_shape(call.op.bound(call.template, body), *[a.sds for a in avals])
    return made[0]


def flatten(out) -> list:
    """Return the arrays of a (nested) tuple or list, in order."""
    if isinstance(out, (tuple, list)):
        return [x for o in out for x in flatten(o)]
    return [out]


def _device_of(call: Call, avals: tuple):
    """Return the device of a call. Raise RuntimeError for tensors on several devices; 0-dim CPU tensors go with any device."""
    if call.creates is not None:
        return call.creates
    device = None
    for aval in avals:
        if device is None or (not _follows(aval) and _follows_only(device, avals)):
            device = aval.device
    for aval in avals:
        if aval.device is not device and not _follows(aval):
            raise with_note(RuntimeError("Expected all tensors to be on the same device, but found at least two devices, "
                                       f"{_named(avals[0].device)} and {_named(aval.device)}!"),
                          "Move one of them: b.to(a.device), or model.to(device) before the first step.")
    return CPU if device is None else device        # A call such as block_diag() may have no tensors.


def _follows(aval: Aval) -> bool:
    return aval.device.type == "cpu" and not aval.shape


def _follows_only(device, avals: tuple) -> bool:
    return all(_follows(a) for a in avals if a.device is device)


def _named(device) -> str:
    return "cpu" if device.type == "cpu" else f"{device.type}:{device.index or 0}"


def kernel_of(call: Call, avals: tuple) -> Kernel:
    """Return the kernel of ``call`` for these avals. A Python number has the aval of its host array."""
    found = call.kernels.get(avals)
    if found is None:
        found = call.kernels[avals] = _made_kernel(call, avals)
        global _made
        _made += 1
    return found


def _made_kernel(call: Call, avals: tuple) -> Kernel:
    try:
        return Kernel(call, avals)
    except MemoryError as error:        # A constant in the body may be too large.
        raise out_of_memory.of_host(error)      # noqa: B904  (its __cause__ is set)
    except Exception as error:
        raise without_jax_notes(error)      # noqa: B904  (the same error)


_made = 0       # Number of kernels made since all were dropped.


def are_too_many() -> bool:
    """Return whether so many kernels exist that all should be dropped. Kernels of shapes that never come back fill memory."""
    return _made > policy.MAX_KERNELS
