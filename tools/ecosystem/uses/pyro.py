"""pyro-ppl: variational inference, Hamiltonian Monte Carlo, and its modules."""

import pyro
import pyro.contrib.gp
import pyro.distributions as dist
import torch
from pyro.infer import MCMC, NUTS, SVI, Importance, Predictive, Trace_ELBO, TraceEnum_ELBO, config_enumerate
from pyro.infer.autoguide import AutoDiagonalNormal, AutoMultivariateNormal, AutoNormal


def _model(x, y=None):
    w = pyro.sample("w", dist.Normal(torch.zeros(2), 1.0).to_event(1))
    s = pyro.sample("s", dist.HalfCauchy(1.0))
    with pyro.plate("data", len(x)):
        return pyro.sample("y", dist.Normal(x @ w, s), obs=y)


def _data():
    pyro.set_rng_seed(0)
    pyro.clear_param_store()
    x = torch.randn(20, 2)
    return x, x @ torch.tensor([1.0, -1.0]) + 0.1 * torch.randn(20)


def _svi(guide):
    data = _data()
    guide = guide(_model)
    svi = SVI(_model, guide, pyro.optim.Adam({"lr": 0.05}), Trace_ELBO())
    losses = [svi.step(*data) for _ in range(10)]
    return losses, dict(pyro.get_param_store().items()), Predictive(_model, guide=guide, num_samples=4)(data[0])["y"]


def svi():
    return _svi(AutoNormal)


def svi_diagonal():
    return _svi(AutoDiagonalNormal)


def svi_multivariate():
    return _svi(AutoMultivariateNormal)


def nuts():
    data = _data()
    mcmc = MCMC(NUTS(_model, max_tree_depth=4), num_samples=5, warmup_steps=5, disable_progbar=True)
    mcmc.run(*data)
    return mcmc.get_samples()


def enumeration():
    data = torch.tensor([-1.0, -1.2, 1.1, 0.9, 1.3])
    pyro.set_rng_seed(0)
    pyro.clear_param_store()

    @config_enumerate
    def model(data):
        locations = pyro.param("loc", torch.tensor([-0.5, 0.5]))
        with pyro.plate("data", len(data)):
            z = pyro.sample("z", dist.Categorical(torch.tensor([0.4, 0.6])))
            pyro.sample("x", dist.Normal(locations[z], 0.5), obs=data)

    svi = SVI(model, lambda data: None, pyro.optim.ClippedAdam({"lr": 0.05}), TraceEnum_ELBO(max_plate_nesting=1))
    return [svi.step(data) for _ in range(5)], pyro.param("loc")


def importance():
    pyro.set_rng_seed(0)

    def model():
        weight = pyro.sample("weight", dist.Normal(8.5, 1.0))
        return pyro.sample("measurement", dist.Normal(weight, 0.75), obs=torch.tensor(9.5))

    return [Importance(model, num_samples=10).run().log_weights]


def modules():
    pyro.set_rng_seed(0)
    pyro.clear_param_store()
    net = pyro.nn.PyroModule[torch.nn.Linear](3, 1)
    net.weight = pyro.nn.PyroSample(dist.Normal(0.0, 1.0).expand([1, 3]).to_event(2))
    x = torch.randn(4, 3)
    trace = pyro.poutine.trace(net).get_trace(x)
    pyro.get_param_store().save("params.pt")
    return trace.log_prob_sum(), trace.nodes["weight"]["value"], net(x)


def gaussian_process():
    pyro.set_rng_seed(0)
    pyro.clear_param_store()
    x = torch.linspace(0, 1, 10)
    gp = pyro.contrib.gp.models.GPRegression(
        x, torch.sin(6 * x), pyro.contrib.gp.kernels.RBF(1), noise=torch.tensor(0.1)
    )
    optimizer = torch.optim.Adam(gp.parameters(), lr=0.05)
    losses = pyro.contrib.gp.util.train(gp, optimizer, num_steps=5)
    with torch.no_grad():
        return losses, gp(torch.linspace(0, 1, 4), full_cov=True)
