"""Losses against PyTorch: constructors, values, gradients, warnings and errors."""
from __future__ import annotations

import inspect
import warnings

import numpy as np
import pytest

RS = np.random.RandomState
NAMES = (
    "AdaptiveLogSoftmaxWithLoss BCELoss BCEWithLogitsLoss CTCLoss CosineEmbeddingLoss CosineSimilarity CrossEntropyLoss "
    "GaussianNLLLoss HingeEmbeddingLoss HuberLoss KLDivLoss L1Loss LinearCrossEntropyLoss LinearCrossEntropyOptions MSELoss "
    "MarginRankingLoss MultiLabelMarginLoss MultiLabelSoftMarginLoss MultiMarginLoss NLLLoss NLLLoss2d PairwiseDistance "
    "PoissonNLLLoss SmoothL1Loss SoftMarginLoss TripletMarginLoss TripletMarginWithDistanceLoss").split()

# The expressions below use these names. Each library gets new tensors.
INPUTS = {
    "x": RS(0).randn(4, 3), "y": RS(1).randn(4, 3), "z": RS(2).randn(4, 3), "p": RS(3).uniform(0.05, 0.95, (4, 3)),
    "q": RS(4).uniform(0.05, 0.95, (4, 3)), "rows": RS(5).randn(4), "images": RS(6).randn(2, 3, 2, 2), "weight": np.array([0.5, 2, 1]),
    "sign": np.array([1.0, -1, 1, -1]), "signs": RS(7).choice([-1.0, 1.0], (4, 3)), "bits": RS(8).choice([0.0, 1.0], (4, 3)),
    "var": RS(9).uniform(0.5, 2, (4, 3)), "counts": RS(10).poisson(3, (4, 3)).astype(float), "steps": RS(11).randn(6, 2, 4),
}
LABELS = {
    "k": np.array([0, 2, 1, 1]), "ignored": np.array([0, -100, 1, 2]), "pixels": RS(12).randint(0, 3, (2, 2, 2)),
    "some": np.array([[2, 0, -1], [1, -1, 0], [0, 1, 2], [-1, 0, 1]]), "labels": np.array([[1, 2, 2], [3, 1, 0]]),
    "in_a_row": np.array([1, 2, 2, 3, 1]), "lengths": np.array([6, 5]), "wanted": np.array([3, 2]), "short": np.array([2, 5]),
}

CASES = """
nn.L1Loss()(x, y)
nn.L1Loss(reduction='none')(x, y)
nn.MSELoss(reduction='sum')(x, y)
F.mse_loss(x, y, weight=var)
F.l1_loss(x, y, weight=var)
F.huber_loss(x, y, weight=var, reduction='sum')
nn.SmoothL1Loss(beta=0.5)(x, y)
nn.SmoothL1Loss(beta=0.0)(x, y)
nn.HuberLoss(delta=0.7)(x, y)
nn.BCELoss()(p, q)
nn.BCELoss(weight=weight, reduction='sum')(p, bits)
nn.BCEWithLogitsLoss(pos_weight=weight)(x, bits)
nn.BCEWithLogitsLoss(weight=weight, reduction='none')(x, q)
nn.NLLLoss(weight=weight)(x.log_softmax(1), k)
nn.NLLLoss(reduction='none')(x.log_softmax(1), ignored)
nn.NLLLoss()(images.log_softmax(1), pixels)
nn.CrossEntropyLoss()(x, k)
nn.CrossEntropyLoss(weight=weight, label_smoothing=0.1)(x, ignored)
nn.CrossEntropyLoss(weight=weight, ignore_index=1, reduction='sum')(x, k)
nn.CrossEntropyLoss(label_smoothing=0.2, weight=weight)(x, q)
nn.CrossEntropyLoss(reduction='none')(images, pixels)
nn.CrossEntropyLoss()(x[0], k[0])
nn.KLDivLoss(reduction='batchmean')(x.log_softmax(1), q)
nn.KLDivLoss(reduction='sum', log_target=True)(x.log_softmax(1), y.log_softmax(1))
nn.PoissonNLLLoss(full=True)(x, counts)
nn.PoissonNLLLoss(log_input=False)(var, counts)
nn.GaussianNLLLoss(full=True)(x, y, var)
nn.GaussianNLLLoss(reduction='none')(x, y, var[:, :1])
nn.GaussianNLLLoss()(x, y, 0.5)
nn.SoftMarginLoss()(x, signs)
nn.HingeEmbeddingLoss(margin=0.5)(x, signs)
nn.MarginRankingLoss(margin=0.2)(rows, x[:, 0], sign)
nn.CosineEmbeddingLoss(margin=0.1)(x, y, sign)
nn.CosineEmbeddingLoss(reduction='none')(x[0], y[0], sign[0])
nn.MultiLabelSoftMarginLoss(weight=weight)(x, bits)
nn.MultiLabelMarginLoss()(x, some)
nn.MultiLabelMarginLoss(reduction='none')(x[0], some[0])
nn.MultiMarginLoss(p=2, margin=0.5, weight=weight)(x, k)
nn.MultiMarginLoss(reduction='none')(x, k)
nn.TripletMarginLoss(margin=2.0, p=1)(x, y, z)
nn.TripletMarginLoss(margin=2.0, swap=True, reduction='none')(x, y, z)
nn.TripletMarginWithDistanceLoss(margin=3.0)(x, y, z)
nn.TripletMarginWithDistanceLoss(distance_function=lambda a, b: (a - b).abs().sum(1), swap=True, reduction='none')(x, y, z)
nn.CTCLoss()(steps.log_softmax(2), labels, lengths, wanted)
nn.CTCLoss(reduction='none')(steps.log_softmax(2), in_a_row, (6, 5), (3, 2))
nn.CTCLoss(blank=0, reduction='sum', zero_infinity=True)(steps.log_softmax(2), labels, short, wanted)
nn.CTCLoss()(steps.log_softmax(2)[:, 0], labels[0], lengths[0], wanted[0])
nn.CTCLoss(reduction='none')(steps.log_softmax(2), labels, short, wanted)
nn.CTCLoss(blank=3, reduction='none')(steps.log_softmax(2), labels, lengths, wanted)
F.ctc_loss(steps, labels, lengths, wanted)
nn.PairwiseDistance(p=1, keepdim=True)(x, y)
nn.CosineSimilarity(dim=0)(x, y)
F.linear_cross_entropy(x, y, ignored, linear_bias=rows, weight=sign.abs(), label_smoothing=0.1)
F.linear_cross_entropy(x, images.reshape(4, 2, 3), pixels.reshape(4, 2))
""".strip().splitlines()


def names_in(xp):
    """Return the inputs as tensors of a library, by name. Floating-point inputs require gradients."""
    made = {n: xp.tensor(a, requires_grad=n not in ("bits", "weight", "sign", "signs", "counts")) for n, a in INPUTS.items()}
    return {**made, **{n: xp.tensor(a) for n, a in LABELS.items()}, "nn": xp.nn, "F": xp.nn.functional, "torch": xp}


def outcome(xp, source):
    names = names_in(xp)
    out = eval(source, names)
    (out * out).sum().backward()
    return out, {n: t.grad for n, t in names.items() if n in INPUTS and t.grad is not None}


@pytest.mark.parametrize("source", CASES)
def test_values_and_gradients(same, source):
    same(lambda xp: outcome(xp, source), rtol=1e-6)


@pytest.mark.parametrize("name", NAMES)
def test_constructors_have_pytorchs_signature(same, name):
    def signature(xp):
        given = inspect.signature(getattr(xp.nn, name).__init__).parameters.values()
        return [(p.name, p.default, p.kind) for p in given if p.name != "self"]
    same(signature)


@pytest.mark.parametrize("name", [n for n in NAMES if n not in ("AdaptiveLogSoftmaxWithLoss", "LinearCrossEntropyLoss")])
def test_losses_have_their_text_and_state(same, name):
    def text_and_state(xp):
        loss = getattr(xp.nn, name)()
        return repr(loss), hasattr(loss, "state_dict") and sorted(k for k in vars(loss) if not k.startswith("_"))
    same(text_and_state)


def warned(xp, source):
    with warnings.catch_warnings(record=True) as seen:
        warnings.simplefilter("always")
        try:
            out = eval(source, names_in(xp))
            if isinstance(out, xp.Tensor):
                out.tolist()        # errors of values may come when the result is read
        except Exception as e:
            return type(e).__name__, str(e).split(". ")[0]
    return [(w.category.__name__, str(w.message)) for w in seen if "internally" not in str(w.message)]


WRONG = """
F.mse_loss(x, y[:1])
F.l1_loss(x, y[:1])
F.smooth_l1_loss(x, y[:1])
F.huber_loss(x, y[:1])
F.kl_div(x, y)
F.mse_loss(x, y, size_average=False)
F.cross_entropy(x, k, reduce=False)
F.nll_loss(x, k, reduction='elementwise_mean')
nn.MSELoss(size_average=True)
nn.NLLLoss(reduce=False)
nn.NLLLoss2d()
F.mse_loss(x, y, reduction='other')
F.mse_loss(x, y[:2])
F.mse_loss(k, k)
nn.HuberLoss(delta='1')
F.huber_loss(x, y, delta=0.0)
F.smooth_l1_loss(x, y, beta=-1.0)
F.binary_cross_entropy(p, q[:1])
F.binary_cross_entropy(x, q)
F.binary_cross_entropy(p, k)
F.binary_cross_entropy(p, q.float())
F.binary_cross_entropy_with_logits(x, y[:1])
F.nll_loss(x, k.float())
F.nll_loss(x, k.int())
F.nll_loss(x, k[:3])
F.nll_loss(x, k + 1)
F.cross_entropy(x, k + 1)
F.cross_entropy(x, k.float())
F.cross_entropy(x, k[:3])
F.cross_entropy(x, k, weight=weight[:2])
F.cross_entropy(x, k, weight=weight.float())
F.cross_entropy(x, k, label_smoothing=2.0)
F.cross_entropy(x, q, ignore_index=1)
F.cross_entropy(images, k)
F.cross_entropy(x, x.long())
F.gaussian_nll_loss(x, y, -var)
F.gaussian_nll_loss(x, y, var[:2])
F.gaussian_nll_loss(x, y, var, reduction='other')
F.margin_ranking_loss(rows, x, sign)
F.cosine_embedding_loss(x, y, signs)
F.cosine_embedding_loss(rows, y, sign)
F.multi_margin_loss(x, k + 1)
F.multi_margin_loss(x, k, p=3)
F.multi_margin_loss(x, k.int())
F.multi_margin_loss(x, k[:2])
F.multilabel_margin_loss(x, some[:2])
F.multilabel_margin_loss(x, some + 1)
F.multilabel_margin_loss(x, some.int())
nn.MultiMarginLoss(p=3)
nn.MultiMarginLoss(weight=x)
nn.TripletMarginLoss(margin=0.0)
nn.TripletMarginWithDistanceLoss(margin=-1.0)
F.triplet_margin_loss(x, y, z, margin=-1.0)
F.triplet_margin_loss(x, rows, z)
F.triplet_margin_with_distance_loss(x, rows, z)
F.triplet_margin_with_distance_loss(x, y, z, reduction='other')
F.ctc_loss(steps, labels, (7, 5), (3, 2))
F.ctc_loss(steps, labels, (6, 5, 5), (3, 2))
F.ctc_loss(steps, labels, (6, 5), (3, 4))
F.ctc_loss(steps, in_a_row, lengths, lengths)
F.ctc_loss(steps, labels, lengths.float(), wanted)
F.ctc_loss(steps, labels[:1], lengths, wanted)
F.ctc_loss(steps[0, 0], labels, lengths, wanted)
F.ctc_loss(steps, labels.double(), lengths, wanted)
F.ctc_loss(steps.long(), labels, lengths, wanted)
F.ctc_loss(steps, labels, lengths, wanted, blank=4)
F.ctc_loss(steps, labels, (6, -1), (3, 2))
F.ctc_loss(steps, labels, (6, 5), (3, -2))
F.linear_cross_entropy(images, y, k)
F.linear_cross_entropy(x, rows, k)
F.linear_cross_entropy(x, y[:, :2], k)
F.linear_cross_entropy(x, y, k, linear_bias=rows[:2])
F.linear_cross_entropy(x, y[:3], q, ignore_index=1)
nn.LinearCrossEntropyLoss(3, 2, label_smoothing=2.0)
nn.LinearCrossEntropyOptions(acc_policy='x')
nn.LinearCrossEntropyOptions(chunking_method='x')
nn.LinearCrossEntropyOptions(batch_chunk_size=0)
F.linear_cross_entropy(x, y, k, options=nn.LinearCrossEntropyOptions(chunking_method='aspect_ratio', batch_chunk_size=3))
F.linear_cross_entropy(x, y, k, options=nn.LinearCrossEntropyOptions(), label_smoothing=0.1)
nn.AdaptiveLogSoftmaxWithLoss(8, 10, [])
nn.AdaptiveLogSoftmaxWithLoss(8, 10, [5, 2])
nn.AdaptiveLogSoftmaxWithLoss(8, 10, [2, 10])
nn.AdaptiveLogSoftmaxWithLoss(32, 10, [2, 5])(torch.ones(3, 32), torch.ones(2))
nn.AdaptiveLogSoftmaxWithLoss(32, 10, [2, 5])(torch.ones(3, 32), torch.tensor(1))
nn.AdaptiveLogSoftmaxWithLoss(32, 10, [2, 5])(torch.ones(3, 32), torch.tensor([1, 10, 2]))
""".strip().splitlines()


@pytest.mark.parametrize("source", WRONG)
def test_warnings_and_errors(same, source):
    same(lambda xp: [warned(xp, source) for _ in range(2)])      # a warning comes at each call, not once per shape


@pytest.mark.parametrize("loss", ["mse_loss", "l1_loss", "smooth_l1_loss", "huber_loss", "soft_margin_loss", "binary_cross_entropy"])
@pytest.mark.parametrize("shape", [(1, 6, 1), (6, 1), (1, 6), (1, 1)])
def test_strides_of_dims_of_size_1_do_not_matter(xp, loss, shape):
    numbers = np.arange(48, dtype=np.float32) / 48
    n = max(shape)
    for strange in (0, 7):
        data = np.lib.stride_tricks.as_strided(numbers, shape, [4 if k == n and n > 1 else 4 * strange for k in shape])
        target = xp.from_numpy(data)
        x = xp.full(shape, 0.5, requires_grad=True)
        for a, b in ((x, target), (x, xp.from_numpy(data.copy()))):
            found = getattr(xp.nn.functional, loss)(a, b)
            gradient, = xp.autograd.grad(found, x)
            expected = getattr(xp.nn.functional, loss)(x.reshape(-1), xp.from_numpy(numbers[:n].copy()))
            assert found.shape == () and found.item() == pytest.approx(expected.item(), rel=1e-5)
            assert gradient.flatten().tolist() == pytest.approx(xp.autograd.grad(expected, x)[0].flatten().tolist(), rel=1e-5)
