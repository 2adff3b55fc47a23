"""curated-transformers: transformers from shared parts."""

import torch
from curated_transformers.layers import AttentionMask
from curated_transformers.models import GPTNeoXCausalLM, GPTNeoXConfig, LlamaCausalLM, LlamaConfig


def llama():
    config = LlamaConfig(hidden_width=32, intermediate_width=32, n_hidden_layers=2, n_query_heads=4, n_key_value_heads=2,
                         n_pieces=40, dtype=torch.float32)
    model = LlamaCausalLM(config)
    model.eval()
    ids = torch.randint(0, 40, (2, 6))
    return model(ids, AttentionMask(torch.ones(2, 6, dtype=torch.bool))).logits


def neox():
    config = GPTNeoXConfig(hidden_width=16, intermediate_width=32, n_hidden_layers=2, n_attention_heads=2, n_pieces=40,
                           dtype=torch.float32)
    model = GPTNeoXCausalLM(config)
    model.eval()
    ids = torch.randint(0, 40, (2, 6))
    out = model(ids, AttentionMask(torch.ones(2, 6, dtype=torch.bool)), store_cache=True)
    return out.logits
