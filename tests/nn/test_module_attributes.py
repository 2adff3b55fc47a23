"""Names of modules: assigning, deleting, finding, registering; casts, modes and text."""
from __future__ import annotations

import warnings

import pytest


def module(xp):
    m = xp.nn.Module()
    m.p, m.child, m.plain = xp.nn.Parameter(xp.ones(2)), xp.nn.Linear(1, 1), 3
    m.register_buffer("b", xp.zeros(2))
    m.register_parameter("none", None)
    return m


class Unready:
    """What a subclass that forgets super().__init__() runs into."""

    def __new__(cls, xp, name, value):
        class Early(xp.nn.Module):
            def __init__(self):
                setattr(self, name, value)
        return Early()


# Expressions in m (a module), d (a dict of two), xp and Unready; their results or errors are PyTorch's.
QUESTIONS = """
setattr(m, 'p', 1)
setattr(m, 'p', xp.ones(2))
setattr(m, 'child', 1)
setattr(m, 'b', 'x')
setattr(m, 'b', None), m.b, dict(m.named_buffers())
setattr(m, 'p', None), m.p, list(m.named_parameters())
setattr(m, 'plain', xp.nn.Linear(1, 1)), 'plain' in m._modules, 'plain' in m.__dict__
setattr(m, 'b', xp.nn.Parameter(xp.ones(1))), list(m._buffers), list(m._parameters)
setattr(m, 'child', xp.nn.Parameter(xp.ones(1))), list(m._modules), list(m._parameters)
setattr(m, 'p', xp.nn.Module()), list(m._modules), list(m._parameters)
setattr(m, 'x', xp.ones(1)), list(m._buffers), 'x' in m.__dict__
setattr(m, 'x', xp.nn.Buffer(xp.ones(1))), list(m._buffers)
m.nothing
delattr(m, 'nothing')
delattr(m, 'p'), list(m._parameters)
delattr(m, 'b'), list(m._buffers)
delattr(m, 'child'), list(m._modules)
delattr(m, 'plain'), hasattr(m, 'plain')
m.register_parameter('p.q', None)
m.register_parameter('', None)
m.register_parameter(1, None)
m.register_parameter('plain', xp.nn.Parameter(xp.ones(1)))
m.register_parameter('x', xp.ones(1))
m.register_parameter('x', xp.nn.Parameter(xp.ones(1)) * 2)
m.register_buffer('a.b', None)
m.register_buffer('', None)
m.register_buffer(3, None)
m.register_buffer('plain', None)
m.register_buffer('x', 3)
m.register_buffer('x', xp.ones(1)), m.x
m.register_module('x', 3)
m.register_module('x.y', xp.nn.Module())
m.register_module('', xp.nn.Module())
m.register_module('plain', xp.nn.Module())
m.register_module(1, xp.nn.Module())
m.register_module('x', None), m.x, list(m.named_children())[-1][0]
m.add_module('x', xp.nn.Module()), list(m._modules)
m.get_submodule('')is m, m.get_submodule('child') is m.child
m.get_submodule('child.weight')
m.get_submodule('child.x')
m.get_parameter('child.weight').shape
m.get_parameter('child.x')
m.get_parameter('b')
m.get_buffer('b').shape
m.get_buffer('p')
m.get_buffer('x')
m.set_submodule('child', xp.nn.ReLU()), m.child
m.set_submodule('child.act', xp.nn.ReLU()), m.child
m.set_submodule('child.act', xp.nn.ReLU(), strict=True)
m.set_submodule('', xp.nn.ReLU())
m.set_submodule('plain', xp.nn.ReLU())
m.set_submodule('child', 3)
m.set_submodule('x.y', xp.nn.ReLU())
[n for n, _ in m.named_modules()], [n for n, _ in m.named_parameters(prefix='q')]
[n for n, _ in m.named_parameters(recurse=False)], [n for n, _ in m.named_buffers('x')]
[n for n, _ in xp.nn.Sequential(m.child, m.child).named_modules()]
[n for n, _ in xp.nn.Sequential(m.child, m.child).named_modules(remove_duplicate=False)]
len(list(xp.nn.Sequential(m.child, m.child).children()))
[n for n in dir(m) if n[0] != '_' and n not in ('T_destination', 'ipu', 'mtia', 'xpu')]
dir(xp.nn.Sequential(m.child)).count('0')
m.train('x')
m.eval().training, m.child.training, m.train().child.training
m.requires_grad_(False).p.requires_grad
m()
xp.nn.Module(1)
xp.nn.Module(a=1)
Unready(xp, 'p', xp.nn.Parameter(xp.ones(1)))
Unready(xp, 'p', xp.nn.Module())
Unready(xp, 'p', xp.nn.Buffer(xp.ones(1)))
Unready(xp, 'x', 3).x
Unready(xp, 'x', 3).y
m.to(xp.float64).p.dtype, m.b.dtype, m.child.weight.dtype
m.to('cpu', xp.float16).p.dtype
m.to(device='cpu', dtype=xp.float64).p.dtype
m.to(xp.ones(1, dtype=xp.float64)).p.dtype
m.to(tensor=xp.ones(1, dtype=xp.float64)).p.dtype
m.to(xp.float64, True).p.dtype
m.to(xp.device('cpu'), None, True).p.dtype
m.to().p.dtype
m.to(float).p.dtype
m.to(xp.int64)
m.to(xp.complex64).p.dtype
m.to('cpu', 'cpu')
m.to(xp.float32, xp.float64)
m.to(foo=1)
m.to('foo')
m.type(xp.float64).b.dtype, m.half().b.dtype, m.bfloat16().p.dtype, m.double().p.dtype, m.float().p.dtype
m.type(xp.int64)
m.to_empty(device='cpu').p.shape
m.share_memory() is m
m.cpu() is m
m.apply(lambda x: None) is m
repr(m)
repr(xp.nn.Sequential(xp.nn.Linear(1, 2), xp.nn.Sequential(xp.nn.ReLU(), xp.nn.ModuleDict({'a': xp.nn.Tanh()}))))
list(m.named_children()), list(m.children()), setattr(m, 'again', m.child), list(m.named_children())
m.train(1)
m.train(False).child.training, m.training, m.eval() is m
setattr(m.p, 'grad', xp.ones(4)[:2]), m.zero_grad(False), m.p.grad
d.keys(), d.values(), d.items(), list(d), len(d), 'a' in d, 'c' in d, d['a']
d.pop('a'), list(d)
d.pop(key='b'), list(d)
d.pop('c')
d['c']
delattr(d, 'a'), list(d)
d.__delitem__('c')
d.clear(), len(d)
d.update([('c', xp.nn.Tanh()), ['a', xp.nn.ELU()]]), list(d.items())
d.update(xp.nn.ModuleDict({'c': xp.nn.Tanh()})), list(d)
d.update(3)
d.update([3])
d.update([('c',)])
d.update([('c', 3)])
d.update({'c.d': xp.nn.Tanh()})
xp.nn.ModuleDict([('a', xp.nn.Tanh())]).a
xp.nn.Bilinear(0, 1, 1)
xp.nn.Container(a=xp.nn.ReLU(), b=xp.nn.Tanh())
xp.nn.Container(a=3)
xp.nn.DataParallel(m.child), list(xp.nn.DataParallel(m.child).state_dict()), xp.nn.parallel.DataParallel(m.child)(xp.ones(2, 1)).shape
xp.nn.init.constant(m.p, 3), xp.nn.init.eye(xp.zeros(2, 2)), xp.nn.init.xavier_uniform.__name__
""".strip().splitlines()


def answer(xp, source):
    with warnings.catch_warnings(record=True) as seen:
        warnings.simplefilter("always")
        try:
            found = repr(eval(source, {"m": module(xp), "d": xp.nn.ModuleDict({"a": xp.nn.ReLU(), "b": xp.nn.Identity()}),
                                      "xp": xp, "Unready": Unready}))
        except Exception as e:
            text = str(e).split(". ")[0]
            found = f"{type(e).__name__}: {text}"
            found = found.replace("jtorch.", "torch.")
    return found, [str(w.message) for w in seen]


@pytest.mark.parametrize("source", QUESTIONS)
def test_answers(same, source):
    same(lambda xp: answer(xp, source))


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
