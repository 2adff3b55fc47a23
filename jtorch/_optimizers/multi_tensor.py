"""What the further optimizers share: state, and one record for all parameters that have the same kinds of state."""
from __future__ import annotations

from collections.abc import Iterable
from itertools import chain
from typing import Any

from jtorch import engine
from jtorch._optimizers.arguments import number, with_gradients
from jtorch._optimizers.differentiable import operand, step, write_scalars
from jtorch._optimizers.groups import check_tensor
from jtorch._optimizers.optimizer import Optimizer
from jtorch.engine import call_of
from jtorch.ops.registry import OPS, T, freeze
from jtorch.storage import value_of, write_all
from jtorch.tensor import Tensor


def check_lr(lr: Any) -> None:
    """ValueError for a learning rate that is negative or not one number."""
    check_tensor(lr, "lr")
    if not lr >= 0.0:
        raise ValueError(f"Invalid learning rate: {lr}")


def check(**options: Any) -> None:
    """ValueError for an option (its label with underscores for spaces) that is negative."""
    for label, value in options.items():
        if not value >= 0.0:
            raise ValueError(f"Invalid {label} value: {value}")


def check_betas(betas: tuple[float, float]) -> None:
    """ValueError for a beta outside [0, 1)."""
    for i, beta in enumerate(betas):
        if not 0.0 <= beta < 1.0:
            raise ValueError(f"Invalid beta parameter at index {i}: {beta}")


class MultiTensorOptimizer(Optimizer):
    """An optimizer whose step is the op ``rule``. ``shared`` names the states that are scalars."""

    rule = ""
    shared: tuple[str, ...] = ("step",)
    supports_complex = True

    def _start(self, p: Tensor, group: dict[str, Any]) -> dict[str, Any]:
        """The first state of a parameter."""
        raise NotImplementedError

    def _columns(self, group: dict[str, Any], state: dict[str, Any]) -> tuple[str, ...]:
        """The names of the states of a parameter's shape that the rule takes."""
        raise NotImplementedError

    def _numbers(self, group: dict[str, Any]) -> dict[str, Any]:
        """The options that are runtime scalars; None for one that is off."""
        raise NotImplementedError

    def _options(self, group: dict[str, Any]) -> dict[str, Any]:
        """The options that are part of the program."""
        return {"maximize": bool(group["maximize"])}

    def _update(self, group: dict[str, Any]) -> None:
        for names, params in self._by_columns(group, with_gradients(group)).items():
            self._update_some(group, params, names)

    def _by_columns(self, group: dict[str, Any], params: list[Tensor]) -> dict[tuple[str, ...], list[Tensor]]:
        """The parameters by the kinds of state that they have, which is made for those that have none."""
        by_columns: dict[tuple[str, ...], list[Tensor]] = {}
        for p in params:
            if not self.supports_complex and p.dtype.is_complex:
                raise RuntimeError(f"{type(self).__name__} does not support complex parameters")
            state = self.state[p]
            if not state:
                state.update(self._start(p, group))
            by_columns.setdefault(self._columns(group, state), []).append(p)
        return by_columns

    def _update_differentiable(self, group: dict[str, Any], params: list[Tensor]) -> None:
        for names, some in self._by_columns(group, params).items():
            states = [self.state[p] for p in some]
            columns = [s[name] for name in names for s in states]
            scalars = [s[name] for s in states for name in self.shared]
            given = {k: (None, None) if v is None else operand(v) for k, v in self._numbers(group).items()}
            options = [a for a, mark in given.values() if mark is not None]
            template = self._template(group, len(some), len(columns), len(scalars), given, range(len(some)))
            flat = [*some, *[p.grad for p in some], *columns, *scalars, *options]
            new = step(call_of(OPS[self.rule], template), flat, [*some, *columns])
            write_scalars(self.shared * len(some), scalars, new, options)

    def _template(self, group: dict[str, Any], n: int, columns: int, scalars: int, given: dict, of: Iterable[int]) -> tuple:
        return ((T,) * n, (T,) * n, (T,) * columns, (T,) * scalars, tuple([mark for _, mark in given.values()]), tuple(given),
                freeze(list(self._options(group).items())), tuple(of) if self.shared else (), max(1, len(self.shared)))

    def _update_some(self, group: dict[str, Any], params: list[Tensor], names: tuple[str, ...]) -> None:
        states = [self.state[p] for p in params]
        columns = [s[name] for name in names for s in states]
        rows = [tuple([value_of(s[name]) for name in self.shared]) for s in states] if self.shared else []
        distinct = list(dict.fromkeys(rows))
        place = {row: i for i, row in enumerate(distinct)}
        args: list = [value_of(t) for t in params]
        args += [value_of(p._grad) for p in params]         # type: ignore[arg-type]
        args += [value_of(t) for t in columns]
        args += chain.from_iterable(distinct)
        numbers = self._numbers(group)
        given = {k: (None, None) if v is None else number(v) for k, v in numbers.items()}
        args += [a for a, mark in given.values() if mark is not None]
        template = self._template(group, len(params), len(columns), len(distinct) * len(self.shared), given,
                                  [place[row] for row in rows])
        outs = engine.record(call_of(OPS[self.rule], template), args)
        n = len(params) + len(columns)
        write_all([*params, *columns], outs[:n])
        self._write_shared(states, rows, place, outs[n:])

    def _write_shared(self, states: list, rows: list, place: dict, new: list) -> None:
        width = len(self.shared)
        for s, row in zip(states, rows, strict=False):
            at = place[row] * width
            write_all([s[name] for name in self.shared], new[at:at + width])


def or_none(x: Any) -> Any:
    """An option, or None where it is 0 and so left out of the program."""
    return x if isinstance(x, Tensor) or x != 0 else None
