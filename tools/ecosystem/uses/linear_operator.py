"""linear_operator: matrices that are not written out."""

import linear_operator as lo
import torch
from linear_operator import operators


def structured():
    a = torch.randn(6, 6)
    dense = lo.to_linear_operator(a @ a.T + 6 * torch.eye(6))
    made = [
        dense,
        operators.DiagLinearOperator(torch.rand(6) + 1),
        operators.ToeplitzLinearOperator(torch.tensor([4.0, 1, 0.5, 0.2, 0.1, 0])),
        operators.KroneckerProductLinearOperator(
            lo.to_linear_operator(torch.eye(2) * 2), lo.to_linear_operator(torch.eye(3) + 0.1)
        ),
        dense + operators.DiagLinearOperator(torch.ones(6)),
        operators.RootLinearOperator(torch.eye(6) + 0.1 * a).add_jitter(0.1),
    ]
    v = torch.randn(6, 2)
    return [[m @ v, m.solve(v), m.logdet(), m.to_dense(), m.diagonal()] for m in made]


def gradients():
    a = torch.randn(5, 5, requires_grad=True)
    b = torch.randn(5, requires_grad=True)
    m = lo.to_linear_operator(a @ a.T).add_diagonal(torch.ones(5))
    quadratic, logdet = m.inv_quad_logdet(b.unsqueeze(-1), logdet=True)
    (quadratic + logdet).backward()
    return quadratic, logdet, a.grad, b.grad


def functions():
    a = torch.randn(5, 5)
    m = lo.to_linear_operator(a @ a.T + torch.eye(5))
    return (
        torch.linalg.cholesky(m).to_dense(),
        torch.matmul(m, torch.ones(5)),
        torch.diagonal(m),
        lo.sqrt_inv_matmul(m, torch.ones(5, 1)),
    )
