"""peft: adapters on a model of transformers."""

import torch
import transformers
from peft import AdaLoraConfig, IA3Config, LoraConfig, PeftModel, PrefixTuningConfig, get_peft_model


def _base():
    torch.manual_seed(0)
    return transformers.GPT2LMHeadModel(
        transformers.GPT2Config(
            vocab_size=99,
            n_embd=32,
            n_layer=2,
            n_head=4,
            n_positions=64,
            bos_token_id=1,
            eos_token_id=2,
            resid_pdrop=0.0,
            embd_pdrop=0.0,
            attn_pdrop=0.0,
        )
    )


def _train(model):
    optimizer = torch.optim.AdamW([p for p in model.parameters() if p.requires_grad], lr=1e-2)
    tokens = torch.randint(3, 99, (2, 8), generator=torch.Generator().manual_seed(1))
    losses = []
    for _ in range(3):
        loss = model(input_ids=tokens, labels=tokens).loss
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        losses.append(loss.item())
    return losses, tokens


def lora():
    model = get_peft_model(
        _base(), LoraConfig(r=4, lora_alpha=8, target_modules=["c_attn"], task_type="CAUSAL_LM", fan_in_fan_out=True)
    )
    losses, tokens = _train(model)
    model.save_pretrained("adapter")
    again = PeftModel.from_pretrained(_base(), "adapter").eval()
    merged = again.merge_and_unload()
    return (
        losses,
        model.get_nb_trainable_parameters(),
        merged(tokens).logits,
        merged.generate(tokens, max_new_tokens=4, pad_token_id=0),
    )


def dora():
    return _train(
        get_peft_model(_base(), LoraConfig(r=4, use_dora=True, target_modules=["c_attn"], fan_in_fan_out=True))
    )[0]


def ia3():
    return _train(
        get_peft_model(
            _base(),
            IA3Config(
                target_modules=["c_attn", "mlp.c_proj"],
                feedforward_modules=["mlp.c_proj"],
                task_type="CAUSAL_LM",
                fan_in_fan_out=True,
            ),
        )
    )[0]


def adalora():
    return _train(
        get_peft_model(
            _base(), AdaLoraConfig(target_modules=["c_attn"], task_type="CAUSAL_LM", fan_in_fan_out=True, total_step=10)
        )
    )[0]


def prefix():
    return _train(get_peft_model(_base(), PrefixTuningConfig(num_virtual_tokens=4, task_type="CAUSAL_LM")))[0]
