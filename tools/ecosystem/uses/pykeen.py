"""pykeen: embeddings of knowledge graphs, trained and evaluated."""

import numpy as np
import torch
from pykeen.evaluation import RankBasedEvaluator
from pykeen.losses import BCEWithLogitsLoss, MarginRankingLoss, NSSALoss
from pykeen.models import model_resolver
from pykeen.pipeline import pipeline
from pykeen.sampling import BasicNegativeSampler
from pykeen.training import LCWATrainingLoop, SLCWATrainingLoop
from pykeen.triples import TriplesFactory


def _triples():
    generator = np.random.default_rng(0)
    rows = {(f"e{h}", f"r{r}", f"e{t}") for h, r, t in generator.integers(0, (12, 3, 12), (90, 3)) if h != t}
    return TriplesFactory.from_labeled_triples(np.array(sorted(rows)))


def _trained(name, loop=SLCWATrainingLoop, epochs=3, **options):
    triples = _triples()
    model = model_resolver.make(name, triples_factory=triples, random_seed=0, **options)
    trainer = loop(model=model, triples_factory=triples, optimizer=torch.optim.Adam(model.get_grad_params(), lr=0.05))
    losses = trainer.train(triples_factory=triples, num_epochs=epochs, batch_size=32, use_tqdm=False)
    return model, triples, losses


def translations():
    return [_trained(name, embedding_dim=8)[2] for name in ("TransE", "TransH", "TransD")]


def bilinear():
    return [_trained(name, embedding_dim=8)[2] for name in ("DistMult", "ComplEx", "RESCAL")]


def rotations():
    model, _, losses = _trained("RotatE", embedding_dim=8, loss=NSSALoss())
    return losses, model.entity_representations[0](indices=None)


def convolutional():
    return _trained("ConvE", loop=LCWATrainingLoop, embedding_dim=32, embedding_height=4, embedding_width=8)[2]


def entities_in_context():
    return _trained("TuckER", loop=LCWATrainingLoop, embedding_dim=8, loss=BCEWithLogitsLoss())[2]


def evaluated():
    model, triples, _ = _trained("TransE", embedding_dim=8, loss=MarginRankingLoss(margin=1.0))
    result = RankBasedEvaluator().evaluate(
        model=model, mapped_triples=triples.mapped_triples, batch_size=16, use_tqdm=False,
        additional_filter_triples=[triples.mapped_triples],
    )  # fmt: skip
    return {key: result.get_metric(key) for key in ("mean_reciprocal_rank", "hits_at_10", "both.realistic.amri")}


def samples():
    triples = _triples()
    negative, kept = BasicNegativeSampler(mapped_triples=triples.mapped_triples, num_negs_per_pos=3, filtered=True).sample(
        triples.mapped_triples[:8]
    )
    return negative, kept


def whole():
    training, testing = _triples().split([0.8, 0.2], random_state=0)
    result = pipeline(
        training=training, testing=testing, model="DistMult", model_kwargs={"embedding_dim": 8}, random_seed=0, device="cpu",
        training_kwargs={"num_epochs": 3, "use_tqdm": False, "batch_size": 16}, evaluation_kwargs={"use_tqdm": False},
    )  # fmt: skip
    return result.losses, result.get_metric("mrr")
