"""torch.ops._c10d_functional, c10d_functional and torch._higher_order_ops.out_dtype."""
from __future__ import annotations

import pytest

import jtorch as torch
from jtorch._higher_order_ops.out_dtype import out_dtype


@pytest.fixture
def group(tmp_path):
    torch.distributed.init_process_group("gloo", init_method=f"file://{tmp_path}/store", rank=0, world_size=1)
    yield torch.distributed.group.WORLD
    torch.distributed.destroy_process_group()


def test_schemas():
    ops = torch.ops._c10d_functional
    assert str(ops.all_gather_into_tensor.default._schema) == (
        "_c10d_functional::all_gather_into_tensor(Tensor input, int group_size, Any group_name) -> Tensor")
    assert str(torch.ops.c10d_functional.broadcast.default._schema) == (
        "c10d_functional::broadcast(Tensor self, int src, str tag, int[] ranks, int group_size) -> Tensor")
    assert torch.ops.c10d.scatter_.default._schema.name == "c10d::scatter_"


def test_one_rank(group):
    x, ops, older = torch.arange(6.0).reshape(3, 2), torch.ops._c10d_functional, torch.ops.c10d_functional
    name = group.group_name
    found = [ops.all_reduce(x, "sum", name), ops.all_gather_into_tensor(x, 1, name), ops.reduce_scatter_tensor(x, "sum", 1, name),
             ops.broadcast(x, 0, name), ops.all_to_all_single(x, [3], [3], name), older.all_reduce(x, "sum", "", [0], 1),
             older.all_gather_into_tensor(x, "", [0], 1), older.all_to_all_single(x, None, None, "", [0], 1)]
    for y in found:
        assert torch.ops._c10d_functional.wait_tensor(y).tolist() == x.tolist()
        assert y.data_ptr() != x.data_ptr()


def test_product_in_a_wider_dtype():
    a = torch.full((2, 2), 100, dtype=torch.int8)
    assert out_dtype(torch.ops.aten.mm.default, torch.int32, a, a).tolist() == [[20000, 20000], [20000, 20000]]
    with pytest.raises(ValueError, match="must be an OpOverload"):
        out_dtype(torch.mm, torch.int32, a, a)
    with pytest.raises(ValueError, match="only allows"):
        out_dtype(torch.ops.aten.add.Tensor, torch.int32, a, a)
