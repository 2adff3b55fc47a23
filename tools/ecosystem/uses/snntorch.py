"""snntorch: spiking neurons, trained by surrogate gradients."""

import snntorch as snn
import torch
from snntorch import functional, spikegen, surrogate


def leaky():
    torch.manual_seed(0)
    layer, neuron = torch.nn.Linear(4, 3), snn.Leaky(beta=0.9, spike_grad=surrogate.fast_sigmoid(), learn_beta=True)
    membrane, spikes = neuron.init_leaky(), []
    x = torch.rand(2, 4)
    for _ in range(6):
        spike, membrane = neuron(layer(x), membrane)
        spikes.append(spike)
    spikes = torch.stack(spikes)
    loss = functional.ce_rate_loss()(spikes, torch.tensor([0, 2]))
    loss.backward()
    return spikes, loss, layer.weight.grad, neuron.beta.grad


def encodings():
    x = torch.rand(2, 5)
    return (
        spikegen.rate(x, num_steps=4),
        spikegen.latency(x, num_steps=5, normalize=True, linear=True),
        spikegen.delta(x, threshold=0.1),
    )


def synaptic():
    neuron = snn.Synaptic(alpha=0.9, beta=0.8)
    syn, mem = neuron.init_synaptic()
    results = []
    for _ in range(4):
        spike, syn, mem = neuron(torch.tensor([0.4, 0.8]), syn, mem)
        results.append((spike, mem))
    return results
