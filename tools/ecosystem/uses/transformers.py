"""transformers: forward, backward, generate, save_pretrained and Trainer of small models without weights of others."""

import torch
import transformers as T

_TEXT = dict(
    vocab_size=99,
    hidden_size=32,
    num_hidden_layers=2,
    num_attention_heads=4,
    intermediate_size=40,
    max_position_embeddings=64,
)
_GROUPED = dict(_TEXT, num_key_value_heads=2, pad_token_id=0, bos_token_id=1, eos_token_id=2)


def _step(model, **inputs):
    torch.manual_seed(1)
    model.eval()
    out = model(**inputs)
    loss = out.loss if getattr(out, "loss", None) is not None else out[0].square().mean()
    loss.backward()
    norms = [p.grad.norm() for p in model.parameters() if p.grad is not None]
    return loss, out.logits if hasattr(out, "logits") else out[0], torch.stack(norms)


def _tokens(low=3):
    return torch.randint(low, 99, (2, 7))


def _causal(config):
    torch.manual_seed(0)
    model = T.AutoModelForCausalLM.from_config(config)
    tokens = _tokens()
    result = [_step(model, input_ids=tokens, labels=tokens)]
    options = dict(max_new_tokens=6, pad_token_id=0, attention_mask=torch.ones_like(tokens))
    result.append(model.generate(tokens, do_sample=False, **options))
    result.append(model.generate(tokens, do_sample=False, num_beams=3, **options))
    torch.manual_seed(0)
    result.append(model.generate(tokens, do_sample=True, top_k=20, top_p=0.9, temperature=0.8, **options))
    model.save_pretrained("saved")
    again = T.AutoModelForCausalLM.from_pretrained("saved").eval()
    return result, again(tokens).logits


def gpt2():
    return _causal(
        T.GPT2Config(vocab_size=99, n_embd=32, n_layer=2, n_head=4, n_positions=64, bos_token_id=1, eos_token_id=2)
    )


def llama():
    return _causal(T.LlamaConfig(**_GROUPED))


def qwen2():
    return _causal(T.Qwen2Config(**_GROUPED))


def mistral():
    return _causal(T.MistralConfig(**_GROUPED, sliding_window=4))


def gemma2():
    return _causal(T.Gemma2Config(**_GROUPED, head_dim=8))


def mixtral():
    return _causal(T.MixtralConfig(**_GROUPED, num_local_experts=4))


def opt():
    return _causal(
        T.OPTConfig(
            vocab_size=99,
            hidden_size=32,
            num_hidden_layers=2,
            num_attention_heads=4,
            ffn_dim=37,
            max_position_embeddings=64,
            word_embed_proj_dim=32,
        )
    )


def phi():
    return _causal(T.PhiConfig(**_TEXT, partial_rotary_factor=0.5, bos_token_id=1, eos_token_id=2))


def bloom():
    return _causal(T.BloomConfig(vocab_size=99, hidden_size=32, n_layer=2, n_head=4))


def mamba():
    return _causal(T.MambaConfig(vocab_size=99, hidden_size=32, num_hidden_layers=2, state_size=8))


def bert():
    torch.manual_seed(0)
    masked = T.BertForMaskedLM(T.BertConfig(**_TEXT))
    tokens = _tokens()
    classifier = T.BertForSequenceClassification(T.BertConfig(**_TEXT, num_labels=3))
    mask = torch.tensor([[1] * 7, [1] * 4 + [0] * 3])
    return _step(masked, input_ids=tokens, labels=tokens), _step(
        classifier, input_ids=tokens, attention_mask=mask, labels=torch.tensor([0, 2])
    )


def roberta():
    torch.manual_seed(0)
    return _step(
        T.RobertaForTokenClassification(T.RobertaConfig(**_TEXT, num_labels=4)),
        input_ids=_tokens(),
        labels=torch.randint(0, 4, (2, 7)),
    )


def distilbert():
    torch.manual_seed(0)
    model = T.DistilBertForQuestionAnswering(
        T.DistilBertConfig(vocab_size=99, dim=32, n_layers=2, n_heads=4, hidden_dim=37)
    )
    return _step(model, input_ids=_tokens(), start_positions=torch.tensor([1, 2]), end_positions=torch.tensor([3, 4]))[
        0::2
    ]


def electra():
    torch.manual_seed(0)
    return _step(
        T.ElectraForPreTraining(T.ElectraConfig(**_TEXT, embedding_size=16)),
        input_ids=_tokens(),
        labels=torch.randint(0, 2, (2, 7)),
    )


def deberta():
    torch.manual_seed(0)
    config = T.DebertaV2Config(
        **_TEXT, relative_attention=True, position_biased_input=False, pos_att_type=["p2c", "c2p"]
    )
    return _step(T.DebertaV2ForMaskedLM(config), input_ids=_tokens(), labels=_tokens())


def t5():
    torch.manual_seed(0)
    config = T.T5Config(vocab_size=99, d_model=32, d_kv=8, d_ff=37, num_layers=2, num_heads=4, decoder_start_token_id=0)
    model, tokens = T.T5ForConditionalGeneration(config), _tokens()
    return (
        _step(model, input_ids=tokens, labels=tokens),
        model.generate(tokens, max_new_tokens=6),
        model.generate(tokens, max_new_tokens=6, num_beams=2),
    )


def bart():
    torch.manual_seed(0)
    config = T.BartConfig(
        vocab_size=99,
        d_model=32,
        encoder_layers=2,
        decoder_layers=2,
        encoder_attention_heads=4,
        decoder_attention_heads=4,
        encoder_ffn_dim=37,
        decoder_ffn_dim=37,
        max_position_embeddings=64,
    )
    model, tokens = T.BartForConditionalGeneration(config), _tokens()
    return _step(model, input_ids=tokens, labels=tokens), model.generate(tokens, max_new_tokens=6, num_beams=2)


def vit():
    torch.manual_seed(0)
    config = T.ViTConfig(
        hidden_size=32,
        num_hidden_layers=2,
        num_attention_heads=4,
        intermediate_size=37,
        image_size=16,
        patch_size=4,
        num_labels=5,
    )
    return _step(
        T.ViTForImageClassification(config), pixel_values=torch.randn(2, 3, 16, 16), labels=torch.tensor([1, 4])
    )


def swin():
    torch.manual_seed(0)
    config = T.SwinConfig(
        image_size=32, patch_size=2, embed_dim=16, depths=[1, 2], num_heads=[2, 2], window_size=2, num_labels=5
    )
    return _step(
        T.SwinForImageClassification(config), pixel_values=torch.randn(2, 3, 32, 32), labels=torch.tensor([1, 4])
    )


def clip():
    torch.manual_seed(0)
    text = dict(
        vocab_size=99, hidden_size=32, num_hidden_layers=2, num_attention_heads=4, intermediate_size=37, eos_token_id=98
    )
    vision = dict(
        hidden_size=32, num_hidden_layers=2, num_attention_heads=4, intermediate_size=37, image_size=16, patch_size=4
    )
    model = T.CLIPModel(T.CLIPConfig(text_config=text, vision_config=vision, projection_dim=16)).eval()
    out = model(input_ids=_tokens(), pixel_values=torch.randn(2, 3, 16, 16), return_loss=True)
    out.loss.backward()
    return out.loss, out.logits_per_image, [p.grad.norm() for p in model.parameters() if p.grad is not None]


def wav2vec2():
    torch.manual_seed(0)
    config = T.Wav2Vec2Config(
        hidden_size=16,
        num_hidden_layers=2,
        num_attention_heads=2,
        intermediate_size=20,
        vocab_size=32,
        conv_dim=(16, 16),
        conv_stride=(4, 4),
        conv_kernel=(8, 8),
        num_conv_pos_embeddings=16,
        num_conv_pos_embedding_groups=2,
    )
    return _step(T.Wav2Vec2ForCTC(config), input_values=torch.randn(2, 400), labels=torch.randint(1, 32, (2, 5)))


def whisper():
    torch.manual_seed(0)
    config = T.WhisperConfig(
        vocab_size=99,
        d_model=16,
        encoder_layers=2,
        decoder_layers=2,
        encoder_attention_heads=2,
        decoder_attention_heads=2,
        encoder_ffn_dim=20,
        decoder_ffn_dim=20,
        num_mel_bins=8,
        max_source_positions=20,
        max_target_positions=20,
        decoder_start_token_id=3,
        pad_token_id=0,
        bos_token_id=1,
        eos_token_id=2,
    )
    model = T.WhisperForConditionalGeneration(config)
    return _step(model, input_features=torch.randn(2, 8, 40), labels=_tokens())


class _Data(torch.utils.data.Dataset):
    def __len__(self):
        return 16

    def __getitem__(self, i):
        g = torch.Generator().manual_seed(i)
        tokens = torch.randint(3, 99, (8,), generator=g)
        return {"input_ids": tokens, "labels": int(tokens.sum() % 2)}


def trainer():
    torch.manual_seed(0)
    model = T.BertForSequenceClassification(T.BertConfig(**_TEXT, num_labels=2))
    options = T.TrainingArguments(
        "out",
        num_train_epochs=2,
        per_device_train_batch_size=4,
        learning_rate=1e-3,
        use_cpu=True,
        report_to=[],
        logging_steps=1,
        save_steps=4,
        eval_strategy="epoch",
        warmup_steps=2,
        disable_tqdm=True,
        seed=3,
    )
    made = T.Trainer(
        model,
        options,
        train_dataset=_Data(),
        eval_dataset=_Data(),
        compute_metrics=lambda p: {"accuracy": float((p.predictions.argmax(-1) == p.label_ids).mean())},
    )
    made.train()
    kept = ("loss", "grad_norm", "learning_rate", "eval_loss", "eval_accuracy", "epoch")
    return [{k: v for k, v in row.items() if k in kept} for row in made.state.log_history]


def trainer_resumes():
    def make(steps):
        torch.manual_seed(0)
        model = T.BertForSequenceClassification(T.BertConfig(**_TEXT, num_labels=2))
        return T.Trainer(
            model,
            T.TrainingArguments(
                "out",
                max_steps=steps,
                per_device_train_batch_size=4,
                learning_rate=1e-3,
                use_cpu=True,
                report_to=[],
                save_steps=2,
                disable_tqdm=True,
            ),
            train_dataset=_Data(),
        )

    make(2).train()
    again = make(4)
    done = again.train(resume_from_checkpoint=True)
    return done.global_step, again.model.state_dict()


def quantities():
    model = T.GPT2LMHeadModel(T.GPT2Config(vocab_size=99, n_embd=32, n_layer=2, n_head=4))
    model.gradient_checkpointing_enable()
    model.train()
    tokens = _tokens()
    loss = model(tokens, labels=tokens).loss
    loss.backward()
    return loss, model.num_parameters(), model.get_memory_footprint(), model.transformer.wte.weight.grad.norm()


def schedules():
    parameter = torch.nn.Parameter(torch.ones(2))
    optimizer = torch.optim.SGD([parameter], lr=1.0)
    made = [
        T.get_scheduler(name, optimizer, 2, 10) for name in ("linear", "cosine", "constant_with_warmup", "polynomial")
    ]
    return [[s.lr_lambdas[0](i) for i in range(10)] for s in made]
