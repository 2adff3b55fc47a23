"""Rules of control flow. Bodies and branches are host programs themselves."""
from __future__ import annotations

from collections.abc import Callable

import numpy as np

from jtorch.engine import cost, policy
from jtorch.engine.host.program import build
from jtorch.engine.host.rules import Equation, require, rule


def _arrays(values) -> list[np.ndarray]:
    return [np.asarray(v) for v in values]


@rule("cond")
def _cond(e: Equation) -> Callable:
    branches = [build(b).run for b in e.params["branches"]]
    last, single = len(branches) - 1, len(e.outs) == 1

    def cond(index, *operands):
        outs = branches[min(max(int(index), 0), last)](operands)
        return outs[0] if single else outs
    return cond


@rule("while")
def _while(e: Equation) -> Callable:
    nc, nb = e.params["cond_nconsts"], e.params["body_nconsts"]
    test, body = build(e.params["cond_jaxpr"]).run, build(e.params["body_jaxpr"]).run
    single, mapped = len(e.outs) == 1, bool(e.params["cond_jaxpr"].out_avals[0].shape)
    goes_on = np.any if mapped else bool        # under vmap the condition has a flag for each sample

    def loop(*operands):
        test_consts, body_consts = operands[:nc], operands[nc:nc + nb]
        carry = list(operands[nc + nb:])
        while goes_on(going := test([*test_consts, *carry])[0]):
            after = body([*body_consts, *carry])
            carry = _where(going, after, carry) if mapped else after
        return carry[0] if single else carry
    return loop


def _where(chosen: np.ndarray, values: list, others: list) -> list:
    """Return ``values`` for the chosen samples, and ``others`` for the rest."""
    at = [chosen.reshape(chosen.shape + (1,) * (np.ndim(v) - chosen.ndim)) for v in values]
    return [np.where(c, v, o) for c, v, o in zip(at, values, others, strict=True)]


def _scan_counts(params: dict) -> tuple[int, int]:
    """Return the number of operands that are constants, and the number of carried operands."""
    if "ft_in" in params:       # JAX 0.11 and later
        consts, carry, _ = params["ft_in"].unpack()
        return len(consts), len(carry)
    return params["num_consts"], params["num_carry"]


@rule("scan")
def _scan(e: Equation) -> Callable:
    program, length = build(e.params["jaxpr"]), e.params["length"]
    require(length * len(program) * cost.HOST_STEP <= policy.LONG)
    body, (n_consts, n_carry) = program.run, _scan_counts(e.params)
    order = range(length - 1, -1, -1) if e.params["reverse"] else range(length)
    stacked, single = e.outs[n_carry:], len(e.outs) == 1

    def scan(*operands):
        consts, carry = operands[:n_consts], list(operands[n_consts:n_consts + n_carry])
        xs = operands[n_consts + n_carry:]
        ys = [np.empty(a.shape, a.dtype) for a in stacked]
        for t in order:
            outs = body([*consts, *carry, *[x[t] for x in xs]])
            carry = outs[:n_carry]
            for y, out in zip(ys, outs[n_carry:], strict=True):
                y[t] = out
        outs = carry + ys
        return outs[0] if single else outs
    return scan
