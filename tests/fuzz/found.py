"""Programs with a past difference from PyTorch, found by the fuzzer and shortened: name -> statements."""
from __future__ import annotations

from found_later import FOUND_LATER
from found_leaves import FOUND_LEAVES
from found_saved import FOUND_SAVED

FOUND = FOUND_LATER | FOUND_LEAVES | FOUND_SAVED | {
    "stack of another dtype into out=": """
t1 = xp.zeros(2, 2) == 0
xp.stack([t1[0] * 2, t1[0] * 2], out=t1)
""",
    "a write through imag gives a node named AsStrided": """
t1 = (xp.arange(2.) + 1j).requires_grad_()
t2 = t1 * 1
t3 = t2.imag
t3[...] = 2 * t3
""",
    "a view of view_as_complex whose base is written to": """
t1 = xp.arange(8.).reshape(2, 2, 2).requires_grad_()
t2 = t1.sin()
t3 = xp.view_as_complex(t2)
t4 = t3.view_as(t3)
t3.zero_()
""",
    "copy_ of an expanded tensor onto itself": """
t1 = xp.arange(4.)
t2 = t1.as_strided((2, 2), (0, 2))
t2[()] = t2[()].detach()
""",
    "a tensor assigned to itself at True": """
t1 = xp.arange(6.).reshape(2, 3).t()
t1[True] = t1
""",
    "a multi-grad hook on a leaf in grad()": """
t1 = xp.ones(3).requires_grad_()
t2 = xp.ones(2).requires_grad_()
xp.autograd.graph.register_multi_grad_hook([t1, t2], lambda gs: log.append([g is None for g in gs]))
t3 = xp.autograd.grad(t2.sum(), t2)[0]
""",
    "a multi-grad hook on the tensor that backward starts from": """
t1 = xp.ones(3).requires_grad_()
t2 = t1 * 1
xp.autograd.graph.register_multi_grad_hook([t2, t1], lambda gs: log.append([g is None for g in gs]))
t2.backward(t2.detach().clone(), retain_graph=True)
""",
    "a str as index": """
t1 = xp.ones(2, 3)
t2 = t1['x']
t3 = t1[0, 'x']
t4 = t1[0, 0, 'x']
t1[0, 'x'] = 1
""",
    "names of nodes of views of 0-dim tensors": """
t1 = xp.tensor(2.).requires_grad_()
t2 = xp.atleast_2d(t1)
t3 = xp.atleast_3d(t1)
t4 = t1.movedim(-1, 0)
""",
    "retain_grad of a view that is written to": """
t1 = xp.arange(18.).reshape(3, 6).requires_grad_()
t2 = t1 * 1
p = t2.tensor_split((1,), 0); t5, t6 = p[0], p[-1]
t6.retain_grad()
t6[xp.arange(2) > 0] = -1
t5.mean().backward()
""",
    "the writes of index_put and masked_fill on an expanded tensor": """
t1 = xp.arange(24).reshape(2, 3, 4)
t2 = t1.expand([2, 2, 3, 4])
t2.index_put_((xp.tensor([0, 0]),), xp.tensor(1), accumulate=True)
t2[xp.tensor([0])] = 7
t3 = t1[0].expand(2, 3, 4)
t3[xp.arange(2) > 0, ...] = 5
""",
    "a write at an index of windows that overlap": """
t1 = xp.arange(6.)
t2 = t1.as_strided((2, 3), (1, 1))
t2[xp.arange(2) > 0, ...] = xp.arange(3.) + 20
t3 = t1.unfold(0, 2, 1)
t3[...] = xp.arange(2.) + 50
""",
    "unique has a node without a derivative": """
t1 = xp.arange(4.).requires_grad_()
t2 = t1.unique()
t3 = t1.unique_consecutive()
t2.sum().backward()
""",
    "a result that is saved beside the argument is written to": """
t1 = (xp.arange(4.) + 1).requires_grad_()
t2 = xp.cumprod(t1, 0)
t2.add_(t1)
t2.sum().backward()
t3 = t1.prod()
t3.mul_(2)
t3.backward()
t4 = t1.std()
t4.add_(1)
t4.backward()
t5 = t1.norm()
t5.add_(1)
t5.backward()
""",
    "a saved result is written to behind autograd's back": """
t1 = xp.arange(3.).requires_grad_()
t2 = t1.exp()
t3 = t1.softmax(0)
t2.data.add_(1)
t3.data.zero_()
t2.sum().backward()
t3[0].backward()
""",
    "a saved result is written to by NumPy": """
t1 = xp.arange(3.).requires_grad_()
t2 = t1.sigmoid()
n3 = t2.detach().numpy()
n3[...] = 0.25
t2.sum().backward()
""",
    "a saved argument is written to by NumPy": """
t1 = xp.arange(3.).requires_grad_()
t2 = t1 * 1
t3 = t2 * t2
n4 = t2.detach().numpy()
n4[...] = 5
t3.sum().backward()
""",
    "an array of no dimensions is copied by asarray": """
n1 = np.arange(1).reshape(())
t2 = xp.from_numpy(n1)
t3 = xp.asarray(n1)
n1 += 1
""",
    "a remainder saves nothing where only its first argument needs a gradient": """
t1 = xp.tensor(3.).requires_grad_()
t2 = t1 % 2
t2.backward()
t2.backward()
""",
    "index_select of an empty dim": """
t1 = xp.ones(2, 0)
t2 = t1.index_select(1, xp.tensor([0]))
""",
    "index_copy_ and index_add_ of one number": """
t1 = xp.ones(2, 3)
t1.index_copy_(-1, xp.tensor([0, 2]), xp.tensor(1.))
t2 = xp.ones(4)
t2.index_add_(-1, xp.tensor([1, 3]), t2.select(0, 1))
""",
    "errors of shapes come before those of shared memory": """
t1 = xp.tensor(1.)
t1.index_copy_(1, xp.tensor([0]), t1)
t2 = xp.ones(2)
t2.put_(xp.tensor([5]), t2[:1])
""",
    "argmax refuses its dtype before its dim": """
t1 = xp.tensor(True)
t2 = t1.argmax(dim=1)
""",
    "backward with inputs runs the hooks of a node that is an input": """
t1 = xp.arange(3.).requires_grad_()
t2 = t1.expand([3])
t2.grad_fn.register_prehook(lambda go: log.append(('p', len(go))))
t2.prod().backward(inputs=[t2], retain_graph=True)
""",
    "backward with inputs runs an input's node that has no derivative": """
t1 = xp.arange(3.).requires_grad_()
t2 = (t1 + 1) // 2
t2.sum().backward(inputs=[t2])
""",
    "a view made under no_grad as an input of backward, and as its root": """
t1 = xp.arange(4.).requires_grad_()
t2 = t1 - 0
with xp.no_grad(): t3 = t2.view(2, 2)
t3.mean().backward(inputs=[t3], retain_graph=True)
t3.backward(t3.detach().clone())
""",
    "where into out= of another dtype": """
t1 = xp.ones(2)
t2 = xp.ones(2, dtype=xp.float64)
t3 = xp.ones(2)
xp.where(t1 > 1, t1, t2, out=t3)
""",
    "mT of a complex tensor of no dimensions": """
t1 = xp.tensor(1j)
t2 = t1.mT
""",
    "slice_scatter keeps the offset": """
t1 = xp.arange(8)[2:]
t2 = xp.slice_scatter(t1, t1[:2] * 2, 0, 0, 2)
""",
    "the strides of a complex tensor's abs": """
t1 = xp.ones(1, 3, dtype=xp.complex64)[:, :2]
t2 = t1.abs()
""",
    "a leaf that needs no gradient any more": """
t1 = xp.ones(3).requires_grad_()
t2 = t1 * 1
t1.requires_grad_(False)
t2.sum().backward()
""",
    "an array that is not in order is copied with its strides": """
n1 = np.arange(6.).reshape((2, 3)).T
t2 = xp.tensor(n1)
""",
    "squeeze_ of a view under no_grad": """
t1 = xp.ones(3).requires_grad_()
t2 = t1.view(1, 3)
with xp.no_grad(): t2.squeeze_()
(t2 * 3).sum().backward()
""",
    "a hook of an output that gets no gradient": """
t1 = xp.ones(4).requires_grad_()
p = t1.chunk(2); t2, t3 = p[0], p[-1]
t2.register_hook(lambda g: log.append(g is None))
t3.sum().backward()
""",
    "a hook of a part that is a slice": """
t1 = xp.ones(2, 3).requires_grad_()
p = xp.hsplit(t1, [1]); t2, t3 = p[0], p[-1]
t2.grad_fn.register_hook(lambda gi, go: log.append(go[0].tolist()))
t3.sum().backward()
""",
    "names of the nodes of matmul": """
t1 = xp.ones(2, 2, 2).requires_grad_()
t2 = t1 @ t1
t3 = t1[0] @ t1[0]
t4 = t1[0] @ t1[0, 0]
t5 = t1[0, 0] @ t1[0, 0]
""",
    "a base that is detached after a write through its view": """
t1 = xp.ones(4).requires_grad_()
t2 = t1 + t1
t3 = t2[:2]
t3.copy_(xp.zeros(2))
t2.detach_()
t3.sum().backward()
""",
    "in-place calls of tensors that promote to another dtype": """
t1 = xp.ones(3, dtype=xp.float64).requires_grad_()
t2 = t1.float()
t2.mul_(t1)
""",
    "an in-place call whose other argument is the tensor itself": """
t1 = xp.ones(3).requires_grad_()
t2 = t1 * 1
t2.mul_(t2)
t2.sum().backward()
t3 = t1 * 1
t3.addcdiv_(t3, t3)
t3.sum().backward()
""",
    "hooks of a view's node that a write has replaced": """
t1 = xp.ones(3).requires_grad_()
t2 = t1 * 1
t3 = t2.view(-1)
t3.grad_fn.register_prehook(lambda go: log.append(len(go)))
t3.masked_fill_(t3 > 1, 2)
t3.prod().backward()
""",
    "strides of what is taken at an index tensor": """
t1 = xp.arange(24.).reshape(2, 3, 4).mT
t2 = t1[xp.tensor([0])]
t3 = t1[:, xp.tensor([[0, 1], [1, 2]]).t()]
t4 = t1[xp.tensor([0, 1]), :, xp.tensor([0, 1])]
""",
    "a second backward through a write to a view": """
t1 = xp.ones(4).requires_grad_()
t2 = t1 * 1
t2[0].add_(1)
t2.sum().backward()
t2.sum().backward()
""",
    "what a number divided by a tensor saves": """
t1 = (xp.arange(4.) + 1).requires_grad_()
t2 = t1 * 1
t3 = 0.5 / t2
t2.add_(1)
t3.sum().backward()
""",
    "what extremes along a dim save": """
t1 = xp.arange(6.).reshape(2, 3).requires_grad_()
t2 = t1 * 1
t3 = t2.max(0).values
t4 = t2.median(1)[0]
t5 = t2.max()
t2.add_(1)
t3.sum().backward(retain_graph=True)
t4.sum().backward(retain_graph=True)
t5.backward(retain_graph=True)
""",
    "a hook of a view that is copied onto itself": """
t1 = xp.ones(3).requires_grad_()
t2 = (t1 * 1)[...]
t2.register_hook(lambda g: g * 2)
t2[()] = t2
t2.sum().backward()
""",
    "strides where a dim has one element": """
t1 = xp.arange(3).reshape(1, 3).movedim(0, -1)
t2 = 2 / t1
t3 = xp.isfinite(t1)
t4 = xp.diff(xp.arange(24.).reshape(2, 3, 2, 2).swapdims(-3, -2))
t5 = xp.nan_to_num(xp.arange(3.).reshape(1, 3)[:, :2])
""",
    "a reduction's result is written to behind autograd's back": """
t1 = (xp.arange(6.) + 1).reshape(2, 3).requires_grad_()
t3 = t1.prod()
t4 = t1.std(1)
t3.data.add_(1)
t4.data.add_(1)
t3.backward()
t4.sum().backward()
""",
    "a slice that goes beyond the end": """
t1 = xp.ones(2, 1, 3).requires_grad_() * 1
t2 = t1[..., :2, :]
""",
    "a bool index without dims": """
t1 = xp.tensor(True)
t1[t1 > 1] = xp.tensor(1.)
""",
    "a copy of a view that may not be used any more": """
t1 = xp.arange(6.).reshape(2, 1, 3).requires_grad_()
p = t1.split(1, -1); t5, t6 = p[0], p[-1]
with xp.no_grad(): t5.add_(1)
t7 = copy.copy(t6)
""",
    "memory that ends within an element of a wider view": """
t1 = xp.arange(3.)
t2 = xp.view_as_complex(t1[:2])
t2.mul_(2j)
t3 = xp.arange(5.).requires_grad_()
t4 = t3 * 1
t5 = xp.view_as_complex(t4[:4].view(2, 2))
t5.mul_(2j)
t4.sum().backward()
n6 = np.arange(3.)
t7 = xp.from_numpy(n6)
t8 = xp.view_as_complex(t7[:2])
t8.mul_(2)
""",
    "hooks of the views between a base and a view that is written to": """
t1 = xp.ones(3).requires_grad_()
t2 = t1 * 1
t3 = t2.view(-1)
t3.grad_fn.register_hook(lambda gi, go: log.append(go[0].tolist()))
t3[...].add_(1)
t3.sqrt().sum().backward()
""",
    "a tensor swapped with itself": """
t1 = xp.ones(2).requires_grad_()
t2 = t1 * 2
xp.utils.swap_tensors(t2, t2)
""",
    "numbers of other dtypes that are written at a mask": """
t1 = xp.arange(3) > 5
t1[t1 == t1] = xp.tensor(1j)
t2 = xp.arange(3)
t2[t2 > 5] = xp.tensor(1j)
t2[t2 > 1] = xp.tensor(2.5)
t2[t2 > 1, ...] = xp.tensor([3e30])
t2.masked_fill_(t2 > 0, xp.tensor(2 + 0j))
t2.index_put_((t2 > 0,), xp.tensor(1.5))
t2.index_fill_(0, xp.tensor([0]), 1e30)
""",
    "errors of indices come before those of dtypes": """
t1 = xp.zeros(3, 0)
t1[:, xp.tensor([0])] = xp.tensor([1, 2])
t2 = xp.zeros(3, 4)
t2[xp.tensor([0])] = xp.zeros(7, dtype=xp.int32)
""",
    "the median of nothing": """
t1 = xp.arange(0) > 0
t2 = t1.median()
t3 = xp.zeros(2, 0).median(1)[0]
t4 = (xp.zeros(2, 0) * 1j).min(1).values
""",
    "a second backward through an op that saves indices": """
t1 = xp.arange(6.).reshape(2, 3).requires_grad_()
t2 = t1.sort(0)[0]
t3 = t1.topk(2)[0]
t4 = t1.mode(0)[0]
t2.sum().backward()
t2.cos().sum().backward()
t3.sum().backward()
t3.cos().sum().backward()
t4.sum().backward()
t4.cos().sum().backward()
""",
    "a second backward through an op that saves nothing": """
t1 = xp.arange(6.).reshape(2, 3).requires_grad_()
t2 = xp.addcmul(t1, xp.ones(3), xp.ones(3))
t3 = xp.lerp(t1, t1 * 1, 0.5)
t2.sum().backward()
t2.sum().backward()
""",
    "a view that may not be used, in a call that is wrong in another way": """
t1 = xp.ones(1).requires_grad_() * 1
with xp.no_grad(): t2 = t1.reshape(())
with xp.no_grad(): t3 = t1.view(1)
t1.add_(1)
t2.unbind()
t3.view(7)
t3.sum(5)
t3 + xp.ones(2, 3).long()[:, :0]
t3.chunk(2, 5)
t3.as_strided((9,), (1,))
""",
    "dtypes that an in-place call refuses before it looks at the memory": """
t1 = (xp.arange(3.) + 1j).expand(2, 3)
t1.sign_()
t1.floor_()
t2 = (xp.arange(3) > 1).expand(2, 3)
t2.index_copy_(-2, xp.tensor([1]), t2[0])
""",
    "a base of a complex view that has got another shape": """
t1 = xp.ones(2, 2, 2).requires_grad_()
t2 = t1 * 1
t3 = xp.view_as_complex(t2)
t2.as_strided_((1, 3), (0, 3), 1)
""",
    "triu_ of expanded matrices that do not lie one behind the other": """
t1 = xp.arange(8.).reshape(2, 2, 2)[:, None, -2, :, None]
t2 = t1.broadcast_to(2, 2, 1, 2, 1)
t2.triu_(1)
t3 = xp.arange(12.).reshape(3, 4).expand(2, 3, 4)
t3.tril_()
""",
    "indices out of range where there is nothing to read": """
t1 = xp.ones(2, 3, 0, 2)
t2 = t1[xp.tensor([2, 1, 2])]
t1[xp.tensor([5])] = 1
""",
    "slices of a dim that has none": """
t1 = xp.zeros(0, 3)
t1.index_copy_(0, xp.tensor([0]), xp.ones(1, 3))
t1.index_fill_(0, xp.tensor([0]), 3)
t1.index_add_(0, xp.tensor([0]), xp.ones(1, 3))
t2 = xp.ones(1, 3)
t3 = t2.split([0, 1], 0)[0]
t3.index_copy_(0, xp.tensor([0]), t2)
t4 = xp.ones(3)[:0]
t4.index_add_(0, xp.tensor([0]), xp.ones(1))
t5 = t1.roll(1, 4)
""",
    "tensors of which views of another dtype were taken cannot be swapped": """
t1 = xp.arange(8.).reshape(2, 2, 2)
t2 = xp.view_as_complex(t1)
t3 = xp.ones(2)
xp.utils.swap_tensors(t1, t3)
t4 = t2[0]
xp.utils.swap_tensors(t2, t3)
""",
    "a tensor that gather has saved cannot be swapped": """
t1 = xp.tensor(2.).requires_grad_()
t2 = t1.gather(-1, xp.tensor(0))
xp.utils.swap_tensors(t1, t2)
""",
    "strides of a sum with alpha": """
t1 = xp.arange(6.).reshape(1, 2, 3).transpose(0, 1)
t2 = xp.add(t1, t1, alpha=2)
t3 = t1 + 2
""",
    "a leaf that has got another shape before the backward": """
t1 = xp.ones(2, 3).requires_grad_()
t2 = t1 * 2
with xp.no_grad(): t1.unsqueeze_(0)
t2.sum().backward()
t3 = xp.ones(2, 3).requires_grad_()
t4 = t3 * 2
with xp.no_grad(): t3.transpose_(0, 1)
t4.sum().backward()
t5 = xp.ones(2, 1).requires_grad_()
t6 = t5 * 2
with xp.no_grad(): t5.squeeze_()
t6.sum().backward()
""",
    "a tensor that has got another shape than its node knows": """
t1 = xp.ones(2, 3).requires_grad_()
t2 = t1 * 1
with xp.no_grad(): t2.set_(xp.ones(4, 2, 3))
t2.sum().backward()
t3 = t1 * 1
with xp.no_grad(): t3.t_()
t3.sum().backward()
""",
    "set_ of a tensor that retains its gradient": """
t1 = xp.ones(1).requires_grad_()
t2 = (t1 * 1).floor()
t2.prod().backward(inputs=[t2], retain_graph=True)
t2.set_(xp.ones(2, 1))
t3 = xp.autograd.grad(t2.prod(), t1, allow_unused=True)[0]
""",
    "a product with a zero whose result is written to": """
t1 = (xp.arange(4.) - 3).requires_grad_()
t2 = t1.prod()
t2.data.add_(1)
t2.backward()
""",
    "a sign that is written to behind autograd's back": """
t1 = xp.tensor(1 + 2j).requires_grad_()
t2 = t1.sgn()
t2.data.add_(1)
t2.real.backward()
""",
    "an argument beside a saved result is written to behind autograd's back": """
t1 = xp.arange(4.).requires_grad_()
t2 = t1 * 1
t3 = t2.logsumexp(0)
t4 = t2.view(2, 2)
t5 = t1.logsumexp(0)
t4.data.add_(1)
t3.backward()
with xp.no_grad(): t1.add_(1)
t5.data.add_(1)
t5.backward()
""",
    "retain_grad of a view that may not be used": """
t1 = xp.ones(3, 4).requires_grad_() * 1
with xp.no_grad(): t2 = t1[:, :0]
with xp.no_grad(): t1.add_(1)
t2.retain_grad()
""",
    "backward with inputs does not need the derivative of an input's node": """
t1 = xp.tensor(1.).requires_grad_()
t2 = t1.unique()
t2.mean().backward(inputs=[t2], retain_graph=True)
""",
    "set_ with a storage of as many elements keeps the strides": """
t1 = xp.arange(6) > 2
t2 = t1[:1].expand(6)
t2.set_(t1.untyped_storage())
""",
    "an index of a leaf that is out of range beside an index tensor": """
t1 = xp.ones(2, 3).requires_grad_()
t1[xp.tensor([-1, -1]), 9] = 1
t1[xp.tensor([True, False, True])] = 1
""",
    "view_as leads no gradient to the tensor whose shape it takes": """
t1 = xp.arange(6.).requires_grad_()
t2 = t1 * 1
t3 = t1.view_as(t2)
t4 = xp.autograd.grad(t3.sum(), t2, allow_unused=True)[0]; t4 = xp.zeros(()) if t4 is None else t4
""",
    "what take_along_dim saves": """
t1 = xp.arange(6.)
t2 = t1.view(-1)
t2.requires_grad_()
t3 = t2.take_along_dim(xp.tensor([0]), -1)
with xp.no_grad(): t1.add_(1)
t3.sum().backward()
""",
    "a norm that is written to behind autograd's back": """
t1 = (xp.arange(6.) - 2).reshape(2, 3).requires_grad_()
t2 = t1.norm(dim=0, keepdim=True)
t3 = t1.norm(3, dim=1)
t4 = t1.norm(float('inf'))
t2.data.add_(1)
t3.data.add_(1)
t4.data.add_(1)
t2.sum().backward()
t3.sum().backward()
t4.backward()
""",
    "what slice_scatter and its like copy": """
t1 = xp.arange(12.).reshape(3, 4).requires_grad_()
t2 = (t1 * 1)[:2]
t3 = t2.select_scatter(xp.zeros(4), 0, 1)
t4 = t2.t().select_scatter(xp.zeros(2), 0, 1).as_strided((12,), (1,), 0)
t5 = t3.as_strided((12,), (1,), 0)
t6 = t2.expand(2, 2, 4).diagonal_scatter(xp.zeros(4, 2))
t7 = xp.arange(3.).reshape(1, 3)[1:]
t8 = t7.slice_scatter(t7 * 2, 0, 0, 0)
t8.set_(t8.untyped_storage())
""",
    "diagonal_scatter of windows that overlap": """
t1 = xp.arange(6.).unfold(0, 3, 1)
t2 = t1.diagonal_scatter(xp.zeros(3))
""",
    "out= of a dtype that the op refuses": """
t1 = xp.ones(2, 3)
t2 = xp.ones(1).long()
xp.amax(t1, 5, out=t2)
xp.tril(t1, out=t2)
xp.index_select(t1, 0, xp.tensor([9]), out=t2)
t3 = xp.ones(3).requires_grad_()
xp.eq(t3, t3, out=t2)
""",
    "sort of complex numbers along a dim that is not there": """
t1 = xp.ones(2) * 1j
t2 = t1.sort(5)
""",
}
