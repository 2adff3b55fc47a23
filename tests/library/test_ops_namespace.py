"""torch.ops: PyTorch's own operators by their schemas, namespaces, compiled libraries."""
from __future__ import annotations

import pytest

CALLS = {
    "add.Tensor": lambda o, x: o.add.Tensor(x, 2, alpha=3),
    "add": lambda o, x: o.add(x, x),
    "sum.dim_IntList": lambda o, x: o.sum.dim_IntList(x, [0], True),
    "softmax.int": lambda o, x: o.softmax.int(x, 1),
    "relu_": lambda o, x: o.relu_.default(x.clone() - 2),
    "mm": lambda o, x: o.mm(x, x.t()),
    "addmm": lambda o, x: o.addmm.default(x[:, :2], x, x.t()[:, :2], beta=0.5),
    "view": lambda o, x: o.view.default(x, [3, 2]),
    "cat": lambda o, x: o.cat.default([x, x], 1),
    "linalg_vector_norm": lambda o, x: o.linalg_vector_norm.default(x),
    "max.dim": lambda o, x: list(o.max.dim(x, 1)),
    "clamp": lambda o, x: o.clamp.default(x, 1, 3),
    "upsample": lambda o, x: o.convolution.default(x[None], x[:, :, None].expand(2, 3, 1)[:, :2].contiguous(), None, [1], [0], [1],
                                                   False, [0], 1),
    "index": lambda o, x: o.index.Tensor(x, [None, x[0].long()]),
    "slice": lambda o, x: o.slice.Tensor(x, 1, 0, 3, 2),
    "alias": lambda o, x: o.alias.default(x),
    "_to_copy": lambda o, x: o._to_copy.default(x, dtype=x.long().dtype),
    "_sparse_addmm": lambda o, x: o._sparse_addmm.default(x[:, :2], x.to_sparse(), x.t()[:, :2], beta=0.5),
}


@pytest.mark.parametrize("case", CALLS)
def test_aten(same, case):
    same(lambda xp: CALLS[case](xp.ops.aten, xp.arange(6.0).view(2, 3)))


def test_out(xp):
    out = xp.empty(2)
    assert xp.ops.aten.add.out(xp.ones(2), xp.ones(2), out=out) is out and out.tolist() == [2, 2]


def test_aten_is_differentiated(xp):
    x = xp.ones(2, requires_grad=True)
    xp.ops.aten.mul.Tensor(x, x).sum().backward()
    assert x.grad.tolist() == [2, 2]


@pytest.mark.parametrize("name", ["add.Tensor", "sum.dim_IntList", "conv2d.default", "softmax.int", "div.Tensor_mode"])
def test_schemas(same, name):
    def run(xp):
        op, _, overload = name.partition(".")
        found = getattr(getattr(xp.ops.aten, op), overload)
        return str(found._schema), str(found), found.name(), found.overloadpacket.__name__
    same(run)


def test_what_is_not_there(xp):
    with pytest.raises(AttributeError, match="'_OpNamespace' 'aten' object has no attribute 'nope'"):
        _ = xp.ops.aten.nope
    with pytest.raises(AttributeError, match="The underlying op of 'aten.add' has no overload name 'Tensr'"):
        _ = xp.ops.aten.add.Tensr
    assert not hasattr(xp.ops.some_namespace, "f")
    with pytest.raises(OSError, match="Could not load this library"):
        xp.ops.load_library("/there/is/no/such/file.so")


def test_what_is_not_built_has_a_packet(xp):
    found = xp.ops.aten.mkldnn_max_pool2d.default
    assert found.name() == "aten::mkldnn_max_pool2d" and str(found._schema).startswith("aten::mkldnn_max_pool2d(Tensor self, ")
    if xp.__name__ == "jtorch":
        with pytest.raises(NotImplementedError, match="torch.ops.aten.mkldnn_max_pool2d is not built: call the functions of"):
            found(xp.ones(1, 1, 4, 4), [2, 2])


ASSERTIONS = {
    "as it is": ([[2, 3], [3, 1], "float32"], {"device": "cpu"}), "sizes": ([[2, 4]], {}), "strides": ([None, [1, 2]], {}),
    "dtype": ([None, None, "int64"], {}), "device": ([], {"device": "meta"}),
}


@pytest.mark.parametrize("case", ASSERTIONS)
def test_assertions_of_metadata(same, case):
    def run(xp):
        given, kw = ASSERTIONS[case]
        args = [getattr(xp, a) if isinstance(a, str) else a for a in given]
        says = []
        for f in (xp.ops.aten._assert_tensor_metadata.default, xp._assert_tensor_metadata):
            try:
                says.append(f(xp.ones(2, 3), *args, **kw))
            except RuntimeError as error:
                says.append(str(error).partition("Got")[0])
        return says
    same(run)


def test_the_schema_file_is_as_the_tool_writes_it(run_python):
    pytest.importorskip("torch")
    run_python("import sys; sys.argv.append('--check'); from tools.aten_schemas import main; assert main() == 0")
