"""sentence-transformers: a model of parts, its embeddings, losses and similarities."""

from pathlib import Path

import sentence_transformers as S
import torch
import transformers
from sentence_transformers import util
from sentence_transformers.sentence_transformer import losses, modules


def _model():
    words = ["[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]", "a", "cat", "dog", "runs", "sleeps", "the", "house"]
    Path("vocab.txt").write_text("\n".join(words))
    transformers.BertTokenizer(
        vocab="vocab.txt" if int(transformers.__version__.split(".")[0]) >= 5 else None, vocab_file="vocab.txt"
    ).save_pretrained("bert")
    torch.manual_seed(0)
    transformers.BertModel(
        transformers.BertConfig(
            vocab_size=12, hidden_size=16, num_hidden_layers=1, num_attention_heads=2, intermediate_size=20
        )
    ).save_pretrained("bert")
    part = modules.Transformer("bert")
    return S.SentenceTransformer(modules=[part, modules.Pooling(16), modules.Normalize()], device="cpu")


def embeddings():
    model = _model().eval()
    found = model.encode(["a cat runs", "the dog sleeps", "a house"], convert_to_tensor=True)
    return (
        found,
        model.similarity(found, found),
        util.semantic_search(found[:1], found, top_k=2),
        util.community_detection(found, threshold=0.5, min_community_size=1),
    )


def training():
    model = _model().eval()
    loss = losses.MultipleNegativesRankingLoss(model)
    optimizer = torch.optim.AdamW(model.parameters(), lr=1e-3)
    values = []
    for _ in range(3):
        features = [model.tokenize(["a cat", "the dog"]), model.tokenize(["cat runs", "dog sleeps"])]
        value = loss(features, None)
        optimizer.zero_grad()
        value.backward()
        optimizer.step()
        values.append(value.item())
    return values


def save_and_load():
    model = _model().eval()
    model.save("saved")
    again = S.SentenceTransformer("saved", device="cpu")
    return again.encode(["the cat sleeps"]), model.encode(["the cat sleeps"])
