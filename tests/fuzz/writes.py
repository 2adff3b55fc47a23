"""Random statements that write to a tensor, or change its geometry or its memory."""
from __future__ import annotations

from typing import Any

import numpy as np
from chooser import SHAPES, Chooser, broadcastable, broadcasts, index, strided, whole, windows


def write(c: Chooser) -> list[str]:
    """Return a statement that writes to a tensor."""
    return [c.rng.choice([inplace, inplace, inplace, inplace, setitem, setitem, setitem, geometry, out, augmented])(c)]


def inplace(c: Chooser) -> str:
    """Return a method with a final underscore."""
    name = c.tensor(lambda t: _writable(t) and not windows(t))
    t = c.of(name)
    if windows(t):
        return f"{name}.sum()"
    r, d = c.rng, c.dim(t)
    n = t.shape[d] if t.dim() and -t.dim() <= d < t.dim() else 1
    value = c.of_shape(t.shape, t.dtype)
    picks = sorted({r.randrange(max(n, 1)) for _ in range(2)})
    r.randrange(max(n, 1))
    rows = c.of_shape(tuple(len(picks) if k == (d % t.dim()) else m for k, m in enumerate(t.shape)), t.dtype) if t.dim() and -t.dim() <= d < t.dim() else value
    any_ = _read(c, c.tensor(lambda o: broadcastable(o.shape, t.shape)), t)
    value, rows = _read(c, value, t), _read(c, rows, t)
    choices = [
        f"{name}.add_({value})", f"{name}.mul_({value})", f"{name}.sub_({value})", f"{name}.add_({c.number()})", f"{name}.mul_({c.number()})",
        f"{name}.div_({c.number()})", f"{name}.zero_()", f"{name}.fill_({c.number()})", f"{name}.copy_({value})", f"{name}.copy_({any_})", f"{name}.copy_({any_})",
        f"{name}.{r.choice(['sin', 'exp', 'tanh', 'neg', 'abs', 'sigmoid', 'relu', 'square', 'sqrt', 'floor', 'reciprocal', 'cos', 'sign', 'expm1'])}_()",
        f"{name}.clamp_(-1, 2)" if not t.is_complex() else f"{name}.neg_()", f"{name}.clamp_min_(0.5)" if not t.is_complex() else f"{name}.neg_()", f"{name}.masked_fill_({name} > 1, {c.number()})", f"{name}.add_({any_})", f"{name}.mul_({any_})",
        f"{name}.index_fill_({d}, xp.tensor({picks}), {c.number()})" if n else f"{name}.neg_()", f"{name}.index_add_({d}, xp.tensor({picks}), {rows})",
        f"{name}.index_copy_({d}, xp.tensor({picks}), {rows})", f"{name}.scatter_({d}, xp.zeros_like({name}, dtype=xp.int64), {c.number()})",
        f"{name}.index_put_((xp.tensor([0]),), xp.tensor({c.number()}, dtype={name}.dtype))", f"{name}.fill_diagonal_(2)", f"{name}.cumsum_({d})" if t.dtype != c.bool_ else f"{name}.zero_()",
        f"{name}.index_put_((xp.tensor([0, 0]),), xp.tensor(1, dtype={name}.dtype), accumulate=True)", f"{name}.tril_()", f"{name}.triu_(1)",
        f"{name}.addcmul_({value}, {value})", f"{name}.lerp_({value}, 0.5)", f"{name}.masked_scatter_({name} > 1, {c.fresh(tuple(t.shape), t.dtype)})", f"{name}.pow_(2)",
        f"{name}.scatter_add_({d}, xp.zeros_like({name}, dtype=xp.int64), {name}.clone())", f"{name}.remainder_(2)" if whole(t) else f"{name}.mul_(0.5)", f"{name}.addcdiv_({value}, {value})",
        f"{name}.eq_({any_}.detach())", f"{name}.gt_(1)", f"{name}.logical_not_()", f"{name}.put_(xp.tensor([0]), xp.tensor([1], dtype={name}.dtype))", f"{name}.add_({value}, alpha=2)",
        f"{name}.fill_(xp.tensor(2, dtype={name}.dtype))", f"{name}.mul_({name})", f"{name}.add_({name})", f"{name}.true_divide_(2)", f"{name}.renorm_(2, 0, 1)" if t.dtype.is_floating_point else f"{name}.zero_()",
        f"xp.nn.functional.relu({name}, inplace=True)", f"xp.relu_({name})", f"xp.fill_({name}, 3)", f"{name}.copy_({name})", f"{name}.clip_(0, 1)" if not t.is_complex() else f"{name}.neg_()", f"{name}.nan_to_num_()" if t.is_floating_point() else f"{name}.zero_()",
        f"{name}.{r.choice(['transpose', 'swapdims'])}({d}, {c.dim(t)}).add_(1)", f"{name}.view(-1).mul_(2)", f"{name}.detach().add_(1)", f"{name}.data.mul_(2)",
        f"{name}[{index(c, t.shape)}].add_(1)", f"{name}[{index(c, t.shape)}].zero_()", f"{name}.diagonal().fill_(5)", f"{name}.unbind()[0].add_(1)",
        f"{name}.bitwise_not_()", f"{name}.atan2_({value})", f"{name}.sign_()", f"{name}.floor_divide_(2)" if whole(t) else f"{name}.add_(2)", f"{name}.uniform_(2, 2)" if t.dtype.is_floating_point else f"{name}.zero_()", f"{name}.erf_()", f"{name}.sub_({any_})",
    ]
    return r.choice(choices)


def setitem(c: Chooser) -> str:
    """Return an assignment to an index."""
    name = c.tensor(_writable)
    t = c.of(name)
    r = c.rng
    n = t.shape[0] if t.dim() else 1
    picks = [r.randrange(-max(n, 1), max(n, 1)) for _ in range(r.randint(1, 3))]
    last, second = ([r.randrange(max(t.shape[d], 1)) for _ in range(2)] if t.dim() > d >= 0 else [0] for d in (t.dim() - 1, 1))
    i = r.choice([index(c, t.shape), index(c, t.shape), index(c, t.shape), f"xp.tensor({picks})", f"{picks}", f"{name} > 1", f"..., {last}", f":, {second}",
                  f"xp.tensor({picks}), {index(c, t.shape[1:])}", f"None, {index(c, t.shape)}", f"({name} > 1).nonzero(as_tuple=True)", "True", "...",
                  f"xp.tensor({[[k] for k in picks]}), xp.tensor({second})", f"xp.arange({n}) > 0", f"xp.arange({n}) > 0, ...", f"np.array({picks})", "()"])
    same = c.tensor(lambda o: o.dtype == t.dtype)
    value = r.choice([c.number(), c.number(), f"xp.tensor({c.number()}, dtype={name}.dtype)", c.tensor(lambda o: broadcasts(o.shape, t.shape)), same,
                      f"{name}[{i}] * 2", f"{name}[{i}].detach()", c.of_shape(t.shape[1:], t.dtype), f"{same}.sum().to({name}.dtype)"])
    placed = any(mark in i for mark in ("tensor", "arange", "nonzero", "array", ">", "True", "["))
    part = t if placed else _part(t, i)
    if windows(t) or _is_expanded(t) if placed else part is not None and windows(part):
        value = c.number()      # Several values for one element: the last one written would remain.
    if value in c.pool:
        o = c.of(value)
        value += ".detach()" if o.dtype != t.dtype else ""      # PyTorch would give integers a history.
        if placed or not _in_any_order(o, t, i):
            value += ".clone()"         # The value shares memory that is written, so the order of the writes would count.
    return f"{name}[{i}] = {value}"


def _in_any_order(o: Any, t: Any, source: str) -> bool:
    """Return whether a write of ``o`` at a basic index of ``t`` never reads written elements, or PyTorch detects that
    it would.
    """
    part = _part(t, source)
    if part is None or not _meet(o, t):
        return True
    if o.dtype != t.dtype or o.numel() != part.numel():
        return False
    same = o.data_ptr() == part.data_ptr() and o.shape == part.shape and o.stride() == part.stride()
    return same or (o.is_contiguous() and part.is_contiguous() and _one_storage(o, t))


def _read(c: Chooser, value: str, t: Any) -> str:
    """Return the source of a value that may be read while ``t`` is written, with a result independent of the order."""
    o = c.pool.get(value)
    if o is None or _apart(o, t) or (o.is_contiguous() and t.is_contiguous() and (_one_storage(o, t) or o.shape == t.shape)):
        return value
    return f"{value}.clone()"


def _one_storage(o: Any, t: Any) -> bool:
    """Return whether two tensors have one storage. PyTorch detects only then that they share memory, not through NumPy."""
    return o.untyped_storage()._cdata == t.untyped_storage()._cdata


def _writable(t: Any) -> bool:
    """Return False for an expanded tensor with a history: its backward fails in PyTorch after an allowed write."""
    return not (t.requires_grad and _is_expanded(t))


def _is_expanded(t: Any) -> bool:
    return any(n > 1 and s == 0 for n, s in zip(t.shape, t.stride(), strict=True))


def augmented(c: Chooser) -> str:
    """Return ``t += …``, also on an index."""
    name = c.tensor(lambda t: not windows(t))
    t = c.of(name)
    if windows(t):
        return f"{name}.sum()"
    sign = c.rng.choice(["+", "-", "*", "/", "+", "*"])
    value = c.rng.choice([c.number(), _read(c, c.of_shape(t.shape, t.dtype), t), _read(c, c.tensor(), t)])
    return c.rng.choice([f"{name} {sign}= {value}", f"{name}[{index(c, t.shape)}] {sign}= {c.number()}"])


def geometry(c: Chooser) -> str:
    """Return a statement that changes a tensor's geometry or memory."""
    name, other = c.tensor(), c.tensor()
    t = c.of(name)
    same = c.tensor(lambda o: o.dtype == t.dtype)
    d = c.dim(t)
    return c.rng.choice([
        f"{name}.t_()", f"{name}.transpose_({d}, {c.dim(t)})", f"{name}.unsqueeze_({c.dim(t, 1)})", f"{name}.squeeze_()", f"{name}.squeeze_({d})",
        f"{name}.resize_({c.rng.choice(SHAPES)}).fill_(1)" if not c.hosted else f"{name}.t_()", f"{name}.set_({same})", f"{name}.set_({same}.detach())", f"{name}.as_strided_({strided(c, t)})",
        *[f"{name}.data = {same}", f"{name}.data = {same}.detach().clone()"] * (c.of(same).shape == t.shape), f"{name}.swapaxes_({d}, {c.dim(t)})", f"{name}.requires_grad_()",
        f"{name}.requires_grad_(False)", f"{name}.detach_()", f"{name}.resize_as_({other}).zero_()" if not c.hosted else f"{name}.squeeze_()", f"{name}.requires_grad = True", f"{name}.set_()" if not t.requires_grad else f"{name}.t_()",
        f"{name}.grad = None", f"{name}.grad = {same}", f"xp.utils.swap_tensors({name}, {same})" if t is not c.of(same) else f"{name}.t_()", f"{name}.set_({same}.untyped_storage())",
    ])


def _apart(o: Any, t: Any) -> bool:
    """Return whether a write to ``t`` leaves the elements of ``o`` unchanged, or the two are the same tensor."""
    return o is t or not _meet(o, t)


def _meet(o: Any, t: Any) -> bool:
    """Return whether two tensors may share memory. Storages of parts of one NumPy array may start at other addresses."""
    (a, n), (b, m) = [(s.data_ptr(), s.nbytes()) for s in (o.untyped_storage(), t.untyped_storage())]
    return a < b + m and b < a + n


def _part(t: Any, source: str) -> Any:
    """Return the result of a basic index; None if it raises."""
    try:
        return t.data[eval(f"np.s_[{source}]", {"np": np})]
    except Exception:
        return None


def _shape_at(t: Any, source: str) -> Any:
    """Return the shape of the result of an index; None if it raises."""
    part = _part(t, source)
    return None if part is None else part.shape


OUT_UNARY = ["exp", "sin", "neg", "abs", "tanh", "sqrt", "sigmoid"]
OUT_BINARY = ["add", "mul", "sub", "maximum", "div", "eq"]


def out(c: Chooser) -> str:
    """Return an op that writes into ``out=``."""
    if c.hosted:       # A resize of memory shared with NumPy raises, but only after the tensor's shape has changed.
        return setitem(c)
    name = c.tensor(lambda t: not t.requires_grad and t.dtype != c.bool_ and t.is_contiguous())
    t = c.of(name)
    if t.dtype == c.bool_ or t.requires_grad or windows(t):
        return setitem(c)
    apart = [n for n in c.tensors(lambda o: not o.requires_grad) if _apart(c.of(n), t)]
    if not apart:
        return setitem(c)
    apart = [n for n in apart if c.of(n).dtype == t.dtype]
    if not apart:
        return setitem(c)
    first = c.rng.choice(apart)
    shape = c.of(first).shape
    second = c.rng.choice([n for n in apart if broadcastable(c.of(n).shape, shape)] or apart)
    d = c.dim(c.of(first))
    place = index(c, t.shape)
    # PyTorch refuses these for complex numbers after it has resized the result.
    only_real = [] if c.of(first).is_complex() else [
        f"xp.amax({first} * 2, {d}, out={name})", f"xp.clamp({first}, 0, 1, out={name})"]
    return c.rng.choice([
        *only_real,
        f"xp.{c.rng.choice(OUT_UNARY)}({first}, out={name})", f"xp.{c.rng.choice(OUT_BINARY)}({first}, {second}, out={name})",
        f"xp.sum({first} * 2, dim={d}, out={name})", *[f"xp.{fn}([{first} * 2, {first} * 2], out={name})" for fn in ("cat", "stack") if not t._is_view()],
        f"xp.add({first}{'' if c.of(first) is not t or _shape_at(t, place) == t.shape else '.clone()'}, 1, out={name}[{place}])", f"xp.cumsum({first} * 2, {d}, out={name})",
        f"xp.index_select({first} * 2, {d}, xp.tensor({[0] * bool(c.of(first).numel())}, dtype=xp.int64), out={name})", f"xp.where({first} > 1, {first}, {second}, out={name})",
        f"xp.add({name}, {second}, out={name})", f"xp.mul({name}.detach(), 2, out={name})",
        f"xp.addcmul({first}, {second}, {second}, out={name})", f"xp.tril({first} * 2, out={name})" if _plain(t) else f"{name}.tril_()",
    ])


def _plain(t: Any) -> bool:
    """Return whether the strides are those of a new tensor, also at dims of one element. PyTorch's ``tril`` writes
    elsewhere otherwise.
    """
    wanted = 1
    for n, s in zip(reversed(t.shape), reversed(t.stride()), strict=True):
        if s != wanted:
            return False
        wanted *= max(n, 1)
    return True
