"""Random statements over a pool of tensors, as source that means the same with PyTorch and with jtorch as ``xp``.

A statement is chosen by looking at the tensors that PyTorch has so far: most fit their shapes, some do not, since errors
are compared too.
"""
from __future__ import annotations

from collections.abc import Callable
from typing import Any

from chooser import EMPTY, SHAPES, Chooser, broadcastable, index, strided, whole, windows
from writes import write

# ---------------------------------------------------------------- the first tensors

DTYPES = ["float64"] * 6 + ["float32"] * 3 + ["int64"] * 2 + ["complex128", "bool", "int32"]


def start(c: Chooser) -> list[str]:
    """Bind the first tensors: leaves, shared NumPy memory, plain ones."""
    lines = []
    for _ in range(c.rng.randint(2, 4)):
        dtype, shape = c.rng.choice(DTYPES), c.rng.choice(EMPTY if c.rng.random() < 0.15 else SHAPES)
        name = c.new()
        if dtype in ("float64", "float32", "int64") and c.rng.random() < 0.2:
            array, c.hosted = c.new("n"), True
            count = 1
            for n in shape:
                count *= n
            lines.append(f"{array} = np.arange({count}, dtype='{dtype}').reshape({shape})")
            lines.append(f"{name} = xp.from_numpy({array})")
            continue
        source = c.fresh(shape, dtype)
        if dtype in ("float64", "float32", "complex128") and c.rng.random() < 0.6:
            source += ".requires_grad_()"
        lines.append(f"{name} = {source}")
        if "requires_grad" in source and c.rng.random() < 0.6:
            lines.append(f"{c.new()} = {name} * 1")
    return lines


# ---------------------------------------------------------------- views


def factored(c: Chooser, count: int) -> tuple[int, ...]:
    """Choose a shape with this many elements."""
    shape = []
    while count > 1 and len(shape) < 4:
        n = c.rng.choice([d for d in range(2, count + 1) if count % d == 0])
        shape.append(n)
        count //= n
        if c.rng.random() < 0.1:
            shape.append(1)
    if c.rng.random() < 0.3 and shape:
        shape[c.rng.randrange(len(shape))] = -1
    return tuple(shape)


def view(c: Chooser, only: str | None = None) -> list[str]:
    """Bind one new name to a view."""
    name = only or c.tensor()
    return [f"{c.new()} = {viewed(c, name)}"]


def viewed(c: Chooser, name: str) -> str:
    """Return the expression of a view."""
    t = c.of(name)
    r, n = c.rng, t.dim()
    a, b = c.dim(t), c.dim(t)
    size = t.shape[a] if n and -n <= a < n else 1
    count = t.numel()
    order = r.sample(range(n), n)
    k = r.randint(0, max(size, 1))
    choices = [
        f"{name}[{index(c, t.shape)}]", f"{name}[{index(c, t.shape)}]", f"{name}[{index(c, t.shape)}]",
        f"{name}.transpose({a}, {b})", f"{name}.transpose({a}, {b})", f"{name}.permute({order})", f"{name}.swapdims({a}, {b})",
        f"{name}.movedim({a}, {b})", f"{name}.view({factored(c, count)})", f"{name}.reshape({factored(c, count)})",
        f"{name}.view(-1)", f"{name}.reshape(-1)", f"{name}.flatten()", f"{name}.flatten({r.choice([0, 1])})", f"{name}.ravel()",
        f"{name}.unsqueeze({c.dim(t, 1)})", f"{name}.squeeze()", f"{name}.squeeze({a})", f"{name}.narrow({a}, {r.randint(0, k)}, {max(0, k - 1)})",
        f"{name}.select({a}, {r.randrange(max(size, 1))})", f"{name}.expand({[m if m > 1 else r.choice([1, 2, 3]) for m in t.shape]})",
        f"{name}.expand({[2, *t.shape]})", f"{name}.expand_as({name})", f"{name}.detach()", f"{name}.data", f"{name}.view_as({name})",
        f"{name}.unfold({a}, {min(size, r.randint(1, 3))}, {r.randint(1, 2)})", f"{name}[...]", f"{name}.contiguous()", f"{name}.mT", f"{name}.adjoint()" if not t.is_complex() else f"{name}.mT",
        f"{name}.diagonal({r.choice([0, 1, -1])}, {a}, {b})", f"{name}.unflatten({a}, (-1, {r.choice([1, 2, 3])}))", f"{name}.t()",
        f"xp.atleast_{r.choice([1, 2, 3])}d({name})", f"xp.broadcast_to({name}, {(2, *t.shape)})", f"{name}.real", f"{name}.positive()",
        f"{name}.as_strided({strided(c, t)})", f"{name}.view({name}.dtype)", f"{name}.T" if n == 2 else f"{name}.mT", f"{name}.reshape_as({name})",
        f"{name}.to({name}.dtype)", f"{name}.type_as({name})", f"{name}.cpu()", f"{name}.squeeze(({a},))",
    ]
    if t.is_complex() and count:
        choices += [f"xp.view_as_real({name})", f"{name}.imag", f"{name}.real", f"xp.view_as_real({name}.transpose({a}, {b}))"] * 3
    if n and t.shape[-1] == 2 and t.dtype.is_floating_point:
        choices += [f"xp.view_as_complex({name})"] * 4
    if t.element_size() == 8 and count:
        choices += [f"{name}.view(xp.int32)", f"{name}.view(xp.int64)"]
    return r.choice(choices)


def parts(c: Chooser) -> list[str]:
    """Bind names to the outputs of an op with several views."""
    name = c.tensor(lambda t: t.dim() > 0 and t.numel())
    t = c.of(name)
    d = c.dim(t)
    n = t.shape[d] if t.dim() and -t.dim() <= d < t.dim() else 1
    k = c.rng.randint(0, n)
    call = c.rng.choice([f"{name}.unbind({d})", f"{name}.chunk(2, {d})", f"{name}.split({max(1, n // 2)}, {d})", f"{name}.split([{k}, {n - k}], {d})",
                         f"{name}.tensor_split(2, {d})", f"{name}.tensor_split(({k},), {d})", f"xp.hsplit({name}, [{k}])", f"list({name})",
                         f"xp.broadcast_tensors({name}, {name}[:1])", f"{name}.split_with_sizes([{k}, {n - k}], {d})"])
    kept = f"p = {call}"
    first, second = c.new(), c.new()
    return [f"{kept}; {first}, {second} = p[0], p[-1]"]


# ---------------------------------------------------------------- new tensors


UNARY = ["exp", "sin", "cos", "tanh", "abs", "neg", "sqrt", "sigmoid", "relu", "square", "sign", "floor", "ceil", "reciprocal", "log1p", "isnan",
         "logical_not", "expm1", "atan", "erf", "round", "trunc", "frac", "sgn", "exp2", "isfinite", "positive", "sinh"]
BINARY = ["+", "-", "*", "/", "<", "==", ">=", "//", "%", "!="]


def arithmetic(c: Chooser) -> list[str]:
    """Bind a new tensor computed from others."""
    kind = c.rng.random()
    new = c.new()
    if kind < 0.4:
        return [f"{new} = {binary(c)}"]
    if kind < 0.6:
        name, fn = c.tensor(), c.rng.choice(UNARY)
        fn = "sign" if fn == "sgn" and c.of(name).requires_grad and not c.of(name).is_complex() else fn
        fn = "trunc" if fn == "frac" and not whole(c.of(name)) else fn
        # The version of isfinite's result depends on PyTorch's implementation.
        fn = "sgn" if fn == "isfinite" and c.of(name).is_complex() else fn
        return [f"{new} = " + c.rng.choice([f"{name}.{fn}()", f"xp.{fn}({name})", f"-{name}"])]
    if kind < 0.75:
        return [f"{new} = {reduction(c)}"]
    return [f"{new} = {other_op(c)}"]


def binary(c: Chooser) -> str:
    """Return an arithmetic expression."""
    name = c.tensor()
    if c.rng.random() < 0.4:
        return c.rng.choice([f"{name} {c.rng.choice(BINARY if not c.of(name).requires_grad else BINARY[:4])} {c.number()}", f"{c.number()} {c.rng.choice(BINARY[:4])} {name}"])
    shape = c.of(name).shape
    second = c.tensor(lambda o: broadcastable(o.shape, shape))
    if c.rng.random() < 0.15:
        fn = c.rng.choice(["maximum", "minimum", "atan2", "hypot", "fmod", "logaddexp", "eq"])
        if fn in ("logaddexp", "atan2") and c.bool_ in (c.of(name).dtype, c.of(second).dtype):
            fn = "maximum"      # PyTorch's backward subtracts or negates the bool tensor, and raises.
        if fn == "logaddexp" and c.of(name).is_complex() is not c.of(second).is_complex():
            fn = "maximum"      # PyTorch's backward gives the real argument a complex gradient, and raises.
        return f"xp.{fn}({name}, {second})"
    sign = c.rng.choice(BINARY)
    if sign == "//" and (c.of(name).requires_grad or c.of(second).requires_grad):
        sign = "%"      # A backward that raises frees other nodes in PyTorch.
    if sign in ("//", "%", "==", "!=", "<", ">=") and not (whole(c.of(name)) and whole(c.of(second))):
        sign = "*"      # The last bit decides at a jump of the remainder.
    return f"{name} {sign} {second}"


def reduction(c: Chooser) -> str:
    """Return a reduction over a dim or over all."""
    name = c.tensor()
    d = c.dim(c.of(name))
    fn = c.rng.choice(["sum", "mean", "prod", "amax", "amin", "std", "logsumexp", "any", "all", "argmax", "norm", "count_nonzero", "cumsum", "softmax"])
    if fn == "softmax" and not c.of(name).numel():
        fn = "cumsum"
    if fn in ("amax", "amin") and c.of(name).is_complex() and c.of(name).requires_grad:
        fn = "sum"      # PyTorch refuses the derivative for no elements.
    if fn in ("cumsum", "softmax", "logsumexp"):
        return f"{name}.{fn}({d})"
    if fn == "count_nonzero":
        return f"{name}.{fn}()"
    return f"{name}.{fn}(" + c.rng.choice(["", f"dim={d}", f"dim={d}, keepdim=True"]) + ")"


def other_op(c: Chooser) -> str:
    """Return an op that copies, joins, chooses or converts."""
    name = c.tensor()
    t = c.of(name)
    r, d = c.rng, c.dim(t)
    n = t.shape[d] if t.dim() and -t.dim() <= d < t.dim() else 1
    same = c.tensor(lambda o: o.shape == t.shape and o.dtype == t.dtype)
    other = c.tensor(lambda o: broadcastable(o.shape, t.shape) and o.dtype == t.dtype)
    picks = [r.randrange(max(n, 1)) for _ in range(r.randint(1, 3))]
    k = r.randrange(max(n, 1))
    fill = c.of_shape(_without(t, d), t.dtype) if t.dim() else "xp.zeros(1)"
    choices = [
        f"{name}.clone()", f"{name}.clone(memory_format=xp.contiguous_format)", f"xp.zeros_like({name})", f"xp.ones_like({name})", f"{name}.float()",
        f"{name}.double()", f"{name}.long()", f"{name}.bool()", f"{name}.to(xp.float32)", f"{name}.to({name}.dtype, copy=True)",
        f"xp.cat([{name}, {same}], {d})", f"xp.stack([{name}, {same}], {d})", f"{name}.index_select({d}, xp.tensor({picks}))", f"{name}[xp.tensor({picks})]",
        f"{name}[{name} > 1]", f"xp.where({name} > 1, {name}, {other})", f"{name}.masked_fill({name} > 1, 2)", f"{name}.flip({d})", f"{name}.roll(1, {d})",
        f"{name}.tril()", f"{name}.repeat({[r.choice([1, 2]) for _ in range(t.dim())] or 1})", f"{name}.new_zeros((2, 3))", f"{name}.contiguous()",
        f"xp.full_like({name}, 3)", f"{name}.clamp(-1, 2)", f"xp.lerp({name}, {other}, 0.25)", f"xp.addcmul({name}, {other}, {other})",
        f"{name}.gather({d}, xp.zeros_like({name}, dtype=xp.int64))", f"{name}.index_add({d}, xp.tensor([{k}]), {name}.narrow({d}, {k}, 1))",
        f"{name}.select_scatter({fill}, {d}, {k})" if not t.is_complex() else f"{name}.clone()", f"{name}.slice_scatter({name}.narrow({d}, 0, {k}) * 2, {d}, 0, {k})" if not t.is_complex() else f"{name}.clone()",
        f"{name}.diagonal_scatter(xp.zeros_like({name}.diagonal()))", f"{name}.take_along_dim(xp.zeros_like({name}, dtype=xp.int64), {d})", f"{name}.sort({d})[0]",
        f"xp.{r.choice(['transpose', 'swapdims'])[:9]}({name}, {d}, {c.dim(t)})", f"xp.view_copy({name}, {factored(c, t.numel())})",
        f"xp.transpose_copy({name}, {d}, 0)", f"xp.select_copy({name}, {d}, {k})", f"xp.unsqueeze_copy({name}, {d})", f"xp.squeeze_copy({name})",
        f"xp.slice_copy({name}, {d}, 0, {k})", f"xp.permute_copy({name}, {r.sample(range(t.dim()), t.dim())})", f"xp.alias_copy({name})", f"xp.t_copy({name})",
        f"xp.diagonal_copy({name})", f"xp.expand_copy({name}, {[2, *t.shape]})", f"copy.copy({name})", f"copy.deepcopy({name})",
        f"{name}.index_fill({d}, xp.tensor({picks}), 3)" if n else f"{name}.clone()", f"{name}.index_put((xp.tensor({picks}),), xp.tensor(2, dtype={name}.dtype))",
        f"xp.empty_like({name}).fill_(1)", f"xp.asarray({name})", f"xp.as_tensor({name})", f"xp.tensor({name}.tolist())",
        f"{name}.matmul({same}.mT)", f"xp.outer({name}.reshape(-1), {name}.reshape(-1)[:2])", f"xp.nn.functional.relu({name})",
        f"xp.nn.functional.leaky_relu({name})", f"xp.diff({name})" if t.dim() and t.shape[-1] > 1 else f"{name}.clone()", f"{name}.max({d})[0]", f"{name}.min({d}).values", f"{name}.median()" if not t.is_complex() else f"{name}.clone()", f"{name}.unique()",
        f"xp.nn.functional.pad({name}, (1, 0))", f"{name}.scatter({d}, xp.zeros_like({name}, dtype=xp.int64), 3)",
        f"xp.nan_to_num({name})" if not t.is_complex() else f"{name}.clone()", f"{name}.fill_diagonal(1) if False else {name}.diag()", f"{name}.new_tensor([1, 2])", f"{name}.new_ones(3)",
        f"xp.cumprod({name}, {d})", f"xp.triu({name}, 1)", f"{name}.expand_as({name}).clone()", f"{name}.nonzero()", f"xp.var({name}, {d})",
        f"{name}.view_as({same})", f"xp.nn.functional.softplus({name})", f"xp.as_strided_scatter({name}.detach(), xp.zeros((), dtype={name}.dtype), (), ())",
        f"xp.as_strided_copy({name}, {strided(c, t)})", f"xp.polar({name}.abs(), {other})", f"xp.complex({name}, {other})", f"xp.add({name}, {other}, alpha=2)",
        f"{name}.repeat_interleave({r.choice([1, 2])}, {d})", f"{name}.repeat_interleave(xp.tensor(2), {d})", f"{name}.repeat_interleave(2)",
    ]
    chosen = r.choice(choices)
    if t.is_complex() and t.requires_grad and any(kind in chosen for kind in ("_copy(", "_scatter(")):
        return f"{name}.clone()"        # PyTorch refuses the derivatives of these.
    return chosen


def _without(t: Any, d: int) -> tuple[int, ...]:
    shape = list(t.shape)
    if -len(shape) <= d < len(shape):
        del shape[d]
    return tuple(shape)


# ---------------------------------------------------------------- history


CONTIGUOUS = "memory_format=xp.contiguous_format"    # Gradients may be views of other gradients in PyTorch, but not in jtorch.


def backward(c: Chooser) -> list[str]:
    """Return a backward, a gradient, or a related statement."""
    name = c.tensor(lambda t: t.requires_grad)
    leaf = c.tensor(lambda t: t.requires_grad)
    r = c.rng
    keep = r.choice(["", "", "retain_graph=True", "retain_graph=True"])
    loss = f"{name}.{r.choice(['sum', 'sum', 'mean', 'prod' if c.of(name).data.isfinite().all() else 'sum'])}()"
    if c.of(name).is_complex():
        loss = f"{name}.real.sum()"
    new, real = c.new(), ".real" if c.of(name).is_complex() else ""
    return [r.choice([
        f"{loss}.backward({keep})", f"{loss}.backward({keep})", f"{loss}.backward({keep})", f"({name} * {name}){real}.sum().backward({keep})",
        f"(xp.ones_like({leaf}) * {leaf} * {leaf}){'.real' if c.of(leaf).is_complex() else ''}.sum().backward(create_graph=True)" if c.of(leaf)._base is None and c.of(leaf).is_leaf else f"{loss}.backward()",
        f"{new} = xp.autograd.grad({loss}, {leaf}, allow_unused=True{', ' + keep if keep else ''})[0]; {new} = xp.zeros(()) if {new} is None else {new}.clone({CONTIGUOUS})",
        f"{new} = xp.autograd.grad({loss}, {leaf}{', ' + keep if keep else ''})[0].clone({CONTIGUOUS})",
        f"{name}.backward({name}.detach().clone(){', ' + keep if keep else ''})", f"{name}.retain_grad()", f"{leaf}.grad.zero_()", f"{leaf}.grad.add_(1)",
        f"{loss}.backward({'inputs=[' + leaf + ']'}{', ' + keep if keep else ''})", f"{new} = {leaf}.grad.clone(memory_format=xp.contiguous_format)",
        f"{leaf}.grad = xp.ones_like({leaf})", f"{leaf}.grad = None", f"xp.autograd.backward([{loss}, {leaf}.sum()])",
        f"{new} = xp.autograd.grad({loss}, [{leaf}, {name}], allow_unused=True, retain_graph=True)[1]; {new} = xp.zeros(()) if {new} is None else {new}.clone({CONTIGUOUS})",
        f"{new} = {name}.detach().requires_grad_()", f"{name}.sum().backward(); {leaf}.grad = None",
    ])]


def hook(c: Chooser) -> list[str]:
    """Return a hook on a tensor or on its node."""
    name, other = c.tensor(lambda t: t.requires_grad), c.tensor(lambda t: t.requires_grad)
    n = c.made
    c.made += 1
    return [c.rng.choice([
        f"{name}.register_hook(lambda g: log.append(('t{n}', g.tolist())))", f"{name}.register_hook(lambda g: g * 2)",
        f"h = {name}.register_hook(lambda g: log.append('h{n}') or g + 1); h.remove() if {n} % 2 else None",
        f"{name}.grad_fn.register_hook(lambda gi, go: log.append(('n{n}', go[0].tolist())))",
        f"{name}.grad_fn.register_prehook(lambda go: log.append(('p{n}', len(go))))",
        f"{name}.register_post_accumulate_grad_hook(lambda t: log.append(('a{n}', t.grad.tolist())))",
        f"xp.autograd.graph.register_multi_grad_hook([{name}, {other}], lambda gs: log.append(('m{n}', [g is None for g in gs])))",
        f"xp.autograd.graph.register_multi_grad_hook([{name}, {other}], lambda g: log.append('y{n}'), mode='any')",
    ])]


def mutation(c: Chooser) -> list[str]:
    """Return a product whose argument is written to before its backward, to test versions."""
    name = c.tensor(lambda t: t.requires_grad and not windows(t))
    if windows(c.of(name)):
        return view(c)
    new = c.new()
    first = c.rng.choice([f"{new} = {name} * {name}", f"{new} = {name}.exp()", f"{new} = {name}.sin()", f"{new} = {name}.sigmoid() * 2", f"{new} = {name} / 2",
                          f"{new} = {name}.abs()", f"{new} = {name}[..., :1] * {name}", f"{new} = {name}.sqrt()", f"{new} = {name}.sum() * {name}"])
    second = c.rng.choice([f"{name}.add_(1)", f"{new}.mul_(2)", f"{name}.detach().add_(1)", f"{new}.detach().zero_()", f"{name}.data.add_(1)", f"{new}.add_(1)",
                           f"with xp.no_grad(): {name}.add_(1)", f"{name}[..., 0] = 3", f"with xp.autograd._unsafe_preserve_version_counter({name}): {name}.detach().add_(1)"])
    real = ".real" if c.of(name).is_complex() and ".abs()" not in first else ""
    return [first, second, f"{new}{real}.sum().backward({c.rng.choice(['', 'retain_graph=True'])})"]


def behind(c: Chooser) -> list[str]:
    """Return a product with an untracked write to its argument: backward uses the present memory."""
    name = c.tensor(lambda t: t.is_floating_point() and not windows(t))
    if not c.of(name).is_floating_point() or windows(c.of(name)):
        return view(c)
    leaf, new, other, array = c.new(), c.new(), c.new(), c.new("n")
    c.hosted = True
    kept = f"{array} = {name}.detach().numpy()"
    written = c.rng.choice([
        [kept, f"{array}[...] = 5"], [kept, f"{array}.fill(5)"], [kept, f"{array} += 1"], [f"np.asarray({name}.detach())[...] = 3", kept],
        [f"{other} = {name}.data", f"{other}.fill_(7)"], [f"{other} = {name}.data", f"del {name}", f"{other}.mul_(2)"],
        [f"{other} = {name}.detach()[..., :1].data", f"{other}.fill_(4)"], [kept, f"del {name}", f"{array} *= 2"]])
    at = c.rng.choice([0, 0, 1]) if written[0] == kept else 0       # The array may be made before the product.
    product = c.rng.choice([f"{new} = {leaf} * {name}", f"{new} = ({leaf} * {name}).exp()", f"{new} = ({name} * {leaf}) * {name}"])
    return [f"{leaf} = xp.ones_like({name}).requires_grad_()", *written[:at], product, *written[at:],
            f"{new}.sum().backward()", f"log.append({leaf}.grad.tolist())"]


# ---------------------------------------------------------------- host memory


def host(c: Chooser) -> list[str]:
    """Return NumPy arrays with shared memory, and writes to them."""
    arrays, c.hosted = [n for n in c.pool if n[0] == "n"], True
    name = c.tensor(lambda t: not t.requires_grad)
    new = c.new("n")
    lines = [f"{new} = {name}.numpy()", f"{new} = {name}.detach().numpy()", f"{new} = {name}.detach().numpy(force=True)", f"{new} = np.asarray({name})"]
    if arrays:
        a = c.rng.choice(arrays)
        i = index(c, c.pool[a].shape)
        lines += [f"{a}[{i}] = {c.number()}", f"{a} += 1", f"{a}[...] = 2", f"{c.new()} = xp.from_numpy({a})", f"{a}[{i}] *= 2", f"{new} = {a}[{i}]",
                  f"{c.new()} = xp.as_tensor({a})", f"{c.new()} = xp.tensor({a})", f"{c.new()} = xp.from_numpy({a}[::-1])", f"{c.new()} = xp.asarray({a})",
                  f"{c.new()} = xp.from_numpy({a}.T)", f"del {a}", f"{c.new()} = xp.as_tensor({a}, dtype=xp.float32)"] * 2
    return [c.rng.choice(lines)]


def address(c: Chooser) -> list[str]:
    """Return writes through addresses, unknown to autograd and to the tensor."""
    name, written = c.tensor(), c.tensor(lambda t: t.numel() and not t.requires_grad)
    may = c.of(written).numel() and not c.of(written).requires_grad
    poke = f"poke({written}, {c.number()})" if may else f"{written}.data_ptr()"
    return [c.rng.choice([f"{name}.data_ptr()", f"{name}.untyped_storage().data_ptr()", poke])]


def forget(c: Chooser) -> list[str]:
    """Drop a name."""
    names = self_names = c.tensors()
    if len(names) < 4:
        return view(c)
    return [f"del {c.rng.choice(self_names)}"]


KINDS: list[tuple[float, Callable[[Chooser], list[str]]]] = [
    (26, view), (5, parts), (22, arithmetic), (28, write), (9, backward), (3, hook), (3, mutation), (2, behind), (6, host), (2, address),
    (2, forget)]


def statement(c: Chooser) -> list[str]:
    """Return the next statements of a program, mostly one; some in a grad mode of their own."""
    kinds, weights = [k for _, k in KINDS], [w for w, _ in KINDS]
    lines = c.rng.choices(kinds, weights)[0](c)
    if len(lines) == 1 and "with " not in lines[0] and c.rng.random() < 0.1:
        scope = c.rng.choice(["no_grad", "no_grad", "no_grad", "enable_grad"])
        lines = [f"with xp.{scope}(): {lines[0]}"]
    return lines
