"""vmap over objects that hold tensors with leading dims of their own, as tensordict's do."""
from __future__ import annotations

import pytest

import jtorch as torch
from jtorch._C import _functorch
from jtorch.utils import _pytree


class Rows:
    """Tensors that share the first dims ``batch_size``."""

    def __init__(self, tensors, batch_size):
        self.tensors, self.batch_size = tensors, torch.Size(batch_size)
        for t in tensors.values():
            assert t.shape[:len(self.batch_size)] == self.batch_size

    shape = property(lambda self: self.batch_size)

    def dim(self):
        return len(self.batch_size)

    def __getitem__(self, index):
        taken = {key: t[index] for key, t in self.tensors.items()}
        return Rows(taken, torch.empty(self.batch_size)[index].shape)

    def _add_batch_dim(self, *, in_dim, vmap_level):
        made = {key: _functorch._add_batch_dim(t, in_dim, vmap_level) for key, t in self.tensors.items()}
        return Rows(made, [n for i, n in enumerate(self.batch_size) if i != in_dim])

    def _maybe_remove_batch_dim(self, funcname, vmap_level, batch_size, out_dim):
        made = {key: _functorch._remove_batch_dim(t, vmap_level, batch_size, out_dim) for key, t in self.tensors.items()}
        size = list(self.batch_size)
        size.insert(out_dim, batch_size)
        return Rows(made, size)

    @classmethod
    def __torch_function__(cls, func, types, args=(), kwargs=None):
        (rows,), dim = args, (kwargs or {}).get("dim", 0)
        found = {key: torch.stack([row.tensors[key] for row in rows], dim) for key in rows[0].tensors}
        size = list(rows[0].batch_size)
        size.insert(dim, len(rows))
        return cls(found, size)


_pytree.register_pytree_node(Rows, lambda r: (list(r.tensors.values()), (list(r.tensors), r.batch_size)),
                             lambda values, context: Rows(dict(zip(context[0], values, strict=True)), context[1]))


@pytest.mark.parametrize("in_dim", [0, 1])
@pytest.mark.parametrize("grad", [False, True])
def test_batch_leaves_and_comes_back(in_dim, grad):
    x = torch.arange(24.0).reshape(2, 3, 4).requires_grad_(grad)
    seen = []

    def double(rows):
        seen.append(tuple(rows.batch_size))
        return Rows({"y": rows.tensors["x"] * 2}, rows.batch_size)

    made = torch.func.vmap(double, in_dims=in_dim, out_dims=in_dim)(Rows({"x": x}, [2, 3]))
    assert set(seen) == {(3,) if in_dim == 0 else (2,)}
    assert tuple(made.batch_size) == (2, 3)
    assert torch.equal(made.tensors["y"], x * 2)
    if grad:
        made.tensors["y"].sum().backward()
        assert x.grad.eq(2).all()


def test_sizes_that_do_not_fit():
    with pytest.raises(ValueError, match="same size in the mapped dimension"):
        torch.func.vmap(lambda r, t: r)(Rows({"x": torch.ones(2, 3)}, [2]), torch.ones(4))
