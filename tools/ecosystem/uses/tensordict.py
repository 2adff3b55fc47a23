"""tensordict: dicts of tensors that are indexed, moved and computed with as one."""

import torch
from tensordict import TensorDict, tensorclass
from tensordict.nn import ProbabilisticTensorDictModule, TensorDictModule, TensorDictSequential


def operations():
    a = TensorDict({"x": torch.randn(3, 4), "n": {"y": torch.arange(3)}}, batch_size=[3])
    b = torch.stack([a, a + 1])
    c = torch.cat([a, a[:1]])
    a["z"] = a["x"] * 2
    return (
        a[1:].to_dict(),
        b.shape,
        b["n", "y"],
        c["x"],
        a.reshape(3, 1)["x"],
        a.apply(lambda t: t * 2)["n", "y"],
        sorted(map(str, a.keys(True, True))),
        b.unbind(0)[1]["x"],
        a.split(2)[1]["x"],
        str(a.select("x")),
    )


def modules():
    net = TensorDictModule(torch.nn.Linear(4, 3), in_keys=["x"], out_keys=["h"])
    model = TensorDictSequential(
        net,
        TensorDictModule(torch.tanh, in_keys=["h"], out_keys=["logits"]),
        ProbabilisticTensorDictModule(
            in_keys=["logits"], out_keys=["a"], distribution_class=torch.distributions.Categorical, return_log_prob=True
        ),
    )
    found = model(TensorDict({"x": torch.randn(5, 4)}, [5]))
    return {k: found[k] for k in ("h", "logits", "a")}


def parameters():
    net = torch.nn.Sequential(torch.nn.Linear(4, 3), torch.nn.Linear(3, 2))
    made = TensorDict.from_module(net)
    with (made * 0.5).to_module(net):
        out = net(torch.ones(1, 4))
    return out, net(torch.ones(1, 4)), sorted(made.flatten_keys(".").keys())


def save_and_load():
    a = TensorDict({"x": torch.randn(3, 4), "n": {"y": torch.arange(3)}}, [3])
    a.memmap("kept")
    torch.save(a, "a.pt")
    return TensorDict.load_memmap("kept")["x"], torch.load("a.pt", weights_only=False)["n", "y"], a["x"]


def classes():
    @tensorclass
    class Sample:
        image: torch.Tensor
        label: torch.Tensor

    s = Sample(image=torch.randn(4, 2, 2), label=torch.arange(4), batch_size=[4])
    return s[1:3].image, torch.stack([s, s]).label, s.reshape(2, 2).label
