"""Recurrent networks. See https://docs.pytorch.org/docs/stable/nn.html#recurrent-layers.

A network is two ops. ``_recurrent`` runs the time loops and also returns the states and gates of each step.
``_recurrent_solved`` takes these as given and is differentiable. With all states known, the input of
each gate at each time is known at once. So the loop only needs a few elementwise products and one matrix
product per step, and the gradient of each weight is one matrix product. The vjp of the time loop would run it again
and would add the weights' gradients step by step.
"""
from __future__ import annotations

import functools
from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
from jax import lax

from jtorch.ops import arrival, check, promotion
from jtorch.ops.facts import Saves
from jtorch.ops.quantize import Integers, times_integers
from jtorch.ops.registry import Tensor, op

State = tuple[jax.Array, ...]       # (h,) or (h, c)


# ---------------------------------------------------------------- the cells

def _sigmoid(t: jax.Array) -> jax.Array:
    """Return the logistic function of x from ``t = tanh(x / 2)``. XLA vectorizes tanh in a loop, but not its logistic."""
    return t * 0.5 + 0.5


def _scales(like: jax.Array, gates: str) -> jax.Array:
    """Return the factors of the gates' sums before tanh: 1/2 for a sigmoid (``s``), 1 for a tanh (``t``)."""
    row = jnp.concatenate([jnp.full(like.shape[-1] // len(gates), 0.5 if g == "s" else 1, like.dtype) for g in gates])
    return jnp.broadcast_to(row, like.shape)


def _lstm_activate(sums: State, state: State) -> State:
    return (lax.optimization_barrier(jnp.tanh(sums[0] * _scales(sums[0], "ssts"))),)     # one pass, before the gates are split


def _lstm_combine(kept: State, state: State) -> State:
    i, f, g, o = jnp.split(kept[0], 4, axis=-1)
    c = _sigmoid(f) * state[1] + _sigmoid(i) * g
    return _sigmoid(o) * jnp.tanh(c), c


def _lstm_back(kept: State, d_kept: State) -> State:
    return (d_kept[0] * (_scales(kept[0], "ssts") * (1 - kept[0] * kept[0])),)


def _gru_activate(sums: State, state: State) -> State:
    from_input, from_state = sums
    two = from_state.shape[-1] // 3 * 2
    gates = lax.optimization_barrier(jnp.tanh((from_input[..., :two] + from_state[..., :two]) * 0.5))
    new = from_state[..., two:]
    return gates, jnp.tanh(from_input[..., two:] + _sigmoid(gates[..., :two // 2]) * new), new


def _gru_combine(kept: State, state: State) -> State:
    gates, n, _ = kept
    return (n + _sigmoid(gates[..., n.shape[-1]:]) * (state[0] - n),)


def _gru_back(kept: State, d_kept: State) -> State:
    gates, n, new = kept
    d_n = d_kept[1] * (1 - n * n)
    d_new, r = d_kept[2] + d_n * _sigmoid(gates[..., :n.shape[-1]]), d_n * new * 0.5
    d_gates = (d_kept[0] + jnp.concatenate([r, jnp.zeros_like(r)], axis=-1)) * ((1 - gates * gates) * 0.5)
    return jnp.concatenate([d_gates, d_n], axis=-1), jnp.concatenate([d_gates, d_new], axis=-1)


class Cell(NamedTuple):
    """A cell in two steps, so that the second can be differentiated from the results of the first.

    ``activate(sums, state)`` returns the values kept for each step, from the products of the weights with input and state:
    their sum, or both if the cell uses them ``apart``. ``combine(kept, state)`` returns the new state. ``back(kept, d_kept)``
    returns the gradient of the sums.
    """

    apart: bool
    kept: int
    activate: Callable[[State, State], State]
    combine: Callable[[State, State], State]
    back: Callable[[State, State], State]


def _simple(activate: Callable, back: Callable) -> Cell:
    return Cell(False, 1, lambda sums, state: (activate(sums[0]),), lambda kept, state: kept,
                lambda kept, d: (back(kept[0], d[0]),))


CELLS = {"lstm": Cell(False, 1, _lstm_activate, _lstm_combine, _lstm_back),
         "gru": Cell(True, 3, _gru_activate, _gru_combine, _gru_back),
         "rnn_tanh": _simple(jnp.tanh, lambda h, d: d * (1 - h * h)),
         "rnn_relu": _simple(jax.nn.relu, lambda h, d: jnp.where(h > 0, d, 0))}


class Weights(NamedTuple):
    """The parameters of one layer in one direction; ``hr`` projects the hidden state."""

    ih: jax.Array | Integers
    hh: jax.Array | Integers
    b_ih: jax.Array | None = None
    b_hh: jax.Array | None = None
    hr: jax.Array | None = None


class Path(NamedTuple):
    """A layer's states after each step and the values that the cell keeps for each step, with time first."""

    states: State
    kept: State


def _times(x: jax.Array, weight: jax.Array | Integers) -> jax.Array:
    """Return ``x @ weight.T``."""
    if isinstance(weight, Integers):
        return times_integers(x, weight)
    return lax.dot_general(x, weight, (((x.ndim - 1,), (1,)), ((), ())))


def _plus(x: jax.Array, bias: jax.Array | None) -> jax.Array:
    return x if bias is None else x + jnp.broadcast_to(bias, x.shape)


def _select(valid: jax.Array | None, new: Any, old: Any) -> Any:
    """Return ``new`` in the rows where ``valid``, else ``old``."""
    if valid is None:
        return new
    return jax.tree.map(lambda a, b: jnp.where(jnp.broadcast_to(valid[..., None], a.shape), a, b), new, old)


def _sums(cell: Cell, w: Weights, from_input: jax.Array, h: jax.Array) -> State:
    from_state = _times(h, w.hh)
    return (from_input, _plus(from_state, w.b_hh)) if cell.apart else (from_input + from_state,)


def _from_input(cell: Cell, w: Weights, x: jax.Array) -> jax.Array:
    """Return the part of the sums that does not depend on the state, for all times."""
    made = _plus(_times(x, w.ih), w.b_ih)
    return made if cell.apart else _plus(made, w.b_hh)


# ---------------------------------------------------------------- one layer in one direction

def _run(mode: str, reverse: bool, x: jax.Array, start: State, w: Weights, valid: jax.Array | None) -> Path:
    """Run a layer through time: map (time, batch, features) and the first state to its path."""
    cell = CELLS[mode]

    def step(state, inputs):
        from_input, now = inputs
        kept = cell.activate(_sums(cell, w, from_input, _counted(now, state[0], w.hh)), state)
        new = cell.combine(kept, state)
        if w.hr is not None:
            new = (_times(new[0], w.hr), *new[1:])
        new = _select(now, new, state)
        return new, Path(new, kept)

    return lax.scan(step, start, (_from_input(cell, w, _counted(valid, x, w.ih)), valid), reverse=reverse)[1]


def _counted(valid: jax.Array | None, x: jax.Array, weight: jax.Array | Integers) -> jax.Array:
    """Return ``x`` with 0 in rows of padding for a weight of integers, since the range of all rows decides the scale."""
    return _select(valid, x, jnp.zeros_like(x)) if isinstance(weight, Integers) else x


def _before(states: State, start: State, reverse: bool) -> State:
    """Return the state before each step."""
    if reverse:
        return tuple([jnp.concatenate([s[1:], s0[None]]) for s, s0 in zip(states, start, strict=True)])
    return tuple([jnp.concatenate([s0[None], s[:-1]]) for s, s0 in zip(states, start, strict=True)])


@functools.partial(jax.custom_vjp, nondiff_argnums=(0, 1))
def _solved(mode: str, reverse: bool, x: jax.Array, start: State, w: Weights, valid: jax.Array | None, path: Path) -> Path:
    """Return ``path``, the result of ``_run`` for the same arguments, as a differentiable function of them."""
    return path


def _solved_forward(mode, reverse, x, start, w, valid, path):
    path = _solved(mode, reverse, x, start, w, valid, path)     # differentiable, for second derivatives
    return path, (x, start, w, valid, path)


def _solved_backward(mode, reverse, saved, cotangents: Path):
    x, start, w, valid, path = saved
    before = _before(path.states, start, reverse)
    d_start, d_sums, d_projected = _back_through_time(mode, reverse, w, valid, path.kept, before, cotangents)
    d_w = _weight_gradients(CELLS[mode], x, w, path.kept, before, d_sums, d_projected)
    d_x = lax.dot_general(d_sums[0], w.ih, (((2,), (0,)), ((), ())))
    return d_x, d_start, d_w, None, jax.tree.map(jnp.zeros_like, path)


def _back_through_time(mode: str, reverse: bool, w: Weights, valid, kept: State, before: State, cotangents: Path):
    """Return the gradients of the first state, of the sums and of the projected states."""
    cell = CELLS[mode]
    pulls = jax.vmap(lambda k, s: jax.vjp(cell.combine, k, s)[1])(kept, before)      # computed for all times at once

    def step(d_state, inputs):
        pull, kept, d_out, now = inputs
        d_state = _add(d_state, d_out.states)
        d_new = _select(now, d_state, jax.tree.map(jnp.zeros_like, d_state))
        d_kept, d_before = pull(d_new if w.hr is None else (d_new[0] @ w.hr, *d_new[1:]))
        d_sums = lax.optimization_barrier(cell.back(kept, _add(d_kept, d_out.kept)))
        d_before = (d_before[0] + d_sums[-1] @ w.hh, *d_before[1:])
        if now is not None:
            d_before = _add(d_before, _select(now, jax.tree.map(jnp.zeros_like, d_state), d_state))
        return d_before, (d_sums, None if w.hr is None else d_new[0])

    first = jax.tree.map(lambda s: jnp.zeros_like(s[0]), cotangents.states)
    d_start, (d_sums, d_projected) = lax.scan(step, first, (pulls, kept, cotangents, valid), reverse=not reverse)
    return d_start, d_sums, d_projected


def _add(a: State, b: State) -> State:
    return tuple([x + y for x, y in zip(a, b, strict=True)])


def _outer(d: jax.Array, x: jax.Array) -> jax.Array:
    """Return the gradient of a weight: the sum of products over all times and rows."""
    return lax.dot_general(d, x, (((0, 1), (0, 1)), ((), ())))


def _weight_gradients(cell: Cell, x, w: Weights, kept: State, before: State, d_sums: State, d_projected) -> Weights:
    biases = [None if w.b_ih is None else jnp.sum(d_sums[k], axis=(0, 1)) for k in (0, -1)]
    d_hr = None if w.hr is None else _outer(d_projected, cell.combine(kept, before)[0])
    return Weights(_outer(d_sums[0], x), _outer(d_sums[-1], before[0]), biases[0], biases[1], d_hr)


_solved.defvjp(_solved_forward, _solved_backward)


# ---------------------------------------------------------------- all layers

class Network(NamedTuple):
    """The static description of a network."""

    mode: str
    has_biases: bool
    num_layers: int
    bidirectional: bool
    batch_first: bool
    dropout: float

    @property
    def directions(self) -> int:
        """The number of directions, 1 or 2."""
        return 2 if self.bidirectional else 1


def _weights(net: Network, params: list[jax.Array], hx: list[jax.Array]) -> list[Weights]:
    """Return the parameters by layer and direction."""
    projected = len(hx) == 2 and hx[0].shape[2] != hx[1].shape[2]
    size = 2 + 2 * net.has_biases + projected
    expected = size * net.num_layers * net.directions
    check.require(len(params) == expected, f"{net.mode}: expected {expected} parameters, got {len(params)}")
    made = []
    for k in range(0, expected, size):
        given = params[k:k + size]
        b_ih, b_hh = given[2:4] if net.has_biases else (None, None)
        made.append(Weights(given[0], given[1], b_ih, b_hh, given[-1] if projected else None))
    return made


def _quantized_weights(net: Network, params: list[jax.Array]) -> list[Weights]:
    """Return the parameters by layer and direction. Each matrix of integers is followed by its scales and zero points."""
    groups = [params[k:k + 8] for k in range(0, len(params), 8)]
    return [Weights(Integers(*g[:3]), Integers(*g[3:6]), g[6], g[7]) for g in groups]


def _network(net: Network, input, hx: list, weights: list[Weights], masks: list, valid, layer: Callable) -> list[jax.Array]:
    """Return the output, with time first, and the last states. ``layer(x, start, weights, reverse)`` returns a ``Path``."""
    x = jnp.swapaxes(input, 0, 1) if net.batch_first else input
    check.require(x.shape[0] > 0, "Expected sequence length to be larger than 0 in RNN")
    last = []
    for number in range(net.num_layers):
        made = []
        for direction in range(net.directions):
            k = number * net.directions + direction
            path = layer(x, tuple([h[k] for h in hx]), weights[k], bool(direction))
            made.append(path.states[0])
            last.append([s[0 if direction else -1] for s in path.states])
        x = made[0] if len(made) == 1 else jnp.concatenate(made, axis=-1)
        if masks and number < net.num_layers - 1:
            x = x * (promotion.cast(masks[number], x.dtype) * (1 / (1 - net.dropout) if net.dropout < 1 else 0.0))
    return [x, *[jnp.stack(s) for s in zip(*last, strict=True)]]


@op(name="_recurrent", function=False, method=False, out=False, tested=False, differentiable=False, loops=True)
def recurrent(input: Tensor, hx: list[Tensor], params: list[Tensor], masks: list[Tensor], valid: Tensor | None, mode: str,
              has_biases: bool, num_layers: int, bidirectional: bool, batch_first: bool, dropout: float):
    """Run a recurrent network. Return its output, its last states and the paths for ``_recurrent_solved``.

    ``masks``: dropout masks between the layers. ``valid``: the rows that are not padding at each time.
    """
    net, paths = Network(mode, has_biases, num_layers, bidirectional, batch_first, dropout), []

    def layer(x, start, w, reverse):
        paths.append(_run(mode, reverse, x, start, w, valid))
        return paths[-1]
    return [*_network(net, input, hx, _weights(net, params, hx), masks, valid, layer), *jax.tree.leaves(paths)]


@op(name="_recurrent_quantized", function=False, method=False, out=False, tested=False, differentiable=False, loops=True,
    not_derived=lambda template: "aten::quantized_lstm")
def recurrent_quantized(input: Tensor, hx: list[Tensor], params: list[Tensor], masks: list[Tensor], valid: Tensor | None,
                        mode: str, has_biases: bool, num_layers: int, bidirectional: bool, batch_first: bool, dropout: float):
    """Run a recurrent network with weights of int8, and return its output and last states.

    At each step the state is rounded to integers, and the input once for all steps.
    """
    net = Network(mode, has_biases, num_layers, bidirectional, batch_first, dropout)

    def layer(x, start, w, reverse):
        return _run(mode, reverse, x, start, w, valid)
    return _network(net, input, hx, _quantized_weights(net, params), masks, valid, layer)


def _name(template: tuple) -> str:
    return {"lstm": "Lstm", "gru": "Gru", "rnn_tanh": "RnnTanh", "rnn_relu": "RnnRelu"}[template[6]] + "Backward0"


def _arrival(template: tuple, avals: Sequence, edges: Sequence) -> arrival.Turns:
    """Return the order of gradients, layer by layer from the last. PyTorch's layer is one node (oneDNN's LSTM) or products."""
    net, numbers = Network(*template[6:]), arrival.numbers_of(template)
    params, groups = numbers[2], net.num_layers * net.directions
    size = len(params) // groups
    fused = net.mode == "lstm" and size == 2 + 2 * net.has_biases and template[4] is None and avals[params[0]].np == jnp.float32
    found = []
    for k in range(groups)[::-1]:
        group = params[k * size:(k + 1) * size]
        found += _fused_order(group, k > 0 or edges[0] is not None) if fused else _order_of_products(group, net.has_biases)
    return arrival.in_order(found)


def _fused_order(group: list[int], is_followed: bool) -> list[int]:
    """Return the order of the parameters of one node. PyTorch's binary heap changes it if another node is waiting."""
    return group if len(group) == 2 else [group[k] for k in ((0, 1, 3, 2) if is_followed else (0, 2, 1, 3))]


def _order_of_products(group: list[int], has_biases: bool) -> list[int]:
    return [*group[2 + 2 * has_biases:], *([group[k] for k in (3, 1, 2, 0)] if has_biases else group[1::-1])]


@op(name="_recurrent_solved", function=False, method=False, out=False, tested=False, saves="all", backward_name=_name, loops=True,
    arrival=_arrival)
def recurrent_solved(input: Tensor, hx: list[Tensor], params: list[Tensor], masks: list[Tensor], valid: Tensor | None,
                     leaves: list[Tensor], mode: str, has_biases: bool, num_layers: int, bidirectional: bool,
                     batch_first: bool, dropout: float):
    """Return the output and the last states of a network with known paths (``leaves``), differentiably."""
    net, left = Network(mode, has_biases, num_layers, bidirectional, batch_first, dropout), iter(leaves)
    one = jax.tree.structure(((0,) * len(hx), (0,) * CELLS[mode].kept))

    def layer(x, start, w, reverse):
        path = Path(*jax.tree.unflatten(one, [next(left) for _ in range(one.num_leaves)]))
        return _solved(mode, reverse, x, start, w, valid, path)
    return _network(net, input, hx, _weights(net, params, hx), masks, valid, layer)


# ---------------------------------------------------------------- recurrent cells

def _check_cell(input: jax.Array, h: jax.Array, w_ih: jax.Array, w_hh: jax.Array) -> None:
    size = w_hh.shape[1]
    check.require(input.shape[-1] == w_ih.shape[1], f"input has inconsistent input_size: got {input.shape[-1]} expected "
                  f"{w_ih.shape[1]}")
    check.require(input.shape[0] == h.shape[0], f"Input batch size {input.shape[0]} doesn't match hidden0 batch size "
                  f"{h.shape[0]}")
    check.require(h.shape[1] == size, f"hidden0 has inconsistent hidden_size: got {h.shape[1]}, expected {size}")
    if input.dtype != w_ih.dtype:
        raise RuntimeError(f"mat1 and mat2 must have the same dtype, but got {check.scalar_name(input.dtype)} and "
                           f"{check.scalar_name(w_ih.dtype)}")


def _step(mode: str, input, state: State, w_ih, w_hh, b_ih, b_hh) -> State:
    cell = CELLS[mode]
    _check_cell(input, state[0], w_ih, w_hh)
    if (b_ih is None) != (b_hh is None):
        b_ih, b_hh = (jnp.zeros(w_ih.shape[0], input.dtype) if b is None else b for b in (b_ih, b_hh))
    w = Weights(w_ih, w_hh, b_ih, b_hh)
    return cell.combine(cell.activate(_sums(cell, w, _from_input(cell, w, input), state[0]), state), state)


def _factors(*pairs: tuple[int, int]) -> list[tuple[int, int]]:
    return [*pairs, *[(b, a) for a, b in pairs]]


def _lstm_checks(template: tuple, edges: tuple) -> tuple[int, ...]:
    """Return what PyTorch saves of a step: each factor whose partner needs a gradient, and the cell state if a gate does."""
    needs = [e is not None for e in edges]
    cell = (2,) * any(needs[:2] + needs[3:])
    return tuple([a for a, b in _factors((0, 3), (1, 4)) if needs[b]]) + cell


def _cell_checks(template: tuple, edges: tuple) -> tuple[int, ...]:
    """Return what PyTorch saves of a step of a cell without cell state."""
    return tuple([a for a, b in _factors((0, 2), (1, 3)) if edges[b] is not None])


@op(method=False, out=False, saves=Saves(checks=_lstm_checks), arrival=arrival.params(4, 2, 5, 3))
def lstm_cell(input: Tensor, hx: list[Tensor], w_ih: Tensor, w_hh: Tensor, b_ih: Tensor | None = None,
              b_hh: Tensor | None = None):
    """Return the next hidden and cell state of an LSTM. See torch.nn.LSTMCell."""
    check.require(len(hx) == 2, "lstm_cell expects two hidden states")
    return _step("lstm", input, (hx[0], hx[1]), w_ih, w_hh, b_ih, b_hh)


@op(method=False, out=False, saves=Saves(checks=_cell_checks), arrival=arrival.params(5, 3, 4, 2))
def gru_cell(input: Tensor, hx: Tensor, w_ih: Tensor, w_hh: Tensor, b_ih: Tensor | None = None, b_hh: Tensor | None = None):
    """Return the next state of a GRU. See torch.nn.GRUCell."""
    return _step("gru", input, (hx,), w_ih, w_hh, b_ih, b_hh)[0]


@op(method=False, out=False, backward_name="TanhBackward0", arrival=arrival.params(4, 2, 5, 3))
def rnn_tanh_cell(input: Tensor, hx: Tensor, w_ih: Tensor, w_hh: Tensor, b_ih: Tensor | None = None,
                  b_hh: Tensor | None = None):
    """Return the next state of a simple recurrent cell with tanh. See torch.nn.RNNCell."""
    return _step("rnn_tanh", input, (hx,), w_ih, w_hh, b_ih, b_hh)[0]


@op(method=False, out=False, backward_name="ReluBackward0", arrival=arrival.params(4, 2, 5, 3))
def rnn_relu_cell(input: Tensor, hx: Tensor, w_ih: Tensor, w_hh: Tensor, b_ih: Tensor | None = None,
                  b_hh: Tensor | None = None):
    """Return the next state of a simple recurrent cell with relu. See torch.nn.RNNCell."""
    return _step("rnn_relu", input, (hx,), w_ih, w_hh, b_ih, b_hh)[0]
