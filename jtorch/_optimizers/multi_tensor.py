"""The base of most optimizers: state, and one call for all parameters with the same kinds of state."""
from __future__ import annotations

import functools
from collections.abc import Iterable
from itertools import chain, pairwise
from math import inf
from typing import Any

from jtorch import engine
from jtorch._api import functions
from jtorch._base import late_bindings
from jtorch._optimizers.arguments import scalars, tensor_marks, with_dense_gradients
from jtorch._optimizers.differentiable import operand, step, step_by_copies, write_scalars
from jtorch._optimizers.groups import check_tensor
from jtorch._optimizers.optimizer import Optimizer
from jtorch.engine import call_of, constant, cost, policy, repeated_regions
from jtorch.no_grad import no_grad
from jtorch.ops.registry import OPS, T, freeze
from jtorch.storage import values_of, write_all
from jtorch.tensor import Tensor, wrap


def check_lr(lr: Any) -> None:
    """Raise ValueError for a learning rate that is negative or has several elements."""
    check_tensor(lr, "lr")
    if not lr >= 0.0:
        raise ValueError(f"Invalid learning rate: {lr}")


def check(**options: Any) -> None:
    """Raise ValueError for a negative option. Each option's keyword is its label in the message."""
    for label, value in options.items():
        if not value >= 0.0:
            raise ValueError(f"Invalid {label} value: {value}")


def check_betas(betas: tuple[float, float]) -> None:
    """Raise ValueError for a beta outside [0, 1)."""
    for i, beta in enumerate(betas):
        if not 0.0 <= beta < 1.0:
            raise ValueError(f"Invalid beta parameter at index {i}: {beta}")


class MultiTensorOptimizer(Optimizer):
    """An optimizer whose step is the op ``rule``. ``shared`` names the states that are scalars."""

    rule = ""
    shared: tuple[str, ...] = ("step",)
    supports_complex = True
    uniform = True      # True if all parameters of a group have the same kinds of state.

    def _start(self, p: Tensor, group: dict[str, Any]) -> dict[str, Any]:
        """Return the first state of a parameter."""
        raise NotImplementedError

    def _columns(self, group: dict[str, Any], state: dict[str, Any]) -> tuple[str, ...]:
        """Return the names of the states that the rule takes and that have the parameter's shape."""
        raise NotImplementedError

    def _begun(self, group: dict[str, Any]) -> str | None:
        """Return the name of a state that the rule creates on a parameter's first step, or None."""
        return None

    def _numbers(self, group: dict[str, Any]) -> dict[str, Any]:
        """Return the options that are runtime scalars; an option that is off is None."""
        raise NotImplementedError

    def _options(self, group: dict[str, Any]) -> dict[str, Any]:
        """Return the options that are compiled into the program."""
        return {"maximize": bool(group["maximize"])}

    def _update(self, group: dict[str, Any]) -> None:
        params = with_dense_gradients(self, group)
        if late_bindings.aten is not None and late_bindings.aten.has_taker(params):
            self._update_taken_over(group, params)
            return
        for together in _by_device(params) if self._on_several else (params,):
            for names, some, states in self._by_columns(group, together):
                stretches = _stretches(some)
                for start, end in stretches:
                    self._update_some(group, names, some[start:end], states[start:end], of_several=len(stretches) > 1)

    def _by_columns(self, group: dict[str, Any], params: list[Tensor]) -> list[tuple[tuple[str, ...], list[Tensor], list[dict]]]:
        """Group parameters and states by the kinds of state that they have; parameters without a state get one."""
        if not params:
            return []
        if not self.supports_complex and any([p.dtype.is_complex for p in params]):
            raise RuntimeError(f"{type(self).__name__} does not support complex parameters")
        known = self.state
        states = [known[p] or self._started(p, group) for p in params]
        names = self._columns(group, states[0])
        if self.uniform or all([self._columns(group, s) == names for s in states]):
            return [(names, params, states)]
        by_columns: dict[tuple[str, ...], tuple[list, list]] = {}
        for p, state in zip(params, states, strict=True):
            those = by_columns.setdefault(self._columns(group, state), ([], []))
            those[0].append(p)
            those[1].append(state)
        return [(names, *those) for names, those in by_columns.items()]

    def _started(self, p: Tensor, group: dict[str, Any]) -> dict[str, Any]:
        state = self.state[p]
        state.update(self._start(p, group))
        if late_bindings.aten is not None and late_bindings.aten.has_taker([p]):
            with no_grad():
                like_it = {name: s for name, s in state.items() if isinstance(s, Tensor) and s.dim()}
                state.update({name: functions.zeros_like(p).copy_(s) for name, s in like_it.items()})
        return state

    def _call(self, group: dict[str, Any], on: Iterable[str], marks: tuple, sizes: tuple, places: tuple[int, ...]) -> engine.Call:
        """Return the call for one step.

        Args:
            group: the options.
            on: the names of options that are passed as arguments.
            marks: the markers of these arguments.
            sizes: the numbers of parameters, states and scalars.
            places: each parameter's row of scalars.

        """
        options = tuple(self._options(group).items())
        return _call(self.rule, sizes, tuple(on), marks, options, places, max(1, len(self.shared)))

    def _on(self, group: dict[str, Any]) -> dict[str, Any]:
        return {name: x for name, x in self._numbers(group).items() if x is not None}

    def _update_some(self, group: dict[str, Any], names: tuple[str, ...], params: list[Tensor], states: list[dict], *,
                     of_several: bool) -> None:
        n, width, columns = len(params), len(self.shared), [s[name] for name in names for s in states]
        counters = [s[name] for name in self.shared for s in states]
        values = values_of(counters)
        rows, places = _distinct(list(zip(*[values[at:at + n] for at in range(0, len(values), n)], strict=True)))
        on = self._on(group)
        options, marks = scalars(tuple(on.values()))
        if of_several and params[0]._storage.aval.device is engine.CPU:
            options, marks = _shared(options), (T,) * len(marks)
        call = self._call(group, on, marks, (n, len(columns), len(rows) * width), places)
        arguments = values_of([*params, *[p._grad for p in params], *columns])          # type: ignore[list-item]
        outs = engine.record(call, [*arguments, *chain.from_iterable(rows), *options])
        at = len(outs) - len(rows) * width
        new = outs[at:] * n if len(rows) == 1 == width else [outs[at + i * width + k] for k in range(width) for i in places]
        write_all([*params, *columns, *counters], [*outs[:n + len(columns)], *new])
        for s, v in zip(states, outs[n + len(columns):at], strict=False):
            s[self._begun(group)] = wrap(v)

    def _update_differentiable(self, group: dict[str, Any], params: list[Tensor]) -> None:
        for names, some, states in self._by_columns(group, params):
            n, columns = len(some), [s[name] for name in names for s in states]
            counters = [s[name] for s in states for name in self.shared]
            on, places = self._on(group), tuple(range(n)) if counters else ()
            options, marks = zip(*map(operand, on.values()), strict=True)
            call = self._call(group, on, marks, (n, len(columns), len(counters)), places)
            left = step(call, [*some, *[p.grad for p in some], *columns, *counters, *options], [*some, *columns])
            at = len(left) - len(counters)
            for s, tensor in zip(states, left[:at], strict=False):
                s[self._begun(group)] = tensor
            write_scalars(self.shared * n, counters, left[at:], options)

    def _update_taken_over(self, group: dict[str, Any], params: list[Tensor]) -> None:
        """Update parameters one by one if their class overrides operators, so that the class receives the calls."""
        for names, some, states in self._by_columns(group, params):
            for p, state in zip(some, states or [{}] * len(some), strict=True):
                targets, counters = [p, *[state[name] for name in names]], [state[name] for name in self.shared]
                on = self._on(group)
                options, marks = zip(*map(operand, on.values()), strict=True) if on else ((), ())
                c = self._call(group, on, marks, (1, len(names), len(counters)), (0,) if counters else ())
                made = step_by_copies(c, [p, p.grad, *targets[1:], *counters, *options], targets, counters)
                for new in made:
                    state[self._begun(group)] = new


def _by_device(params: list[Tensor]) -> Iterable[list[Tensor]]:
    made: dict[Any, list[Tensor]] = {}
    for p in params:
        made.setdefault(p._storage.aval.device, []).append(p)
    return made.values()


def _shared(options: Iterable[Any]) -> list[engine.Value]:
    """Replace numbers by values that several calls share, so that the calls compile to the same code."""
    return [constant(x) if x.__class__ is float else x for x in options]


def _stretches(params: list[Tensor]) -> tuple[tuple[int, int], ...]:
    """Return the ranges of parameters that form one call each.

    Equal layers of a deep net form equal calls, which compile once. Large calls on the CPU are split.
    """
    return _stretches_of(tuple([p._storage.aval for p in params]), policy.MUCH)


@functools.lru_cache(256)
def _stretches_of(avals: tuple, together: int) -> tuple[tuple[int, int], ...]:
    equal = repeated_regions.cuts(avals, [cost.COMPILING_UPDATE] * len(avals)) if len(avals) >= policy.DOZENS else ()
    alike, most = pairwise(sorted({0, *equal, len(avals)})), together if avals[0].device is engine.CPU else inf
    return tuple([(start + a, start + b) for start, end in alike for a, b in _of_at_most(most, avals[start:end])])


def _of_at_most(most: float, avals: tuple) -> Iterable[tuple[int, int]]:
    """Split into ranges of at most ``most`` bytes; a larger parameter is a range alone."""
    ends, size = [0], 0
    for at, aval in enumerate(avals):
        if size and size + aval.nbytes > most:
            ends.append(at)
            size = 0
        size += aval.nbytes
    return pairwise([*ends, len(avals)])


def _distinct(rows: list[tuple]) -> tuple[list[tuple], tuple[int, ...]]:
    """Return the distinct rows, and each row's index among them."""
    if not rows:
        return [], ()
    if rows.count(rows[0]) == len(rows):
        return rows[:1], (0,) * len(rows)
    places = {row: i for i, row in enumerate(dict.fromkeys(rows))}
    return list(places), tuple([places[row] for row in rows])


@functools.lru_cache(256)
def _call(rule: str, sizes: tuple[int, int, int], on: tuple[str, ...], marks: tuple, options: tuple, places: tuple[int, ...],
          width: int) -> engine.Call:
    params, columns, counters = map(tensor_marks, sizes)
    return call_of(OPS[rule], (params, params, columns, counters, marks, on, freeze(options), places, width))


def or_none(x: Any) -> Any:
    """Return an option, or None if it is 0, which leaves it out of the program."""
    return x if isinstance(x, Tensor) or x != 0 else None
