"""More of ``found.py``: saved values of graphs, and swapped tensors."""
from __future__ import annotations

FOUND_SAVED = {
    "what a leaf was swapped for is used": """
t1 = (xp.arange(8.) + 1).reshape(2, 2, 2).requires_grad_()
t2 = (xp.arange(4.) + 2).requires_grad_()
t3 = t2 * 1
xp.utils.swap_tensors(t1, t2)
t4 = t2[..., :1] * t2
t4.sum().backward()
t3.sum().backward()
""",
    "a tensor that was saved before it was transposed in place is not swapped": """
t1 = (xp.arange(4.) + 2).reshape(2, 2).requires_grad_()
t2 = t1 * 1
t3 = t2 / t1
t2.t_()
xp.utils.swap_tensors(t3, t2)
t4 = t1 * 2
with xp.no_grad(): t1.t_()
xp.utils.swap_tensors(t1, t4)
t5 = (t1 * 1).view(4)
t6 = t5.sin()
t5.unsqueeze_(0)
xp.utils.swap_tensors(t5, t4)
""",
    "a view of a tensor that was saved and written to is swapped": """
t1 = (xp.arange(6.) + 1).reshape(2, 1, 3).requires_grad_()
t2 = t1 * 1
t3 = t2.sum() * t2
with xp.no_grad(): t2.add_(1)
t4 = t2[2:2, 0, :]
t5 = t4.reshape(-1)
t6 = t5.unflatten(0, (-1, 2))
xp.utils.swap_tensors(t3, t6)
""",
    "what was written at a mask is freed before the write's own node runs": """
t1 = (xp.arange(24.) - 3).reshape(2, 3, 2, 2).requires_grad_()
t2 = (t1 * 1).std()
t2[t2 > 1] = t2.clone()
t2.grad_fn.register_hook(lambda gi, go: log.append(go[0].tolist()))
t3 = t2 * xp.zeros(2, 2, 2).bool()
t2.sum().backward()
t4 = t3 / 2
t4.sum().backward(retain_graph=True)
""",
    "a leaf that could not be swapped for a tensor that retains its gradient": """
t1 = (xp.arange(4.) - 3).reshape(4).requires_grad_()
t2 = xp.broadcast_to(t1, (2, 4))
t2.retain_grad()
t3 = t2[...]
with xp.no_grad(): xp.utils.swap_tensors(t2, t1)
t3.backward(t3.detach().clone(), retain_graph=True)
""",
    "a tensor of which only the reciprocal was saved is swapped": """
t1 = (xp.arange(3.) + 2).reshape(3, 1).requires_grad_()
t2 = t1.t()
t3 = 2 / t2
with xp.no_grad(): xp.utils.swap_tensors(t3, t2)
""",
    "a view that shows what it was not taken of is written to": """
t1 = (xp.arange(4.) - 3).requires_grad_()
t2 = t1 * 1
t3 = t2.narrow(-1, 1, 0)
t3.as_strided_((), ())
t3.nan_to_num_()
t4 = t3 / 2
t4.sum().backward()
""",
    "matmul has saved a copy": """
t1 = (xp.arange(24.) + 2).reshape(2, 3, 4).requires_grad_()
t2 = t1 * 1
t3 = t2.expand([2, 2, 3, 4])
t4 = t3.matmul(t3.mT)
t2.copy_(t2)
t4.sum().backward(retain_graph=True)
t2.mul_(2)
t4.sum().backward()
""",
    "the real part of complex numbers is given memory of another shape": """
t1 = (xp.arange(3, dtype=xp.float64) + 2j).to(xp.complex128).reshape(1, 3).requires_grad_()
t2 = t1 * 1
t3 = t2.real
t3.set_((xp.arange(3, dtype=xp.float64) + 2).reshape(3, 1))
t4 = xp.autograd.grad(t3.prod(), [t3], allow_unused=True, retain_graph=True)[0].clone()
""",
    "a view made under no_grad that was saved gets other memory": """
t1 = (xp.arange(3.) - 3).reshape(3, 1).requires_grad_()
t2 = t1 * 1
t3 = t2.unfold(1, 1, 1)
with xp.no_grad(): t4 = t1.unfold(-1, 1, 2)
t5 = t4.type_as(t4)
t6 = t3 * t4
t5.data = t6
t6.sum().backward(retain_graph=True)
""",
    "memory that .data shows is written to by its tensor": """
t1 = (xp.arange(12.) + 2).reshape(3, 4).requires_grad_()
t2 = t1 * 1
t3 = t2.data
t2 *= t3
t2.sum().backward()
""",
    "a view of a result leaves it, and then the result is overwritten": """
t2 = (xp.arange(6, dtype=xp.float32) + 1).reshape((2, 3)).requires_grad_()
t4 = (t2 * 1).amax()
t6 = t4.squeeze()
t6.data = t6.detach().clone()
t11 = t4 * t4
t4.data.add_(1)
t11.sum().backward(retain_graph=True)
log.append(t2.grad.tolist())
t5 = t2.exp()
t7 = t5.view(-1)
t7.data = t7.detach() * 3
t8 = t5 * t5
t5.data.add_(1)
t8.sum().backward()
""",
    "a result that .data has overwritten becomes host memory": """
t1 = (xp.arange(1.) - 3).reshape(()).requires_grad_()
t2 = xp.tanh(t1)
t3 = t2.data
t4 = t2.to(t2.dtype)
xp.sqrt(t3, out=t3)
n5 = t3.detach().numpy(force=True)
xp.autograd.backward([t2.sum(), t4.sum()])
""",
    "a product of booleans and what needs no gradient has saved nothing": """
t1 = xp.arange(6) % 2 == 0
t2 = (xp.arange(3.) - 3).reshape(1, 3).requires_grad_()
p = t1.split([4, 2], -1); t3, t4 = p[0], p[-1]
t5 = t2.erf().logsumexp(-2)
with xp.no_grad(): t6 = t5.narrow(0, 2, 1)
t7 = t3 * t6
t4.add_(t4)
t7.backward(t7.detach().clone())
""",
    "integers that were just made zero are divided by one another": """
t1 = (xp.arange(8, dtype=xp.int32) + 1).reshape(2, 2, 2)
t1.zero_()
t2 = xp.fmod(t1, t1)
t3 = t1 // t1
t4 = t1 % t1
t5 = xp.div(t1, t1, rounding_mode='trunc')
""",
    "backward to a tensor whose view was written to runs the node of that write": """
t2 = (xp.arange(24, dtype=xp.float32) + -3).reshape((2, 3, 4)).requires_grad_()
t3 = t2 * 1
t4 = t3.as_strided((2,), (1,), 0)
t4.mul_(t4)
t3.prod().backward(inputs=[t3])
""",
    "adding at indices what needs no gradient saves nothing, so that a second backward goes through": """
t1 = (xp.arange(6, dtype=xp.float64) + 2).reshape((6,)).requires_grad_()
t2 = t1 * 1
t2.index_add_(-1, xp.tensor([2]), (xp.arange(1, dtype=xp.float64) + 1).reshape((1,)))
t2.prod().backward(inputs=[t2])
t29 = t2.sigmoid() * 2
t29.sum().backward(retain_graph=True)
""",
    "complex numbers divided by infinity in both parts": """
t1 = xp.tensor([-1948 + 800j, complex(float('inf'), float('-inf')), 2j], dtype=xp.complex128)
t2 = t1.sigmoid()
t3 = 1 / t1
t4 = t1.reciprocal()
t5 = t1[:1].exp().reciprocal().sigmoid()
""",
    "one element put into none": """
t1 = (xp.arange(1, dtype=xp.float64) + 2).split([1, 0], -1)[1]
t1.put_(xp.tensor([0]), xp.tensor([1], dtype=t1.dtype))
""",
    "swap_tensors of a tensor whose node has let go of what it had saved": """
t2 = (xp.arange(24, dtype=xp.float64) + 2).reshape((2, 3, 4)).requires_grad_()
t4 = t2.expand_as(t2)
t7 = xp.ones_like(t4).requires_grad_()
t8 = t7 * t4
t8.sum().backward()
xp.utils.swap_tensors(t7, t2)
""",
}
