"""The records of ops agree with PyTorch, and an op needs only its record."""
from __future__ import annotations

import inspect
import re
import types

import jax.numpy as jnp
import numpy as np
import pytest

import jtorch
from jtorch._api import functions, names, nn_functions, overridden
from jtorch._api import generate as bind
from jtorch.ops.registry import OPS, Op, Tensor, op

PUBLIC = [name for name, record in OPS.items() if not name.startswith("_") and (record.function or record.method)]
# PyTorch has no functions for these records. They are parts of functions with several ops (overloads.py, indexing.py).
OWN = {
    "all_close": "torch.allclose returns a Python bool",
    "all_equal": "torch.equal returns a Python bool",
    "repeat_interleave_index": "an overload of repeat_interleave",
    "view_dtype": "an overload of Tensor.view",
}
# Parameters that PyTorch's signatures do not show: torch.lu takes *args and **kwargs, and its docstring names them.
UNSEEN = {"lu": "A pivot get_infos"}


def test_every_record_is_documented():
    without = [name for name in PUBLIC if not re.search(r"[Tt]orch\.\w+", OPS[name].doc) and name not in OWN]
    assert not without, "no 'See torch.x' in the docstrings of these ops"


def parameters_in_pytorch(torch, name: str) -> list[list[str]]:
    """Return the parameter names of all overloads of a function in PyTorch."""
    found = [[_public(a.name) for a in s.arguments] for s in _schemas(torch, name)]
    target = _function(torch, name)
    if inspect.isfunction(target):
        found.append(list(inspect.signature(target).parameters))
    text = (getattr(target, "__doc__", None) or "").strip()
    for line in text.splitlines()[:12]:
        signature = re.match(rf"[\w.]*{re.escape(name.split('.')[-1])}\((.*)\)", line.strip())
        if signature:
            found.append(re.findall(r"(?:^|[\s*,])([A-Za-z_]\w*)(?=\s*[,=)]|$)", signature[1]))
    return found


def _public(name: str) -> str:
    return "input" if name == "self" else name


def _schemas(torch, name: str) -> list:
    plain = name.replace(".", "_")
    packets = (plain, name.split(".")[-1], plain.removeprefix("nn_functional_"))
    names = dict.fromkeys(p for p in packets if hasattr(torch.ops.aten, p))
    return [s for p in names for s in torch._C._jit_get_schemas_for_operator(f"aten::{p}")]


def _function(torch, name: str):
    at = torch
    for part in name.split("."):
        at = getattr(at, part, None)
    return at if at is not None else getattr(torch.Tensor, name, None)


@pytest.mark.conformance
@pytest.mark.parametrize("name", [n for n in PUBLIC if n not in OWN])
def test_parameters_are_pytorchs(name, torch):
    known = parameters_in_pytorch(torch, name)
    if not known:
        pytest.skip("PyTorch says nothing of its parameters")
    anywhere = {p for names in known for p in names}
    unknown = [p.name for p in OPS[name].params if p.name not in anywhere and p.name not in UNSEEN.get(name, "").split()]
    assert not unknown, f"PyTorch's: {sorted(anywhere)}"


# ---------------------------------------------------------------- one name, one function

def test_a_name_is_put_in_place_once():
    space = types.ModuleType("space")
    names.put(space, {"f": abs})
    names.put(space, {"f": abs})        # The same registration again changes nothing.
    with pytest.raises(RuntimeError, match=r"space\.f is made twice"):
        names.put(space, {"f": max})
    assert space.f is abs


def test_what_replaces_says_so_and_comes_second():
    space = types.ModuleType("space")
    with pytest.raises(RuntimeError, match=r"space\.f is replaced before it is made"):
        names.put(space, {"f": abs}, replaces=True)
    names.put(space, {"f": abs})
    names.put(space, {"f": max}, replaces=True)
    assert space.f is max


def test_an_op_cannot_take_anothers_name(temporary):
    def another(input: Tensor):
        return input
    with pytest.raises(RuntimeError, match=r"jtorch\.clone is made twice"):
        temporary(another, aliases=("clone",))


def test_what_was_replaced_is_kept():
    assert functions.where is jtorch.where is not overridden.where
    assert nn_functions.relu is jtorch.nn.functional.relu


# ---------------------------------------------------------------- a record is all that an op needs

@pytest.fixture
def temporary():
    """Bind one new op as at import, and remove it afterwards."""
    made: list[str] = []

    def add(fn, **facts) -> Op:
        op(fn, **facts)
        record = OPS[fn.__name__]
        made.append(record.name)
        others = {n: OPS.pop(n) for n in list(OPS) if n != record.name}
        try:
            bind.bind({"": jtorch})
        finally:
            mine = dict(OPS)
            OPS.clear()
            OPS.update(others | mine)
        return record
    yield add
    for name in made:
        del OPS[name]
        for space in (jtorch, jtorch.Tensor):
            for form in (name, f"{name}_"):
                if form in vars(space):
                    delattr(space, form)


def cubed(input: Tensor):
    """The third power. See torch.pow."""
    return input * input * input


def test_one_declaration_gives_all_forms(temporary):
    temporary(cubed, promote="int_to_float")
    x = jtorch.tensor([1.0, -2.0], requires_grad=True)
    y = jtorch.cubed(x)
    assert y.tolist() == x.cubed().tolist() == [1.0, -8.0]
    assert type(y.grad_fn).__name__ == "CubedBackward0"
    y.sum().backward()
    assert x.grad.tolist() == [3.0, 12.0]
    assert jtorch.cubed.__doc__ == "The third power. See torch.pow."


def test_its_inplace_form(temporary):
    temporary(cubed, promote="int_to_float")
    x = jtorch.tensor([2.0, 3.0])
    assert x.cubed_() is x
    assert x.tolist() == [8.0, 27.0]
    assert jtorch.cubed_(x) is x
    with pytest.raises(RuntimeError, match="result type Float can't be cast to the desired output type Long"):
        jtorch.tensor([2]).cubed_()


def test_its_out(temporary):
    temporary(cubed, promote="int_to_float")
    out = jtorch.empty(2)
    assert jtorch.cubed(jtorch.tensor([2.0, 3.0]), out=out) is out
    assert out.tolist() == [8.0, 27.0]
    with pytest.warns(UserWarning, match="An output with one or more elements was resized"):
        jtorch.cubed(jtorch.tensor([1.0, 2.0, 3.0]), out=out)
    assert out.shape == (3,)


def test_its_promotion_and_keywords(temporary):
    temporary(cubed, promote="int_to_float")
    assert jtorch.cubed(input=jtorch.tensor([2])).dtype is jtorch.float32
    with pytest.raises(TypeError):
        jtorch.cubed(jtorch.tensor([2]), nothing=1)
    with pytest.raises(TypeError, match="must be Tensor, not str"):
        jtorch.cubed("two")


def test_a_record_with_several_results(temporary):
    def both(input: Tensor, scale: float = 2.0):
        """The tensor scaled up and down. See torch.mul."""
        return input * scale, input / scale
    temporary(both, returns="up down")
    r = jtorch.both(jtorch.tensor([4.0]), scale=4.0)
    assert (r.up.tolist(), r.down.tolist()) == ([16.0], [1.0])
    assert not hasattr(jtorch.Tensor, "both_")


def test_a_name_is_declared_once():
    with pytest.raises(AssertionError, match="declared twice"):
        op(lambda input: jnp.exp(input), name="exp")


def test_shape_errors_of_an_op_are_raised_at_the_call(temporary):
    def first_of(input: Tensor):
        """The first element. See torch.select."""
        if not input.ndim:
            raise IndexError("first_of needs a dimension")
        return input[0]
    temporary(first_of)
    with pytest.raises(IndexError, match="first_of needs a dimension"):
        jtorch.tensor(1.0).first_of()
    np.testing.assert_equal(jtorch.first_of(jtorch.tensor([3.0, 4.0])).item(), 3.0)


@pytest.mark.conformance
def test_the_list_of_differences_is_printed(torch):
    from tools import differences
    assert differences.PAGE.read_text() == differences.page(), "run `python -m tools.differences`"


def test_known_differences_are_of_ops():
    from jtorch.check.differences import DIFFERENCES
    known = {full for record in OPS.values() for full in (record.name, *record.aliases)}
    named = {*known, *dir(jtorch), *dir(jtorch.Tensor)}
    wrong = [d.op for d in DIFFERENCES if d.op not in named and d.op.rpartition(".")[0] not in named]
    assert not wrong
    assert all(d.reason for d in DIFFERENCES)
