"""openai-whisper: sound to text, with a small network."""

import numpy as np
import torch
from whisper.audio import log_mel_spectrogram, pad_or_trim
from whisper.decoding import DecodingOptions
from whisper.model import ModelDimensions, Whisper
from whisper.timing import dtw, median_filter
from whisper.tokenizer import get_tokenizer


def _model():
    return Whisper(ModelDimensions(80, 30, 32, 2, 2, 51865, 24, 32, 2, 2)).eval()


def spectrogram():
    sound = np.random.randn(8000).astype(np.float32)
    return log_mel_spectrogram(sound, padding=400), pad_or_trim(torch.arange(10.0), 16)


def network():
    model = _model()
    for p in model.parameters():
        torch.nn.init.normal_(p, std=0.05)
    with torch.no_grad():
        mel, tokens = torch.randn(1, 80, 60), torch.randint(0, 100, (1, 6))
        features = model.embed_audio(mel)
        return features, model.logits(tokens, features)[..., :50]


def cached():
    model = _model()
    cache, hooks = model.install_kv_cache_hooks()
    with torch.no_grad():
        features = model.embed_audio(torch.randn(1, 80, 60))
        first = model.decoder(torch.tensor([[1, 2, 3]]), features, kv_cache=cache)
        second = model.decoder(torch.tensor([[4]]), features, kv_cache=cache)
    for hook in hooks:
        hook.remove()
    return first.shape, second.shape, sorted(x.shape[1] for x in cache.values())


def decoded():
    model = _model()
    for p in model.parameters():
        torch.nn.init.normal_(p, std=0.05)
    options = DecodingOptions(language="en", without_timestamps=True, sample_len=5, fp16=False)
    found = model.decode(torch.randn(80, 60), options)
    return found.tokens, found.avg_logprob


def timing():
    x = torch.rand(2, 3, 20)
    return median_filter(x, 5), dtw(-x[0])


def tokens():
    return get_tokenizer(multilingual=True, language="de").sot_sequence
