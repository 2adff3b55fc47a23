"""dill: pickles of tensors, modules, optimizers and of functions that hold them."""

import dill
import torch


def tensors():
    x = torch.randn(3, 4, requires_grad=True)
    values = [x, x.detach()[1:, ::2], torch.arange(3), torch.tensor(1 + 2j), torch.float64, torch.nn.Parameter(x)]
    again = dill.loads(dill.dumps(values))
    return again, [getattr(v, "requires_grad", None) for v in again], [repr(type(v).__name__) for v in again]


def modules():
    model = torch.nn.Sequential(torch.nn.Linear(4, 8), torch.nn.BatchNorm1d(8), torch.nn.ReLU(), torch.nn.Linear(8, 2))
    x = torch.randn(5, 4)
    again = dill.loads(dill.dumps(model))
    return model(x), again(x), again.state_dict()


def closures():
    weight = torch.randn(4, 2)

    class Scale(torch.nn.Module):
        def __init__(self, by):
            super().__init__()
            self.by = torch.nn.Parameter(torch.tensor(by))

        def forward(self, x):
            return x * self.by

    layer = Scale(3.0)
    again = dill.loads(dill.dumps(lambda x: layer(x @ weight).relu(), recurse=True))
    return again(torch.randn(3, 4))


def optimizers():
    model = torch.nn.Linear(4, 2)
    optimizer = torch.optim.Adam(model.parameters(), lr=0.1)
    for step in range(4):
        if step == 2:
            model, state = dill.loads(dill.dumps((model, optimizer.state_dict())))
            optimizer = torch.optim.Adam(model.parameters())
            optimizer.load_state_dict(state)
        optimizer.zero_grad()
        model(torch.randn(3, 4)).square().mean().backward()
        optimizer.step()
    return model.state_dict(), optimizer.state_dict()["state"]


def saved_with_torch():
    torch.save({"f": lambda x: x + 1, "w": torch.arange(4.0)}, "file", pickle_module=dill)
    again = torch.load("file", pickle_module=dill, weights_only=False)
    return again["f"](again["w"])


def data_sets():
    data = torch.utils.data.TensorDataset(torch.arange(6.0), torch.arange(6))
    loader = dill.loads(dill.dumps(torch.utils.data.DataLoader(data, 2, shuffle=False)))
    generator = torch.Generator().manual_seed(3)
    torch.rand(2, generator=generator)
    return [list(batch) for batch in loader], dill.copy(torch.distributions.Normal(torch.zeros(2), 1.0)).sample()
