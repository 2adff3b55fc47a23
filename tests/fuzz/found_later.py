"""More of ``found.py``: mostly saved values of nodes, and strides."""
from __future__ import annotations

FOUND_LATER = {
    "hypot whose arguments or result are written to behind autograd's back": """
t1 = (xp.arange(3.) + 1).requires_grad_()
t2 = xp.arange(3) + 2
t3 = xp.ones(2, 1).requires_grad_()
t4 = xp.hypot(t2, t1)
t5 = xp.hypot(t1, t3)
n6 = np.asarray(t2)
n6[...] = 7
t5.data.mul_(3)
t1.data.add_(1)
t4.sum().backward()
t5.sum().backward()
""",
    "as_strided_ of a tensor that shows elements several times": """
t1 = xp.arange(6.).reshape(2, 3).requires_grad_()
t2 = t1 * 1
t3 = t2.broadcast_to(2, 2, 3)
t3.as_strided_((1, 1), (1, 0), 1)
xp.autograd.backward([t3.sum(), t2.sum()])
t4 = (t1 * 1).view(-1).unfold(0, 3, 1).as_strided((3, 2), (1, 3))
(t4 * xp.arange(6.).reshape(3, 2)).sum().backward()
""",
    "deepcopy of a view made under no_grad": """
t1 = xp.ones(3).requires_grad_() * 1
with xp.no_grad(): t2 = t1.unbind()[0]
t3 = copy.deepcopy(t2)
""",
    "the versions of all that was saved count, also of what a gradient does not need": """
t1 = xp.ones(3).requires_grad_()
t2 = xp.ones(3).requires_grad_()
t3 = t1 * t2
with xp.no_grad(): t2.add_(1)
t4 = xp.autograd.grad(t3.sum(), t2)[0]
""",
    "a view made under no_grad that is saved where no gradient is needed": """
t1 = xp.arange(4.).requires_grad_()
t2 = t1 * 1
with xp.no_grad(): t3 = t2.view(2, 2)
t4 = t3.abs()
with xp.no_grad(): t3.add_(1)
t4.sum().backward()
""",
    "products of bools where there is nothing to multiply": """
t1 = xp.arange(6).reshape(2, 3) > 2
t2 = t1[:, :0] @ t1[:, :0].T
t3 = t1[:0] @ t1.T
t4 = t1[None, :, :0].expand(2, 2, 0) @ t1[:0][None].expand(2, 0, 3)
t5 = t1[:0] @ t1[0]
t6 = t1[0, :0].dot(t1[0, :0])
t7 = t1[None] @ t1.T[None]
""",
    "as_strided_scatter writes to a copy of the whole memory": """
t1 = xp.arange(6.).reshape(2, 3)
t2 = t1[:0].as_strided_scatter(xp.zeros(()), (), ())
t3 = t1.t()[1:].as_strided_scatter(xp.ones(2, 2) * 9, (2, 2), (1, 2))
t4 = t3.as_strided((6,), (1,), 0)
t5 = t1.t().as_strided_scatter(xp.ones(2, 2), (2, 3), (1, 2))
""",
    "a tensor of which another one that shows the same memory was saved can be swapped": """
t1 = xp.ones(3).requires_grad_()
t2 = t1.reshape(-1)
t3 = xp.nn.functional.softplus(t1)
t4 = xp.ones(2)
xp.utils.swap_tensors(t2, t4)
xp.utils.swap_tensors(t1, t4)
""",
    "a view that may not be used, in functions made of derived ones and in others": """
t1 = xp.ones(3, 1).requires_grad_() * 1
p = t1.split([0, 3], 0); t2, t3 = p[0], p[-1]
with xp.no_grad(): t4 = t1[...]
t1.add_(1)
t5 = t3.isfinite()
t5 = t3.isclose(t3)
t5 = t3.argsort()
t5 = t3 == 1
t5 = xp.tensor([t3.allclose(t3)])
t4.requires_grad_(False)
""",
    "copy_ into a tensor that has no gradients": """
t1 = xp.arange(3) > 0
t2 = xp.ones(3).requires_grad_()
with xp.no_grad(): t3 = t1[1:]
t3.copy_(t2[1:])
t4 = t1.unbind()[0]
t4.copy_(t2[0])
""",
    "a cumulative product with zeros that is written to behind autograd's back": """
t1 = (xp.arange(12.) - 3).reshape(3, 4).requires_grad_()
t2 = xp.cumprod(t1, -1)
t3 = xp.cumprod(t1, 0)
t4 = xp.cumprod(t1 % 3, 1)
for t in (t2, t3, t4): t.data.add_(1)
(t2 * t1.detach()).sum().backward(retain_graph=True)
(t3 * t1.detach()).sum().backward(retain_graph=True)
(t4 * t1.detach()).sum().backward(retain_graph=True)
""",
    "what a quotient of a view made under no_grad holds": """
t1 = xp.ones(3).requires_grad_() * 1
with xp.no_grad(): t2 = t1.view(-1)
t3 = t2 / t2
t4 = t2 * t2
with xp.no_grad(): t2.add_(1)
t4.sum().backward()
t3.sum().backward()
xp.utils.swap_tensors(t3, t2)
""",
    "repeat_interleave gives a view of a copy": """
t1 = xp.arange(6.).reshape(2, 3).requires_grad_()
t2 = t1.repeat_interleave(2, 0)
t3 = t1.repeat_interleave(2)
t4 = t1.repeat_interleave(xp.tensor(2), 1)
t5 = xp.tensor(2.).repeat_interleave(2, 0)
t6 = t1[:0].repeat_interleave(2, -1)
t2[0].mul_(2)
(t2.sum() + t3.sum() + t4.sum()).backward()
""",
    "slice_scatter of an expanded tensor without elements": """
t1 = xp.arange(3.).reshape(3, 1).split([1, 0], 1)[1].expand(2, 3, 0)
t2 = t1.slice_scatter(t1.narrow(1, 0, 2) * 2, 1, 0, 2)
""",
    "what ops that PyTorch makes of others save": """
t1 = (xp.arange(6.) * 0.7 - 2).reshape(2, 3).requires_grad_()
t2, t3 = t1 * 1, t1.cos()
t4 = xp.nn.functional.l1_loss(t2, t3) + xp.nn.functional.pairwise_distance(t2, t3).sum() + xp.nn.functional.tanhshrink(t2).sum()
t5 = xp.nn.functional.cross_entropy(t2, xp.tensor([0, 1])) + xp.special.ndtr(t2).sum() + xp.copysign(t2.abs(), t3).sum()
t6 = xp.nn.functional.nll_loss(t2, xp.tensor([0, 1]))
t2.add_(1)
t3.add_(1)
t4.backward()
t5.backward()
t6.backward()
""",
    "when a power saves its result": """
t1 = (xp.arange(3.) + 1).requires_grad_()
t2 = t1 ** xp.ones(3)
t3 = t1.detach() ** t1
t4 = 2 ** t1
t5 = t1 ** 1
for t in (t2, t3, t4, t5): t.add_(1)
t2.sum().backward()
t5.sum().backward()
t4.sum().backward()
t3.sum().backward()
""",
    "extremes of all elements that are written to behind autograd's back": """
t1 = xp.tensor([1., 3., 3., 2.]).requires_grad_()
t2, t3, t4 = t1.max(), t1.min(), t1.median()
t5 = xp.copysign(t1, t1.detach())
for t in (t2, t3, t4, t5): t.data.add_(1)
for t in (t2, t3, t4, t5.sum()): t.backward()
""",
    "the node of masked_select": """
t1 = xp.arange(3.).requires_grad_()
t2 = t1.masked_select(t1 > 1)
t2.sum().backward()
""",
    "what index_add and index_copy save where their source needs no gradient": """
t1 = xp.ones(3).requires_grad_()
t2 = t1.clone()
t3 = t1.clone()
t4 = xp.ones(1)
t5 = xp.tensor([0])
t2.index_add_(0, t5, t4)
t3.index_copy_(0, xp.tensor([0]), t4)
t4.add_(1)
t5.add_(1)
t2.sum().backward()
t3.sum().backward()
""",
    "the versions of tensors without elements": """
t1 = xp.ones(3, 0).requires_grad_() * 1
t2 = t1.abs()
t3 = t1 * xp.ones(3, 0)
t4 = xp.ones(3, 0)
t5 = t1 * t4
with xp.no_grad(): t1.add_(1)
t3.sum().backward(retain_graph=True)
t4.add_(1)
t5.sum().backward(retain_graph=True)
t2.sum().backward()
""",
    "polar whose result is written to behind autograd's back": """
t1 = (xp.arange(3.) + 1).requires_grad_()
t2 = xp.polar(t1, t1 * 1)
t3 = t2 * t2
t2.data.add_(1)
t3.real.sum().backward()
""",
    "a saved result that is not contiguous is written to behind autograd's back": """
t1 = (xp.arange(6.) * 0.2).reshape(2, 3).requires_grad_()
t2 = t1.t().exp()
t3 = (t1 * 1).reshape(1, 2, 3).expand(2, 2, 3).transpose(0, 1).sigmoid()
t4 = t1.reshape(2, 3, 1).swapaxes(2, 0).tanh()
for t in (t2, t3, t4): t.data.add_(1)
t2.sum().backward()
t3.sum().backward()
t4.sum().backward()
""",
    "losses of bools, and norms of whole numbers": """
t1 = xp.arange(6).reshape(2, 3)
t2 = xp.nn.functional.l1_loss(t1 > 2, t1 > 3)
t3 = t1.renorm(2, 0, 1.)
t4 = (t1 > 2).renorm(2, 0, 1.)
""",
    "a tensor that retains its gradient cannot be swapped": """
t1 = xp.ones(3).requires_grad_()
t2 = t1 * 1
t2.retain_grad()
xp.utils.swap_tensors(xp.ones(3), t2)
t1.retain_grad()
""",
    "isfinite of dims of one element, nonzero without any, complex whose other part is written to": """
t1 = (xp.arange(24.) + 1).reshape(2, 3, 4).requires_grad_()
with xp.no_grad(): t2 = t1.diagonal(1, -1, 0)
t3 = t2.isfinite()
t4 = xp.zeros(3, 2).nonzero()
t5 = t4[0:0:2, 1:]
t6 = xp.arange(3.) * 1
t7 = xp.complex(t1[0, 0, :3], t6)
t6.add_(1)
t7.real.sum().backward()
""",
    "out= that lies several times on its memory and has another shape": """
t1 = xp.arange(6.).reshape(2, 1, 3).expand(2, 3, 3)
t2 = xp.add(t1.clone(), 1, out=t1[-2])
""",
    "questions with two answers, of dims of one element and of the parts of complex numbers": """
t1 = (xp.arange(9.) + 1).reshape(3, 3)
t2 = t1.unfold(0, 3, 2)
t3, t4, t5 = t2.isfinite(), t2.isinf(), t2.isnan()
t6 = xp.arange(2.).to(xp.complex64)[:, None, None].permute(1, 0, 2)
t7, t8 = t6.isreal(), t6.isinf()
""",
    "norms of complex numbers written to behind autograd's back": """
t1 = (xp.arange(12.) + 1j).reshape(3, 4).requires_grad_()
t2, t3, t4 = t1.norm(dim=0), t1.norm(3, dim=1), t1.std()
with xp.autograd._unsafe_preserve_version_counter(t1): t1.detach().add_(1)
t4.data.mul_(2)
(t2.sum() + t3.sum() + t4).backward()
""",
    "the errors of an index come in its order": """
t1 = xp.ones(3, 2).requires_grad_() * 1
p = t1.unbind(0); t2, t3 = p[0], p[-1]
t1.zero_()
t4 = t2[None, 'x']
t3[None, 1.5] = 2
t5 = t1[0][0, 1.5]
""",
    "a view that set_ has given a history is written to": """
t1 = xp.zeros(1).reshape(())
t2 = xp.arange(6.).reshape(2, 3).requires_grad_() * 1
t1.set_(t2)
t1[:, [2, 0]] = xp.tensor(0.5)
""",
    "a graph that no gradient is asked of saves nothing": """
t1 = (xp.ones(3).requires_grad_() * 1)
with xp.no_grad(): t2 = xp.broadcast_to(t1, (2, 3))
t3 = t2 * t2
t3.sum().backward()
t3.prod().backward()
""",
    "hypot does not hold an argument that needs no gradient": """
t1 = xp.arange(3.).requires_grad_()
t2, t3 = xp.ones(3), xp.zeros(3)
t4 = xp.hypot(t1, t2)
xp.utils.swap_tensors(t3, t2)
t5 = t1.pow(t2 * 0 + 2)
t4.sum().backward()
""",
    "the product of a 0-dim tensor that is written to behind autograd's back": """
t1 = xp.tensor(2.).requires_grad_()
t2, t3 = t1.prod(), (t1 * xp.ones(1)).prod()
for t in (t2, t3): t.data.add_(1)
t4 = xp.autograd.grad(t2 + 0, t1)[0].clone()
t5 = xp.autograd.grad(t3 + 0, t1)[0].clone()
""",
    "a tensor that is given other memory after a graph has saved it": """
t1 = (xp.arange(3.) + 1).requires_grad_()
t2 = t1 * 1
t3, t4, t5, t6 = t2 * t2, t2.exp(), t2[:2] * t2[:2], xp.nn.functional.linear(t2[None], xp.ones(2, 3) * t1)
t2.data = xp.zeros(3)
t4.data = xp.zeros(3)
t7 = xp.ones(3).requires_grad_()
t8 = (t7 * t1).sum()
t7.data = xp.zeros(3)
for t in (t3, t4, t5, t6, t8): t.sum().backward()
""",
    "renorm of rows that hold nan": """
t1 = (xp.arange(9.) - 3).reshape(3, 3).requires_grad_()
t2 = t1 / t1
t3 = t2.renorm(2, 0, 1.)
t3.sigmoid().sum().backward()
""",
    "nodes do not count the results behind the others that have no derivative": """
t1 = xp.arange(6.).reshape(2, 3).requires_grad_() * 1
t2, t3, t4 = t1.min(1).values, t1.sort(1).values, t1.frexp().mantissa
for t in (t2, t3, t4): h = t.grad_fn.register_prehook(lambda go: log.append(('p', len(go))))
(t2.sum() + t3.sum() + t4.sum()).backward()
""",
    "from_numpy of no elements with a negative stride, swapping a gradient": """
n1 = np.zeros((2, 2, 0))
t1 = xp.from_numpy(n1[::-1])
t2, t3 = xp.ones(3).requires_grad_(), xp.ones(3)
t2.grad = t3
xp.utils.swap_tensors(t2, t3)
""",
    "asarray requires a gradient as what it is given does": """
t2 = xp.ones(1).requires_grad_()
t3 = t2 * 1
with xp.no_grad(): t6 = t3.squeeze()
t8 = xp.asarray(t6)
t9 = xp.autograd.grad(t8.prod(), [t6, t8], retain_graph=True)[1]
t10, t11 = xp.asarray(t3, requires_grad=False), xp.asarray(t2, copy=True, requires_grad=False)
t12 = xp.asarray(t2, requires_grad=False)
t13 = xp.asarray(t3, dtype=xp.int64)
""",
    "a tensor that detach_ cuts off after it was saved": """
t1 = (xp.arange(3.) + 1).requires_grad_()
t2 = t1 * 1
t3, t4, t5, t6 = t1 % t2, t1 + t2, t2.exp(), t2 * xp.ones(3)
t7 = t1.exp()
t8 = t7 * 2
t2.detach_()
t7.detach_()
t4.sum().backward()
t8.sum().backward()
t5.sum().backward()
t6.sum().backward()
t3.sum().backward(retain_graph=True)
t2.requires_grad_()
t3.sum().backward(retain_graph=True)
t2.mul_(t1)
t3.sum().backward()
""",
    "swapping views of memory that was written to since it was saved": """
t1 = xp.arange(6.).requires_grad_()
t2, t3 = t1.sum() * t1, t1.view(-1)
with xp.no_grad(): t3[...] = 1
xp.utils.swap_tensors(t3, xp.ones(6))
t4 = -t1
t5 = t4.expand(6)
t6 = t5.sin()
t5.detach().add_(1)
with xp.no_grad(): t7 = t4.view(-1)
xp.utils.swap_tensors(t7, t5)
""",
    "NumPy arrays of no elements have no strides": """
t1 = xp.arange(3).reshape(3, 1)
t2 = t1.tensor_split(2, -1)[-1]
n3 = t2.detach().numpy()
log.append((n3.strides, xp.zeros(2, 0).numpy().strides))
t4 = xp.from_numpy(n3[::-1])
""",
    "a number divided by integers, powers of a number": """
t1 = xp.arange(6).reshape(2, 1, 3).movedim(0, 1)
t2 = t1.tensor_split(2, 2)[0]
t3, t4, t5, t6 = 0 / t2, t2 ** .5, 2 ** t2, 2. ** t2.t().float() if t2.dim() == 2 else 2. ** t2.mT.float()
t7, t8 = xp.float_power(2, t1), xp.pow(1, t2)
""",
    "a write into expanded memory that holds nan": """
t1 = xp.tensor([1., float('nan'), 3.])
t2 = t1.expand(2, 3)
t2[xp.tensor([0]), ...] = 0
t3 = xp.full((2, 3), float('nan'))
t3.expand(2, 2, 3)[xp.tensor([1])] = 5.
""",
    "swapping one of several tensors of the same memory, another of which was saved": """
t1, t2 = xp.arange(6.), xp.ones(6).requires_grad_()
t3, t4 = t1.movedim(0, 0), t1[...]
t5 = xp.maximum(t4, t2.exp())
xp.utils.swap_tensors(t3, xp.ones(6))
xp.utils.swap_tensors(t4, xp.ones(6))
xp.utils.swap_tensors(xp.ones(6), t1)
""",
    "out= of .data that makes memory grow which a node has saved": """
t1 = (xp.arange(6.) + 2).reshape(2, 3).requires_grad_()
t2 = t1 * 1
t3, t4 = t2.data, xp.arange(12.).reshape(3, 4) - 3
xp.nn.functional.relu(t2, inplace=True)
xp.tril(t4, out=t3)
t2.sum().backward()
t5 = t1 * 1
t6 = t5.data
t7 = t5 * t5
t6.resize_(12).fill_(3)
t7.sum().backward()
""",
    "an index that cannot be one, behind an ellipsis": """
t1 = xp.ones(3, 1)
t1[..., 2, 'x'].add_(1)
t1[..., 5, 'x']
t1[0, ..., ['x']] = 1
t1[None, 5, 'x']
""",
    "tensors of no elements are joined along any dim": """
t1 = xp.ones(6).requires_grad_().hsplit([6])[-1]
t2, t3 = xp.cat([t1, t1], 1), xp.cat([t1], -3)
t4 = xp.cat([t1, xp.ones(2, 2)], 1)
xp.cat([t1, xp.ones(3)], 1)
""",
    "signs of zeros: relu, hardtanh, erfinv, nan_to_num, the gradient of prod": """
t1, t2 = xp.tensor([-0., 0., -1., .5]), xp.tensor([-3., -2., -1., 0.]).requires_grad_()
t3, t4, t5 = t1.relu().signbit(), xp.nn.functional.relu6(t1).signbit(), xp.nn.functional.hardtanh(t1, 0, 1).signbit()
t6, t7 = t1.erfinv().signbit(), xp.full((2,), float('nan')).nan_to_num(-0.0).signbit()
t8 = xp.autograd.grad(t2.prod(), t2)[0].signbit()
t9 = xp.autograd.grad(t2.reshape(2, 2).prod(1, keepdim=True).sum(), t2)[0].signbit()
t10 = xp.autograd.grad(t2.reshape(2, 2).prod(0).sum() * -0.0, t2)[0].signbit()
t11 = xp.autograd.grad(t2[4:].prod(), t2)[0], xp.autograd.grad(t2.reshape(4, 1)[:, 1:].prod(1).sum(), t2)[0]
""",
    "gradients at nan, and nans that are gradients": """
t1 = xp.tensor([float('nan'), float('inf'), -float('inf'), 0., 1.]).requires_grad_()
for f in ("relu", "relu6", "elu", "celu", "hardswish", "hardsigmoid", "hardtanh"): log.append(xp.autograd.grad(getattr(xp.nn.functional, f)(t1).sum(), t1)[0])
t2, t3 = xp.tensor([1., 2., 3.]).requires_grad_(), xp.tensor([3., 2., 1.]).requires_grad_()
xp.minimum(t2, t3).backward(xp.full((3,), float('nan')))
xp.maximum(t2, t3).sum().backward()
""",
    "writing through a view of a base that has become expanded": """
t1 = (xp.arange(3.) - 3).reshape(1, 3).requires_grad_()
t2 = xp.triu(t1 * 1, 1)
t3 = t2.select(0, 0)
t2.as_strided_((2, 2), (0, 1))
t3[xp.arange(3) > 0] = t3[xp.arange(3) > 0].detach()
t2.sum().backward()
""",
    "a view of another dtype whose base has got other strides": """
t1 = xp.arange(8.).reshape(2, 2, 2).requires_grad_()
t2 = t1 * 1
t3 = xp.view_as_complex(t2)
t2.as_strided_((2,), (3,))
t3.grad_fn
t4 = t1 * 1
t5 = xp.view_as_complex(t4)
t4.unsqueeze_(-2)
t5.sigmoid().real.sum().backward()
t6 = t1 * 1
t7 = xp.view_as_complex(t6)
t6.unsqueeze_(0)
t7.real.sum().backward()
""",
    "view_as, expand_as and reshape_as ask nothing of the other tensor": """
t1 = xp.ones(1, 3).requires_grad_() * 1
t2 = t1.split_with_sizes([1, 0], 0)[-1]
t3 = t2[..., :1] * t2
t2.detach().add_(1)
t4, t5 = t3.view_as(t2), t3.reshape_as(t2)
t6 = t3.expand_as(t2)
""",
    "a view of what set_ has made larger, and fill_diagonal_ in a graph that was freed": """
t1 = (xp.arange(12.) - 3).reshape(3, 4).requires_grad_()
t2 = xp.ones(())
t2.set_(t1)
t3 = t2.hsplit([2])[-1].select(1, 1)
xp.nn.functional.relu(t3, inplace=True)
(t3 / 2).sum().backward()
t4 = t1 * 1
h = t4.register_hook(lambda g: log.append(('hook', g.tolist())))
t4.fill_diagonal_(2)
t4.mean().backward()
(t4.view(6, 2) * 1).sum().backward()
""",
    "the strides of tensors without elements, and what addcdiv has freed": """
t1 = (xp.arange(12.) + 1).reshape(3, 4).split([4, 0], -1)[-1]
n2 = np.asarray(t1)
t3, t4, t5, t6 = xp.as_tensor(n2, dtype=xp.float64), xp.tensor(n2), xp.from_numpy(n2).clone(), t1.clone().long()
log.append([t.stride() for t in (t3, t4, t5, t6)])
t7 = t3.narrow(0, 1, 2)
t8 = (xp.arange(6.) + 2).requires_grad_().unique()
t8.addcdiv_(xp.ones(6), xp.ones(6))
t8.sum().backward()
t8.prod().backward()
""",
    "a complex view that set_ has given more memory than its base has": """
t1 = (xp.arange(8.) - 3j).reshape(2, 2, 2).requires_grad_()
t2 = xp.ones(()).requires_grad_()
t3 = (xp.arange(6.) - 3j).reshape(2, 1, 3)
t3.set_(t1.detach())
t4 = t3[:1]
t6 = t3.imag
t6 -= t2
t4 -= t2
(t4 * 1).abs().sum().backward()
""",
    "a view that data= has moved is written to": """
t3 = (xp.arange(6.) + 1).reshape(2, 3).requires_grad_()
t4 = t3 * 1
t7 = t4[:1].expand(2, 3)
t7.data = (xp.arange(6.) + 2).reshape(2, 3)
t7.index_add_(1, xp.tensor([0, 2]), xp.ones(2, 2))
(t7 * t7).sum().backward()
""",
    "errors of dtypes and of expanded memory": """
t1 = (xp.arange(3) % 2 == 0).reshape(1, 3).expand(3, 3)
t1.floor_()
xp.nn.functional.hardtanh(t1, inplace=True)
xp.nn.functional.relu6(t1 * 1j, inplace=True)
t2 = (xp.arange(3.) - 1).reshape(1, 3).expand(3, 3)
xp.nn.functional.threshold(t2, 0, 7, inplace=True)
t2.floor_()
""",
    "complex views whose base set_ has moved elsewhere": """
t1 = (xp.arange(6.) + 2j).reshape(2, 1, 3).requires_grad_()
t2 = t1 * 1
t3 = xp.view_as_real(t2)
t2.set_(t2.sum())
t4 = t1 * 1
t5 = t4.real
t4.set_(xp.ones(24, dtype=t4.dtype)[20:])
t5.mul_(2)
t5.sum().backward()
""",
    "strides of softmax, stack, roll, rot90 and others": """
t1 = (xp.arange(96.) / 100).reshape(2, 4, 3, 4).permute(0, 3, 1, 2)
t2, t3, t4 = t1.softmax(3), xp.nn.functional.log_softmax(t1, 1), xp.nn.functional.softmin(t1, 1)
t5, t6, t7, t8 = [xp.stack([t1, t1], d) for d in (0, 1, 2, -1)]
t9, t10, t11, t12 = t1.roll(1, 1), t1.roll(0, 1), t1.roll(1), t1.roll((1, 2), (1, 3))
t13, t14, t15, t16 = [t1.contiguous().rot90(k, (1, -1)) for k in (0, 1, 2, 3)]
t17, t18 = t1.rot90(1, (0, 2)), t1.rot90(4, (0, 2))
t19, t20 = xp.nn.functional.glu(t1, 1), xp.nn.functional.logsigmoid(t1)
t21, t22 = xp.nn.functional.group_norm(t1, 2), xp.nn.functional.rms_norm(t1, (3,))
t23, t24 = xp.nn.functional.pixel_unshuffle(t1[..., :2], 2), xp.nn.functional.lp_pool2d(t1, 2, 2)
t25 = xp.nn.functional.pad(t1, (1, 1, 1, 1), mode='reflect')
""",
    "an index that index_select does not find": """
t1 = xp.arange(6.).reshape(2, 3)
t1.index_select(1, xp.tensor([0, 3]))
t1.index_select(-1, xp.tensor([-1]))
t1.index_select(0, xp.tensor([2]))
""",
    "signs of zeros: running sums": """
t1 = (-xp.arange(4.)).reshape(2, 2)
t2 = t1.cumsum(0).atan2(xp.tensor(-1.))
t1.cumsum_(1)
t3 = 1 / t1
""",
    "a running product of one element, of a tensor that set_ has moved, written to behind autograd's back": """
t1 = (xp.arange(3.) + 2).reshape(3, 1).requires_grad_()
t2 = t1 * 1
t3 = t2.adjoint()
t4 = xp.cumprod(t3, 0)
with xp.no_grad(): t3.set_(xp.ones(()))
t4.data.add_(1)
t4.sum().backward()
""",
    "abs of complex numbers into a complex out=": """
t1 = (xp.arange(3.) + 2j)[:1].expand(4)
t2 = xp.ones(2, dtype=xp.complex64)
xp.abs(t1[3:], out=t2)
""",
    "softmax of one number whose result is written to behind autograd's back": """
t1 = xp.tensor(1.5).requires_grad_()
t2, t3 = t1.softmax(0), t1.log_softmax(-1)
t4 = t2.sin() + t3.cos()
t2.data.add_(1)
t3.data.add_(1)
t4.backward()
""",
    "strides of what is stacked, of angles and of hardtanh": """
t1 = xp.arange(16.).reshape(2, 2, 2, 2).permute(0, 3, 1, 2)
t2, t3, t4, t5 = [f([t1, t1]) for f in (xp.hstack, xp.vstack, xp.dstack, xp.column_stack)]
t6, t7 = (t1 + 1j).angle(), t1.angle()
t8 = xp.nn.functional.hardtanh(xp.arange(3.).reshape(1, 3).t())
""",
    "integers to large powers, running sums of bools in place, errors of dtypes in place": """
t1 = xp.tensor([2, 3, -2, 1, 0, -1])
t2, t3 = t1 ** xp.tensor([300, 300, 63, 64, 64, 127]), 3 ** xp.tensor([64, 100, 1000])
t4 = (xp.arange(6) % 2 == 0).reshape(2, 3)
t4.cumsum_(1)
t4.cumprod_(0)
t4.hypot_(t4)
t1.fmod_(2j)
t1.bitwise_and_(1.5)
t1.addcmul_(t1, t1, value=2.7)
t5 = xp.ones(2, 2)
t5.baddbmm_(t5, t5)
t5.apply_(lambda x: x + 1)
t5.softmax(1)
""",
    "unbind of no elements, of a view that may not be used": """
t1 = xp.ones(2, 3).requires_grad_()
t2 = t1 * 1
p = t2.split([2, 0], 0); t3 = p[-1]
t2 += 1
t3.unbind()
""",
    "a complex view of a view whose base set_ has made one-dimensional": """
t1 = (xp.arange(8.) + 2).reshape(2, 2, 2).requires_grad_()
t2 = t1 * 1
t3 = xp.view_as_complex(t2)
t4, t5 = t3.imag, t3[0]
t2.set_(t4.untyped_storage())
""",
    "out= that is expanded and would take another shape": """
t1 = (xp.arange(9.) + 1).reshape(3, 3)
t2 = xp.ones(1, 3).expand(3, 3)
xp.index_select(t1, 0, xp.tensor([0]), out=t2)
xp.take(t1, xp.tensor([0]), out=t2)
xp.scatter(t1[:1], 0, xp.zeros(1, 3, dtype=xp.int64), 2., out=t2)
xp.masked_select(t1, t1 > 8, out=t2)
xp.outer(t1[0], t1[0], out=t2[0, :1].expand(2))
xp.nonzero(t1, out=t2.long()[:1].expand(2, 3))
""",
    "index_put_ on a leaf that requires grad, with indices that are wrong besides": """
t3 = (xp.arange(1, dtype=xp.float64) + 1).reshape(()).requires_grad_()
t3.index_put_((xp.tensor([0, 0]),), xp.tensor(1, dtype=t3.dtype), accumulate=True)
""",
}
