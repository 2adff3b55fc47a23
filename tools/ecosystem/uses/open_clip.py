"""open-clip-torch: towers of images and text, their loss, and transforms."""

import open_clip
import torch


def _model():
    torch.manual_seed(0)
    return open_clip.CLIP(
        16,
        {"image_size": 16, "layers": 1, "width": 32, "patch_size": 8, "head_width": 16},
        {"context_length": 12, "vocab_size": 49408, "width": 32, "heads": 2, "layers": 1},
    )


def train():
    model = _model()
    tokens = open_clip.SimpleTokenizer(context_length=12)(["a photo of a cat", "a dog"])
    loss = open_clip.ClipLoss()(*model(torch.randn(2, 3, 16, 16), tokens))
    loss.backward()
    return tokens, loss, model.visual.proj.grad, model.text_projection.grad


def similarity():
    model = _model().eval()
    with torch.no_grad():
        return (
            model.encode_image(torch.ones(1, 3, 16, 16), normalize=True)
            @ model.encode_text(torch.ones(1, 12).long(), normalize=True).T
        )


def transforms():
    import numpy as np
    from PIL import Image

    image = Image.fromarray(np.random.RandomState(0).randint(0, 255, (40, 30, 3), dtype=np.uint8))
    return open_clip.image_transform(16, is_train=False)(image)
