"""litgpt: language models, trained, adapted and asked."""

import torch
from litgpt import GPT, Config
from litgpt.adapter import GPT as AdapterGPT
from litgpt.adapter import Config as AdapterConfig
from litgpt.generate.base import generate, sample
from litgpt.lora import GPT as LoraGPT
from litgpt.lora import Config as LoraConfig
from litgpt.lora import lora_filter, mark_only_lora_as_trainable, merge_lora_weights
from litgpt.utils import chunked_cross_entropy, num_parameters

_SIZES = {"block_size": 32, "vocab_size": 40, "padded_vocab_size": 40, "n_layer": 2, "n_head": 4, "n_embd": 32}


def _family(name, **options):
    config = Config.from_name(name, **{**_SIZES, **options})
    model = GPT(config)
    x = torch.randint(0, 40, (2, 12))
    logits = model(x)
    loss = chunked_cross_entropy(logits[:, :-1], x[:, 1:], chunk_size=0)
    loss.backward()
    return logits, loss, next(model.parameters()).grad


def pythia():
    return _family("pythia-14m")


def llama():
    return _family("Llama-3.2-1B", n_query_groups=2, intermediate_size=64)


def gemma():
    return _family("Gemma-2-2b", n_query_groups=2, intermediate_size=64, head_size=8)


def mixture_of_experts():
    return _family("Mixtral-8x7B-v0.1", n_query_groups=2, intermediate_size=64, n_expert=4)


def train():
    model = GPT(Config.from_name("pythia-14m", **_SIZES))
    optimizer = torch.optim.AdamW(model.parameters(), lr=1e-2)
    x = torch.randint(0, 40, (4, 16))
    losses = []
    for _ in range(5):
        loss = chunked_cross_entropy(model(x)[:, :-1], x[:, 1:], chunk_size=8)
        optimizer.zero_grad()
        loss.backward()
        torch.nn.utils.clip_grad_norm_(model.parameters(), 1.0)
        optimizer.step()
        losses.append(loss.item())
    return losses, num_parameters(model)


def generation():
    model = GPT(Config.from_name("pythia-14m", **_SIZES)).eval()
    with torch.no_grad():
        model.set_kv_cache(batch_size=1)
        out = generate(model, torch.randint(0, 40, (5,)), 14, temperature=0.8, top_k=10)
        return out, sample(torch.randn(1, 3, 40), temperature=0.7, top_p=0.9)


def lora():
    config = LoraConfig.from_name("pythia-14m", **_SIZES, lora_r=2, lora_alpha=4, lora_query=True, lora_value=True)
    model = LoraGPT(config)
    mark_only_lora_as_trainable(model)
    optimizer = torch.optim.SGD([p for p in model.parameters() if p.requires_grad], lr=0.5)
    x = torch.randint(0, 40, (2, 12))
    losses = []
    for _ in range(3):
        loss = chunked_cross_entropy(model(x)[:, :-1], x[:, 1:], chunk_size=0)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        losses.append(loss.item())
    state = {k: v for k, v in model.state_dict().items() if lora_filter(k, v)}
    before = model(x)
    merge_lora_weights(model)
    return losses, state, before, model(x)


def adapter():
    model = AdapterGPT(AdapterConfig.from_name("pythia-14m", **_SIZES, adapter_prompt_length=3, adapter_start_layer=0))
    return model(torch.randint(0, 40, (2, 12)))
