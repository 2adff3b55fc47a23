"""Names of modules: assigning, deleting, finding, registering; casts, modes and text."""
from __future__ import annotations

import warnings

import pytest
from bodies import written


def module(xp):
    m = xp.nn.Module()
    m.p, m.child, m.plain = xp.nn.Parameter(xp.ones(2)), xp.nn.Linear(1, 1), 3
    m.register_buffer("b", xp.zeros(2))
    m.register_parameter("none", None)
    return m


class Unready:
    """Makes a module of a class that sets an attribute and does not call ``super().__init__()``."""

    def __new__(cls, xp, name, value):
        class Early(xp.nn.Module):
            def __init__(self):
                setattr(self, name, value)
        return Early()


# The questions are about a module and a dict of two modules.
QUESTIONS = [
    lambda xp, m, d: setattr(m, 'p', 1),
    lambda xp, m, d: setattr(m, 'p', xp.ones(2)),
    lambda xp, m, d: setattr(m, 'child', 1),
    lambda xp, m, d: setattr(m, 'b', 'x'),
    lambda xp, m, d: (setattr(m, 'b', None), m.b, dict(m.named_buffers())),
    lambda xp, m, d: (setattr(m, 'p', None), m.p, list(m.named_parameters())),
    lambda xp, m, d: (setattr(m, 'plain', xp.nn.Linear(1, 1)), 'plain' in m._modules, 'plain' in m.__dict__),
    lambda xp, m, d: (setattr(m, 'b', xp.nn.Parameter(xp.ones(1))), list(m._buffers), list(m._parameters)),
    lambda xp, m, d: (setattr(m, 'child', xp.nn.Parameter(xp.ones(1))), list(m._modules), list(m._parameters)),
    lambda xp, m, d: (setattr(m, 'p', xp.nn.Module()), list(m._modules), list(m._parameters)),
    lambda xp, m, d: (setattr(m, 'x', xp.ones(1)), list(m._buffers), 'x' in m.__dict__),
    lambda xp, m, d: (setattr(m, 'x', xp.nn.Buffer(xp.ones(1))), list(m._buffers)),
    lambda xp, m, d: m.nothing,
    lambda xp, m, d: delattr(m, 'nothing'),
    lambda xp, m, d: (delattr(m, 'p'), list(m._parameters)),
    lambda xp, m, d: (delattr(m, 'b'), list(m._buffers)),
    lambda xp, m, d: (delattr(m, 'child'), list(m._modules)),
    lambda xp, m, d: (delattr(m, 'plain'), hasattr(m, 'plain')),
    lambda xp, m, d: m.register_parameter('p.q', None),
    lambda xp, m, d: m.register_parameter('', None),
    lambda xp, m, d: m.register_parameter(1, None),
    lambda xp, m, d: m.register_parameter('plain', xp.nn.Parameter(xp.ones(1))),
    lambda xp, m, d: m.register_parameter('x', xp.ones(1)),
    lambda xp, m, d: m.register_parameter('x', xp.nn.Parameter(xp.ones(1)) * 2),
    lambda xp, m, d: m.register_buffer('a.b', None),
    lambda xp, m, d: m.register_buffer('', None),
    lambda xp, m, d: m.register_buffer(3, None),
    lambda xp, m, d: m.register_buffer('plain', None),
    lambda xp, m, d: m.register_buffer('x', 3),
    lambda xp, m, d: (m.register_buffer('x', xp.ones(1)), m.x),
    lambda xp, m, d: m.register_module('x', 3),
    lambda xp, m, d: m.register_module('x.y', xp.nn.Module()),
    lambda xp, m, d: m.register_module('', xp.nn.Module()),
    lambda xp, m, d: m.register_module('plain', xp.nn.Module()),
    lambda xp, m, d: m.register_module(1, xp.nn.Module()),
    lambda xp, m, d: (m.register_module('x', None), m.x, list(m.named_children())[-1][0]),
    lambda xp, m, d: (m.add_module('x', xp.nn.Module()), list(m._modules)),
    lambda xp, m, d: (m.get_submodule('')is m, m.get_submodule('child') is m.child),
    lambda xp, m, d: m.get_submodule('child.weight'),
    lambda xp, m, d: m.get_submodule('child.x'),
    lambda xp, m, d: m.get_parameter('child.weight').shape,
    lambda xp, m, d: m.get_parameter('child.x'),
    lambda xp, m, d: m.get_parameter('b'),
    lambda xp, m, d: m.get_buffer('b').shape,
    lambda xp, m, d: m.get_buffer('p'),
    lambda xp, m, d: m.get_buffer('x'),
    lambda xp, m, d: (m.set_submodule('child', xp.nn.ReLU()), m.child),
    lambda xp, m, d: (m.set_submodule('child.act', xp.nn.ReLU()), m.child),
    lambda xp, m, d: m.set_submodule('child.act', xp.nn.ReLU(), strict=True),
    lambda xp, m, d: m.set_submodule('', xp.nn.ReLU()),
    lambda xp, m, d: m.set_submodule('plain', xp.nn.ReLU()),
    lambda xp, m, d: m.set_submodule('child', 3),
    lambda xp, m, d: m.set_submodule('x.y', xp.nn.ReLU()),
    lambda xp, m, d: ([n for n, _ in m.named_modules()], [n for n, _ in m.named_parameters(prefix='q')]),
    lambda xp, m, d: ([n for n, _ in m.named_parameters(recurse=False)], [n for n, _ in m.named_buffers('x')]),
    lambda xp, m, d: [n for n, _ in xp.nn.Sequential(m.child, m.child).named_modules()],
    lambda xp, m, d: [n for n, _ in xp.nn.Sequential(m.child, m.child).named_modules(remove_duplicate=False)],
    lambda xp, m, d: len(list(xp.nn.Sequential(m.child, m.child).children())),
    lambda xp, m, d: [n for n in dir(m) if n[0] != '_' and n not in ('T_destination', 'ipu', 'mtia', 'xpu')],
    lambda xp, m, d: dir(xp.nn.Sequential(m.child)).count('0'),
    lambda xp, m, d: m.train('x'),
    lambda xp, m, d: (m.eval().training, m.child.training, m.train().child.training),
    lambda xp, m, d: m.requires_grad_(False).p.requires_grad,
    lambda xp, m, d: m(),
    lambda xp, m, d: xp.nn.Module(1),
    lambda xp, m, d: xp.nn.Module(a=1),
    lambda xp, m, d: Unready(xp, 'p', xp.nn.Parameter(xp.ones(1))),
    lambda xp, m, d: Unready(xp, 'p', xp.nn.Module()),
    lambda xp, m, d: Unready(xp, 'p', xp.nn.Buffer(xp.ones(1))),
    lambda xp, m, d: Unready(xp, 'x', 3).x,
    lambda xp, m, d: Unready(xp, 'x', 3).y,
    lambda xp, m, d: (m.to(xp.float64).p.dtype, m.b.dtype, m.child.weight.dtype),
    lambda xp, m, d: m.to('cpu', xp.float16).p.dtype,
    lambda xp, m, d: m.to(device='cpu', dtype=xp.float64).p.dtype,
    lambda xp, m, d: m.to(xp.ones(1, dtype=xp.float64)).p.dtype,
    lambda xp, m, d: m.to(tensor=xp.ones(1, dtype=xp.float64)).p.dtype,
    lambda xp, m, d: m.to(xp.float64, True).p.dtype,
    lambda xp, m, d: m.to(xp.device('cpu'), None, True).p.dtype,
    lambda xp, m, d: m.to().p.dtype,
    lambda xp, m, d: m.to(float).p.dtype,
    lambda xp, m, d: m.to(xp.int64),
    lambda xp, m, d: m.to(xp.complex64).p.dtype,
    lambda xp, m, d: m.to('cpu', 'cpu'),
    lambda xp, m, d: m.to(xp.float32, xp.float64),
    lambda xp, m, d: m.to(foo=1),
    lambda xp, m, d: m.to('foo'),
    lambda xp, m, d: (m.type(xp.float64).b.dtype, m.half().b.dtype, m.bfloat16().p.dtype,
                      m.double().p.dtype, m.float().p.dtype),
    lambda xp, m, d: m.type(xp.int64),
    lambda xp, m, d: m.to_empty(device='cpu').p.shape,
    lambda xp, m, d: m.share_memory() is m,
    lambda xp, m, d: m.cpu() is m,
    lambda xp, m, d: m.apply(lambda x: None) is m,
    lambda xp, m, d: repr(m),
    lambda xp, m, d: repr(xp.nn.Sequential(
        xp.nn.Linear(1, 2), xp.nn.Sequential(xp.nn.ReLU(), xp.nn.ModuleDict({'a': xp.nn.Tanh()})))),
    lambda xp, m, d: (list(m.named_children()), list(m.children()), setattr(m, 'again', m.child),
                      list(m.named_children())),
    lambda xp, m, d: m.train(1),
    lambda xp, m, d: (m.train(False).child.training, m.training, m.eval() is m),
    lambda xp, m, d: (setattr(m.p, 'grad', xp.ones(4)[:2]), m.zero_grad(False), m.p.grad),
    lambda xp, m, d: (d.keys(), d.values(), d.items(), list(d), len(d), 'a' in d, 'c' in d, d['a']),
    lambda xp, m, d: (d.pop('a'), list(d)),
    lambda xp, m, d: (d.pop(key='b'), list(d)),
    lambda xp, m, d: d.pop('c'),
    lambda xp, m, d: d['c'],
    lambda xp, m, d: (delattr(d, 'a'), list(d)),
    lambda xp, m, d: d.__delitem__('c'),
    lambda xp, m, d: (d.clear(), len(d)),
    lambda xp, m, d: (d.update([('c', xp.nn.Tanh()), ['a', xp.nn.ELU()]]), list(d.items())),
    lambda xp, m, d: (d.update(xp.nn.ModuleDict({'c': xp.nn.Tanh()})), list(d)),
    lambda xp, m, d: d.update(3),
    lambda xp, m, d: d.update([3]),
    lambda xp, m, d: d.update([('c',)]),
    lambda xp, m, d: d.update([('c', 3)]),
    lambda xp, m, d: d.update({'c.d': xp.nn.Tanh()}),
    lambda xp, m, d: xp.nn.ModuleDict([('a', xp.nn.Tanh())]).a,
    lambda xp, m, d: xp.nn.Bilinear(0, 1, 1),
    lambda xp, m, d: xp.nn.Container(a=xp.nn.ReLU(), b=xp.nn.Tanh()),
    lambda xp, m, d: xp.nn.Container(a=3),
    lambda xp, m, d: (xp.nn.DataParallel(m.child), list(xp.nn.DataParallel(m.child).state_dict()),
                      xp.nn.parallel.DataParallel(m.child)(xp.ones(2, 1)).shape),
    lambda xp, m, d: (xp.nn.init.constant(m.p, 3), xp.nn.init.eye(xp.zeros(2, 2)), xp.nn.init.xavier_uniform.__name__),
]


def answer(xp, question):
    with warnings.catch_warnings(record=True) as seen:
        warnings.simplefilter("always")
        try:
            found = repr(question(xp, module(xp), xp.nn.ModuleDict({"a": xp.nn.ReLU(), "b": xp.nn.Identity()})))
        except Exception as e:
            text = str(e).split(". ")[0]
            found = f"{type(e).__name__}: {text}"
            found = found.replace("jtorch.", "torch.")
    return found, [str(w.message) for w in seen]


@pytest.mark.parametrize("question", QUESTIONS, ids=written)
def test_answers(same, question):
    same(lambda xp: answer(xp, question))


def test_casts_keep_parameters_and_their_gradients(xp):
    m = xp.nn.Linear(1, 1)
    m(xp.ones(1, 1)).sum().backward()
    weight, grad = m.weight, m.weight.grad
    m.double()
    assert m.weight is weight
    assert m.weight.grad is grad
    assert (weight.dtype, grad.dtype) == (xp.float64, xp.float64)
    assert weight.is_leaf


def test_compile_changes_nothing():
    import jtorch
    m = jtorch.nn.Linear(1, 1)
    assert m.compile() is None
    assert m(jtorch.ones(1)).shape == (1,)


def test_zero_grad(xp):
    m = xp.nn.Linear(1, 1)
    m(xp.ones(1, 1)).sum().backward()
    grad = m.weight.grad
    m.zero_grad(set_to_none=False)
    assert m.weight.grad is grad
    assert grad.item() == 0.0
    m.zero_grad()
    assert m.weight.grad is None


def test_a_register_buffer_of_a_subclass(xp):
    class Old(xp.nn.Module):
        def register_buffer(self, name, tensor):
            super().register_buffer(name, tensor)

    m = Old()
    m.a = xp.nn.Buffer(xp.ones(1))
    assert list(m.state_dict()) == ["a"]
    with pytest.raises(RuntimeError, match="Registering a non-persistent buffer on a Module subclass that implements register_buffer"):
        m.b = xp.nn.Buffer(xp.ones(1), persistent=False)


def test_call_super_init(xp):
    class Base:
        def __init__(self, x):
            self.x = x

    class Both(xp.nn.Module, Base):
        call_super_init = True

    assert Both(4).x == 4


def test_text_of_several_lines(xp):
    class Long(xp.nn.Module):
        def extra_repr(self):
            return "a=1\n\nb=2"

    assert repr(Long()) == "Long(\n  a=1\n  \n  b=2\n)"
    assert repr(xp.nn.Sequential(Long())) == "Sequential(\n  (0): Long(\n    a=1\n\n    b=2\n  )\n)"


def test_names_that_pytorch_has_elsewhere(xp):
    from_modules = xp.nn.modules
    assert from_modules.module.Module is xp.nn.Module
    assert from_modules.Linear is xp.nn.Linear
    assert issubclass(xp.nn.MSELoss, from_modules.loss._Loss)
    assert from_modules.utils._pair(3) == (3, 3)
    state = {"module.a": 1, "b": 2}
    from_modules.utils.consume_prefix_in_state_dict_if_present(state, "module.")
    assert state == {"a": 1, "b": 2}
    state = xp.nn.Sequential(xp.nn.Sequential(xp.nn.Linear(1, 1))).state_dict()
    from_modules.utils.consume_prefix_in_state_dict_if_present(state, "0.")
    assert list(state) == ["0.weight", "0.bias"]
    assert "0" in state._metadata
