"""More of ``found.py``: changed leaves, and hooks."""
from __future__ import annotations

FOUND_LEAVES = {
    "further hooks go where the first went": """
t1 = xp.ones(3).requires_grad_()
t2 = t1 * 1
t3 = t2[:2]
with xp.no_grad(): t4 = t2[:2]
t3.register_hook(lambda g: log.append(('a', g.tolist())))
t2.mul_(2)
t3.register_hook(lambda g: log.append(('b', g.tolist())))
t4.register_hook(lambda g: g)
t4.register_hook(lambda g: g)
xp.autograd.graph.register_multi_grad_hook([t4, t1], lambda g: log.append('any'), mode='any')
t3.sum().backward(retain_graph=True)
t3.register_hook(lambda g: log.append(('c', g.tolist())))
t3.sum().backward()
""",
    "graphs made before a leaf took another shape, and after": """
t1 = (xp.arange(6.) + 1).reshape(2, 1, 3).requires_grad_()
t2 = t1 + 0.5
with xp.no_grad(): t1.as_strided_((), (), 1)
t3 = t1[...]
t3.sum().backward()
t4 = xp.ones(6).requires_grad_()
t5 = t4 + 0.5
with xp.no_grad(): t4.as_strided_((2, 6), (0, 1))
t6 = t4 * 2
t6.sum().backward()
""",
    "a leaf that is given other memory is another one": """
t1 = xp.ones(3).requires_grad_()
t2 = t1 + 0.5
with xp.no_grad(): t1.set_(xp.ones(3))
t3 = xp.autograd.grad(t2.sum(), t1, retain_graph=True, allow_unused=True)[0]; t3 = xp.zeros(()) if t3 is None else t3
t4 = t1 * 2
(t4.sum() + t2.sum()).backward()
""",
    "a gradient that is asked for on the way to another one is what came before the hooks": """
t1 = xp.arange(3.).requires_grad_()
t2 = t1 * 1
t2.register_hook(lambda g: g * 2)
t3 = xp.autograd.grad(t2.sum(), [t1, t2], retain_graph=True)[1].clone()
t4 = xp.autograd.grad(t2.sum(), t2, retain_graph=True)[0].clone()
""",
    "a node without a derivative raises before leaves take their gradients": """
t1 = xp.arange(3.).requires_grad_()
t2 = xp.ones(3).requires_grad_()
t3 = 1.5 - t1
t3.set_(t2.detach())
t4 = t3 * t2
t4.sum().backward(retain_graph=True)
t5 = t2 * t3
t5.sum().backward(retain_graph=True)
t2.register_hook(lambda g: log.append(g.tolist()))
t4.sum().backward()
""",
    "autograd.grad of a tensor that has got another shape": """
t1 = (xp.arange(4.) + 1).requires_grad_()
t2 = t1 * 1
with xp.no_grad(): t2.as_strided_((), (), 2)
t3 = t2.view(())
t4 = xp.autograd.grad(t3.sum(), t2)[0]
""",
    "hooks of a stale output of several": """
t1 = xp.ones(1).requires_grad_() * 1
p = t1.split(1); t2, t3 = p[0], p[-1]
t1[-1] = 0
t3.register_hook(lambda g: g + 1)
t3.register_hook(lambda g: log.append(('t12', g.tolist())))
""",
    "autograd.grad of a leaf that was swapped for another shape": """
t1 = xp.ones(3, 4).requires_grad_()
t2 = xp.nn.functional.pad(t1, (1, 0))
xp.utils.swap_tensors(t2, t1)
t3 = xp.autograd.grad(t2.sum(), t2)[0].clone()
""",
    "a view with a stale history counts as a leaf until somebody asks": """
t1 = xp.ones(6).reshape(6)
t2 = xp.ones(3).requires_grad_() * 1
t1[True] = t2.sum()
t1.put_(xp.tensor([0]), xp.tensor([1.]))
""",
    "a retained gradient has the shape that its tensor's node knows": """
t1 = xp.ones(2, 3).requires_grad_()
t2 = t1 * 1
with xp.no_grad(): t2.unsqueeze_(1)
t2.sum().backward(inputs=[t2])
t3 = t1 * 1
t3.retain_grad()
with xp.no_grad(): t3.unsqueeze_(0)
t3.register_hook(lambda g: log.append(list(g.shape)))
t3.sum().backward()
""",
    "a view that was a leaf until its base was written to": """
t1 = xp.arange(4.) + 1
t3 = t1.select(0, 0)
t6 = t3.permute([])
t6.requires_grad = True
t3.sub_(t6)
t6.prod().backward(retain_graph=True)
""",
    "hooks of a gradient that does not fit, and of a view of a leaf that was written to": """
t1 = xp.ones(3, 1).requires_grad_()
t2 = t1 * 1
with xp.no_grad(): t2.squeeze_()
h = t2.grad_fn.register_prehook(lambda go: log.append(('p', len(go))))
(t2 * t2).sum().backward()
t3 = xp.arange(9.).reshape(3, 3).requires_grad_()
t4 = t3.mT
t3.detach().add_(1)
h = xp.autograd.graph.register_multi_grad_hook([t4, t3], lambda gs: log.append([g is None for g in gs]))
t5 = xp.autograd.grad(t4.sum(), t4)[0]
t4.sum().backward(inputs=[t4])
""",
    "a node whose saved values are freed still knows the shape of its gradient": """
t1 = (xp.arange(4.) - 3).requires_grad_()
t2 = t1 * 1
xp.where(t1 > 1, t1, t2).sum().backward(inputs=[t2])
with xp.no_grad(): t2.unsqueeze_(0)
t2.sin().sum().backward()
""",
    "the node of what was written through a view raises before the hooks of CopySlices": """
t1 = (xp.arange(3.) + 2).reshape(3, 1).requires_grad_() * 1
t2 = t1[-3, :, None]
t2.addcdiv_(t2, t2)
h = t1.grad_fn.register_hook(lambda gi, go: log.append(('hook', go[0].tolist())))
(t2[..., :1] * t2).sum().backward()
""",
    "gradients of a leaf of both shapes that it has had": """
t3 = (xp.arange(6.) - 3).requires_grad_()
t4 = t3 * 1
with xp.no_grad(): t3.set_(xp.ones(()))
xp.autograd.backward([t3.sum(), t4.sum()])
t5 = xp.ones(2, 3).requires_grad_()
t6 = t5 * 2
t5.data = xp.ones(3)
xp.autograd.backward([(t5 * 3).sum(), t6.sum()])
xp.autograd.backward([t5.sum(), (t5 * 2).sum()])
""",
    "a multi-grad hook on a leaf that is not in the graph": """
t4 = xp.ones(3).requires_grad_()
t5 = xp.ones(2).requires_grad_()
t6 = t5 * 1
xp.autograd.graph.register_multi_grad_hook([t4, t6], lambda gs: log.append([g is None for g in gs]))
t8 = xp.autograd.grad(t6.sum(), [t4, t6], allow_unused=True)[1].clone(memory_format=xp.contiguous_format)
xp.autograd.grad((t5 * t4[:2]).sum(), [t4])
""",
    "infinite complex numbers in a sum, and a leaf of another shape that is asked for": """
t1 = (xp.arange(6.) - 3j).reshape(2, 1, 3)
t2 = t1 / 0
t2.add_(t2)
t3 = t1 - 1 / (t1 * 0)
t6 = (xp.arange(6.) + 1).reshape(2, 1, 3).requires_grad_()
t7 = t6 * 1
with xp.no_grad(): t6.squeeze_()
t8 = xp.autograd.grad(t6.sum(), [t7, t6], allow_unused=True)[1]
t6.sum().backward(inputs=[t6])
""",
    "leaves that have fewer dims by now": """
t1 = (xp.arange(6.) + 1).reshape(2, 3).requires_grad_()
t2 = t1 * 1
t1.data = xp.ones(())
t2.sum().backward()
t3 = (xp.arange(3.) + 1).reshape(1, 3).requires_grad_()
t4 = t3 * 1
with xp.no_grad(): t3.squeeze_()
t4.sum().backward()
t5 = (xp.arange(6.) + 1).reshape(2, 3).requires_grad_()
t6 = t5 * 1
t5.requires_grad_(False)
t5.unsqueeze_(-1)
t5.requires_grad_(True)
t5.sum().backward()
""",
    "hooks stay where they are when a tensor is shown in another way, and when it is detached": """
t1 = (xp.arange(6.) + 1).reshape(2, 3).requires_grad_()
t2 = t1 * 2
t2.register_hook(lambda g: log.append(('first', g.tolist())))
t2.swapaxes_(0, 1)
t2.register_hook(lambda g: log.append(('second', g.tolist())))
t3 = xp.autograd.grad(t2.sum(), [t2], retain_graph=True)[0].clone()
t2.unsqueeze_(0)
t2.register_hook(lambda g: log.append(('third', g.tolist())))
t2.mul_(3)
t2.register_hook(lambda g: log.append(('fourth', g.tolist())))
t2.sum().backward()
t4 = t1 * 1
t4.register_hook(lambda g: log.append(('before', g.tolist())))
t4.detach_().requires_grad_()
t4.register_hook(lambda g: log.append(('after', g.tolist())))
(t4 * 2).sum().backward()
""",
    "a tensor of a graph that was freed is shown in another way": """
t1 = (xp.arange(1.) + 1).requires_grad_()
t2 = t1.sigmoid() * 2
t2.sum().backward()
with xp.no_grad(): t2.unsqueeze_(-1)
t3 = xp.autograd.grad(t2.prod(), t2)[0].clone()
""",
    "a multi-grad hook on a view that has no node, and on one that may not be used": """
t1 = (xp.arange(3.) + 1).reshape(3, 1).requires_grad_()
t2, t3 = t1 * 2, t1 * t1
p = t2.split([0, 1], 1); t4 = p[-1]
t2.mul_(3)
with xp.no_grad(): t5 = t3.unbind(-1)[0]
xp.autograd.graph.register_multi_grad_hook([t5, t4], lambda gs: log.append(len(gs)))
xp.autograd.graph.register_multi_grad_hook([t4, t5], lambda gs: log.append(len(gs)))
""",
    "hooks of a leaf that was set_ to other memory, for a graph made before": """
t2 = (xp.arange(9, dtype=xp.float64) + 1).reshape((3, 3)).requires_grad_()
t3 = t2 * 1
t4 = (xp.arange(12, dtype=xp.float64) + 1).reshape((3, 4))
with xp.no_grad(): t2.set_(t4.detach())
xp.autograd.graph.register_multi_grad_hook([t3, t2], lambda gs: log.append(('m5', [g is None for g in gs])))
t2.register_hook(lambda g: log.append(tuple(g.shape)))
t8 = t3.sin()
t8.sum().backward(retain_graph=True)
""",
    "a tensor assigned to itself through strides of size 1 that are not a view's": """
t1 = xp.arange(3.).reshape(3, 1)
t2 = t1.unfold(-1, 1, 2)
t2[None, -3:] = t2
""",
    "a tensor of which only nodes hold views cannot be swapped": """
t4 = (xp.arange(3, dtype=xp.float32) + 2).reshape((1, 3)).requires_grad_()
t5 = t4 * 1
t6 = xp.outer(t5.reshape(-1), t5.reshape(-1)[:2])
xp.utils.swap_tensors(t6, t5)
t7 = t4 * 2
t8 = t7.t()[0].sin()
xp.utils.swap_tensors(t7, xp.ones(2))
t8 = t4.t()[0].exp()
xp.utils.swap_tensors(t4, xp.ones(2))
""",
    "a tensor whose view was multiplied by a constant can be swapped": """
t1 = xp.ones(2, 3, requires_grad=True) * 1
t2 = t1.reshape(-1) * xp.arange(6.)
t3 = xp.ones(1)
xp.utils.swap_tensors(t3, t1)
""",
}
